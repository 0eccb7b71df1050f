"""The job ``partition`` as a user calls it."""

import json
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import main
from rebalance_sim.tables import RECORD_PARTITIONS, TOPICS
from tests.engine.rows import record, records, table, topics
from tests.test_jobs import record as run_record


@pytest.fixture
def sent(spark: SparkSession, tmp_path: Path) -> list[str]:
    """Write topics and records, some rows of them bad, and return the options that name them."""
    bad_topic = table(spark, TOPICS, [{"topic": "bad", "partitions": -2}])
    topics(spark, t=15, u=4).unionByName(bad_topic).write.parquet(f"{tmp_path}/topics")
    records(
        spark,
        *[record(b"TT0124") for _ in range(3)],
        record(b"TT0124", client="librdkafka"),
        record(b"", client="librdkafka"),
        record(b"", "u"),
        record(None, "u"),
        record(None, "u", explicit_partition=1),
        record(b"k", "u", explicit_partition=4),
        record(b"k", "bad"),
    ).write.parquet(f"{tmp_path}/records")
    return ["--topics", f"{tmp_path}/topics", "--records", f"{tmp_path}/records"]


def test_partition(spark: SparkSession, sent: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By default each record goes by the rules of its own client."""
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
    assert Counter((row["client"], row["topic"], row["partition"]) for row in placed.collect()) == {
        ("java-3.3", "t", 10): 3,
        ("librdkafka", "t", 9): 1,
        ("librdkafka", "t", None): 1,
        ("java-3.3", "u", 275646681 % 4): 2,  # One by its empty key, one as it asks.
        ("java-3.3", "u", None): 1,
    }
    told = capsys.readouterr().out
    assert "TT0124: 3 of 3 records" in told
    assert "rows used: 2 of 3 topics, 8 of 10 records; rejected: 3" in told
    reasons = {row["reason"] for row in spark.read.parquet(f"{out}/rejects").where("table = 'records'").collect()}
    assert reasons == {"explicit_partition is 4; allowed: 0 to 3", "topic 'bad' is not in the topics table"}


def test_several_clients_send_each_record(spark: SparkSession, sent: list[str], tmp_path: Path) -> None:
    """A record counts once, however many clients would send it."""
    out = tmp_path / "out"
    asked = ["--client", "java-2.4,sarama", "--heaviest-keys", "exact"]
    assert main(["partition", *sent, *asked, "--output-format", "json", "--out", str(out)]) == 0
    assert run_record(out)["rows"]["used"]["records"] == 8
    assert run_record(out)["rows"]["out"]["record_partitions"] == 16
    written = [json.loads(line) for file in (out / "record_partitions").glob("*.json") for line in file.open()]
    assert Counter(row["client"] for row in written) == {"java-2.4": 8, "sarama": 8}


PARTITION_MISTAKES = [
    (["--client", "jvaa-3.3"], "--client: 'jvaa-3.3' is not known (did you mean 'java-3.3'?); allowed: java-2.3, "),
    (["--client", "java-3.3,"], "--client: '' is not known; allowed: java-2.3, "),
    (["--records", "typo.json"], "records: cannot read 'typo.json' as parquet: "),
    (["--on-bad-input", "fail"], "records: explicit_partition is 4; allowed: 0 to 3: {"),
]


@pytest.mark.parametrize(("options", "told"), PARTITION_MISTAKES)
def test_mistakes_of_partition(
    sent: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], told: str
) -> None:
    assert main(["partition", *sent, *options, "--out", f"{tmp_path}/out"]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("[")]
    assert len(lines) == 1
    assert told in lines[0]
    assert not (tmp_path / "out" / "_run.json").exists()
