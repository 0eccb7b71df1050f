"""The record of moved partitions, against maps and sets as Kafka's ``PartitionMovements`` has them."""

import random

import numpy as np
import pytest

from rebalance_sim.kafka.assignors.sticky.movements import (
    actual_partition,
    copy_movements,
    move_partition,
    new_movements,
    same_movements,
)
from rebalance_sim.kafka.assignors.sticky.numbered_group import PotentialConsumers
from rebalance_sim.kafka.runtime.hash_order import java_bucket, topic_partition_hash
from tests.support.arrays import hashes, ints
from tests.support.examples import COMPILED

TOPICS, PARTITIONS, MEMBERS = ("t", "u"), 40, 3


class Movements:
    """Kafka's maps; a set of partitions is a list in order of insertion and the size of its table."""

    def __init__(self) -> None:
        self.of_partition: dict[int, tuple[int, int]] = {}
        self.sets: dict[tuple[int, int, int], tuple[list[int], int]] = {}

    def move(self, topic: int, partition: int, old: int, new: int) -> None:
        source = old
        if partition in self.of_partition:
            pair = self.of_partition.pop(partition)
            source = pair[0]
            partitions, size = self.sets[topic, *pair]
            partitions.remove(partition)
            if not partitions:
                del self.sets[topic, *pair]
            if source == new:
                return
        partitions, size = self.sets.get((topic, source, new), ([], 16))
        partitions = [*partitions, partition]
        self.sets[topic, source, new] = partitions, 2 * size if 4 * len(partitions) > 3 * size else size
        self.of_partition[partition] = source, new

    def actual(self, topic: int, partition: int, old: int, new: int) -> int:
        old = self.of_partition.get(partition, (old, new))[0]
        partitions, size = self.sets.get((topic, new, old), ([], 16))
        topic_hash = int(hashes([TOPICS[topic]])[0])
        numbers = {p: p - topic * PARTITIONS for p in partitions}
        in_order = sorted(partitions, key=lambda p: java_bucket(topic_partition_hash(topic_hash, numbers[p]), size))
        return in_order[0] if in_order else partition


def potential() -> PotentialConsumers:
    """Return topics and partitions; no member matters here."""
    topic_of = np.repeat(np.arange(len(TOPICS), dtype=np.int32), PARTITIONS)
    first = ints([0, PARTITIONS, 2 * PARTITIONS])
    nothing = ints([])
    return PotentialConsumers(first, topic_of, hashes(TOPICS), nothing, nothing, nothing, nothing, nothing, nothing)


@pytest.mark.skipif(COMPILED, reason="compiling each step alone takes long; tests of the assignors run them compiled")
@pytest.mark.parametrize("seed", range(20))
def test_moves_are_found_as_in_kafkas_maps(seed: int) -> None:
    draw = random.Random(seed)
    count = len(TOPICS) * PARTITIONS
    owner = [draw.randrange(MEMBERS) for _ in range(count)]
    ours, kafkas, topics = new_movements(count), Movements(), potential()
    for _ in range(400):
        partition = draw.randrange(count)
        topic, old = partition // PARTITIONS, owner[partition]
        new = draw.choice([member for member in range(MEMBERS) if member != old])
        chosen = kafkas.actual(topic, partition, old, new)
        assert actual_partition(ours, topics, partition, old, new) == chosen
        if owner[chosen] == new:
            continue
        before = copy_movements(ours)
        assert same_movements(before, ours)
        kafkas.move(topic, chosen, owner[chosen], new)
        move_partition(ours, topic, chosen, owner[chosen], new)
        assert not same_movements(before, ours)
        owner[chosen] = new
