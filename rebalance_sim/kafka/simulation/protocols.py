"""The protocols that the consumers of a batch offer, as numbers and as bits.

A protocol has a number in the batch, which identifies its assignor when that runs for many groups at once, and a number
in each group that offers it. Coordinators use the latter: the protocols of a member are the bits of one integer, bit k
for protocol k of the group, which makes ``supportsProtocols`` an intersection of integers. Numbers of the batch cannot
be used as bits, because a batch may name any number of protocols.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.election import PreferenceLists
from rebalance_sim.kafka.runtime.lists import list_offsets
from rebalance_sim.kafka.runtime.strings import Ints, Ints32, Strings, java_hashes
from rebalance_sim.kafka.simulation.group_events import GroupEvent

MOST_PROTOCOLS = 63
"""Protocols that one group may offer: bits of a signed 64-bit integer, but for its sign."""


@dataclass(frozen=True)
class OfferedProtocols:
    """All protocols that consumers of a batch offer, when the simulation begins or later."""

    names: list[str]
    """By number in the batch."""
    lists: list[tuple[int, ...]]
    """Distinct lists of preferences."""
    of_consumers: Ints32
    """The list of each consumer."""
    of_events: list[int]
    """The list of each event that changes a consumer's protocols."""
    consumer_bits: Ints
    event_bits: list[int]
    first_of_group: Ints32
    """Protocols of group g: ``first_of_group[g]`` to ``first_of_group[g + 1]`` of ``of_groups``."""
    of_groups: Ints32
    errors: dict[int, str]
    """Groups that offer too many protocols to be simulated, and what is wrong."""

    @property
    def preferences(self) -> PreferenceLists:
        """The distinct lists, as elections take them."""
        offsets = list_offsets(np.array([len(names) for names in self.lists], np.int64))
        flat = np.array([number for names in self.lists for number in names], np.int32)
        return PreferenceLists(offsets, flat, java_hashes(Strings.of(self.names)))


class Offers(NamedTuple):
    """What consumers offer: each the list of protocols with this number."""

    numbers: Ints32
    lists: Sequence[Sequence[str]]


def number_protocols(n_groups: int, groups: Ints32, offers: Offers, events: Sequence[GroupEvent]) -> OfferedProtocols:
    """Number the protocols that consumers offer; ``groups`` are the groups of the consumers."""
    number_of: dict[str, int] = {}
    list_of: dict[tuple[str, ...], int] = {}
    in_group: list[dict[str, int]] = [{} for _ in range(n_groups)]
    bits_of: dict[tuple[int, int], int] = {}

    def offer(group: int, names: tuple[str, ...]) -> tuple[int, int]:
        number = list_of.setdefault(names, len(list_of))
        if (group, number) not in bits_of:
            for name in names:
                number_of.setdefault(name, len(number_of))
                in_group[group].setdefault(name, len(in_group[group]))
            bits_of[group, number] = sum(1 << in_group[group][name] for name in names)
        return group, number

    # The consumers of a group mostly offer the same list.
    pairs = groups.astype(np.int64) * len(offers.lists) + offers.numbers
    _, firsts, places = np.unique(pairs, return_index=True, return_inverse=True)
    offered = {
        first: offer(int(groups[first]), tuple(offers.lists[offers.numbers[first]]))
        for first in np.sort(firsts).tolist()
    }
    keys = [offered[first] for first in firsts.tolist()]
    of_events = [offer(event.group, event.names) for event in events]
    errors = {
        group: f"the group offers {len(names)} protocols; at most {MOST_PROTOCOLS} can be simulated"
        for group, names in enumerate(in_group)
        if len(names) > MOST_PROTOCOLS
    }
    bits = {key: 0 if key[0] in errors else bits for key, bits in bits_of.items()}
    return OfferedProtocols(
        list(number_of),
        [tuple(number_of[name] for name in names) for names in list_of],
        np.array([number for _, number in keys], np.int32)[places],
        [number for _, number in of_events],
        np.array([bits[key] for key in keys], np.int64)[places],
        [bits[key] for key in of_events],
        list_offsets(np.array([len(names) for names in in_group], np.int64)),
        np.array([number_of[name] for names in in_group for name in names], np.int32),
        errors,
    )


def one_protocol(n_groups: int, n_consumers: int, name: str) -> OfferedProtocols:
    """Return the protocols of consumers that all offer the same one, now and later."""
    of_consumers = np.zeros(n_consumers, np.int32)
    ones = np.ones(n_consumers, np.int64)
    offsets = np.arange(n_groups + 1, dtype=np.int32)
    return OfferedProtocols([name], [(0,)], of_consumers, [], ones, [], offsets, np.zeros(n_groups, np.int32), {})
