"""Claims of output folders: at most one run writes to a folder."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import local
from typing import Any

from py4j.protocol import Py4JJavaError

from rebalance_sim.engine.runs.hadoop_files import HadoopFiles, hadoop_path, local_path
from rebalance_sim.engine.runs.out_folders import OutFolder, Owner
from rebalance_sim.engine.runs.run_files import BEGUN, read_json


@dataclass(frozen=True)
class ClaimableFolder(OutFolder):
    """An output folder to which a run writes."""

    files: HadoopFiles

    def claim(self, replaced: list[str]) -> None:
        """Record the tables to replace, so that no run reads them, and this process, so that no other run writes.

        Raises UserError if another run has claimed the folder since ``check``.
        """
        with self._locked():
            if self.check_unclaimed():
                self._delete()
            try:
                self._create({"job": self.job, "replaces": replaced, "owner": asdict(Owner.here())})
            except (FileExistsError, Py4JJavaError):
                self.check_unclaimed()
                raise
        _OF_THREAD.claimed.append(self)

    def release(self) -> None:
        """Release the folder of an unfinished run: a process may outlive its runs."""
        with self._locked():
            begun = read_json(self.files, self.file(BEGUN))
            owner = Owner.of(begun)
            if begun is not None and owner is not None and owner == Owner.here(owner.since):
                self._delete()
                self._create(begun | {"owner": None})

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock a local folder: two runs could otherwise replace the file of a run that was killed at the same time."""
        local = local_path(self.files.spark, self.path)
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
        file_system, file = hadoop_path(self.files.spark, self.file(BEGUN))
        file_system.delete(file, False)

    def _create(self, begun: Mapping[str, Any]) -> None:
        """Create ``BEGUN``; an error if it exists."""
        file_system, file = hadoop_path(self.files.spark, self.file(BEGUN))
        content = json.dumps(begun).encode() + b"\n"
        if file_system.getUri().getScheme() == "file":
            # Hadoop's local file system checks, then creates; two runs could pass the check together.
            target = Path(file.toUri().getPath())
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as created:
                created.write(content)
            return
        with closing(file_system.create(file, False)) as stream:
            stream.write(content)


class _OfThread(local):
    """The folders that a thread's runs have claimed."""

    def __init__(self) -> None:
        self.claimed: list[ClaimableFolder] = []


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
