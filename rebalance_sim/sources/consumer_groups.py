"""Members of consumer-protocol groups (KIP-848), whose coordinator runs the assignor."""

from collections.abc import Collection

from rebalance_sim.kafka.clients.assumed_protocols import Basis, Offered
from rebalance_sim.kafka.member_ids import named_after

DEFAULT_SERVER_ASSIGNOR = "uniform"
"""First entry of the default of ``group.consumer.assignors``; a broker may be configured otherwise."""

# {consumer} is "12 members (4 consumer-protocol groups)".
SERVER = "the preferred assignor of {consumer} is unknown; the group's current assignor is used"
SERVER_DEFAULT = "the assignor of {consumer} is unknown; the coordinator's default, server-uniform, is used"
CLASSIC = "{consumer} assumed to use the classic protocol: their member ids were made by the coordinator"


def server_protocols(assignor: str | None) -> Offered:
    """Return the protocols of a consumer-protocol member, given Kafka's name of its group's assignor, if it is known.

    >>> server_protocols("range")
    Offered(protocols=('server-range',), basis=<Basis.GROUPS_ASSIGNOR: 'assignor of the group'>)
    """
    if assignor:
        return Offered((server_assignor(assignor),), Basis.GROUPS_ASSIGNOR)
    return Offered((server_assignor(DEFAULT_SERVER_ASSIGNOR),), Basis.COORDINATORS_DEFAULT)


def server_assignor(name: str) -> str:
    """Return a coordinator's assignor as the members table names it.

    >>> server_assignor("range")
    'server-range'
    """
    return f"server-{name}"


def classic_by_id(member_ids: Collection[str]) -> set[str]:
    """Return the members of a consumer-protocol group that use the classic protocol: never all of them.

    >>> classic_by_id(["app-4d4391e5-b529-4c02-bb6f-bef6ebc1bf38", "8XYk0V8BRZCMtoYgMwwEoA"])
    {'app-4d4391e5-b529-4c02-bb6f-bef6ebc1bf38'}
    """
    classic = {member_id for member_id in member_ids if named_after(member_id) is not None}
    return classic if len(classic) < len(set(member_ids)) else set()
