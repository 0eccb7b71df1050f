"""The votes of one election in the order in which the coordinator counts them, to explain the result."""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.election import PreferenceLists, ballot
from rebalance_sim.kafka.runtime.hash_order import (
    coordinator_order,
    java_bucket,
    java_table_size,
    scala_2_11_index,
    vote_order,
)
from rebalance_sim.kafka.runtime.strings import Ints32, Strings, java_hashes
from rebalance_sim.releases import MapRule

_BITS_OF_16_BUCKETS = 4


class Votes(NamedTuple):
    """The votes of one group; protocols are indices."""

    ballots: list[int]
    """The protocol that each member votes for."""
    counted: list[int]
    """The protocols with votes, in the iteration order of the coordinator's map of votes. On a tie the first one wins:
    ``selectProtocol`` takes the maximum of the map."""
    buckets: list[int | None]
    """The buckets of these protocols in that map; None where iteration does not go by buckets."""


def count_votes(
    offered: Ints32, preferences: PreferenceLists, member_ids: Strings, joined: Ints32, map_rule: MapRule
) -> Votes:
    """Count the votes of the members at ``joined``, in their order of joining; ``offered`` are their preferences."""
    support = np.zeros(len(preferences.hashes), np.int32)
    for of in offered[joined]:
        support[preferences.protocols[preferences.offsets[of] : preferences.offsets[of + 1]]] += 1
    ballots = [ballot(int(of), preferences, support, len(joined)) for of in offered[joined]]
    places = coordinator_order(java_hashes(member_ids)[joined], np.arange(len(joined), dtype=np.int32), int(map_rule))
    in_order = np.array(list(dict.fromkeys(ballots[place] for place in places)), np.int32)
    counted: list[int] = vote_order(preferences.hashes, in_order, int(map_rule)).tolist()
    buckets = [_bucket(int(preferences.hashes[protocol]), len(counted), map_rule) for protocol in counted]
    return Votes(ballots, counted, buckets)


def _bucket(protocol_hash: int, voted: int, map_rule: MapRule) -> int | None:
    """Return the bucket of a protocol in the map of votes, where iteration goes by buckets (``vote_order``)."""
    if map_rule is MapRule.JAVA:
        return java_bucket(protocol_hash, java_table_size(voted))
    # Scala 2.11's groupBy copies the counted votes into an immutable map, which keeps the buckets' order up to 4 keys.
    if map_rule is MapRule.SCALA_2_11 and voted <= 4:
        return scala_2_11_index(protocol_hash, _BITS_OF_16_BUCKETS)
    return None
