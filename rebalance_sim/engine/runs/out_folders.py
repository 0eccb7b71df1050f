"""Output folders: check that a run may write to one, and find the run that is writing to it."""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rebalance_sim.engine.runs.files import Files
from rebalance_sim.engine.runs.run_files import BEGUN, RECORD, read_json
from rebalance_sim.errors import UserError
from rebalance_sim.tables import INPUTS, OUTPUTS

_INPUT_OPTIONS = (
    *INPUTS,
    *(
        "timings",
        "broker_logs",
        "partitions_after",
        "kafka_tools",
        "offsets_topic",
        "keep",
        "runs",
        "previous",
        "history",
    ),
)
"""Options that name inputs."""
_OF_SEVERAL = ("runs", "offsets_topic", "broker_logs")
"""Those that may name several."""


@dataclass(frozen=True)
class OutFolder:
    """The output folder of a run of a job."""

    files: Files
    job: str
    path: str

    def check(self, options: Mapping[str, Any]) -> None:
        """Raise UserError unless the run may replace what is in the folder; ``options`` are those of the run.

        Allowed are a new folder, an empty one, one of an earlier run of the same job, and one that has only output
        folders of runs. It must not overlap an input.
        """
        if not self.path.strip("/ "):
            raise UserError(f"--out: {self.path!r} is not allowed; allowed: a folder that the run may replace")
        self._check_inputs(options)
        if self._is_new():
            return
        record, begun = (read_json(self.files, self.file(name)) for name in (RECORD, BEGUN))
        if record is None and begun is None:
            raise UserError(
                f"--out: {self.path!r} is not the output of a run (no {RECORD}), and the run would replace its files; "
                "allowed: a new or empty folder"
            )
        for earlier in (record, begun):
            if earlier is not None and earlier.get("job") != self.job:
                raise UserError(
                    f"--out: {self.path!r} is the output of {earlier.get('job')}, which {self.job} would replace; "
                    "allowed: another folder"
                )
        self.check_unclaimed()

    def file(self, name: str) -> str:
        """Return the path of a file or a table in the folder."""
        return f"{self.path.rstrip('/')}/{name}"

    def check_unclaimed(self) -> bool:
        """Raise UserError if a run is writing; return whether an earlier one has begun and not finished."""
        begun = read_json(self.files, self.file(BEGUN))
        owner = Owner.of(begun)
        if owner is not None and owner.exists():
            raise UserError(f"--out: {self._written_by(owner)}")
        return begun is not None

    def _is_new(self) -> bool:
        """Return whether the folder does not exist, or has only hidden files and output folders of runs."""
        if not self.files.exists(self.path):
            return True
        if self.files.is_file(self.path):
            raise UserError(f"--out: {self.path!r} is a file; allowed: a folder")
        return all(name.startswith(".") or self._is_other_run(name) for name in self.files.names_in(self.path))

    def _is_other_run(self, name: str) -> bool:
        """Return whether what has this name in the folder is the output folder of a run, and no table."""
        return name not in INPUTS.keys() | OUTPUTS.keys() and any(
            read_json(self.files, self.file(f"{name}/{file}")) is not None for file in (RECORD, BEGUN)
        )

    def _check_inputs(self, options: Mapping[str, Any]) -> None:
        out = self.files.full(self.path)
        for name in _INPUT_OPTIONS:
            given = str(options.get(name) or "")
            for path in given.split(",") if name in _OF_SEVERAL else [given]:
                for existing in self._existing(path) if path else ():
                    relation = _relation(out, existing)
                    if relation:
                        option = f"--{name.replace('_', '-')}"
                        raise UserError(
                            f"--out: {self.path!r} {relation} the input of {option} ({path!r}); "
                            "allowed: a folder apart from all inputs"
                        )

    def _existing(self, path: str) -> list[str]:
        """Return the existing files and folders of a path, which may be a pattern."""
        try:
            return [self.files.full(found) for found in self.files.matching(path)]
        except OSError:
            return []  # Not a path but a number or the addresses of brokers.

    def _written_by(self, owner: "Owner") -> str:
        line = f"{self.path!r} is being written by a run of {self.job} since {owner.since} (process {owner.process}"
        if owner.host == platform.node():
            return f"{line}); wait for it to end, or use another folder"
        return f"{line} on host {owner.host}); if that run was killed, remove {self.file(BEGUN)}"


@dataclass(frozen=True)
class Owner:
    """The process that writes to a folder."""

    host: str
    process: int
    start: str
    """Start of the process, which distinguishes it from a later one with the same id."""
    since: str
    """Start of the run."""

    @classmethod
    def of(cls, begun: Mapping[str, Any] | None) -> "Owner | None":
        """Return the owner that ``BEGUN`` names; None if its run has ended."""
        owner = begun.get("owner") if begun else None
        return cls(**owner) if owner else None

    @classmethod
    def here(cls, since: str | None = None) -> "Owner":
        """Return this process, by default as the owner from now on."""
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return cls(platform.node(), os.getpid(), _start_of(os.getpid()) or "", since or now)

    def exists(self) -> bool:
        """Return whether the process may still be running; those of other hosts may."""
        return self.host != platform.node() or _start_of(self.process) == self.start


def _start_of(process: int) -> str | None:
    """Return the start of a process of this host, empty where the system has no /proc; None if it does not run."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass  # It runs, as another user.
    try:
        # After the name, which may contain anything: the state, and 18 fields later the start (man 5 proc_pid_stat).
        state, *fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return None if state in "ZX" else fields[18]


def _relation(out: str, existing: str) -> str | None:
    """Return how an output folder overlaps an input; None if it does not.

    >>> _relation("file:/a", "file:/a/b"), _relation("file:/a/b", "file:/a"), _relation("file:/ab", "file:/a")
    ('contains', 'is inside', None)
    """
    if out == existing:
        return "is"
    if existing.startswith(f"{out}/"):
        return "contains"
    return "is inside" if out.startswith(f"{existing}/") else None
