"""Groups that crash, leave and restart on a broker rebalance as often as simulated.

Times depend on the machine: ``tests.support.cluster.measured_times`` compares them.
"""

import pytest

from tests.support.cluster.fleet import COOPERATIVE, RANGE
from tests.support.cluster.measured_times import (
    CRASH,
    DOWN_MS,
    EVERY_MS,
    GROUPS,
    HEARTBEAT_MS,
    LEAVE,
    MEMBERS,
    ROLLING_RESTART,
    SERVER,
    SESSION_TIMEOUT_MS,
    SITUATIONS,
    STATIC_RESTART,
    STRATEGIES,
    Outcomes,
    measure,
    side_by_side,
    simulate,
    table,
)

pytestmark = [pytest.mark.cluster, pytest.mark.alone]

REBALANCES = {
    (situation, strategy): count
    for strategy in STRATEGIES
    for situation, count in ((CRASH, 1), (LEAVE, 1), (STATIC_RESTART, 0), (ROLLING_RESTART, 2 * MEMBERS))
} | {(ROLLING_RESTART, COOPERATIVE): 3 * MEMBERS}
"""A restart is a leave and a join. After a join, cooperative-sticky needs a second rebalance for moved partitions."""
AT_LEAST_MS = {
    CRASH: SESSION_TIMEOUT_MS - HEARTBEAT_MS,
    LEAVE: 0,
    STATIC_RESTART: DOWN_MS,
    ROLLING_RESTART: (MEMBERS - 1) * EVERY_MS + DOWN_MS,
}
"""The earliest time at which a group can be stable again, on any machine."""
_ROOM_MS = 100
"""Tolerance: a heartbeat may be late, and the times are from two processes."""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcomes, Outcomes]:
    """Return the measured and the simulated outcomes.

    They are measured again if the number of rebalances differs: on a busy machine two rebalances may become one.
    """
    measured, machine = measure(tmp_path_factory.mktemp("measured"))
    if rebalances(measured) != rebalances_expected():
        print("measured a second time, after", rebalances(measured))
        measured, machine = measure(tmp_path_factory.mktemp("measured"))
    simulated = simulate(machine)
    print(table(side_by_side(measured, simulated)))
    return measured, simulated


def rebalances(outcomes: Outcomes) -> dict[tuple[str, str], set[int]]:
    return {key: {each.rebalances for each in of_groups} for key, of_groups in outcomes.items()}


def rebalances_expected() -> dict[tuple[str, str], set[int]]:
    return {key: {count} for key, count in REBALANCES.items()}


def test_groups_rebalance_as_often_as_simulated(both: tuple[Outcomes, Outcomes]) -> None:
    measured, simulated = both
    assert rebalances(measured) == rebalances_expected()
    assert rebalances(simulated) == rebalances_expected()


@pytest.mark.parametrize("strategy", [RANGE, COOPERATIVE, SERVER])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_no_group_is_stable_before_it_can_be(both: tuple[Outcomes, Outcomes], situation: str, strategy: str) -> None:
    measured, simulated = (outcomes[situation, strategy] for outcomes in both)
    assert len(measured) == GROUPS
    assert min(each.stable_ms for each in (*measured, *simulated)) >= AT_LEAST_MS[situation] - _ROOM_MS
