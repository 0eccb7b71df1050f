"""What groups go by that follow KIP-848 or the classic protocol, or are on their way from one to the other."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_sim.kafka.coordinator.classic_group import NONE
from rebalance_sim.kafka.coordinator.consumer_group import SERVER_ASSIGNORS
from rebalance_sim.kafka.group_types import group_protocols
from rebalance_sim.versions import SERVER_SIDE, kafka_version
from tests.kafka.batches import Election, Voters, ints
from tests.kafka.examples import examples
from tests.kafka.strategies import elections
from tests.kafka.test_twins import election_twin
from tests.naive.group_types import SERVER_ASSIGNORS as KAFKAS_NAMES
from tests.naive.group_types import MixedGroup, is_modern
from tests.naive.model import VERSIONS, Joiner

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def told(version: str, groups: list[tuple[Joiner, ...]]) -> list[tuple[bool, Election]]:
    """Whether each group is one of KIP-848, and what it goes by."""
    voters = Voters(groups)
    rules = kafka_version(version)
    found = group_protocols(
        voters.sections,
        voters.ids,
        voters.types,
        voters.type_numbers.get("consumer", NONE),
        voters.preferences,
        ints(SERVER_ASSIGNORS.index(name) if name in SERVER_ASSIGNORS else NONE for name in voters.names),
        set(SERVER_SIDE) <= set(rules.assignors),
        int(rules.coordinator_map),
    )
    assert found.classic.tolist() == [not is_modern(member) for member in voters.members]
    assert found.elections.candidate_offsets.dtype == found.elections.winner.dtype == np.int32
    return list(zip(found.of_consumers.tolist(), voters.told(found.elections), strict=True))


def twin(version: str, joiners: tuple[Joiner, ...]) -> tuple[bool, Election]:
    group = MixedGroup(version, joiners)
    if not group.is_consumer_group:
        return False, election_twin(version, tuple(joiner for joiner in joiners if not is_modern(joiner)))
    counts = group.counts()
    votes = {ours: counts[name] for ours, name in KAFKAS_NAMES.items() if name in counts}
    preferred = {name: ours for ours, name in KAFKAS_NAMES.items()}[group.preferred_server_assignor()]
    tie = list(votes.values()).count(max(votes.values())) > 1
    return True, Election(tuple(each.member_id for each in joiners if group.has(each)), preferred, tie, votes)


@st.composite
def migrations(draw: st.DrawFn) -> list[tuple[Joiner, ...]]:
    """Elections in which some members follow KIP-848."""
    server = st.sampled_from([None, None, *SERVER_ASSIGNORS])
    groups = [[joiner for joiner in group if joiner.protocols] for group in draw(elections())]
    return [
        tuple(replace(each, protocols=(wish,)) if (wish := draw(server)) else each for each in group)
        if draw(st.booleans())
        else tuple(group)
        for group in groups
    ]


@pytest.mark.parametrize("version", VERSIONS)
@examples(150)
@given(migrations())
def test_groups(version: str, batch: list[tuple[Joiner, ...]]) -> None:
    ours = told(version, batch)
    twins = [twin(version, joiners) for joiners in batch]
    assert ours == twins
    assert [list(election.votes) for _, election in ours] == [list(election.votes) for _, election in twins]


WISHES = {
    ("server-range",): ("server-range", False),
    ("server-range", "server-uniform"): ("server-uniform", True),
    ("server-uniform", "server-range"): ("server-uniform", True),
    ("server-range", "server-uniform", "server-range"): ("server-range", False),
    ("server-range", "server-range", "server-uniform", "server-uniform"): ("server-uniform", True),
    ("range", "server-range", "range"): ("server-range", False),
}


@pytest.mark.parametrize(("wishes", "preferred"), WISHES.items())
def test_most_wishes(wishes: tuple[str, ...], preferred: tuple[str, bool]) -> None:
    """What ``ConsumerGroup.preferredServerAssignor`` of 4.3.1 answered to members with these."""
    joiners = tuple(Joiner(f"m{n}", (wish,)) for n, wish in enumerate(wishes))
    ((is_consumer_group, election),) = told("4.3", [joiners])
    assert is_consumer_group
    assert (election.protocol, election.tie) == preferred
    assert election.admitted == ("m0", "m1", "m2", "m3")[: len(wishes)]


def test_no_groups_at_all() -> None:
    assert told("4.3", []) == []
    assert told("4.3", [(), (Joiner("a", ("server-range",)),), ()])[::2] == [(False, Election((), None, False, {}))] * 2
