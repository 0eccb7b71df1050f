"""The next rollout of some groups: what it costs as it is and under other settings, and how it goes."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row

from rebalance_sim.api.audit import Audit
from rebalance_sim.engine.audit.changes import as_kafka_names_them, change_of, most_saved, usable_advice
from rebalance_sim.engine.audit.finding import Severity
from rebalance_sim.engine.audit.rollouts import KINDS
from rebalance_sim.engine.audit.turning_points import about
from rebalance_sim.engine.simulation.rows import FirstSteps
from rebalance_sim.engine.simulation.streams_groups import WITHOUT_DELAY
from rebalance_sim.engine.simulation.variations import WHY_MORE_DOWNTIME
from rebalance_sim.engine.spark.driver_rows import where_in
from rebalance_sim.kafka.clients.library import ASSIGNORS
from rebalance_sim.kafka.group_kinds import GroupKind, as_consumers_name_them
from rebalance_sim.kafka.simulation.latencies import BY_SETTING, ranges_in_words
from rebalance_sim.report.audits.audited_run import AuditedRun, GroupKey
from rebalance_sim.report.audits.group_rows import GroupRow
from rebalance_sim.report.page import CellType, Column, Rollout, Table, columns
from rebalance_sim.report.timelines import OF_CONSUMERS, SHOWN_STEPS, STEPS, Nouns, Played, cost_note, rollout
from rebalance_sim.tables import ADVICE, COSTS

FOLLOWED_GROUPS = 12
"""Groups whose rollout is drawn step by step."""
MOST_MEMBERS = 100
"""Members of a group up to which it is drawn."""
DRAWN_SETTINGS = 3
"""Other settings that are drawn beside the group's own: those that save most."""
AS_IT_IS = "as it is"
_ROLLOUT_KINDS = {kind.name for kind in KINDS if kind.severity is not Severity.NOTE}
"""Kinds of findings about the rollout: the groups that have one are drawn first."""
Setting = tuple[str, str]
_OF_STEPS = ("cluster", "group_id", "number", "at_ms", "kind", "member_id", "state", "partitions")
"""Columns of ``timeline`` that are drawn."""
_IN_EPOCHS = {
    GroupKind.SHARE: (Nouns("epoch"), "no member has a partition"),
    GroupKind.STREAMS_GROUP: (Nouns("epoch", "task"), "no thread has a task, not counting the time to restore state"),
}
"""By kind of group in which nobody waits for others: what its costs count, and what downtime is."""
_TIMES = ("unowned_ms", "p99_unowned_ms", "max_unowned_ms")


@dataclass(frozen=True)
class Restart:
    """The next rollout of a group."""

    summary: str
    costs: Table
    ranges: Table | None
    """What other settings save if an assumed latency is longer; None if that was not tried."""
    rollout: Rollout | None
    """None unless the group is followed."""


def restarts(
    audited: AuditedRun,
    rows: Sequence[GroupRow],
    verdicts: Mapping[GroupKey, Row],
    rules: Audit | None,
    named: Sequence[str],
) -> dict[GroupKey, Restart]:
    """Return the rollout of each group that is simulated."""
    keys = [row.key for row in rows]
    costs = {key: found[0] for key, found in audited.rows_by_group(COSTS, keys).items()}
    advice = audited.rows_by_group(ADVICE, keys)
    changes = {row.key: _Changes.of(advice[row.key], verdicts.get(row.key)) for row in rows}
    simulated = {key: row for key, row in costs.items() if row["error"] is None}
    worst_rollouts_first = sorted(rows, key=lambda row: _ROLLOUT_KINDS.isdisjoint(row.kinds))
    followed = [row.key for row in worst_rollouts_first if row.key in simulated and _is_followed(row, named)]
    followed = followed[:FOLLOWED_GROUPS]
    drawn = {key: changes[key].drawn() for key in followed}
    played = _played(rules, drawn) if rules is not None and drawn else {}
    return {
        key: Restart(
            _summary(row, changes[key]),
            _costs_table(row, changes[key]),
            _ranges_table(row, changes[key].advice),
            _rollout(key, row, changes[key].nouns, drawn[key], played)
            if key in drawn and (key, None) in played
            else None,
        )
        for key, row in simulated.items()
    }


def _is_followed(row: GroupRow, named: Sequence[str]) -> bool:
    matters = row.group_id in named if named else sum(row.counts[:2]) > 0
    return matters and (row.members or 0) <= MOST_MEMBERS


def settings_of_consumers(verdict: Row) -> dict[str, str]:
    """Return the recommended settings of a verdict under Kafka's names, with assignors by their protocol names."""
    return as_kafka_names_them(as_consumers_name_them(verdict["group_kind"], dict(verdict["settings"] or {})))


@dataclass(frozen=True)
class _Changes:
    """What other settings would change in the rollout of a group."""

    advice: Sequence[Row]
    """Those that save most downtime first."""
    recommended: Mapping[str, str]
    impossible: Collection[str]
    """Settings that the group cannot use."""
    best: Row | None = None
    """The setting that pays, as the audit judged it."""
    turns: Mapping[str, int | None] | None = None
    """The assumed latencies on which that depends; None if they were not varied."""
    nouns: Nouns = OF_CONSUMERS
    downtime: str = ""
    """What downtime is, of a group in which nobody waits for others; empty of others."""

    @classmethod
    def of(cls, advice: Sequence[Row], verdict: Row | None) -> "_Changes":
        order = sorted(advice, key=most_saved)
        if verdict is None:
            return cls(order, {}, ())
        words = _IN_EPOCHS.get(verdict["group_kind"], (OF_CONSUMERS, ""))
        best = next((row for row in order if change_of(row) == verdict["rollout_setting"]), None)
        impossible = verdict["impossible_settings"] or ()
        return cls(order, settings_of_consumers(verdict), impossible, best, verdict["rollout_turns"], *words)

    def is_recommended(self, row: Row) -> bool:
        recommended = self.recommended.get(row["setting"])
        # Further assignors may be listed behind the recommended one.
        return recommended == row["value"] or (
            row["setting"] == ASSIGNORS and (recommended or "").split(",")[0] == row["value"]
        )

    def is_possible(self, row: Row) -> bool:
        return change_of(row) not in self.impossible

    @property
    def usable(self) -> list[Row]:
        """The settings that the group can use, and with which its rollout succeeds."""
        return usable_advice(self.advice, self.impossible)

    def drawn(self) -> list[Row]:
        """Return the settings that are drawn: what is recommended, then what saves most."""
        saving = [row for row in self.usable if self.is_recommended(row) or row["unowned_ms_saved"] > 0]
        return sorted(saving, key=lambda row: not self.is_recommended(row))[:DRAWN_SETTINGS]

    def note(self, row: Row) -> str:
        """Return what the table of costs notes beside a setting."""
        if row["fails"]:
            return "fails"
        if not self.is_possible(row):
            return "not possible"
        return "recommended" if self.is_recommended(row) else ""


def _played(rules: Audit, drawn: Mapping[GroupKey, Sequence[Row]]) -> dict[tuple[GroupKey, Setting | None], list[Row]]:
    """Simulate the groups again, step by step: the steps of each group under each setting."""
    groups: dict[Setting | None, set[str]] = {None: {group for _, group in drawn}}
    for (_, group), rows in drawn.items():
        for row in rows:
            groups.setdefault((row["setting"], row["value"]), set()).add(group)
    members = rules.members_of(groups[None])
    found: defaultdict[tuple[GroupKey, Setting | None], list[Row]] = defaultdict(list)
    for setting, names in groups.items():
        for steps in _timelines(rules, where_in(members, "group_id", names), names, setting):
            for row in where_in(steps, "kind", STEPS).select(*_OF_STEPS).collect():
                found[(row["cluster"], row["group_id"]), setting].append(row)
    return {key: sorted(rows, key=lambda row: row["number"])[:SHOWN_STEPS] for key, rows in found.items()}


def _timelines(
    rules: Audit, members: DataFrame, groups: Collection[str], setting: Setting | None
) -> Iterator[DataFrame]:
    """Yield the steps of groups of consumers and share groups, and those of streams groups."""
    if setting != WITHOUT_DELAY:
        yield rules.timeline(members, setting, FirstSteps(STEPS, SHOWN_STEPS))
    if setting in (None, WITHOUT_DELAY):
        of_streams = rules.streams_timeline(groups, setting)
        if of_streams is not None:
            yield of_streams


def _rollout(
    key: GroupKey,
    cost: Row,
    nouns: Nouns,
    drawn: Sequence[Row],
    played: Mapping[tuple[GroupKey, Setting | None], list[Row]],
) -> Rollout:
    partitions = max(cost["partitions"] or 0, 1)
    alternatives = [Played(AS_IT_IS.capitalize(), played[key, None], cost_note(cost, nouns))]
    for row in drawn:
        steps = played.get((key, (row["setting"], row["value"])))
        if steps:
            costs = {
                "rebalances": row["rebalances"],
                "unowned_ms": row["unowned_ms"],
                "partitions": partitions,
                "moved": cost["moved"] - (row["moved_saved"] or 0),
            }
            alternatives.append(Played(change_of(row), steps, cost_note(costs, nouns)))
    return rollout("Step by step", key[1], alternatives)


def _costs_table(cost: Row, changes: _Changes) -> Table:
    partitions, nouns = max(cost["partitions"] or 0, 1), changes.nouns
    spans = zip(("mean", "p99", "max"), _TIMES, strict=True)
    downtimes = ((f"downtime per {nouns.part}: {name} s", field) for name, field in spans)
    saved = ("downtime saved", "share")
    head = columns("setting", f"{nouns.change}s", *downtimes, saved, f"{nouns.part} moves", Column(""))
    state = "" if cost["stable"] else "not stable"
    times = (cost["unowned_ms"] / partitions, cost["p99_unowned_ms"], cost["max_unowned_ms"])
    own = (AS_IT_IS, cost["rebalances"], *times, None, cost["moved"], state)
    others = [
        (
            change_of(row),
            row["rebalances"],
            row["unowned_ms"] / partitions,
            *(cost[name] - row[f"{name}_saved"] for name in _TIMES[1:]),
            row["unowned_ms_saved"] / max(cost["unowned_ms"], 1),
            cost["moved"] - (row["moved_saved"] or 0),
            changes.note(row),
        )
        for row in changes.advice
    ]
    return Table("What it costs under each setting", head, (own, *others))


def _ranges_table(cost: Row, advice: Sequence[Row]) -> Table | None:
    """Return the share of the downtime that each setting saves, as assumed and if one latency is longer."""
    tried = [row for row in advice if row["at_longest"]]
    if not tried:
        return None
    ends = [f"{BY_SETTING[end['latency']].subject} takes {about(end['longest_ms'])}" for end in tried[0]["at_longest"]]
    head = (Column("setting"), *(Column(name, CellType.SHARE) for name in ("as assumed", *ends)))
    rows = (
        (
            change_of(row),
            row["unowned_ms_saved"] / max(cost["unowned_ms"], 1),
            *(_share_saved(end) for end in row["at_longest"]),
        )
        for row in tried
    )
    losing = dict.fromkeys(row["setting"] for row in tried if row["unowned_ms_saved"] < 0)
    note = " ".join(
        [
            "Each column has one latency longer, and the others as assumed.",
            *(WHY_MORE_DOWNTIME[setting] for setting in losing),
        ]
    )
    return Table("Downtime saved if an assumed latency is longer", head, tuple(rows), note)


def _share_saved(end: Row) -> float | None:
    usual_ms = end["unowned_ms"] + end["unowned_ms_saved"]
    return None if end["fails"] else end["unowned_ms_saved"] / max(usual_ms, 1)


def _range(turns: Mapping[str, int | None], advice: Sequence[Row]) -> str:
    """Return on which assumed latencies the best setting depends."""
    if not turns:
        ends = {end["latency"]: end["longest_ms"] for row in advice for end in row["at_longest"] or ()}
        ranges = ranges_in_words(ends)
        return f"That holds if any one of the assumed latencies is longer ({ranges} ms); two together were not tried."
    named = (
        "heartbeats happen at other times"
        if at_ms is None
        else f"{BY_SETTING[name].subject} takes over about {about(at_ms)}"
        for name, at_ms in turns.items()
    )
    return f"Another choice is best if {', or if '.join(named)}: see the findings."


def _summary(cost: Row, changes: _Changes) -> str:
    """Return what happens in the next rollout, and what would help."""
    sentences = [f"As it is: {cost_note(cost, changes.nouns)}."]
    if cost["failure"]:
        sentences.append(f"It fails: {cost['failure']}.")
    best = changes.best
    if changes.downtime:
        sentences.append(f"Downtime is the time in which {changes.downtime}.")
    if changes.downtime and not changes.advice:
        sentences.append("No other settings are tried.")
    elif best is None:
        sentences.append("No other setting that the group can use pays off with the assumed latencies.")
    else:
        sentences.append(f"{change_of(best)} would help most: {_change(best, cost)}.")
    if changes.turns is not None:
        sentences.append(_range(changes.turns, changes.advice))
    for row in changes.advice:
        if changes.is_recommended(row) and row is not best:
            sentences.append(f"The recommended {change_of(row)} has {_change(row, cost)}.")
    return " ".join(sentences)


def _change(row: Row, cost: Row) -> str:
    """Return how a setting changes the downtime."""
    saved = row["unowned_ms_saved"]
    share = f"{100 * abs(saved) / max(cost['unowned_ms'], 1):.0f} %"
    return f"{share} {'less' if saved >= 0 else 'more'} downtime"
