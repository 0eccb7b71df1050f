"""Members, groups and the topics of a cluster, as tests write them down."""

from dataclasses import dataclass, field
from typing import NamedTuple

VERSIONS = ("1.0", "2.3", "3.9", "4.3")


class Partition(NamedTuple):
    topic: str
    number: int


@dataclass(frozen=True)
class Joiner:
    """A consumer that joins, as far as the election needs it."""

    member_id: str
    protocols: tuple[str, ...]
    protocol_type: str = "consumer"


@dataclass(frozen=True)
class Member:
    """A member as the leader sees it when it assigns."""

    member_id: str
    topics: tuple[str, ...]
    instance_id: str | None = None
    rack: str | None = None
    owned: tuple[Partition, ...] = ()
    generation: int = -1


@dataclass(frozen=True)
class Cluster:
    """The metadata of a cluster's topics."""

    partitions: dict[str, int]
    racks: dict[str, list[list[str]]] = field(default_factory=dict)
    """Racks of the replicas of each partition, of topics with known racks."""
    ids: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Most and least significant bits of the topic ids, as unsigned numbers."""


@dataclass(frozen=True)
class Group:
    """Members in the order in which the leader puts their subscriptions into its map."""

    members: tuple[Member, ...]
    cluster: Cluster


Assignment = dict[str, list[Partition]]
