"""Prepare this machine: compile Kafka's rules and archive the classes of the JVM, so that later runs start sooner.

``make setup`` ends with it; elsewhere: ``python -m rebalance_sim.preparation``. It compiles the rules of the newest
Kafka release; ``--releases 2.8,3.6`` and ``--libraries sarama,franz-go`` add others. Nothing depends on it: without the
archive Spark starts slower, and rules without compiled code run as plain Python on little data and are compiled for
more.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rebalance_sim.errors import UserError, check_choice
from rebalance_sim.kafka.clients import LIBRARIES
from rebalance_sim.kafka.runtime.compiled_code import cache_folder, number_compiled
from rebalance_sim.kafka.runtime.kernel import ALWAYS_COMPILES
from rebalance_sim.kafka.runtime.rule_keys import rule_key
from rebalance_sim.releases import kafka_version

ASSIGNING, SIMULATING = "assigning", "simulating"
_SECONDS = 0.5
_UNUSED_SECONDS = 30 * 24 * 3600
_RECORD = {"topic": "orders", "key": "a", "value_bytes": 10, "producer_id": "p", "seq": 1}


@dataclass(frozen=True)
class Others:
    """What to prepare beside the newest Kafka release."""

    releases: Sequence[str] = ()
    libraries: Sequence[str] = ()

    def check(self) -> None:
        """Raise UserError for a release or a library that there is not."""
        for release in self.releases:
            kafka_version(release)
        for library in self.libraries:
            check_choice("--libraries", library, [name for name, record in LIBRARIES.items() if record.strategies])

    @property
    def jobs(self) -> list[list[str]]:
        """The options of ``assign`` that call the rules."""
        of_releases = [["--kafka-version", release] for release in self.releases]
        of_libraries = [["--strategy", name] for library in self.libraries for name in LIBRARIES[library].strategies]
        return [*of_releases, *([*options, "--strategy", "all"] for options in of_releases), *of_libraries]


_NO_OTHERS = Others()


def run_examples(folder: Path, parts: Sequence[str] = (ASSIGNING, SIMULATING), others: Others = _NO_OTHERS) -> None:
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
            *(["assign", *fleet, *options] for options in others.jobs),
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


def prepare(others: Others = _NO_OTHERS) -> None:
    """Compile the rules in two processes, of which one writes the archive; only that one runs for the archive alone."""
    from rebalance_sim.engine.spark.class_archive import class_archive  # noqa: PLC0415
    from rebalance_sim.engine.spark.java_runtime import java_home  # noqa: PLC0415

    archive = class_archive(java_home())
    impossible = archive.with_suffix(".impossible")
    with suppress(OSError):
        archive.parent.mkdir(parents=True, exist_ok=True)
    has_tried = archive.exists() or impossible.exists() or not os.access(archive.parent, os.W_OK)
    prepared = _Prepared(others)
    compiles = not prepared.is_current
    if has_tried and not compiles:
        return
    unfinished = archive.with_suffix(f".{os.getpid()}")
    task = "compiling Kafka's rules" if compiles else "archiving the classes of the JVM"
    print(f"{task} (takes a few minutes, once)", file=sys.stderr)
    before = number_compiled()
    with TemporaryDirectory() as folder:
        parts = [_Part(Path(folder), ASSIGNING, others, None if has_tried else unfinished)]
        parts += [_Part(Path(folder), SIMULATING, others)] if compiles else []
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
        _remove_outdated()
        prepared.record()
        print(f"compiled {number_compiled() - before} rules", file=sys.stderr)


class _Prepared:
    """The record that rules are compiled, with their keys: it holds until one of them changes."""

    def __init__(self, others: Others) -> None:
        names = "-".join(["", *sorted(others.releases), *sorted(others.libraries)])
        self._file = cache_folder() / f"prepared{names}.json"

    @property
    def is_current(self) -> bool:
        """Whether all of the rules are still the same."""
        try:
            return all(_key(rule) == key for rule, key in json.loads(self._file.read_text()).items())
        except (OSError, ValueError):
            return False

    def record(self) -> None:
        """Record all rules whose compiled code is kept."""
        rules = dict(file.name.split(".py")[0].rsplit("-", 1) for file in cache_folder().glob("*.nbi"))
        self._file.write_text(json.dumps({rule: _key(rule) for rule in sorted(rules)}))


def _key(rule: str) -> str | None:
    try:
        return rule_key(rule)
    except LookupError:
        return None


def _remove_outdated() -> None:
    """Remove the code of rules as they are no longer, unless another version of this package may have just made it."""
    for index in cache_folder().glob("*.nbi"):
        rule, key = index.name.split(".py")[0].rsplit("-", 1)
        if _key(rule) != key and time.time() - index.stat().st_mtime > _UNUSED_SECONDS:
            for file in cache_folder().glob(f"{rule}-{key}.*"):
                file.unlink(missing_ok=True)


class _Part:
    """A process that runs some of the examples at low priority."""

    def __init__(self, folder: Path, name: str, others: Others, archive: Path | None = None) -> None:
        command = [sys.executable, "-m", __spec__.name, "--part", name, "--folder", str(folder / name)]
        command += ["--releases", ",".join(others.releases), "--libraries", ",".join(others.libraries)]
        command += ["--archive", str(archive)] if archive else []
        self._log = folder / f"{name}.log"
        environment = os.environ | {ALWAYS_COMPILES: "always"}
        with self._log.open("w") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment)

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


def _run_part(name: str, folder: Path, others: Others, archive: Path | None) -> None:
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
    run_examples(folder, [name], others)
    spark.stop()
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def main() -> int:
    """Prepare this machine, and return the exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}", description=__doc__.splitlines()[0])
    parser.add_argument("--releases", type=_names, default=[], metavar="2.8,3.6", help="older Kafka releases")
    parser.add_argument("--libraries", type=_names, default=[], metavar="sarama,franz-go", help="client libraries")
    for option in ("--part", "--folder", "--archive"):
        parser.add_argument(option, help=argparse.SUPPRESS)
    given = parser.parse_args()
    others = Others(given.releases, given.libraries)
    if given.part:
        _run_part(given.part, Path(given.folder), others, Path(given.archive) if given.archive else None)
        return 0
    try:
        others.check()
    except UserError as mistake:
        print(f"{parser.prog}: {mistake}", file=sys.stderr)
        return 2
    try:
        prepare(others)
    except (UserError, OSError) as problem:
        # Jobs do without it.
        print(f"this machine is not prepared: {problem}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
