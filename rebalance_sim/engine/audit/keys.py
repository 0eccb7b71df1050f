"""Findings about the keys of the topics that a group reads, when records are given."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from rebalance_sim.engine.audit.finding import Finding, Harm, Kind, Severity
from rebalance_sim.engine.audit.group import Group
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.kafka.assignors.by_library import offers
from rebalance_sim.kafka.group_kinds import SERVICES, GroupKind
from rebalance_sim.tables import RECORDS, TOPICS_AFTER

DIFFERENT = Kind(
    "keys-placed-differently",
    Severity.WARNING,
    Harm.UNEVEN,
    "{clients} place {keys_conflicting} of {keys:key} of topic {topic} differently; records of {keys_split:key} are in "
    "several partitions",
    "Use partitioners that agree in all producers of the topic (rebalance-sim explain agreement).",
    decisive="keys_conflicting",
    needs=RECORDS.name,
)
MOVED = Kind(
    "keys-in-several-partitions",
    Severity.WARNING,
    Harm.UNEVEN,
    "{keys_moved} of {keys:key} of topic {topic} have records in several partitions, as after the topic has grown: "
    "their order is lost",
    "Move the records to a new topic with the final number of partitions, or wait until the old records are consumed.",
    decisive="keys_moved",
    needs=RECORDS.name,
)
HOT = Kind(
    "hot-partition",
    Severity.WARNING,
    Harm.UNEVEN,
    "partition {partition} of topic {topic} has {records:record}: {times} times the mean per partition, {mean_records} "
    "(p99 {p99_records})",
    "Distribute its heaviest keys over more key values; more partitions do not divide a key.",
    decisive="times",
    needs=RECORDS.name,
)
HOT_OF_SHARES = replace(
    HOT,
    recommendation="Distribute its heaviest keys over more key values, or write records whose order no other group "
    "needs without a key: the coordinator does not give it more members than other partitions.",
)
"""Of a share group, which delivers records in no order of keys: the other kinds do not matter to it."""
NOT_CO_PARTITIONED = Kind(
    "not-co-partitioned",
    Severity.WARNING,
    Harm.UNEVEN,
    "topics {topic} and {other} share {shared:%} of their keys but have {partitions} and {other_partitions:partition}: "
    "under any assignor, different members may own the two partitions of a key",
    "Give both topics the same number of partitions before records are joined by key{range}.",
    needs=RECORDS.name,
)
GROWTH = Kind(
    "growth-breaks-key-order",
    Severity.WARNING,
    Harm.NEXT_CHANGE,
    "a growth of topic {topic} from {partitions} to {partitions_after:partition} moves {keys_moved} of {keys:key} to "
    "another partition: their order is lost",
    "Move the records to a new topic with the final number of partitions, or stop the producers until all records are "
    "consumed, and grow the topic then.",
    "growth",
    needs=TOPICS_AFTER.name,
)
KINDS = (DIFFERENT, MOVED, HOT, NOT_CO_PARTITIONED, GROWTH)


def findings(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about keys: of each kind, the one about the topic that is affected most."""
    if group.topics.keys is None:
        return
    facts = group.topics.keys
    topics = sorted({topic for member in group.members for topic in member["subscription"] or ()})
    of_shares = group.kind.kind is GroupKind.SHARE
    yield from _hot(group, topics, HOT_OF_SHARES if of_shares else HOT, thresholds)
    if of_shares:
        return
    different = _worst(group, topics, facts.conflicts, "keys_conflicting")
    if different:
        names = {"topic": different, "clients": " and ".join(facts.clients[group.cluster, different])}
        yield Finding(DIFFERENT, facts.conflicts[group.cluster, different], names)
    # Clients that place keys differently explain keys in several partitions.
    alike = [topic for topic in topics if (group.cluster, topic) not in facts.conflicts]
    moved = _worst(group, alike, facts.moved, "keys_moved")
    if moved:
        yield Finding(MOVED, facts.moved[group.cluster, moved], {"topic": moved})
    yield from _not_co_partitioned(group, topics, thresholds)
    grown = _worst(group, topics, facts.grown, "keys_moved")
    if grown:
        yield Finding(GROWTH, facts.grown[group.cluster, grown], {"topic": grown})


def _worst(
    group: Group, topics: Sequence[str], figures: Mapping[tuple[str, str], Mapping[str, float]], by: str
) -> str | None:
    """Return the topic with the largest figure; None if no topic has one."""
    known = [topic for topic in topics if (group.cluster, topic) in figures]
    return max(known, key=lambda topic: figures[group.cluster, topic][by], default=None)


def _hot(group: Group, topics: Sequence[str], kind: Kind, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the finding about the topic with the hottest partition, if it is hot."""
    loads = group.topics.keys.loads if group.topics.keys else {}
    uneven = [topic for topic in topics if _is_hot(loads.get((group.cluster, topic)), thresholds)]
    hot = _worst(group, uneven, loads, "times")
    if hot:
        yield Finding(kind, loads[group.cluster, hot], {"topic": hot})


def _is_hot(load: Mapping[str, float] | None, thresholds: Thresholds) -> bool:
    if load is None:
        return False
    return load["times"] >= thresholds.hot_partition_times and load["records"] >= thresholds.hot_partition_records


def _not_co_partitioned(group: Group, topics: Sequence[str], thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the finding about the two topics that have the most keys in common and different numbers of partitions.

    Topics of one group need not be joined. Only those that share keys are reported.
    """
    facts = group.topics.keys
    if facts is None:
        return
    # A topic whose records have no known partition has keys, but no loads.
    with_records = [key for topic in topics if (key := (group.cluster, topic)) in facts.loads or key in facts.shared]
    known = {topic: group.topics.partitions.get((cluster, topic)) for cluster, topic in with_records}
    partitions = {topic: count for topic, count in known.items() if count is not None}
    pairs = [
        (facts.shared.get((group.cluster, topic), {}).get(other, 0.0), topic, other)
        for topic, other in combinations(partitions, 2)
        if partitions[topic] != partitions[other]
    ]
    if not pairs:
        return
    share, topic, other = max(pairs)
    if share < thresholds.shared_keys_share:
        return
    counts = {"partitions": partitions[topic], "other_partitions": partitions[other]}
    names = {"topic": topic, "other": other, "range": _and_range(group)}
    yield Finding(NOT_CO_PARTITIONED, {"shared": share, **counts}, names)


def _and_range(group: Group) -> str:
    """Return that the group needs an assignor that puts equal partitions on one member, if it chooses its assignor."""
    if group.kind.kind not in SERVICES or group.protocol in ("range", "server-range"):
        return ""
    if group.classic_members and not offers(group.record.name, "range"):
        return f"; {group.record.name} has no assignor that puts partitions of one number on one member"
    return ", and use range"
