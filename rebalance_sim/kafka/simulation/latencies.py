"""The times that a simulation assumes because no input has them, each with the longest time that is still usual."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rebalance_sim.kafka.simulation.scenario import Scenario


@dataclass(frozen=True)
class Latency:
    """A time of applications or of the network, in milliseconds."""

    setting: str
    """Its name in ``SimulationSettings``."""
    longest_ms: int
    """The end of its range; the assumed value is the beginning."""
    subject: str
    """Its name in sentences, before "takes"."""
    other_phase: bool = False
    """Whether all heartbeats also happen at other times, which matter as much: then no threshold can be found."""


LATENCIES = (
    Latency("revoke_ms", 2_000, "revoking partitions"),
    Latency("start_ms", 30_000, "starting a process"),
    Latency("poll_interval_ms", 5_000, "processing the records of a poll"),
    Latency("network_ms", 20, "a request to the coordinator", other_phase=True),
)
RANGES = ", ".join(f"{latency.setting} up to {latency.longest_ms}" for latency in LATENCIES)
"""The ranges in words."""


@dataclass(frozen=True)
class FarEnd:
    """The end of the range of one latency; the others are as assumed."""

    latency: Latency

    @property
    def seed(self) -> int:
        """What is added to the run's seed."""
        return int(self.latency.other_phase)

    def applied_to(self, scenario: Scenario) -> Scenario:
        """Return the scenario at this end."""
        longest: Mapping[str, Any] = {self.latency.setting: self.latency.longest_ms}
        return replace(scenario, settings=replace(scenario.settings, **longest))


def far_ends(scenario: Scenario) -> list[FarEnd]:
    """Return the ends of the ranges of what a scenario assumes.

    Latencies that the owner's settings have, or that are assumed to be longer anyway, have no range.

    >>> [end.latency.setting for end in far_ends(Scenario("", given=frozenset(["start_ms", "network_ms"])))]
    ['revoke_ms', 'poll_interval_ms']
    """
    return [FarEnd(latency) for latency in LATENCIES if _has_range(scenario, latency)]


def assumed_latencies(scenario: Scenario) -> dict[str, int]:
    """Return the latencies of a scenario, in milliseconds, by the names of the settings.

    >>> assumed_latencies(Scenario(""))
    {'revoke_ms': 0, 'start_ms': 1000, 'poll_interval_ms': 100, 'network_ms': 1}
    """
    return {latency.setting: getattr(scenario.settings, latency.setting) for latency in LATENCIES}


def _has_range(scenario: Scenario, latency: Latency) -> bool:
    assumed_ms: int = getattr(scenario.settings, latency.setting)
    return latency.setting not in scenario.given and assumed_ms < latency.longest_ms
