"""Kafka's own tests of its group coordinators as scenarios, for every release line that is supported."""

from tests.support.coordinator_scenarios import join as scenarios_join
from tests.support.coordinator_scenarios import leave as scenarios_leave
from tests.support.coordinator_scenarios import loading as scenarios_loading
from tests.support.coordinator_scenarios import offsets as scenarios_offsets
from tests.support.coordinator_scenarios import pending_members as scenarios_pending_members
from tests.support.coordinator_scenarios import sessions as scenarios_sessions
from tests.support.coordinator_scenarios import static_members as scenarios_static_members
from tests.support.coordinator_scenarios import sync as scenarios_sync
from tests.support.coordinator_scenarios.expectations import check
from tests.support.coordinator_scenarios.scenario import Scenario
from tests.support.coordinator_scenarios.state_requests import STATE_REQUESTS

__all__ = ["SCENARIOS", "STATE_REQUESTS", "Scenario", "check"]

SCENARIOS: tuple[Scenario, ...] = (
    *scenarios_join.SCENARIOS,
    *scenarios_pending_members.SCENARIOS,
    *scenarios_sync.SCENARIOS,
    *scenarios_sessions.SCENARIOS,
    *scenarios_leave.SCENARIOS,
    *scenarios_static_members.SCENARIOS,
    *scenarios_offsets.SCENARIOS,
    *scenarios_loading.SCENARIOS,
)
