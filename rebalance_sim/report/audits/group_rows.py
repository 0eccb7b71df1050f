"""The rows of the table of all groups: those that matter if there are very many."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Row
from pyspark.sql import functions as F

from rebalance_sim.engine.audit.ranking import worst_row_first
from rebalance_sim.kafka.migration import shown
from rebalance_sim.report.audits import search_terms
from rebalance_sim.report.audits.audited_run import AuditedRun, GroupKey
from rebalance_sim.report.audits.search_terms import NO_TERMS, SearchTerms
from rebalance_sim.report.page import CellType
from rebalance_sim.report.text import SHOWN_CHARACTERS, cut, printable
from rebalance_sim.tables import BALANCE, COSTS, ELECTIONS, FINDINGS, LAG_BALANCE, VERDICTS

LISTED_GROUPS = 5_000
"""Groups in the table: those with the first ranks."""
LISTED_BYTES = 2_000_000
"""The most that the table takes, whatever the names."""
STATIC_ROWS = 25
"""Rows that are shown without JavaScript, and the length of a page of the table with it."""
_NAME_CHARACTERS = 300
NO_RANK = 2**31 - 1
"""Of a group of an audit that was written before groups had ranks."""


@dataclass(frozen=True)
class GroupRow:
    """A group in the table."""

    cluster: str
    group_id: str
    type: str | None
    members: int | None
    """None if they are unknown, as are partitions."""
    partitions: int | None
    severity: str | None
    counts: tuple[int, int, int]
    """Errors, warnings and notes."""
    kinds: tuple[str, ...]
    """Kinds of its findings, the worst first."""
    protocol: str | None
    strategy: str | None
    """The assignor that is used: the protocol's, in the leader's library."""
    least: int | None
    """Fewest partitions of a member."""
    most: int | None
    lag: int | None
    rebalances: int | None
    """In the simulated rollout, as is the next."""
    unowned_each_ms: float | None
    """Mean downtime per partition."""
    migration: str
    migration_reason: str
    kind: str
    """What kind of program its members are, with the evidence; empty for consumers."""
    teams: str = ""
    """The teams of its members; empty if they are unknown."""
    workloads: str = ""
    """The workloads of its members, with their numbers; empty if no member's name shows one."""
    hosts: int | None = None
    rank: int = NO_RANK
    migration_order: int | None = None
    """Position among the groups that can migrate online."""
    terms: SearchTerms = NO_TERMS
    anchor: str = ""
    """Anchor of its details; empty without."""

    @property
    def key(self) -> GroupKey:
        """What identifies it."""
        return self.cluster, self.group_id


def group_rows(audited: AuditedRun, named: Collection[str] = ()) -> list[GroupRow]:
    """Return the groups of an audit that the table lists, those that matter first; ``named`` in any case."""
    verdicts = audited.run.table(VERDICTS).withColumns(search_terms.columns())
    order = [F.asc_nulls_last("rank"), F.col("cluster"), F.col("group_id")]
    if named:
        order.insert(0, ~F.col("group_id").isin(*named))
    found = {(row["cluster"], row["group_id"]): row for row in verdicts.orderBy(*order).limit(LISTED_GROUPS).collect()}
    within = None if len(found) == audited.groups else found.keys()
    elections = audited.rows_by_group(ELECTIONS, within, ("protocol",))
    balances = audited.rows_by_group(BALANCE, within, ("strategy", "min", "max"))
    costs = audited.rows_by_group(COSTS, within, ("rebalances", "unowned_ms", "partitions", "error"))
    lags = audited.rows_by_group(LAG_BALANCE, within, ("strategy", "lag"))
    findings = audited.rows_by_group(FINDINGS, within, ("kind", "severity", "harm", "scenario"))
    return [
        _row(verdict, elections[key], balances[key], costs[key], lags[key], _kinds(findings[key]))
        for key, verdict in found.items()
    ]


def _kinds(findings: Sequence[Row]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row["kind"] for row in sorted(findings, key=worst_row_first)))


def _row(
    verdict: Row,
    elections: Sequence[Row],
    balances: Sequence[Row],
    costs: Sequence[Row],
    lags: Sequence[Row],
    kinds: tuple[str, ...],
) -> GroupRow:
    balance = balances[0] if balances else None
    cost = costs[0] if costs and costs[0]["error"] is None else None
    strategy = balance["strategy"] if balance else None
    return GroupRow(
        verdict["cluster"],
        verdict["group_id"],
        verdict["type"],
        verdict["members"],
        verdict["partitions"],
        verdict["severity"],
        (verdict["errors"] or 0, verdict["warnings"] or 0, verdict["notes"] or 0),
        kinds or ((verdict["kind"],) if verdict["kind"] else ()),
        elections[0]["protocol"] if elections else None,
        strategy,
        balance["min"] if balance else None,
        balance["max"] if balance else None,
        next((row["lag"] for row in lags if row["strategy"] == strategy), verdict["lag"]),
        cost["rebalances"] if cost else None,
        cost["unowned_ms"] / max(cost["partitions"] or 0, 1) if cost and cost["unowned_ms"] is not None else None,
        shown(verdict["migration"] or "", verdict["migration_assumes"]),
        verdict["migration_reason"] or "",
        f"{verdict['group_kind']} ({verdict['group_kind_evidence']})" if verdict["group_kind_evidence"] else "",
        ", ".join(verdict["teams"] or ()),
        _workloads(verdict["workloads"] or {}, verdict["members"] or 0),
        verdict["hosts"],
        verdict["rank"] or NO_RANK,
        verdict["migration_order"],
        SearchTerms.of(verdict),
    )


def _workloads(found: Mapping[str, int], members: int) -> str:
    """Return workloads with their numbers of members.

    >>> _workloads({"billing": 2, "canary": 1}, 5)
    'billing (2), canary (1), others (2)'
    """
    others = members - sum(found.values())
    listed = [*found.items(), *([("others", others)] if found and others > 0 else [])]
    return ", ".join(f"{name} ({number:,})" for name, number in listed)


def with_anchors(rows: Sequence[GroupRow], detailed: Collection[GroupKey]) -> list[GroupRow]:
    """Give the groups with details an anchor."""
    anchors = {key: f"group-{number + 1}" for number, key in enumerate(detailed)}
    return [replace(row, anchor=anchors.get(row.key, "")) for row in rows]


def as_json(rows: Sequence[GroupRow]) -> str:
    """Return the table's rows for the script, as many as the page has room for; nothing in them can end the script.

    With them come the terms that groups are found by.

    Texts that repeat are listed once, and rows refer to them by number.
    """
    texts: dict[str, dict[str, int]] = {"clusters": {}, "kinds": {}, "assignors": {}, "migrations": {}, "owners": {}}

    def number(of: str, text: str | None) -> int | None:
        return None if text is None else texts[of].setdefault(text, len(texts[of]))

    listed: list[str] = []
    size = 0
    for row in rows:
        cells: list[Any] = [
            number("clusters", cut(printable(row.cluster), _NAME_CHARACTERS)),
            cut(printable(row.group_id), _NAME_CHARACTERS),
            row.severity,
            [number("kinds", kind) for kind in row.kinds],
            row.members,
            row.partitions,
            number("assignors", row.protocol and cut(printable(row.protocol), SHOWN_CHARACTERS[CellType.NAME])),
            row.least,
            row.most,
            row.lag,
            row.rebalances,
            row.unowned_each_ms and round(row.unowned_each_ms),
            number("migrations", row.migration),
            row.migration_order,
            number("owners", cut(printable(f"{row.teams} {row.workloads}".strip()), _NAME_CHARACTERS)),
            row.anchor,
        ]
        listed.append(_escaped(json.dumps(cells, ensure_ascii=False, separators=(",", ":"))))
        size += len(listed[-1].encode())
        if size > LISTED_BYTES:
            break
    terms = search_terms.for_script([row.terms for row in rows[: len(listed)]])
    head: Mapping[str, Any] = {"terms": terms} | {of: list(numbers) for of, numbers in texts.items()}
    start = _escaped(json.dumps(head, ensure_ascii=False, separators=(",", ":")))
    return f'{start[:-1]},"rows":[{",".join(listed)}]}}'


def _escaped(text: str) -> str:
    """Escape characters that HTML would read as markup within a script."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
