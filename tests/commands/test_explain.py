"""``explain`` prints what the functions of the same name explain."""

from argparse import Namespace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_sim import explain_agreement, explain_assignment, explain_election, explain_key
from rebalance_sim.cli import main
from rebalance_sim.commands.job_options import JOBS
from tests.support.rows import given_by, member, members, topics


@pytest.fixture(scope="module")
def given(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the options for topics, and for members of three groups, two of which have the same name."""
    rows = members(
        spark,
        member("a", ["range", "roundrobin"], ["orders"]),
        member("b", ["roundrobin", "range"], ["orders"]),
        member("c", ["sticky"], ["orders"], group_id="billing"),
        member("d", ["range"], ["orders"], group_id="billing", cluster="eu"),
    )
    return given_by(tmp_path_factory.mktemp("given"), topics=topics(spark, orders=4, other=2), members=rows)


@pytest.mark.scale
def test_explanations_are_those_of_the_functions(
    spark: SparkSession, given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    metadata, rows = spark.read.parquet(given[1]), spark.read.parquet(given[3])
    assert main(["explain", "election", *given[2:], "--group", "g", "--kafka-version", "3.9"]) == 0
    assert capsys.readouterr().out == f"{explain_election(rows, '3.9', group_id='g')!r}\n"

    asked = ["--group", "g", "--topic", "orders", "--partition", "1", "--strategy", "elected,sticky"]
    assert main(["explain", "assignment", *given, *asked]) == 0
    expected = [explain_assignment(rows, metadata, ("orders", 1), name, group_id="g") for name in ("elected", "sticky")]
    assert capsys.readouterr().out == "".join(f"{each!r}\n" for each in expected)

    assert main(["explain", "key", "--topics", given[1], "--topic", "orders", "--key", "TT0124"]) == 0
    assert capsys.readouterr().out == f"{explain_key('TT0124', 4)!r}\n"


def test_a_cluster_chooses_among_groups_of_one_name(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "election", *given[2:], "--group", "billing", "--cluster", "eu"]) == 0
    assert "group 'billing' elects range" in capsys.readouterr().out


def test_a_key_with_its_number_of_partitions_needs_no_spark(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr("rebalance_sim.commands.starting.start")
    assert main(["explain", "key", "--key-hex", "ff00", "--partitions", "15", "--client", "sarama,java-3.3"]) == 0
    expected = [explain_key(b"\xff\x00", 15, client) for client in ("sarama", "java-3.3")]
    assert capsys.readouterr().out == "".join(f"{each!r}\n" for each in expected)


TOPICS = {
    "topics.json": '{"topic": "orders", "partitions": 4}\n\n{"topic": "other", "partitions": 2, "cluster": "eu"}\n',
    "topics.csv": "cluster,topic,partitions,topic_id\n,orders,4,\neu,other,2,AAAAAAAAAAAAAAAAAAAAAA\n",
}
LEFT_TO_SPARK = {
    "twice.json": TOPICS["topics.json"] * 2,
    "text.json": '{"topic": "orders", "partitions": "4"}',
    "unusable.json": '{"topic": "orders", "partitions": 4, "racks": [["a"]]}',
    "no-id.json": '{"topic": "orders", "partitions": 4, "topic_id": "1"}',
    "negative.json": '{"topic": "orders", "partitions": -4}',
    "none.json": '{"topic": "payments", "partitions": 4}',
    "broken.json": '{"topic": "orders", "partitions": 4}\n{',
    "list.json": '[{"topic": "orders", "partitions": 4}]',
    "quoted.csv": 'topic,partitions\n"orders",4\n',
    "short.csv": "topic,partitions\norders\n",
    "digits.csv": "topic,partitions\norders,٤\n",
    "number.json": '{"topic": "orders", "partitions": 4, "topic_id": 1}',
    "fraction.csv": "topic,partitions\norders,4.0\n",
    "folder.json/cluster=eu/a.json": '{"topic": "orders", "partitions": 4}',
}


@pytest.mark.parametrize("name", ["topics", *TOPICS])
def test_the_partitions_in_a_small_local_table_need_no_spark(
    given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / name).write_text(TOPICS.get(name, ""))
    path = str(tmp_path / name) if name in TOPICS else given[1]
    asked = ["explain", "key", "--topics", path, "--topic", "orders", "--key", "TT0124", "--cluster", "default"]
    assert main(asked) == 0
    with_spark = capsys.readouterr().out
    monkeypatch.delattr("rebalance_sim.commands.starting.start")
    monkeypatch.setattr("rebalance_sim.engine.runs.files.spark_runs", lambda: False)
    assert main(asked) == 0
    assert capsys.readouterr().out == with_spark == f"{explain_key('TT0124', 4)!r}\n"


@pytest.mark.parametrize("name", LEFT_TO_SPARK)
def test_what_spark_may_read_otherwise_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("rebalance_sim.engine.runs.files.spark_runs", lambda: False)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(LEFT_TO_SPARK[name])
    asked = {"what": "key", "partitions": None, "topic": "orders", "cluster": None, "format": "auto"}
    assert JOBS["explain"].needs_spark(Namespace(**asked, topics=str(tmp_path / name.partition("/")[0])))


def test_clients_are_compared_without_records_and_without_spark(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr("rebalance_sim.commands.starting.start")
    assert main(["explain", "agreement", "--partitions", "12", "--client", "sarama,java-3.3,aiokafka"]) == 0
    pairs = [("sarama", "java-3.3"), ("sarama", "aiokafka"), ("java-3.3", "aiokafka")]
    assert capsys.readouterr().out == "".join(f"{explain_agreement(pair, 12)!r}\n" for pair in pairs)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("vote", "WHAT: 'vote' is not known; allowed: election, assignment, key, agreement"),
        ("elections --members m", "WHAT: 'elections' is not known (did you mean 'election'?); allowed: election, "),
        ("election", "explain election needs --members"),
        ("election MEMBERS", "--group: needed to choose one of several, such as 'billing', 'g'"),
        ("election MEMBERS --group billing", "--cluster: needed to choose one of several, such as 'default', 'eu'"),
        ("election MEMBERS --group biling", "--group: group 'biling' does not exist; similar: 'billing', 'g'"),
        ("election MEMBERS --cluster us", "members: there are no groups in cluster 'us'"),
        ("assignment MEMBERS --group g", "explain assignment needs --topics"),
        ("assignment TOPICS MEMBERS --group g --topic orders", "explain assignment needs --partition"),
        ("assignment TOPICS MEMBERS --group g --topic order --partition 0", "topic: 'order' is not known"),
        ("key --partitions 3", "give --key or --key-hex"),
        ("key --key a", "give --partitions, or --topics and --topic"),
        ("key --key a TOPICS --topic oders", "--topic: 'oders' is not known (did you mean 'orders'?)"),
        ("agreement --partitions 3", "--client: 'java-3.3' is one client; explain agreement needs at least two"),
        ("agreement --client java-3.3,sarama", "give --partitions, or --topics and --topic"),
        ("agreement --client sarama,java-3.3 --partitions 0", "partitions is 0; allowed: at least 1"),
        ("key --key-hex xy --partitions 3", "--key-hex: 'xy' is not hexadecimal"),
        ("key --key a --partitions 3 --client sarma", "client: 'sarma' is not known (did you mean 'sarama'?)"),
    ],
)
def test_mistakes_take_one_line(
    given: list[str], capsys: pytest.CaptureFixture[str], arguments: str, expected: str
) -> None:
    named = arguments.replace("TOPICS", " ".join(given[:2])).replace("MEMBERS", " ".join(given[2:]))
    assert main(["explain", *named.split()]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.partition(": ")[2].startswith(expected)
