"""What happens to groups in a scenario, told once for all groups."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

from rebalance_sim.kafka.simulation.settings import Settings
from rebalance_sim.versions import SERVER_SIDE

OFFERS = f"{' or '.join(SERVER_SIDE)} alone, or assignors of the consumer"
"""What a consumer may offer: it follows KIP-848 or the classic protocol."""


def is_offer(protocols: Sequence[str]) -> bool:
    """Tell whether a consumer may offer these protocols.

    >>> is_offer(["range", "sticky"]), is_offer(["server-uniform"]), is_offer(["server-uniform", "range"])
    (True, True, False)
    """
    return len(protocols) == 1 or set(protocols).isdisjoint(SERVER_SIDE)


@dataclass(frozen=True)
class Selection:
    """Some consumers of a group, by their places from 0."""

    share: float = 0
    """Of them all, rounded up; beside ``places`` and ``first``."""
    first: int = 0
    places: tuple[int, ...] = ()

    def of(self, members: int) -> list[int]:
        """Return the places of those chosen among so many.

        >>> Selection(share=0.5).of(5), Selection(first=2).of(5), Selection(places=(4, 7)).of(5)
        ([0, 1, 2], [0, 1], [4])
        """
        if self.places:
            return [place for place in self.places if place < members]
        # 7% of 100 is 7, though as a product of fractions it is a little more.
        return list(range(min(max(self.first, ceil(round(self.share * members, 6))), members)))


@dataclass(frozen=True)
class Step:
    """An event that happens to some consumers, one after the other, or once to each group."""

    event: str
    at_ms: int
    members: Selection = Selection(share=1)
    every_ms: int = 0
    """From one consumer's turn to the next."""
    times: int = 1
    """How often all of it happens."""
    again_after_ms: int = 0
    count: int = 1
    """Of join: how many new consumers."""
    down_ms: int = 0
    for_ms: int = 0
    protocols: tuple[str, ...] = ()
    subscription: tuple[str, ...] = ()
    topic: str | None = None
    """Of grow; None: all topics of the group."""
    add: int = 0
    """Of grow: partitions more."""
    error: str = "NONE"


@dataclass(frozen=True)
class Overrides:
    """What consumers are configured with, whatever the members table says."""

    static: bool | None = None
    session_timeout_ms: int | None = None
    max_poll_interval_ms: int | None = None
    protocols: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Scenario:
    """Steps, and under which settings."""

    name: str
    description: str = ""
    steps: tuple[Step, ...] = ()
    settings: Settings = field(default_factory=Settings)
    consumers: Overrides = Overrides()
