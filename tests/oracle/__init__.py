"""Kafka's own classes as an oracle for the rules of this project; see README.md."""

from tests.oracle.oracle import PRODUCER_VERSIONS, JsonObject, answers, build, jars, measure

__all__ = ["PRODUCER_VERSIONS", "JsonObject", "answers", "build", "jars", "measure"]
