"""The iteration orders of hash maps, by hand: the golden elections and assignments show them for random names."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_sim.kafka.runtime.hash_order import (
    java_table_size,
    scala_2_11_group_by_order,
    scala_2_13_group_by_order,
    vote_order,
    vote_order_depends_on_first_votes,
)
from rebalance_sim.releases import MapRule
from tests.support.arrays import hashes, ints
from tests.support.examples import examples
from tests.support.java import hash_improved_to, name_with_hash
from tests.support.strategies import COLLIDING

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


@pytest.mark.parametrize("shared", range(1, 7))
def test_tries_that_branch_at_every_depth(shared: int) -> None:
    """Hash codes 0 and 1 share the lowest groups of 5 bits, 2 and 3 none; names 4 and 5 have hash codes 0 and 1.

    Scala 2.11 visits the groups in ascending order, 2.13 first the names that share none with another name. Names of
    the same hash code are in the order of the mutable map.
    """
    low = (1 << 5 * shared) - 1
    improved = [0x2AAAAAAA & low, (0x2AAAAAAA & low | 1 << 5 * shared) % 2**32, 0x15555555, 7]
    codes = [hash_improved_to(number) for number in improved]
    codes_of_names = hashes([name_with_hash(code, variant) for variant in range(2) for code in codes])
    for inserted, in_2_11, in_2_13 in (
        ([0, 1, 2, 3, 4], [3, 4, 0, 1, 2], [3, 2, 1, 0, 4]),
        ([0, 1, 2, 3, 5], [3, 0, 5, 1, 2], [3, 2, 0, 1, 5]),
        ([5, 3, 2, 1, 0, 4], [3, 4, 0, 1, 5, 2], [3, 2, 0, 4, 5, 1]),
    ):
        assert scala_2_11_group_by_order(codes_of_names, ints(inserted)).tolist() == in_2_11
        assert scala_2_13_group_by_order(codes_of_names, ints(inserted)).tolist() == in_2_13


def test_the_order_in_which_standard_protocols_win_ties() -> None:
    protocols = ["range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "stream"]
    in_java = ["uniform", "stream", "sticky", "range", "roundrobin", "cooperative-sticky"]
    in_scala = ["range", "sticky", "roundrobin", "uniform", "stream", "cooperative-sticky"]
    for rule, expected in ((MapRule.JAVA, in_java), (MapRule.SCALA_2_11, in_scala)):
        # Ties of two: Scala orders more than four keys differently.
        for a in range(len(expected)):
            for b in range(a + 1, len(expected)):
                pair = ints(protocols.index(name) for name in (expected[b], expected[a]))
                assert protocols[vote_order(hashes(protocols), pair, int(rule))[0]] == expected[a]


def test_scala_2_12_13_counts_up_to_four_protocols_in_the_order_of_their_votes() -> None:
    names = hashes(["range", "roundrobin", "sticky", "cooperative-sticky", "uniform"])
    for four in permutations(range(5), 4):
        assert vote_order(names, ints(four), int(MapRule.SCALA_2_12_13)).tolist() == list(four)
    for voted in permutations(range(5)):
        in_2_11, in_2_12 = (
            vote_order(names, ints(voted), int(rule)) for rule in (MapRule.SCALA_2_11, MapRule.SCALA_2_12_13)
        )
        assert in_2_11.tolist() == in_2_12.tolist()


@pytest.mark.parametrize("rule", MapRule)
@examples(100)
@given(st.lists(st.sampled_from([*COLLIDING[:2], *map(str, range(40))]), max_size=5, unique=True))
def test_first_votes_matter_unless_they_are_known_not_to(rule: MapRule, names: list[str]) -> None:
    codes = hashes(names)
    orders = {tuple(vote_order(codes, ints(keys), int(rule))) for keys in permutations(range(len(names)))}
    depends = vote_order_depends_on_first_votes(codes, ints(range(len(names))), int(rule))
    assert depends or len(orders) == 1
    if rule is MapRule.JAVA:
        assert depends == (len(orders) > 1)


def test_a_table_doubles_when_over_three_quarters_full() -> None:
    counts = [0, 1, 12, 13, 24, 25, 48, 49, 96, 97]
    assert [java_table_size(count) for count in counts] == [16, 16, 16, 32, 32, 64, 64, 128, 128, 256]
