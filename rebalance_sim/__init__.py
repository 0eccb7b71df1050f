"""Predicts what Apache Kafka will do with a whole fleet of consumer groups.

In a shell or a notebook:

>>> from rebalance_sim import assign, elect
>>> elections = members.transform(elect())
>>> assignments = members.transform(assign("range", topics))

A user's own assignor is a class derived from ``ConsumerPartitionAssignor``.
"""

from rebalance_sim.engine.comparison import changes, distributions, strategies_long
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.consumer_protocol import Subscription, TopicPartition
from rebalance_sim.kafka.rebalances import RebalanceProtocol
from rebalance_sim.transformations import (
    assign,
    balance,
    compare,
    cooperative_rebalances,
    decode_subscriptions,
    elect,
    last_rebalance,
    optimum,
    partitions_long,
    rejects,
)

__all__ = [
    "ConsumerPartitionAssignor",
    "RebalanceProtocol",
    "Subscription",
    "TopicPartition",
    "UserError",
    "assign",
    "balance",
    "changes",
    "compare",
    "cooperative_rebalances",
    "decode_subscriptions",
    "distributions",
    "elect",
    "last_rebalance",
    "optimum",
    "partitions_long",
    "rejects",
    "strategies_long",
]
