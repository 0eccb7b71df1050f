"""Members of groups of KIP-848, of which tools and brokers tell what their coordinator does."""

import re
from collections.abc import Collection

DEFAULT_SERVER_ASSIGNOR = "uniform"
"""First of ``group.consumer.assignors``, which the brokers' configuration may change."""
# Made of the client's id by the coordinator; who follows KIP-848 makes its id itself, and Kafka's clients a bare Uuid.
_MADE_BY_COORDINATOR = re.compile(r".*-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.DOTALL)

# {} is "12 members in 4 groups".
SERVER = "protocols of {} taken to be the assignor of their group's coordinator: what each wishes for is not told"
SERVER_DEFAULT = "protocols of {} taken to be the coordinator's default, server-uniform: what it runs is not told"
CLASSIC = "{} of KIP-848 taken to follow the classic protocol: their ids are as the coordinator makes them"


def server_protocols(assignor: str | None) -> tuple[str]:
    """Return the protocols of a member that follows KIP-848, by Kafka's name of the assignor.

    >>> server_protocols("range"), server_protocols(None)
    (('server-range',), ('server-uniform',))
    """
    return (f"server-{assignor or DEFAULT_SERVER_ASSIGNOR}",)


def classic_by_id(member_ids: Collection[str]) -> set[str]:
    """Tell which members of a group of KIP-848 follow the classic protocol: never all of them do.

    >>> classic_by_id(["app-4d4391e5-b529-4c02-bb6f-bef6ebc1bf38", "8XYk0V8BRZCMtoYgMwwEoA"])
    {'app-4d4391e5-b529-4c02-bb6f-bef6ebc1bf38'}
    """
    made = {member_id for member_id in member_ids if _MADE_BY_COORDINATOR.fullmatch(member_id)}
    return made if len(made) < len(set(member_ids)) else set()
