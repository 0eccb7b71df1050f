"""The assignors of other client libraries, called live, return the predicted assignments."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.oracle.random_cases import assignor_cases
from tests.support import other_libraries
from tests.support.batches import Batch
from tests.support.cases import Answer, group_of
from tests.support.librdkafka_leader import ask_librdkafka
from tests.support.model import VERSIONS, Assignment, Group, Partition
from tests.support.strategies import as_sent

pytestmark = [pytest.mark.clients, pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated")]


def some_groups(seed: int, count: int) -> list[Group]:
    return [as_sent(group_of(case)) for case in assignor_cases(seed, count)]


def in_order(answer: Answer) -> Answer:
    """Sort lists: librdkafka's depend on the order of topics in the broker's metadata."""
    return answer if isinstance(answer, str) else {member_id: sorted(has) for member_id, has in answer.items()}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("strategy", ["range", "roundrobin"])
def test_librdkafka_returns_the_predicted_assignment(strategy: str, version: str) -> None:
    groups = some_groups(8, 600)
    ours = Batch(groups).answers(version, f"librdkafka-{strategy}")
    theirs = ask_librdkafka(strategy, other_libraries.as_listed(version, groups))
    assert [pair for pair in zip(map(in_order, theirs), ours, strict=True) if pair[0] != pair[1]] == []
    assert theirs != Batch(groups).assign(version, strategy)


class Subscription(NamedTuple):
    topics: list[str]


class Joined(NamedTuple):
    """The attributes of a member that kafka-python's assignors use."""

    member_id: str
    group_instance_id: str | None
    metadata: Subscription


class Metadata:
    """The methods of cluster metadata that kafka-python's assignors call."""

    def __init__(self, partitions: Mapping[str, int]) -> None:
        self._partitions = partitions

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return set(range(self._partitions[topic])) if topic in self._partitions else None


def ask_kafka_python(assignor: Any, group: Group) -> Answer:
    joined = [Joined(m.member_id, m.instance_id, Subscription(list(m.topics))) for m in group.members]
    try:
        answer = assignor.assign(Metadata(group.cluster.partitions), joined)
    except KeyError as error:
        return type(error).__name__
    return {
        member_id: [Partition(topic, number) for topic, numbers in assigned.assigned_partitions for number in numbers]
        for member_id, assigned in answer.items()
    }


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("strategy", ["range", "roundrobin"])
def test_kafka_python_returns_the_predicted_assignment(strategy: str, version: str) -> None:
    from kafka.coordinator.assignors.range import RangePartitionAssignor  # noqa: PLC0415 - the whole package, which warns
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor  # noqa: PLC0415

    assignor = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}[strategy]
    groups = some_groups(9, 3000)
    ours = Batch(groups).answers(version, f"kafka-python-{strategy}")
    theirs = [ask_kafka_python(assignor, group) for group in other_libraries.as_listed(version, groups)]
    assert [pair for pair in zip(theirs, ours, strict=True) if pair[0] != pair[1]] == []
    assert ("KeyError" in theirs) == (strategy == "roundrobin")
    assert theirs != Batch(groups).answers(version, strategy)


@pytest.fixture(scope="module", params=VERSIONS)
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, list[Group], list[dict[str, Assignment]]]:
    """Ask the libraries of Go and JavaScript about groups of brokers of a version."""
    seed = request.config.getoption("--seed")
    groups = [*other_libraries.some_groups(seed, 500), *other_libraries.one_topic_groups(seed, 500)]
    try:
        of_go = other_libraries.ask_go(request.param, groups, tmp_path_factory.mktemp("go"))
        of_node = other_libraries.ask_node(request.param, groups, tmp_path_factory.mktemp("node"))
    except other_libraries.LibrariesUnavailable as reason:
        pytest.skip(str(reason))
    return request.param, groups, [go | node for go, node in zip(of_go, of_node, strict=True)]


@pytest.mark.parametrize("strategy", [*other_libraries.OF_GO, *other_libraries.OF_JAVASCRIPT])
def test_libraries_of_go_and_javascript_return_the_predicted_assignment(
    strategy: str, asked: tuple[str, list[Group], list[dict[str, Assignment]]]
) -> None:
    """franz-go's sticky assignor determines the assignment of a group with one topic, if claims do not conflict."""
    version, groups, answers = asked
    ours = [in_order(given) for given in Batch(groups).answers(version, strategy)]
    answered = [
        (answer[strategy], given) for answer, given in zip(answers, ours, strict=True) if given != "undetermined"
    ]
    assert [pair for pair in answered if pair[0] != pair[1]] == []
    assert len(answered) == len(groups) or (strategy == "franz-go-sticky" and len(answered) > 400)


STICKY_IN_A_PROCESS = """
import warnings
warnings.simplefilter("ignore")
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor as Sticky
from kafka.structs import TopicPartition
from tests.real.test_client_assignors import Joined, Metadata

had = {c: [TopicPartition(t, n) for t, n in ((("a", "b")[i % 2], i // 2) for i in range(12)) if n % 2 == k]
       for k, c in enumerate("bc")}
joined = [Joined(c, None, Sticky._metadata(["a", "b"], has, 1)) for c, has in had.items()]
joined.append(Joined("a", None, Sticky._metadata({"a", "b"}, None)))
metadata = Metadata({"a": 6, "b": 6})
metadata.topics = lambda: ["a", "b"]
print(sorted(Sticky().assign(metadata, joined)["a"].assigned_partitions))
"""
"""Members b and c report owned partitions, a is new: the order of its topics depends on the process's hash seed."""


def test_kafka_pythons_sticky_assignor_depends_on_the_hash_seed_of_the_process() -> None:
    printed = set()
    for seed in range(6):
        run = subprocess.run(
            [sys.executable, "-c", STICKY_IN_A_PROCESS],
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        )
        printed.add(run.stdout)
    assert len(printed) > 1
