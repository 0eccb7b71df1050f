"""Groups of every client library whose history is random: ``tests/support/cluster/random_history.py`` plays them."""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.cluster.fleet import COOPERATIVE, JAVA_DEFAULT, RANGE, ROBIN, STICKY
from tests.support.cluster.library_groups import KAFKAJS, PROTOCOLS
from tests.support.cluster.set_ups import SERVER_RANGE, UNIFORM

SUBSCRIBING = ("java", "librdkafka", "kafka-python", "sarama", "franz-go")
"""Libraries whose consumers can subscribe to other topics here while they run."""


@dataclass(frozen=True)
class RandomGroup:
    """A group whose members use these libraries in turn."""

    name: str
    protocols: tuple[str, ...]
    libraries: tuple[str, ...]
    is_static: bool = False
    has_names: bool = True
    """Whether its members have client ids of their own, and not all the default one of the library."""

    @property
    def topics(self) -> dict[str, int]:
        return {f"{self.name}.{topic}": partitions for topic, partitions in (("a", 6), ("b", 4), ("c", 3))}

    @property
    def is_of_consumers(self) -> bool:
        return self.protocols[0] in (UNIFORM, SERVER_RANGE)


_STATIC = (
    *(("java", protocol) for protocol in (RANGE, ROBIN, STICKY, COOPERATIVE)),
    *(("librdkafka", protocol) for protocol in (RANGE, COOPERATIVE)),
    *(("franz-go", protocol) for protocol in (RANGE, COOPERATIVE)),
    ("sarama", RANGE),
)
_MIXED = (
    (RANGE, "java sarama librdkafka"),
    (RANGE, "franz-go kafka-go kafka-python"),
    (ROBIN, "librdkafka franz-go java"),
    (ROBIN, "sarama kafka-python"),
    (COOPERATIVE, "java franz-go"),
    (COOPERATIVE, "librdkafka java"),
)
_WITHOUT_NAMES = (("java", RANGE), ("librdkafka", RANGE), ("sarama", ROBIN), ("franz-go", RANGE), ("kafkajs", KAFKAJS))
_OF_CONSUMERS = (
    ("java", UNIFORM, False),
    ("java", SERVER_RANGE, False),
    ("java", UNIFORM, True),
    ("librdkafka", UNIFORM, False),
    ("franz-go", UNIFORM, False),
)


def random_groups(version: str) -> list[RandomGroup]:
    """Return the groups that brokers of a release can have: more than forty."""
    groups = [RandomGroup("java-default", JAVA_DEFAULT if version[0] > "2" else (RANGE,), ("java",))]
    for library, protocols in PROTOCOLS.items():
        groups += [RandomGroup(f"{library}-{protocol}", (protocol,), (library,)) for protocol in protocols]
    groups += [
        RandomGroup(f"{library}-{protocol}-static", (protocol,), (library,), True) for library, protocol in _STATIC
    ]
    for protocol, names in _MIXED:
        groups.append(RandomGroup(f"{protocol}-{names.replace(' ', '-')}", (protocol,), tuple(names.split())))
    for library, protocol in _WITHOUT_NAMES:
        groups.append(RandomGroup(f"{library}-{protocol}-unnamed", (protocol,), (library,), has_names=False))
    if version[0] >= "4":
        for library, protocol, is_static in _OF_CONSUMERS:
            name = f"{library}-{protocol}{'-static' * is_static}"
            groups.append(RandomGroup(name, (protocol,), (library,), is_static))
    return groups
