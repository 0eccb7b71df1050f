"""Groups that may have members which a tool does not show."""

from rebalance_sim.sources.kafka_tools.contents import BadLine, ToolOutput

_DEAD = "the state is Dead: the group does not exist, or it is a consumer-protocol group, which the tool does not show"
_NO_STATE = "the group has no state: the tool could not describe it"


def rejected_if_unseen(group_id: str, state: str) -> BadLine | None:
    """Return the reject of a group whose state is missing or Dead.

    Brokers answer the request for classic groups (``DescribeGroups``) with Dead if there is no classic group of this
    id, even if there is a consumer-protocol group (``GroupMetadataManager.describeGroups`` of 4.0).
    """
    if state not in ("", "Dead"):
        return None
    return BadLine(ToolOutput.MEMBERS, group_id, _DEAD if state else _NO_STATE)
