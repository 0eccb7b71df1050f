"""How groups and brokers are configured, in a form that an audit stores and a later one compares.

Nothing here depends on member ids, on which member leads, or on the number of members: these change by themselves.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from rebalance_sim.engine.audit.group import Group, client_of
from rebalance_sim.kafka.brokers import BIDIRECTIONAL, Brokers
from rebalance_sim.kafka.clients import JAVA
from rebalance_sim.kafka.clients.library import ASSIGNORS, INSTANCE_ID, PROTOCOL
from rebalance_sim.kafka.group_kinds import SHARE_TYPE
from rebalance_sim.releases import OFFSETS_PARTITIONS

ELECTED, CLIENTS = "elected assignor", "client libraries"
_IN_MILLISECONDS = {"session.timeout.ms": "session_timeout_ms", "max.poll.interval.ms": "rebalance_timeout_ms"}
"""Settings by the column of members that has them."""


def settings_in_use(group: Group) -> dict[str, str]:
    """Return how the members of a group are configured; without what is unknown, and empty without members."""
    members = group.members
    if not members:
        return {}
    static = {member["instance_id"] is not None for member in members}
    values: Mapping[str, Iterable[str]] = {
        PROTOCOL: [group.type] if group.type and group.type != SHARE_TYPE else [],
        ELECTED: [group.protocol] if group.protocol else [],
        ASSIGNORS: {",".join(member["protocols"]) for member in group.classic_members},
        CLIENTS: {_client(*client) for client in map(client_of, members) if client.library or client.release},
        INSTANCE_ID: ["none" if static == {False} else "all members" if static == {True} else "some members"],
        "regular expression": {member["subscribed_regex"] or "none" for member in members},
        **{
            setting: {str(member[column]) for member in members if member[column] is not None}
            for setting, column in _IN_MILLISECONDS.items()
        },
    }
    return {name: "; ".join(sorted(found)) for name, found in values.items() if found}


def _client(library: str, release: str) -> str:
    return " ".join(filter(None, (library or JAVA, release)))


def subscribed_topics(group: Group) -> dict[str, int]:
    """Return the partitions of the topics to which members of a group subscribe, without topics that do not exist."""
    topics = sorted({topic for member in group.members for topic in member["subscription"] or ()})
    known = {topic: group.topics.partitions.get((group.cluster, topic)) for topic in topics}
    return {topic: partitions for topic, partitions in known.items() if partitions is not None}


@lru_cache(maxsize=64)
def brokers_in_use(brokers: Brokers) -> str:
    """Return the release and settings of brokers, without defaults.

    >>> brokers_in_use(Brokers("4.3")), brokers_in_use(Brokers("4.3", migration_policy="disabled"))
    ('Kafka 4.3', 'Kafka 4.3, group.consumer.migration.policy=disabled')
    """
    settings = {
        "group.consumer.migration.policy": (brokers.migration_policy, BIDIRECTIONAL),
        "offsets.topic.num.partitions": (brokers.offsets_partitions, OFFSETS_PARTITIONS),
    }
    changed = [f"{name}={value}" for name, (value, default) in settings.items() if value != default]
    scala = [f"Scala {brokers.scala}"] if brokers.scala else []
    return ", ".join([f"Kafka {brokers.version}", *scala, *changed])
