"""Output folders of finished runs, described by their records."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rebalance_sim.engine.runs.files import Files, LocalFiles, is_local
from rebalance_sim.engine.runs.run_files import RECORD, read_json
from rebalance_sim.errors import UserError
from rebalance_sim.tables import MEMBERS


@dataclass(frozen=True)
class RecordedRun:
    """The output folder of a finished run, with its record."""

    folder: str
    record: dict[str, Any]

    @property
    def job(self) -> str:
        """The job's name."""
        return str(self.record["job"])

    @property
    def output_format(self) -> str:
        """The format of the tables."""
        return str(self.record["options"].get("output_format", "parquet"))

    @property
    def written(self) -> dict[str, int]:
        """The number of rows of every table that the run wrote."""
        return self.record["rows"].get("out", {})

    def path(self, table: str) -> str:
        """Return the folder of a table."""
        return f"{self.folder.rstrip('/')}/{table}"


def recorded_run(files: Files, option: str, folder: str) -> RecordedRun:
    """Read the record of a run. Raises UserError, naming the option, for a folder without a finished run."""
    path = f"{folder.rstrip('/')}/{RECORD}"
    record = read_json(files, path)
    if record is None:
        raise UserError(f"{option}: {folder!r} is not the output of a finished run (no {RECORD})")
    expected = {"job": str, "options": dict, "versions": dict, "rows": dict, "assumptions": list}
    for name, of in expected.items():
        if not isinstance(record.get(name), of):
            raise UserError(f"{option}: {path} is not the record of a run (no {name!r})")
    return RecordedRun(folder, record)


def run_of_job(files: Files, option: str, folder: str, job: str) -> RecordedRun:
    """Read the record of a run of a job. Raises UserError, naming the option, for any other folder."""
    run = recorded_run(files, option, folder)
    if run.job != job:
        raise UserError(f"{option}: {folder!r} is the output of {run.job}; allowed: that of {job}")
    return run


def members_folder(run: RecordedRun) -> str:
    """Return the folder of the members table that a run read; empty if it read none.

    A folder inside that of the run moves with it.
    """
    folder = str(run.record["options"].get(MEMBERS.name) or "").rstrip("/").rpartition("/")[0]
    written_to = str(run.record["options"].get("out") or "").rstrip("/")
    if written_to and folder.startswith(f"{written_to}/"):
        return run.folder.rstrip("/") + folder.removeprefix(written_to)
    return folder


def fleet_of(files: Files, run: RecordedRun) -> RecordedRun | None:
    """Return the run of ``fleet`` that wrote the members which a run read; None if no record says so."""
    folder = members_folder(run)
    record = read_json(files, f"{folder}/{RECORD}") if folder else None
    return RecordedRun(folder, record) if record is not None and record.get("job") == "fleet" else None


def with_fleets(files: Files, runs: Sequence[RecordedRun]) -> list[RecordedRun]:
    """Return runs and the runs of ``fleet`` that they read, each folder once."""
    fleets = [fleet for run in runs if (fleet := fleet_of(files, run)) is not None]
    return list({run.folder.rstrip("/"): run for run in (*fleets, *runs)}.values())


def is_in_local_parquet(folder: str) -> bool:
    """Return whether the tables of a finished run, and of its fleet, surely are Parquet files of this machine."""
    if not is_local(folder):
        return False
    run = recorded_run(LocalFiles(), "--runs", folder)
    fleet = members_folder(run)
    if fleet and not is_local(fleet):
        return False
    return all(each.output_format == "parquet" for each in with_fleets(LocalFiles(), [run]))
