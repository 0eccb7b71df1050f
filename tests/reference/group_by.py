"""Scala's ``groupBy``: elements are gathered in a mutable map, and that is copied into an immutable one.

The immutable maps are tries: a node has a child for each group of 5 bits of the (improved) hash code, the least
significant group at the root.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.reference.hash_maps import HashMap, ScalaHashMap211, ScalaHashMap213
from tests.reference.java import java_hash

Elements = list[str]


def group_by_211(elements: Iterable[str]) -> list[tuple[str, int]]:
    """``groupBy(identity)`` of Scala 2.11, in the order of the map that it returns, with sizes.

    Maps of up to four keys are the classes ``Map1`` to ``Map4``, which keep the order of insertion.
    """
    gathered: ScalaHashMap211[str, Elements] = ScalaHashMap211()
    _gather(elements, gathered)
    keys = list(gathered)
    if len(keys) > 4:
        keys = list(_trie_of(keys))
    return [(key, len(gathered[key])) for key in keys]


def group_by_213(elements: Iterable[str]) -> list[tuple[str, int]]:
    """Return the same for Scala 2.13, whose ``groupBy`` always builds the CHAMP map."""
    gathered: ScalaHashMap213[str, Elements] = ScalaHashMap213()
    _gather(elements, gathered)
    return [(key, len(gathered[key])) for key in _champ_of(gathered)]


def _gather(elements: Iterable[str], into: HashMap[str, Elements]) -> None:
    for element in elements:
        if element not in into:
            into.put(element, [])
        into[element].append(element)


def improve(hash_code: int) -> int:
    """Return the hash code as both tries use it (``immutable.HashMap.improve``, ``Hashing.improve``)."""
    h = (hash_code + ~(hash_code << 9)) % 2**32
    h ^= h >> 14
    h = (h + (h << 4)) % 2**32
    return h ^ h >> 10


def _five_bits(improved: int, shift: int) -> int:
    return improved >> shift & 31


# ---- Scala 2.11: HashTrieMap


@dataclass
class Leaf:
    """``HashMap1``; with more than one key, all of the same hash, ``HashMapCollision1``."""

    improved: int
    keys: list[str]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys)


@dataclass
class Branch:
    """``HashTrieMap``: iteration visits the children by their 5 bits."""

    children: "dict[int, Leaf | Branch]" = field(default_factory=dict)

    def __iter__(self) -> Iterator[str]:
        for bits in sorted(self.children):
            yield from self.children[bits]

    def add(self, leaf: Leaf, shift: int) -> None:
        bits = _five_bits(leaf.improved, shift)
        child = self.children.get(bits)
        if child is None:
            self.children[bits] = leaf
        elif isinstance(child, Branch):
            child.add(leaf, shift + 5)
        elif child.improved == leaf.improved:
            child.keys += leaf.keys
        else:
            deeper = self.children[bits] = Branch()
            deeper.add(child, shift + 5)
            deeper.add(leaf, shift + 5)


def _trie_of(keys: Iterable[str]) -> Branch:
    root = Branch()
    for key in keys:
        root.add(Leaf(improve(java_hash(key)), [key]), 0)
    return root


# ---- Scala 2.13: CHAMP (compressed hash-array mapped prefix tree)


@dataclass
class Collision:
    """``HashCollisionMapNode``, below the last 5 bits."""

    keys: list[str]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys)

    def add(self, key: str, _: int) -> None:
        self.keys.append(key)


@dataclass
class Node:
    """``BitmapIndexedMapNode``: keys that are alone at their 5 bits lie in the node, others in a child.

    Iteration visits the node's own keys first, then the children, each by their 5 bits.
    """

    data: dict[int, str] = field(default_factory=dict)
    children: "dict[int, Node | Collision]" = field(default_factory=dict)

    def __iter__(self) -> Iterator[str]:
        for bits in sorted(self.data):
            yield self.data[bits]
        for bits in sorted(self.children):
            yield from self.children[bits]

    def add(self, key: str, shift: int) -> None:
        bits = _five_bits(improve(java_hash(key)), shift)
        if bits in self.children:
            self.children[bits].add(key, shift + 5)
        elif bits in self.data:
            self.children[bits] = _push_down(self.data.pop(bits), key, shift + 5)
        else:
            self.data[bits] = key


def _push_down(present: str, key: str, shift: int) -> Node | Collision:
    if shift >= 32:
        return Collision([present, key])
    node = Node()
    node.add(present, shift)
    node.add(key, shift)
    return node


def _champ_of(keys: Iterable[str]) -> Node:
    root = Node()
    for key in keys:
        root.add(key, 0)
    return root
