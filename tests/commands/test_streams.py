"""The job streams: what it prints and writes, and the mistakes that it reports."""

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import USER_ERROR, main
from rebalance_sim.commands.console import Line, Table
from rebalance_sim.commands.streams_summary import (
    shown_groups,
    summarise_groups,
    summarise_moves,
    summarise_restoration,
    summarise_tasks,
)
from rebalance_sim.tables import STREAMS_BALANCE, STREAMS_MOVES, STREAMS_TASKS
from tests.support.cluster.topic_reader import OFFSETS_RECORD
from tests.support.rows import table

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


def test_one_simulation_has_the_whole_fleet(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Streams groups beside one of consumers: their rows are those of the job streams."""
    consumer = {"group_id": "c", "member_id": "c", "protocols": ["range"], "subscription": ["orders"]}
    (tmp_path / "consumers.json").write_text(json.dumps(consumer) + "\n")
    played = ["--scenario", "rolling-restart", "--timeline", "all"]
    assert main(["streams", *_tables(EXAMPLES), *played, "--out", f"{tmp_path}/streams"]) == 0
    capsys.readouterr()
    given = [*_tables(EXAMPLES), "--members", f"{tmp_path}/consumers.json", *played, "--advice"]
    assert main(["simulate", *given, "--follow", "pricing", "--out", f"{tmp_path}/out"]) == 0
    printed = capsys.readouterr().out
    assert "default pricing, elected:" in printed
    assert "2 groups, 2 rebalances, 6 epochs of share or streams groups" in printed
    assert "restoring its state takes no time" in printed
    assert "3 streams members, 2 subtopologies" in printed
    for name in ("costs", "bounces", "rebalances", "timeline", "owned_partitions"):
        rows, expected = (spark.read.parquet(f"{tmp_path}/{folder}/{name}") for folder in ("out", "streams"))
        assert sorted(map(str, rows.where("group_id = 'pricing'").collect())) == sorted(map(str, expected.collect()))
    assert {row["group_id"] for row in spark.read.parquet(f"{tmp_path}/out/costs").collect()} == {"c", "pricing"}
    mistake = ["--subtopologies", "x", "--topics", f"{EXAMPLES}/topics.json", "--members", f"{tmp_path}/consumers.json"]
    assert main(["simulate", *mistake, *played, "--out", f"{tmp_path}/wrong"]) == USER_ERROR
    assert "--subtopologies: needs members, which have their tasks: give --streams-members" in capsys.readouterr().err


def test_more_standby_replicas(spark: SparkSession, tmp_path: Path) -> None:
    assert main(["streams", *_tables(EXAMPLES), "--standby-replicas", "2", "--out", f"{tmp_path}/out"]) == 0
    (balance,) = spark.read.parquet(f"{tmp_path}/out/streams_balance").collect()
    assert (balance["standby_replicas"], balance["standbys_started"], balance["moved"]) == (2, 3, 0)


def test_restoring_at_a_rate(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The group with known changelogs has times: a new process restores an active task, and then a standby task."""
    shutil.copytree(EXAMPLES, tmp_path / "in")
    parts = [json.loads(line) for line in (tmp_path / "in/subtopologies.json").read_text().splitlines()]
    parts[1]["changelogs"] = ["rocks", "cache"]
    other = {**parts[1], "group_id": "other", "changelogs": None}
    (tmp_path / "in/subtopologies.json").write_text("".join(json.dumps(part) + "\n" for part in [*parts, other]))
    with (tmp_path / "in/members.json").open("a") as file:
        file.write(json.dumps({"group_id": "other", "member_id": "a", "process_id": "p"}) + "\n")
    with (tmp_path / "in/topics.json").open("a") as file:
        for topic, end in (("rocks", 60_000), ("cache", 40_000)):
            file.write(json.dumps({"topic": topic, "partitions": 3, "end_offsets": [end] * 3}) + "\n")
    arguments = [*_tables(tmp_path / "in"), "--join", "1", "--restore-rate", "1000", "--out", f"{tmp_path}/out"]
    assert main(["streams", *arguments]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "pricing 100,000 records after 2 min none at once" in printed
    assert "how long state is restored is unknown in 1 group, first other: give changelogs" in printed
    assert "changelog topics do not grow meanwhile" in printed
    tasks = spark.read.parquet(f"{tmp_path}/out/streams_tasks").where("process_id = 'new-process-1'")
    times = {row["role"]: (row["records"], row["restored_ms"]) for row in tasks.where("group_id = 'pricing'").collect()}
    assert times == {"active": (100_000, 100_000), "standby": (100_000, 200_000)}
    (move,) = spark.read.parquet(f"{tmp_path}/out/streams_moves").where("group_id = 'pricing'").collect()
    assert (move["partition"], move["records"], move["begun_ms"], move["moved_ms"]) == (2, 100_000, 0, 0)


def test_a_scenario(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A step that cannot be used is rejected; the other one is simulated, beside the assignment."""
    steps = [{"event": "leave", "at_ms": 10_000, "members": 1}, {"event": "sleep"}]
    (tmp_path / "steps.yaml").write_text(json.dumps({"steps": steps}))
    arguments = [*_tables(EXAMPLES), "--scenario", f"{tmp_path}/steps.yaml", "--timeline", "pricing"]
    arguments += ["--settings", "group_streams_heartbeat_interval_ms=1000", "--seed", "2", "--out", f"{tmp_path}/out"]
    assert main(["streams", *arguments]) == 0
    printed = capsys.readouterr().out
    assert "1 group, 1 epoch" in printed
    assert "group_streams_heartbeat_interval_ms 1000" in printed
    assert "restoring its state takes no time" in printed
    assert "1 row rejected" in printed
    (costs,) = spark.read.parquet(f"{tmp_path}/out/costs").collect()
    assert (costs["consumers"], costs["moved"], costs["stable"]) == (3, 2, True)
    assert 0 < costs["max_unowned_ms"] <= 1200
    assert not spark.read.parquet(f"{tmp_path}/out/timeline").isEmpty()
    assert spark.read.parquet(f"{tmp_path}/out/streams_balance").count() == 1


def test_all_tables_begin_with_the_group_that_restores_most(spark: SparkSession) -> None:
    usual = {"protocol": "streams", "tasks": 1, "members": 1, "processes": 1, "standby_replicas": 0, "moved": 0}
    usual |= {"standbys_started": 0, "min_active": 1, "max_active": 1}
    of_groups = {"a": (0, 10), "b": (1, 20), "c": (2, None)}
    rows = [
        usual | {"group_id": group, "restored": restored, "restored_ms": ms, "stable_ms": ms, "records": ms}
        for group, (restored, ms) in of_groups.items()
    ]
    task = {"subtopology": "0", "partition": 0, "member_id": "m", "process_id": "p", "role": "active", "restored_ms": 1}
    move = task | {"from_process": "q", "records": 1, "moved_ms": 0, "begun_ms": 0}
    of_tasks, of_moves = (
        table(spark, of, [row | {"group_id": group} for group in "abc"])
        for of, row in ((STREAMS_TASKS, task), (STREAMS_MOVES, move))
    )

    def listed(lines: list[Line]) -> list[str]:
        return [str(row[0]) for line in lines if isinstance(line, Table) for row in line.rows]

    balance = table(spark, STREAMS_BALANCE, rows)
    shown = shown_groups(balance)
    assert listed(summarise_groups(balance, shown)) == ["b", "a", "c"]
    assert listed(summarise_restoration(balance, shown, 1)) == ["b", "a"]
    assert summarise_moves(of_moves, shown)[0] == "moves of b"
    assert summarise_tasks(of_tasks, shown)[0] == "tasks of b"
    unknown = table(spark, STREAMS_BALANCE, [row | {"restored_ms": None, "stable_ms": None} for row in rows])
    assert [row["group_id"] for row in shown_groups(unknown)] == ["c", "b", "a"]


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
        ([*_tables(EXAMPLES), "--topology", "a=b"], "--subtopologies and --topology: give one of them"),
        ([*_tables(EXAMPLES)[:2], *_tables(EXAMPLES)[4:], "--topology", "a"], "--topology: 'a' is not GROUP=FILE"),
        ([*_tables(EXAMPLES)[:2], *_tables(EXAMPLES)[4:], "--topology", "a=b"], "--topology: b cannot be read"),
        ([*_tables(EXAMPLES)[:2], *_tables(EXAMPLES)[4:], "--topology", f"a={__file__}"], "has no subtopology"),
        ([*_tables(EXAMPLES), "--restore-rate", "0"], "--restore-rate: 0"),
        ([*_tables(EXAMPLES), "--acceptable-recovery-lag", "-1"], "--acceptable-recovery-lag: -1"),
        ([*_tables(EXAMPLES), "--probing-rebalance-interval-ms", "1"], "--probing-rebalance-interval-ms: 1"),
        ([*_tables(EXAMPLES), "--settings", "start_ms=5"], "--settings: only allowed with --scenario"),
        ([*_tables(EXAMPLES), "--scenario", "leave", "--join", "1"], "--scenario: begins with the members that"),
        ([*_tables(EXAMPLES), "--scenario", "no-such"], "no-such"),
        ([*_tables(EXAMPLES), "--command-config", "a"], "--command-config: only allowed with --offsets-topic kafka:"),
    ],
)
def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(["streams", *arguments, "--out", f"{tmp_path}/out"]) == USER_ERROR
    assert message in capsys.readouterr().err
