"""The job streams: what it prints and writes, and the mistakes that it reports."""

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import USER_ERROR, main
from tests.support.cluster.live_set_ups import OFFSETS_RECORD

pytestmark = pytest.mark.usefixtures("small_runs")

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "streams"
_NAMES = {"members": "--streams-members", "subtopologies": "--subtopologies", "topics": "--topics"}


def _tables(folder: Path) -> list[str]:
    return [part for name, option in _NAMES.items() for part in (option, f"{folder}/{name}.json")]


def test_two_groups(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One loses a process; the other reads a topic that is missing, and one of its members has no process."""
    shutil.copytree(EXAMPLES, tmp_path / "in")
    with (tmp_path / "in/members.json").open("a") as file:
        file.write(json.dumps({"group_id": "other", "member_id": "a", "process_id": "p"}) + "\n")
        file.write(json.dumps({"group_id": "other", "member_id": "b", "process_id": ""}) + "\n")
    with (tmp_path / "in/subtopologies.json").open("a") as file:
        file.write(json.dumps({"group_id": "other", "subtopology": "0", "topics": ["gone"], "stateful": True}) + "\n")
    assert main(["streams", *_tables(tmp_path / "in"), "--leave", "pod-3", "--out", f"{tmp_path}/out"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("2 streams groups, 6 tasks; the state of 0 active tasks is restored")
    assert "1 group has no assignment, first other: topic 'gone' is missing: the topology is not ready" in printed
    assert "read 5 streams members, 3 subtopologies, 2 topics; 1 row rejected" in printed
    (balance,) = spark.read.parquet(f"{tmp_path}/out/streams_balance").where("error IS NULL").collect()
    assert (balance["members"], balance["moved"], balance["restored"], balance["standbys_started"]) == (2, 2, 0, 2)
    tasks = spark.read.parquet(f"{tmp_path}/out/streams_tasks").groupBy("role").count().collect()
    assert dict(map(tuple, tasks)) == {"active": 6, "standby": 3}


def test_more_standby_replicas(spark: SparkSession, tmp_path: Path) -> None:
    assert main(["streams", *_tables(EXAMPLES), "--standby-replicas", "2", "--out", f"{tmp_path}/out"]) == 0
    (balance,) = spark.read.parquet(f"{tmp_path}/out/streams_balance").collect()
    assert (balance["standby_replicas"], balance["standbys_started"], balance["moved"]) == (2, 3, 0)


def test_brokers_without_streams_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["streams", *_tables(EXAMPLES), "--kafka-version", "3.9", "--out", f"{tmp_path}/out"]) == 0
    assert "first pricing: the brokers of Kafka 3.9 have no streams groups" in capsys.readouterr().out


def test_a_topic_without_streams_groups(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spark.createDataFrame([(b"\0\2\0\1a", None, 0, 0)], OFFSETS_RECORD).write.parquet(f"{tmp_path}/dump")
    arguments = ["streams", "--offsets-topic", f"{tmp_path}/dump", "--topics", f"{EXAMPLES}/topics.json"]
    assert main([*arguments, "--out", f"{tmp_path}/out"]) == 0
    assert capsys.readouterr().out.startswith("0 streams groups, 0 tasks;")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (_tables(EXAMPLES)[:2] + _tables(EXAMPLES)[4:], "--streams-members and --subtopologies: give both"),
        ([*_tables(EXAMPLES), "--join", "-1"], "--join: -1"),
        ([*_tables(EXAMPLES), "--command-config", "a"], "--command-config: only allowed with --offsets-topic kafka:"),
    ],
)
def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(["streams", *arguments, "--out", f"{tmp_path}/out"]) == USER_ERROR
    assert message in capsys.readouterr().err
