"""What a group can be found by: its topics, and the client ids, addresses and libraries of its members."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rebalance_sim.engine.tables.arrow import list_of_items, lists, numbers

SEARCH_TERMS = "search_terms"
"""Rows of groups with their terms: the columns of ``verdicts`` of these names."""
MOST_TOPICS, MOST_CLIENTS = 1_000, 100
"""Topics of a group that are kept, and client ids, addresses or libraries."""
_JAVA_ASSUMED = "java (assumed)"
_Numbers = NDArray[np.int_]


class _Terms(NamedTuple):
    """Terms of all groups of a batch, each with the number of its group."""

    groups: _Numbers
    terms: pa.Array


def search_terms(members: pa.ListArray, offsets: pa.ListArray | None) -> pa.Table:
    """Return the terms of groups, a row per group: columns of ``verdicts``, as lists in alphabetical order.

    ``members`` has the lists of the groups' members; ``offsets`` those of their rows of offsets, None without offsets.
    """
    flat = members.flatten()
    of_members = list_of_items(members)
    subscribed, unsubscribed = _topics(flat, of_members, offsets)
    topics = {"topics": subscribed, "offsets_topics": unsubscribed}
    clients = {
        "client_ids": _Terms(of_members, flat.field("client_id")),
        "addresses": _Terms(of_members, flat.field("host")),
        "client_libraries": _Terms(of_members, _libraries(flat)),
    }
    groups = len(members)
    return pa.table(
        {
            **_first(topics, groups, MOST_TOPICS, "topics_left_out"),
            **_first(clients, groups, MOST_CLIENTS, "clients_left_out"),
        }
    )


def _topics(members: pa.StructArray, of_members: _Numbers, offsets: pa.ListArray | None) -> tuple[_Terms, _Terms]:
    """Return the topics that members subscribe to, and those that are only in offsets."""
    lists_of_topics = members.field("subscription")
    subscribed = _Terms(of_members[list_of_items(lists_of_topics)], lists_of_topics.flatten())
    if offsets is None:
        return subscribed, _Terms(of_members[:0], subscribed.terms.slice(0, 0))
    committed = _Terms(list_of_items(offsets), offsets.flatten().field("topic"))
    rows = pa.table(
        {
            "group": np.concatenate([subscribed.groups, committed.groups]),
            "topic": pa.chunked_array([subscribed.terms, committed.terms]),
            "subscribed": np.repeat([True, False], [len(subscribed.groups), len(committed.groups)]),
        }
    )
    topics = rows.group_by(["group", "topic"]).aggregate([("subscribed", "any")])
    only = topics.filter(pc.invert(topics["subscribed_any"]))
    return subscribed, _Terms(numbers(only["group"]), only["topic"].combine_chunks())


def _libraries(members: pa.StructArray) -> pa.Array:
    """Return the client libraries of members with their releases."""
    library, release = members.field("client_library"), members.field("client_version")
    return pc.coalesce(pc.binary_join_element_wise(library, release, " "), library, pa.scalar(_JAVA_ASSUMED))


def _first(of: Mapping[str, _Terms], groups: int, most: int, left_out: str) -> dict[str, pa.Array]:
    """Return the first distinct terms of each group, null if it has none, and how many of them are left out."""
    columns: dict[str, pa.Array] = {}
    more = np.zeros(groups, np.int32)
    for name, (numbers_of_groups, terms) in of.items():
        rows = pa.table({"group": numbers_of_groups, "term": terms})
        distinct = rows.filter(pc.not_equal(rows["term"], "")).group_by(["group", "term"]).aggregate([])
        ordered = distinct.sort_by([("group", "ascending"), ("term", "ascending")]).combine_chunks()
        of_group = numbers(ordered["group"])
        starts = np.searchsorted(of_group, np.arange(groups + 1))
        is_kept = np.arange(len(of_group)) - starts[of_group] < most
        counts = np.diff(starts)
        more += np.maximum(counts - most, 0).astype(np.int32)
        ends = np.concatenate([[0], np.cumsum(np.minimum(counts, most))]).astype(np.int32)
        kept = ordered["term"].filter(pa.array(is_kept)).combine_chunks()
        columns[name] = pc.if_else(pa.array(counts > 0), lists(ends, kept), None)
    return columns | {left_out: pa.array(more)}
