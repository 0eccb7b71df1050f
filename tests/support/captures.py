"""Captures of Kafka's tools with lines that cannot be used."""

from collections.abc import Iterable
from pathlib import Path

_MEMBER = "{:<16}{:<16}{:<12}{:<12}{:<16}{}\n"
_OFFSET = "{:<16}{:<8}{:<11}{:<16}{:<16}{:<6}{:<16}{:<12}{}\n"


def write_capture(folder: Path, readable: Iterable[str], unreadable: Iterable[str], empty: Iterable[str] = ()) -> Path:
    """Write the output of Kafka's tools about groups of two members that share the four partitions of a topic.

    ``#PARTITIONS`` of the ``unreadable`` ones is a word, which rejects the lines of all their members, and their
    offsets name none, as between two rebalances; the ``empty`` groups have offsets and no members.
    """
    folder.mkdir()
    owners = {group: (f"{group}-a", f"{group}-b") for group in (*readable, *unreadable)}
    words = {*unreadable}
    members = _MEMBER.format("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT")
    offsets = _OFFSET.format(
        *("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
    )
    for group, (first, second) in owners.items():
        for member, owned in ((first, "t(0,1)"), (second, "t(2,3)")):
            members += _MEMBER.format(group, member, "/10.0.0.1", "app", "two" if group in words else "2", owned)
    for group in (*owners, *empty):
        for partition in range(4):
            has_owner = group in owners and group not in words
            owner = (owners[group][partition // 2], "/10.0.0.1", "app") if has_owner else ("-", "-", "-")
            offsets += _OFFSET.format(group, "t", partition, 10, 10, 0, *owner)
    topic = "Topic: t\tPartitionCount: 4\tReplicationFactor: 1\tConfigs: \n"
    topic += "".join(f"\tTopic: t\tPartition: {p}\tLeader: 1\tReplicas: 1\tIsr: 1\n" for p in range(4))
    for name, text in (("members", members), ("offsets", offsets), ("topics", topic)):
        (folder / f"{name}.txt").write_text(text)
    return folder
