"""What is told in a shell of one group, one partition and one key is what is predicted, and true."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from pyspark.sql import DataFrame, SparkSession

import rebalance_sim
from rebalance_sim import UserError, explain_assignment, explain_election, explain_key, group, topics_table
from rebalance_sim.engine.arrow import arrow_type
from rebalance_sim.engine.explained_assignment import OUTPUTS, AssignmentExplanation
from rebalance_sim.engine.explained_assignment import explain_assignment as explain_partition
from rebalance_sim.engine.explained_election import ElectionExplanation
from rebalance_sim.engine.explained_election import explain_election as explain_vote
from rebalance_sim.engine.prediction import ELECTED, Prediction
from rebalance_sim.engine.topic_metadata import TopicMetadata
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.tables import MEMBERS, TOPICS
from rebalance_sim.transformations import last_assignments
from rebalance_sim.versions import kafka_version
from tests.kafka.examples import examples
from tests.kafka.keys import partitions_of
from tests.kafka.strategies import elections, groups
from tests.naive.classic_group import ClassicGroup
from tests.naive.model import VERSIONS, Group, Joiner


def nested(rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
    """Lay out a group's members as Spark nests them."""
    kind = pa.list_(
        pa.struct([field for field in arrow_type(MEMBERS.schema) if field.name not in ("cluster", "group_id")])
    )
    columns = [pa.array(["default"]), pa.array(["g"]), pa.array([rows], kind)]
    return pa.RecordBatch.from_arrays(columns, names=["cluster", "group_id", "members"])


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
@examples(60)
@given(elections())
def test_votes_as_the_coordinator_meets_them(version: str, batch: list[tuple[Joiner, ...]]) -> None:
    """The twin of the coordinator counts the same votes in the same order; the first with the most votes wins."""
    for joiners in batch:
        able = [each for each in joiners if each.protocols]
        twin = ClassicGroup(version)
        admitted = [each for each in able if twin.join(each)]
        if not admitted:
            continue
        told = explain_vote(voters(able), kafka_version(version), version)
        assert [(each.protocol, each.votes) for each in told.counted] == twin.votes()
        assert (told.protocol, told.leader_id) == (twin.select_protocol(), twin.leader)
        assert [each.member_id for each in told.ballots] == [each.member_id for each in admitted]
        assert set(told.refused) == {each.member_id for each in able} - {each.member_id for each in admitted}
        assert set(told.candidates) == twin.candidates()
        for each in told.ballots:
            before = each.protocols[: each.protocols.index(each.vote or "")]
            assert all(name in told.lacking for name in before)
        buckets = [each.bucket for each in told.counted if each.bucket is not None]
        assert buckets == sorted(buckets, reverse=version in ("1.0", "2.3"))
        assert ("a tie" in repr(told)) is told.tie


def test_a_tie_is_explained(spark: SparkSession) -> None:
    members = group(
        {"c1": {"protocols": ["range", "roundrobin"]}, "c2": {"protocols": ["own", "roundrobin", "range"]}},
        subscription=["orders"],
    )
    assert repr(explain_election(members, "2.3")).splitlines() == [
        "group 'group' elects range (Kafka 2.3)",
        "  candidates, which all members support: range, roundrobin",
        "  no candidate: own, not offered by c1",
        "  each votes for the first candidate of its list",
        "    c1: range (offers range, roundrobin)",
        "    c2: roundrobin (offers own, roundrobin, range)",
        "  votes: range 1, roundrobin 1: a tie",
        "  the first in Scala 2.11's maps, the highest bucket first: range (bucket 15), then roundrobin (bucket 9)",
        "  leader: c1, the first to join",
    ]
    assert explain_election(members, "3.9").protocol == "roundrobin"


def test_a_group_of_kip_848_elects_nothing(spark: SparkSession) -> None:
    told = vote_of(
        spark,
        a={"protocols": ["server-uniform"]},
        b={"protocols": ["server-range"]},
        c={"protocols": ["range"]},
        d={"protocols": ["range"], "protocol_type": "connect"},
    )
    assert (told.protocol, told.leader_id, told.tie) == ("server-uniform", None, True)
    assert [each.vote for each in told.ballots] == ["server-uniform", "server-range", None]
    assert told.refused == {"d": "INCONSISTENT_GROUP_PROTOCOL"}
    assert "wishes: server-uniform 1, server-range 1: as many, and uniform comes first" in repr(told)


def vote_of(spark: SparkSession, **members: dict[str, Any]) -> ElectionExplanation:
    return explain_election(group(members, subscription=["t"]))


def prediction(strategy: str, version: str, given: Group) -> Prediction:
    cluster = given.cluster
    rows = [
        {"cluster": "default", "topic": topic, "partitions": count, "racks": cluster.racks.get(topic)}
        for topic, count in cluster.partitions.items()
    ]
    metadata = TopicMetadata(pa.Table.from_pylist(rows, pa.schema(arrow_type(TOPICS.schema))))
    return Prediction(OUTPUTS, kafka_version(version), (strategy,), metadata)


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
@examples(40)
@given(groups())
def test_partitions_of_random_groups(strategy: str, batch: list[Group]) -> None:
    """What is told of who is passed over, who had a partition and who may have it agrees with what members say."""
    for each in batch[:2]:
        predict, members = prediction(strategy, "4.3", each), leaders_view(each)
        wanted = {topic for member in each.members for topic in member.topics}
        for topic in sorted(wanted & each.cluster.partitions.keys())[:2]:
            for partition in range(min(each.cluster.partitions[topic], 3)):
                told = explain_partition(members, predict, "4.3", topic, partition)
                topics_of = {member.member_id: member.topics for member in each.members}
                assert set(told.subscribers) == {name for name, topics in topics_of.items() if topic in topics}
                check_reasons(told, topics_of, matches_racks=bool(each.cluster.racks))


def check_reasons(told: AssignmentExplanation, topics_of: dict[str, tuple[str, ...]], matches_racks: bool) -> None:
    if told.strategy == "roundrobin":
        passed = told.reasons[1].partition(" subscribed to other topics only")[0].partition("; ")[2]
        assert all(told.topic not in topics_of[name] for name in passed.split(", ") if name in topics_of)
    if told.strategy == "range" and not matches_racks:
        assert told.reasons[0].startswith("range cuts")


MEMBERS_OF_ORDERS = {
    "c1": {"owned": {"orders": [0, 1, 2, 3]}, "generation": 4},
    "c2": {"owned": {"orders": [4, 5, 6]}, "generation": 4},
    "c3": {},
}


@pytest.fixture(scope="module")
def of_orders(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    return group(MEMBERS_OF_ORDERS, subscription=["orders"]), topics_table({"orders": 7})


def test_who_is_named_has_it(of_orders: tuple[DataFrame, DataFrame]) -> None:
    members, topics = of_orders
    strategies = ["sticky", "server-uniform", "librdkafka-roundrobin"]
    last = members.transform(last_assignments(strategies, topics)).collect()
    for strategy in strategies:
        told = explain_assignment(members, topics, "orders", 3, strategy)
        has = {row["member_id"] for row in last if row["strategy"] == strategy and ("orders", 3) in row["partitions"]}
        assert set(told.member_ids) == has
        assert told.before == {"c1": 4, "c2": 3, "c3": 0}
        assert sum(told.after.values()) == 7
        assert [claim.member_id for claim in told.claims] == ["c1"]


def test_a_partition_that_moves(of_orders: tuple[DataFrame, DataFrame]) -> None:
    """A cooperative group hands it over in two rebalances."""
    assert repr(explain_assignment(*of_orders, "orders", 3, "cooperative-sticky")).splitlines() == [
        "orders-3 of group 'group' goes to c3 (cooperative-sticky, Kafka 4.3)",
        "  before: c1 had it (generation 4)",
        "  moved",
        "  rebalance 1: c1 gives it up",
        "  rebalance 2: c3 takes it",
        "  partitions of those that subscribe to orders, of all topics",
        "    c1: 3 (had 4)",
        "    c2: 2 (had 3)",
        "    c3: 2 (had 0)",
    ]


def test_whose_turn_it_is(spark: SparkSession) -> None:
    members = group(
        {"c1": {"subscription": ["a", "b"]}, "c2": {"subscription": ["a"]}, "c3": {"subscription": ["b"]}},
        protocols=["roundrobin"],
    )
    told = explain_assignment(members, topics_table({"a": 3, "b": 2}), "b", 1)
    assert told.reasons == (
        "roundrobin deals the partitions of all topics in turn to c1, c2, c3",
        "b-0, dealt before it, went to c3: the turn is c1's",
    )
    passed = explain_assignment(members, topics_table({"a": 3, "b": 2}), "b", 0)
    assert passed.reasons[1] == "a-2, dealt before it, went to c1; c2 subscribed to other topics only: the turn is c3's"


def test_members_that_may_not_have_it(spark: SparkSession) -> None:
    """One has unsubscribed, one is refused by the coordinator; both say that they own the partition."""
    members = group(
        {
            "c1": {"subscription": ["other"], "owned": {"orders": [0]}, "generation": 1},
            "c2": {"subscription": ["orders"]},
            "c3": {"subscription": ["orders"], "protocols": ["mine"], "owned": {"orders": [0]}},
        },
        protocols=["sticky"],
    )
    told = explain_assignment(members, topics_table({"orders": 2, "other": 1}), "orders", 0, ELECTED)
    assert (told.strategy, told.member_ids, told.subscribers) == ("sticky", ("c2",), ("c2",))
    assert "before: c1 had it (generation 1), and may not have it now and c3 had it, and may" in repr(told)


def test_nobody_has_it(spark: SparkSession) -> None:
    """The assignor of Kafka 1.0 throws where a subscribed topic has no partitions."""
    members = group({"c1": {}}, protocols=["sticky"], subscription=["orders", "empty"])
    told = explain_assignment(members, topics_table({"orders": 1, "empty": 0}), "orders", 0, kafka_version="1.0")
    assert told.member_ids == ()
    assert "the group has no assignment: Kafka's assignor throws NullPointerException" in repr(told)


@pytest.mark.parametrize("client", CLIENTS)
def test_keys(client: str) -> None:
    for key in (None, b"", b"TT0124", b"\xff\x00<b>"):
        told = explain_key(key, 15, client)
        (partition,) = partitions_of(client, [key], [15])
        assert told.partition == partition
        if told.hash is not None:
            assert told.partition in {told.hash % 15, (told.hash & 0x7FFFFFFF) % 15, abs(told.hash) % 15}
            assert f"{told.hash}\n" in repr(told)


def test_html_is_escaped_and_lines_stay_lines(spark: SparkSession) -> None:
    told = explain_election(group({"<b>\n": {"protocols": ["<i>"]}}, group_id="<script>", subscription=["t"]))
    assert "<script>" in repr(told)
    assert "&lt;script&gt;" in told._repr_html_()
    assert told._repr_html_().count("<") == 2
    assert "    <b>\\n: <i> (offers <i>)" in repr(told).splitlines()


def test_a_group_of_thousands_is_not_listed(spark: SparkSession) -> None:
    members = group({f"c{n}": {} for n in range(2000)}, protocols=["range"], subscription=["orders"])
    assert "    and 1,980 more" in repr(explain_election(members)).splitlines()
    assert len(repr(explain_assignment(members, topics_table({"orders": 9}), "orders", 8)).splitlines()) < 60


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"protocols": "range"}, r"member_id 'c': protocols is 'range', expected array<string>"),
        ({"subscriptions": ["a"]}, r"column: 'subscriptions' is not known \(did you mean 'subscription'\?\)"),
        ({"subscription": None, "owned": {"a": ["x"]}}, r"owned is \[.*'x'.*\], expected array<struct<topic:string"),
        ({"join_order": "first"}, r"member_id 'c': join_order is 'first', expected bigint"),
    ],
)
def test_literals_that_are_no_members(spark: SparkSession, columns: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        group({"c": {"subscription": ["a"], **columns}})


def test_what_literals_and_explanations_refuse(spark: SparkSession) -> None:
    members, topics = group({"c": {}}, subscription=["orders", "missing"]), topics_table({"orders": 2})
    with pytest.raises(UserError, match="member_id 'c': subscription is missing"):
        group({"c": {}})
    with pytest.raises(UserError, match="topic 'a': partitions is '3', expected int"):
        topics_table({"a": "3"})  # type: ignore[dict-item]
    with pytest.raises(UserError, match=r"topic: 'order' is not known \(did you mean 'orders'\?\)"):
        explain_assignment(members, topics, "order", 0)
    with pytest.raises(UserError, match="partition 2 of topic 'orders'; allowed: 0 to 1"):
        explain_assignment(members, topics, "orders", 2)
    with pytest.raises(UserError, match="partition 0 of topic 'missing'; allowed: none"):
        explain_assignment(members, topics, "missing", 0)
    with pytest.raises(UserError, match="strategy: 'stick' is not known"):
        explain_assignment(members, topics, "orders", 0, "stick")
    with pytest.raises(UserError, match="members: of 0 groups"):
        explain_election(members, group_id="another")
    with pytest.raises(UserError, match="none can be used: protocols is empty"):
        explain_election(group({"c": {"protocols": []}}, subscription=["a"]))
    with pytest.raises(UserError, match="none can be used: protocols is empty"):
        explain_assignment(group({"c": {"protocols": []}}, subscription=["orders"]), topics, "orders", 0)
    with pytest.raises(UserError, match="partitions is 0; allowed: at least 1"):
        explain_key("a", 0)


def test_one_of_several_groups(spark: SparkSession) -> None:
    several = group({"c": {"protocols": ["range"]}}, "one", subscription=["a"]).union(
        group({"c": {"protocols": ["sticky"]}}, "two", subscription=["a"])
    )
    assert explain_election(several, group_id="two").protocol == "sticky"
    with pytest.raises(UserError, match="members: of 2 groups; allowed: members of one group"):
        explain_election(several)


def test_what_tab_offers() -> None:
    assert dir(rebalance_sim) == sorted(rebalance_sim.__all__)
    assert all(getattr(rebalance_sim, name).__doc__ for name in rebalance_sim.__all__)
