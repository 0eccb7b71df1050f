"""The settings that ``advice`` tries, each as a variation of the scenario."""

from dataclasses import dataclass, replace

from rebalance_sim.kafka.assignors import assignors_of
from rebalance_sim.kafka.simulation.scenario import Overrides, Scenario
from rebalance_sim.releases import CoordinatorRules, KafkaVersion

_SHORT_SESSION_MS, _LONG_SESSION_MS = 10_000, 120_000
_LONG_DELAY_MS = 10_000


@dataclass(frozen=True)
class Variation:
    """The same scenario under another setting."""

    setting: str
    value: str
    strategy: str | None
    """The assignor that all consumers offer; None: as without the variation."""
    scenario: Scenario
    counter: str | None = None
    """A field of ``ClassicGroupState`` that is 0 if a group never used the setting, so that its simulation is the same
    under the variation; None if no field tells."""


def variations(scenario: Scenario, version: KafkaVersion) -> tuple[Variation, ...]:
    """Return the scenario under each setting that the Kafka version has."""
    consumers, settings = scenario.consumers, scenario.settings

    def with_consumers(setting: str, value: str, otherwise: Overrides) -> Variation:
        return Variation(setting, value, None, replace(scenario, consumers=otherwise))

    def with_session(timeout_ms: int) -> Variation:
        return with_consumers("session.timeout.ms", str(timeout_ms), replace(consumers, session_timeout_ms=timeout_ms))

    tried = [
        with_session(_SHORT_SESSION_MS),
        with_session(_LONG_SESSION_MS),
        Variation(
            "group.initial.rebalance.delay.ms",
            str(_LONG_DELAY_MS),
            None,
            replace(scenario, settings=replace(settings, group_initial_rebalance_delay_ms=_LONG_DELAY_MS)),
            "initial_delays",
        ),
    ]
    if version.coordinator >= CoordinatorRules.SCALA_2_3:
        tried.insert(0, with_consumers("group.instance.id", "one per consumer", replace(consumers, static=True)))
    plain = replace(scenario, consumers=replace(consumers, protocols=None))
    if "cooperative-sticky" in assignors_of(version):
        tried.append(Variation("partition.assignment.strategy", "cooperative-sticky", "cooperative-sticky", plain))
    if "server-uniform" in assignors_of(version):
        tried.append(Variation("group.protocol", "consumer", "server-uniform", plain))
    return tuple(tried)
