"""Batches of groups: what no golden case shows, because each is a group on a cluster of its own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_sim.kafka.assignors import KNOWN_ASSIGNORS, find_assignor
from rebalance_sim.kafka.groups import (
    any_order,
    groups_with_repeated_members,
    map_order,
    naming_order,
    sorted_order,
    subscribers,
)
from rebalance_sim.kafka.runtime.strings import Strings
from rebalance_sim.releases import kafka_version
from tests.support.arrays import offsets
from tests.support.batches import Batch
from tests.support.examples import examples
from tests.support.model import VERSIONS, Cluster, Group, Member, Partition
from tests.support.strategies import COLLIDING, groups

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


@pytest.mark.parametrize("strategy", KNOWN_ASSIGNORS)
@examples(60)
@given(groups())
def test_groups_of_a_cluster_do_not_influence_each_other(strategy: str, batch: list[Group]) -> None:
    alone = [Batch([group]).answers("4.3", strategy)[0] for group in batch]
    assert Batch(batch).answers("4.3", strategy) == alone


@pytest.mark.parametrize("strategy", KNOWN_ASSIGNORS)
def test_a_rack_of_another_cluster_does_not_count(strategy: str) -> None:
    member, wanted = Member("m", ("t",), rack="a"), {"t": 2}
    batch = [Group((member,), Cluster(wanted, {"t": [["a"], ["b"]]})), Group((member,), Cluster(wanted))]
    alone = [Batch([group]).answers("4.3", strategy)[0] for group in batch]
    assert Batch(batch).answers("4.3", strategy) == alone


@pytest.mark.parametrize("version", VERSIONS)
def test_a_rack_of_other_topics_is_known(version: str) -> None:
    """A member's rack has replicas, though not of any of the batch's own topics."""
    partitions = {"zz": 2, "t": 3, "a5": 1, "other": 2}
    racks = {"zz": [["x"], []], "t": [["x"], ["x"], []], "a5": [["x"]], "other": [["y"], ["z"]]}
    wanted = ("zz", "t", "a5")
    members = (Member("m1", wanted, rack="z"), Member("m2", wanted, rack="y"))
    (given,) = Batch([Group(members, Cluster(partitions, racks))]).assign(version, "range")
    zz, t, a5 = ([Partition(topic, number) for number in range(partitions[topic])] for topic in wanted)
    first = [zz[0], *a5, *t[:2]] if version == "2.3" else [zz[0], *t[:2], *a5]
    assert given == {"m1": first, "m2": [zz[1], t[2]]}


@examples(100)
@given(groups(), st.booleans())
def test_topics_are_named_as_in_the_order_of_the_map(batch: list[Group], count_repeats: bool) -> None:
    arrays, topics = Batch(batch).arrays, len(Batch(batch).topics.partitions)
    in_order = sorted_order(arrays, any_order(arrays), static_members_first=True)
    expected, found = (
        subscribers(arrays, order, in_order, topics, count_repeats)
        for order in (map_order(arrays), naming_order(arrays))
    )
    for name, value in expected._asdict().items():
        assert np.array_equal(value, found._asdict()[name])


@examples(150)
@given(st.lists(st.lists(st.one_of(st.sampled_from(COLLIDING), st.text("aé😀", max_size=3)), max_size=40), max_size=4))
def test_repeated_member_ids_are_found(batch: list[list[str]]) -> None:
    ids = [member_id for group in batch for member_id in group]
    found = groups_with_repeated_members(offsets(len(group) for group in batch), Strings.of(ids))
    assert found.tolist() == [len(set(group)) < len(group) for group in batch]


@pytest.mark.parametrize("strategy", KNOWN_ASSIGNORS)
def test_a_group_without_members_has_no_assignment(strategy: str) -> None:
    for version in VERSIONS:
        if find_assignor(strategy, kafka_version(version)) is not None:
            assert Batch([]).assign(version, strategy) == []
            assert Batch([Group((), Cluster({"t": 1}))]).assign(version, strategy) == [{}]
