"""Groups that migrate from the classic to the consumer protocol, member by member."""

from __future__ import annotations

from dataclasses import replace

from tests.support.cluster.fleet import COOPERATIVE, JAVA_DEFAULT, RANGE, RDKAFKA_DEFAULT, ROBIN, STICKY, Client
from tests.support.cluster.set_ups import Join, Leave, Round, SetUp

_ALIKE, _OWN = ("a b", "a b", "a b"), ("a b", "b c", "a c")
_ASSIGNOR = {RANGE: "server-range"}
"""The coordinator's assignor that takes the place of a consumer's; by default uniform."""
_LIBRARIES_THAT_MIGRATE = {"java", "librdkafka"}
"""The clients of other libraries are replaced by Java's."""
_GROUPS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    *((library, (protocol,), _ALIKE) for library in ("java", "franz-go") for protocol in (RANGE, ROBIN, STICKY)),
    *((library, (COOPERATIVE,), _ALIKE) for library in ("java", "librdkafka", "franz-go")),
    *((library, (protocol,), _ALIKE) for library in ("librdkafka", "kafka-python") for protocol in (RANGE, ROBIN)),
    *(("sarama", (protocol,), _ALIKE) for protocol in (RANGE, ROBIN, STICKY)),
    ("kafkajs", ("RoundRobinAssigner",), _ALIKE),
    ("kafka-python", (STICKY,), _ALIKE),
    ("java", JAVA_DEFAULT, _ALIKE),
    ("librdkafka", RDKAFKA_DEFAULT, _ALIKE),
    *(("java", (protocol,), _OWN) for protocol in (RANGE, STICKY, COOPERATIVE)),
    ("librdkafka", (RANGE,), _OWN),
    ("franz-go", (RANGE,), _OWN),
    ("java sarama java", (RANGE,), _ALIKE),
    ("sarama java java", (STICKY,), _ALIKE),
    ("librdkafka java java", (RANGE,), _ALIKE),
    ("java librdkafka librdkafka", (COOPERATIVE,), _ALIKE),
    ("franz-go java java", (ROBIN,), _ALIKE),
)
"""The libraries of the members (one for all, or one each), their protocols, and the topics of each."""


def migrating_groups() -> list[SetUp]:
    """Return the groups; their rounds restart each member with the consumer protocol, the last joined first."""
    groups = [_group(*each) for each in _GROUPS]
    return [*groups, *(_with_static_members(_group("java", (protocol,), _ALIKE)) for protocol in (RANGE, COOPERATIVE))]


def _group(libraries: str, protocols: tuple[str, ...], subscriptions: tuple[str, ...]) -> SetUp:
    own = "-own-topics" if subscriptions is _OWN else ""
    name = f"{libraries.replace(' ', '-')}-{'-'.join(protocols)}{own}"
    of_members = libraries.split() * (1 if " " in libraries else 3)
    members = tuple(
        Client(name, client_id, protocols, tuple(f"{name}.{topic}" for topic in topics.split()), library=library)
        for client_id, library, topics in zip("zyx", of_members, subscriptions, strict=True)
    )
    topics = dict.fromkeys((topic for client in members for topic in client.topics), 5)
    return SetUp(name, {topic: 5 - place for place, topic in enumerate(topics)}, members, _bounces(members))


def _bounces(members: tuple[Client, ...]) -> tuple[Round, ...]:
    """Restart one member after the other; a static one remains a member while it restarts."""
    rounds: list[Round] = []
    for client in reversed(members):
        stop, start = Leave(client.client_id), Join(migrated(client))
        rounds += [(stop, start)] if client.instance_id else [(stop,), (start,)]
    return tuple(rounds)


def offline(group: SetUp) -> tuple[Round, ...]:
    """Return rounds that stop all members of a group before the first one starts with the consumer protocol."""
    stops = tuple(Leave(client.client_id) for client in group.members)
    return (stops, *((Join(migrated(client)),) for client in reversed(group.members)))


def migrated(client: Client) -> Client:
    """Return the client that takes the place of another one after the migration."""
    library = client.library if client.library in _LIBRARIES_THAT_MIGRATE else "java"
    assignor = _ASSIGNOR.get(client.protocols[0], "server-uniform")
    return replace(client, client_id=f"{client.client_id}-new", protocols=(assignor,), library=library)


def _with_static_members(group: SetUp) -> SetUp:
    name = f"{group.group}-static"
    topics = {f"{name}.{topic.rpartition('.')[2]}": count for topic, count in group.topics.items()}
    members = tuple(
        replace(client, group=name, topics=tuple(topics), instance_id=f"instance-{client.client_id}")
        for client in group.members
    )
    return SetUp(name, topics, members, _bounces(members))
