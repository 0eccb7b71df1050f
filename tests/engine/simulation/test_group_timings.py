"""What simulations take from the past of a group: the result is that of the same times as settings."""

from dataclasses import replace
from typing import Any, Unpack

import pytest
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim import audit, simulate
from rebalance_sim.api.simulation import SimulationOptions
from rebalance_sim.engine.simulation.group_timings import GroupTimings
from rebalance_sim.engine.tables.inputs import fit, usable
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.sources.scenarios import scenario_of
from rebalance_sim.tables import TIMINGS
from tests.support.rows import contents, member, members, table, topics

ASSIGN = {"timing": "assign", "bound": "measured"}
REVOKE = {"timing": "revoke", "bound": "upper bound"}
RESTART = {"timing": "restart", "bound": "upper bound"}


def seen(ms: int, **more: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {"group_id": "g", "source": "records", "count": 5}
    return usual | {"min_ms": ms - 1, "median_ms": ms, "max_ms": ms + 1} | more


def timings(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    return table(spark, TIMINGS, list(rows))


def played(name: str = "rolling-restart", **settings: Any) -> Scenario:
    """Return a scenario with settings of its owner."""
    scenario = scenario_of(name)
    return replace(scenario, settings=replace(scenario.settings, **settings), given=frozenset(settings))


@pytest.fixture(scope="module")
def two_groups(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    rows = [
        member(f"{group}-{number}", ["range"], ["t"], group_id=group, client_id=f"{group}-{number}")
        for group in ("g", "h")
        for number in range(3)
    ]
    return members(spark, *rows), topics(spark, t=6)


def test_only_what_is_known_of_a_group_is_taken(spark: SparkSession) -> None:
    """The source that has seen most decides; a bound is no measurement, and a workload not the group."""
    given = timings(
        spark,
        seen(103, **ASSIGN),
        seen(500, count=4, **ASSIGN, source="elsewhere"),
        seen(7, count=50, **ASSIGN, workload="app"),
        seen(9, count=50, timing="assign", bound="upper bound"),
        seen(2, **ASSIGN, group_id="quick"),
        seen(708, timing="revoke", bound="measured", source="broker logs", group_id="quick"),
        seen(6_000, **RESTART),
        seen(6_000, timing="return", bound="upper bound", group_id="back"),
    )
    found = GroupTimings.of(usable(fit(given, TIMINGS)), Scenario(""))
    rows = {row["group_id"]: row for row in found.rows.to_pylist()}
    assert set(rows) == {"g", "quick"}
    # Two messages are not a part of it.
    assert (rows["g"]["assignor_ms"], rows["g"]["assignor_ms_count"]) == (100, 5)
    assert (rows["g"]["longest_start_ms"], rows["g"]["longest_revoke_ms"]) == (6_001, None)
    # Nor are a write of 5 ms and two messages of revoking.
    assert (rows["quick"]["assignor_ms"], rows["quick"]["revoke_ms"]) == (0, 700)
    assert found.of_group("default", "nobody") == {}


def test_measured_times_are_those_of_the_same_settings(
    spark: SparkSession, two_groups: tuple[DataFrame, DataFrame]
) -> None:
    """In the group that they are of; the other one, and settings of the owner, stay as they are."""
    given = timings(
        spark,
        seen(903, **ASSIGN),
        seen(200, **RESTART),
        seen(708, timing="revoke", bound="measured"),
        seen(100, timing="assign", bound="exact"),
    )

    def costs(scenario: Scenario, **options: Unpack[SimulationOptions]) -> dict[str, list[str]]:
        run = simulate(*two_groups, scenario, **options)
        if options:
            (reject,) = run.rejects.collect()
            assert reject.reason == "bound 'exact' is not known; allowed: measured, upper bound"
        return {group: contents(run.rebalances.where(f"group_id = '{group}'")) for group in ("g", "h")}

    plain, as_set = costs(played()), costs(played(assignor_ms=900, start_ms=201, revoke_ms=700))
    found = costs(played(), timings=given)
    assert found == {"g": as_set["g"], "h": plain["h"]}
    assert found["g"] != plain["g"]
    assert costs(played(assignor_ms=2, start_ms=1_000, revoke_ms=0), timings=given) == plain


def test_ranges_end_where_the_past_does(spark: SparkSession, two_groups: tuple[DataFrame, DataFrame]) -> None:
    """A latency that is assumed as long as any that was seen has no range."""
    given = timings(spark, seen(4_999, **RESTART), seen(1, **REVOKE))

    def of_g(scenario: Scenario, **options: Unpack[SimulationOptions]) -> DataFrame:
        run = simulate(*two_groups, scenario, advice=True, **options)
        return run.advice.where("setting = 'group.instance.id'")

    rows = {row.group_id: row for row in of_g(played(), timings=given).collect()}
    ends = {group: {end.latency: end for end in row.at_longest} for group, row in rows.items()}
    documented = {"revoke_ms": 2_000, "start_ms": 30_000, "poll_interval_ms": 5_000, "network_ms": 20}
    assert {name: end.longest_ms for name, end in ends["h"].items()} == documented
    narrowed = documented | {"start_ms": 5_000, "revoke_ms": 2}
    assert {name: end.longest_ms for name, end in ends["g"].items()} == narrowed
    at_end = of_g(played(start_ms=5_000)).where("group_id = 'g'").collect()[0]
    assert ends["g"]["start_ms"].unowned_ms_saved == at_end.unowned_ms_saved
    none = timings(spark, seen(SimulationSettings().start_ms - 1, **RESTART))
    (row,) = of_g(played(), timings=none).where("group_id = 'g'").collect()
    assert {end.latency for end in row.at_longest} == documented.keys() - {"start_ms"}


def test_an_audit_says_what_is_measured(spark: SparkSession, two_groups: tuple[DataFrame, DataFrame]) -> None:
    given = timings(spark, seen(43, **ASSIGN), seen(6_000, count=1, **RESTART), {"group_id": "g"})
    audited = audit(*two_groups, timings=given)
    described = {row.group_id: row.description for row in audited.findings.where("kind = 'rollout-cost'").collect()}
    measured = (
        "; from the history of this group: the leader's assignor takes 40 ms (5 times) and starting a process takes at "
        "most 6.0 s (1 time)"
    )
    assert described["g"].endswith(measured)
    assert "measured" not in described["h"]
    assert [row.reason for row in audited.rules.rejects_beside[-1].collect()] == ["timing is null or empty"]
