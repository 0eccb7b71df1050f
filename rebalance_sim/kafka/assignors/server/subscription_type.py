"""Groups that are homogeneous to the coordinator, although a member does not subscribe like the others.

The coordinator passes its assignors the type of a group's subscriptions (``SubscriptionType``). It may be that from
before a member without a subscription joined. Both assignors take the topics of a homogeneous group from the first
member in their order, and assign them to all members. If the first member is the one without a subscription, they
assign nothing.
"""

import numpy as np

from rebalance_sim.kafka.assignors.server.server_range import range_order
from rebalance_sim.kafka.assignors.server.specification import specification_order
from rebalance_sim.kafka.groups import Groups
from rebalance_sim.kafka.runtime.strings import Flags, Ints32


def as_homogeneous(groups: Groups, assignor: str, chosen: Flags) -> Groups:
    """Return groups as an assignor sees them if the ``chosen`` ones are homogeneous to the coordinator.

    No group may be empty.
    """
    if not chosen.any():
        return groups
    as_given = specification_order(groups)
    in_turn = range_order(groups, as_given) if assignor == "server-range" else as_given
    return subscribed_as_first(groups, in_turn, chosen)


def subscribed_as_first(groups: Groups, order: Ints32, chosen: Flags) -> Groups:
    """Return groups in which all members of the ``chosen`` ones have the subscription of the first in an order."""
    lists = groups.subscriptions.of_members
    sizes = np.diff(groups.members)
    of_first = np.repeat(lists[order[groups.members[:-1]]], sizes)
    of_members = np.where(np.repeat(chosen, sizes), of_first, lists)
    return groups._replace(subscriptions=groups.subscriptions._replace(of_members=of_members))
