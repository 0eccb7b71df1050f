"""Findings about one group, from the rows of its tables."""

from dataclasses import replace
from typing import Any

import pytest

from rebalance_sim.engine.audit.balance import IMBALANCE, loses_co_partitioning
from rebalance_sim.engine.audit.changes import assignor_setting, how_to_roll_out, is_possible
from rebalance_sim.engine.audit.elections import EAGER_DEFAULT
from rebalance_sim.engine.audit.group import COMMITS, TOPIC_OWNERS, Group, TopicFacts
from rebalance_sim.engine.audit.judgement import confidence_of
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.engine.audit.topic_keys import KeyFacts, TopicKeys
from rebalance_sim.kafka.clients import LIBRARIES
from rebalance_sim.kafka.group_kinds import as_configured, as_consumers_name_them
from rebalance_sim.tables import (
    BALANCE,
    COMPARISON,
    ELECTIONS,
    EXPIRING_OFFSETS,
    LAG_BALANCE,
    MEMBERS,
    OFFSETS,
    REJECTS,
)
from tests.engine.audit.test_audits import found, group_of

JAVAS_COOPERATIVE = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"


def with_members(*rows: dict[str, Any], group: Group | None = None) -> Group:
    """Return a group, by default a healthy one, whose members have these columns."""
    group = group or group_of()
    first = group.rows[MEMBERS.name][0]
    members = [{**first, "member_id": f"m{number}", **row} for number, row in enumerate(rows)]
    return replace(group, rows={**group.rows, MEMBERS.name: members, COMMITS: []})


def with_keys(
    partitions: dict[str, int], loads: TopicKeys | None = None, shared: dict[str, dict[str, float]] | None = None
) -> Group:
    """Return a group that reads topics a, b and c, whose records show this."""
    of_topics = {("c", topic): others for topic, others in (shared or {}).items()}
    facts = KeyFacts({}, {}, {}, loads or {}, {}, of_topics)
    topics = TopicFacts(partitions={("c", topic): count for topic, count in partitions.items()}, keys=facts)
    return replace(with_members({"subscription": ["a", "b", "c"]}), topics=topics)


def test_topics_with_an_unknown_number_of_partitions_are_not_compared() -> None:
    shared = {"a": {"b": 1.0, "c": 0.9}, "b": {"a": 1.0, "c": 0.9}, "c": {"a": 0.9, "b": 0.9}}
    finding = found(with_keys({"a": 6, "c": 9}, shared=shared), "keys")["not-co-partitioned"]
    assert (finding.names["topic"], finding.names["other"]) == ("a", "c")
    assert not found(with_keys({"a": 6}, shared=shared), "keys")
    assert not found(with_keys({}, shared=shared), "keys")


def test_a_small_topic_does_not_hide_a_hot_partition() -> None:
    """Its hottest partition is further above the mean, but has too few records to matter."""
    figures = {"partition": 1, "mean_records": 1.0, "p99_records": 1.0}
    small, large = {**figures, "times": 12.0, "records": 12}, {**figures, "times": 4.0, "records": 90_000}
    even = {**figures, "times": 1.5, "records": 900_000}
    loads = {("c", "a"): small, ("c", "b"): large, ("c", "c"): even}
    assert found(with_keys({}, loads), "keys")["hot-partition"].names == {"topic": "b"}
    assert not found(with_keys({}, {("c", "a"): small, ("c", "c"): even}), "keys")


@pytest.mark.parametrize(
    ("library", "release", "session_ms", "short_ms"),
    [
        (None, "2.8.0", None, 10_000),
        ("java", "2.8.0", None, 10_000),
        (None, "3.0.0", None, None),
        ("librdkafka", "2.8.0", None, None),
        ("java;librdkafka", "2.8.0", None, None),
        ("librdkafka", "2.8.0", 20_000, 20_000),
    ],
)
def test_only_java_has_the_default_session_of_its_release(
    library: str | None, release: str, session_ms: int | None, short_ms: int | None
) -> None:
    client = {"client_library": library, "client_version": release, "session_timeout_ms": session_ms}
    kinds = found(with_members({"instance_id": "i", **client}), "risks")
    short = kinds.get("session-shorter-than-restart")
    assert (short and short.figures["session_ms"]) == short_ms


GENERATIONS = {
    "generation": 140,
    "generation_at_ms": 3_000_000,
    "earlier_generation": 100,
    "earlier_generation_at_ms": 1_200_000,
}


@pytest.mark.parametrize("unknown", [None, *GENERATIONS])
def test_rebalances_are_counted_only_between_known_generations(unknown: str | None) -> None:
    generations = {name: None if name == unknown else value for name, value in GENERATIONS.items()}
    kinds = found(with_members(generations), "risks")
    assert ("rebalances-repeatedly" in kinds) == (unknown is None)


@pytest.mark.parametrize(("hours", "shown"), [(0, "0 hours"), (1, "1 hour"), (24, "24 hours")])
def test_the_time_until_offsets_expire_is_in_the_singular_or_plural(hours: int, shown: str) -> None:
    expiring = {"partitions": 1, "first_expires_at_ms": hours * 3_600_000}
    group = replace(group_of(), topics=TopicFacts(latest_commit_ms={"c": 0}))
    tables = {**group.rows, MEMBERS.name: [], EXPIRING_OFFSETS.name: [expiring], COMMITS: []}
    assert found(replace(group, rows=tables), "risks")["offsets-expire"].description == (
        f"no members, and 1 committed offset expires, the first {shown} after the latest commit of the cluster"
    )


def test_a_tie_of_a_consumer_protocol_group_is_one_of_preferences() -> None:
    """Its members have no lists, and uniform wins whatever the hash order."""
    group = with_members({"protocols": ["server-range"]}, {"protocols": ["server-uniform"]})
    (election,) = group.rows[ELECTIONS.name]
    votes = [("server-uniform", 1), ("server-range", 1)]
    tie = {"type": "consumer", "tie": True, "protocol": "server-uniform", "votes": votes, "leader_id": None}
    rows = {**group.rows, ELECTIONS.name: [{**election, **tie, "candidates": [name for name, _ in votes]}]}
    finding = found(replace(group, rows=rows), "elections")["election-tie"]
    assert finding.description == (
        "server-range and server-uniform are each preferred by 1 member: the coordinator uses server-uniform"
    )
    assert finding.recommendation == "Set the same group.remote.assignor in all members, in one rolling restart."


@pytest.mark.parametrize(
    ("protocols", "consequence"),
    [
        (("range", "range"), "fences all but the last to join (FENCED_INSTANCE_ID)"),
        (("server-uniform", "server-uniform"), "refuses all but the first to join (UNRELEASED_INSTANCE_ID)"),
        (("range", "server-uniform"), "fences all but the last to join (FENCED_INSTANCE_ID)"),
    ],
)
def test_what_a_shared_instance_id_leads_to_depends_on_the_protocol(
    protocols: tuple[str, str], consequence: str
) -> None:
    group = with_members(*({"instance_id": "pod", "protocols": [protocol]} for protocol in protocols))
    assert found(group, "risks")["shared-instance-id"].description == (
        f"1 member has the group.instance.id of another member, pod: the coordinator {consequence}"
    )


@pytest.mark.parametrize(
    ("used", "other"),
    [
        ({"join_order": 0, "rack": "b"}, {"join_order": 1, "rack": "a"}),
        ({"join_order": 0, "rack": "b"}, {"join_order": None, "rack": "a"}),
        ({"join_order": 1, "rack": "a"}, {"join_order": 1, "rack": "b"}),
        ({"join_order": None, "client_version": "3.9.0"}, {"join_order": None, "client_version": "4.1.0"}),
    ],
)
def test_of_a_repeated_member_the_row_is_used_that_is_predicted(used: dict[str, Any], other: dict[str, Any]) -> None:
    """Spark collects the rows of a group in any order."""
    rows = [{"member_id": "b", "join_order": 7}, *({"member_id": "a", **row} for row in (used, other))]
    for ordered in (rows, rows[::-1]):
        first, second = with_members(*ordered).members
        assert {name: first[name] for name in used} == used
        assert second["member_id"] == "b"


@pytest.mark.parametrize(
    ("libraries", "protocol", "assumed"),
    [
        (("java", "librdkafka"), "range", False),
        (("java", None), "range", True),
        (("java", "sarama;kafka-go"), "range", True),
        ((None, "sarama;kafka-go"), "server-uniform", False),
    ],
)
def test_libraries_of_classic_members_are_assumed_unless_one_is_given(
    libraries: tuple[str | None, ...], protocol: str, assumed: bool
) -> None:
    group = with_members(*({"client_library": library, "protocols": [protocol]} for library in libraries))
    assert group.assumes_libraries == assumed


def assigned(*members: dict[str, Any], balance: dict[str, Any], strategies: dict[str, dict[str, Any]]) -> Group:
    """Return a group with these members, a row of balance, and its figures under other strategies.

    The first member leads.
    """
    figures = {"members": len(members), "min": 1, "max": 1, "idle_members": 0, "unassigned": 0, "unconsumed": 0}
    today = {**dict.fromkeys(BALANCE.names), **figures, "partitions": 12, **balance}
    same = {"min": 1, "max": 1, "idle_members": 0, "moved": 0, "topic_spread": 0, "excess_max": 0}
    best = {"idle_members": 0, "balance_exact": True}
    comparison = {"optimum": best, "strategies": [(name, same | row) for name, row in strategies.items()]}
    group = with_members(*({"join_order": place, **row} for place, row in enumerate(members)))
    (election,) = group.rows[ELECTIONS.name]
    protocols = members[0]["protocols"]
    tables = {
        BALANCE.name: [today],
        COMPARISON.name: [comparison],
        ELECTIONS.name: [{**election, "leader_id": "m0", "protocol": protocols[0], "candidates": protocols}],
    }
    return replace(group, rows={**group.rows, **tables})


UNCONSUMED = {
    "strategy": "kafkajs-roundrobin",
    "partitions": 4,
    "unconsumed": 3,
    "unassigned": 2,
    "first_unconsumed": [
        {"topic": "ta", "partition": 0, "member_id": "m3"},
        {"topic": "tb", "partition": 0, "member_id": None},
        {"topic": "tb", "partition": 1, "member_id": None},
    ],
}
KAFKAJS = {"client_library": "kafkajs", "protocols": ["RoundRobinAssigner"]}


def test_partitions_that_nobody_consumes_are_an_error() -> None:
    """The group of https://github.com/tulios/kafkajs/issues/1679."""
    members = [{**KAFKAJS, "subscription": [topic]} for topic in ("ta", "tb", "ta", "tb")]
    group = assigned(*members, balance={**UNCONSUMED, "idle_members": 2}, strategies={})
    finding = found(group, "leaders")["partitions-not-consumed"]
    assert finding.kind.severity == "error"
    assert finding.description == (
        "3 of 4 partitions are not consumed: 2 (tb-0, tb-1) are assigned to no member, 1 (ta-0 to m3) is assigned to "
        "members without a subscription to the topic, which ignore it; the leader, m0, assigns only the topics to "
        "which it subscribes itself, to all members (kafkajs)"
    )
    assert finding.recommendation == (
        "Give the members of each subscription a group id of their own, let all members subscribe to the same topics, "
        "or change to a client library whose leader assigns the topics of all members."
    )
    assert finding.confidence is None
    assert "idle-members" not in found(group, "balance")


def test_of_many_partitions_that_nobody_consumes_the_first_are_named() -> None:
    counts = {"partitions": 100, "unconsumed": 70, "unassigned": 69}
    group = assigned(KAFKAJS, KAFKAJS, balance=UNCONSUMED | counts, strategies={})
    assert found(group, "leaders")["partitions-not-consumed"].description.startswith(
        "70 of 100 partitions are not consumed: 69 (tb-0, tb-1, ...) are assigned to no member, 1 (ta-0 to m3) is "
    )


def test_which_partitions_nobody_consumes_is_assumed_if_several_members_may_lead() -> None:
    group = assigned(*[{**KAFKAJS, "join_order": None}] * 2, balance=UNCONSUMED, strategies={})
    assert found(group, "leaders")["partitions-not-consumed"].confidence == "assumed"


def test_an_assignor_that_leaves_partitions_out_by_a_bug_is_to_be_replaced() -> None:
    members = [{"protocols": ["sticky"]}] * 2
    group = assigned(*members, balance={**UNCONSUMED, "strategy": "sticky"}, strategies={})
    finding = found(group, "leaders")["partitions-not-consumed"]
    assert "kafkajs" not in finding.description
    assert finding.recommendation == (
        "Let all members subscribe to the same topics, or change to another client library."
    )


def idle(library: str, protocols: list[str], strategies: dict[str, int], **member: Any) -> Group:
    """Return a group of two members, one of which is idle; ``strategies`` have the idle members under others."""
    members = [{"client_library": library, "protocols": protocols, **member}] * 2
    rows = {name: {"idle_members": count} for name, count in strategies.items()}
    today = {"strategy": f"{library}-range" if library else "range", "partitions": 2, "idle_members": 1}
    return assigned(*members, balance=today, strategies=rows)


@pytest.mark.parametrize(
    ("library", "setting", "protocols", "how"),
    [
        ("librdkafka", "partition.assignment.strategy", ["range", "roundrobin"],
         ": list it first in partition.assignment.strategy (roundrobin,range), in one rolling restart."),
        ("kafka-python", "partition_assignment_strategy", ["range", "roundrobin"],
         ": list it first in partition_assignment_strategy (RoundRobinPartitionAssignor,RangePartitionAssignor), in "
         "one rolling restart."),
        ("sarama", "Consumer.Group.Rebalance.GroupStrategies", ["range"],
         " (sarama.NewBalanceStrategyRoundRobin()), in two rolling restarts: the first adds it to "
         "Consumer.Group.Rebalance.GroupStrategies, the second removes the others."),
    ],
)  # fmt: skip
def test_idle_members_are_avoided_by_an_assignor_of_the_groups_library(
    library: str, setting: str, protocols: list[str], how: str
) -> None:
    """What Java's assignors of the same name do is no evidence. https://github.com/CAIDA/libbgpstream/pull/209."""
    group = idle(library, protocols, {"range": 1, "cooperative-sticky": 0, f"{library}-roundrobin": 0})
    finding = found(group, "balance")["idle-members"]
    assert finding.description == f"1 member is idle under {library}-range, 0 under {library}-roundrobin"
    assert finding.recommendation == f"Use roundrobin{how}"
    listed = ["roundrobin", *(["range"] if "roundrobin" in protocols else [])]
    assert finding.settings == {setting: ",".join(map(LIBRARIES[library].configured, listed))}
    assert finding.saving == {"idle_members_saved": 1}


def test_an_assignor_that_all_members_offer_is_preferred() -> None:
    """The defaults of librdkafka, whose cooperative-sticky cannot be listed with them."""
    strategies = {"librdkafka-cooperative-sticky": 0, "librdkafka-roundrobin": 0, "librdkafka-range": 1}
    finding = found(idle("librdkafka", ["range", "roundrobin"], strategies), "balance")["idle-members"]
    assert finding.names["better"] == "librdkafka-roundrobin"


def test_idle_members_are_found_if_no_assignor_of_the_library_helps() -> None:
    """kafka-go deals out every topic on its own (https://github.com/segmentio/kafka-go/issues/1394)."""
    strategies = {"range": 1, "roundrobin": 0, "kafka-go-range": 1, "kafka-go-roundrobin": 1}
    finding = found(idle("kafka-go", ["range", "roundrobin"], strategies), "balance")["idle-members"]
    assert finding.description == (
        "1 member is idle under kafka-go-range, although 2 partitions are enough for 2 members"
    )
    assert finding.recommendation == (
        "No assignor of kafka-go whose assignment can be predicted helps. Give each topic at least as many partitions "
        "as it has subscribers, or change to a client library whose assignors divide the partitions of all topics "
        "together."
    )
    assert (finding.kind.severity, finding.settings) == ("warning", {})


@pytest.mark.parametrize("libraries", [("librdkafka", "sarama"), ("kafka-go;platformatic-kafka",) * 2])
def test_several_libraries_have_no_assignor_in_common(libraries: tuple[str, str]) -> None:
    members = [{"client_library": library, "protocols": ["range", "roundrobin"]} for library in libraries]
    today = {"strategy": f"{libraries[0]}-range", "partitions": 2, "idle_members": 1}
    group = assigned(*members, balance=today, strategies={"roundrobin": {}, "librdkafka-roundrobin": {}})
    finding = found(group, "balance")["idle-members"]
    assert finding.recommendation is not None
    assert finding.recommendation.startswith(
        "The members use, or may use, several client libraries, each of which assigns by rules of its own. Give each "
    )
    assert finding.settings == {}


def test_idle_members_are_not_found_if_fewer_are_not_certain_to_be_possible() -> None:
    group = idle("kafka-go", ["range"], {})
    comparison = {"optimum": {"idle_members": 0, "balance_exact": False}, "strategies": []}
    bounded = replace(group, rows={**group.rows, COMPARISON.name: [comparison]})
    assert "idle-members" not in found(bounded, "balance")


WHOLE = {
    "strategy": "cooperative-sticky",
    "min": 6,
    "max": 6,
    "whole_topics": [
        {"topic": topic, "partitions": 6, "subscribers": 2, "member_id": member}
        for topic, member in (("cold", "m0"), ("hot", "m1"))
    ],
}

UPGRADE = (
    "Upgrade the Java clients to 3.7.1 or newer and keep cooperative-sticky: a member that has to revoke partitions "
    "then revokes some of every topic instead of whole topics (KAFKA-16277)."
)


def whole(release: str | None, today: dict[str, Any] | None = None, **member: Any) -> Group:
    """Return a group of two members that have a topic each."""
    shared = {"client_version": release, "protocols": ["cooperative-sticky"], "subscription": ["cold", "hot"]}
    strategies = {
        "range": {"max": 6, "topic_spread": 0, "moved": 6},
        "roundrobin": {"max": 6, "topic_spread": 6, "moved": 0},
        "cooperative-sticky": {"max": 6, "topic_spread": 6},
    }
    return assigned(*[{**shared, **member}] * 2, balance={**WHOLE, **(today or {})}, strategies=strategies)


def test_topics_on_one_member_are_found_and_the_release_that_divides_them() -> None:
    """KAFKA-16277, without offsets."""
    finding = found(whole("3.6.0"), "balance")["topic-on-one-member"]
    assert finding.description == (
        "one member has all partitions of a topic under cooperative-sticky, although others subscribe to it: cold (6 "
        "partitions on m0), hot (6 partitions on m1)"
    )
    assert finding.recommendation == (
        f"{UPGRADE} Without an upgrade, range divides topics, but loses incremental rebalancing."
    )
    assert (finding.settings, finding.confidence) == ({}, None)
    assert found(whole(None), "balance").keys() == found(whole("3.7.1"), "balance").keys() == {"topic-on-one-member"}


@pytest.mark.parametrize("member", [{"client_version": "3.7.1"}, {"client_version": "3.8.0"}])
def test_a_release_that_has_the_fix_is_not_upgraded(member: dict[str, Any]) -> None:
    finding = found(whole(None, **member), "balance")["topic-on-one-member"]
    assert finding.recommendation == (
        "Use range (org.apache.kafka.clients.consumer.RangeAssignor), in two rolling restarts: the first adds it to "
        "partition.assignment.strategy, the second removes the others. 6 partitions move once. The change loses "
        "incremental rebalancing: members revoke all their "
        "partitions in every rebalance."
    )
    assert finding.settings == {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor"}


@pytest.mark.parametrize(
    ("partitions", "total", "is_found"),
    [
        (6, 12, True),
        # Few partitions per subscriber.
        (3, 6, False),
        # More topics than members: the topic is a small part of what a member has.
        (6, 60, False),
    ],
)
def test_small_topics_may_lie_on_one_member(partitions: int, total: int, is_found: bool) -> None:
    topics = [{**row, "partitions": partitions} for row in WHOLE["whole_topics"]]  # type: ignore[attr-defined]
    group = whole("3.6.0", {"whole_topics": topics, "partitions": total})
    assert ("topic-on-one-member" in found(group, "balance")) == is_found


def test_a_topic_that_no_assignor_divides_without_more_load_is_not_found() -> None:
    """Others subscribe to it, but have as many partitions of their own topics."""
    assert "topic-on-one-member" not in found(whole("3.8.0", {"max": 5}), "balance")
    assert "topic-on-one-member" not in found(whole("3.8.0", {"whole_topics": None}), "balance")


def test_lag_on_one_member_names_the_release_that_divides_its_topic() -> None:
    group = whole("3.6.0")
    rows = [
        {**dict.fromkeys(LAG_BALANCE.names, 0), "strategy": strategy, "lag": 300_006, "max_lag": max_lag}
        for strategy, max_lag in (("cooperative-sticky", 300_000), ("range", 150_003))
    ]
    finding = found(replace(group, rows={**group.rows, LAG_BALANCE.name: rows}), "balance")["lag-on-one-member"]
    assert finding.recommendation == (
        f"{UPGRADE} Or use range (org.apache.kafka.clients.consumer.RangeAssignor), in two rolling restarts: the first "
        "adds it to partition.assignment.strategy, the second removes the others. 6 partitions move once. The change "
        "loses incremental rebalancing: members revoke all their partitions in every rebalance."
    )


@pytest.mark.parametrize(
    ("library", "release", "offered", "assignor", "reason"),
    [
        ("sarama", "1.36.0", "range", "roundrobin", "Consumer.Group.Rebalance.Strategy takes a single assignor"),
        ("sarama", "1.61.1", "range", "roundrobin", None),
        ("kafka-python", "3.0.12", "cooperative-sticky", "range",
         "kafka-python does not list eager and cooperative assignors together"),
        # It refuses such a list: online migration between different protocol types is not supported.
        ("librdkafka", None, "cooperative-sticky", "range",
         "librdkafka does not list eager and cooperative assignors together"),
        ("franz-go", "1.22.2", "cooperative-sticky", "range",
         "a cooperative group of franz-go cannot return to an eager assignor"),
        ("franz-go", "1.22.2", "range", "cooperative-sticky", None),
    ],
)  # fmt: skip
def test_all_members_stop_where_no_rolling_restart_changes_the_assignor(
    library: str, release: str | None, offered: str, assignor: str, reason: str | None
) -> None:
    group = with_members({"client_library": library, "client_version": release, "protocols": [offered]})
    how = how_to_roll_out(group, assignor)
    stopped = f": stop all members, and start them with it as the only assignor in {assignor_setting(group)}, because "
    assert how.startswith(stopped if reason else ", in two rolling restarts")
    assert reason is None or how.endswith(f" because {reason}; nothing is consumed meanwhile")


def test_tasks_of_a_connector_restart_with_its_configuration_and_share_it() -> None:
    group = with_members({"client_id": "connector-consumer-s3-0"}, {"client_id": "connector-consumer-s3-1"})
    assert how_to_roll_out(group, "sticky") == (
        ", in two changes of the connector's configuration, each of which restarts its tasks: the first adds it to "
        "partition.assignment.strategy, the second removes the others"
    )
    assert not is_possible(group, "group.instance.id", "one per consumer", Thresholds())


@pytest.mark.parametrize(
    ("library", "release", "assignor", "possible"),
    [
        ("sarama", "1.43.0", "cooperative-sticky", False),
        ("sarama", "1.60.1", "cooperative-sticky", True),
        ("kafka-python", "2.3.0", "cooperative-sticky", False),
        ("librdkafka", None, "cooperative-sticky", True),
    ],
)
def test_an_assignor_is_recommended_to_releases_that_have_it(
    library: str, release: str | None, assignor: str, possible: bool
) -> None:
    group = with_members({"client_library": library, "client_version": release})
    assert is_possible(group, "partition.assignment.strategy", assignor, Thresholds()) == possible


@pytest.mark.parametrize(("client_id", "prefix"), [("connector-consumer-s3-0", "consumer.override."), ("s3-0", "")])
def test_the_settings_of_a_sink_connector_have_a_prefix(client_id: str, prefix: str) -> None:
    """Connect starts its consumers, with settings from the connector's configuration (KIP-458)."""
    group = with_members({"protocols": ["range", "cooperative-sticky"], "client_id": client_id})
    settings = found(group, "elections")["eager-by-default"].settings
    configured = as_configured(group.kind.kind, settings)
    assert configured == {f"{prefix}partition.assignment.strategy": JAVAS_COOPERATIVE}
    assert as_consumers_name_them(group.kind.kind, configured) == settings


JAVAS = {"client_library": "java", "protocols": ["range"]}


@pytest.mark.parametrize(
    ("assumed", "elections", "balance"),
    [
        (None, "certain", "certain"),
        ("elected protocol", "assumed", "certain"),
        ("library default, consistent with the elected protocol", "assumed", "certain"),
        ("library default", "assumed", "assumed"),
        ("option protocols", "assumed", "assumed"),
    ],
)
def test_assumed_protocols_lower_the_confidence_of_what_rests_on_them(
    assumed: str | None, elections: str, balance: str
) -> None:
    """An assumed list says nothing of votes, but the assignor is known if the group's protocol is."""
    group = with_members(JAVAS, {**JAVAS, "protocols_assumed": assumed})
    assert confidence_of(group, "elections", EAGER_DEFAULT) == elections
    assert confidence_of(group, "balance", IMBALANCE) == balance
    assert confidence_of(group, "risks", EAGER_DEFAULT) == "certain"


def test_members_are_counted_by_workload_and_host() -> None:
    """A member whose names show no replica, or whose address is unknown, is not counted as one."""
    pods = [{"client_id": f"shop-6d4f9c7b8d-{pod}", "host": "/10.0.0.1"} for pod in ("x2x4z", "bb5wq")]
    static = {"client_id": "app", "instance_id": "till-3", "host": "/10.0.0.2"}
    group = with_members(*pods, static, {"client_id": "app", "host": "/10.0.0.2"})
    assert (group.workloads, group.hosts) == ({"shop": 2, "till": 1}, 2)
    assert with_members(*pods, {"host": None}).hosts is None


def without_election(**rows: list[dict[str, Any]]) -> Group:
    """Return a group without a usable member, with rows of other tables."""
    group = group_of()
    return replace(group, rows={**group.rows, MEMBERS.name: [], ELECTIONS.name: [], **rows})


def rejected(table: str, rows: int = 2, reason: str = "#PARTITIONS is 'two', not a number") -> dict[str, Any]:
    return {"table": table, "rows": rows, "reason": reason}


WITH_OFFSETS: dict[str, Any] = {OFFSETS.name: [{"partitions": 4}]}
EXPIRES: dict[str, Any] = {EXPIRING_OFFSETS.name: [{"partitions": 4, "first_expires_at_ms": None}]}


@pytest.mark.parametrize(
    ("tables", "rows", "kind"),
    [
        (("members",), WITH_OFFSETS | EXPIRES, "group-unread"),
        (("members", "state"), {}, "group-unread"),
        (("state",), {}, "group-unread"),
        (("offsets_topic",), WITH_OFFSETS, "group-unread"),
        (("groups",), WITH_OFFSETS | EXPIRES, "group-unread"),
        (("state",), WITH_OFFSETS | EXPIRES, "no-members"),
        ((), WITH_OFFSETS | EXPIRES, "no-members"),
        ((), WITH_OFFSETS, "no-members"),
    ],
)
def test_a_group_whose_members_were_rejected_is_unknown(
    tables: tuple[str, ...], rows: dict[str, Any], kind: str
) -> None:
    """It is neither a group without members, nor one that can migrate."""
    group = without_election(**rows, **{REJECTS.name: [rejected(table) for table in tables]})
    assert found(group, "risks").keys() == {kind}
    assert found(group, "migration").keys() == set()
    is_unknown = kind == "group-unread"
    assert group.migration.verdict == "unknown"
    assert group.accepted == (None if is_unknown else 0)
    assert group.kind.kind == ("unknown" if is_unknown else "offsets-only")


def test_an_unknown_group_is_described_by_a_row_of_a_member() -> None:
    rejects = [rejected("groups", reason="TYPE is '?'"), rejected("members", 3)]
    finding = found(without_election(**{REJECTS.name: rejects}), "risks")["group-unread"]
    assert finding.description == (
        "the group is unknown, because all its members were rejected (3 rows), such as: #PARTITIONS is 'two', not a "
        "number"
    )
    assert (finding.figures, finding.confidence) == ({"rows": 3}, "certain")
    unseen = found(without_election(**{REJECTS.name: rejects[:1]}), "risks")["group-unread"]
    assert unseen.description == (
        "the group is unknown: no usable row shows its members, and others were rejected, such as: TYPE is '?'"
    )


def test_a_group_that_lost_some_members_is_not_unknown() -> None:
    group = group_of()
    group = replace(group, rows={**group.rows, REJECTS.name: [rejected("members", 1)]})
    assert (group.is_unread, group.rejected, group.accepted) == (False, 1, 2)
    assert "rejected-rows" in found(group, "risks")


@pytest.mark.parametrize(("after", "is_lost"), [(0, True), (3, True), (4, False), (5, False)])
def test_a_change_that_loses_co_partitioning_says_so(after: int, is_lost: bool) -> None:
    today = {"strategy": "range", "max": 4, "co_partitioned_topics": 4}
    members = [{"protocols": ["range"], "client_version": "4.1.0"}] * 2
    rows = {name: {"co_partitioned_topics": after} for name in ("cooperative-sticky", "roundrobin")}
    group = assigned(*members, balance=today, strategies=rows)
    sentence = loses_co_partitioning(group, {"partition.assignment.strategy": JAVAS_COOPERATIVE})
    assert bool(sentence) == is_lost
    if is_lost:
        assert sentence.startswith(
            f" The change loses co-partitioning: 4 topics are co-partitioned under range, {after} afterwards."
        )
    assert not loses_co_partitioning(group, {"session.timeout.ms": "60000"})


def test_nothing_is_lost_to_an_assignor_that_the_group_cannot_use() -> None:
    rows = {"cooperative-sticky": {"co_partitioned_topics": 0}}
    group = assigned(
        {"protocols": ["range"], "client_library": "sarama"},
        balance={"strategy": "sarama-range", "max": 4, "co_partitioned_topics": 4},
        strategies=rows,
    )
    assert not loses_co_partitioning(group, {"partition.assignment.strategy": JAVAS_COOPERATIVE})


ON_ONE_HOST = {"topic": "t", "host": "a", "owners": 2, "partitions": 4}


@pytest.mark.parametrize(
    ("hosts", "partitions", "is_found"),
    [
        (["a", "a", "b", "b"], 4, True),
        (["a", "a", "b", "b"], 3, False),
        (["a", "a", None, ""], 4, False),
        (["a", "a"], 4, False),
    ],
)
def test_topics_on_one_host(hosts: list[str | None], partitions: int, is_found: bool) -> None:
    group = with_members(*({"host": host} for host in hosts))
    group = replace(group, rows={**group.rows, TOPIC_OWNERS: [ON_ONE_HOST | {"partitions": partitions}]})
    finding = found(group, "balance").get("topic-on-one-host")
    assert (finding is not None) == is_found
    if finding is not None:
        assert finding.description == (
            "the members on one host own all partitions of a topic, although members on other hosts subscribe to it: t "
            "(4 partitions on a); no assignor takes hosts into account"
        )


def test_members_elsewhere_that_do_not_subscribe_do_not_count() -> None:
    members: list[dict[str, Any]] = [{"host": "a"}, {"host": "a"}, {"host": "b", "subscription": ["other"]}]
    group = with_members(*members)
    group = replace(group, rows={**group.rows, TOPIC_OWNERS: [ON_ONE_HOST]})
    assert "topic-on-one-host" not in found(group, "balance")
