"""Lists and names as the arrays that kernels take."""

from collections.abc import Iterable, Sequence

import numpy as np

from rebalance_sim.kafka.runtime.hash_order import coordinator_order
from rebalance_sim.kafka.runtime.strings import Ints, Ints32, Strings, java_hashes
from rebalance_sim.releases import MapRule
from tests.support.java import java_key


def offsets(lengths: Iterable[int]) -> Ints32:
    """Return the offsets of consecutive lists of given lengths."""
    return np.cumsum([0, *lengths]).astype(np.int32)


def ints(values: Iterable[int]) -> Ints32:
    return np.array(list(values), np.int32)


def hashes(names: Sequence[str]) -> Ints:
    return java_hashes(Strings.of(list(names)))


def ranks(names: Sequence[str]) -> Ints:
    """Return the place of each name in Java's order."""
    in_order = sorted(range(len(names)), key=lambda i: java_key(names[i]))
    places = np.empty(len(names), np.int64)
    places[in_order] = np.arange(len(names))
    return places


def numbered(names: Iterable[str]) -> dict[str, int]:
    """Return a number for each distinct name."""
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def in_map_order(names: Sequence[str], rule: MapRule = MapRule.JAVA) -> list[str]:
    """Return names in the order of a hash map into which they are put one by one."""
    return [names[i] for i in coordinator_order(hashes(names), np.arange(len(names), dtype=np.int32), int(rule))]
