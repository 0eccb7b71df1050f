"""Plays cases of the oracle's rule ``coordinator`` (tests/oracle/README.md) on the coordinator's kernels."""

from rebalance_sim.versions import CoordinatorRules, kafka_version
from tests.kafka.coordinator_conversation import JsonObject, Player, in_order
from tests.kafka.coordinator_runtime import JavaPlayer

__all__ = ["coordinator_kernels_answer", "in_order"]


def coordinator_kernels_answer(version: str, case: JsonObject, made: list[str] | None = None) -> JsonObject:
    """What the kernels answer to a case; ``made`` are the ids that Kafka's coordinator made up, if it was asked."""
    player = JavaPlayer if kafka_version(version).coordinator >= CoordinatorRules.JAVA else Player
    return player(version, case, made or []).play()
