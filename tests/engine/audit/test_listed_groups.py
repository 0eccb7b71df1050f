"""Groups that the cluster lists, of which rows of members mostly show no member."""

from dataclasses import replace
from typing import Any

import pytest

from rebalance_sim.engine.audit.group import Group, TopicFacts
from rebalance_sim.engine.audit.judgement import FAMILIES
from rebalance_sim.engine.audit.settings_in_use import settings_in_use
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.kafka.brokers import Brokers
from rebalance_sim.tables import (
    BALANCE,
    ELECTIONS,
    EXPIRING_OFFSETS,
    LISTED_GROUPS,
    MEMBERS,
    OFFSETS,
    OUTPUTS,
    REJECTS,
    TOPIC_LAG,
)
from tests.engine.audit.test_audits import SEEN

LAG = "lag-without-assignment"


def listed(columns: dict[str, Any] | None, **rows: Any) -> Group:
    """Return a group that is listed with these columns, with rows of some other tables."""
    named: dict[str, Any] = dict.fromkeys((*OUTPUTS, MEMBERS.name, OFFSETS.name, *SEEN), ())
    shown = [] if columns is None else [{**dict.fromkeys(("type", "protocol_type", "state", "members")), **columns}]
    tables = {**named, LISTED_GROUPS.name: shown, **{name: [of] for name, of in rows.items()}}
    return Group("c", "g", tables, Brokers(), TopicFacts())


def kinds(group: Group) -> set[str]:
    """Return the kinds of all findings about risks and leaders."""
    families = (FAMILIES["risks"], FAMILIES["leaders"])
    return {found.kind.name for family in families for found in family.findings(group, Thresholds())}


WITH_OFFSETS = {OFFSETS.name: {"partitions": 2}, EXPIRING_OFFSETS.name: {"partitions": 2, "first_expires_at_ms": None}}
CASES: dict[str, tuple[Group, str, set[str], int | None]] = {
    "share": (listed({"type": "share"}), "share", {"other-kind-of-group"}, None),
    "share, without members": (
        listed({"type": "share", "state": "Empty", "members": 0}),
        "share",
        {"other-kind-of-group"},
        0,
    ),
    "share, with a line that cannot be read": (
        listed({"type": "share"}, rejects={"table": "groups", "rows": 1, "reason": "x"}),
        "share",
        {"other-kind-of-group"},
        None,
    ),
    "streams, with offsets": (listed({"type": "streams"}, **WITH_OFFSETS), "streams", {"other-kind-of-group"}, None),
    "streams, by its protocol type": (
        listed({"protocol_type": "streams", "members": 3}),
        "streams",
        {"other-kind-of-group"},
        3,
    ),
    "Connect": (listed({"type": "classic", "protocol_type": "connect"}), "connect", {"other-kind-of-group"}, None),
    "a type of the future": (listed({"type": "mesh"}), "unknown", {"group-not-described"}, None),
    "consumers": (listed({"type": "consumer"}), "unknown", {"group-not-described"}, None),
    "consumers, with members": (
        listed({"type": "classic", "state": "Stable", "members": 2}),
        "unknown",
        {"group-not-described"},
        2,
    ),
    "consumers with offsets, stable": (
        listed({"type": "classic", "state": "Stable"}, **WITH_OFFSETS),
        "unknown",
        {"group-not-described"},
        None,
    ),
    "consumers with offsets": (listed({"type": "classic"}, **WITH_OFFSETS), "offsets-only", {"no-members"}, 0),
    "consumers without members": (listed({"state": "Empty"}), "offsets-only", {"no-members"}, 0),
    "not listed, with offsets": (listed(None, **WITH_OFFSETS), "offsets-only", {"no-members"}, 0),
}


@pytest.mark.parametrize(("group", "kind", "findings", "members"), CASES.values(), ids=CASES)
def test_what_is_said_of_groups_without_rows_of_members(
    group: Group, kind: str, findings: set[str], members: int | None
) -> None:
    assert (group.kind.kind, group.accepted) == (kind, members)
    assert group.kind.evidence
    assert kinds(group) == findings
    unknown = kind in ("unknown", "offsets-only")
    assert group.migration.verdict == ("unknown" if unknown else "no")


def test_the_evidence_of_a_group_without_members_and_offsets_names_no_offsets() -> None:
    assert listed({"state": "Empty"}).kind.evidence == "no members"
    assert listed({"state": "Empty"}, **WITH_OFFSETS).kind.evidence == "offsets without members"


def test_a_rejected_group_stays_unread_if_its_type_is_that_of_consumers() -> None:
    assert kinds(listed({"type": "classic"}, **{REJECTS.name: {"table": "members", "rows": 1, "reason": "x"}})) == {
        "group-unread"
    }


LAG_OF_TOPICS = [
    {"topic": "b", "lag_partitions": 2, "unknown_partitions": 0, "lag": 900, "max_partition_lag": 700}
    | {"max_lag_partition": 1, "max_lag_committed_at_ms": None, "negative_partitions": 0},
    {"topic": "a", "lag_partitions": 1, "unknown_partitions": 2, "lag": 700, "max_partition_lag": 700}
    | {"max_lag_partition": 3, "max_lag_committed_at_ms": None, "negative_partitions": 0},
    {"topic": "c", "lag_partitions": 0, "unknown_partitions": 1, "lag": None, "max_partition_lag": None}
    | {"max_lag_partition": None, "max_lag_committed_at_ms": None, "negative_partitions": 0},
]


def lagging(group: Group, rows: list[dict[str, Any]]) -> Group:
    return replace(group, rows={**group.rows, TOPIC_LAG.name: rows})


@pytest.mark.parametrize("columns", [None, {"type": "streams"}, {"type": "classic", "state": "Stable"}])
def test_lag_is_judged_without_an_assignment(columns: dict[str, Any] | None) -> None:
    group = lagging(listed(columns, **WITH_OFFSETS), LAG_OF_TOPICS)
    assert group.total_lag == 1600
    (found,) = [each for each in FAMILIES["risks"].findings(group, Thresholds()) if each.kind.name == LAG]
    assert found.description == (
        "1,600 records of lag in 3 partitions of 2 topics, whose owners are not predicted: at most 700 in one "
        "partition (a-3); the lag of 3 partitions is unknown"
    )
    assert LAG not in {each.kind.name for each in FAMILIES["risks"].findings(group, Thresholds(lag_records=1601))}


def test_lag_is_judged_without_a_prediction_whatever_the_members() -> None:
    """A group of Kafka Streams, one whose assignor fails, and one whose members were rejected."""
    streams = {
        "member_id": "a",
        "protocols": ["stream"],
        "protocol_type": "consumer",
        "client_id": "",
        "subscription": [],
    }
    member = dict.fromkeys(MEMBERS.names) | streams
    failing = lagging(listed(None, members=member, balance={"error": "it fails", "bounds": None}), LAG_OF_TOPICS)
    unread = lagging(listed(None, rejects={"table": "members", "rows": 1, "reason": "x"}), LAG_OF_TOPICS)
    for group in (failing, unread):
        assert LAG in {each.kind.name for each in FAMILIES["risks"].findings(group, Thresholds())}


def test_lag_of_a_predicted_group_is_judged_by_its_members() -> None:
    group = lagging(listed(None, **WITH_OFFSETS, balance={"error": None}), LAG_OF_TOPICS)
    assert LAG not in {each.kind.name for each in FAMILIES["risks"].findings(group, Thresholds())}


def test_advice_about_lag_is_for_the_kind_of_group() -> None:
    """Nothing is said to be stopped whose members could not be read, or that has none while it runs."""

    def advice(group: Group) -> str | None:
        found = FAMILIES["risks"].findings(
            lagging(group, LAG_OF_TOPICS), Thresholds(large_lag_records=700, lag_share=0.9)
        )
        return next(each.recommendation for each in found if each.kind.name == "large-lag")

    streams = {"member_id": "a", "protocols": ["stream"], "client_id": "x-StreamThread-1-consumer", "subscription": []}
    assert "stream threads" in (advice(listed(None, members=dict.fromkeys(MEMBERS.names) | streams)) or "")
    assert "could not read" in (advice(listed(None, rejects={"table": "members", "rows": 1, "reason": "x"})) or "")
    assert "could not read" in (advice(listed({"type": "classic", "state": "Stable"}, **WITH_OFFSETS)) or "")
    assert "If a job that assigns partitions itself" in (advice(listed(None, **WITH_OFFSETS)) or "")


def test_advice_about_offsets_above_the_log_end_is_for_the_kind_of_group() -> None:
    """A job of Flink continues at the offsets of its checkpoint, whatever is committed."""
    above = [LAG_OF_TOPICS[0] | {"negative_partitions": 1, "max_negative": 9, "max_negative_partition": 0}]

    def advice(group: Group) -> str:
        found = FAMILIES["risks"].findings(lagging(group, above), Thresholds())
        return next(each.recommendation or "" for each in found if each.kind.name == "offset-above-log-end")

    assert "--reset-offsets" in advice(listed(None, **WITH_OFFSETS))
    flink = replace(listed(None, **WITH_OFFSETS), group_id="flink-totals")
    assert advice(flink) == "Check at which offsets the job continues: it stores them itself."


def test_the_lag_of_a_group_is_zero_or_unknown() -> None:
    assert listed(None, **WITH_OFFSETS).total_lag == 0
    assert listed(None).total_lag is None
    assert lagging(listed(None, **WITH_OFFSETS), LAG_OF_TOPICS[2:]).total_lag is None


def test_a_share_group_with_members_has_a_note_that_only_its_assignment_is_predicted() -> None:
    """It has neither settings of the classic protocol in use, nor a migration."""
    member = dict.fromkeys(MEMBERS.names) | {"member_id": "w1", "protocol_type": "share"}
    elected = {"type": "share", "members": 1, "protocol": "share-simple", "leader_id": None, "refused": None}
    tables = {
        MEMBERS.name: member | {"protocols": ["share-simple"], "subscription": ["jobs"]},
        ELECTIONS.name: elected,
        BALANCE.name: {"error": None, "partitions": 4, "unconsumed": 0, "alternatives": None, "bounds": None},
    }
    group = listed({"type": "share"}, **tables)
    families = (FAMILIES["risks"], FAMILIES["leaders"], FAMILIES["migration"], FAMILIES["keys"])
    (found,) = [each for family in families for each in family.findings(group, Thresholds())]
    assert found.kind.name == "other-kind-of-group"
    assert found.description.endswith("its assignment is predicted, but neither its lag nor its rollouts")
    assert (group.type, group.kind.kind, group.migration.verdict) == ("share", "share", "no")
    assert settings_in_use(group).keys().isdisjoint({"group.protocol", "partition.assignment.strategy"})
