"""Java: Apache Kafka's own consumer and producer, 0.11 to 4.4.

Sources: ``ConsumerConfig``, ``StickyAssignor`` and ``CooperativeStickyAssignor``; ``DefaultPartitioner`` of 2.3.1 and
2.4.1, ``BuiltInPartitioner`` of 4.3.1, ``RoundRobinPartitioner`` and ``UniformStickyPartitioner`` of 2.4.1 to 4.3.1;
Kafka Streams' ``WindowedStreamPartitioner``.
"""

from typing import TYPE_CHECKING

from rebalance_sim.kafka.clients.library import (
    OF_CLASSIC_PROTOCOL,
    POLL_RECORDS,
    SETTINGS,
    ClientLibrary,
    Subscriptions,
)
from rebalance_sim.kafka.partitioners.partitioner import Client, KeyHash, Unkeyed

if TYPE_CHECKING:
    from rebalance_sim.kafka.wire.consumer_protocol import SentSubscription

_NO_PARTITIONS = bytes(4)
"""The start of sticky user data without partitions."""
_GENERATION_BYTES = 4


def _could_be(protocol: str, sent: "SentSubscription") -> bool:
    """Return whether the user data are Java's: null unless the assignor has some, which are not empty.

    cooperative-sticky sends its generation.
    """
    user_data = sent.content.user_data
    if sent.rack_is_empty or (user_data == b"" and sent.version in (0, 3)):
        return False
    if sent.version == 3 and protocol == "cooperative-sticky" and user_data:
        return len(user_data) == _GENERATION_BYTES and user_data != _NO_PARTITIONS
    return True


def _is_rare(protocol: str, sent: "SentSubscription") -> bool:
    """Return whether a sticky member has lost all its partitions; one that has not joined before sends null."""
    return sent.version == 3 and protocol == "sticky" and (sent.content.user_data or b"").startswith(_NO_PARTITIONS)


def _names_its_group(client_id: str, group_id: str, instance_id: str | None) -> bool:
    """Return whether a client id is a default with the name of the member's group.

    ``ConsumerConfig.maybeOverrideClientId`` makes ``consumer-GROUP-N`` since 2.3, with the group.instance.id instead of
    the number for a static member, and a task of a sink connector in group ``connect-NAME`` is
    ``connector-consumer-NAME-N`` (KIP-411). Before 2.3, ``consumer-N`` is no evidence: consumers of other libraries are
    configured so, too.
    """
    own = client_id.removeprefix(f"consumer-{group_id}-")
    if own != client_id:
        return own == instance_id or _is_number(own)
    connector = group_id.removeprefix("connect-")
    task = client_id.removeprefix(f"connector-consumer-{connector}-")
    return connector != group_id and task != client_id and _is_number(task)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


LIBRARY = ClientLibrary(
    "java",
    # StreamThread.getConsumerClientId, ConsoleConsumerOptions.
    client_ids=r".*-StreamThread-\d+-consumer|console-consumer",
    names_its_group=_names_its_group,
    # KAFKA-12477, KIP-726: a group can move to cooperative-sticky in one rolling restart.
    default_protocols=(((0,), ("range",)), ((3, 0), ("range", "cooperative-sticky"))),
    # KIP-429: 1 in 2.4 to 3.3. KIP-792: 2 in 3.4. KIP-881: 3 since 3.5.
    subscriptions=Subscriptions((0, 1, 2, 3), _could_be, _is_rare),
    settings={name: name for name in (*SETTINGS, POLL_RECORDS)},
    configured_assignors={
        protocol: f"org.apache.kafka.clients.consumer.{name}Assignor"
        for protocol, name in {
            "range": "Range",
            "roundrobin": "RoundRobin",
            "sticky": "Sticky",
            "cooperative-sticky": "CooperativeSticky",
        }.items()
    },
    # WorkerGroupMember. Schema Registry's type, "sr", has members of other languages, too (Karapace).
    protocol_types=("connect",),
    # Early access in 3.7 to 3.9.
    consumer_protocol_since=(4, 0),
    rejected_beside_protocol=OF_CLASSIC_PROTOCOL,
    partitioners=(
        Client("java-2.3", KeyHash.MURMUR2, Unkeyed.JAVA_ROUND_ROBIN),
        Client("java-2.4", KeyHash.MURMUR2, Unkeyed.STICKY_UNTIL_NEW_BATCH),
        Client("java-3.3", KeyHash.MURMUR2, Unkeyed.STICKY_BY_BYTES),
        Client("java-2.4-round-robin", KeyHash.NONE, Unkeyed.ROUND_ROBIN_TWICE),
        Client("java-4.0-round-robin", KeyHash.NONE, Unkeyed.ROUND_ROBIN_PARTITIONER),
        Client("java-uniform-sticky", KeyHash.NONE, Unkeyed.STICKY_UNTIL_NEW_BATCH),
        # TimeWindowedSerializer appends the start of the window, SessionWindowedSerializer its end and its start.
        Client("streams-time-windowed", KeyHash.MURMUR2, Unkeyed.STICKY_BY_BYTES, window_bytes=8),
        Client("streams-session-windowed", KeyHash.MURMUR2, Unkeyed.STICKY_BY_BYTES, window_bytes=16),
    ),
)
