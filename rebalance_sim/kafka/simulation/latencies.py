"""The times that a simulation assumes because no input has them, each with the longest time that is still usual."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rebalance_sim.kafka.history.timings import Bound, Timing
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


def ranges_in_words(ends: Mapping[str, int]) -> str:
    """Return ranges by their ends, in milliseconds.

    >>> ranges_in_words({"revoke_ms": 2000, "network_ms": 20})
    'revoke_ms up to 2000, network_ms up to 20'
    """
    return ", ".join(f"{setting} up to {longest_ms}" for setting, longest_ms in ends.items())


RANGES = ranges_in_words({latency.setting: latency.longest_ms for latency in LATENCIES})


@dataclass(frozen=True)
class Evidence:
    """What the past of a group shows of a time that simulations assume."""

    setting: str
    timing: Timing
    bound: Bound
    subject: str
    """Its name in sentences, before "takes"."""
    messages: int = 0
    """Messages over the network that the timing includes and the setting does not."""
    writes: int = 0
    """The same of writes to the offsets topic."""

    @property
    def name(self) -> str:
        """Its name among what is known of a group: that of the setting, or of the end of its range."""
        return self.setting if self.bound is Bound.MEASURED else longest(self.setting)

    @property
    def count_name(self) -> str:
        """The name of how often it was seen."""
        return f"{self.name}_count"

    def in_words(self, time: str) -> str:
        """Return what was seen, as a clause of a sentence."""
        return f"{self.subject} takes {'at most ' * (self.bound is Bound.UPPER)}{time}"

    def included_ms(self, scenario: Scenario) -> int:
        """Return how long what the timing also includes takes in a simulation."""
        settings = scenario.settings
        message_ms = settings.network_ms + settings.network_jitter_ms / 2
        return round(self.messages * message_ms + self.writes * settings.store_ms)


EVIDENCE = (
    # JoinGroup is answered, and SyncGroup arrives.
    Evidence("assignor_ms", Timing.ASSIGN, Bound.MEASURED, "the leader's assignor", messages=2),
    # SyncGroup is stored and answered, and JoinGroup arrives.
    Evidence("revoke_ms", Timing.REVOKE, Bound.MEASURED, BY_SETTING["revoke_ms"].subject, messages=2, writes=1),
    Evidence("revoke_ms", Timing.REVOKE, Bound.UPPER, BY_SETTING["revoke_ms"].subject),
    Evidence("start_ms", Timing.RESTART, Bound.UPPER, BY_SETTING["start_ms"].subject),
)


def longest(setting: str) -> str:
    """Return the name of the longest time that was seen of a setting."""
    return f"longest_{setting}"


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
