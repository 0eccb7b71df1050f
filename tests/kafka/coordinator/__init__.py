"""Kafka's own tests of its group coordinators, told anew as cases with what they expect, for the versions we know."""

from tests.kafka.coordinator import (
    scenarios_heartbeat,
    scenarios_join,
    scenarios_leave,
    scenarios_loading,
    scenarios_offsets,
    scenarios_pending_members,
    scenarios_static_members,
    scenarios_sync,
    scenarios_timeouts,
)
from tests.kafka.coordinator.expectations import Unsupported, check
from tests.kafka.coordinator.scenario import Scenario
from tests.kafka.coordinator.state_requests import STATE_REQUESTS

__all__ = ["SCENARIOS", "STATE_REQUESTS", "Scenario", "Unsupported", "check"]

SCENARIOS: tuple[Scenario, ...] = (
    *scenarios_join.SCENARIOS,
    *scenarios_pending_members.SCENARIOS,
    *scenarios_sync.SCENARIOS,
    *scenarios_heartbeat.SCENARIOS,
    *scenarios_timeouts.SCENARIOS,
    *scenarios_leave.SCENARIOS,
    *scenarios_static_members.SCENARIOS,
    *scenarios_offsets.SCENARIOS,
    *scenarios_loading.SCENARIOS,
)
