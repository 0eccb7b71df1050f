"""Output folders: which of them a run may write to, and the run that is writing to one."""

import fcntl
import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import local
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rebalance_sim.engine.runs.run_files import BEGUN, RECORD, hadoop_path, local_path, read_json
from rebalance_sim.errors import UserError
from rebalance_sim.tables import INPUTS, OUTPUTS

_INPUT_OPTIONS = (*INPUTS, "partitions_after", "kafka_tools", "offsets_topic", "runs")
"""Options that name inputs; ``runs`` names several."""


@dataclass(frozen=True)
class OutFolder:
    """The output folder of a run of a job."""

    spark: SparkSession
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
        record, begun = (read_json(self.spark, self.file(name)) for name in (RECORD, BEGUN))
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
        self._check_unclaimed()

    def claim(self, replaced: list[str]) -> None:
        """Name the tables that are being replaced, so that no run reads them, and this process, so that none writes.

        Raises UserError if another run has claimed the folder since ``check``.
        """
        with self._locked():
            if self._check_unclaimed():
                self._delete()
            try:
                self._create({"job": self.job, "replaces": replaced, "owner": asdict(Owner.here())})
            except (FileExistsError, Py4JJavaError):
                self._check_unclaimed()
                raise
        _OF_THREAD.claimed.append(self)

    def release(self) -> None:
        """Release the folder of an unfinished run: a process may outlive its runs."""
        with self._locked():
            begun = read_json(self.spark, self.file(BEGUN))
            owner = Owner.of(begun)
            if begun is not None and owner is not None and owner == Owner.here(owner.since):
                self._delete()
                self._create(begun | {"owner": None})

    def file(self, name: str) -> str:
        """Return the path of a file or a table in the folder."""
        return f"{self.path.rstrip('/')}/{name}"

    def _check_unclaimed(self) -> bool:
        """Raise UserError if a run is writing; return whether an earlier one has begun and not finished."""
        begun = read_json(self.spark, self.file(BEGUN))
        owner = Owner.of(begun)
        if owner is not None and owner.exists():
            raise UserError(f"--out: {self._written_by(owner)}")
        return begun is not None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock a local folder: two runs could otherwise replace the file of a run that was killed at the same time."""
        local = local_path(self.spark, self.path)
        if local is None:
            yield
            return
        local.mkdir(parents=True, exist_ok=True)
        folder = os.open(local, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _delete(self) -> None:
        file_system, file = hadoop_path(self.spark, self.file(BEGUN))
        file_system.delete(file, False)

    def _create(self, begun: Mapping[str, Any]) -> None:
        """Create ``BEGUN``; an error if it exists."""
        file_system, file = hadoop_path(self.spark, self.file(BEGUN))
        content = json.dumps(begun).encode() + b"\n"
        if file_system.getUri().getScheme() == "file":
            # Hadoop's local file system checks, then creates; two runs could pass the check together.
            target = Path(file.toUri().getPath())
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as created:
                created.write(content)
            return
        stream = file_system.create(file, False)
        try:
            stream.write(content)
        finally:
            stream.close()

    def _is_new(self) -> bool:
        """Return whether the folder does not exist, or has only hidden files and output folders of runs."""
        file_system, folder = hadoop_path(self.spark, self.path)
        if not file_system.exists(folder):
            return True
        if file_system.getFileStatus(folder).isFile():
            raise UserError(f"--out: {self.path!r} is a file; allowed: a folder")
        names = [entry.getPath().getName() for entry in file_system.listStatus(folder)]
        return all(name.startswith(".") or self._is_other_run(name) for name in names)

    def _is_other_run(self, name: str) -> bool:
        """Return whether what has this name in the folder is the output folder of a run, and no table."""
        return name not in INPUTS.keys() | OUTPUTS.keys() and any(
            read_json(self.spark, self.file(f"{name}/{file}")) is not None for file in (RECORD, BEGUN)
        )

    def _check_inputs(self, options: Mapping[str, Any]) -> None:
        out = _absolute(self.spark, self.path)
        for name in _INPUT_OPTIONS:
            given = str(options.get(name) or "")
            for path in given.split(",") if name == "runs" else [given]:
                for existing in _existing(self.spark, path) if path else ():
                    relation = _relation(out, existing)
                    if relation:
                        option = f"--{name.replace('_', '-')}"
                        raise UserError(
                            f"--out: {self.path!r} {relation} the input of {option} ({path!r}); "
                            "allowed: a folder apart from all inputs"
                        )

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


class _OfThread(local):
    """The folders that a thread's runs have claimed."""

    def __init__(self) -> None:
        self.claimed: list[OutFolder] = []


_OF_THREAD = _OfThread()


@contextmanager
def claims_released() -> Iterator[None]:
    """Release at the end the folders that runs of this thread have claimed and not finished."""
    _OF_THREAD.claimed.clear()
    try:
        yield
    finally:
        for folder in _OF_THREAD.claimed:
            # Without Spark or space on the disk; this process will soon end in that case, which releases the folder.
            with suppress(Exception):
                folder.release()


def _existing(spark: SparkSession, path: str) -> list[str]:
    """Return the existing files and folders of a path, which may be a pattern."""
    try:
        file_system, pattern = hadoop_path(spark, path)
        return [_absolute(spark, status.getPath().toString()) for status in file_system.globStatus(pattern) or ()]
    except (Py4JJavaError, PySparkException):
        return []  # Not a path but a number or the addresses of brokers.


def _absolute(spark: SparkSession, path: str) -> str:
    """Return a path with its file system, and local links resolved."""
    file_system, given = hadoop_path(spark, path)
    full = file_system.makeQualified(given).toUri()
    return (
        f"file:{os.path.realpath(full.getPath())}"
        if file_system.getUri().getScheme() == "file"
        else str(full.toString())
    )


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
