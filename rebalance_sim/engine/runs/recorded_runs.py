"""Output folders of finished runs, as their records describe them."""

from dataclasses import dataclass
from typing import Any

from rebalance_sim.engine.runs.files import Files, LocalFiles, is_local
from rebalance_sim.engine.runs.run_files import RECORD, read_json
from rebalance_sim.errors import UserError


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


def is_in_local_parquet(folder: str) -> bool:
    """Return whether the tables of a finished run surely are Parquet files of this machine."""
    if not is_local(folder):
        return False
    return recorded_run(LocalFiles(), "--runs", folder).output_format == "parquet"
