"""Predicts what Apache Kafka will do with a whole fleet of consumer groups.

In a shell or a notebook:

>>> from rebalance_sim import assign, elect
>>> elections = members.transform(elect())
>>> assignments = members.transform(assign("range", topics))
"""

from rebalance_sim.errors import UserError
from rebalance_sim.transformations import assign, balance, decode_subscriptions, elect, partitions_long, rejects

__all__ = ["UserError", "assign", "balance", "decode_subscriptions", "elect", "partitions_long", "rejects"]
