"""The job ``partition`` as a user calls it."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import main
from rebalance_sim.tables import RECORD_PARTITIONS, TOPICS
from tests.commands.test_jobs import record as run_record
from tests.support.keys import partition_of
from tests.support.rows import given_by, record, records, table, topics

pytestmark = pytest.mark.usefixtures("small_runs")


@pytest.fixture(scope="module")
def sent(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Write topics and records, some rows of them bad, and return the options that name them."""
    bad_topic = table(spark, TOPICS, [{"topic": "bad", "partitions": -2}])
    rows = [
        *[record(b"TT0124") for _ in range(3)],
        record(b"TT0124", client="librdkafka"),
        record(b"", client="librdkafka"),
        record(b"", "u"),
        record(None, "u"),
        record(None, "u", explicit_partition=1),
        record(b"k", "u", explicit_partition=4),
        record(b"k", "bad"),
    ]
    usable_and_not = topics(spark, t=15, u=4).unionByName(bad_topic)
    return given_by(tmp_path_factory.mktemp("sent"), topics=usable_and_not, records=records(spark, *rows))


@pytest.mark.scale
def test_partition(spark: SparkSession, sent: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By default each record follows the rules of its own client."""
    out = tmp_path / "out"
    assert main(["partition", *sent, "--out", str(out)]) == 0
    rows = run_record(out)["rows"]
    assert rows["in"] == {"topics": 3, "records": 10}
    assert rows["used"] == {"topics": 2, "records": 8}
    assert rows["rejected"] == {"topics": 1, "records": 2}
    assert rows["out"]["record_partitions"] == 8
    assert {path.name for path in out.iterdir() if path.is_dir()} == rows["out"].keys()
    placed = spark.read.parquet(f"{out}/record_partitions")
    assert placed.columns == RECORD_PARTITIONS.names
    fixed = placed.where("key != X'' OR explicit_partition IS NOT NULL OR client = 'java-3.3' AND key IS NOT NULL")
    assert Counter((row["client"], row["topic"], row["partition"]) for row in fixed.collect()) == {
        ("java-3.3", "t", 10): 3,
        ("librdkafka", "t", 9): 1,
        ("java-3.3", "u", 275646681 % 4): 2,  # One by its empty key, one by its explicit partition.
    }
    assert placed.where("partition IS NULL").isEmpty()
    (requests,) = spark.read.parquet(f"{out}/produce_requests").where("client = 'java-3.3'").collect()
    assert (requests["records"], requests["producers"], requests["waited_ms"]) == (6, 1, 5.0)
    assert spark.read.parquet(f"{out}/batches").agg({"records": "sum"}).collect() == [(8,)]
    (risk,) = spark.read.parquet(f"{out}/topics_at_risk").collect()
    assert (risk["topic"], risk["clients"], risk["records_split"]) == ("t", ["java-3.3", "librdkafka"], 4)
    console = capsys.readouterr().out
    assert "TT0124: 3 of 3 records" in console
    assert "  t      1 record has an empty key: librdkafka treats it as no key\n" in console
    assert "TT0124: java-3.3 10, librdkafka 9" in console
    assert "read 3 topics, 10 records; 3 rows rejected" in console
    reasons = {row["reason"] for row in spark.read.parquet(f"{out}/rejects").where("table = 'records'").collect()}
    assert reasons == {"explicit_partition is 4; allowed: 0 to 3", "topic 'bad' is not in the topics table"}


@pytest.mark.scale
def test_with_several_clients_each_record_counts_once_as_input(sent: list[str], tmp_path: Path) -> None:
    """It has one output row per client. All topics may grow to the same number of partitions."""
    out = tmp_path / "out"
    asked = ["--client", "java-2.4,sarama", "--heaviest-keys", "exact", "--partitions-after", "30"]
    assert main(["partition", *sent, *asked, "--output-format", "json", "--out", str(out)]) == 0
    rows = run_record(out)["rows"]
    assert (rows["used"]["records"], rows["out"]["record_partitions"]) == (8, 16)
    assert rows["in"].keys() == {"topics", "records"}

    def written(name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for file in (out / name).glob("*.json") for line in file.open()]

    assert Counter(row["client"] for row in written("record_partitions")) == {"java-2.4": 8, "sarama": 8}
    assert {row["partitions_after"] for row in written("partition_growth")} == {30}


@pytest.mark.scale
def test_a_client_for_all_records_of_a_topic(
    spark: SparkSession, sent: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other topics keep the clients of their records, and records without the column have the default."""
    out = f"{tmp_path}/out"
    assert main(["partition", *sent, "--client", "t=sarama", "--out", out]) == 0
    placed = spark.read.parquet(f"{out}/record_partitions").where("explicit_partition IS NULL")
    found = Counter((row["client"], row["topic"]) for row in placed.collect())
    assert found == {("sarama", "t"): 5, ("java-3.3", "u"): 2}
    (place,) = placed.where("key = X'545430313234'").select("partition").distinct().collect()
    assert place["partition"] == partition_of("sarama", b"TT0124", 15)
    assert main(["partition", *sent, "--client", "java-3.3,t=sarama", "--out", out]) == 2
    assert "names a topic for some clients only; allowed: NAME,... or TOPIC=NAME,..." in capsys.readouterr().err
    assert main(["partition", *sent, "--client", "t=srama", "--out", out]) == 2
    assert "--client: 'srama' is not known (did you mean 'sarama'?)" in capsys.readouterr().err


@pytest.mark.scale
def test_keys_are_placed_without_records(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lines of a text file in every topic, the keys of a table in their topics."""
    topics(spark, t=15, u=4).write.parquet(f"{tmp_path}/topics")
    (tmp_path / "keys.txt").write_text("TT0124\nk1\nk2\n")
    out, of_topics = f"{tmp_path}/out", ["partition", "--topics", f"{tmp_path}/topics"]
    asked = ["--keys", f"{tmp_path}/keys.txt", "--client", "librdkafka", "--partitions-after", "16"]
    assert main([*of_topics, *asked, "--out", out]) == 0
    keys, sizes = (b"TT0124", b"k1", b"k2"), {"t": 15, "u": 4}
    placed = spark.read.parquet(f"{out}/record_partitions").collect()
    assert {(row["topic"], bytes(row["key"]), row["partition"]) for row in placed} == {
        (topic, key, partition_of("librdkafka", key, size)) for topic, size in sizes.items() for key in keys
    }
    rows = run_record(Path(out))["rows"]
    assert (len(placed), rows["in"], rows["used"]) == (6, {"topics": 2, "keys": 3}, {"topics": 2, "keys": 3})
    assert "read 2 topics, 3 keys; 0 rows rejected" in capsys.readouterr().out

    lines = [{"key": "k1", "topic": "u", "client": "sarama"}, {"key": "k2", "topic": "none"}, {"topic": "t"}]
    (tmp_path / "keys.json").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert main([*of_topics, "--keys", f"{tmp_path}/keys.json", "--out", out]) == 0
    (row,) = spark.read.parquet(f"{out}/record_partitions").collect()
    assert (row["client"], row["topic"], row["partition"]) == ("sarama", "u", partition_of("sarama", b"k1", 4))
    reasons = {row["reason"] for row in spark.read.parquet(f"{out}/rejects").where("table = 'keys'").collect()}
    assert reasons == {"topic 'none' is not in the topics table", "key is null"}
    assert main([*of_topics, "--out", out]) == 2


@pytest.mark.scale
def test_what_ifs_are_written_and_summarised(
    spark: SparkSession, sent: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A topic missing from the table of new partitions, or rejected there, keeps its partitions."""
    out, after = tmp_path / "out", tmp_path / "after"
    table(spark, TOPICS, [{"topic": "t", "partitions": 16}, {"topic": "u", "partitions": 0}]).write.parquet(str(after))
    asked = ["--partitions-after", str(after), "--compare", "java-3.3,librdkafka,kafka-python"]
    assert main(["partition", *sent, *asked, "--client", "sarama,java-3.3", "--out", str(out)]) == 0
    rows = run_record(out)["rows"]
    assert rows["in"] == {"topics": 3, "topics_after": 2, "records": 10}
    assert rows["used"] == {"topics": 2, "topics_after": 1, "records": 8}
    folders = {path.name for path in out.iterdir() if path.is_dir()}
    assert folders == rows["out"].keys()
    assert folders == {
        *("record_partitions", "partition_load", "partition_load_after", "partition_growth", "moved_keys", "batches"),
        *("produce_requests", "client_agreement", "conflicting_keys", "key_findings", "rejects"),
    }
    growth = {(row["client"], row["topic"]): row for row in spark.read.parquet(f"{out}/partition_growth").collect()}
    assert {which: (row["partitions"], row["partitions_after"], row["keys"]) for which, row in growth.items()} == {
        (client, topic): (n, after, keys)
        for client in ("sarama", "java-3.3")
        for topic, n, after, keys in (("t", 15, 16, 2), ("u", 4, 4, 1))
    }
    # Each record is compared once, although two clients place it.
    agreement = spark.read.parquet(f"{out}/client_agreement").where("topic = 't' AND other_client = 'librdkafka'")
    (pair,) = agreement.collect()
    assert (pair["keys"], pair["keys_agreed"], pair["records"], pair["examples"][0][0]) == (2, 0, 5, b"TT0124")
    console = capsys.readouterr().out
    assert "15 to 16" in console
    assert "TT0124: 10, 9" in console
    assert {tuple(row) for row in spark.read.parquet(f"{out}/moved_keys").collect()} == {
        (client, "default", "t", key, records, size, partition_of(client, key, 15), partition_of(client, key, 16))
        for client in ("sarama", "java-3.3")
        for key, records, size in ((b"TT0124", 4, 64), (b"", 1, 10))
    }
    assert "  topics_after: partitions is 0; allowed: 1 to 1000000 (1 row)\n" in console


PARTITION_MISTAKES = [
    (["--client", "jvaa-3.3"], "--client: 'jvaa-3.3' is not known (did you mean 'java-3.3'?); allowed: java-2.3, "),
    (["--client", "java-3.3,"], "--client: '' is not known; allowed: java-2.3, "),
    (["--compare", "java-3.3"], "--compare: 'java-3.3' is one client; at least two are needed"),
    (["--compare", "java-3.3,rdkafka"], "--compare: 'rdkafka' is not known (did you mean 'librdkafka'?); allowed: "),
    (["--partitions-after", "0"], "--partitions-after: 0 is not allowed; allowed: 1 to 1000000"),
    (["--partitions-after", "-3"], "--partitions-after: -3 is not allowed; allowed: 1 to 1000000"),
    (["--partitions-after", "typo"], "topics_after: cannot read 'typo': it does not exist"),
    (["--records", "typo.json"], "records: cannot read 'typo.json': it does not exist"),
    (["--linger-ms", "-1"], "--linger-ms: -1 is not allowed; allowed: 0 to 1073741824"),
    (["--batch-size", "2000000000"], "--batch-size: 2000000000 is not allowed; allowed: 0 to 1073741824"),
    pytest.param(
        ["--on-bad-input", "fail"], "records: explicit_partition is 4; allowed: 0 to 3: {", marks=pytest.mark.scale
    ),
]


@pytest.mark.parametrize(("options", "message"), PARTITION_MISTAKES)
def test_a_wrong_option_is_reported_in_one_line(
    sent: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main(["partition", *sent, *options, "--out", f"{tmp_path}/out"]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("[")]
    assert len(lines) == 1
    assert message in lines[0]
    assert not (tmp_path / "out" / "_run.json").exists()


@pytest.mark.scale
def test_batches_of_keyed_records_are_written_on_request(spark: SparkSession, tmp_path: Path) -> None:
    """By default they are not simulated, since no partition depends on them."""
    sent = records(spark, *[record(b"k", timestamp_ms=n) for n in range(4)])
    command = ["partition", *given_by(tmp_path, topics=topics(spark, t=4), records=sent)]
    assert main([*command, "--out", f"{tmp_path}/without"]) == 0
    assert "batches" not in run_record(tmp_path / "without")["rows"]["out"]
    for version, expected in (("3.9", [1, 1, 1, 1]), ("4.3", [4])):
        out = tmp_path / version
        assert main([*command, "--batches", "--kafka-version", version, "--out", str(out)]) == 0
        batches = spark.read.parquet(f"{out}/batches").collect()
        assert sorted(row["records"] for row in batches) == expected


@pytest.mark.scale
@pytest.mark.parametrize("batches", [[], ["--batches"]])
def test_a_run_without_usable_records_finishes(spark: SparkSession, tmp_path: Path, batches: list[str]) -> None:
    """No usable record means that no client is known either."""
    given = given_by(tmp_path, topics=topics(spark, t=4), records=records(spark, record(b"k", client="nobody's")))
    assert main(["partition", *given, *batches, "--out", f"{tmp_path}/out"]) == 0
    rows = run_record(tmp_path / "out")["rows"]
    assert (rows["used"]["records"], rows["rejected"]["records"]) == (0, 1)
    assert spark.read.parquet(f"{tmp_path}/out/record_partitions").isEmpty()
