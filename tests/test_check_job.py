"""``check`` as schedulers call it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import main
from rebalance_sim.engine.runs import Run
from rebalance_sim.tables import BALANCE, COSTS, ELECTIONS, PARTITION_LOAD, REJECTS, Table
from tests.engine.rows import table

Rows = list[dict[str, Any]]


def finish(spark: SparkSession, out: Path, tables: Mapping[Table, Rows], output_format: str = "parquet") -> str:
    """Finish a run with these tables; 2 of 8 members were rejected."""
    run = Run(spark, "assign", str(out), {"output_format": output_format}, output_format)
    for of, rows in tables.items():
        run.write(of.name, table(spark, of, rows))
    run.counts |= {"in": {"members": 8}, "used": {"members": 6}, "rejected": {"members": 2}}
    run.finish()
    return str(out)


@pytest.fixture(scope="module")
def runs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Folders of an assignment, a simulation and partitions, the second in another format, the third empty."""
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
            {"group_id": "a", "strategy": "range", "settled": True, "paused_ms": 1_234_567},
            {"group_id": "b", "strategy": "range", "settled": False, "paused_ms": 10},
        ],
        # What is rejected by each of two runs counts once.
        REJECTS: [{"table": "members", "group_id": "c", "reason": "protocols is empty"}],
    }
    folders = [finish(spark, base / "assign", assign), finish(spark, base / "simulate", simulate, "json")]
    return ",".join([*folders, finish(spark, base / "partition", {PARTITION_LOAD: [], REJECTS: []})])


FOUND = {
    "rejects": (2, "table members, cluster default, group_id c, reason protocols is empty, in {}/assign/rejects"),
    "errors": (1, "cluster default, group_id c, strategy range, error why, in {}/assign/balance"),
    "ties": (1, "cluster default, group_id a, in {}/assign/elections"),
    "imbalance": (5, "cluster default, group_id b, strategy range, in {}/assign/balance"),
    "idle-members": (2, "cluster default, group_id a, strategy range, in {}/assign/balance"),
    "unsettled": (1, "cluster default, group_id b, strategy range, in {}/simulate/costs"),
    "paused-ms": (1_234_567, "cluster default, group_id a, strategy range, in {}/simulate/costs"),
    "rejected-share": (0.25, "2 of 8 rows of members, in {}/assign"),
}


def told(base: str, share: float) -> list[str]:
    """Lines of all checks, where so much of what is found is allowed."""
    return [
        f"{name} {found:,}, allowed {round(found * share, 6):,} ({worst.format(base)})"
        for name, (found, worst) in FOUND.items()
    ]


def test_every_threshold(runs: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As much as is allowed passes, more does not."""
    monkeypatch.setattr("rebalance_sim.commands.check._SHOWN_CHARACTERS", 1000)
    base = runs.partition("/assign,")[0]
    as_found = [f"--max-{name}={found}" for name, (found, _) in FOUND.items()]
    assert main(["check", "--runs", runs, *as_found, "--max-partition-load=0"]) == 0
    lines = [f"passed: {line}" for line in [*told(base, 1), "partition-load 0, allowed 0"]]
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(lines)

    less = [f"--max-{name}={found * 0.75}" for name, (found, _) in FOUND.items()]
    assert main(["check", "--runs", runs, *less]) == 3
    printed = capsys.readouterr()
    lines = told(base, 0.75)
    assert printed.out.splitlines() == [f"failed: {line}" for line in lines]
    assert printed.err == f"rebalance-sim check: 8 of 8 checks failed; {lines[0]}\n"


def test_several_thresholds(runs: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--max-ties", "5", "--max-imbalance", "2", "--max-rejects", "0"]
    assert main(["check", "--runs", runs, *asked]) == 3
    printed = capsys.readouterr()
    assert [line.partition(",")[0] for line in printed.out.splitlines()] == [
        "failed: rejects 2",
        "passed: ties 1",
        "failed: imbalance 5",
    ]
    assert "2 of 3 checks failed; rejects 2, allowed 0 (" in printed.err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], "--max-...: nothing is to be checked; allowed: --max-rejects, --max-errors,"),
        (["--max-ties", "-1"], "--max-ties: -1.0 is not allowed; allowed: 0 and more"),
        (["--max-ties", "nan"], "--max-ties: nan is not allowed; allowed: 0 and more"),
        (["--max-rejected-share", "1.5"], "--max-rejected-share: 1.5 is not allowed; allowed: 0 to 1"),
    ],
)
def test_mistakes_in_thresholds(
    runs: str, capsys: pytest.CaptureFixture[str], options: list[str], expected: str
) -> None:
    assert main(["check", "--runs", runs, *options]) == 2
    assert f"rebalance-sim check: {expected}" in capsys.readouterr().err


def test_runs_that_tell_nothing(runs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--runs", runs.split(",")[1], "--max-ties", "1"]) == 2
    assert "--max-ties: no run of --runs has a table elections" in capsys.readouterr().err
    assert main(["check", "--runs", str(tmp_path), "--max-ties", "1"]) == 2
    assert "has no _run.json: it is no folder of a finished run" in capsys.readouterr().err
