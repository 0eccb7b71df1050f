"""Assignors of other client libraries: kernels against reference implementations, on random groups."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_sim.kafka.assignors import ASSIGNORS, CLIENTS_ASSIGNORS, assignors_of
from rebalance_sim.releases import kafka_version
from tests.reference.client_assignors import (
    PythonError,
    kafka_python_range_assign,
    kafka_python_roundrobin_assign,
    librdkafka_range_assign,
    librdkafka_roundrobin_assign,
)
from tests.reference.model import VERSIONS, Assignment, Cluster, Group, Member, Partition
from tests.support.batches import Batch
from tests.support.cases import Answer
from tests.support.examples import examples
from tests.support.invariants import BASIC, NumberedBatch, faults
from tests.support.strategies import as_sent, groups

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

REFERENCES: dict[str, Callable[[str, Group], Assignment]] = {
    "librdkafka-range": librdkafka_range_assign,
    "librdkafka-roundrobin": librdkafka_roundrobin_assign,
    "kafka-python-range": kafka_python_range_assign,
    "kafka-python-roundrobin": kafka_python_roundrobin_assign,
}


def reference_answer(strategy: str, version: str, group: Group) -> Answer:
    try:
        return REFERENCES[strategy](version, group)
    except PythonError as error:
        return str(error)


def sent_groups() -> st.SearchStrategy[list[Group]]:
    return groups().map(lambda batch: list(map(as_sent, batch)))


@pytest.mark.parametrize("strategy", REFERENCES)
@examples(150)
@given(sent_groups())
def test_kernels_equal_the_reference(strategy: str, batch: list[Group]) -> None:
    arrays = Batch(batch)
    for version in VERSIONS:
        assert arrays.answers(version, strategy) == [reference_answer(strategy, version, group) for group in batch]


@pytest.mark.parametrize("strategy", REFERENCES)
def test_a_group_without_members_has_no_assignment(strategy: str) -> None:
    assert Batch([]).assign("4.3", strategy) == []
    assert Batch([Group((), Cluster({"t": 1}))]).assign("4.3", strategy) == [{}]


def test_they_are_neither_elected_nor_compared_by_default() -> None:
    assert not CLIENTS_ASSIGNORS.keys() & ASSIGNORS.keys()
    assert not CLIENTS_ASSIGNORS.keys() & set(assignors_of(kafka_version("4.3")))


# ---- differences from Java


def group(members: str, partitions: int = 5, static: str = "") -> Group:
    """Return members named by one letter; ids of static ones begin with their instance ids."""
    joined = [Member(f"{name}-0", ("t",), name if name in static else None) for name in members]
    return Group(tuple(joined), Cluster({"t": partitions}))


def numbers(strategy: str, group: Group) -> dict[str, list[int]]:
    answer = Batch([group]).assign("4.3", strategy)[0]
    return {name: [partition.number for partition in has] for name, has in answer.items()}


def test_librdkafka_sorts_static_among_dynamic_members() -> None:
    mixed = group("abyz", static="yz")
    assert numbers("range", mixed) == {"a-0": [3], "b-0": [4], "y-0": [0, 1], "z-0": [2]}
    assert numbers("librdkafka-range", mixed) == {"a-0": [0, 1], "b-0": [2], "y-0": [3], "z-0": [4]}
    assert numbers("roundrobin", mixed) == {"a-0": [2], "b-0": [3], "y-0": [0, 4], "z-0": [1]}
    assert numbers("librdkafka-roundrobin", mixed) == {"a-0": [0, 4], "b-0": [1], "y-0": [2], "z-0": [3]}


def test_members_without_a_total_order_are_merge_sorted() -> None:
    """By instance id x is before y, by member id y before d and d before x."""
    x, y, d = Member("r-3", ("t",), "x"), Member("p-1", ("t",), "y"), Member("q-2", ("t",))
    cluster = Cluster({"t": 3})
    assert numbers("librdkafka-range", Group((x, y), cluster)) == {"r-3": [0, 1], "p-1": [2]}
    assert numbers("librdkafka-range", Group((x, y, d), cluster)) == {"p-1": [0], "q-2": [1], "r-3": [2]}


@pytest.mark.parametrize("strategy", ["kafka-python-range", "kafka-python-roundrobin"])
def test_kafka_python_loses_members(strategy: str) -> None:
    """The coordinator's map has d before f before e; so d is lost if only f is static."""
    forgets = Batch([group("def", static="f")])
    given = forgets.assign("4.3", strategy)
    assert {name: len(has) for name, has in given[0].items()} == {"d-0": 0, "e-0": 2, "f-0": 3}
    assert forgets.measure(given).idle.tolist() == [1]
    first = group("def", static="d")
    assert numbers(strategy, first) == numbers(strategy.removeprefix("kafka-python-"), first)


def test_kafka_python_fails_when_it_skips_a_member() -> None:
    members = (Member("a", ("t", "u")), Member("b", ("u",)))
    cluster = Cluster({"t": 2, "u": 2})
    assert Batch([Group(members, cluster)]).answers("4.3", "kafka-python-roundrobin") == ["KeyError"]
    one_each = Cluster({"t": 1, "u": 1})
    assert Batch([Group(members, one_each)]).answers("4.3", "kafka-python-roundrobin") == [
        {"a": [Partition("t", 0)], "b": [Partition("u", 0)]}
    ]


# ---- invariants


@pytest.mark.parametrize("strategy", REFERENCES)
@examples(100)
@given(sent_groups())
def test_invariants_hold(strategy: str, batch: list[Group]) -> None:
    """Every partition that is wanted goes to one member that wants it, evenly, where the assignor does not fail.

    kafka-python forgets members, and with them what they alone want.
    """
    arrays = Batch(batch)
    outcome = CLIENTS_ASSIGNORS[strategy].assign(arrays.arrays, arrays.topics, kafka_version("4.3"))
    found = faults(strategy, "4.3", NumberedBatch(arrays), outcome.assignments)
    assert {name for name in BASIC if found[name][outcome.errors == 0].any()} == set()
    if strategy.startswith("librdkafka"):
        assert not outcome.errors.any()
        assert not np.any(found["imbalanced"])
