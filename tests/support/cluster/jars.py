"""Kafka's released jars, from Maven."""

from __future__ import annotations

from pathlib import Path

from tests.support.maven import MavenProject

_FOLDER = Path(__file__).resolve().parent


def java_command(version: str, *options: str, log_level: str = "warn") -> list[str]:
    """Return the start of a command that runs a class of this Kafka version."""
    pom = _FOLDER / "zookeeper" / "pom.xml" if needs_zookeeper(version) else _FOLDER / "pom.xml"
    project = MavenProject(_FOLDER, pom, "kafka.version", version)
    return project.java_command(f"-Dorg.slf4j.simpleLogger.defaultLogLevel={log_level}", *options)


def needs_zookeeper(version: str) -> bool:
    """Return whether this Kafka is run with ZooKeeper: any version that has no KRaft controller."""
    return int(version.partition(".")[0]) < 3
