"""Kafka's own classes as an oracle for the rules of this project; see README.md."""

from tests.oracle.oracle import (
    PRODUCER_VERSIONS,
    SERVER_VERSIONS,
    VERSIONS,
    JsonObject,
    OracleUnavailable,
    answers,
    bench,
    build,
    jars,
    measure,
)

__all__ = [
    "PRODUCER_VERSIONS",
    "SERVER_VERSIONS",
    "VERSIONS",
    "JsonObject",
    "OracleUnavailable",
    "answers",
    "bench",
    "build",
    "jars",
    "measure",
]
