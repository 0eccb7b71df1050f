"""Groups whose members use every client library, alone and mixed, each with a member that joins later."""

from __future__ import annotations

from dataclasses import replace

from tests.support.cluster.fleet import COOPERATIVE, RANGE, ROBIN, STICKY, Client
from tests.support.cluster.set_ups import Join, SetUp

OF_GO = ("sarama", "franz-go", "kafka-go")
OF_JAVASCRIPT = ("kafkajs", "platformatic-kafka")
KAFKAJS = "RoundRobinAssigner"
PROTOCOLS = {
    "java": (RANGE, ROBIN, STICKY, COOPERATIVE),
    "librdkafka": (RANGE, ROBIN, COOPERATIVE),
    "kafka-python": (RANGE, ROBIN, STICKY),
    "sarama": (RANGE, ROBIN, STICKY),
    "franz-go": (RANGE, ROBIN, STICKY, COOPERATIVE),
    "kafka-go": (RANGE, ROBIN),
    "kafkajs": (KAFKAJS,),
    "platformatic-kafka": (ROBIN,),
}
_ALIKE, _OWN = ("a b c", "a b c", "a b c", "a b c"), ("a b", "b c", "a c", "b")
_HAVE_STATIC_MEMBERS = {"java", "librdkafka", "sarama", "franz-go"}
_GIVE_TO_ALL = {"kafkajs", "platformatic-kafka"}
"""Libraries that give members partitions of topics to which they do not subscribe."""
_FAILS = {("kafka-python", ROBIN)}
"""Its leader raises a KeyError if subscriptions differ."""
_MIXED = (
    (RANGE, "java sarama franz-go librdkafka"),
    (RANGE, "sarama java librdkafka java"),
    (RANGE, "franz-go java sarama java"),
    (RANGE, "librdkafka java franz-go java"),
    (RANGE, "sarama kafka-go franz-go kafka-go"),
    (RANGE, "franz-go kafka-go sarama java"),
    (RANGE, "kafka-python librdkafka kafka-python java"),
    (ROBIN, "java sarama franz-go librdkafka"),
    (ROBIN, "sarama java librdkafka java"),
    (ROBIN, "franz-go java sarama java"),
    (ROBIN, "librdkafka franz-go java sarama"),
    (ROBIN, "sarama kafka-go franz-go kafka-go"),
    (ROBIN, "franz-go kafka-go sarama java"),
    (STICKY, "java franz-go sarama java"),
    (STICKY, "java sarama sarama franz-go"),
    (COOPERATIVE, "java franz-go java librdkafka"),
)
"""The libraries of three members, the first of which leads, and of the one that joins."""


def library_groups() -> list[SetUp]:
    """Return the groups."""
    groups = []
    for library, protocols in PROTOCOLS.items():
        for protocol in protocols:
            libraries = (library,) * 4
            groups.append(_group(f"{library}-{protocol}", protocol, libraries, _ALIKE))
            if library not in _GIVE_TO_ALL and (library, protocol) not in _FAILS:
                groups.append(_group(f"{library}-{protocol}-own-topics", protocol, libraries, _OWN))
            if library in _HAVE_STATIC_MEMBERS:
                groups.append(_with_static_members(_group(f"{library}-{protocol}-static", protocol, libraries, _ALIKE)))
    for protocol, names in _MIXED:
        groups.append(_group(f"{protocol}-{names.replace(' ', '-')}", protocol, tuple(names.split()), _ALIKE))
    return groups


def _group(name: str, protocol: str, libraries: tuple[str, ...], subscriptions: tuple[str, ...]) -> SetUp:
    topics = {f"{name}.a": 7, f"{name}.b": 4, f"{name}.c": 3}
    clients = [
        Client(
            name,
            client_id,
            (protocol,),
            tuple(f"{name}.{topic}" for topic in subscription.split()),
            library=library,
            commit="never",
        )
        for client_id, library, subscription in zip("zyxa", libraries, subscriptions, strict=True)
    ]
    return SetUp(name, topics, tuple(clients[:3]), ((Join(clients[3]),),))


def _with_static_members(group: SetUp) -> SetUp:
    """Give the second and the third member an instance id; they sort in the other order than their member ids."""
    leader, *others = group.members
    static = (replace(client, instance_id=f"{place}-till") for place, client in enumerate(others))
    return replace(group, members=(leader, *static))
