"""Batches whose groups offer many protocols: each group numbers its own."""

from collections.abc import Sequence

import numpy as np
import pytest

from rebalance_sim.kafka.simulation.protocols import MOST_PROTOCOLS, Offers, number_protocols
from tests.support.cases import JsonObject
from tests.support.examples import COMPILED
from tests.support.simulated import History, Played, at, consumer, play

# More names than one group may offer.
GROUPS, NAMES = (1000, 200) if COMPILED else (90, 70)
EVENTS = (at(5_000, "restart", 0, 500), at(20_000, "move-coordinator", value=100), at(30_000, "restart", 1, 500))
"""A coordinator that loads the group from the log knows only the elected protocol of each member."""


def offering(protocols: Sequence[str], name: str = "g") -> History:
    """Return a group of two consumers that offer the same protocols and restart."""
    members: list[JsonObject] = [consumer(each, "t", protocols=protocols) for each in ("a", "b")]
    return History(members, events=EVENTS, name=name)


def figures(played: Played, group: int) -> tuple[object, ...]:
    progress = played.progress(group)
    return progress.begun, progress.completed, progress.unowned_ms, progress.moved, progress.stable, played.owned(group)


def test_a_batch_of_many_protocols_simulates() -> None:
    groups = [offering([f"own-{number % NAMES}", "range"][:: (-1) ** number], f"g{number}") for number in range(GROUPS)]
    played = play(groups, {"t": 4})
    assert len(played.prepared.protocols.names) == NAMES + 1
    for number in range(0, GROUPS, 2):
        assert played.errors[number] == f"no assignor for protocol 'own-{number % NAMES}'"
    for number in range(1, GROUPS, 2):
        assert played.errors[number] is None
        assert set(played.elected(number)) == {"range"}
    last = GROUPS - 1
    assert figures(played, last) == figures(play([groups[last]], {"t": 4}), 0)


@pytest.mark.parametrize("many", [MOST_PROTOCOLS, 80])
def test_only_a_group_that_offers_too_many_protocols_has_an_error(many: int) -> None:
    protocols = ["range", *(f"own-{number}" for number in range(many - 1))]
    few = [offering(["range"], "few"), offering(["sticky", "range"], "also few")]
    played = play([few[0], offering(protocols, "many"), few[1]], {"t": 4})
    too_many = f"the group offers {many} protocols; at most 63 can be simulated"
    assert played.errors == [None, too_many if many > MOST_PROTOCOLS else None, None]
    for group, history in ((0, few[0]), (2, few[1])):
        assert figures(played, group) == figures(play([history], {"t": 4}), 0)
    if many == MOST_PROTOCOLS:
        # 62 more protocols that nobody votes for change nothing.
        renamed = offering(["range"], "many")
        assert figures(played, 1) == figures(play([renamed], {"t": 4}), 0)


def test_protocols_that_a_consumer_changes_to_count() -> None:
    """They are offered from its next start on."""
    later = tuple(f"own-{number}" for number in range(MOST_PROTOCOLS))
    history = History([consumer("a", "t")], events=[at(1_000, "protocols", 0, names=later)])
    assert play([history], {"t": 4}).errors == ["the group offers 64 protocols; at most 63 can be simulated"]


def test_each_group_numbers_its_protocols_by_itself() -> None:
    offers = Offers(np.arange(3, dtype=np.int32), [["a", "b"], ["b", "c"], ["c"]])
    numbered = number_protocols(2, np.array([0, 0, 1], np.int32), offers, [])
    assert (numbered.names, numbered.lists) == (["a", "b", "c"], [(0, 1), (1, 2), (2,)])
    assert numbered.consumer_bits.tolist() == [0b11, 0b110, 0b1]
    of_groups = np.split(numbered.of_groups, numbered.first_of_group[1:-1])
    assert [numbers.tolist() for numbers in of_groups] == [[0, 1, 2], [2]]
