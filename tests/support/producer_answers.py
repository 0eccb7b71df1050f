"""The rules' answers to the oracle's cases about producers (``tests/oracle/README.md``)."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.kafka.partitioners.key_hashes import murmur2
from rebalance_sim.kafka.partitioners.partitioner import Unkeyed
from rebalance_sim.kafka.partitioners.producers import (
    ProducerTopics,
    RecordsToSend,
    change_sticky,
    count_bytes,
    draw_by_queues,
    new_producers,
    next_partition,
    send,
)
from rebalance_sim.kafka.partitioners.record_accumulator import NONE, ProducerRecord, ProducerSettings, TopicInfo
from rebalance_sim.releases import BATCH_SIZE
from tests.support.cases import JsonObject
from tests.support.keys import key_column, partition_of

PRODUCERS = {"1.0": "java-2.3", "2.3": "java-2.3", "2.8": "java-2.4", "3.9": "java-3.3", "4.3": "java-3.3"}
"""The client that has the rules of a release."""
DEFAULT_PARTITIONERS = PRODUCERS | {"3.9": "java-2.4"}
"""The client that has the rules of a release's ``DefaultPartitioner``, which 3.3 to 3.9 no longer use by default."""
PARTITIONERS = {
    ("2.8", "RoundRobinPartitioner"): "java-2.4-round-robin",
    ("4.3", "RoundRobinPartitioner"): "java-4.0-round-robin",
    ("2.8", "UniformStickyPartitioner"): "java-uniform-sticky",
}
"""The client that has the rules of a release's other partitioners, by their class."""
_UNKEYED = ProducerRecord(0, NONE, NONE, NONE, 0)


def differences(version: str, cases: Iterable[JsonObject], answers: Iterable[JsonObject]) -> list[Any]:
    """Return the cases that the rules answer otherwise than Kafka's classes did, with both answers."""
    different = []
    for case, of_kafka in zip(cases, answers, strict=True):
        ours = answer(version, case)
        theirs = {name: of_kafka[name] for name in ours}
        if "batches" in theirs:
            theirs["batches"] = _sorted(theirs["batches"])
        if case["rule"] == "built-in-partitioner":
            theirs["partitions"] = theirs["partitions"][: len(ours["partitions"])]
        if ours != theirs:
            different.append((case, theirs, ours))
    return different


def answer(version: str, case: JsonObject) -> JsonObject:
    """Return the answer to a case of any rule, without its id."""
    match case["rule"]:
        case "murmur2":
            keys = [bytes.fromhex(key) for key in case["keys"]]
            hashes = [murmur2(key_column(keys)[0], i) for i in range(len(keys))]
            return {"murmur2": hashes, "positive": [h & 0x7FFFFFFF for h in hashes]}
        case "default-partitioner":
            return {"partitions": _Partitioners(DEFAULT_PARTITIONERS[version], case).take_all()}
        case "built-in-partitioner":
            return {"partitions": _Partitioners(PRODUCERS[version], case).take_all()}
        case _ if "partitioner" in case:
            return producer_answer(PARTITIONERS[version, case["partitioner"]], case)
        case _:
            return producer_answer(PRODUCERS[version], case)


def producer_answer(client: str, case: JsonObject) -> JsonObject:
    """Return the partition of each record of a case of the rule "producer", and the batches, sorted."""
    records, names = case["records"], list(case["topics"])
    columns = [[record[name] for record in records] for name in ("partition", "key_bytes", "value_bytes", "at_ms")]
    places = np.array([names.index(record["topic"]) for record in records], np.int64)
    settings = ProducerSettings(case["batch_size"], case["linger_ms"], case["adaptive"])
    given = RecordsToSend(np.arange(len(records)), places, *map(_numbers, columns))
    sent = send(settings, np.array([case["seed"]]), _topics(client, case), given)
    batches = [
        {
            "topic": record["topic"],
            "partition": partition,
            "records": count,
            "bytes": size,
            "created_ms": opened,
            "drained_ms": None if closed == NONE else closed,
        }
        for record, partition, count, size, opened, closed in zip(
            records, *(column.tolist() for column in sent), strict=True
        )
        if count
    ]
    return {"partitions": sent.partitions.tolist(), "batches": _sorted(batches)}


def _topics(client: str, case: JsonObject) -> ProducerTopics:
    topics: dict[str, int] = case["topics"]
    return ProducerTopics(
        np.zeros(len(topics), np.int64),
        np.full(len(topics), int(CLIENTS[client].unkeyed)),
        np.array(list(topics.values())),
        np.array(_has_leader(topics, case["unavailable"]), np.int64),
    )


def _has_leader(topics: dict[str, int], unavailable: list[list[Any]]) -> list[bool]:
    return [[topic, n] not in unavailable for topic, partitions in topics.items() for n in range(partitions)]


def _numbers(values: list[int | None]) -> Any:
    return np.array([NONE if value is None else value for value in values], np.int64)


def _sorted(batches: list[JsonObject]) -> list[JsonObject]:
    return sorted(batches, key=lambda batch: [(value is None, value) for value in batch.values()])


class _Partitioners:
    """The partitioners of a producer's topics, called one by one, without batches."""

    def __init__(self, client: str, case: JsonObject) -> None:
        self._client, self._case = client, case
        self._settings = ProducerSettings(case.get("sticky_batch_size", BATCH_SIZE))
        self._producers = new_producers(np.array([case["seed"]]), _topics(client, case), 0)
        # As numpy has them: kernels take single records of its type only.
        self._topics, self._partitions = np.asarray(self._producers.topics), np.asarray(self._producers.partitions)

    def take_all(self) -> list[int | None]:
        """Take the steps; stop before one that cannot happen to a producer, which the rules need not know."""
        partitions = []
        for step in self._case["steps"]:
            if not self._can_happen(step):
                break
            partitions.append(self._take(step))
        return partitions

    def _can_happen(self, step: JsonObject) -> bool:
        """A run of the sender leaves at most one batch in a queue, and leaders do not change after it."""
        if step["call"] == "load":
            return step["load"] is None or max(step["load"]["queue_sizes"]) <= 1
        return step["call"] != "metadata" or not any(topic.queues for topic in self._topics)

    def _take(self, step: JsonObject) -> int | None:
        topic = self._topics[list(self._case["topics"]).index(step["topic"]) if "topic" in step else 0]
        match step["call"]:
            case "partition" if step["key"] is not None:
                return partition_of(self._client, bytes.fromhex(step["key"]), int(topic.partitions))
            case "partition" | "peek":
                return self._partition(topic)
            case "on-new-batch" if topic.rule == Unkeyed.STICKY_UNTIL_NEW_BATCH:
                change_sticky(self._producers, topic, step["partition"])
            case "update":
                self._partition(topic)
                count_bytes(self._producers, self._settings, topic, step["bytes"], step["enable_switch"])
                return int(topic.sticky)
            case "load":
                self._see_queues(topic, step["load"])
            case "metadata":
                self._see_leaders(step["unavailable"])
        return None

    def _partition(self, topic: TopicInfo) -> int:
        if topic.rule == Unkeyed.JAVA_ROUND_ROBIN:
            return int(next_partition(self._producers, self._settings, topic, _UNKEYED))
        if topic.sticky == NONE and topic.rule == Unkeyed.STICKY_UNTIL_NEW_BATCH:
            change_sticky(self._producers, topic, NONE)
        elif topic.sticky == NONE:
            topic.sticky = draw_by_queues(self._producers, self._settings, topic)
        return int(topic.sticky)

    def _see_queues(self, topic: TopicInfo, load: JsonObject | None) -> None:
        """Let the sender's last run have left batches in some queues, or a partition without a queue."""
        topic.queues = 0 if load is None else topic.partitions
        for partition in self._partitions:
            partition.full_at_run = NONE
        for number, size in zip(load["partition_ids"], load["queue_sizes"], strict=True) if load else ():
            if size:
                self._partitions[number].full_at_run = self._producers.producers[0].sender_runs

    def _see_leaders(self, unavailable: list[list[Any]]) -> None:
        has_leader = _has_leader(self._case["topics"], unavailable)
        for partition, has_one in zip(self._partitions, has_leader, strict=True):
            partition.has_leader = has_one
        for topic in self._topics:
            first = int(topic.first_partition)
            topic.available = sum(has_leader[first : first + int(topic.partitions)])
