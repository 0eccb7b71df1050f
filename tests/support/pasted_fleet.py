"""A fleet of sixty groups of all kinds and libraries, as the text that Kafka's tools of several releases print."""

import random
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.sources.kafka_tools.test_layouts import (
    MEMBER_LAYOUTS,
    OFFSET_LAYOUTS,
    STATE_LAYOUTS,
    Column,
    as_assignment,
    cell,
    printed,
)


@dataclass(frozen=True)
class PastedGroup:
    """A group, and what an audit should make of it."""

    group_id: str
    kind: str
    library: str | None
    """None if nothing that the tools print shows it."""
    client_id: str
    """With the group's id and the member's number in braces."""
    strategy: str
    members: int = 3
    partitions: int = 6
    is_static: bool = False
    lag: int = 3
    """Of its last partition; that of the others is 3."""
    without_leader: int = 0
    """Partitions without a leader: the first ones."""


def _groups(number: int, prefix: str, library: str | None, client_id: str, *strategies: str) -> Iterator[PastedGroup]:
    for place in range(number):
        strategy = strategies[place % len(strategies)]
        yield PastedGroup(f"{prefix}-{place}", "consumers", library, client_id, strategy, 2 + place % 4, 5 + place)


SINK, STREAMS = "connector-consumer-{sink}-{number}", "{group}-5f0c2b1e-7a1d-4d0b-StreamThread-{number}-consumer"
FLEET: Sequence[PastedGroup] = (
    *_groups(10, "orders", "java", "consumer-{group}-{number}", "range", "cooperative-sticky", "roundrobin", "sticky"),
    *_groups(7, "clicks", "librdkafka", "rdkafka", "range", "roundrobin", "cooperative-sticky"),
    *_groups(6, "pricing", "sarama", "sarama", "range", "roundrobin", "sticky"),
    *_groups(6, "stock", "franz-go", "kgo", "cooperative-sticky", "range"),
    *_groups(6, "search", "kafka-go", "search@search-{number} (github.com/segmentio/kafka-go)", "range", "roundrobin"),
    *_groups(5, "mail", "kafkajs", "kafkajs", "RoundRobinAssigner"),
    # A protocol name that KafkaJS alone uses tells as much as its default client id.
    *_groups(1, "push", "kafkajs", "push-{number}", "RoundRobinAssigner"),
    *_groups(4, "ranking", "aiokafka", "aiokafka-0.12.0", "roundrobin"),
    *_groups(4, "report", "kafka-python", "kafka-python-2.0.2", "range"),
    *_groups(1, "billing", None, "billing-{number}", "range"),
    # An id that begins like a library's says nothing about the library.
    *_groups(1, "loader", None, "sarama-loader-{number}", "range"),
    PastedGroup("sessions", "consumers", "java", "consumer-{group}-{number}", "range", is_static=True),
    PastedGroup("fraud", "kafka-streams", "java", STREAMS, "stream", 4),
    PastedGroup("enrich", "kafka-streams", "java", STREAMS, "stream", 2),
    PastedGroup("_confluent-ksql-default_query_CTAS_A_3", "ksqldb", "java", STREAMS, "stream", 2),
    PastedGroup("connect-s3", "connect-sink", "java", SINK, "range", 2),
    PastedGroup("connect-jdbc", "connect-sink", "java", SINK, "range", 3),
    PastedGroup("console-consumer-77210", "console-consumer", "java", "console-consumer", "range", 1),
    PastedGroup("flink-totals", "flink", None, "", "", 0),
    PastedGroup("backfill", "offsets-only", None, "", "", 0),
)
RELEASES = {
    "1.0": ("1.0", None, None),
    "2.3": ("2.3", "2.3", "2.3 --verbose"),
    "3.9": ("2.3", "2.3", "3.8 --verbose"),
    "4.3": ("4.0 --verbose", "4.0 --verbose", "4.0 --verbose"),
}
"""By release, the layouts of offsets, states and members; 1.0 prints offsets alone."""


@dataclass(frozen=True)
class _Member:
    member_id: str
    instance_id: str
    client_id: str
    host: str
    partitions: list[int]


def member_ids(group: PastedGroup) -> list[str]:
    """Return the ids of a group's members, the same whenever they are printed."""
    return [member.member_id for member in _members(group)]


def _members(group: PastedGroup) -> list[_Member]:
    rng = random.Random(group.group_id)
    found = []
    for number in range(group.members):
        sink = group.group_id.removeprefix("connect-")
        client = group.client_id.format(group=group.group_id, number=number, sink=sink)
        instance = f"{group.group_id}-pod-{number}" if group.is_static else ""
        member_id = f"{instance or client}-{uuid.UUID(int=rng.getrandbits(128), version=4)}"
        owned = list(range(number, group.partitions, group.members))
        found.append(_Member(member_id, instance, client, f"/10.0.{number}.7", owned))
    return found


def groups_of(release: str, fleet: Sequence[PastedGroup] = FLEET) -> list[PastedGroup]:
    """Return the groups that a capture can have: before 2.3 a file's name has the group's, and "_" hides the file."""
    return [group for group in fleet if RELEASES[release][1] is not None or not group.group_id.startswith("_")]


def write_pasted_fleet(folder: Path, release: str, fleet: Sequence[PastedGroup] = FLEET) -> None:
    """Write what the tools of a release print about a fleet: a file for each group and output."""
    offsets, states, members = RELEASES[release]
    folder.mkdir(parents=True)
    (folder / "topics.txt").write_text("".join(f"{line}\n" for group in fleet for line in _topic_lines(group)))
    for group in groups_of(release, fleet):
        name = group.group_id.lstrip("_")
        (folder / f"{name}.offsets.txt").write_text(printed(OFFSET_LAYOUTS[offsets], list(_offset_rows(group))))
        if states is not None:
            (folder / f"{name}.state.txt").write_text(printed(STATE_LAYOUTS[states], [_state_row(group)]))
        if members is not None and group.members:
            rows = list(_member_rows(group, members))
            (folder / f"{name}.members.txt").write_text(printed(_columns(group, members), rows))


def _topic(group: PastedGroup) -> str:
    return f"topic.{group.group_id}"


def _topic_lines(group: PastedGroup) -> Iterator[str]:
    yield f"Topic: {_topic(group)}\tPartitionCount: {group.partitions}\tReplicationFactor: 1"
    for number in range(group.partitions):
        leader, in_sync = ("none", "") if number < group.without_leader else ("1", "1")
        yield f"\tTopic: {_topic(group)}\tPartition: {number}\tLeader: {leader}\tReplicas: 1\tIsr: {in_sync}"


def _columns(group: PastedGroup, layout: str) -> list[Column]:
    """Return the columns of members; that of instance ids is printed only if a member has one."""
    columns = MEMBER_LAYOUTS[layout]
    return columns if group.is_static else [column for column in columns if column.name != "GROUP-INSTANCE-ID"]


def _offset_rows(group: PastedGroup) -> Iterator[dict[str, str]]:
    owners = {number: member for member in _members(group) for number in member.partitions}
    for number in range(group.partitions):
        owner = owners.get(number)
        lag = group.lag if number == group.partitions - 1 else 3
        yield {
            "GROUP": group.group_id,
            "TOPIC": _topic(group),
            "PARTITION": str(number),
            "LEADER-EPOCH": "0",
            "CURRENT-OFFSET": str(1000 + number),
            "LOG-END-OFFSET": str(1000 + number + lag),
            "LAG": str(lag),
            "CONSUMER-ID": cell(owner and owner.member_id),
            "HOST": cell(owner and owner.host),
            "CLIENT-ID": cell(owner and owner.client_id),
        }


def _state_row(group: PastedGroup) -> dict[str, str]:
    return {
        "GROUP": group.group_id,
        "COORDINATOR (ID)": "kafka-1:9092  (1)",
        "ASSIGNMENT-STRATEGY": group.strategy,
        "STATE": "Stable" if group.members else "Empty",
        "GROUP-EPOCH": "-",
        "TARGET-ASSIGNMENT-EPOCH": "-",
        "#MEMBERS": str(group.members),
    }


def _member_rows(group: PastedGroup, layout: str) -> Iterator[dict[str, str]]:
    for member in _members(group):
        assignment = as_assignment([(_topic(group), number) for number in member.partitions], layout)
        yield {
            "GROUP": group.group_id,
            "CONSUMER-ID": member.member_id,
            "GROUP-INSTANCE-ID": member.instance_id,
            "HOST": member.host,
            "CLIENT-ID": member.client_id,
            "#PARTITIONS": str(len(member.partitions)),
            "ASSIGNMENT": assignment,
            "CURRENT-EPOCH": "-",
            "CURRENT-ASSIGNMENT": assignment,
            "TARGET-EPOCH": "-",
            "TARGET-ASSIGNMENT": "-",
        }
