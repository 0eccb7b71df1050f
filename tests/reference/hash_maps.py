"""The mutable hash maps of Java and Scala, bucket by bucket.

They differ in how a hash code becomes a bucket, where in its bucket a new entry goes, when the table grows, and in
which order one iterates. Kafka walks such maps, so this order shows in what it answers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from tests.reference.java import Hashable, hash_code_of, signed

K = TypeVar("K", bound=str | Hashable)
V = TypeVar("V")


@dataclass
class Entry(Generic[K, V]):
    key: K
    value: V

    @property
    def hash(self) -> int:
        return hash_code_of(self.key)


class HashMap(Generic[K, V]):
    """A table of buckets, 16 at first."""

    def __init__(self) -> None:
        self.buckets: list[list[Entry[K, V]]] = [[] for _ in range(16)]
        self.size = 0

    def index(self, hash_code: int) -> int:
        """Return the bucket of a hash code."""
        raise NotImplementedError

    def put(self, key: K, value: V) -> None:
        raise NotImplementedError

    def entries(self) -> Iterator[Entry[K, V]]:
        """Return all entries, in the order of iteration."""
        return (entry for bucket in self.buckets for entry in bucket)

    def bucket(self, key: K) -> list[Entry[K, V]]:
        return self.buckets[self.index(hash_code_of(key))]

    def find(self, key: K) -> Entry[K, V] | None:
        return next((entry for entry in self.bucket(key) if entry.key == key), None)

    def __getitem__(self, key: K) -> V:
        entry = self.find(key)
        if entry is None:
            raise KeyError(key)
        return entry.value

    def __contains__(self, key: K) -> bool:
        return self.find(key) is not None

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[K]:
        return (entry.key for entry in self.entries())

    def items(self) -> Iterator[tuple[K, V]]:
        return ((entry.key, entry.value) for entry in self.entries())

    def values(self) -> Iterator[V]:
        return (entry.value for entry in self.entries())

    def remove(self, key: K) -> None:
        """Remove a key if it is there; a table never shrinks."""
        entry = self.find(key)
        if entry is not None:
            self.bucket(key).remove(entry)
            self.size -= 1

    def clear(self) -> None:
        """Remove all keys; the table keeps its size."""
        self.buckets = [[] for _ in self.buckets]
        self.size = 0

    def double(self) -> list[list[Entry[K, V]]]:
        """Double the table and empty it; return the buckets that it had."""
        old = self.buckets
        self.buckets = [[] for _ in range(2 * len(old))]
        return old


class JavaHashMap(HashMap[K, V]):
    """``java.util.HashMap`` as long as no bucket is about to become a tree.

    That is at a bucket's ninth key, or the eighth by ``computeIfAbsent``; a table of less than 64 buckets is doubled
    instead. Both take names that are made to collide.
    """

    def index(self, hash_code: int) -> int:
        return (hash_code ^ hash_code >> 16) % len(self.buckets)

    def put(self, key: K, value: V) -> None:
        """Put a new key at the end of its bucket, then grow."""
        entry = self.find(key)
        if entry is not None:
            entry.value = value
            return
        self.bucket(key).append(Entry(key, value))
        self.size += 1
        if self._is_past_threshold():
            self._resize()

    def compute_if_absent(self, key: K, make: Callable[[], V]) -> V:
        """Grow first, even if the key is known; then put a new key at the head of its bucket."""
        if self._is_past_threshold():
            self._resize()
        entry = self.find(key)
        if entry is None:
            entry = Entry(key, make())
            self.bucket(key).insert(0, entry)
            self.size += 1
        return entry.value

    def _is_past_threshold(self) -> bool:
        return self.size > 3 * len(self.buckets) // 4

    def _resize(self) -> None:
        """Split every bucket in two; entries keep their relative order."""
        for bucket in self.double():
            for entry in bucket:
                self.bucket(entry.key).append(entry)


class ScalaHashMap211(HashMap[K, V]):
    """``scala.collection.mutable.HashMap`` of Scala 2.11."""

    def index(self, hash_code: int) -> int:
        """``improve`` spreads the bits; the highest of them are the bucket.

        It rotates by 4, the number of bits of the first table, and goes on to when the table has grown.
        """
        spread = byteswap32(hash_code)
        rotated = (spread >> 4 | spread << 28) % 2**32
        return rotated * len(self.buckets) >> 32

    def put(self, key: K, value: V) -> None:
        """Put a new key at the head of its bucket, then grow."""
        entry = self.find(key)
        if entry is not None:
            entry.value = value
            return
        self.bucket(key).insert(0, Entry(key, value))
        self.size += 1
        if self.size > 3 * len(self.buckets) // 4:
            self._resize()

    def entries(self) -> Iterator[Entry[K, V]]:
        """Iterate from the last bucket to the first."""
        return (entry for bucket in reversed(self.buckets) for entry in bucket)

    def _resize(self) -> None:
        """Visit the entries in the order of iteration and put each at the head of its new bucket."""
        for bucket in reversed(self.double()):
            for entry in bucket:
                self.bucket(entry.key).insert(0, entry)


class ScalaHashMap213(HashMap[K, V]):
    """``scala.collection.mutable.HashMap`` of Scala 2.13: like Java's, but buckets are sorted by hash."""

    def index(self, hash_code: int) -> int:
        return (hash_code ^ hash_code >> 16) % len(self.buckets)

    def put(self, key: K, value: V) -> None:
        """Grow first, as soon as the new entry would fill 3/4 of the table."""
        if self.size + 1 >= 3 * len(self.buckets) // 4:
            for bucket in self.double():
                for old in bucket:
                    self.bucket(old.key).append(old)
        entry = self.find(key)
        if entry is not None:
            entry.value = value
            return
        entry = Entry(key, value)
        bucket = self.bucket(key)
        place = sum(self._rank(other) <= self._rank(entry) for other in bucket)
        bucket.insert(place, entry)
        self.size += 1

    @staticmethod
    def _rank(entry: Entry[K, V]) -> int:
        return signed(entry.hash ^ entry.hash >> 16)


def byteswap32(hash_code: int) -> int:
    """``scala.util.hashing.byteswap32``."""
    product = hash_code * 0x9E3775CD % 2**32
    swapped = int.from_bytes(product.to_bytes(4, "little"), "big")
    return swapped * 0x9E3775CD % 2**32
