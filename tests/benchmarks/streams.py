"""The task assignor of streams groups against Kafka's released class, each on one warm thread in the same run.

Groups are those of Kafka's ``StreamsStickyAssignorBenchmark``: half of the subtopologies are stateful, and an
incremental assignment follows a full one of all members but one. Answers are compared before times are.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from rebalance_sim.kafka.assignors.streams.sticky_task_assignor import assign
from rebalance_sim.releases import NEWEST, kafka_version
from tests.benchmarks.assignors import processor_seconds
from tests.oracle import JsonObject, answers, measure
from tests.support.streams_groups import StreamsAnswer, answer_of, groups_of, streams_answers
from tests.support.unavailable import Unavailable

_KAFKA, _RELEASE = "4.3", "4.3.1"
_LIMIT = 3.0
"""How many times as many tasks as Kafka's class."""
_SECONDS = 0.5


@dataclass(frozen=True)
class _Shape:
    """Equal groups, which differ in their ids only."""

    members: int
    members_per_process: int
    subtopologies: int
    partitions: int
    standby_replicas: int
    incremental: bool

    def __str__(self) -> str:
        size = f"{self.members:,} members by {self.members_per_process}, {self.subtopologies} x {self.partitions} tasks"
        return f"{size}, {self.standby_replicas} standbys, {'incremental' if self.incremental else 'full'}"

    @property
    def groups(self) -> int:
        """Number of groups of a batch."""
        return max(1, 20_000 // max(self.members, self.subtopologies * self.partitions))

    def cases(self) -> Iterator[JsonObject]:
        """Return the groups."""
        draw = random.Random(1)
        for number in range(self.groups):
            case = self._full(draw, str(number))
            if self.incremental:
                first: JsonObject = case | {"members": case["members"][:-1]}
                had = streams_answers([first], _RELEASE)[0]
                assert not isinstance(had, str)
                case["members"] = [member | had.get(member["member_id"], {}) for member in case["members"]]
            yield case

    def _full(self, draw: random.Random, case_id: str) -> JsonObject:
        processes = [f"{draw.getrandbits(128):032x}" for _ in range(-(-self.members // self.members_per_process))]
        members = [
            {"member_id": f"{draw.getrandbits(128):032x}", "process_id": processes[i // self.members_per_process]}
            for i in range(self.members)
        ]
        topology = {str(s): {"tasks": self.partitions, "stateful": s % 2 == 0} for s in range(self.subtopologies)}
        return {
            "rule": "streams-sticky",
            "id": case_id,
            "subtopologies": topology,
            "standby_replicas": self.standby_replicas,
            "members": members,
        }


_SHAPES = [
    _Shape(members, per_process, subtopologies, partitions, standbys, incremental)
    for members, subtopologies, partitions in ((10, 3, 12), (100, 10, 10), (1000, 10, 100), (1000, 100, 100))
    for per_process, standbys, incremental in product((1, 50), (0, 1), (False, True))
    if per_process <= members
]


def bench_streams() -> None:
    """Print tasks per second of both, their ratio and its limit, and name the limits that are missed."""
    print(f"\none thread: streams groups, tasks a processor second, against Kafka {_KAFKA}")
    missed = [str(shape) for shape in _SHAPES if not _compare(shape)]
    print(f"  limits missed: {'; '.join(missed) or 'none'}")


def _compare(shape: _Shape) -> bool:
    """Print how fast both are, and return whether the limit is kept."""
    cases, tasks = list(shape.cases()), shape.subtopologies * shape.partitions
    try:
        _check(cases[:20])
        kafka = tasks * float(measure(_KAFKA, "streams-sticky", cases, _SECONDS)["cases_per_cpu_second"])
    except Unavailable as reason:
        print(f"  {shape}: Kafka's classes cannot run here: {reason}")
        return True
    groups, version = groups_of(cases), kafka_version(NEWEST)
    ours = tasks * len(cases) / processor_seconds(lambda: assign(groups, version), _SECONDS)
    print(
        f"  {shape!s:70} {ours:14,.0f} ours  {kafka:14,.0f} Kafka  {ours / kafka:6.2f} x (limit {_LIMIT})", flush=True
    )
    return ours >= kafka * _LIMIT


def _check(cases: list[JsonObject]) -> None:
    """Raise AssertionError if Kafka's answers are not ours."""
    theirs: list[StreamsAnswer] = [answer_of(answer) for answer in answers(_RELEASE, cases)]
    if theirs != streams_answers(cases, _RELEASE):
        raise AssertionError("streams-sticky: Kafka's answers are not ours")
