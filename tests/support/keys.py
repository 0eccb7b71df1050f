"""Keys as the columns that the rules take."""

from collections.abc import Sequence

import numpy as np

from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.kafka.partitioners.keyed import UNKEYED, key_partitions
from rebalance_sim.kafka.runtime.strings import Flags, Strings
from tests.support.arrays import ints, offsets


def key_column(keys: Sequence[bytes | None]) -> tuple[Strings, Flags]:
    """Return keys, some of which may be null, as a column, and which of them are given."""
    found = [key or b"" for key in keys]
    data = np.frombuffer(b"".join(found), np.uint8)
    return Strings.over(offsets(map(len, found)), data), np.array([key is not None for key in keys], np.bool_)


def partitions_of(client: str, keys: Sequence[bytes | None], partitions: Sequence[int]) -> list[int | None]:
    """Return the partition of every key in topics with a number of partitions; None if the client ignores the key."""
    column, given = key_column(keys)
    found = key_partitions(CLIENTS[client], column, given, ints(partitions))
    return [None if partition == UNKEYED else int(partition) for partition in found]


def partition_of(client: str, key: bytes | None, partitions: int) -> int | None:
    """Return the partition of one key."""
    return partitions_of(client, [key], [partitions])[0]
