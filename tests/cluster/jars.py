"""Fetch Kafka's released jars with Maven and say how to run them."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parent
MAVEN_SECONDS = 600


class ClusterUnavailable(Exception):  # noqa: N818 - a reason to skip, not a fault
    """Kafka cannot run on this machine; the message says in one line what is missing."""


def java_command(version: str, *options: str, log_level: str = "warn") -> list[str]:
    """The start of a command that runs a class of this Kafka version."""
    return [
        _program("java"),
        # Short-lived or nearly idle processes: start fast, stay small.
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        f"-Dorg.slf4j.simpleLogger.defaultLogLevel={log_level}",
        *options,
        "-cp",
        _classpath(version),
    ]


def needs_zookeeper(version: str) -> bool:
    """The broker alone, of a Kafka that came with ZooKeeper; a later one runs without."""
    return int(version.partition(".")[0]) < 3


def java_environment() -> dict[str, str]:
    """UTF-8 output whatever the user's locale, and no options from outside."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    # With these set, the JVM announces them in the middle of a tool's output.
    for name in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"):
        environment.pop(name, None)
    return environment


def _classpath(version: str) -> str:
    target = PROJECT / "target" / version
    listing = target / "classpath.txt"
    with _one_at_a_time(version):
        if not _up_to_date(listing, _pom(version)):
            _build(version)
            # Maven leaves an unchanged listing alone, and its date says when the build was.
            listing.touch()
    return f"{target / 'classes'}{os.pathsep}{listing.read_text().strip()}"


def _pom(version: str) -> Path:
    return PROJECT / "zookeeper" / "pom.xml" if needs_zookeeper(version) else PROJECT / "pom.xml"


def _up_to_date(listing: Path, pom: Path) -> bool:
    if not listing.exists():
        return False
    built = listing.stat().st_mtime
    sources = [pom, *(PROJECT / "src").rglob("*.java")]
    jars = listing.read_text().strip().split(os.pathsep)
    return all(path.stat().st_mtime <= built for path in sources) and all(map(os.path.exists, jars))


def _build(version: str) -> None:
    command = [_program("mvn"), "--batch-mode", "--quiet", "--file", str(_pom(version))]
    command += [f"-Dkafka.version={version}", "process-classes"]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=MAVEN_SECONDS)
    except subprocess.TimeoutExpired:
        raise ClusterUnavailable(f"mvn did not end within {MAVEN_SECONDS} s") from None
    if "COMPILATION ERROR" in done.stdout:
        # Our own mistake: it must not look like a machine without a registry.
        raise RuntimeError(done.stdout)
    if done.returncode != 0:
        raise ClusterUnavailable(f"mvn could not fetch Kafka {version}: {_first_error(done.stdout)}")


def _first_error(output: str) -> str:
    errors = [line.partition("[ERROR]")[2].strip() for line in output.splitlines()]
    return next(filter(None, errors), "no reason given")


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise ClusterUnavailable(f"{name} is not installed")
    return path


@contextmanager
def _one_at_a_time(version: str) -> Iterator[None]:
    """Parallel test processes must not build into the same folder at once."""
    (PROJECT / "target").mkdir(exist_ok=True)
    with (PROJECT / "target" / f"{version}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
