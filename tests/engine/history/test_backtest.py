"""Past generations predicted again: answers of Kafka's classes are equal, anything else is not."""

from collections.abc import Iterable
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from rebalance_sim import backtest, score
from rebalance_sim.engine.history.backtest import (
    DIFFERS,
    EQUAL,
    FROM_ANSWER,
    GENERATION_BEFORE,
    INCOMPLETE,
    KNOWN,
    NOT_PREDICTABLE,
)
from rebalance_sim.errors import UserError
from rebalance_sim.tables import GENERATION_MEMBERS, SCORE, TOPICS
from tests.support.cases import JsonObject, golden_sample
from tests.support.rows import contents, table, topics


def partitions(names: Iterable[str]) -> list[dict[str, Any]]:
    """Return partitions by name: ``t-0`` is partition 0 of topic t."""
    return [{"topic": topic, "partition": int(number)} for topic, number in (name.rsplit("-", 1) for name in names)]


def generation(number: int, assigned: dict[str, list[str]], **more: Any) -> list[dict[str, Any]]:
    """Return the members of a generation of group ``g``, an hour after the one before; the first of them leads."""
    return [
        {
            "group_id": "g",
            "generation": number,
            "completed_at_ms": number * 3_600_000,
            "protocol": "range",
            "member_id": member_id,
            "join_order": min(place, 1),
            "subscription": ["t"],
            "owned": [],
            "assigned": partitions(names),
            **more,
        }
        for place, (member_id, names) in enumerate(assigned.items())
    ]


def history(spark: SparkSession, *generations: list[dict[str, Any]]) -> DataFrame:
    return table(
        spark, GENERATION_MEMBERS, [{"recreated": 0} | member for members in generations for member in members]
    )


def results(tested: DataFrame) -> dict[int, tuple[str, str]]:
    rows = tested.orderBy("generation").collect()
    return {row["generation"]: (row["result"], row["partition_counts"]) for row in rows}


def golden_generations(cases: list[JsonObject], answers: list[JsonObject], protocol: str) -> list[dict[str, Any]]:
    """Return a generation for each case that the class answers, in a cluster of its own."""
    return [
        {
            "cluster": case["id"],
            "group_id": "g",
            "generation": 7,
            "completed_at_ms": 7,
            "protocol": protocol,
            **{name: member[name] for name in ("member_id", "instance_id", "rack")},
            "subscription": member["topics"],
            "join_order": place,
            "owned": [{"topic": topic, "partition": number} for topic, number in member["owned"]],
            "owned_generation": None if member["generation"] < 0 else member["generation"],
            "assigned": [
                {"topic": topic, "partition": number} for topic, number in answer["assignment"][member["member_id"]]
            ],
        }
        for case, answer in zip(cases, answers, strict=True)
        if "assignment" in answer
        for place, member in enumerate(case["members"])
    ]


def topics_of(spark: SparkSession, cases: Iterable[JsonObject]) -> DataFrame:
    rows = [
        {
            "cluster": case["id"],
            "topic": topic,
            "partitions": number,
            "racks": [list(filter(None, each)) for each in case.get("racks", {}).get(topic, [[]] * number)],
            "topic_id": case.get("topic_ids", {}).get(topic),
        }
        for case in cases
        for topic, number in case["topics"].items()
        if number > 0
    ]
    return table(spark, TOPICS, rows)


def test_answers_of_kafkas_classes_are_equal(spark: SparkSession) -> None:
    cases_of_rules = {
        "range": "cases-assignors",
        "roundrobin": "cases-assignors",
        "sticky": "cases-sticky",
        "cooperative-sticky": "cases-sticky",
        "server-uniform": "cases-server",
        "server-range": "cases-server",
    }
    all_cases: list[JsonObject] = []
    rows: list[dict[str, Any]] = []
    for rule, cases in cases_of_rules.items():
        asked, answers = golden_sample(cases), golden_sample(f"{rule}-4.3")
        wholly_owned = [
            (case | {"id": f"{rule} {case['id']}"}, answer)
            for case, answer in zip(asked, answers, strict=True)
            if all(number < case["topics"].get(topic, 0) for each in case["members"] for topic, number in each["owned"])
        ][:60]
        chosen, given = ([pair[side] for pair in wholly_owned] for side in (0, 1))
        all_cases += chosen
        rows += golden_generations(chosen, given, rule)
    tested = history(spark, rows).transform(backtest(topics_of(spark, all_cases))).collect()
    assert len(tested) == len({row["cluster"] for row in rows})
    assert {row["strategy"] for row in tested} == set(cases_of_rules)
    assert [row for row in tested if row["result"] != EQUAL] == []


def test_a_count_is_known_if_generations_before_and_after_show_it(spark: SparkSession) -> None:
    two, three = {"a": ["t-0"], "b": ["t-1"]}, {"a": ["t-0", "t-1"], "b": ["t-2"]}
    tested = history(spark, *(generation(1 + i, two) for i in range(3)), *(generation(4 + i, three) for i in range(3)))
    first_and_last = [(EQUAL, FROM_ANSWER), (EQUAL, KNOWN), (EQUAL, FROM_ANSWER)]
    assert [*results(tested.transform(backtest())).values()] == [*first_and_last, *first_and_last]
    assert results(tested.transform(backtest(topics(spark, t=3))))[6] == (EQUAL, KNOWN)
    assert results(tested.transform(backtest(topics(spark, t=5))))[6] == (EQUAL, FROM_ANSWER)


def test_an_assignment_does_not_decide_a_count_that_other_generations_show(spark: SparkSession) -> None:
    whole, lost = {"a": ["t-0", "t-1"], "b": ["t-2"]}, {"a": ["t-0"], "b": ["t-1"]}
    tested = history(spark, generation(1, whole), generation(2, lost), generation(3, whole)).transform(backtest())
    assert results(tested)[2] == (DIFFERS, KNOWN)


def test_partitions_of_other_members_differ(spark: SparkSession) -> None:
    turned = generation(2, {"a": ["t-2", "t-1"], "b": ["t-0"]})
    row = history(spark, turned).transform(backtest(topics(spark, t=3))).first()
    assert row is not None
    assert (row["result"], row["differing"], row["members"], row["partitions"]) == (DIFFERS, 2, 2, 3)
    assert (row["group_id"], row["generation"], row["strategy"], row["reason"]) == ("g", 2, "range", None)


UNKNOWN: tuple[tuple[dict[str, Any], str | None], ...] = (
    ({"assigned": None}, "the assignment of 2 members cannot be read"),
    ({"subscription": None}, "the subscription of 2 members cannot be read"),
    ({"join_order": None}, "the leader is unknown"),
    ({"protocol_type": "connect", "assigned": None}, "protocol type 'connect' is not that of consumers"),
    ({"rack": "r1"}, "the racks of the replicas of topic 't' are unknown"),
    ({"protocol": "server-uniform"}, "the id of topic 't' is unknown"),
    ({"client_library": "java;sarama", "protocol": "roundrobin"}, None),
)


def by_cluster(tested: DataFrame) -> dict[str, Row]:
    return {row["cluster"]: row for row in tested.collect()}


def test_what_is_unknown_is_not_scored(spark: SparkSession) -> None:
    rows = generation(2, {"a": ["t-0", "t-2", "t-4", "t-6", "t-8", "t-10"], "b": ["t-1", "t-3", "t-5", "t-7", "t-9"]})
    changed = [[member | change | {"cluster": f"c{i}"} for member in rows] for i, (change, _) in enumerate(UNKNOWN)]
    tested = by_cluster(history(spark, *changed).transform(backtest()))
    assert {row["result"] for row in tested.values()} == {INCOMPLETE}
    for i, (_, reason) in enumerate(UNKNOWN):
        row = tested[f"c{i}"]
        if reason is None:
            assert row["alternatives"] == ["sarama-roundrobin"]
        else:
            assert row["reason"] == reason


def test_a_record_that_may_be_written_again_is_not_scored(spark: SparkSession) -> None:
    """Only of groups with a static member, and long after the leader must have assigned."""
    parts = {"a": ["t-0"], "b": ["t-1"]}
    static, at_ms = {"instance_id": "a"}, 3_600_000
    members = history(
        spark,
        generation(1, parts, recorded_at_ms=at_ms + 10_000, **static),
        generation(2, parts, recorded_at_ms=2 * at_ms + 154_482, **static),
        generation(3, parts, recorded_at_ms=3 * at_ms + 154_482),
        generation(4, parts, **static),
    )
    rows = members.transform(backtest(topics(spark, t=2))).orderBy("generation").collect()
    assert [row.result for row in rows] == [EQUAL, INCOMPLETE, EQUAL, EQUAL]
    assert rows[1].reason.startswith("the record was written 3 min after the members had joined: perhaps again")


def test_an_unpredictable_answer_is_held_against_its_bounds(spark: SparkSession) -> None:
    more = {"client_library": "kafka-python", "protocol": "sticky"}
    within = generation(2, {"a": ["t-0", "t-3"], "b": ["t-1", "t-2"]}, cluster="within", **more)
    beyond = generation(2, {"a": ["t-0"], "b": ["t-1", "t-2", "t-3"]}, cluster="beyond", **more)
    tested = by_cluster(history(spark, within, beyond).transform(backtest()))
    assert {row["result"] for row in tested.values()} == {NOT_PREDICTABLE}
    assert {cluster: row["within_bounds"] for cluster, row in tested.items()} == {"within": True, "beyond": False}
    assert all("kafka-python" in row["reason"] for row in tested.values())


def test_a_leader_that_did_not_know_a_topic_is_not_predictable(spark: SparkSession) -> None:
    """Java's and kafka-python's leaders assigned so on a broker of 4.3.1, before they rejoined a second later."""
    subscriptions = {"a": ["t"], "b": ["t", "u"]}

    def subscribed(number: int, assigned: dict[str, list[str]]) -> list[dict[str, Any]]:
        return [each | {"subscription": subscriptions[each["member_id"]]} for each in generation(number, assigned)]

    whole = {"a": ["t-0"], "b": ["t-1", "u-0", "u-1"]}
    early = subscribed(2, {"a": ["t-0"], "b": ["t-1"]})
    tested = history(spark, subscribed(1, whole), early, subscribed(3, whole)).transform(backtest()).collect()
    found = {row["generation"]: (row["result"], row["reason"], row["differing"]) for row in tested}
    assert found.pop(2) == (
        NOT_PREDICTABLE,
        "the leader did not know topic u yet: no partition of it is assigned, and the others are as predicted without "
        "it",
        None,
    )
    assert {result for result, *_ in found.values()} == {EQUAL}
    wrong = history(spark, subscribed(1, whole), subscribed(2, {"a": ["t-1"], "b": ["t-0"]}), subscribed(3, whole))
    assert results(wrong.transform(backtest()))[2][0] == DIFFERS


def test_a_generation_follows_from_the_one_before(spark: SparkSession) -> None:
    """A sticky member that forgets what it owned is predicted by what it sent, but not by the generation before."""
    before = generation(1, {"a": ["t-0", "t-1"], "b": ["t-2", "t-3"]}, protocol="sticky")
    sent: list[dict[str, Any]] = [{"owned": partitions(["t-1", "t-0"]), "owned_generation": 1}, {}, {}]
    after = generation(3, {"a": ["t-0", "t-1"], "b": ["t-2"], "c": ["t-3"]}, protocol="sticky")
    joined = history(spark, before, [member | own for member, own in zip(after, sent, strict=True)])
    assert results(joined.transform(backtest()))[3][0] == EQUAL
    followed = joined.transform(backtest(basis=GENERATION_BEFORE))
    assert results(followed) == {3: (EQUAL, FROM_ANSWER)}
    turned = generation(3, {"a": ["t-2"], "b": ["t-0", "t-1"], "c": ["t-3"]}, protocol="sticky")
    assert results(history(spark, before, turned).transform(backtest(basis=GENERATION_BEFORE)))[3][0] == DIFFERS


def test_a_static_member_with_a_new_id_has_what_it_was_assigned(spark: SparkSession) -> None:
    """The coordinator gives it the assignment of its instance (4.3.1)."""
    before = generation(1, {"a": ["t-0", "t-1", "t-2"]}, protocol="sticky", instance_id="a-till")
    names = {"a-again": "a-till", "b": "b-till"}
    after = generation(2, {"a-again": ["t-0", "t-1"], "b": ["t-2"]}, protocol="sticky")
    joined = history(spark, before, [member | {"instance_id": names[member["member_id"]]} for member in after])
    assert results(joined.transform(backtest(basis=GENERATION_BEFORE))) == {2: (EQUAL, FROM_ANSWER)}


def test_an_epoch_without_a_target_leaves_the_one_before(spark: SparkSession) -> None:
    """A coordinator of 4.3.1 bumped the epoch twice within its assignment interval."""
    more = {"protocol": None, "protocols": ["server-uniform"], "join_order": None, "completed_at_ms": None}
    before = generation(1, {"a": ["t-1", "t-3"], "b": ["t-0", "t-2"]}, **more)
    without = [member | {"assigned": None} for member in generation(2, {"a": []}, **more)]
    after = generation(3, {"a": ["t-1", "t-3"], "c": ["t-0", "t-2"]}, **more)
    with_id = table(spark, TOPICS, [{"topic": "t", "partitions": 4, "topic_id": "AAAAAAAAAAEAAAAAAAAAAg"}])
    tested = history(spark, before, without, after).transform(backtest(with_id, basis=GENERATION_BEFORE))
    found = {number: result for number, (result, _) in results(tested).items()}
    assert found == {2: INCOMPLETE, 3: EQUAL}


def test_a_consumer_protocol_group_is_predicted_from_its_target_before(spark: SparkSession) -> None:
    """Its members keep what they have: ``UniformHomogeneousAssignmentBuilder`` moves one partition to a new member."""
    more = {"protocol": None, "protocols": ["server-uniform"], "join_order": None, "completed_at_ms": None}
    before = generation(1, {"a": ["t-0", "t-1"], "b": ["t-2"]}, **more)
    after = generation(2, {"a": ["t-0"], "b": ["t-2"], "c": ["t-1"]}, **more)
    with_id = table(spark, TOPICS, [{"topic": "t", "partitions": 3, "topic_id": "AAAAAAAAAAEAAAAAAAAAAg"}])
    epochs = history(spark, before, after)
    assert results(epochs.transform(backtest(with_id))) == {}
    assert results(epochs.transform(backtest(with_id, basis=GENERATION_BEFORE))) == {2: (EQUAL, FROM_ANSWER)}


def test_the_score_counts_generations_by_library_and_rules(spark: SparkSession) -> None:
    right, wrong = {"a": ["t-0", "t-1"], "b": ["t-2"]}, {"a": ["t-2", "t-1"], "b": ["t-0"]}
    rows = (generation(1, right), generation(2, right), generation(3, wrong), generation(4, right))
    scored = history(spark, *rows).transform(backtest()).transform(score)
    assert scored.columns == SCORE.names
    counts = {row["partition_counts"]: row["equal"] for row in scored.collect()}
    assert counts == {KNOWN: 1, FROM_ANSWER: 2}
    assert {row["differs"] for row in scored.collect()} == {0, 1}


def test_rows_and_partitions_in_any_order_give_the_same(spark: SparkSession) -> None:
    right = {"a": ["t-0", "t-1"], "b": ["t-2"]}
    members = history(spark, *(generation(number, right) for number in range(1, 30)))
    again = spark.createDataFrame(members.collect()[::-1], members.schema).repartition(7)
    assert contents(again.transform(backtest())) == contents(members.transform(backtest()))


def test_an_unknown_basis_is_an_error(spark: SparkSession) -> None:
    with pytest.raises(UserError, match=r"basis: 'before' is not known.*allowed: as joined, generation before"):
        backtest(basis="before")
