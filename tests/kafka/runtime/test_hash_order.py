"""The iteration orders of hash maps, compared with reference maps that have buckets."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_sim.kafka.runtime.hash_order import (
    coordinator_order,
    java_compute_if_absent_order,
    java_order,
    java_table_size,
    scala_2_11_group_by_order,
    scala_2_11_order,
    scala_2_13_group_by_order,
    scala_2_13_order,
    vote_order,
)
from rebalance_sim.kafka.runtime.strings import Ints, Ints32
from rebalance_sim.releases import MapRule
from tests.reference.group_by import group_by_211, group_by_213, improve
from tests.reference.hash_maps import HashMap, JavaHashMap, ScalaHashMap211, ScalaHashMap213
from tests.support.batches import hashes, ints
from tests.support.examples import COMPILED, examples
from tests.support.strategies import hash_improved_to, hashed_names, name_with_hash

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

Order = Callable[[Ints, Ints32], Ints32]
Reference = Callable[[list[str]], list[str]]


def after_puts(make: Callable[[], HashMap[str, None]]) -> Reference:
    def order(names: list[str]) -> list[str]:
        filled = make()
        for name in names:
            filled.put(name, None)
        return list(filled)

    return order


def after_calls(again: bool) -> Reference:
    """Call ``computeIfAbsent`` for all names, and with ``again`` once more for the first."""

    def order(names: list[str]) -> list[str]:
        filled: JavaHashMap[str, list[str]] = JavaHashMap()
        for name in names + (names[:1] if again else []):
            filled.compute_if_absent(name, list)
        return list(filled)

    return order


def by_rule(order: Callable[[Ints, Ints32, int], Ints32], rule: MapRule) -> Order:
    return lambda codes, keys: order(codes, keys, int(rule))


def java_order_after_puts(codes: Ints, keys: Ints32) -> Ints32:
    return java_order(codes, keys, java_table_size(len(keys)))


def keys_of(group_by: Callable[[list[str]], list[tuple[str, int]]]) -> Reference:
    return lambda names: [name for name, _ in group_by(names)]


java_reference = after_puts(JavaHashMap)
scala_2_11_reference = after_puts(ScalaHashMap211)
scala_2_13_reference = after_puts(ScalaHashMap213)
group_by_2_11_reference = keys_of(group_by_211)
group_by_2_13_reference = keys_of(group_by_213)

MAPS: dict[str, tuple[Order, Reference]] = {
    "java": (java_order_after_puts, java_reference),
    "java, computeIfAbsent": (lambda codes, keys: java_compute_if_absent_order(codes, keys, True), after_calls(False)),
    "java, one call more": (lambda codes, keys: java_compute_if_absent_order(codes, keys, False), after_calls(True)),
    "scala 2.11": (scala_2_11_order, scala_2_11_reference),
    "scala 2.13": (scala_2_13_order, scala_2_13_reference),
    "scala 2.11, groupBy": (scala_2_11_group_by_order, group_by_2_11_reference),
    "scala 2.13, groupBy": (scala_2_13_group_by_order, group_by_2_13_reference),
    "members, java": (by_rule(coordinator_order, MapRule.JAVA), java_reference),
    "members, scala 2.11": (by_rule(coordinator_order, MapRule.SCALA_2_11), scala_2_11_reference),
    "members, scala 2.13": (by_rule(coordinator_order, MapRule.SCALA_2_13), scala_2_13_reference),
    "votes, java": (by_rule(vote_order, MapRule.JAVA), java_reference),
    "votes, scala 2.11": (by_rule(vote_order, MapRule.SCALA_2_11), group_by_2_11_reference),
    "votes, scala 2.13": (by_rule(vote_order, MapRule.SCALA_2_13), group_by_2_13_reference),
}
STRUCTURES = [name for name in MAPS if not name.startswith(("members", "votes"))]

# Every size; as plain Python only sizes around each growth of a table.
SIZES = list(range(201)) if COMPILED else [*range(28), *range(45, 53), 96, 97, 98, 150, 192, 193, 200]
NAMES: dict[str, Callable[[int], str]] = {
    "numbered": "consumer-{}".format,
    "one hash code in four": lambda i: name_with_hash(0x9E3779B9 * (i // 4) % 2**32, i % 4),
    "two buckets": lambda i: name_with_hash((i // 4 * 2**20 + i % 4 // 2) % 2**32, i % 2),
}


def expect_same_order(kind: str, names: list[str], inserted: list[int]) -> None:
    """Insert some of the names: the rules receive indices, the reference maps names."""
    order, reference = MAPS[kind]
    found = order(hashes(names), ints(inserted))
    assert [names[i] for i in found] == reference([names[i] for i in inserted])


@pytest.mark.parametrize("make", NAMES.values(), ids=NAMES.keys())
@pytest.mark.parametrize("kind", STRUCTURES)
def test_the_order_of_every_size(kind: str, make: Callable[[int], str]) -> None:
    names = [make(i) for i in range(max(SIZES) + 1)]
    for size in SIZES:
        expect_same_order(kind, names[: size + 1], list(range(size)))


@pytest.mark.parametrize("kind", MAPS)
@examples(100)
@given(hashed_names(40), st.randoms(use_true_random=False), st.integers(0, 3))
def test_names_with_close_or_equal_hash_codes(kind: str, names: list[str], shuffle: Random, left_out: int) -> None:
    inserted = list(range(len(names)))
    shuffle.shuffle(inserted)
    expect_same_order(kind, names, inserted[left_out:])


@pytest.mark.parametrize("shared", range(7))
def test_tries_that_branch_at_every_depth(shared: int) -> None:
    """Two hash codes share the lowest groups of 5 bits; each hash code belongs to one name or to two."""
    low = (1 << 5 * shared) - 1
    wanted = [0x2AAAAAAA & low, (0x2AAAAAAA & low | 1 << 5 * shared) % 2**32, 0x15555555, 7]
    codes = [hash_improved_to(improved) for improved in wanted]
    assert [improve(code) for code in codes] == wanted
    names = [name_with_hash(code, variant) for variant in range(2) for code in codes]
    for kind in ("scala 2.11, groupBy", "scala 2.13, groupBy"):
        for inserted in ([0, 1, 2, 3], [3, 2, 1, 0], [0, 1, 2, 3, 4], [0, 1, 2, 3, 5], [5, 3, 2, 1, 0, 4]):
            expect_same_order(kind, names, inserted)


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


def test_a_table_doubles_when_over_three_quarters_full() -> None:
    counts = [0, 1, 12, 13, 24, 25, 48, 49, 96, 97]
    assert [java_table_size(count) for count in counts] == [16, 16, 16, 32, 32, 64, 64, 128, 128, 256]
