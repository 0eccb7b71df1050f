"""Reads the topics that ``kcat -L -J`` prints (kcat and kafkacat 1.4 to 1.7)."""

from collections.abc import Callable, Iterator

from rebalance_sim.sources.kafka_tools.columns import NAME
from rebalance_sim.sources.kafka_tools.contents import (
    BadLine,
    Content,
    MalformedError,
    PartitionLine,
    ToolOutput,
    TopicLine,
    quoted,
)
from rebalance_sim.sources.kafka_tools.json_fields import Fields, Item, items
from rebalance_sim.tables import MAX_PARTITIONS

_NO_LEADER = -1


def read_metadata(document: Fields) -> Iterator[Item]:
    """Return the topics and partitions of a document. Raises MalformedError."""
    for topic in document.objects("topics"):
        try:
            found = _topic(topic)
        except MalformedError as problem:
            yield Item(topic.value, BadLine(ToolOutput.TOPICS, None, str(problem)))
            continue
        yield Item(topic.value, found)
        yield from items(topic.objects("partitions"), ToolOutput.TOPICS, None, _partition_reader(found.topic))


def _topic(topic: Fields) -> TopicLine:
    name, error = topic.text("topic"), topic.text("error")
    if not NAME.fullmatch(name):
        raise MalformedError(f"topic is {quoted(name)}, not a topic name")
    if error:
        raise MalformedError(f"the broker did not describe topic {name!r}: {error}")
    return TopicLine(name, None, len(topic.objects("partitions")))


def _partition_reader(topic: str) -> Callable[[Fields], Content]:
    def read(partition: Fields) -> Content:
        number = partition.number("partition", MAX_PARTITIONS - 1)
        return PartitionLine(topic, number, partition.value.get("leader", _NO_LEADER) != _NO_LEADER)

    return read
