"""The runs that wrote the inputs of others."""

import json
import shutil
from pathlib import Path

from rebalance_sim.engine.runs.files import LocalFiles
from rebalance_sim.engine.runs.recorded_runs import fleet_of, recorded_run, with_fleets


def write_record(folder: Path, job: str, **options: str) -> str:
    """Write the record of a run."""
    folder.mkdir(parents=True)
    record = {"job": job, "options": options, "versions": {}, "rows": {}, "assumptions": []}
    (folder / "_run.json").write_text(json.dumps(record))
    return str(folder)


def test_the_fleet_inside_an_audit_moves_with_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_record(out, "audit", out=str(out), members=f"{out}/fleet/members")
    write_record(out / "fleet", "fleet", out=f"{out}/fleet")
    shutil.move(out, tmp_path / "moved")
    run = recorded_run(LocalFiles(), "--runs", f"{tmp_path}/moved/")
    found = fleet_of(LocalFiles(), run)
    assert found is not None
    assert found.folder == f"{tmp_path}/moved/fleet"


def test_a_fleet_of_several_runs_is_found_once(tmp_path: Path) -> None:
    fleet = write_record(tmp_path / "fleet", "fleet")
    folders = [write_record(tmp_path / name, "assign", members=f"{fleet}/members") for name in ("a", "b")]
    runs = [recorded_run(LocalFiles(), "--runs", folder) for folder in (*folders, fleet)]
    assert [run.folder for run in with_fleets(LocalFiles(), runs)] == [fleet, *folders]


def test_tables_that_no_run_of_fleet_wrote_have_none(tmp_path: Path) -> None:
    other = write_record(tmp_path / "other", "elect")
    for members in ("members.json", f"{tmp_path}/members.json", f"{other}/members"):
        run = recorded_run(LocalFiles(), "--runs", write_record(tmp_path / members.replace("/", "-"), "elect"))
        run.record["options"]["members"] = members
        assert fleet_of(LocalFiles(), run) is None
