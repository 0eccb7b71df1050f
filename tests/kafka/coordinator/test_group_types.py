"""The type and the assignor of groups with members of the classic protocol, of the consumer protocol, or of both."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.coordinator.group_types import ConsumerProtocol, group_protocols
from rebalance_sim.releases import SERVER_ASSIGNORS, kafka_version
from tests.support.arrays import ints
from tests.support.batches import Election, Voters, elect_all
from tests.support.examples import examples
from tests.support.model import VERSIONS, Joiner
from tests.support.strategies import elections

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def found(version: str, groups: list[tuple[Joiner, ...]]) -> list[tuple[bool, Election]]:
    """Return whether each group is a consumer-protocol group, and its election."""
    voters = Voters(groups)
    rules = kafka_version(version)
    assignors = ints(SERVER_ASSIGNORS.index(name) if name in SERVER_ASSIGNORS else NONE for name in voters.names)
    is_supported = set(SERVER_ASSIGNORS) <= set(rules.assignors)
    protocol = ConsumerProtocol(voters.type_numbers.get("consumer", NONE), assignors, is_supported)
    members = voters.sections, voters.member_ids, voters.types, voters.offered
    protocols = group_protocols(*members, voters.preferences, protocol, int(rules.coordinator_map))
    assert protocols.classic.tolist() == [not is_modern(member) for member in voters.members]
    assert protocols.elections.candidate_offsets.dtype == protocols.elections.winner.dtype == np.int32
    return list(zip(protocols.of_consumers.tolist(), voters.elections(protocols.elections), strict=True))


def expected(version: str, joiners: tuple[Joiner, ...]) -> tuple[bool, Election]:
    """Return the election of the classic members alone, or the consumer-protocol group that they join."""
    preferred = Counter(joiner.protocols[0] for joiner in joiners if is_modern(joiner) and version in ("3.9", "4.3"))
    classic = tuple(
        each for each in joiners if not is_modern(each) and (each.protocol_type == "consumer" or not preferred)
    )
    (elected,) = elect_all(version, [classic])
    if not preferred:
        return False, elected
    has = {*elected.admitted, *(joiner.member_id for joiner in joiners if is_modern(joiner))}
    votes = {name: preferred[name] for name in SERVER_ASSIGNORS if name in preferred}
    most = max(votes.values())
    first = "server-uniform" if votes.get("server-uniform") == most else "server-range"
    tie = list(votes.values()).count(most) > 1
    return True, Election(tuple(each.member_id for each in joiners if each.member_id in has), first, tie, votes)


def is_modern(joiner: Joiner) -> bool:
    """Return whether it uses the consumer protocol."""
    return joiner.protocols[0] in SERVER_ASSIGNORS


@st.composite
def migrations(draw: st.DrawFn) -> list[tuple[Joiner, ...]]:
    """Generate elections in which some members use the consumer protocol."""
    server = st.sampled_from([None, None, *SERVER_ASSIGNORS])
    groups = [[joiner for joiner in group if joiner.protocols] for group in draw(elections())]
    return [
        tuple(replace(each, protocols=(name,)) if (name := draw(server)) else each for each in group)
        if draw(st.booleans())
        else tuple(group)
        for group in groups
    ]


@pytest.mark.parametrize("version", VERSIONS)
@examples(150)
@given(migrations())
def test_classic_members_vote_as_if_alone_and_consumer_members_outrank_them(
    version: str, batch: list[tuple[Joiner, ...]]
) -> None:
    ours = found(version, batch)
    theirs = [expected(version, joiners) for joiners in batch]
    assert ours == theirs
    assert [list(election.votes) for _, election in ours] == [list(election.votes) for _, election in theirs]


PREFERRED = {
    ("server-range",): ("server-range", False),
    ("server-range", "server-uniform"): ("server-uniform", True),
    ("server-uniform", "server-range"): ("server-uniform", True),
    ("server-range", "server-uniform", "server-range"): ("server-range", False),
    ("server-range", "server-range", "server-uniform", "server-uniform"): ("server-uniform", True),
    ("range", "server-range", "range"): ("server-range", False),
}


@pytest.mark.parametrize(("assignors", "preferred"), PREFERRED.items())
def test_most_members_decide(assignors: tuple[str, ...], preferred: tuple[str, bool]) -> None:
    """The answers of ``ConsumerGroup.preferredServerAssignor`` of 4.3.1."""
    joiners = tuple(Joiner(f"m{n}", (assignor,)) for n, assignor in enumerate(assignors))
    ((is_consumer_group, election),) = found("4.3", [joiners])
    assert is_consumer_group
    assert (election.protocol, election.tie) == preferred
    assert election.admitted == ("m0", "m1", "m2", "m3")[: len(assignors)]


def test_no_groups_at_all() -> None:
    assert found("4.3", []) == []
    shown = found("4.3", [(), (Joiner("a", ("server-range",)),), ()])[::2]
    assert shown == [(False, Election((), None, False, {}))] * 2
