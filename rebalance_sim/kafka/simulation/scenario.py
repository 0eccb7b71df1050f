"""Scenarios: steps that every group goes through, and the settings of the simulation."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

from rebalance_sim.kafka.simulation.kubernetes import Rollout
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.releases import SERVER_ASSIGNORS

OFFERS = f"{' or '.join(SERVER_ASSIGNORS)} alone, or assignors of the consumer"
"""What a consumer may offer: it follows either the consumer protocol (KIP-848) or the classic protocol."""

NEXT_BOUNCE = "next-bounce"
"""The event that waits until all restarted consumers are back and every partition has an owner."""

CONFIGURE = "configure"
"""The event that changes a connector of a Connect cluster; groups of consumers have no such event."""


def is_offer(protocols: Sequence[str]) -> bool:
    """Return whether a consumer may offer these protocols.

    >>> is_offer(["range", "sticky"]), is_offer(["server-uniform"]), is_offer(["server-uniform", "range"])
    (True, True, False)
    """
    return len(protocols) == 1 or set(protocols).isdisjoint(SERVER_ASSIGNORS)


@dataclass(frozen=True)
class Selection:
    """Some members of a group, by their places from 0."""

    share: float = 0
    """Share of all members, rounded up."""
    first: int = 0
    places: tuple[int, ...] = ()

    def of(self, members: int) -> list[int]:
        """Return the selected places in a group of this many members.

        >>> Selection(share=0.5).of(5), Selection(first=2).of(5), Selection(places=(4, 7)).of(5)
        ([0, 1, 2], [0, 1], [4])
        """
        if self.places:
            return [place for place in self.places if place < members]
        # 7% of 100 is 7, though as a product of fractions it is a little more.
        return list(range(min(max(self.first, ceil(round(self.share * members, 6))), members)))


@dataclass(frozen=True)
class ScenarioStep:
    """A step as written in YAML: an event of some consumers, one after the other, or of the group as a whole."""

    event: str
    at_ms: int = 0
    """From the beginning of the bounce."""
    members: Selection = Selection(share=1)
    every_ms: int = 0
    """Between two consumers."""
    times: int = 1
    """How often the whole step is repeated."""
    again_after_ms: int = 0
    count: int = 1
    """For join: the number of new consumers."""
    down_ms: int = 0
    for_ms: int = 0
    protocols: tuple[str, ...] = ()
    subscription: tuple[str, ...] = ()
    topic: str | None = None
    """For grow; None: all topics of the group."""
    add: int = 0
    """For grow: the number of new partitions."""
    error: str = "NONE"
    connector: str = ""
    """For configure."""
    tasks: int | None = None
    """For configure: the connector's number of tasks; None if it is deleted."""


@dataclass(frozen=True)
class Overrides:
    """Configuration of all consumers that overrides the members table."""

    static: bool | None = None
    session_timeout_ms: int | None = None
    max_poll_interval_ms: int | None = None
    protocols: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Scenario:
    """The steps of a simulation, and its settings."""

    name: str
    description: str = ""
    steps: tuple[ScenarioStep, ...] = ()
    settings: SimulationSettings = field(default_factory=SimulationSettings)
    consumers: Overrides = Overrides()
    rollout: Rollout | None = None
    """Begins with the last bounce."""
    given: frozenset[str] = frozenset()
    """Names of settings that a file or an option has; the others are assumed."""
