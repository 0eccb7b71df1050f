"""Input tables, and rows that cannot be used."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.engine.runs.input_files import read_input
from rebalance_sim.engine.tables.inputs import fit, fit_topics, rejected, usable
from rebalance_sim.errors import UserError
from rebalance_sim.tables import CONNECTORS, MEMBERS, TOPICS
from tests.support.rows import given_rows, member, members, table


def test_a_missing_column_is_named(spark: SparkSession) -> None:
    given = members(spark, member("a", ["range"], ["t"])).drop("protocols")
    with pytest.raises(UserError, match=r"^members: column 'protocols' is missing; available: cluster, group_id, "):
        fit(given, MEMBERS)


def test_a_column_that_cannot_be_cast_is_named(spark: SparkSession) -> None:
    given = spark.sql("SELECT 'g' group_id, 'a' member_id, map('range', 1) protocols, array('t') subscription")
    with pytest.raises(UserError, match=r"^members: column 'protocols' is map<string,int>, expected array<string>$"):
        fit(given, MEMBERS)


def test_structs_are_read_by_name(spark: SparkSession, tmp_path: Path) -> None:
    """Spark infers JSON fields in alphabetical order. Additional fields are ignored, missing ones are an error."""

    def given(*owned: dict[str, object] | None) -> DataFrame:
        (tmp_path / "members.json").write_text(json.dumps(member("a", ["range"], ["t"], owned=owned)))
        return read_input(spark, MEMBERS, f"{tmp_path}/members.json", "json")

    (row,) = usable(fit(given({"topic": "t", "partition": 3, "leader_epoch": 8}, None), MEMBERS)).collect()
    assert [entry and entry.asDict() for entry in row["owned"]] == [{"topic": "t", "partition": 3}, None]
    with pytest.raises(UserError, match=r"^members: column 'owned' is array<struct<a_topic:string,number:bigint>>, "):
        fit(given({"a_topic": "t", "number": 1}), MEMBERS)


BAD_MEMBERS: list[tuple[dict[str, Any], str]] = [
    ({"group_id": None}, "group_id is null or empty"),
    ({"group_id": ""}, "group_id is null or empty"),
    ({"member_id": None}, "member_id is null or empty"),
    ({"member_id": ""}, "member_id is null or empty"),
    ({"protocols": None}, "protocols is null"),
    ({"subscription": None}, "subscription is null"),
    ({"protocol_type": ""}, "protocol_type is empty"),
]


def test_a_bad_member_is_rejected_with_a_reason(spark: SparkSession) -> None:
    good = member("a", ["range"], ["t"])
    expected = {f"bad {number}": reason for number, (_, reason) in enumerate(BAD_MEMBERS)}
    bad = [good | {"client_id": name} | broken for name, (broken, _) in zip(expected, BAD_MEMBERS, strict=True)]
    fitted = fit(members(spark, good, *bad), MEMBERS)
    assert [row["client_id"] for row in usable(fitted).collect()] == [None]
    rejects = rejected(fitted, MEMBERS).collect()
    assert {row["table"] for row in rejects} == {"members"}
    found = [(json.loads(row["row"])["client_id"], row["reason"]) for row in rejects]
    assert sorted(found) == sorted(expected.items())


BAD_TOPICS: list[tuple[dict[str, Any], str]] = [
    ({"topic": None}, "topic is null or empty"),
    ({"topic": ""}, "topic is null or empty"),
    ({"partitions": None}, "partitions is null"),
    ({"partitions": -1}, "partitions is -1; allowed: 0 to 1000000"),
    ({"partitions": 2_000_000_000}, "partitions is 2000000000; allowed: 0 to 1000000"),
    ({"racks": [["a"]]}, "racks has 1 lists for 2 partitions"),
    (
        {"topic_id": "not-a-uuid"},
        "topic_id 'not-a-uuid' is not a Uuid; allowed: 22 characters of A to Z, a to z, 0 to 9, - and _",
    ),
    (
        {"topic_id": "wgPxX5jWRd6mZ0nSbaTXqw\n"},
        "topic_id 'wgPxX5jWRd6mZ0nSbaTXqw\n' is not a Uuid; allowed: 22 characters of A to Z, a to z, 0 to 9, - and _",
    ),
    ({"topic": "good"}, "topic 'good' is given more than once; one row is used"),
]


def test_a_bad_topic_is_rejected_with_a_reason(spark: SparkSession) -> None:
    bad = [{"topic": "bad", "partitions": 2} | broken for broken, _ in BAD_TOPICS]
    fitted = fit_topics(table(spark, TOPICS, [{"topic": "good", "partitions": 2}, *bad]))
    assert [row["topic"] for row in usable(fitted).collect()] == ["good"]
    reasons = sorted(row["reason"] for row in rejected(fitted, TOPICS).collect())
    assert reasons == sorted(reason for _, reason in BAD_TOPICS)


def test_a_bad_row_does_not_hide_a_good_topic_of_the_same_name(spark: SparkSession) -> None:
    fitted = fit_topics(table(spark, TOPICS, [{"topic": "t", "partitions": -1}, {"topic": "t", "partitions": 3}]))
    assert [row["partitions"] for row in usable(fitted).collect()] == [3]


def test_values_of_another_type_are_cast_or_rejected(spark: SparkSession) -> None:
    given = spark.sql(
        "SELECT * FROM VALUES ('a', '12', 1.0D), ('b', 'many', 2.0D), ('c', '3.5', 3.0D) AS t(topic, partitions, x)"
    )
    fitted = fit_topics(given)
    assert [(r["topic"], r["partitions"]) for r in usable(fitted).collect()] == [("a", 12)]
    reasons = sorted(row["reason"] for row in rejected(fitted, TOPICS).collect())
    assert reasons == ["partitions: 3.5 is not int", "partitions: many is not int"]


def test_a_fraction_is_not_a_number_of_partitions(spark: SparkSession) -> None:
    fitted = fit_topics(spark.sql("SELECT * FROM VALUES ('a', 2.0D), ('b', 2.5D) AS t(topic, partitions)"))
    assert [row["partitions"] for row in usable(fitted).collect()] == [2]
    assert [row["reason"] for row in rejected(fitted, TOPICS).collect()] == ["partitions: 2.5 is not int"]


def test_csv_has_lists_as_text(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "members.csv"
    file.write_text("group_id,member_id,protocols,subscription,join_order\ng,a,range; roundrobin,t,3\n")
    (row,) = usable(fit(read_input(spark, MEMBERS, str(file), "csv"), MEMBERS)).collect()
    assert (row["protocols"], row["subscription"], row["join_order"]) == (["range", "roundrobin"], ["t"], 3)


def test_maps_are_objects_in_json_and_text_in_csv(spark: SparkSession, tmp_path: Path) -> None:
    """A connector without a configuration, and one whose text is not an object."""
    connector = '{"group_id": "g", "connector": "a", "tasks": 1'
    lines = [f'{connector}, "config": {{"tasks.max": 4, "topics": "a.*, b"}}}}', f"{connector}}}"]
    (tmp_path / "connectors.json").write_text("\n".join(lines))
    of_csv = ["group_id,connector,tasks,config", r'g,a,1,"{\"topics\": \"a\"}"', "g,a,1,topics", ""]
    (tmp_path / "connectors.csv").write_text("\n".join(of_csv))
    in_json = usable(fit(spark.read.json(f"{tmp_path}/connectors.json"), CONNECTORS)).collect()
    assert [row["config"] for row in in_json] == [{"tasks.max": "4", "topics": "a.*, b"}, None]
    in_csv = fit(spark.read.csv(f"{tmp_path}/connectors.csv", header=True), CONNECTORS)
    assert [row["config"] for row in usable(in_csv).collect()] == [{"topics": "a"}]
    (reject,) = rejected(in_csv, CONNECTORS).collect()
    assert reject["reason"] == "config: topics is not map<string,string>"


def test_text_with_another_separator_is_no_list(spark: SparkSession) -> None:
    """In every format, also where only some rows have it."""
    texts = ["range,roundrobin", '["range", "roundrobin"]', "{range}", "['range']"]
    rows = [("g", "b", "range", " "), *(("g", f"a{number}", text, "t; u") for number, text in enumerate(texts))]
    fitted = fit(given_rows(spark, rows, LISTS_AS_TEXT), MEMBERS)
    (row,) = usable(fitted).collect()
    assert (row["member_id"], row["protocols"], row["subscription"]) == ("b", ["range"], [])
    reasons = [row["reason"] for row in rejected(fitted, MEMBERS).collect()]
    assert sorted(reasons) == sorted(
        f"protocols: {text} is not a list of names with ';' between them" for text in texts
    )


LISTS_AS_TEXT = "group_id string, member_id string, protocols string, subscription string"


def test_a_table_of_another_kind_is_recognized(spark: SparkSession) -> None:
    with pytest.raises(UserError, match=r"^topics: column 'topic' is missing; .*\. This looks like the table members$"):
        fit(members(spark, member("a", ["range"], ["t"])), TOPICS)
    with pytest.raises(UserError, match=r"^members: .*\. This looks like the table topics$"):
        fit(table(spark, TOPICS, []), MEMBERS)
    with pytest.raises(
        UserError, match=r"^topics: column 'partitions' is missing \(did you mean 'partition_count'\?\)"
    ):
        fit(spark.sql("SELECT 't' topic, 3 partition_count"), TOPICS)
