"""The settings that ``advice`` tries, each as a variation of the scenario."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from rebalance_sim.engine.simulation.rows import SimulationResult
from rebalance_sim.kafka.assignors import assignors_of
from rebalance_sim.kafka.runtime.strings import Flags
from rebalance_sim.kafka.simulation.batch_state import field
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.releases import CoordinatorRules, KafkaVersion

_SHORT_SESSION_MS, LONG_SESSION_MS = 10_000, 120_000
_LONG_DELAY_MS = 10_000
ONE_PER_CONSUMER = "one per consumer"
"""The value of ``group.instance.id``, which differs from consumer to consumer."""


WHY_MORE_DOWNTIME = {
    "group.instance.id": "The partitions of a static member wait until it is back; otherwise other members take them "
    "over in a rebalance.",
    "partition.assignment.strategy": "A cooperative assignor needs a second rebalance to move partitions, and those "
    "that move have no owner until it ends.",
    "group.protocol": "With the consumer protocol, a member learns of partitions to revoke or to take over with its "
    "next heartbeat, every 5 s by default (group.consumer.heartbeat.interval.ms).",
    "session.timeout.ms": "With a longer session timeout, the partitions of a member that is gone wait longer; a "
    "shorter one evicts members that are slow.",
    "group.initial.rebalance.delay.ms": "An empty group waits longer for its first members.",
}
"""Why a setting may cost downtime, by its name."""


def _with_an_initial_delay(usual: SimulationResult) -> Flags:
    """Return the groups that ever waited for group.initial.rebalance.delay.ms: others never read it."""
    return usual.counted("initial_delays") > 0


def _affected_by_session_timeout(session_timeout_ms: int, usual: SimulationResult) -> Flags:
    """Return the groups for which another session timeout may make a difference.

    A longer one makes none if no session expired and only heartbeats were still to come: the simulation takes longer,
    but nothing else happens in it.
    """
    settings = usual.prepared.conditions.scenario.settings
    lowest, highest = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
    timeouts = field(usual.simulated.consumers, "session_timeout_ms")
    first = usual.batch.consumers.offsets[:-1]
    shortest, longest = np.minimum.reduceat(timeouts, first), np.maximum.reduceat(timeouts, first)
    is_allowed = (shortest >= lowest) & (lowest <= session_timeout_ms <= highest)
    stays = (usual.counted("sessions_expired") == 0) & field(usual.simulated.progress, "rests").astype(np.bool_)
    return ~(is_allowed & (longest <= session_timeout_ms) & stays)


@dataclass(frozen=True)
class Variation:
    """The same scenario under another setting."""

    setting: str
    value: str
    strategy: str | None
    """The assignor that all consumers offer; None: as without the variation."""
    scenario: Scenario
    changes: Callable[[SimulationResult], Flags] | None = None
    """Returns for which groups the scenario may end differently under the setting, given how it ends without; None: for
    all of them."""
    has_ranges: bool = False
    """Whether it is also tried at the ends of the ranges of what is assumed: it may be recommended for a rollout."""


def variations(scenario: Scenario, version: KafkaVersion) -> tuple[Variation, ...]:
    """Return the scenario under each setting that the Kafka version has."""
    consumers, settings = scenario.consumers, scenario.settings

    def with_session(timeout_ms: int) -> Variation:
        otherwise = replace(scenario, consumers=replace(consumers, session_timeout_ms=timeout_ms))
        return Variation(
            "session.timeout.ms", str(timeout_ms), None, otherwise, partial(_affected_by_session_timeout, timeout_ms)
        )

    static = replace(scenario, consumers=replace(consumers, static=True))
    tried = [
        with_session(_SHORT_SESSION_MS),
        with_session(LONG_SESSION_MS),
        Variation(
            "group.initial.rebalance.delay.ms",
            str(_LONG_DELAY_MS),
            None,
            replace(scenario, settings=replace(settings, group_initial_rebalance_delay_ms=_LONG_DELAY_MS)),
            _with_an_initial_delay,
        ),
    ]
    if version.coordinator >= CoordinatorRules.SCALA_2_3:
        tried.insert(0, Variation("group.instance.id", ONE_PER_CONSUMER, None, static, has_ranges=True))
    plain = replace(scenario, consumers=replace(consumers, protocols=None))
    if "cooperative-sticky" in assignors_of(version):
        name = "cooperative-sticky"
        tried.append(Variation("partition.assignment.strategy", name, name, plain, has_ranges=True))
    if "server-uniform" in assignors_of(version):
        tried.append(Variation("group.protocol", "consumer", "server-uniform", plain, has_ranges=True))
    return tuple(tried)
