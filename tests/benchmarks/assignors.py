"""The assignors that remember, kernel against Kafka's released class, each on one warm thread in the same run.

Answers are compared before times are. Groups are made of the same seed every time.
"""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rebalance_sim.kafka.assignors import ASSIGNORS
from rebalance_sim.releases import kafka_version
from tests.oracle import answers, measure
from tests.support.batches import Batch
from tests.support.cases import answer_of, case_of
from tests.support.model import Cluster, Group, Member
from tests.support.unavailable import Unavailable

RULES = (("sticky", "2.3"), ("sticky", "4.3"), ("cooperative-sticky", "4.3"))
_SECONDS, _FEWEST_ROUNDS = 2, 3
_NO_ANSWER = "TimeoutException"
_LONGEST_CALL = 300
"""Seconds that Kafka's class may take for the largest groups."""


@dataclass(frozen=True)
class Shape:
    """Equal groups: members, topics, partitions of each topic."""

    groups: int
    members: int
    topics: int
    partitions: int
    half: bool = False
    """Whether each member subscribes to half of the topics; otherwise all subscribe to all."""
    gone: bool = False
    """Whether members own what they had before one of them left."""

    def __str__(self) -> str:
        size = f"{self.members:,} members x {self.topics:,} topics x {self.partitions:,}"
        return f"{size}, {'half' if self.half else 'same'}, {'one gone' if self.gone else 'fresh'}"

    def variants(self) -> Iterator["Shape"]:
        """Return shapes with same and with half subscriptions, fresh and with one member gone."""
        for half in (False, True):
            for gone in (False, True):
                yield replace(self, half=half, gone=gone)


COMPARED = (Shape(1000, 20, 5, 24), Shape(1, 1000, 100, 100))
LARGEST = Shape(1, 10_000, 100, 1000)


def bench_assignors() -> None:
    """Print groups per second of both, and their ratio."""
    print("\none thread, kernel against class: groups a processor second")
    for shape in COMPARED:
        for variant in shape.variants():
            for strategy, version in RULES:
                _compare(variant, strategy, version)
    print("\nseconds for one group")
    for variant in LARGEST.variants():
        limit = 10 if variant.half else 2
        for strategy, version in RULES:
            seconds = 1 / _rate(Batch(_groups(variant, strategy, version)), strategy, version)
            print(f"  {variant!s:50} {strategy:18} {version}  {seconds:8.3f} s (limit {limit})")


def _compare(shape: Shape, strategy: str, version: str) -> None:
    groups = _groups(shape, strategy, version)
    batch = Batch(groups)
    cases = [{"rule": strategy, "id": str(nth)} | case_of(group) for nth, group in enumerate(groups)]
    title = f"  {shape!s:50} {strategy:18} {version}"
    try:
        theirs = [answer_of(answer) for answer in answers(version, cases, _LONGEST_CALL)]
        if _NO_ANSWER in theirs:
            print(f"{title}  {_rate(batch, strategy, version):12,.1f} ours  no answer of Kafka's in {_LONGEST_CALL} s")
            return
        if theirs != batch.answers(version, strategy):
            raise AssertionError(f"{shape} by {strategy} {version}: Kafka's answers are not ours")
        measured = measure(version, strategy, cases, seconds=_SECONDS)
    except Unavailable as reason:
        print(f"{title}  Kafka's classes cannot run here: {reason}")
        return
    ours, kafka = _rate(batch, strategy, version), float(measured["cases_per_cpu_second"])
    constrained = not shape.half and version == "4.3"
    print(
        f"{title}  {ours:12,.1f} ours  {kafka:12,.2f} Kafka {measured['kafka']}  {ours / kafka:8.1f} x "
        f"(limit {3 if constrained else 10})"
    )


def _rate(batch: Batch, strategy: str, version: str) -> float:
    """Return groups per processor second."""
    assign, rules = ASSIGNORS[strategy].assign, kafka_version(version)
    return len(batch.groups) / processor_seconds(lambda: assign(batch.arrays, batch.topics, rules))


def processor_seconds(action: Callable[[], object], seconds: float = _SECONDS) -> float:
    """Return the processor seconds of the best of some rounds, which take so long; the first one compiles."""
    times: list[float] = []
    while sum(times) < seconds or len(times) < _FEWEST_ROUNDS:
        started = time.process_time()
        action()
        times.append(time.process_time() - started)
    return min(times)


def _groups(shape: Shape, strategy: str, version: str) -> list[Group]:
    draw = random.Random(1)
    fresh = [_group(shape, draw) for _ in range(shape.groups)]
    if not shape.gone:
        return fresh
    given = Batch(fresh).assign(version, strategy)
    return [
        replace(
            group,
            members=tuple(
                replace(member, owned=tuple(assignment[member.member_id]), generation=1)
                for member in group.members[:-1]
            ),
        )
        for group, assignment in zip(fresh, given, strict=True)
    ]


def _group(shape: Shape, draw: random.Random) -> Group:
    # Numbered names have close hash codes: partitions would crowd in the buckets of Kafka's maps (see hash_order).
    topics = {f"topic-{draw.getrandbits(64):016x}": shape.partitions for _ in range(shape.topics)}
    names = list(topics)
    wanted = (len(names) + 1) // 2 if shape.half else len(names)
    members = [
        Member(f"consumer-{draw.getrandbits(64):016x}", tuple(sorted(draw.sample(names, wanted))))
        for _ in range(shape.members + shape.gone)
    ]
    return Group(tuple(members), Cluster(topics))
