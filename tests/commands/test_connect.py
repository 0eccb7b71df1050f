"""The job connect: what it prints and writes, where it reads clusters from, and the mistakes that it reports."""

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import USER_ERROR, main
from rebalance_sim.commands.connect_summary import shown_clusters, summarise_assignments, summarise_costs
from rebalance_sim.commands.console import Table
from rebalance_sim.tables import CONNECT_COSTS, CONNECT_REBALANCES, TASK_ASSIGNMENTS
from tests.support.cluster.topic_reader import OFFSETS_RECORD
from tests.support.connect_records import record_of, worker_member
from tests.support.rows import table

pytestmark = pytest.mark.usefixtures("small_runs")

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "connect"
TABLES = ["--workers", f"{EXAMPLES}/workers.json", "--connectors", f"{EXAMPLES}/connectors.json"]


def test_tables_and_counts(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two clusters, one of them without workers; a worker without an id, and a step that Connect does not have."""
    shutil.copytree(EXAMPLES, tmp_path / "in")
    with (tmp_path / "in/workers.json").open("a") as file:
        file.write(json.dumps({"group_id": "copy", "member_id": ""}) + "\n")
    with (tmp_path / "in/connectors.json").open("a") as file:
        file.write(json.dumps({"group_id": "empty", "connector": "a", "tasks": 1}) + "\n")
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(
        "steps:\n  - {event: restart, at_ms: 0, members: [2], down_ms: 20000}\n  - {event: grow, at_ms: 0, add: 1}\n"
    )
    arguments = ["connect", f"--workers={tmp_path}/in/workers.json", f"--connectors={tmp_path}/in/connectors.json"]
    assert main([*arguments, "--scenario", str(scenario), "--out", f"{tmp_path}/out"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("2 Connect clusters, 3 rebalances, 606.0 s of downtime over all connectors and tasks\n")
    assert "1 cluster cannot be simulated (see column error of connect_costs)" in printed
    assert "read 4 workers, 3 connectors, 2 rows of scenario; 2 rows rejected" in printed
    rejects = spark.read.parquet(f"{tmp_path}/out/rejects").select("table", "reason").collect()
    assert sorted(map(tuple, rejects)) == [
        ("scenario", "line 3: grow: an event of groups of consumers; allowed: join, leave, crash, restart, configure"),
        ("workers", "member_id is null or empty"),
    ]
    errors = spark.read.parquet(f"{tmp_path}/out/connect_costs").select("group_id", "error").collect()
    assert dict(map(tuple, errors)) == {"copy": None, "empty": "the cluster has connectors and no workers"}


def test_the_best_delay_and_what_it_depends_on(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a delay both tasks move, and move back: two starts more, and 54 s less downtime than after 30 s."""
    arguments = ["connect", *TABLES, "--scenario", f"{EXAMPLES}/one-restart.yaml", "--advice"]
    assert main([*arguments, "--out", f"{tmp_path}/out"]) == 0
    assert "saves 594.0 s in 1 cluster, if a connector or task starts within 27.0 s" in capsys.readouterr().out
    (best,) = spark.read.parquet(f"{tmp_path}/out/connect_advice").where("best").collect()
    assert (best["max_delay_ms"], best["started"], best["best_up_to_start_ms"]) == (0, 4, (66_000 - 12_000) // 2)


def test_the_answer_of_the_rest_api(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = f"{EXAMPLES}/connectors-expanded.json"
    assert main(["connect", "--rest-output", saved, "--group", "copy", "--out", f"{tmp_path}/out"]) == 0
    printed = capsys.readouterr().out
    assert "rebalances of copy" in printed
    assert "connect-3:8083              orders-2, orders-3" in printed
    assert "member ids, leader and join order are unknown" in printed

    assert main(["connect", "--rest-output", f"{EXAMPLES}/workers.json", "--out", f"{tmp_path}/out"]) == USER_ERROR
    assert "workers.json' is not the output of GET /connectors?expand=info&expand=status" in capsys.readouterr().err


MIRROR = EXAMPLES / "mirror"
MIRRORED = ["--source-topics", f"{MIRROR}/topics.json", "--source-offsets", f"{MIRROR}/offsets.json"]


def test_tasks_of_mirror_maker(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The configuration comes from the REST API, or from a JSON table, where it is an object."""
    saved = f"{MIRROR}/connectors.json"
    assert main(["connect", "--rest-output", saved, *MIRRORED, "--out", f"{tmp_path}/rest"]) == 0
    printed = capsys.readouterr().out
    assert "read 2 workers, 2 connectors, 8 topics, 4 offsets; 0 rows rejected" in printed
    assert "have the release of their workers" in printed
    rows = spark.read.parquet(f"{tmp_path}/rest/mirror_tasks")
    assert {row["error"] for row in rows.collect()} == {None}
    topics = rows.where("consumer_group IS NULL").groupBy("topic").count().collect()
    assert {row["topic"]: row["count"] for row in topics} == {
        "orders": 8,
        "orders.returns": 2,
        "payments": 2,
        "audit": 1,
        "heartbeats": 1,
    }
    groups = rows.where("topic IS NULL").select("consumer_group", "task", "worker").collect()
    assert {row["consumer_group"]: row["worker"] for row in groups}.keys() == {"billing", "shipping"}

    expanded = json.loads(Path(saved).read_text())
    connectors, workers = tmp_path / "connectors.json", tmp_path / "workers.json"
    lines = [
        {"group_id": "connect", "connector": name, "tasks": 4, "config": of["info"]["config"]}
        for name, of in expanded.items()
    ]
    connectors.write_text("\n".join(map(json.dumps, lines)))
    workers.write_text(json.dumps({"group_id": "connect", "member_id": "m"}))
    tables = ["--workers", str(workers), "--connectors", str(connectors)]
    assert main(["connect", *tables, *MIRRORED, "--out", f"{tmp_path}/tables"]) == 0
    assert "warning: east-to-west-checkpoints has 4 tasks, but 2 with its configuration" in capsys.readouterr().out
    same = [*(set(rows.columns) - {"worker"})]
    assert spark.read.parquet(f"{tmp_path}/tables/mirror_tasks").select(same).exceptAll(rows.select(same)).isEmpty()


def test_tasks_of_mirror_maker_that_are_not_predicted(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its source is another cluster, it has a filter of its own, or nothing that it selects."""
    config = {"connector.class": "MirrorSourceConnector", "source.cluster.alias": "east"}
    configs = {
        "other": config | {"source.cluster.alias": "north"},
        "own": config | {"topic.filter.class": "com.example.Filter"},
        "nothing": config | {"topics": "order", "heartbeats.replication.enabled": "false"},
        "checkpoints": config | {"connector.class": "MirrorCheckpoint"},
        "sink": {"connector.class": "FileStreamSink"},
    }
    lines = [{"group_id": "copy", "connector": name, "tasks": 1, "config": of} for name, of in configs.items()]
    (tmp_path / "connectors.json").write_text("\n".join(map(json.dumps, lines)))
    tables = [*TABLES[:2], "--connectors", f"{tmp_path}/connectors.json"]
    assert main(["connect", *tables, *MIRRORED[:2], "--out", f"{tmp_path}/out"]) == 0
    errors = spark.read.parquet(f"{tmp_path}/out/mirror_tasks").select("connector", "error").collect()
    assert dict(map(tuple, errors)) == {
        "other": "the topics of its source.cluster.alias 'north' are not given",
        "own": "topic.filter.class 'com.example.Filter' is not a class of Kafka: what it selects is unknown",
        "nothing": "it replicates nothing of its source.cluster.alias 'east'",
        "checkpoints": "the committed offsets of its source.cluster.alias 'east' are not given",
    }
    assert "the tasks of own are not predicted: topic.filter.class" in capsys.readouterr().out
    assert main(["connect", *TABLES, *MIRRORED[:2], "--out", f"{tmp_path}/none"]) == 0
    assert "no connector of MirrorMaker 2 has a configuration that is known" in capsys.readouterr().out


def test_what_is_configured_is_read_from_the_config_topic(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Here a dump of it has one task more than run, and a deleted connector; other groups have what runs."""
    text = Path(f"{EXAMPLES}/config-topic.txt").read_text()
    records: list[list[str | None]] = [[*line.split("\t")] for line in text.splitlines()]
    records += [["task-payments-0", "{}"], ["task-payments-1", "{}"], ["task-payments-2", "{}"]]
    records += [["commit-payments", '{"tasks": 3}'], ["connector-gone", None], ["commit-gone", '{"tasks": 0}']]
    rows = [(*(each and each.encode() for each in record), n) for n, record in enumerate(records)]
    dump = f"{tmp_path}/dump"
    spark.createDataFrame(rows, "key binary, value binary, offset long").repartition(3).write.parquet(dump)
    workers = [json.loads(line) for line in Path(f"{EXAMPLES}/workers.json").read_text().splitlines()]
    listed = tmp_path / "workers.json"
    others = [worker | {"group_id": "other"} for worker in workers]
    listed.write_text("\n".join(map(json.dumps, workers + others)))
    out = f"{tmp_path}/out"
    assert main(["connect", "--workers", str(listed), "--config-topic", f"copy={dump}", "--out", out]) == 0
    assert "the configured connectors are those that run" in capsys.readouterr().out
    costs = spark.read.parquet(f"{out}/connect_costs").select("group_id", "connectors", "tasks").collect()
    assert sorted(map(tuple, costs)) == [("copy", 2, 7), ("other", 2, 6)]
    assert main(["connect", *TABLES[:2], "--config-topic", f"copy={dump}", "--out", out]) == 0
    assert "the configured connectors are those that run" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("copy", "--config-topic: 'copy' is not GROUP=WHERE"),
        ("copy=kafka:connect-configs", "kafka:TOPIC is only allowed with --offsets-topic kafka:HOST:PORT"),
        ("copy=no-such-file", "cannot read the config topic 'no-such-file': it does not exist"),
        (f"copy={EXAMPLES}/workers.json", "has no connector: it is not what kafka-console-consumer.sh prints"),
    ],
)
def test_a_config_topic_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str, error: str
) -> None:
    assert main(["connect", *TABLES[:2], "--config-topic", given, "--out", f"{tmp_path}/out"]) == USER_ERROR
    assert error in capsys.readouterr().err


def test_workers_without_a_table_of_connectors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["connect", *TABLES[:2], "--out", f"{tmp_path}/out"]) == 0
    printed = capsys.readouterr().out
    assert "read 3 workers, 2 connectors; 0 rows rejected" in printed
    assert "the configured connectors are those that run" in printed


def test_the_workers_of_the_offsets_topic(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last record of a cluster counts; a worker with malformed bytes is rejected, and other groups are left out."""
    older = record_of("copy", [worker_member("a")], generation=1)
    newer = record_of(
        "copy",
        [
            worker_member("a", runs=[("orders", 0)], told=[("orders", -1)], revoked=[("orders", 0)]),
            worker_member("b", told=[("orders", 1)], delay_ms=40_000),
            worker_member("c", told=None),
        ],
        generation=2,
    )
    consumers = record_of("billing", [worker_member("a")], protocol_type="consumer")
    records = [(*record, 0, offset) for offset, record in enumerate((older, newer, consumers))]
    spark.createDataFrame(records, OFFSETS_RECORD).write.parquet(f"{tmp_path}/dump")
    assert main(["connect", "--offsets-topic", f"{tmp_path}/dump", "--out", f"{tmp_path}/out"]) == 0
    printed = capsys.readouterr().out
    assert "read 3 workers, 1 connector; 1 row rejected" in printed
    assert "the configured connectors are those that run" in printed
    (cost,) = spark.read.parquet(f"{tmp_path}/out/connect_costs").collect()
    assert (cost["group_id"], cost["workers"], cost["connectors"], cost["tasks"]) == ("copy", 2, 1, 2)
    (reject,) = spark.read.parquet(f"{tmp_path}/out/rejects").collect()
    assert reject["reason"] == "worker assignment: version: 2 bytes expected at byte 0, 0 are left"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*TABLES, "--settings", "start_ms=5"], "--settings: only allowed with --scenario"),
        ([*TABLES, "--scenario", "deployment"], "deployment is a rollout of Kubernetes; Connect clusters"),
        ([*TABLES, "--scenario", "topic-growth"], "no step can be used"),
        ([*TABLES, "--command-config", "a"], "--command-config: only allowed with --offsets-topic kafka:HOST:PORT"),
    ],
)
def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(["connect", *arguments, "--out", f"{tmp_path}/out"]) == USER_ERROR
    assert message in capsys.readouterr().err


def test_consumers_have_no_connectors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text("steps:\n  - {event: configure, at_ms: 0, connector: orders, tasks: 2}\n")
    tables = ["--topics", "topics", "--members", "members"]
    assert main(["simulate", *tables, "--scenario", str(scenario), "--out", f"{tmp_path}/out"]) == USER_ERROR
    assert "configure: an event of Connect clusters; allowed: join, leave" in capsys.readouterr().err


def test_all_tables_begin_with_the_most_expensive_cluster(spark: SparkSession) -> None:
    usual = dict.fromkeys(("workers", "tasks", "rebalances", "started", "moved", "unassigned", "stable_ms"), 0)
    rows = [
        usual | {"group_id": group, "downtime_ms": ms, "longest_downtime_ms": ms, "stable": True}
        for group, ms in (("a", 1), ("b", 2))
    ]
    costs = table(spark, CONNECT_COSTS, [*rows, {"group_id": "c", "error": "why"}])
    rebalance = {"rebalance": 1, "at_ms": 0, "delay_ms": 0}
    of_groups = [{"group_id": group, "connector": "copy", "worker": "w"} | rebalance for group in "abc"]
    shown = shown_clusters(costs)
    lines = summarise_costs(costs, table(spark, CONNECT_REBALANCES, of_groups), shown)
    assert [line for line in lines if isinstance(line, str)][-1] == "rebalances of b"
    first = next(line for line in lines if isinstance(line, Table))
    assert [row[0] for row in first.rows] == ["b", "a"]
    assert summarise_assignments(table(spark, TASK_ASSIGNMENTS, of_groups), shown)[0] == "at the end in b"
