"""``check`` from the command line."""

import ast
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from rebalance_sim.cli import main
from rebalance_sim.commands.job_options import JOBS
from rebalance_sim.commands.validation.check import default_limits
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.tables import BALANCE, COSTS, ELECTIONS, FINDINGS, PARTITION_LOAD, REJECTS, Table
from tests.support.rows import table

Rows = list[dict[str, Any]]
DAG = Path(__file__).parents[2] / "conf" / "airflow" / "rebalance_sim_dag.py"


def finish(spark: SparkSession, out: Path, tables: Mapping[Table, Rows], output_format: str = "parquet") -> str:
    """Finish a run with these tables, in which 2 of 8 members were rejected."""
    run = Run(spark, "assign", str(out), {"output_format": output_format}, output_format)
    for of, rows in tables.items():
        run.write(of.name, table(spark, of, rows))
    run.counts |= {"in": {"members": 8}, "used": {"members": 6}, "rejected": {"members": 2}}
    run.finish()
    return str(out)


@pytest.fixture(scope="module")
def runs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write runs of assign, of simulate in another format, and of partition without rows; return their folders."""
    base = tmp_path_factory.mktemp("runs")
    assign: dict[Table, Rows] = {
        ELECTIONS: [{"group_id": "a", "tie": True}, {"group_id": "b", "tie": False}, {"group_id": "c", "error": "why"}],
        BALANCE: [
            {"group_id": "a", "strategy": "range", "min": 0, "max": 3, "idle_members": 2},
            {"group_id": "b", "strategy": "range", "min": 2, "max": 7, "idle_members": 0},
            {"group_id": "c", "strategy": "range", "error": "why"},
        ],
        REJECTS: [{"table": "members", "group_id": "c", "reason": "protocols is empty"}] * 2,
    }
    simulate: dict[Table, Rows] = {
        COSTS: [
            {"group_id": "a", "strategy": "range", "stable": True, "unowned_ms": 1_234_567},
            {"group_id": "b", "strategy": "range", "stable": False, "unowned_ms": 10},
        ],
        # Rows that each of two runs rejects count once.
        REJECTS: [{"table": "members", "group_id": "c", "reason": "protocols is empty"}],
    }
    folders = [finish(spark, base / "assign", assign), finish(spark, base / "simulate", simulate, "json")]
    finish(spark, base / "simulate-in-parquet", simulate)
    return ",".join([*folders, finish(spark, base / "partition", {PARTITION_LOAD: [], REJECTS: []})])


FOUND = {
    "rejects": (2, "table members, cluster default, group_id c, reason protocols is empty, in {}/assign/rejects"),
    "errors": (1, "cluster default, group_id c, strategy range, error why, in {}/assign/balance"),
    "ties": (1, "cluster default, group_id a, in {}/assign/elections"),
    "imbalance": (5, "cluster default, group_id b, strategy range, in {}/assign/balance"),
    "idle-members": (2, "cluster default, group_id a, strategy range, in {}/assign/balance"),
    "unstable": (1, "cluster default, group_id b, strategy range, in {}/simulate/costs"),
    "unowned-ms": (1_234_567, "cluster default, group_id a, strategy range, in {}/simulate/costs"),
    "rejected-share": (0.25, "2 of 8 rows of members, in {}/assign"),
}


def lines_of_checks(base: str, share: float) -> list[str]:
    """Return the lines of all checks if the limits are this share of the figures."""
    return [
        f"{name} = {found:,}, limit {round(found * share, 6):,} ({worst.format(base)})"
        for name, (found, worst) in FOUND.items()
    ]


def test_every_limit_is_checked(runs: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A figure equal to its limit passes, a larger one fails."""
    base = runs.partition("/assign,")[0]
    as_found = [f"--max-{name}={found}" for name, (found, _) in FOUND.items()]
    assert main(["check", "--runs", runs, *as_found, "--max-partition-load=0"]) == 0
    lines = [f"passed: {line}" for line in [*lines_of_checks(base, 1), "partition-load = 0, limit 0"]]
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(lines)

    less = [f"--max-{name}={found * 0.75}" for name, (found, _) in FOUND.items()]
    assert main(["check", "--runs", runs, *less]) == 3
    printed = capsys.readouterr()
    lines = lines_of_checks(base, 0.75)
    assert printed.out.splitlines() == [f"failed: {line}" for line in lines]
    assert printed.err == f"rebalance-sim check: 8 of 8 checks failed: {lines[0]}\n"


def test_each_figure_passes_or_fails_alone(runs: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--max-ties", "5", "--max-imbalance", "2", "--max-rejects", "0"]
    assert main(["check", "--runs", runs, *asked]) == 3
    printed = capsys.readouterr()
    found = [line.partition(",")[0] for line in printed.out.splitlines()]
    assert found == ["failed: rejects = 2", "passed: ties = 1", "failed: imbalance = 5"]
    assert "2 of 3 checks failed: rejects = 2, limit 0 (" in printed.err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--max-ties", "-1"], "--max-ties: -1.0 is not allowed; allowed: 0 or more"),
        (["--max-ties", "nan"], "--max-ties: nan is not allowed; allowed: 0 or more"),
        (["--max-rejected-share", "1.5"], "--max-rejected-share: 1.5 is not allowed; allowed: 0 to 1"),
    ],
)
def test_mistakes_in_limits_are_reported(
    runs: str, capsys: pytest.CaptureFixture[str], options: list[str], expected: str
) -> None:
    assert main(["check", "--runs", runs, *options]) == 2
    assert f"rebalance-sim check: {expected}" in capsys.readouterr().err


def test_default_limits_are_those_of_the_dag(
    spark: SparkSession, runs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The DAG cannot import the program, and has a further limit of its own."""
    dag = ast.parse(DAG.read_text())
    given = next(each.value for each in dag.body if isinstance(each, ast.Assign) and names(each) == ["THRESHOLDS"])
    assert ast.literal_eval(given)["rejected_share"][0] == default_limits(of_audits=True)["rejected-share"]
    assert """"max_findings": Param(\n        "error=0",""" in DAG.read_text()

    folder = runs.partition(",")[0]
    assert main(["check", "--runs", runs]) == 3
    assert capsys.readouterr().out.splitlines() == [
        f"failed: rejected-share = 0.25, limit 0.01 (2 of 8 rows of members, in {folder})"
    ]
    audit = finish(spark, tmp_path / "audit", {FINDINGS: [{"group_id": "a", "kind": "k", "severity": "error"}]})
    assert main(["check", "--runs", audit]) == 3
    found = [line.partition(" (")[0] for line in capsys.readouterr().out.splitlines()]
    assert found == ["failed: rejected-share = 0.25, limit 0.01", "failed: findings error = 1, limit 0"]


def names(assignment: ast.Assign) -> list[str]:
    """Return the names to which a module assigns a value."""
    return [each.id for each in assignment.targets if isinstance(each, ast.Name)]


def test_runs_without_the_table_are_an_error(runs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--runs", runs.split(",")[1], "--max-ties", "1"]) == 2
    assert "--max-ties: no run of --runs has a table elections" in capsys.readouterr().err
    assert main(["check", "--runs", str(tmp_path), "--max-ties", "1"]) == 2
    assert "is not the output of a finished run (no _run.json)" in capsys.readouterr().err


def test_parquet_files_of_this_machine_need_no_spark(
    runs: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same is printed, of files with several row groups, without a column, and hidden ones too."""
    here = runs.replace("/simulate", "/simulate-in-parquet")
    elections = Path(runs.split(",", maxsplit=1)[0]) / "elections"
    whole = parquet.read_table(elections)
    for name, rows in (("b.parquet", whole.drop_columns(["tie"])), ("_c.parquet", whole), ("d.parquet", whole)):
        parquet.write_table(rows, elections / name, row_group_size=1)
    limits = [f"--max-{name}=0" for name in FOUND]

    def printed() -> str:
        assert main(["check", "--runs", here, *limits]) == 3
        return capsys.readouterr().out

    with_spark = printed()
    monkeypatch.delattr("rebalance_sim.commands.starting.start")
    monkeypatch.setattr("rebalance_sim.engine.runs.files.spark_runs", lambda: False)
    assert printed() == with_spark
    assert "failed: ties = 2, limit 0" in with_spark
    (elections / "e.parquet").write_text("PAR1 and no more")
    assert main(["check", "--runs", here, *limits]) == 2
    assert f"elections: cannot read '{elections}' as parquet: " in capsys.readouterr().err


def test_other_formats_need_spark(runs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rebalance_sim.engine.runs.files.spark_runs", lambda: False)
    of_runs = [JOBS["check"].needs_spark(Namespace(runs=folder)) for folder in runs.split(",")]
    assert of_runs == [False, True, False]
