"""Hash codes, comparison and sorting of strings as in Java."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_sim.kafka.runtime.strings import Strings, equal, java_compare, java_hash, java_hashes, sort_sections
from tests.support import java
from tests.support.arrays import ints
from tests.support.examples import examples
from tests.support.java import name_with_hash
from tests.support.strategies import COLLIDING, ODD_CHARACTERS

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

ANY_TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
CLOSE_TEXT = st.text("ab" + ODD_CHARACTERS, max_size=3)
TEXTS = st.one_of(ANY_TEXT, CLOSE_TEXT, st.sampled_from(COLLIDING))


def java_order(a: str, b: str) -> int:
    """Return the sign of ``compareTo``."""
    x, y = java.java_key(a), java.java_key(b)
    return (x > y) - (x < y)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("range", 108280125), ("polygenelubricants", 2**31), ("é", 0xE9), ("～", 0xFF5E), ("😀", 1772899)],
)
def test_hash_codes_are_those_that_java_prints(text: str, expected: int) -> None:
    assert java_hashes(Strings.of([text])).tolist() == [expected]
    assert java.java_hash(text) == expected


@examples(300)
@given(st.lists(TEXTS))
def test_hash_codes_of_any_text(texts: list[str]) -> None:
    assert java_hashes(Strings.of(texts)).tolist() == [java.java_hash(text) for text in texts]


@examples(100)
@given(st.lists(TEXTS, min_size=3))
def test_a_slice_of_a_column_has_the_same_hash_codes_and_order(texts: list[str]) -> None:
    whole = Strings.of(texts)
    part = Strings.over(whole.offsets[1:-1], whole.data)
    assert java_hashes(part).tolist() == [java.java_hash(text) for text in texts[1:-1]]
    assert java_hash(part, 0) == java.java_hash(texts[1])
    assert np.sign(java_compare(part, 0, len(texts) - 3)) == java_order(texts[1], texts[-2])


@examples(100)
@given(st.integers(0, 2**32 - 1), st.integers(0, 3))
def test_names_can_be_generated_for_any_hash_code(hash_code: int, variant: int) -> None:
    assert java_hashes(Strings.of([name_with_hash(hash_code, variant)])).tolist() == [hash_code]


@examples(400)
@given(TEXTS, TEXTS, TEXTS)
def test_strings_compare_as_in_java(prefix: str, a: str, b: str) -> None:
    a, b = prefix + a, prefix + b
    strings = Strings.of([a, b])
    assert np.sign(java_compare(strings, 0, 1)) == java_order(a, b)
    assert np.sign(java_compare(strings, 1, 0)) == -java_order(a, b)
    assert java_compare(strings, 0, 0) == 0
    assert equal(strings, 0, strings, 1) == (a == b)
    assert equal(strings, 1, strings, 1)


def test_every_pair_of_lead_bytes_compares_as_in_java() -> None:
    characters = [chr(point) for point in (*range(0, 0xD800, 997), *range(0xE000, 0x10FFFF, 1009))]
    characters += [ODD_CHARACTERS[i] for i in range(len(ODD_CHARACTERS))]
    strings = Strings.of(characters)
    order = np.arange(len(characters), dtype=np.int32)
    sort_sections(order, ints([0, len(order)]), np.zeros(len(order), np.int64), strings)
    assert [characters[i] for i in order] == sorted(characters, key=java.java_key)


@examples(150)
@given(st.lists(st.tuples(st.integers(0, 2), CLOSE_TEXT), max_size=150), st.data())
def test_sorting_is_by_number_then_text_and_stable(keys: list[tuple[int, str]], data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(keys)), max_size=4).map(sorted))
    start = data.draw(st.permutations(range(len(keys)))) if len(keys) < 20 else list(reversed(range(len(keys))))
    sections = [0, *cuts, len(keys)]
    first = np.array([number for number, _ in keys], np.int64)
    strings = Strings.of([text for _, text in keys])
    order = ints(start)
    sort_sections(order, ints(sections), first, strings)
    expected: list[int] = []
    for low, high in pairwise(sections):
        expected += sorted(start[low:high], key=lambda i: (keys[i][0], java.java_key(keys[i][1])))
    assert order.tolist() == expected


@pytest.mark.parametrize("length", [0, 1, 2, 31, 32, 33, 100])
def test_sorting_a_section_leaves_the_others_unchanged(length: int) -> None:
    order = np.arange(length + 4, dtype=np.int32)[::-1].copy()
    names = [f"{(7 * i) % 11}" for i in range(length + 4)]
    before = order.tolist()
    section = order[2 : 2 + length]
    sort_sections(section, ints([0, length]), np.zeros(len(order), np.int64), Strings.of(names))
    middle = sorted(before[2 : 2 + length], key=lambda i: names[i])
    assert order.tolist() == before[:2] + middle + before[2 + length :]


@examples(100)
@given(st.text("ab", max_size=8), st.lists(st.text("a\0\uffff\ue000\U00010000", max_size=20), max_size=50))
def test_sorting_long_strings_with_long_common_prefixes(prefix: str, texts: list[str]) -> None:
    texts = [prefix * 3 + text for text in texts]
    order = np.arange(len(texts), dtype=np.int32)
    sort_sections(order, ints([0, len(texts)]), np.zeros(len(texts), np.int64), Strings.of(texts))
    assert order.tolist() == sorted(range(len(texts)), key=lambda i: java.java_key(texts[i]))
