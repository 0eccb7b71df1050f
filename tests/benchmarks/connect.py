"""The leaders of Connect clusters against Kafka's released class, each on one warm thread in the same run.

The rebalance that is measured changes nothing: all workers run what they were told. Kafka's class computes it from
names to names, without reading the workers' bytes and writing its answers. Ours is measured on prepared arrays, as the
assignors of consumers are, and from names to names.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rebalance_sim.kafka.connect.leader import NumberedClusters, assign_rounds
from rebalance_sim.kafka.wire.connect_protocol import SESSIONED
from rebalance_sim.releases import kafka_version
from tests.benchmarks.assignors import processor_seconds
from tests.oracle.oracle import JsonObject, connect_answers, connect_rebalances_per_second
from tests.support.connect_clusters import played, prepared_rounds, told_by_kafka
from tests.support.unavailable import Unavailable

_RELEASE = "4.3.1"
_LIMIT = 3.0
"""How many times as many tasks as Kafka's class, on prepared arrays."""
_SECONDS = 1.0


@dataclass(frozen=True)
class _Shape:
    """Equal clusters, which differ in their ids only."""

    workers: int
    connectors: int
    tasks: int
    """Of each connector."""

    def __str__(self) -> str:
        return f"{self.workers:,} workers, {self.connectors:,} connectors x {self.tasks:,} tasks"

    @property
    def resources(self) -> int:
        """Connectors and tasks."""
        return self.connectors * (self.tasks + 1)

    def cases(self) -> Iterator[JsonObject]:
        """Return the clusters: a rebalance that assigns everything, and one that changes nothing."""
        draw = random.Random(1)
        for number in range(max(1, 20_000 // self.resources)):
            workers = [f"connect-{draw.getrandbits(128):032x}" for _ in range(self.workers)]
            connectors = {f"connector-{k}": self.tasks for k in range(self.connectors)}
            step = {
                "protocol": SESSIONED,
                "offset": 1,
                "leader": workers[0],
                "workers": workers,
                "connectors": connectors,
            }
            steps = [step | {"now_ms": n, "generation": n, "renamed": {}, "missed": []} for n in (1, 2)]
            yield {"rule": "connect", "id": str(number), "config": {"max_delay_ms": 300_000}, "steps": steps}


_SHAPES = [_Shape(3, 2, 10), _Shape(10, 20, 10), _Shape(50, 100, 20), _Shape(100, 1_000, 5)]


def bench_connect() -> None:
    """Print connectors and tasks per second of both, their ratio and its limit, and name the limits that are missed."""
    print(f"\none thread: Connect clusters, connectors and tasks a processor second, against Kafka {_RELEASE}")
    missed = [str(shape) for shape in _SHAPES if not _compare(shape)]
    print(f"  limits missed: {'; '.join(missed) or 'none'}")


def _compare(shape: _Shape) -> bool:
    """Print how fast both are, and return whether the limit is kept."""
    cases = list(shape.cases())
    try:
        theirs = [told_by_kafka(answer) for answer in connect_answers(_RELEASE, cases)]
        if theirs != played(cases, _RELEASE):
            raise AssertionError(f"{shape}: Kafka's answers are not ours")
        kafka = shape.resources * connect_rebalances_per_second(_RELEASE, cases, _SECONDS)
    except Unavailable as reason:
        print(f"  {shape}: Kafka's classes cannot run here: {reason}")
        return True
    leaders, rounds = prepared_rounds(cases, _RELEASE)
    clusters, rules = NumberedClusters.of(leaders, rounds), kafka_version(_RELEASE).connect

    def rate(assign: Callable[[], object]) -> float:
        return shape.resources * len(cases) / processor_seconds(assign, _SECONDS)

    ours, named = rate(lambda: clusters.rebalance(rules)), rate(lambda: assign_rounds(leaders, rounds))
    print(
        f"  {shape!s:50} {ours:14,.0f} ours  {kafka:14,.0f} Kafka  {ours / kafka:6.2f} x (limit {_LIMIT}); "
        f"from names to names {named / kafka:6.2f} x",
        flush=True,
    )
    return ours >= kafka * _LIMIT
