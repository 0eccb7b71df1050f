"""Audits of a fleet with a group for each kind of finding, and rules that no group of it shows."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from rebalance_sim.cli import main
from rebalance_sim.commands.audit_summary import summarise_findings
from rebalance_sim.engine.audit.changes import how_to_roll_out, is_possible
from rebalance_sim.engine.audit.connect_facts import FACTS_OF_CONNECT
from rebalance_sim.engine.audit.finding import Finding
from rebalance_sim.engine.audit.group import COMMITS, LAG_TREND, LAST_HOUR, OWNED_NOW, TOPIC_OWNERS, Group, TopicFacts
from rebalance_sim.engine.audit.judgement import FAMILIES, recommended_settings
from rebalance_sim.engine.audit.rollouts import SAVED
from rebalance_sim.engine.audit.streams_facts import FACTS_OF_STREAMS
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.kafka.brokers import Brokers
from rebalance_sim.tables import (
    ADVICE,
    BALANCE,
    COMPARISON,
    COSTS,
    ELECTIONS,
    FINDINGS,
    INPUTS,
    MEMBERS,
    MIGRATION_COSTS,
    OUTPUTS,
    VERDICTS,
)
from tests.support.audited_fleet import KINDS_OF_STREAMS, Rows, write_fleet
from tests.support.audited_fleet import MEMBERS as FLEET
from tests.support.rows import table

DOCS = Path(__file__).parents[3] / "docs"
BY_LAG = DOCS / "examples" / "by_lag.py"
USUAL = {
    *("migration-possible", "rollout-cost", "rollout-choice-depends", "library-change-refused"),
    *("restart-of-workers", "stop-of-process"),
}
"""Notes about nearly every group."""
ALSO = {
    "migration-custom-assignor": {"assignment-unknown"},
    "assignment-fails": {"migration-library"},
    "assignment-unknown": {"migration-custom-assignor"},
    "election-depends-on-build": {"migration-brokers"},
    "leader-cannot-read-members": {"migration-offline"},
    "lag-without-assignment": {"no-members"},
    "more-members-than-partitions": {"rollout-downtime"},
    "partitions-not-consumed": {"migration-library"},
    "rollout-downtime": {"more-members-than-partitions"},
    "rejected-rows": {"rollout-downtime"},
    "regex-matches-nothing": {"more-members-than-partitions"},
    "rollout-fails": {"rollout-downtime", "migration-fails"},
    "rollout-unstable": {"rebalance-storm", "rollout-downtime"},
    "shared-instance-id": {"rollout-fails", "migration-fails"},
    "warm-ups-follow": {"no-standby-replicas", "other-kind-of-group"},
}
"""Further findings about the group of a kind, which are right as well."""
SEEN = (COMMITS, LAG_TREND, LAST_HOUR, OWNED_NOW, TOPIC_OWNERS, *FACTS_OF_CONNECT, *FACTS_OF_STREAMS)
"""Rows about groups that no output has."""
KINDS = {kind.name: kind for family in FAMILIES.values() for kind in family.kinds}
ELSEWHERE = {"rollout-deadlock", "migration-fails", "lag-grows"}
"""Kinds without a group of their own: a test below has the scenario of one, other groups show the second, and the third
needs an earlier audit."""


class Audited:
    """The tables of an audit."""

    def __init__(self, spark: SparkSession, folder: Path, *options: str, **tables: Rows) -> None:
        """Audit the fleet with these tables instead of its own."""
        folder.mkdir()
        self.out = folder / "out"
        given = [*write_fleet(folder, **tables), *options, "--max-rejected-share", "1"]
        assert main(["audit", *given, "--out", str(self.out)]) == 0
        self.findings = self.table(spark, "findings").collect()
        self.verdicts = {row["group_id"]: row for row in self.table(spark, "verdicts").collect()}

    def table(self, spark: SparkSession, name: str) -> DataFrame:
        return spark.read.parquet(f"{self.out}/{name}")

    def kinds(self, group: str) -> set[str]:
        return {row["kind"] for row in self.findings if row["group_id"] == group} - USUAL

    def finding(self, kind: str, group: str | None = None) -> Row:
        (found,) = [row for row in self.findings if (row["kind"], row["group_id"]) == (kind, group or kind)]
        return found


@pytest.fixture(scope="module")
def audited(spark: SparkSession, small_runs: None, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    return Audited(spark, tmp_path_factory.mktemp("audit") / "fleet")


@pytest.mark.scale
def test_every_kind_is_found_in_its_group_and_no_other(audited: Audited) -> None:
    with_group = KINDS.keys() - USUAL - ELSEWHERE
    assert {kind: audited.kinds(kind) for kind in with_group} == {k: {k} | ALSO.get(k, set()) for k in with_group}
    healthy = {name for name in audited.verdicts if name.startswith("healthy")}
    others = ("healthy-streams", "healthy-streams-group", "healthy-share", "healthy-sharing")
    notes = {name: {"other-kind-of-group"} for name in others}
    assert {name: audited.kinds(name) for name in healthy} == {name: notes.get(name, set()) for name in healthy}
    assert {name: audited.kinds(name) for name in KINDS_OF_STREAMS} == {k: {v} for k, v in KINDS_OF_STREAMS.items()}
    assert audited.verdicts.keys() == with_group | healthy | KINDS_OF_STREAMS.keys()
    assert len(audited.verdicts) >= 40


@pytest.mark.scale
def test_families_severities_and_scenarios_are_those_of_the_kinds(audited: Audited) -> None:
    known = {kind.name: (family, kind) for family, of in FAMILIES.items() for kind in of.kinds}
    for row in audited.findings:
        family, kind = known[row["kind"]]
        assert (row["family"], row["severity"], row["scenario"]) == (family, kind.severity, kind.scenario)


@pytest.mark.scale
@pytest.mark.parametrize(
    ("group", "kind"),
    [
        ("other-kind-of-group", "connect"),
        ("healthy-streams", "kafka-streams"),
        ("healthy-share", "share"),
        ("healthy-streams-group", "streams"),
    ],
)
def test_groups_without_an_assignor_to_choose_are_not_advised_about_it(audited: Audited, group: str, kind: str) -> None:
    assert {row["family"] for row in audited.findings if row["group_id"] == group} == {"leaders"}
    verdict = audited.verdicts[group]
    assert (verdict["group_kind"], verdict["migration"], verdict["settings"]) == (kind, "no", None)


@pytest.mark.scale
def test_groups_that_are_only_listed_have_a_verdict(audited: Audited) -> None:
    names = ("type", "members", "group_kind", "group_kind_evidence", "migration")
    share, streams, unknown = (
        [audited.verdicts[group][name] for name in names]
        for group in ("healthy-share", "healthy-streams-group", "group-not-described")
    )
    assert share == ["share", 2, "share", "type 'share'", "no"]
    assert streams == ["streams", None, "streams", "type 'streams'", "no"]
    assert unknown == ["classic", None, "unknown", "it is listed, but nothing shows its members", "unknown"]
    assert audited.finding("group-not-described")["description"] == (
        "nothing is predicted: the cluster lists the group (type classic), and no output shows its members"
    )
    assert audited.finding("other-kind-of-group", "healthy-share")["description"] == (
        "a share group, whose members share partitions record by record (type 'share'): no assignment is predicted"
    )


@pytest.mark.scale
def test_a_verdict_has_the_worst_finding_and_the_settings(audited: Audited) -> None:
    verdict = audited.verdicts["idle-members"]
    shown = [verdict[name] for name in ("type", "members", "partitions", "severity", "kind", "migration")]
    assert shown == ["classic", 2, 2, "warning", "idle-members", "online"]
    assert [verdict[name] for name in ("errors", "warnings", "notes")] == [0, 1, 4]
    assert verdict["settings"] == {
        "partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    }
    assert audited.verdicts["partitions-without-leader"]["severity"] == "error"
    assert audited.verdicts["healthy"]["severity"] == "note"
    assert audited.verdicts["healthy"]["settings"] is None
    assert audited.verdicts["healthy"]["impossible_settings"] == ["group.initial.rebalance.delay.ms=10000"]


@pytest.mark.scale
@pytest.mark.parametrize(
    ("group", "migration"),
    [
        ("healthy", "online"),
        ("migration-offline", "offline"),
        ("migration-library", "no"),
        ("group-refused", "no"),
        ("no-members", "unknown"),
        ("group-unread", "unknown"),
    ],
)
def test_verdicts_say_whether_a_group_can_migrate(audited: Audited, group: str, migration: str) -> None:
    assert audited.verdicts[group]["migration"] == migration


@pytest.mark.scale
def test_verdicts_have_what_a_group_can_be_found_by(audited: Audited) -> None:
    names = ("topics", "offsets_topics", "client_libraries", "topics_left_out", "clients_left_out")
    found = {group: tuple(verdict[name] for name in names) for group, verdict in audited.verdicts.items()}
    assert found["healthy-librdkafka"] == (["six"], None, ["librdkafka 2.12.0"], 0, 0)
    assert found["healthy-several-topics"][0] == ["eight", "six"]
    assert found["no-members"] == (None, ["eight"], None, 0, 0)
    assert found["healthy-share"] == (None, None, None, 0, 0)
    assert audited.verdicts["topic-on-one-host"]["addresses"] == ["10.0.0.1", "10.0.0.2"]


@pytest.mark.scale
def test_figures_and_savings_are_those_of_the_tables(audited: Audited) -> None:
    imbalance = audited.finding("imbalance")
    assert imbalance["description"] == "4 to 8 partitions per member under range, at most 6 under cooperative-sticky"
    assert imbalance["saving"] == {"max_saved": 2.0}
    lag = audited.finding("lag-on-one-member")
    assert (lag["figures"]["max_lag"], lag["saving"]) == (8000.0, {"max_lag_saved": 4000.0})
    expiry = audited.finding("offsets-expire")
    assert expiry["figures"] == {"partitions": 2.0, "hours": 24.0}
    assert audited.finding("migration-possible", "healthy")["figures"]["max_after"] == 2.0


@pytest.mark.scale
def test_a_rollout_saves_downtime_rebalances_moves_and_records_that_wait(spark: SparkSession, audited: Audited) -> None:
    """The saving of the setting is that of its row in advice, and the records are those of lag_costs."""
    found = audited.finding("rollout-downtime")
    setting, value = next(iter(found["settings"].items()))
    advice = audited.table(spark, "advice").where(f"group_id = 'rollout-downtime' AND setting = '{setting}'")
    (row,) = advice.where(f"value = '{value}'").collect()
    (costs,) = audited.table(spark, "costs").where("group_id = 'rollout-downtime'").collect()
    saving = {name: float(row[name]) for name in SAVED if row[name] is not None}
    saving["mean_ms_saved"] = row["unowned_ms_saved"] / costs["partitions"]
    assert found["saving"] == saving | {"share": row["unowned_ms_saved"] / costs["unowned_ms"]}
    assert {"p99_unowned_ms_saved", "max_unowned_ms_saved", "unowned_lag_saved"} < saving.keys()
    (lag,) = audited.table(spark, "lag_costs").where("group_id = 'lag-on-one-member'").collect()
    cost = audited.finding("rollout-cost", "lag-on-one-member")
    assert (cost["figures"]["unowned_lag"], cost["figures"]["delay_ms"]) == (lag["unowned_lag"], lag["delay_ms"])
    assert f"; {lag['unowned_lag']:,} lagging records wait for an owner" in cost["description"]


@pytest.mark.scale
def test_incomplete_inputs_lower_the_confidence(audited: Audited) -> None:
    confidences = {row["confidence"] for row in audited.findings if row["group_id"] == "rejected-rows"}
    assert confidences == {"certain", "assumed"}
    assert audited.finding("rejected-rows")["confidence"] == "certain"


@pytest.mark.scale
def test_rejected_members_do_not_count(audited: Audited) -> None:
    """One of the three has a topic's name that is a list, written as text."""
    assert audited.finding("rejected-rows")["members"] == audited.verdicts["rejected-rows"]["members"] == 2
    assert audited.finding("rollout-cost", "healthy-librdkafka")["confidence"] == "simulated"


@pytest.mark.scale
def test_the_change_from_the_eager_default_has_its_cost(audited: Audited) -> None:
    text = audited.finding("eager-by-default")["recommendation"]
    assert "to rebalance cooperatively (KIP-726). In a simulated rolling restart, partitions are then" in text
    assert "s longer (but " in text


@pytest.mark.scale
def test_an_assumed_library_lowers_the_confidence_of_what_rests_on_it(audited: Audited) -> None:
    assert audited.finding("rollout-cost", "healthy")["confidence"] == "assumed"
    assert audited.finding("imbalance")["confidence"] == "assumed"
    assert audited.finding("leader-decides-assignment")["confidence"] == "assumed"
    assert audited.finding("election-tie")["confidence"] == "certain"
    assert audited.finding("assignment-unpredictable")["confidence"] == "certain"
    assert audited.finding("rollout-cost", "healthy-consumer-protocol")["confidence"] == "simulated"


@pytest.mark.scale
def test_an_assumed_library_is_named_where_a_verdict_or_a_setting_depends_on_it(audited: Audited) -> None:
    assert audited.verdicts["healthy"]["migration_assumes"] == "java"
    assert audited.verdicts["healthy-librdkafka"]["migration_assumes"] is None
    advised = [row for row in audited.findings if row["settings"] and "group.protocol" in row["settings"]]
    said = "The library of some members is uncertain: this applies only if it is {}."
    named = {said.format("java") in row["recommendation"] for row in advised}
    assert named == {True, False}
    for row in advised:
        assumed = audited.verdicts[row["group_id"]]["migration_assumes"]
        assert (said.format(assumed) in row["recommendation"]) == (assumed is not None)


@pytest.mark.scale
def test_check_limits_the_findings_of_a_severity(audited: Audited, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(audited.out)
    assert main(["check", "--runs", out, "--max-findings", "error=0"]) == 3
    assert "failed: findings error = 12, limit 0 (" in capsys.readouterr().out
    assert main(["check", "--runs", out, "--max-findings", "error=12,warning=100"]) == 0
    assert main(["check", "--runs", out, "--max-findings", "fatal=0"]) == 2
    assert "--max-findings: 'fatal' is not known; allowed: error, warning, note" in capsys.readouterr().err
    assert main(["check", "--runs", out, "--max-findings", "error"]) == 2
    assert "--max-findings: 'error' is not allowed; allowed: error=N with a whole number" in capsys.readouterr().err


def group_of(**rows: Mapping[str, Any]) -> Group:
    """Return a group of two Java members that elects range, with rows of some tables."""
    empty: dict[str, Any] = dict.fromkeys(MEMBERS.names)
    java = {"protocols": ["range"], "client_library": "java", "client_version": "4.1.0"}
    members = [{**empty, **java, "member_id": name, "subscription": ["t"]} for name in ("a", "b")]
    election = {**dict.fromkeys(ELECTIONS.names), "type": "classic", "members": 2, "protocol": "range"}
    election |= {"votes": [("range", 2)], "candidates": ["range"], "leader_id": "a", "refused": []}
    given = {name: [row] for name, row in rows.items()}
    empty_tables: dict[str, Any] = {name: [] for name in (*OUTPUTS, *INPUTS, *SEEN)}
    tables = empty_tables | {MEMBERS.name: members, ELECTIONS.name: [election]}
    return Group("c", "g", tables | given, Brokers(), TopicFacts())


def found(group: Group, family: str) -> dict[str, Finding]:
    return {each.kind.name: each for each in FAMILIES[family].findings(group, Thresholds())}


def test_a_change_to_a_library_whose_defaults_share_nothing_is_foreseen() -> None:
    change = found(group_of(), "elections")["library-change-refused"]
    assert change.description == (
        "consumers of franz-go, kafkajs, platformatic-kafka, aiokafka, kafka-node, ruby-kafka or brod would be refused "
        "with their default assignors (INCONSISTENT_GROUP_PROTOCOL): the members agree on range"
    )
    assert (change.scenario, change.figures) == ("library-change", {"libraries": 7, "members": 2})


@pytest.mark.parametrize(
    ("column", "value", "is_named"), [("client_library", "sarama", True), ("client_library", "kafkajs", False)]
)
def test_consumers_change_to_other_libraries_than_their_own(column: str, value: str, is_named: bool) -> None:
    group = group_of()
    for member in group.rows[MEMBERS.name]:
        member[column] = value  # type: ignore[index]
    change = found(group, "elections").get("library-change-refused")
    assert (change is not None and "kafkajs" in change.description) == is_named


COSTS_ROW: dict[str, Any] = {
    **dict.fromkeys(COSTS.names),
    "partitions": 4,
    "events": 2,
    "rebalances": 12,
    "storms": 0,
    "stable": True,
    "unowned_ms": 40_000,
    "p99_unowned_ms": 18_000,
    "max_unowned_ms": 20_000,
    "moved": 5,
    "moved_back": 1,
    "failed": 0,
    "finished": True,
}


@pytest.mark.parametrize(
    ("costs", "kinds"),
    [
        ({}, set()),
        ({"failed": 1, "failure": "a fails", "stable": False}, {"rollout-fails"}),
        ({"stable": False}, {"rollout-unstable"}),
        ({"finished": False, "failure": "it waits"}, {"rollout-deadlock"}),
        ({"storms": 2}, {"rebalance-storm"}),
        ({"events": 0, "storms": 2}, None),
        ({"error": "no assignor", "storms": 2}, None),
    ],
)
def test_a_rollout_that_goes_wrong_is_found(costs: dict[str, Any], kinds: set[str] | None) -> None:
    group = group_of(**{COSTS.name: COSTS_ROW | costs})
    expected = set() if kinds is None else {"rollout-cost"} | kinds
    assert found(group, "rollouts").keys() == expected


def test_an_unstable_rollout_is_looked_at_without_a_command() -> None:
    """A command would need the group, and the file of the scenario; the page has a command with both."""
    recommended = found(group_of(**{COSTS.name: COSTS_ROW | {"stable": False}}), "rollouts")["rollout-unstable"]
    assert recommended.recommendation is not None
    assert recommended.recommendation.endswith("; else look at the group's timeline in its details on the page.")


def test_the_cost_of_a_rollout_has_mean_p99_and_max() -> None:
    cost = found(group_of(**{COSTS.name: COSTS_ROW}), "rollouts")["rollout-cost"]
    assert cost.description == (
        "rolling restart: 12 rebalances and 5 partition moves; partition downtime: mean 10.0 s, p99 18.0 s, max 20.0 s"
    )


@pytest.mark.parametrize(
    ("library", "setting", "saved_ms", "is_found"),
    [
        (None, "group.instance.id", 30_000, True),
        (None, "group.instance.id", 3_999, False),
        ("kafkajs", "group.instance.id", 30_000, False),
        ("sarama", "group.protocol", 30_000, False),
        ("librdkafka", "partition.assignment.strategy", 30_000, True),
        ("kafka-go", "partition.assignment.strategy", 30_000, False),
    ],
)
def test_only_settings_that_the_library_has_are_recommended(
    library: str | None, setting: str, saved_ms: int, is_found: bool
) -> None:
    advice: dict[str, Any] = {**dict.fromkeys(ADVICE.names, 0), "setting": setting, "value": "cooperative-sticky"}
    group = group_of(**{COSTS.name: COSTS_ROW, ADVICE.name: advice | {"unowned_ms_saved": saved_ms}})
    for member in group.rows[MEMBERS.name]:
        member["client_library"] = library  # type: ignore[index]
    assert ("rollout-downtime" in found(group, "rollouts")) == is_found


def test_a_setting_with_which_the_rollout_fails_is_not_recommended() -> None:
    advice: dict[str, Any] = dict.fromkeys(ADVICE.names, 0) | {"setting": "group.instance.id", "value": "one each"}
    advice |= {"unowned_ms_saved": 30_000}
    for fails in (False, True):
        group = group_of(**{COSTS.name: COSTS_ROW, ADVICE.name: advice | {"fails": fails}})
        assert ("rollout-downtime" in found(group, "rollouts")) != fails


def test_a_migration_to_a_less_balanced_assignment_is_found() -> None:
    balance: dict[str, Any] = {**dict.fromkeys(BALANCE.names), "strategy": "range", "members": 2, "max": 3, "min": 3}
    after = {"max": 5, "min": 1, "moved": 2, "idle_members": 0, "excess_max": 2}
    comparison: dict[str, Any] = {"optimum": {"idle_members": 0}, "strategies": [("server-range", after)]}
    group = group_of(**{BALANCE.name: balance, COMPARISON.name: comparison})
    assert found(group, "migration").keys() == {"migration-possible", "migration-less-balanced"}
    assert found(group, "migration")["migration-less-balanced"].description == (
        "after a migration to range, one member has 5 partitions instead of 3"
    )


def test_a_migration_has_the_assignment_afterwards_and_the_cost_of_its_restart() -> None:
    balance: dict[str, Any] = {**dict.fromkeys(BALANCE.names), "strategy": "range", "members": 2, "max": 4, "min": 2}
    after = {"max": 3, "min": 3, "moved": 1, "idle_members": 0, "excess_max": 0}
    comparison: dict[str, Any] = {"optimum": {"idle_members": 0}, "strategies": [("server-range", after)]}
    tables: dict[str, Any] = {BALANCE.name: balance, COMPARISON.name: comparison}
    plain = found(group_of(**tables), "migration")["migration-possible"]
    assert plain.confidence == "certain"
    with_costs = found(group_of(**tables, **{MIGRATION_COSTS.name: COSTS_ROW}), "migration")["migration-possible"]
    assert with_costs.confidence == "simulated"
    assert with_costs.description == (
        f"{plain.description}; the restart takes 12 rebalances and 5 partition moves; partition downtime: mean 10.0 s, "
        "p99 18.0 s, max 20.0 s"
    )
    assert plain.description == (
        "can migrate online to the consumer protocol: one rolling restart; afterwards 3 to 3 partitions per member "
        "(today 2 to 4), 1 partition changes owner"
    )
    assert with_costs.figures["restart_p99_ms"] == 18_000
    same = {BALANCE.name: balance | {"max": 3, "min": 3}, COMPARISON.name: comparison}
    same[COMPARISON.name] = {"optimum": {"idle_members": 0}, "strategies": [("server-range", after | {"moved": 0})]}
    description = found(group_of(**same), "migration")["migration-possible"].description
    assert description.endswith("one rolling restart; no partition changes owner")


@pytest.mark.parametrize(
    ("costs", "failure"),
    [
        ({"failed": 1, "failure": "a fails"}, "a fails"),
        ({"stable": False}, "the group is not stable in the end, or has partitions without an owner"),
        ({"error": "not simulated"}, None),
        ({}, None),
    ],
)
def test_a_migration_that_does_not_succeed_is_found(costs: dict[str, Any], failure: str | None) -> None:
    kinds = found(group_of(**{MIGRATION_COSTS.name: COSTS_ROW | costs}), "migration")
    description = kinds["migration-fails"].description if "migration-fails" in kinds else None
    assert description == (failure and f"a simulated migration does not succeed: {failure}")


@pytest.mark.parametrize(
    ("members", "protocol", "instance_id", "order"),
    [
        (6, "range", None, "in the order of their member ids"),
        (5, "range", None, "in any order"),
        (6, "sticky", None, "in any order"),
        (6, "range", "static", "in any order"),
    ],
)
def test_an_order_of_members_is_recommended_where_simulations_show_a_difference(
    members: int, protocol: str, instance_id: str | None, order: str
) -> None:
    """Under range, and if members get new ids; see docs/audit.md."""
    group = group_of()
    (first, _), (election,) = group.rows[MEMBERS.name], group.rows[ELECTIONS.name]
    rows = [
        {**first, "member_id": f"m{n}", "instance_id": instance_id and f"{instance_id}-{n}"} for n in range(members)
    ]
    tables = {**group.rows, MEMBERS.name: rows, ELECTIONS.name: [{**election, "protocol": protocol}]}
    recommended = found(replace(group, rows=tables), "migration")["migration-possible"].recommendation
    assert recommended is not None
    assert f"Restart the members {order}" in recommended


@pytest.mark.scale
def test_groups_that_can_migrate_are_ranked_by_risk_and_cost(audited: Audited, spark: SparkSession) -> None:
    online = [row for row in audited.verdicts.values() if row["migration"] == "online"]
    ranked = sorted(online, key=lambda row: row["migration_order"])
    assert [row["migration_order"] for row in ranked] == list(range(1, len(ranked) + 1))
    by = ("errors", "warnings", "outdated_members", "migration_unowned_ms", "members")
    keys = [(row["migration_assumes"] is not None, *(row[name] for name in by)) for row in ranked]
    assert keys == sorted(keys)
    assert keys[0] < keys[10] < keys[-1]
    others = [row for row in audited.verdicts.values() if row["migration"] != "online"]
    assert {row["migration_order"] for row in others} == {None}
    lines = summarise_findings(audited.table(spark, "findings"), audited.table(spark, "verdicts"))
    assumed = [f" (if {row['migration_assumes']})" if row["migration_assumes"] else "" for row in ranked[:3]]
    assert assumed == ["", "", " (if java)"]
    named = ", ".join(
        f"{row['group_id']} of cluster {row['cluster']}{mark}" for row, mark in zip(ranked, assumed, strict=False)
    )
    assert lines[-1] == f"  migrate first: {named} (all in migration_order)"


@pytest.mark.scale
def test_groups_of_several_clusters_are_named_with_their_cluster(spark: SparkSession) -> None:
    """Wherever they are printed, even if all groups in one place are of one cluster."""
    verdicts = [
        {"cluster": cluster, "group_id": group, "migration": "online", "migration_order": place}
        for place, (cluster, group) in enumerate([("east", "g"), ("east", "h"), ("east", "i"), ("west", "g")], 1)
    ]
    finding = {"group_id": "g", "severity": "warning", "kind": "imbalance", "description": "4 to 8", "members": 2}
    findings = [finding | {"cluster": cluster} for cluster in ("east", "west")]
    lines = summarise_findings(table(spark, FINDINGS, findings), table(spark, VERDICTS, verdicts))
    assert lines[2:4] == ["    g of cluster east: 4 to 8", "    g of cluster west: 4 to 8"]
    assert lines[-1] == (
        "  migrate first: g of cluster east, h of cluster east, i of cluster east (all in migration_order)"
    )
    lines = summarise_findings(table(spark, FINDINGS, findings[:1]), table(spark, VERDICTS, verdicts[:3]))
    assert (lines[2], lines[-1]) == ("    g: 4 to 8", "  migrate first: g, h, i (all in migration_order)")


def test_what_to_do_is_printed_for_each_group_if_it_differs(spark: SparkSession) -> None:
    """A setting of one client library is no remedy for a group of another."""
    finding = {"severity": "warning", "kind": "idle-members", "description": "1 is idle", "members": 2}
    verdict = {"cluster": "c", "migration": "no"}

    def printed(*advice: str) -> list[Any]:
        rows = [
            finding | {"cluster": "c", "group_id": f"g{place}", "recommendation": text}
            for place, text in enumerate(advice)
        ]
        verdicts = [verdict | {"group_id": row["group_id"]} for row in rows]
        return summarise_findings(table(spark, FINDINGS, rows), table(spark, VERDICTS, verdicts))[2:-1]

    assert printed("Use a.", "Use a.") == ["    g0: 1 is idle", "    g1: 1 is idle", "    -> Use a."]
    assert printed("Use a.", "Use b.") == ["    g0: 1 is idle", "    -> Use a.", "    g1: 1 is idle", "    -> Use b."]


def test_an_assignor_that_fails_is_an_error() -> None:
    """Of the libraries, kafka-python's roundrobin raises a KeyError for some subscriptions."""
    failed: dict[str, Any] = {**dict.fromkeys(BALANCE.names), "strategy": "kafka-python-range", "error": "KeyError"}
    assert found(group_of(**{BALANCE.name: failed}), "leaders").keys() == {"assignment-fails"}


def member_with(**columns: Any) -> Group:
    """Return a group of one Java member, with other columns."""
    (first, _) = group_of().rows[MEMBERS.name]
    return group_of(**{MEMBERS.name: {**first, **columns}})


@pytest.mark.parametrize(
    ("setting", "value", "member", "possible"),
    [
        ("group.protocol", "consumer", {}, True),
        ("group.protocol", "consumer", {"client_version": "3.4.0"}, False),
        ("group.protocol", "consumer", {"client_library": "sarama", "client_version": None}, False),
        ("partition.assignment.strategy", "cooperative-sticky", {"client_version": "2.4.0"}, True),
        ("partition.assignment.strategy", "cooperative-sticky", {"client_version": "2.2.0"}, False),
        ("partition.assignment.strategy", "cooperative-sticky", {"client_library": "kafka-go"}, False),
        ("group.instance.id", "one per consumer", {"client_version": "2.3.0"}, True),
        ("group.instance.id", "one per consumer", {"client_version": "2.2.0"}, False),
        ("group.instance.id", "one per consumer", {"client_library": "kafka-go;platformatic-kafka"}, False),
        ("session.timeout.ms", "10000", {}, True),
        ("session.timeout.ms", "10000", {"instance_id": "a"}, False),
        ("session.timeout.ms", "120000", {"instance_id": "a"}, True),
        ("session.timeout.ms", "120000", {"protocols": ["server-uniform"]}, False),
        ("group.initial.rebalance.delay.ms", "10000", {}, False),
    ],
)
def test_a_group_can_use_the_settings_that_its_clients_have(
    setting: str, value: str, member: Mapping[str, Any], possible: bool
) -> None:
    assert is_possible(member_with(**member), setting, value, Thresholds()) == possible


@pytest.mark.parametrize(
    ("offered", "how"),
    [
        (["range"], ", in two rolling restarts: the first adds it to partition.assignment.strategy, the second "
         "removes the others"),
        (["range", "sticky"], ": make it the only assignor in partition.assignment.strategy, in one rolling restart"),
    ],
)  # fmt: skip
def test_an_assignor_that_not_all_members_offer_takes_two_rolling_restarts(offered: list[str], how: str) -> None:
    assert how_to_roll_out(member_with(protocols=offered), "sticky") == how


def test_no_setting_of_the_classic_protocol_is_recommended_beside_the_consumer_protocol() -> None:
    given = ({"session.timeout.ms": "60000"}, {"group.protocol": "consumer", "group.remote.assignor": "uniform"})
    findings = [Finding(KINDS["idle-members"], {}, settings=settings) for settings in given]
    assert recommended_settings(findings) == given[1]


@pytest.fixture(scope="module")
def with_files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """Audit three groups with a scenario and thresholds of files.

    In the scenario, a new pod has no partitions before an old one stops, and no old one stops before a new one is
    ready.
    """
    folder = tmp_path_factory.mktemp("files")
    scenario, thresholds = folder / "new-pods.yaml", folder / "thresholds.yaml"
    scenario.write_text("deployment: {maxSurge: 1, maxUnavailable: 0, readiness: assigned}\n")
    thresholds.write_text("imbalance_partitions: 3\n")
    members = [row for row in FLEET if row["group_id"] in ("healthy", "more-members-than-partitions", "imbalance")]
    options = ("--scenario", str(scenario), "--thresholds", str(thresholds))
    return Audited(spark, folder / "fleet", *options, members=members)


@pytest.mark.scale
def test_a_rollout_that_deadlocks_is_found(with_files: Audited) -> None:
    """The findings have the name of the scenario."""
    assert "rollout-deadlock" not in with_files.kinds("healthy")
    assert "rollout-deadlock" in with_files.kinds("more-members-than-partitions")
    assert {row["scenario"] for row in with_files.findings if row["family"] == "rollouts"} == {"new-pods"}


@pytest.mark.scale
def test_under_a_higher_threshold_a_finding_is_gone(audited: Audited, with_files: Audited) -> None:
    assert "imbalance" in audited.kinds("imbalance")
    assert "imbalance" not in with_files.kinds("imbalance")


def test_a_mistake_in_thresholds_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "thresholds.yaml"
    file.write_text("imbalance_partition: 3\n")
    given = write_fleet(tmp_path, members=[])
    assert main(["audit", *given, "--thresholds", str(file), "--out", f"{tmp_path}/out"]) == 2
