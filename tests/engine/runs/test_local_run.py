"""Runs whose workers read and write the files themselves, against runs that do both through Spark."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.cli import main
from rebalance_sim.defaults import AUTO
from rebalance_sim.engine.groups.group_plan import GroupPlan
from rebalance_sim.engine.groups.sorted_members import SortedMembers
from rebalance_sim.engine.runs.local_run import LocalRun, runs_here
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.tables import TOPICS
from tests.support.rows import contents, member, members, written

JOBS = {
    "compared": ("assign", "--strategy", "elected,range,cooperative-sticky"),
    "elected": ("elect",),
    "restarted": ("simulate", "--scenario", "rolling-restart", "--timeline", "all"),
}

IN_ANY_ORDER = "in any order, 100%"


@pytest.fixture(scope="module")
def fleet(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a fleet, sorted by group, with a group whose members are partly refused, and the same rows in any order."""
    folder = tmp_path_factory.mktemp("fleets")
    assert main(["fleet", "--synthetic", "small", "--groups", "60", "--out", f"{folder}/fleet"]) == 0
    refused = [member("a", ["range"], ["t"], protocol_type="connect"), member("b", ["sticky"], ["t"])]
    repeated = [member("c", ["range"], ["t"], group_id="h"), member("c", ["range"], ["u"], group_id="h")]
    rows = spark.read.parquet(f"{folder}/fleet/members").unionByName(members(spark, *refused, *repeated))
    by_group = rows.repartitionByRange(3, "group_id").sortWithinPartitions("group_id", "cluster")
    by_group.write.option("parquet.block.size", 4096).parquet(f"{folder}/sorted")
    rows.repartition(3, F.xxhash64("member_id")).write.parquet(f"{folder}/unsorted")
    # As the statistics of these files show, no group is in two of them; but groups come back within a file.
    by_group.sortWithinPartitions("member_id").write.parquet(f"{folder}/{IN_ANY_ORDER}")
    return folder


def run(fleet: Path, out: Path, job: tuple[str, ...], kind: str, *options: str) -> tuple[dict[str, Any], Path]:
    command, *more = job
    topics = () if command == "elect" else ("--topics", f"{fleet}/fleet/topics")
    folder = out / kind / "-".join(options)
    given = ("--members", f"{fleet}/{kind}", *topics, "--out", str(folder))
    assert main([command, *given, *more, *options]) == 0
    record: dict[str, Any] = json.loads((folder / "_run.json").read_text())
    return record["rows"], folder


@pytest.mark.scale
@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_the_tables_are_those_of_sparks_writers(
    spark: SparkSession,
    fleet: Path,
    tmp_path: Path,
    job: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What is printed of them is the same, too."""
    reads_files, without_exchange = LocalRun._files_of_sorted_members, []

    def noted(of: LocalRun, plan: GroupPlan) -> list[Row] | None:
        files = reads_files(of, plan)
        without_exchange.append(files is not None)
        return files

    monkeypatch.setattr(LocalRun, "_files_of_sorted_members", noted)
    from_files, folder = run(fleet, tmp_path, job, "sorted")
    printed = capsys.readouterr().out
    by_exchange, other = run(fleet, tmp_path, job, "unsorted" if job[0] == "assign" else IN_ANY_ORDER)
    assert without_exchange == [True, False]
    capsys.readouterr()
    by_spark, third = run(fleet, tmp_path, job, "unsorted", "--output-format", "orc")
    assert from_files == by_exchange == by_spark
    assert capsys.readouterr().out.replace(str(third), str(folder)) == printed
    assert from_files["rejected"]["members"] > 0
    names = sorted(from_files["out"])
    assert names == sorted(path.name for path in folder.iterdir() if path.is_dir())
    for name in names:
        assert written(other / name) == written(folder / name)
        rows = from_files["out"][name]
        assert parquet.read_table(folder / name).num_rows == rows
        if rows:
            found, expected = spark.read.parquet(f"{folder}/{name}"), spark.read.orc(f"{third}/{name}")
            assert found.schema == expected.schema
            assert contents(found) == contents(expected)


@pytest.mark.scale
def test_workers_read_the_files_of_sorted_members_only(spark: SparkSession, fleet: Path) -> None:
    def found(kind: str) -> SortedMembers | None:
        return SortedMembers.of(spark.read.parquet(f"{fleet}/{kind}"), ["member_id"])

    in_order = found("sorted")
    assert in_order is not None
    assert len(in_order.row_groups) >= 3
    assert found("fleet/members") is not None
    assert found("unsorted") is None


@pytest.mark.scale
def test_rows_of_parquet_tables_are_counted_without_reading_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = spark.range(7).selectExpr("concat('t', id) AS topic", "1 AS partitions")
    rows.repartition(3).write.parquet(f"{tmp_path}/topics 100%")
    rows.write.json(f"{tmp_path}/json")
    counted = []

    def noted(of: Run, rows: DataFrame) -> int:
        counted.append(rows)
        return rows.count()

    monkeypatch.setattr(Run, "number_of", noted)
    of = LocalRun(spark, "assign", f"{tmp_path}/out", {})
    read = of.read(TOPICS, f"{tmp_path}/topics 100%", AUTO)
    assert of.number_of(read) == of.number_of(of.write("elections", read)) == 7
    assert not counted
    assert of.number_of(read.where("topic = 't1'")) == 1
    assert of.number_of(of.read(TOPICS, f"{tmp_path}/json", "json")) == 7
    assert of.number_of(of.read(TOPICS, f"{tmp_path}/json", AUTO)) == 7
    assert len(counted) == 3


def test_tables_of_other_formats_and_places_are_written_by_spark(spark: SparkSession) -> None:
    assert runs_here(spark, "out", "parquet")
    assert not runs_here(spark, "out", "json")
    assert not runs_here(spark, "hdfs://127.0.0.1:1/out", "parquet")
    assert not runs_here(spark, " ", "parquet")
