"""The assignors of two real client libraries, called live: what they answer is what is predicted under their names."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.kafka.batches import Batch
from tests.kafka.cases import Outcome, group_of
from tests.kafka.strategies import as_sent
from tests.librdkafka_leader import ask_librdkafka
from tests.naive.client_assignors import as_told
from tests.naive.model import Group, Partition
from tests.oracle.random_cases import assignor_cases

pytestmark = [pytest.mark.clients, pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated")]


def some_groups(seed: int, count: int) -> list[Group]:
    return [as_sent(group_of(case)) for case in assignor_cases(seed, count)]


def in_order(answer: Outcome) -> Outcome:
    """Sort lists; those of librdkafka follow the order of topics in the broker's answer."""
    return answer if isinstance(answer, str) else {member_id: sorted(has) for member_id, has in answer.items()}


@pytest.mark.parametrize("strategy", ["range", "roundrobin"])
def test_librdkafka(strategy: str) -> None:
    groups = some_groups(8, 600)
    ours = Batch(groups).answers("4.3", f"librdkafka-{strategy}")
    theirs = ask_librdkafka(strategy, [as_told("4.3", group) for group in groups])
    assert [pair for pair in zip(map(in_order, theirs), ours, strict=True) if pair[0] != pair[1]] == []
    assert theirs != Batch(groups).assign("4.3", strategy)


class Subscription(NamedTuple):
    topics: list[str]


class Joined(NamedTuple):
    """What kafka-python's assignors look at of a member."""

    member_id: str
    group_instance_id: str | None
    metadata: Subscription


class Metadata:
    """What kafka-python's assignors ask of a cluster."""

    def __init__(self, partitions: Mapping[str, int]) -> None:
        self._partitions = partitions

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return set(range(self._partitions[topic])) if topic in self._partitions else None


def ask_kafka_python(assignor: Any, group: Group) -> Outcome:
    joined = [Joined(m.member_id, m.instance_id, Subscription(list(m.topics))) for m in group.members]
    try:
        answer = assignor.assign(Metadata(group.cluster.partitions), joined)
    except KeyError as error:
        return type(error).__name__
    return {
        member_id: [Partition(topic, number) for topic, numbers in told.assigned_partitions for number in numbers]
        for member_id, told in answer.items()
    }


@pytest.mark.parametrize("strategy", ["range", "roundrobin"])
def test_kafka_python(strategy: str) -> None:
    from kafka.coordinator.assignors.range import RangePartitionAssignor  # noqa: PLC0415 - the whole package, which warns
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor  # noqa: PLC0415

    assignor = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}[strategy]
    groups = some_groups(9, 3000)
    ours = Batch(groups).answers("4.3", f"kafka-python-{strategy}")
    theirs = [ask_kafka_python(assignor, as_told("4.3", group)) for group in groups]
    assert [pair for pair in zip(theirs, ours, strict=True) if pair[0] != pair[1]] == []
    assert ("KeyError" in theirs) == (strategy == "roundrobin")
    assert theirs != Batch(groups).answers("4.3", strategy)


STICKY_IN_A_PROCESS = """
import warnings
warnings.simplefilter("ignore")
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor as Sticky
from kafka.structs import TopicPartition
from tests.test_client_assignors import Joined, Metadata

had = {c: [TopicPartition(t, n) for t, n in ((("a", "b")[i % 2], i // 2) for i in range(12)) if n % 2 == k]
       for k, c in enumerate("bc")}
joined = [Joined(c, None, Sticky._metadata(["a", "b"], has, 1)) for c, has in had.items()]
joined.append(Joined("a", None, Sticky._metadata({"a", "b"}, None)))
metadata = Metadata({"a": 6, "b": 6})
metadata.topics = lambda: ["a", "b"]
print(sorted(Sticky().assign(metadata, joined)["a"].assigned_partitions))
"""
"""Members c and b say that they have what they had, and a that it is new: of its process is the order of its topics."""


def test_kafka_pythons_sticky_goes_by_the_seed_of_a_process() -> None:
    told = set()
    for seed in range(6):
        run = subprocess.run(
            [sys.executable, "-c", STICKY_IN_A_PROCESS],
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            cwd=Path(__file__).parent.parent,
            capture_output=True,
            text=True,
            check=True,
        )
        told.add(run.stdout)
    assert len(told) > 1
