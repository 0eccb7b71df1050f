"""Reference implementation of the lag of a group's members and its balance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

Partition = tuple[str, int]


@dataclass(frozen=True)
class Member:
    """A member as it joined."""

    member_id: str
    subscription: Sequence[str]
    owned: Sequence[Partition] = ()
    generation: int = -1


@dataclass(frozen=True)
class Offset:
    committed: int | None
    end: int | None

    @property
    def lag(self) -> int | None:
        if self.committed is None or self.committed == -1 or self.end is None:
            return None
        return max(self.end - self.committed, 0)

    @property
    def is_negative(self) -> bool:
        return self.committed is not None and self.end is not None and self.committed > self.end


Offsets = Mapping[Partition, Offset]
Assignment = Mapping[str, Sequence[Partition]]


Figures = dict[str, Any]
"""Columns of a row and their values."""


def lag_of(offsets: Offsets, partition: Partition) -> int | None:
    return offsets[partition].lag if partition in offsets else None


def known_sum(lags: Sequence[int | None]) -> int | None:
    known = [lag for lag in lags if lag is not None]
    return sum(known) if known else None


def held(offsets: Offsets, partitions: Sequence[Partition]) -> int | None:
    """Return the lag of a member: 0 without partitions, unknown if that of all its partitions is."""
    return known_sum([lag_of(offsets, partition) for partition in partitions]) if partitions else 0


def matters(offsets: Offsets, assignment: Assignment) -> bool:
    everything = {*offsets, *(partition for has in assignment.values() for partition in has)}
    return any(lag is None or lag > 0 for lag in (lag_of(offsets, partition) for partition in everything))


def member_lag(offsets: Offsets, partitions: Sequence[Partition]) -> Figures:
    lags = [lag_of(offsets, partition) for partition in partitions]
    lag, of_group = held(offsets, partitions), known_sum([offset.lag for offset in offsets.values()])
    largest = min(((-lag, partition) for lag, partition in zip(lags, partitions, strict=True) if lag), default=None)
    return {
        "partitions": len(partitions),
        "lag_partitions": sum(bool(lag) for lag in lags),
        "unknown_partitions": lags.count(None),
        "lag": lag,
        "share": lag / of_group if lag is not None and of_group else None,
        "max_partition_lag": -largest[0] if largest else None,
        "max_lag_partition": largest[1] if largest else None,
    }


def owners(members: Sequence[Member]) -> dict[Partition, str]:
    """Return the owner of each partition: of two the one with the later generation, then the first."""
    found: dict[Partition, Member] = {}
    for member in members:
        for partition in member.owned:
            if partition not in found or member.generation > found[partition].generation:
                found[partition] = member
    return {partition: member.member_id for partition, member in found.items()}


def lag_balance(members: Sequence[Member], offsets: Offsets, assignment: Assignment) -> Figures:
    given = {partition for has in assignment.values() for partition in has}
    lags = {member_id: held(offsets, has) for member_id, has in assignment.items()}
    of_group = known_sum([offset.lag for offset in offsets.values()])
    of_given = known_sum([lag_of(offsets, partition) for partition in given])
    known = {member_id: lag for member_id, lag in lags.items() if lag is not None}
    is_known = of_given is not None or not given
    max_lag = max(known.values()) if is_known else None
    mean = sum(known.values()) / len(assignment) if is_known else None
    before = owners(members)
    had = [
        known_sum([lag_of(offsets, partition) for partition, owner in before.items() if owner == member.member_id])
        for member in members
    ]
    owned_max_lag = max((lag for lag in had if lag is not None), default=None)
    moved = [p for p in given if p in before and p not in assignment.get(before[p], ())]
    bound = max_lag_bound(members, offsets, assignment) if is_known else None
    return {
        "members": len(assignment),
        "partitions": len({*offsets, *given}),
        "lag_partitions": sum(bool(offset.lag) for offset in offsets.values()),
        "unknown_partitions": sum(lag_of(offsets, partition) is None for partition in {*offsets, *given}),
        "negative_partitions": sum(offset.is_negative for offset in offsets.values()),
        "lag": of_group,
        "unassigned_lag": None if of_group is None else of_group - (of_given or 0),
        "max_partition_lag": max((lag_of(offsets, p) or 0 for p in given), default=0) if is_known else None,
        "max_lag": max_lag,
        "max_lag_member_id": min(m for m, lag in known.items() if lag == max_lag) if max_lag else None,
        "min_lag": min(known.values()) if is_known else None,
        "mean_lag": mean,
        "p99_lag": sorted(known.values(), reverse=True)[len(known) // 100] if is_known and known else None,
        "imbalance": max_lag / mean if max_lag is not None and mean else None,
        "max_lag_bound": bound,
        "excess_lag": None if max_lag is None or bound is None else max_lag - bound,
        "moved_lag": None if owned_max_lag is None else known_sum([lag_of(offsets, p) for p in moved]) or 0,
        "owned_max_lag": owned_max_lag,
    }


def takers(members: Sequence[Member], assignment: Assignment, topics: set[str]) -> int:
    """Count members that may be assigned a partition of some topics: they subscribe to one, or own one."""
    subscriptions = {member.member_id: set(member.subscription) for member in members}
    return sum(
        member_id not in subscriptions
        or bool(topics & (subscriptions[member_id] | {topic for topic, _ in assignment[member_id]}))
        for member_id in assignment
    )


def lags_given(offsets: Offsets, assignment: Assignment) -> dict[Partition, int]:
    given = {partition for has in assignment.values() for partition in has}
    return {p: lag for p in given if (lag := lag_of(offsets, p))}


def max_lag_bound(members: Sequence[Member], offsets: Offsets, assignment: Assignment) -> int:
    lags = lags_given(offsets, assignment)
    largest_first = sorted(lags.values(), reverse=True)
    if not largest_first:
        return 0
    all_listed = {member.member_id for member in members} >= assignment.keys()
    those = takers(members, assignment, {topic for topic, _ in lags}) if all_listed else len(assignment)
    bounds = [largest_first[0], -(-sum(largest_first) // those)]
    if len(largest_first) > those:
        bounds.append(largest_first[those - 1] + largest_first[those])
    for topic in {topic for topic, _ in lags} if all_listed else ():
        of_topic = sum(lag for (of, _), lag in lags.items() if of == topic)
        bounds.append(-(-of_topic // takers(members, assignment, {topic})))
    return max(bounds)


def least_max_lag(members: Sequence[Member], offsets: Offsets, assignment: Assignment) -> int:
    """Try every assignment of the same partitions to members that may have them."""
    lags = lags_given(offsets, assignment)
    may = [[m for m in assignment if takers(members, {m: assignment[m]}, {topic})] for topic, _ in lags]
    best = sum(lags.values())
    for receivers in product(*may):
        loads = dict.fromkeys(assignment, 0)
        for receiver, lag in zip(receivers, lags.values(), strict=True):
            loads[receiver] += lag
        best = min(best, max(loads.values(), default=0))
    return best
