"""Folders of finished runs with a few rows and hostile names."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from rebalance_sim.engine.audit.ranking import in_order_of_harm
from rebalance_sim.engine.runs.table_files import write_table
from rebalance_sim.report.page import MANY_GROUPS
from rebalance_sim.tables import (
    ADVICE,
    ASSIGNMENTS,
    BALANCE,
    BOUNCES,
    CHANGES,
    COOPERATIVE_REBALANCES,
    COSTS,
    DISTRIBUTIONS,
    ELECTIONS,
    KEY_FINDINGS,
    LAG_BALANCE,
    LAG_COSTS,
    PARTITION_GROWTH,
    PARTITION_LOAD,
    REBALANCES,
    REJECTS,
    TIMELINE,
    TOPICS_AT_RISK,
    VERDICTS,
    Table,
)
from tests.support.rows import arrow_rows, complete

Rows = Sequence[Mapping[str, Any]]

SCRIPT = "<script>document.title='broken'</script>"
QUOTES = "\"'><img src=x onerror=\"document.title='broken'\">`${1}{{ 7 * 7 }}"
LONG = "long-" + "x" * 9_990 + "-end"
TURNED = "safe\u202egpj.exe\u2066\u200f"
CONTROL = "a\x00b\x07c\x1bd\u0085e\ufeff\U000e0041\ufffd"
ARABIC = "مجموعة-الطلبات"
HOSTILE = (SCRIPT, QUOTES, LONG, TURNED, CONTROL, ARABIC, "</svg></style>", "javascript:alert(1)", "&lt;b&gt;", " ")
"""Names of groups, members, topics and strategies."""


def write_run(spark: SparkSession, folder: Path, job: str, tables: Mapping[Table, Rows], **record: Any) -> str:
    """Write tables and the record of the run that made them."""
    for of, rows in tables.items():
        written = arrow_rows(complete(of, rows), of.schema)
        if of is VERDICTS:
            written = spark.createDataFrame(written, of.schema).transform(in_order_of_harm).toArrow()
        write_table(folder / of.name, written, of.schema)
    content = {
        "job": job,
        "options": {"out": str(folder), "strategy": "all", "output_format": "parquet"},
        "versions": {"rebalance-sim": "0.1.0"},
        "rows": {"in": {"members": 9}, "out": {of.name: len(rows) for of, rows in tables.items()}},
        "assumptions": [],
        "seconds": 1.5,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "_run.json").write_text(json.dumps(content | record))
    return str(folder)


def hostile_run(spark: SparkSession, folder: Path) -> str:
    """Write a run with every table that a page shows, full of hostile names."""
    tables = _of_groups() | _of_records() | _of_simulations()
    options = {"out": SCRIPT, "title": LONG, "list": [QUOTES], "output_format": "parquet"}
    counts = {"in": {SCRIPT: 3}, "out": {of.name: len(rows) for of, rows in tables.items()}}
    assumptions = [SCRIPT, TURNED, LONG]
    return write_run(spark, folder, "simulate", tables, options=options, rows=counts, assumptions=assumptions)


def _partitions(count: int) -> list[tuple[str, int]]:
    return [("t", number) for number in range(count)]


def _of_groups() -> dict[Table, Rows]:
    named = [{"group_id": name, "strategy": name, "member_id": name} for name in HOSTILE]
    elections = [
        {"group_id": name, "members": 3, "protocol": name, "votes": {name: 2, "range": 1}, "tie": True,
         "refused": [(name, "INCONSISTENT_GROUP_PROTOCOL")], "candidates": [name]}
        for name in HOSTILE
    ]  # fmt: skip
    elections.append({"group_id": SCRIPT, "members": 0, "error": f"no protocol: {SCRIPT}", "tie": False})
    balance = [
        {"members": 3, "partitions": 9, "min": place, "max": 2 * place + 1, "stddev": 1.0, "topic_spread": 1,
         "idle_members": 1, "moved": 4, "kept": 5, "unassigned": place, "assigned_twice": 1, "not_subscribed": 0,
         "nonexistent": 0, "rebalances": 2, "revoked": 9} | row
        for place, row in enumerate(named)
    ]  # fmt: skip
    balance += [balance[0] | {"group_id": f"group-{number}"} for number in range(MANY_GROUPS)]
    balance.append({"group_id": LONG, "strategy": "range", "error": f"{SCRIPT} threw"})
    figures = ("excess_stddev", "excess_moved", "moved")
    usual = {"groups": 4, "missing": 0, "zero": 2, "total": 6.0, "mean": 1.5, "max": 3.0}
    distributions = [
        usual | {"strategy": name, "figure": figure}
        for name in (*HOSTILE, "optimum")
        for figure in figures
        if name != "optimum" or figure == "moved"
    ]
    change = {"change": "gain", "rank": 1, "members": 3, "partitions": 9, "elected_stddev": 1.0, "stddev": 0.5}
    return {
        ELECTIONS: elections,
        ASSIGNMENTS: [row | {"partitions": _partitions(place)} for place, row in enumerate(named)],
        COOPERATIVE_REBALANCES: [
            {"group_id": "g", "strategy": "cooperative-sticky", "rebalance": n, "last": n == 2, "member_id": "m",
             "partitions": _partitions(n)}
            for n in (1, 2)
        ],
        BALANCE: balance,
        DISTRIBUTIONS: distributions,
        CHANGES: [row | change | {"elected": row["strategy"]} for row in named],
        LAG_BALANCE: [row | {"rank": 1, "members": 3, "lag": 10, "max_lag": 9} for row in named],
        REJECTS: [
            {"table": name, "group_id": name, "row": json.dumps({"x": name}), "reason": f"{name} is odd"}
            for name in HOSTILE
        ],
    }  # fmt: skip


def _of_records() -> dict[Table, Rows]:
    load = [
        {"client": name, "topic": name, "partition": number, "records": 10 * number, "bytes": 10, "share": number / 6,
         "imbalance": number * 4 / 6, "heaviest_keys": [(key, 5, 5)]}
        for name, key in zip(HOSTILE, [b"\xff\x00", *(name.encode() for name in HOSTILE[1:])], strict=True)
        for number in range(4)
    ]  # fmt: skip
    findings = [
        {"client": name, "topic": name, "finding": "empty_keys", "records": 3, "description": f"one key: {name}"}
        for name in HOSTILE
    ]
    growth = [
        {"client": name, "topic": name, "partitions": 4, "partitions_after": 6, "keys": 9, "keys_moved": 4,
         "keys_moved_share": 4 / 9, "records": 9, "records_moved": 4, "imbalance": 1.0, "imbalance_after": 1.5}
        for name in HOSTILE
    ]  # fmt: skip
    at_risk = [
        {"topic": name, "clients": [name, "java-3.3"], "keys": 9, "keys_conflicting": 3, "keys_shared": 3,
         "keys_split": 2, "records_split": 5}
        for name in HOSTILE
    ]  # fmt: skip
    return {PARTITION_LOAD: load, KEY_FINDINGS: findings, PARTITION_GROWTH: growth, TOPICS_AT_RISK: at_risk}


def _of_simulations() -> dict[Table, Rows]:
    named = [{"group_id": name, "strategy": name} for name in HOSTILE]
    costs = [
        {"consumers": 3, "partitions": 9, "events": 1, "rebalances": place, "storms": 1, "stable": False,
         "stable_ms": 7_000 + place, "unowned_ms": 1_000 * place, "moved": 1, "moved_back": 0, "evicted": 1,
         "failed": 1, "failure": f"{row['group_id']} failed", "messages": 9, "simulated_ms": 9_000} | row
        for place, row in enumerate(named)
    ]  # fmt: skip
    costs += [costs[1] | {"group_id": f"group-{number}"} for number in range(MANY_GROUPS)]
    steps = [
        (0, "ASSIGNED", None, "Stable", 4),
        (1_000, "EVENT", SCRIPT, "Stable", None),
        (1_001, "REVOKED", None, "Stable", 4),
        (1_002, "STOPPED", None, "Stable", None),
        (1_003, "STATE", None, "PreparingRebalance", None),
        (2_000, "STARTED", None, "PreparingRebalance", None),
        (3_000, "STATE", None, "Stable", None),
        (3_001, "ASSIGNED", None, "Stable", 4),
    ]
    timeline = [
        {"group_id": name, "strategy": name, "number": number, "at_ms": at_ms, "kind": what, "detail": detail,
         "member_id": None if what == "STATE" else name, "generation": 1, "state": state, "partitions": partitions}
        for name in HOSTILE[:4]
        for number, (at_ms, what, detail, state, partitions) in enumerate(steps)
    ]  # fmt: skip
    rebalances = [row | {"rebalance": 1, "reason": row["group_id"], "from_ms": 1, "to_ms": 5} for row in named]
    saved = {"rebalances_saved": 1, "unowned_ms_saved": 500, "best": True}
    return {
        COSTS: costs,
        TIMELINE: timeline,
        REBALANCES: rebalances,
        BOUNCES: [row | {"bounce": number, "rebalances": 1, "unowned_ms": 5} for row in named for number in (1, 2)],
        ADVICE: [row | saved | {"setting": row["group_id"], "value": row["group_id"]} for row in named],
        LAG_COSTS: [
            row | {"rank": 1, "lag": 5, "unowned_lag": 5, "max_unowned_ms": 9, "delay_ms": 1.5} for row in named
        ],
    }
