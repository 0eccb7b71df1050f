"""Output folders: jobs refuse those that are not theirs to replace."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import main
from rebalance_sim.engine.runs.claims import ClaimableFolder, claims_released
from rebalance_sim.engine.runs.hadoop_files import HadoopFiles
from rebalance_sim.engine.runs.out_folders import OutFolder
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.errors import UserError
from tests.support.rows import given_by, member, members


@pytest.fixture(scope="module")
def fleet(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a finished run of ``fleet`` with one member."""
    folder = tmp_path_factory.mktemp("fleet")
    run = Run(spark, "fleet", str(folder), {})
    run.begin(["members"])
    run.write("members", members(spark, member("a", ["range"], ["t"])))
    run.finish()
    return folder


@pytest.fixture
def elect(fleet: Path) -> list[str]:
    return ["elect", "--members", f"{fleet}/members"]


@pytest.fixture
def other_process(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a process that claims ``tmp_path``/out for ``elect``, until it is killed."""
    code = (
        "from dataclasses import asdict\n"
        "from rebalance_sim.engine.runs.out_folders import Owner\n"
        "import json, pathlib, sys, time\n"
        "out = pathlib.Path(sys.argv[1]); out.mkdir()\n"
        "begun = {'job': 'elect', 'replaces': ['elections'], 'owner': asdict(Owner.here())}\n"
        "(out / '_begun.json').write_text(json.dumps(begun))\n"
        "print('claimed', flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, f"{tmp_path}/out"], stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "claimed\n"
        yield started
        started.kill()


def test_only_one_run_writes_to_a_folder(
    elect: list[str], other_process: subprocess.Popen[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second run stops with one line; a killed run does not block the next one."""
    out = tmp_path / "out"
    begun = (out / "_begun.json").read_text()
    since = json.loads(begun)["owner"]["since"]
    assert main([*elect, "--out", str(out)]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"rebalance-sim elect: --out: '{out}' is being written by a run of elect since {since} "
        f"(process {other_process.pid}); wait for it to end, or use another folder"
    ]
    assert (out / "_begun.json").read_text() == begun
    other_process.kill()
    other_process.wait()
    assert main([*elect, "--out", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["_run.json", "elections", "rejects"]


def test_a_process_with_the_id_of_a_killed_one_is_another(
    elect: list[str], other_process: subprocess.Popen[str], tmp_path: Path
) -> None:
    file = tmp_path / "out" / "_begun.json"
    begun = json.loads(file.read_text())
    begun["owner"]["start"] = "1"
    file.write_text(json.dumps(begun))
    assert main([*elect, "--out", f"{tmp_path}/out"]) == 0


def test_a_run_on_another_host_is_named_with_the_file_to_remove(
    elect: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    owner = {"host": "elsewhere", "process": 7, "start": "1", "since": "2026-11-23 10:00:00 UTC"}
    (out / "_begun.json").write_text(json.dumps({"job": "elect", "replaces": [], "owner": owner}))
    assert main([*elect, "--out", str(out)]) == 2
    assert (
        f"(process 7 on host elsewhere); if that run was killed, remove {out}/_begun.json\n" in capsys.readouterr().err
    )


@pytest.mark.scale
def test_a_failed_run_releases_its_folder(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its process may go on, as in a notebook. Its tables stay unfinished."""
    given, out = given_by(tmp_path, members=members(spark, member("", ["range"], ["t"]))), tmp_path / "out"
    assert main(["elect", *given, "--on-bad-input", "fail", "--out", str(out)]) == 2
    assert json.loads((out / "_begun.json").read_text())["owner"] is None
    assert main(["elect", *given, "--out", str(out)]) == 0


def test_two_runs_of_one_process_exclude_each_other(spark: SparkSession, tmp_path: Path) -> None:
    """So do two that begin at the same moment, which both find the folder free."""
    folder = ClaimableFolder(HadoopFiles(spark), "elect", f"{tmp_path}/out")
    with claims_released():
        folder.check({})
        folder.claim(["elections"])
        with pytest.raises(UserError, match="is being written by a run of elect"):
            folder.claim(["elections"])
        with pytest.raises(FileExistsError):
            folder._create({})
        with pytest.raises(UserError, match=f"is being written by a run of elect since .* \\(process {os.getpid()}\\)"):
            folder.check({})
    folder.check({})


@pytest.mark.parametrize(
    ("out", "printed"),
    [
        ("{fleet}/members", "is the input of --members"),
        ("{fleet}/members/elected", "is inside the input of --members"),
        ("{fleet}", "contains the input of --members"),
        ("{fleet}/..", "contains the input of --members"),
        ("{tmp}/link", "contains the input of --members"),
    ],
)
def test_an_output_folder_overlaps_no_input(
    elect: list[str], fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], out: str, printed: str
) -> None:
    (tmp_path / "link").symlink_to(fleet)
    before = sorted(fleet.rglob("*"))
    record = (fleet / "_run.json").read_bytes()
    for more in ([], ["--dry-run"]):
        assert main([*elect, "--out", out.format(fleet=fleet, tmp=tmp_path), *more]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert printed in line
    assert sorted(fleet.rglob("*")) == before
    assert (fleet / "_run.json").read_bytes() == record


def test_patterns_and_lists_of_inputs_are_seen(spark: SparkSession, fleet: Path) -> None:
    for options in ({"members": f"{fleet}/mem*"}, {"runs": f"elsewhere,{fleet}/"}, {"kafka_tools": f"{fleet}/members"}):
        with pytest.raises(UserError, match=f"^--out: '{fleet}' (contains|is) the input of --"):
            OutFolder(HadoopFiles(spark), "fleet", str(fleet)).check(options)
    no_paths = {"partitions_after": "12", "offsets_topic": "kafka:broker:9092"}
    OutFolder(HadoopFiles(spark), "fleet", str(fleet)).check(no_paths)


def test_no_job_replaces_the_output_of_another(
    elect: list[str], fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main([*elect, "--out", str(out)]) == 0
    capsys.readouterr()
    assert main(["fleet", "--synthetic", "small", "--groups", "1", "--out", str(out)]) == 2
    assert f"--out: '{out}' is the output of elect, which fleet would replace" in capsys.readouterr().err
    assert (out / "elections").exists()


def test_a_folder_that_no_run_made_is_refused(
    elect: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / ".hidden").write_text("")
    assert main([*elect, "--out", str(folder), "--dry-run"]) == 0
    (folder / "elections").write_text("of somebody")
    capsys.readouterr()
    assert main([*elect, "--out", str(folder)]) == 2
    assert f"--out: '{folder}' is not the output of a run (no _run.json)" in capsys.readouterr().err
    assert (folder / "elections").read_text() == "of somebody"
    assert main([*elect, "--out", str(folder / "elections")]) == 2
    assert "elections' is a file; allowed: a folder" in capsys.readouterr().err


def test_no_checksum_files_lie_beside_what_a_run_writes(spark: SparkSession, tmp_path: Path) -> None:
    run = Run(spark, "report", f"{tmp_path}/out", {})
    run.begin(["report.html", "charts"])
    run.write_file("report.html", b"page")
    run.write_file("charts/a.svg", b"chart")
    run.finish()
    files = [path.relative_to(tmp_path / "out") for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(map(str, files)) == ["_run.json", "charts/a.svg", "report.html"]
