"""Kernels against reference implementations that read like Kafka, on batches of random groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_sim.kafka.election import offsets_partition
from rebalance_sim.kafka.groups import groups_with_repeated_members
from rebalance_sim.kafka.runtime.strings import Strings
from tests.reference.assignors import range_assign, roundrobin_assign
from tests.reference.classic_group import ClassicGroup
from tests.reference.classic_group import offsets_partition as reference_partition
from tests.reference.model import VERSIONS, Cluster, Group, Joiner, Member
from tests.support.batches import Batch, Election, elect_all, hashes, offsets
from tests.support.examples import examples
from tests.support.strategies import COLLIDING, distinct_names, elections, groups, name_with_hash

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def reference_election(version: str, joiners: tuple[Joiner, ...]) -> Election:
    group = ClassicGroup(version)
    admitted = tuple(joiner.member_id for joiner in joiners if group.join(joiner))
    if not admitted:
        return Election((), None, False, {})
    votes = dict(group.votes())
    leader = group.members[admitted[0]]
    candidates = [protocol for protocol in leader.protocols if protocol in group.candidates()]
    tie = list(votes.values()).count(max(votes.values())) > 1
    return Election(admitted, group.select_protocol(), tie, {name: votes.get(name, 0) for name in candidates})


@pytest.mark.parametrize("version", VERSIONS)
@examples(150)
@given(elections())
def test_elections_equal_the_reference(version: str, batch: list[tuple[Joiner, ...]]) -> None:
    ours = elect_all(version, batch)
    expected = [reference_election(version, joiners) for joiners in batch]
    assert ours == expected
    assert [list(election.votes) for election in ours] == [list(election.votes) for election in expected]


@examples(150)
@given(groups())
def test_range_equals_the_reference(batch: list[Group]) -> None:
    arrays = Batch(batch)
    for version in VERSIONS:
        assert arrays.assign(version, "range") == [range_assign(version, group) for group in batch]


@examples(150)
@given(groups())
def test_roundrobin_equals_the_reference(batch: list[Group]) -> None:
    arrays = Batch(batch)
    for version in VERSIONS:
        assert arrays.assign(version, "roundrobin") == [roundrobin_assign(version, group) for group in batch]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_rack_of_other_topics_is_known(version: str) -> None:
    """A member's rack has replicas, though not of any of the batch's own topics."""
    partitions = {"zz": 2, "t": 3, "a5": 1, "other": 2}
    racks = {"zz": [["x"], []], "t": [["x"], ["x"], []], "a5": [["x"]], "other": [["y"], ["z"]]}
    wanted = ("zz", "t", "a5")
    members = (Member("m1", wanted, rack="z"), Member("m2", wanted, rack="y"))
    batch = [Group(members, Cluster(partitions, racks))]
    assert Batch(batch).assign(version, "range") == [range_assign(version, group) for group in batch]


@examples(100)
@given(st.lists(distinct_names(3), max_size=3), st.integers(1, 200))
def test_offsets_partition_equals_the_reference(names: list[list[str]], partitions: int) -> None:
    group_ids = [name for some in names for name in some]
    group_ids += [name_with_hash(hash_code, 0) for hash_code in (0, 1, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1)]
    found = offsets_partition(hashes(group_ids), partitions)
    assert found.tolist() == [reference_partition(group_id, partitions) for group_id in group_ids]


@examples(150)
@given(st.lists(st.lists(st.one_of(st.sampled_from(COLLIDING), st.text("aé😀", max_size=3)), max_size=16), max_size=4))
def test_repeated_member_ids_are_found(batch: list[list[str]]) -> None:
    ids = [member_id for group in batch for member_id in group]
    found = groups_with_repeated_members(offsets(len(group) for group in batch), Strings.of(ids), hashes(ids))
    assert found.tolist() == [len(set(group)) < len(group) for group in batch]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_empty_batch_is_empty(version: str) -> None:
    assert elect_all(version, []) == []
    assert np.array_equal(offsets([]), [0])
    for strategy in ("range", "roundrobin"):
        assert Batch([]).assign(version, strategy) == []
