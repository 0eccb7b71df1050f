"""Lists of names that are stored once."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_sim.engine.groups.name_lists import store_once
from tests.support.examples import examples

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

NAMES = st.sampled_from(["", "a", "b", "ab", "topic", "topic-1", "topic-2", "a longer name of a topic", "é"])
LISTS = st.lists(st.one_of(NAMES, st.none()), max_size=3)
ROWS = st.lists(st.tuples(st.one_of(LISTS, st.none()), st.integers(0, 1)), max_size=40)


@examples(200)
@given(ROWS, st.integers(0, 3))
def test_every_list_is_found_again_and_stored_once(
    rows: list[tuple[list[str | None] | None, int]], skipped: int
) -> None:
    lists = pa.array([listed for listed, _ in rows], pa.list_(pa.string()))[skipped:]
    namespaces = np.array([namespace for _, namespace in rows[skipped:]], np.int32)
    stored = store_once(lists, namespaces)
    assert stored.to_pylist() == lists.to_pylist()
    number_of: dict[object, int] = {}
    for listed, namespace, number in zip(lists.to_pylist(), namespaces, stored.indices.to_pylist(), strict=True):
        if listed is None:
            assert number_of.setdefault(None, number) == number
        elif None not in listed:
            assert number_of.setdefault((tuple(listed), int(namespace)), number) == number
    assert len(set(number_of.values())) == len(number_of)


def test_many_distinct_lists_find_their_places() -> None:
    lists = pa.array([[f"topic-{number % 1000}", "other"] for number in range(3000)])
    stored = store_once(lists, np.zeros(len(lists), np.int32))
    assert len(stored.dictionary) == 1000
    assert stored.to_pylist() == lists.to_pylist()
