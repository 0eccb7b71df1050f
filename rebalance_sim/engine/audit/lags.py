"""Findings about lag that need no assignment: how much there is, how old it is, and whether it grows."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rebalance_sim.engine.audit.finding import Confidence, Finding, Harm, Kind, Severity, filled
from rebalance_sim.engine.audit.group import Group, Row
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.kafka.group_kinds import GroupKind
from rebalance_sim.releases import CoordinatorRules
from rebalance_sim.tables import OFFSETS
from rebalance_sim.wording import plural

LAG = Kind(
    "lag-without-assignment",
    Severity.NOTE,
    Harm.BEHIND,
    "{lag:record} of lag in {lag_partitions:partition} of {topics}, whose owners are not predicted: at most {most} in "
    "one partition ({where}){age}{unknown}",
    decisive="max_partition_lag",
    matter="lag",
    needs=OFFSETS.name,
)
LARGE_LAG = Kind(
    "large-lag",
    Severity.WARNING,
    Harm.BEHIND,
    "{where} is {max_partition_lag:record} behind{age}; the group has {lag:record} of lag in "
    "{lag_partitions:partition} of {topics}{unknown}",
    "{advice}",
    decisive="max_partition_lag",
    matter="lag",
    needs=OFFSETS.name,
)
GROWS = Kind(
    "lag-grows",
    Severity.WARNING,
    Harm.BEHIND,
    "the lag of {where} grew by {growth:record} in {elapsed_ms:t}, to {partition_lag}: {arrived_per_hour:record} per "
    "hour arrived and {done_per_hour} {were} committed{others}",
    "{advice}",
    decisive="growth_per_hour",
    needs=OFFSETS.name,
)
WITHOUT_SUBSCRIBER = Kind(
    "lag-without-subscriber",
    Severity.WARNING,
    Harm.BEHIND,
    "{lag:record} of lag in {lag_partitions:partition} of {topics} that no member consumes: at most {most} in one "
    "partition ({where}){age}",
    "If the group should consume {them}, find out why no member does.{otherwise}",
    decisive="max_partition_lag",
    needs=OFFSETS.name,
)
ABOVE_END = Kind(
    "offset-above-log-end",
    Severity.WARNING,
    Harm.BEHIND,
    "the committed offset of {negative_partitions:partition} is above the log end, in {where} by {max_negative}, as "
    "after a topic was created again or lost records",
    "{remedy}",
    decisive="max_negative",
    needs=OFFSETS.name,
)
KINDS = (LARGE_LAG, GROWS, WITHOUT_SUBSCRIBER, ABOVE_END, LAG)
_DELETE = " Otherwise delete its offsets there (kafka-consumer-groups.sh --delete-offsets), and with them this lag."
_HOUR_MS, _MINUTE_MS = 3_600_000, 60_000
_SHOWN_AGE_MS = _MINUTE_MS
"""A commit that is younger says nothing: consumers commit every five seconds by default."""
_OF_A_JOB = "See whether the job runs and keeps up: it assigns partitions itself, without members."
_WITHOUT_MEMBERS = {
    GroupKind.FLINK: _OF_A_JOB,
    GroupKind.SPARK: _OF_A_JOB,
    GroupKind.OFFSETS_ONLY: "Start its consumers if they have stopped. If a job that assigns partitions itself commits "
    "these offsets, such as one of Flink or Spark, see whether it keeps up.",
}
"""By kind of group, what to do about the lag of one without members."""
_WITH_OWN_OFFSETS = (GroupKind.FLINK, GroupKind.SPARK)
"""Jobs that continue at the offsets of their checkpoints, whatever the group has committed."""
_MORE_MEMBERS = {
    GroupKind.CONNECT_SINK: "Raise tasks.max of the connector, at most one task per partition, or speed up the sink.",
    **dict.fromkeys(
        (GroupKind.STREAMS, GroupKind.KSQLDB, GroupKind.STREAMS_GROUP),
        "Add instances or stream threads, or speed up the processing.",
    ),
    GroupKind.SPARK: _OF_A_JOB,
}
"""By kind of group, how its lag is divided among more members, where owners do not add consumers."""


class _Trend(NamedTuple):
    """What happened to the lag of a partition since an earlier audit."""

    lag: int
    arrived: int
    done: int
    """Records that were committed."""
    growth: int
    elapsed_ms: int

    @classmethod
    def of(cls, row: Row, elapsed_ms: int) -> "_Trend":
        return cls(row["lag"], row["arrived"], row["done"], row["growth"], elapsed_ms)

    @property
    def is_older(self) -> bool:
        """Whether the next record to be consumed was there at the time of the earlier audit."""
        return self.lag > self.arrived

    @property
    def behind_ms(self) -> float:
        """How long ago the next record arrived, if they arrive evenly; at least, if it is older than that."""
        return self.elapsed_ms if self.is_older else self.elapsed_ms * self.lag / self.arrived

    @property
    def drained_ms(self) -> float | None:
        """When no lag is left if records go on arriving and being committed as they did; None if it does not shrink."""
        faster = self.done - self.arrived
        return self.elapsed_ms * self.lag / faster if faster > 0 else None

    def figures(self) -> dict[str, float]:
        """Return the figures of a finding that names the partition."""
        hours = self.elapsed_ms / _HOUR_MS
        named = {"arrived": self.arrived, "done": self.done}
        found: dict[str, float] = {f"{name}_per_hour": round(value / hours) for name, value in named.items()}
        found |= {"behind_ms": self.behind_ms, "elapsed_ms": self.elapsed_ms}
        return found | ({} if self.drained_ms is None else {"drained_ms": self.drained_ms})

    def text(self) -> str:
        """Return how old the lag is, and whether it shrinks, as a clause."""
        ago = "more than {elapsed_ms:t}" if self.is_older else "about {behind_ms:t}"
        rest = ""
        if not self.done:
            rest = "; nothing was committed there in the last {elapsed_ms:t}"
        elif self.drained_ms is not None:
            rest = "; at the rates of the last {elapsed_ms:t}, it catches up in {drained_ms:t}"
        return filled(f", the first of which arrived {ago} ago{rest}", self.figures())


def findings(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about the lag of a group: about less of it only if no member can be named.

    Another family names the members of a group whose assignment is predicted. A share group commits no offsets.
    """
    if group.kind.kind is GroupKind.SHARE:
        return
    yield from _above_ends(group)
    all_behind = [row for row in group.topic_lag if row["lag"]]
    behind = [row for row in all_behind if not group.has_left(row["topic"])]
    yield from _of_topics_left(group, [row for row in all_behind if row not in behind], thresholds)
    first, lag = _furthest(behind), sum(row["lag"] for row in behind)
    if first is None:
        return
    yield from _growth(group, thresholds)
    is_large = first["max_partition_lag"] >= thresholds.large_lag_records
    slowest = None if is_large else _slowest(group, thresholds)
    if not is_large and slowest is None and (group.balance is not None or lag < thresholds.lag_records):
        return
    where, most = _name(first["topic"], first["max_lag_partition"]), first["max_partition_lag"]
    if slowest is not None:
        where, most = _name(slowest["topic"], slowest["partition"]), slowest["lag"]
    figures: dict[str, float] = {"lag": lag, "max_partition_lag": most}
    figures |= {name: sum(row[name] for row in group.topic_lag) for name in ("lag_partitions", "unknown_partitions")}
    unknown = plural(int(figures["unknown_partitions"]), "partition")
    more, age = _age(group, where, first)
    names = {
        "topics": plural(len(behind), "topic"),
        "most": f"{most:,}",
        "where": where,
        "age": age,
        "unknown": f"; the lag of {unknown} is unknown" if figures["unknown_partitions"] else "",
    }
    names["advice"] = _against_lag(group, where, most >= thresholds.lag_share * lag)
    kind = LARGE_LAG if is_large or slowest is not None else LAG
    yield Finding(kind, figures | more, names, confidence=Confidence.CERTAIN)


def _furthest(rows: Sequence[Row]) -> Row | None:
    """Return the topic with the partition that is furthest behind."""
    return min(rows, key=lambda row: (-row["max_partition_lag"], row["topic"]), default=None)


def _of_topics_left(group: Group, behind: Sequence[Row], thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the finding about topics whose offsets are from a time at which members subscribed to them."""
    first = _furthest(behind)
    if first is None or first["max_partition_lag"] < thresholds.large_lag_records:
        return
    where, is_one = _name(first["topic"], first["max_lag_partition"]), len(behind) == 1
    figures: dict[str, float] = {name: sum(row[name] for row in behind) for name in ("lag", "lag_partitions")}
    more, age = _age(group, where, first)
    names = {
        "topics": f"topic {first['topic']}" if is_one else plural(len(behind), "topic"),
        "most": f"{first['max_partition_lag']:,}",
        "where": where,
        "age": age,
        "them": "it" if is_one else "them",
        "otherwise": _DELETE if group.brokers.rules().coordinator >= CoordinatorRules.SCALA_2_4 else "",
    }
    yield Finding(WITHOUT_SUBSCRIBER, figures | more | {"max_partition_lag": first["max_partition_lag"]}, names)


def _above_ends(group: Group) -> Iterator[Finding]:
    """Yield the finding about offsets that brokers answer with OFFSET_OUT_OF_RANGE."""
    above = [row for row in group.topic_lag if row["negative_partitions"] and not group.has_left(row["topic"])]
    highest = min(above, key=lambda row: (-row["max_negative"], row["topic"]), default=None)
    if highest is None:
        return
    figures = {"negative_partitions": sum(row["negative_partitions"] for row in above)}
    names = {"where": _name(highest["topic"], highest["max_negative_partition"]), "remedy": _reset(group)}
    yield Finding(ABOVE_END, figures | {"max_negative": highest["max_negative"]}, names, confidence=Confidence.CERTAIN)


def _reset(group: Group) -> str:
    """Return how the offsets of a group are set, which Kafka refuses while it has members."""
    if group.kind.kind in _WITH_OWN_OFFSETS:
        return "Check at which offsets the job continues: it stores them itself."
    first = "Stop its members and set" if group.members or group.has_unseen_members else "Before it consumes again, set"
    return (
        f"{first} the offsets there (kafka-consumer-groups.sh --reset-offsets). Otherwise the clients' reset policy "
        "(auto.offset.reset of Java) decides: consumers that begin at the latest offset skip records."
    )


def _name(topic: str, partition: int) -> str:
    return f"{topic}-{partition}"


def _age(group: Group, where: str, first: Row) -> tuple[dict[str, float], str]:
    """Return how old the lag of a partition is, as figures and as a clause; ``first`` is the topic with the most lag.

    Since an earlier audit if there is one, else since its last commit; that of a group without members is old anyway.
    """
    trend = group.lag_trend
    if trend is not None:
        for row in (trend["furthest"], trend["slowest"]):
            if row is not None and _name(row["topic"], row["partition"]) == where:
                found = _Trend.of(row, group.topics.elapsed_ms)
                return found.figures(), found.text()
    latest_ms, committed_ms = group.topics.latest_commit_ms.get(group.cluster), first["max_lag_committed_at_ms"]
    if latest_ms is None or committed_ms is None or latest_ms - committed_ms < _SHOWN_AGE_MS:
        return {}, ""
    figures = {"commit_age_ms": latest_ms - committed_ms}
    return figures, filled(", last committed {commit_age_ms:t} before the latest commit of the cluster", figures)


def _is_active(group: Group, done: int) -> bool:
    """Return whether a group consumes, or has members that should: offsets of one that has ended grow old rightly."""
    return bool(done or group.members or group.has_unseen_members or group.is_unread)


def _slowest(group: Group, thresholds: Thresholds) -> Row | None:
    """Return the partition whose lag took longest to arrive, if that is long."""
    row: Row | None = group.lag_trend["slowest"] if group.lag_trend else None
    if row is None or group.has_left(row["topic"]) or not _is_active(group, row["done"]):
        return None
    behind_ms = _Trend.of(row, group.topics.elapsed_ms).behind_ms
    return row if behind_ms >= thresholds.large_lag_minutes * _MINUTE_MS else None


def _growth(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the finding about the partition whose lag grew most since the earlier audit."""
    trend = group.lag_trend
    row = trend["growing"] if trend else None
    if trend is None or row is None or group.has_left(row["topic"]) or not _is_active(group, row["done"]):
        return
    of, where = _Trend.of(row, group.topics.elapsed_ms), _name(row["topic"], row["partition"])
    more = trend["growing_partitions"] - 1
    figures = of.figures() | {
        "growth": of.growth,
        "partition_lag": of.lag,
        "growth_per_hour": of.growth * _HOUR_MS / of.elapsed_ms,
        "growing_partitions": trend["growing_partitions"],
    }
    names = {
        "where": where,
        "were": "was" if figures["done_per_hour"] == 1 else "were",
        "others": f"; the lag of {plural(more, 'other partition')} grew too" if more else "",
        "advice": _against_lag(group, where, of.growth >= thresholds.lag_share * trend["growing_records"]),
    }
    if not of.done and group.members:
        names["advice"] = _without_commits(group, where)
    yield Finding(GROWS, figures, names, confidence=Confidence.CERTAIN)


def _without_commits(group: Group, partition: str) -> str:
    """Return what to do if the members of a group have committed nothing in a partition since the earlier audit."""
    if group.kind.kind is GroupKind.CONNECT_SINK:
        return f"See the log of the task that has {partition}: a task that fails or retries commits nothing."
    return (
        f"See what the consumer of {partition} does: it waits, fails on a record again and again, or commits less "
        "often than the audits run."
    )


def _against_lag(group: Group, partition: str, is_in_one: bool) -> str:
    """Return what the owner of a group can do about its lag; ``is_in_one`` if most of it is in one partition."""
    if group.is_unread or group.has_unseen_members:
        return "See whether its members run and keep up: the audit could not read them."
    if group.refused and not group.members:
        return "First make the coordinator accept its members."
    if not group.members:
        return _WITHOUT_MEMBERS.get(group.kind.kind, "Start its consumers.")
    if is_in_one:
        return f"Speed up the consumer of {partition}, or look for a hot key: more members do not divide a partition."
    if group.kind.kind in _MORE_MEMBERS:
        return _MORE_MEMBERS[group.kind.kind]
    if group.balance is not None and group.balance["members"] >= group.balance["partitions"]:
        return "Speed up the consumers: there is a member for each partition already."
    return "Add members, at most one for each partition, or speed up the consumers."
