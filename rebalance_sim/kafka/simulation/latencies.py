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

    def at_longest(self, scenario: Scenario) -> Scenario:
        """Return a scenario at the end of the range; the other latencies are as assumed."""
        longest: Mapping[str, Any] = {self.setting: self.longest_ms}
        return replace(scenario, settings=replace(scenario.settings, **longest))


LATENCIES = (
    Latency("revoke_ms", 2_000, "revoking partitions"),
    Latency("start_ms", 30_000, "starting a process"),
    Latency("poll_interval_ms", 5_000, "processing the records of a poll"),
    Latency("network_ms", 20, "a request to the coordinator", other_phase=True),
)
BY_SETTING = {latency.setting: latency for latency in LATENCIES}
RANGES = ", ".join(f"{latency.setting} up to {latency.longest_ms}" for latency in LATENCIES)
"""The ranges in words."""


def with_range(scenario: Scenario) -> list[Latency]:
    """Return the latencies that a scenario assumes to be shorter than they may be.

    Those that the owner's settings have, or that are assumed to be longer anyway, have no range.

    >>> [latency.setting for latency in with_range(Scenario("", given=frozenset(["start_ms", "network_ms"])))]
    ['revoke_ms', 'poll_interval_ms']
    """
    return [latency for latency in LATENCIES if _has_range(scenario, latency)]


def assumed_latencies(scenario: Scenario) -> dict[str, int]:
    """Return the latencies of a scenario, in milliseconds, by the names of the settings.

    >>> assumed_latencies(Scenario(""))
    {'revoke_ms': 0, 'start_ms': 1000, 'poll_interval_ms': 100, 'network_ms': 1}
    """
    return {latency.setting: getattr(scenario.settings, latency.setting) for latency in LATENCIES}


def _has_range(scenario: Scenario, latency: Latency) -> bool:
    assumed_ms: int = getattr(scenario.settings, latency.setting)
    return latency.setting not in scenario.given and assumed_ms < latency.longest_ms
