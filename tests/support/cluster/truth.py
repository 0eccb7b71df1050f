"""
Elected protocols, leaders and assignments, from the coordinator's records of each group.

The tools and AdminClient show neither the leader nor the order of an assignment. Both are in
`__consumer_offsets`, whose records Kafka's own formatter prints as JSON, with subscriptions and
assignments as base64.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from rebalance_sim.kafka.wire.readable import Readable
from tests.support.cluster.broker import Broker
from tests.support.cluster.clients import Partitions

_FORMATTER = "org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter"
_IDLE_MS = "4000"

Listing = list[tuple[str, int]]
Record = dict[str, Any]
Records = dict[str, list[Record]]
Generation = dict[str, Any]


def records(broker: Broker) -> Records:
    """Return the GroupMetadata records with members of each group, oldest first."""
    printed = broker.tools(
        "kafka-console-consumer",
        *("--topic", "__consumer_offsets", "--from-beginning", "--timeout-ms", _IDLE_MS),
        *("--formatter", _FORMATTER),
    )
    found: Records = {}
    for record in _objects(printed):
        group = record["key"]["data"]["group"]
        if record["value"] is not None and record["value"]["data"]["members"]:
            found.setdefault(group, []).append(record["value"]["data"])
    return found


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Split the formatter's JSON objects, which have no separator."""
    decoder = json.JSONDecoder()
    at = 0
    while at < len(text):
        found, at = decoder.raw_decode(text, at)
        yield found


def describe(record: Record, joined: list[str]) -> Generation:
    """Return one generation of a group, with its members in join order."""
    protocol = record["protocol"]
    members = {member["memberId"]: member for member in record["members"]}
    ids = [id_ for id_ in joined if id_ in members]
    owned = {id_: read_owned(members[id_], protocol) for id_ in ids}
    return {
        "generation": record["generation"],
        "protocol": protocol,
        "leader": record["leader"],
        "owned": {id_: listing for id_, (listing, _) in owned.items() if listing},
        "owned_generation": {id_: since for id_, (listing, since) in owned.items() if listing},
        "assignments": {id_: read_assignment(members[id_]) for id_ in ids},
    }


def check(generation: Generation, seen: Mapping[str, Partitions]) -> None:
    """Check that a record agrees with the clients or AdminClient."""
    for member_id, partitions in generation["assignments"].items():
        if set(partitions) != seen[member_id]:
            raise AssertionError(f"{member_id}: {partitions} but seen {seen[member_id]}")


def lacking_topics(before: Records, after: Records) -> set[str]:
    """
    Return the groups whose leader has since assigned no partition of a topic that a member subscribes to.

    A Java leader forgets the topics of other members when it rejoins, and may assign with a metadata
    response that was under way by then (`ConsumerCoordinator.onJoinPrepare`, `updateGroupSubscription`).
    It asks for another rebalance once it knows all topics, and by then members own other partitions.
    """
    return {
        group
        for group, records in after.items()
        if any(map(_lacks_a_topic, _new_generations(before.get(group, []), records)))
    }


def _new_generations(before: list[Record], after: list[Record]) -> list[Record]:
    """Return the first record of each generation: a static member that restarts has its group written once more."""
    known = {record["generation"] for record in before}
    first = {record["generation"]: record for record in reversed(after)}
    return [record for generation, record in first.items() if generation not in known]


def _lacks_a_topic(record: Record) -> bool:
    subscribed = {topic for member in record["members"] for topic in read_topics(member)}
    assigned = {topic for member in record["members"] for topic, _ in read_assignment(member)}
    return bool(subscribed - assigned)


def read_assignment(member: Record) -> Listing:
    reader = _reader(member, "assignment")
    reader.int16("version")
    return _partitions(reader)


def read_topics(member: Record) -> list[str]:
    reader = _reader(member, "subscription")
    reader.int16("version")
    return list(reader.strings("topics"))


def read_owned(member: Record, protocol: str) -> tuple[Listing, int]:
    """Return the partitions that a member reported when it joined, and their generation."""
    reader = _reader(member, "subscription")
    version = reader.int16("version")
    reader.strings("topics")
    user_data = reader.nullable_bytes("user data")
    if protocol == "sticky" and user_data:
        # The eager sticky assignor keeps this in its own bytes, because by the time an eager
        # member joins it has revoked everything.
        reader, version = Readable(user_data, "user data"), 2
    # In the subscription since versions 1 and 2.
    owned = _partitions(reader) if version >= 1 else []
    return owned, reader.int32("generation") if version >= 2 else -1


def _reader(member: Record, field: str) -> Readable:
    return Readable(base64.b64decode(member[field]), field)


def _partitions(reader: Readable) -> Listing:
    found: Listing = []
    for _ in range(reader.int32("topics")):
        topic = reader.string("topic")
        found += [(topic, number) for number in reader.int32s("partitions")]
    return found
