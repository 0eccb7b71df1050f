"""What the history of groups adds to an audit: the finding about repeated rebalances."""

from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rebalance_sim import audit
from rebalance_sim.engine.audit.finding import Finding
from rebalance_sim.engine.audit.group import LAST_HOUR, Group, TopicFacts
from rebalance_sim.engine.audit.past import HOUR_MS, last_hours
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.engine.spark.driver_rows import KEEPS_ROWS
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.history.causes import Cause
from rebalance_sim.tables import FINDINGS, GENERATIONS, PREVENTION, VERDICTS
from tests.engine.audit.test_audits import found, group_of
from tests.engine.audit.test_findings import GENERATIONS as OF_CAPTURE
from tests.engine.audit.test_findings import with_members
from tests.support.rows import contents, member, members, table, topics
from tests.support.spark_settings import set_for_a_while

pytestmark = pytest.mark.usefixtures("small_runs")

SAVES = {"setting": "group.instance.id", "value": "one per consumer", "rebalances": 25, "rebalances_saved": 20}


def generation(number: int, at_ms: int | None, cause: Cause = Cause.JOINED, **more: Any) -> dict[str, Any]:
    """Return a row of generations, by default of the classic group g."""
    row = {"group_id": "g", "recreated": 0, "generation": number, "completed_at_ms": at_ms, "type": "classic"}
    return row | {"rewritten": False, "skipped": 0, "cause": str(cause)} | more


def prevented(**more: Any) -> dict[str, Any]:
    """Return a row of prevention about a setting that would have saved rebalances of group g."""
    return {"group_id": "g", **SAVES, "unowned_ms_saved": -1500, "failing": 0, "possible": True} | more


def hours(spark: SparkSession, *rows: dict[str, Any], prevention: list[dict[str, Any]] | None = None) -> list[Any]:
    tables = {GENERATIONS.name: table(spark, GENERATIONS, list(rows))}
    if prevention is not None:
        tables[PREVENTION.name] = table(spark, PREVENTION, prevention)
    return last_hours(tables).collect()


def test_the_hour_before_the_last_generation_counts(spark: SparkSession) -> None:
    """Generations that never became stable are rebalances; the first one is where the count begins."""
    (row,) = hours(
        spark,
        generation(1, 0),
        generation(2, 1),
        generation(4, HOUR_MS, Cause.LEFT, skipped=1, cause_member="a"),
        generation(5, HOUR_MS + 1, Cause.RESTARTED, cause_member="a"),
        generation(5, HOUR_MS + 1, rewritten=True),
        generation(6, None),
    )
    assert (row.generations, row.rebalances, row.generation) == (3, 3, 5)
    assert (row.first_ms, row.last_ms) == (1, HOUR_MS + 1)
    told = {each.cause: (each.generations, each.members, each.member, each.unnamed) for each in row.causes}
    assert told == {Cause.RESTARTED: (2, 1, "a", False), Cause.JOINED: (1, 0, None, True)}
    assert row.prevented is None


def test_a_group_that_was_created_again_goes_on(spark: SparkSession) -> None:
    (row,) = hours(spark, generation(9, 0), generation(0, 1, recreated=1, skipped=None), generation(1, 2, recreated=1))
    assert (row.generations, row.rebalances, row.generation) == (3, 2, 1)


def test_epochs_of_consumer_protocol_groups_are_no_such_rebalances(spark: SparkSession) -> None:
    assert hours(spark, generation(1, None, recorded_at_ms=1, type="consumer")) == []


def test_only_settings_that_clients_have_and_survive_would_have_prevented_rebalances(spark: SparkSession) -> None:
    given = [prevented(), prevented(possible=False), prevented(failing=1), prevented(rebalances_saved=0)]
    (row,) = hours(spark, generation(1, None, recorded_at_ms=1), prevention=given)
    assert [each.asDict() for each in row.prevented] == [SAVES | {"unowned_ms_saved": -1500}]


def with_history(group: Group | None = None, **more: Any) -> Group:
    """Return a group whose history has 21 generations in its last hour."""
    joined = {"cause": "member joined", "generations": 12, "members": 1, "member": "a\nb", "unnamed": False}
    last = {"generations": 21, "first_ms": 0, "last_ms": 90_000, "causes": [joined], "rebalances": 20}
    row = last | {"generation": 40, "prevented": [SAVES | {"unowned_ms_saved": -1500}]} | more
    group = group or group_of()
    return replace(group, rows={**group.rows, LAST_HOUR: [row]})


def repeated(group: Group) -> Finding | None:
    return found(group, "risks").get("rebalances-repeatedly")


def test_the_finding_has_the_cause_and_what_would_have_prevented_it() -> None:
    finding = repeated(with_history())
    assert finding is not None
    assert finding.description == (
        "21 generations in 90 seconds, 12 of them because member a\nb joined; the last, generation 40, at "
        "1970-01-01 00:01:30 UTC"
    )
    assert finding.recommendation is not None
    assert finding.recommendation.endswith(
        " restarts. Give each consumer a group.instance.id of its own, such as the name of its pod. In its history, "
        "simulated again with assumed latencies, that would have prevented 20 of 25 rebalances, with 1.5 s more "
        "partition downtime."
    )
    assert finding.settings == {"group.instance.id": "one per consumer"}
    assert finding.saving == {"rebalances_saved": 20, "unowned_ms_saved": -1500}
    assert finding.figures == {"rebalances": 20, "span_ms": 90_000, "generation": 40}


def test_the_setting_that_would_have_prevented_most_is_recommended() -> None:
    session = SAVES | {"setting": "session.timeout.ms", "value": "120000", "rebalances_saved": 22}
    both = [SAVES | {"unowned_ms_saved": 0}, session | {"unowned_ms_saved": 100}]
    finding = repeated(with_history(prevented=both))
    assert finding is not None
    assert finding.settings == {"session.timeout.ms": "120000"}
    assert finding.recommendation is not None
    assert finding.recommendation.endswith("prevented 22 of 25 rebalances.")


def test_nothing_is_recommended_that_the_clients_of_now_do_not_have() -> None:
    finding = repeated(with_history(with_members({"client_library": "kafkajs", "client_version": "2.2.4"})))
    assert finding is not None
    assert (finding.settings, finding.saving) == ({}, {})
    assert finding.recommendation is not None
    assert "In its history" not in finding.recommendation


@pytest.mark.parametrize(
    ("topics", "last", "is_found"),
    [
        (TopicFacts(), {"rebalances": Thresholds().rebalances_per_hour - 1}, False),
        (TopicFacts(latest_commit_ms={"c": HOUR_MS + 90_000}), {}, True),
        (TopicFacts(latest_commit_ms={"c": HOUR_MS + 90_001}), {}, False),
        (TopicFacts(latest_commit_ms={"other": 10 * HOUR_MS}), {}, True),
        (TopicFacts(read_at_ms=HOUR_MS + 90_001), {}, False),
        (TopicFacts(read_at_ms=10 * HOUR_MS, latest_commit_ms={"c": HOUR_MS}), {}, True),
    ],
)
def test_few_and_past_rebalances_are_none(topics: TopicFacts, last: dict[str, Any], is_found: bool) -> None:
    assert (repeated(replace(with_history(**last), topics=topics)) is not None) == is_found


def test_an_older_history_leaves_the_finding_to_the_capture() -> None:
    past = TopicFacts(latest_commit_ms={"c": HOUR_MS + OF_CAPTURE["earlier_generation_at_ms"]})
    finding = repeated(replace(with_history(with_members(OF_CAPTURE)), topics=past))
    assert finding is not None
    assert finding.description == "40 rebalances within 1,800.0 s, up to generation 140"


@pytest.mark.scale
@pytest.mark.parametrize("keeps_rows", ["true", "false"])
def test_an_audit_has_no_groups_of_the_past_alone(spark: SparkSession, keeps_rows: str) -> None:
    """And without a history it has the same rows; a group of the same name in another cluster is another one."""
    with set_for_a_while(spark, {KEEPS_ROWS: keeps_rows}):
        _compare_audits(spark)


def _compare_audits(spark: SparkSession) -> None:
    fleet = members(spark, member("m", ["range"], ["t"]))
    rows = [generation(number, number) for number in range(21)]
    rows += [row | {"group_id": "gone"} for row in rows] + [row | {"cluster": "other"} for row in rows]
    past = {GENERATIONS.name: table(spark, GENERATIONS, rows), PREVENTION.name: table(spark, PREVENTION, [])}
    audited, without = (audit(fleet, topics(spark, t=2), history=history) for history in (past, {}))
    assert [row.group_id for row in audited[VERDICTS.name].collect()] == ["g"]
    now, before = (set(contents(each[FINDINGS.name])) for each in (audited, without))
    assert now > before
    (more,) = now - before
    assert "'kind': 'rebalances-repeatedly'" in more


def test_a_history_needs_generations(spark: SparkSession) -> None:
    with pytest.raises(UserError, match="history: there is no table generations"):
        audit(members(spark), topics(spark, t=1), history={PREVENTION.name: table(spark, PREVENTION, [])})
