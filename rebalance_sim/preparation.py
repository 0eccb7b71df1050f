"""Prepare this machine: compile Kafka's rules and archive the classes of the JVM, so that later runs start sooner.

``make setup`` ends with it; elsewhere: ``python -m rebalance_sim.preparation``. Nothing depends on it: without the
archive Spark starts slower, and without compiled rules small runs use plain Python and the first large one compiles.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rebalance_sim.errors import UserError
from rebalance_sim.kafka.runtime.compiled_code import is_compiled, mark_complete, number_compiled

ASSIGNING, SIMULATING = "assigning", "simulating"
_SECONDS = 0.5
_RECORD = {"topic": "orders", "key": "a", "value_bytes": 10, "producer_id": "p", "seq": 1}


def run_examples(folder: Path, parts: Sequence[str] = (ASSIGNING, SIMULATING)) -> None:
    """Run the jobs that call every rule, on a few rows, with outputs in ``folder``. RuntimeError if one fails."""
    from rebalance_sim.cli import main  # noqa: PLC0415 (it loads what --help of this module does not need)

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "topics.json").write_text(json.dumps({"topic": _RECORD["topic"], "partitions": 6}) + "\n")
    (folder / "records.json").write_text("".join(json.dumps(_RECORD | {"key": key}) + "\n" for key in ("a", "", None)))
    fleet = ["--topics", f"{folder}/fleet/topics", "--members", f"{folder}/fleet/members"]
    orders = ["--format", "json", "--topics", f"{folder}/topics.json", "--records", f"{folder}/records.json"]
    jobs = {
        ASSIGNING: [
            ["elect", *fleet[2:]],
            ["assign", *fleet],
            ["assign", *fleet, "--strategy", "all"],
            ["partition", *orders, "--partitions-after", "8"],
        ],
        SIMULATING: [
            ["simulate", *fleet, "--scenario", "rolling-restart"],
            ["simulate", *fleet, "--scenario", "rolling-restart", "--strategy", "all"],
        ],
    }
    wanted = [job for part in parts for job in jobs[part]]
    for job in (["fleet", "--synthetic", "small", "--groups", "30"], *wanted):
        with redirect_stdout(sys.stderr):
            if main([*job, "--out", f"{folder}/{job[0]}"]) != 0:
                raise RuntimeError(f"{job[0]} failed on its example; see the error above")


def prepare() -> None:
    """Compile the rules in two processes, of which one writes the archive; only that one runs for the archive alone."""
    from rebalance_sim.engine.spark.class_archive import class_archive  # noqa: PLC0415
    from rebalance_sim.engine.spark.java_runtime import java_home  # noqa: PLC0415

    archive = class_archive(java_home())
    impossible = archive.with_suffix(".impossible")
    with suppress(OSError):
        archive.parent.mkdir(parents=True, exist_ok=True)
    has_tried = archive.exists() or impossible.exists() or not os.access(archive.parent, os.W_OK)
    compiles = not is_compiled()
    if has_tried and not compiles:
        return
    unfinished = archive.with_suffix(f".{os.getpid()}")
    task = "compiling Kafka's rules" if compiles else "archiving the classes of the JVM"
    print(f"{task} (takes a few minutes, once)", file=sys.stderr)
    with TemporaryDirectory() as folder:
        parts = [_Part(Path(folder), ASSIGNING, None if has_tried else unfinished)]
        parts += [_Part(Path(folder), SIMULATING)] if compiles else []
        try:
            _wait(parts)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
        if unfinished.exists():
            unfinished.replace(archive)
        elif not has_tried:
            # Some Java runtimes cannot write an archive.
            impossible.touch()
    if compiles and number_compiled():
        mark_complete()
        print(f"compiled {number_compiled()} rules", file=sys.stderr)


class _Part:
    """A process that runs some of the examples at low priority."""

    def __init__(self, folder: Path, name: str, archive: Path | None = None) -> None:
        command = [sys.executable, "-m", __spec__.name, name, str(folder / name), *([str(archive)] if archive else [])]
        self._log = folder / f"{name}.log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def check(self) -> None:
        if self._process.returncode:
            raise RuntimeError(f"{self._log.stem} failed:\n{self._log.read_text()}")


def _wait(parts: Sequence[_Part]) -> None:
    """Wait for all parts; on a terminal, a bar shows how many rules several have compiled."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (BarColumn(bar_width=24), TextColumn("{task.completed} rules"), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=len(parts) == 1 or not console.is_terminal
    ) as progress:
        task = progress.add_task("", total=None)
        while not all(part.has_ended() for part in parts):
            progress.update(task, completed=number_compiled())
            time.sleep(_SECONDS)
    for part in parts:
        part.check()


def _run_part(name: str, folder: Path, archive: Path | None) -> None:
    """Run some of the examples in one session; with ``archive``, its JVM writes the archive when it ends."""
    from pyspark import SparkContext  # noqa: PLC0415
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415

    from rebalance_sim.engine.spark.class_archive import writing_archive  # noqa: PLC0415
    from rebalance_sim.engine.spark.session import FOR_SMALL_INPUTS, session  # noqa: PLC0415

    os.nice(10)
    start = partial(session, "rebalance-sim preparation")
    options = [*FOR_SMALL_INPUTS.java_options, *(writing_archive(archive) if archive else ())]
    try:
        spark = start(settings=replace(FOR_SMALL_INPUTS, java_options=options))
    except PySparkRuntimeError:
        # A Java runtime that cannot write an archive does not start when asked to.
        spark = start(settings=FOR_SMALL_INPUTS)
    run_examples(folder, [name])
    spark.stop()
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


if __name__ == "__main__":
    if len(sys.argv) == 1:
        try:
            prepare()
        except (UserError, OSError) as problem:
            # Jobs do without it.
            print(f"this machine is not prepared: {problem}", file=sys.stderr)
    else:
        _run_part(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) > 3 else None)
