"""Findings about one group, from the rows of its tables."""

from dataclasses import replace
from typing import Any

import pytest

from rebalance_sim.engine.audit.group import COMMITS, Group, TopicFacts
from rebalance_sim.engine.audit.topic_keys import KeyFacts, TopicKeys
from rebalance_sim.tables import ELECTIONS, EXPIRING_OFFSETS, MEMBERS
from tests.engine.audit.test_audits import found, group_of


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
    assert finding.names == {"topic": "a", "other": "c"}
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
    assert finding.recommendation == "Set the same group.remote.assignor in all members."


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
