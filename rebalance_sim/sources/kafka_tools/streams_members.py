"""Rows about the members of streams groups (KIP-1071), of which ``kafka-streams-groups.sh`` prints the tasks.

It prints neither hosts nor topologies: which topics a subtopology reads, and whether it has state.
"""

from collections.abc import Collection, Iterator
from typing import Any

from rebalance_sim.sources.assumptions import groups
from rebalance_sim.sources.kafka_tools.contents import StreamsMemberLine
from rebalance_sim.sources.streams.described_groups import task_rows
from rebalance_sim.wording import plural

_NO_TOPOLOGY = (
    "the topology of {} is not in the output of kafka-streams-groups.sh: tasks are predicted only with --topology or "
    "--subtopologies"
)
_NO_TARGET = (
    "the target assignment of {} of streams groups is unknown, because --members was run without --verbose: the tasks "
    "that they have now are used"
)


def member_rows(members: Collection[StreamsMemberLine], cluster: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of ``streams_members``."""
    for member in members:
        target = member.target or member.current
        yield {
            "cluster": cluster,
            "group_id": member.group_id,
            "member_id": member.member_id,
            "process_id": member.process_id,
            "client_id": member.client_id,
            "active": task_rows(target.active),
            "standby": task_rows(target.standby),
            "current_active": task_rows(member.current.active),
            "current_standby": task_rows(member.current.standby),
        }


def assumptions(members: Collection[StreamsMemberLine]) -> Iterator[str]:
    """Yield a sentence for each kind of assumption."""
    if members:
        yield _NO_TOPOLOGY.format(groups({member.group_id for member in members}))
    unknown = [member.group_id for member in members if member.target is None]
    if unknown:
        yield _NO_TARGET.format(f"{plural(len(unknown), 'member')} ({plural(len(set(unknown)), 'group')})")
