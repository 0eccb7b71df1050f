"""Topic ids: from the text that Kafka prints to the two longs of a ``Uuid`` that its assignors compare."""

import mmh3
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_sim.engine.tables.arrow import numbers, strings
from rebalance_sim.kafka.runtime.strings import Ints

UUID_PATTERN = r"^[A-Za-z0-9_-]{22}(==)?\z"
"""What ``Uuid.fromString`` reads as 16 bytes."""
_ZERO = "AAAAAAAAAAAAAAAAAAAAAA"
"""``Uuid.ZERO_UUID``, which Kafka prints for a topic without an id."""


def topic_ids(ids: pa.Array, names: pa.Array) -> Ints:
    """Return rows of the most and least significant bits of ids that match the pattern.

    A topic without an id gets the MurmurHash3 (x64, 128 bits, seed 0) of its name in UTF-8.

    >>> topic_ids(pa.array(["AAAAAAAAAAEAAAAAAAAAAg"]), pa.array(["t"]))
    array([[1, 2]])
    """
    texts = pc.utf8_slice_codeunits(ids.fill_null(_ZERO), 0, 22)
    encoded = strings(texts)
    letters = encoded.data[encoded.offsets[0] : encoded.offsets[-1]].reshape(len(texts), 22)
    six_bits = _VALUES[letters]
    halves = np.zeros((len(texts), 2), np.int64)
    for place in range(10):
        halves[:, 0] = halves[:, 0] << 6 | six_bits[:, place]
    halves[:, 0] = halves[:, 0] << 4 | six_bits[:, 10] >> 2
    halves[:, 1] = six_bits[:, 10] & 3
    for place in range(11, 21):
        halves[:, 1] = halves[:, 1] << 6 | six_bits[:, place]
    halves[:, 1] = halves[:, 1] << 2 | six_bits[:, 21] >> 4
    without = np.flatnonzero(numbers(pc.equal(texts, _ZERO)))
    for topic, name in zip(without, names.take(pa.array(without)).to_pylist(), strict=True):
        halves[topic] = mmh3.hash64(name.encode())
    return halves


def _values() -> Ints:
    """Return the six bits of each letter of base64url."""
    letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    values = np.zeros(256, np.int64)
    values[np.frombuffer(letters, np.uint8)] = np.arange(64)
    return values


_VALUES = _values()
