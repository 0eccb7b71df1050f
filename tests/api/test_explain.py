"""Explanations of one group, one partition and one key agree with the predictions."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from pyspark.sql import DataFrame, SparkSession

import rebalance_sim
from rebalance_sim import UserError, explain_assignment, explain_election, explain_key, group, topics_table
from rebalance_sim.api.explain.assignment import OUTPUTS, AssignmentExplanation
from rebalance_sim.api.explain.assignment import explain_assignment as explain_partition
from rebalance_sim.api.explain.election import ElectionExplanation
from rebalance_sim.api.explain.election import explain_election as explain_vote
from rebalance_sim.api.groups import last_assignments
from rebalance_sim.engine.groups.prediction import ELECTED, Prediction
from rebalance_sim.engine.tables.arrow import arrow_type
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.tables import MEMBERS, TOPICS
from tests.support.batches import elect_all
from tests.support.examples import examples
from tests.support.keys import partitions_of
from tests.support.model import VERSIONS, Group, Joiner
from tests.support.strategies import elections, groups


def nested(rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
    """Nest a group's members as Spark does."""
    kind = pa.list_(
        pa.struct([field for field in arrow_type(MEMBERS.schema) if field.name not in ("cluster", "group_id")])
    )
    columns = [pa.array(["default"]), pa.array(["g"]), pa.array([rows], kind), pa.array([0])]
    return pa.RecordBatch.from_arrays(columns, names=["cluster", "group_id", "members", "rejected_members"])


def voters(joiners: Sequence[Joiner]) -> pa.RecordBatch:
    rows = [
        {
            "member_id": each.member_id,
            "join_order": place,
            "protocols": each.protocols,
            "protocol_type": each.protocol_type,
        }
        for place, each in enumerate(joiners)
    ]
    return nested(rows)


@pytest.mark.parametrize("version", VERSIONS)
@examples(25)
@given(elections())
def test_votes_are_counted_in_the_coordinators_order(version: str, batch: list[tuple[Joiner, ...]]) -> None:
    """The explanation is that of the election, and the first protocol with the most votes wins."""
    for joiners, election in zip(batch, elect_all(version, batch), strict=True):
        able = [each for each in joiners if each.protocols]
        if not election.admitted:
            continue
        explained = explain_vote(voters(able), Clusters(Brokers(version)))
        counted = {each.protocol: each.votes for each in explained.counted}
        assert counted == {protocol: votes for protocol, votes in election.votes.items() if votes}
        assert explained.protocol == election.protocol == max(counted, key=counted.__getitem__)
        assert explained.leader_id == election.admitted[0]
        assert [each.member_id for each in explained.ballots] == list(election.admitted)
        assert set(explained.refused) == {each.member_id for each in able} - set(election.admitted)
        assert set(explained.candidates) == set(election.votes)
        for each in explained.ballots:
            before = each.protocols[: each.protocols.index(each.vote or "")]
            assert all(name in explained.lacking for name in before)
        buckets = [each.bucket for each in explained.counted if each.bucket is not None]
        assert buckets == sorted(buckets, reverse=version in ("1.0", "2.3"))
        assert ("a tie" in repr(explained)) is explained.tie


def test_a_tie_is_explained(spark: SparkSession) -> None:
    members = group(
        {"c1": {"protocols": ["range", "roundrobin"]}, "c2": {"protocols": ["own", "roundrobin", "range"]}},
        subscription=["orders"],
    )
    assert repr(explain_election(members, "2.3")).splitlines() == [
        "group 'group' elects range (Kafka 2.3)",
        "  candidates, supported by all members: range, roundrobin",
        "  not a candidate: own, not supported by c1",
        "  each member votes for the first candidate in its list",
        "    c1: range (supports range, roundrobin)",
        "    c2: roundrobin (supports own, roundrobin, range)",
        "  votes: range 1, roundrobin 1: a tie, decided by hash order",
        "  order in Scala 2.11's maps, highest bucket first: range (bucket 15), roundrobin (bucket 9)",
        "  leader: c1, the first member to join",
    ]
    assert explain_election(members, "3.9").protocol == "roundrobin"


def test_a_consumer_protocol_group_has_no_election(spark: SparkSession) -> None:
    explained = vote_of(
        spark,
        a={"protocols": ["server-uniform"]},
        b={"protocols": ["server-range"]},
        c={"protocols": ["range"]},
        d={"protocols": ["range"], "protocol_type": "connect"},
    )
    assert (explained.protocol, explained.leader_id, explained.tie) == ("server-uniform", None, True)
    assert [each.vote for each in explained.ballots] == ["server-uniform", "server-range", None]
    assert explained.refused == {"d": "INCONSISTENT_GROUP_PROTOCOL"}
    assert "preferred by most: server-uniform 1, server-range 1: a tie, which uniform wins" in repr(explained)


def vote_of(spark: SparkSession, **members: dict[str, Any]) -> ElectionExplanation:
    return explain_election(group(members, subscription=["t"]))


def prediction(strategy: str, version: str, given: Group) -> Prediction:
    cluster = given.cluster
    rows = [
        {"cluster": "default", "topic": topic, "partitions": count, "racks": cluster.racks.get(topic)}
        for topic, count in cluster.partitions.items()
    ]
    metadata = TopicMetadata(pa.Table.from_pylist(rows, pa.schema(arrow_type(TOPICS.schema))))
    return Prediction(OUTPUTS, Clusters(Brokers(version)), (strategy,), metadata)


def leaders_view(given: Group) -> pa.RecordBatch:
    owned = [[{"topic": of.topic, "partition": of.number} for of in member.owned] for member in given.members]
    rows = [
        {
            "member_id": each.member_id,
            "join_order": place,
            "instance_id": each.instance_id,
            "rack": each.rack,
            "subscription": each.topics,
            "protocols": ["range"],
            "owned": has,
            "generation": each.generation,
        }
        for place, (each, has) in enumerate(zip(given.members, owned, strict=True))
    ]
    return nested(rows)


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
@examples(20)
@given(groups())
def test_explanations_hold_for_random_groups(strategy: str, batch: list[Group]) -> None:
    """Skipped members, previous owners and possible owners agree with what members report."""
    for each in batch[:2]:
        predict, members = prediction(strategy, "4.3", each), leaders_view(each)
        wanted = {topic for member in each.members for topic in member.topics}
        for topic in sorted(wanted & each.cluster.partitions.keys())[:2]:
            for partition in range(min(each.cluster.partitions[topic], 3)):
                explained = explain_partition(members, predict, topic, partition)
                topics_of = {member.member_id: member.topics for member in each.members}
                assert set(explained.subscribers) == {name for name, topics in topics_of.items() if topic in topics}
                check_reasons(explained, topics_of, matches_racks=bool(each.cluster.racks))


def check_reasons(explained: AssignmentExplanation, topics_of: dict[str, tuple[str, ...]], matches_racks: bool) -> None:
    if explained.strategy == "roundrobin":
        skipped = explained.reasons[1].partition("; not subscribed to ")[2].partition(": ")[2].partition("; next")[0]
        assert all(explained.topic not in topics_of[name] for name in skipped.split(", ") if name in topics_of)
    if explained.strategy == "range" and not matches_racks:
        assert explained.reasons[0].startswith("range divides")


MEMBERS_OF_ORDERS = {
    "c1": {"owned": {"orders": [0, 1, 2, 3]}, "generation": 4},
    "c2": {"owned": {"orders": [4, 5, 6]}, "generation": 4},
    "c3": {},
}


@pytest.fixture(scope="module")
def of_orders(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    return group(MEMBERS_OF_ORDERS, subscription=["orders"]), topics_table({"orders": 7})


@pytest.mark.scale
def test_the_explained_owner_is_the_assigned_one(of_orders: tuple[DataFrame, DataFrame]) -> None:
    members, topics = of_orders
    strategies = ["sticky", "server-uniform", "librdkafka-roundrobin"]
    last = members.transform(last_assignments(strategies, topics)).collect()
    for strategy in strategies:
        explained = explain_assignment(members, topics, ("orders", 3), strategy)
        has = {row["member_id"] for row in last if row["strategy"] == strategy and ("orders", 3) in row["partitions"]}
        assert set(explained.member_ids) == has
        assert explained.before == {"c1": 4, "c2": 3, "c3": 0}
        assert sum(explained.after.values()) == 7
        assert [claim.member_id for claim in explained.claims] == ["c1"]


def test_a_moving_partition_is_explained_rebalance_by_rebalance(of_orders: tuple[DataFrame, DataFrame]) -> None:
    """A cooperative group hands it over in two rebalances."""
    assert repr(explain_assignment(*of_orders, ("orders", 3), "cooperative-sticky")).splitlines() == [
        "orders-3 of group 'group' is assigned to c3 (cooperative-sticky, Kafka 4.3)",
        "  previous owner: c1 (generation 4)",
        "  moved",
        "  rebalance 1: c1 revokes it",
        "  rebalance 2: it is assigned to c3",
        "  partitions of the members subscribed to orders, over all topics",
        "    c1: 3 (before: 4)",
        "    c2: 2 (before: 3)",
        "    c3: 2 (before: 0)",
    ]


def test_roundrobin_is_explained_by_the_partition_before(spark: SparkSession) -> None:
    members = group(
        {"c1": {"subscription": ["a", "b"]}, "c2": {"subscription": ["a"]}, "c3": {"subscription": ["b"]}},
        protocols=["roundrobin"],
    )
    explained = explain_assignment(members, topics_table({"a": 3, "b": 2}), ("b", 1))
    assert explained.reasons == (
        "roundrobin assigns the partitions of all topics in turn to c1, c2, c3",
        "the partition before it, b-0, goes to c3; next is c1",
    )
    first_of_b = explain_assignment(members, topics_table({"a": 3, "b": 2}), ("b", 0))
    assert first_of_b.reasons[1] == "the partition before it, a-2, goes to c1; not subscribed to b: c2; next is c3"


def test_previous_owners_may_lose_the_right_to_a_partition(spark: SparkSession) -> None:
    """One has unsubscribed, one is refused by the coordinator; both report the partition as owned."""
    members = group(
        {
            "c1": {"subscription": ["other"], "owned": {"orders": [0]}, "generation": 1},
            "c2": {"subscription": ["orders"]},
            "c3": {"subscription": ["orders"], "protocols": ["mine"], "owned": {"orders": [0]}},
        },
        protocols=["sticky"],
    )
    explained = explain_assignment(members, topics_table({"orders": 2, "other": 1}), ("orders", 0), ELECTED)
    assert (explained.strategy, explained.member_ids, explained.subscribers) == ("sticky", ("c2",), ("c2",))
    assert "previous owner: c1 (generation 1), which may not keep it and c3, which may not keep it" in repr(explained)


def test_a_failing_assignor_leaves_a_partition_unassigned(spark: SparkSession) -> None:
    """The assignor of Kafka 1.0 throws where a subscribed topic has no partitions."""
    members = group({"c1": {}}, protocols=["sticky"], subscription=["orders", "empty"])
    explained = explain_assignment(members, topics_table({"orders": 1, "empty": 0}), ("orders", 0), kafka_version="1.0")
    assert explained.member_ids == ()
    assert "the group has no assignment: Kafka's assignor throws NullPointerException" in repr(explained)


@pytest.mark.parametrize("client", CLIENTS)
def test_explained_keys_are_where_records_go(client: str) -> None:
    for key in (None, b"", b"TT0124", b"\xff\x00<b>"):
        explained = explain_key(key, 15, client)
        (partition,) = partitions_of(client, [key], [15])
        assert explained.partition == partition
        if explained.hash is not None:
            assert explained.partition in {
                (explained.hash & 0xFFFFFFFF) % 15,
                explained.hash % 15,
                (explained.hash & 0x7FFFFFFF) % 15,
                abs(explained.hash) % 15,
                (explained.hash & 0x7FFFFFF) % 15,
            }
            assert f"{explained.hash}\n" in repr(explained)


def test_html_is_escaped_and_lines_stay_lines(spark: SparkSession) -> None:
    explained = explain_election(group({"<b>\n": {"protocols": ["<i>"]}}, group_id="<script>", subscription=["t"]))
    assert "<script>" in repr(explained)
    assert "&lt;script&gt;" in explained._repr_html_()
    assert explained._repr_html_().count("<") == 2
    assert "    <b>\\n: <i> (supports <i>)" in repr(explained).splitlines()


def test_a_group_of_thousands_is_not_listed_in_full(spark: SparkSession) -> None:
    members = group({f"c{n}": {} for n in range(2000)}, protocols=["range"], subscription=["orders"])
    assert "    and 1,980 more" in repr(explain_election(members)).splitlines()
    assert len(repr(explain_assignment(members, topics_table({"orders": 9}), ("orders", 8))).splitlines()) < 60


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"protocols": "range"}, r"member_id 'c': protocols is 'range', expected array<string>"),
        ({"subscriptions": ["a"]}, r"column: 'subscriptions' is not known \(did you mean 'subscription'\?\)"),
        ({"subscription": None, "owned": {"a": ["x"]}}, r"owned is \[.*'x'.*\], expected array<struct<topic:string"),
        ({"join_order": "first"}, r"member_id 'c': join_order is 'first', expected bigint"),
    ],
)
def test_literals_that_do_not_fit_the_members_table_are_refused(
    spark: SparkSession, columns: dict[str, Any], problem: str
) -> None:
    with pytest.raises(UserError, match=problem):
        group({"c": {"subscription": ["a"], **columns}})


def test_mistakes_in_literals_and_explanations_are_reported(spark: SparkSession) -> None:
    members, topics = group({"c": {}}, subscription=["orders", "missing"]), topics_table({"orders": 2})
    with pytest.raises(UserError, match="member_id 'c': subscription is missing"):
        group({"c": {}})
    with pytest.raises(
        UserError, match=r"^topics_table: topics\['a'\] is '3' \(str\); allowed: int or a mapping of str to Any$"
    ):
        topics_table({"a": "3"})  # type: ignore[dict-item]
    with pytest.raises(UserError, match=r"topic: 'order' is not known \(did you mean 'orders'\?\)"):
        explain_assignment(members, topics, ("order", 0))
    with pytest.raises(UserError, match="partition 2 of topic 'orders'; allowed: 0 to 1"):
        explain_assignment(members, topics, ("orders", 2))
    with pytest.raises(UserError, match="partition 0 of topic 'missing'; allowed: none"):
        explain_assignment(members, topics, ("missing", 0))
    with pytest.raises(UserError, match="strategy: 'stick' is not known"):
        explain_assignment(members, topics, ("orders", 0), "stick")
    with pytest.raises(UserError, match="members: they are of 0 groups"):
        explain_election(members, group_id="another")
    with pytest.raises(UserError, match="none can be used: protocols is empty"):
        explain_election(group({"c": {"protocols": []}}, subscription=["a"]))
    with pytest.raises(UserError, match="none can be used: protocols is empty"):
        explain_assignment(group({"c": {"protocols": []}}, subscription=["orders"]), topics, ("orders", 0))
    with pytest.raises(UserError, match="partitions is 0; allowed: at least 1"):
        explain_key("a", 0)


def test_group_id_chooses_one_of_several_groups(spark: SparkSession) -> None:
    several = group({"c": {"protocols": ["range"]}}, "one", subscription=["a"]).union(
        group({"c": {"protocols": ["sticky"]}}, "two", subscription=["a"])
    )
    assert explain_election(several, group_id="two").protocol == "sticky"
    with pytest.raises(UserError, match="members: they are of 2 groups; allowed: members of one group"):
        explain_election(several)


def test_tab_completion_offers_the_public_names() -> None:
    assert dir(rebalance_sim) == sorted(rebalance_sim.__all__)
    assert all(getattr(rebalance_sim, name).__doc__ for name in rebalance_sim.__all__)
