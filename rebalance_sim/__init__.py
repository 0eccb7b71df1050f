"""Predicts what Apache Kafka will do with a whole fleet of consumer groups, and where producers send records.

In a shell or a notebook:

>>> from rebalance_sim import assign, costs, elect, partition
>>> elections = members.transform(elect())
>>> assignments = members.transform(assign("range", topics))
>>> record_partitions = records.transform(partition(topics))
>>> costs_of_a_deploy = members.transform(costs("rolling-restart", topics))

One group from a literal, and why it goes as it goes:

>>> from rebalance_sim import explain_assignment, explain_election, explain_key, group, topics_table
>>> two = group({"c1": {"protocols": ["sticky"]}, "c2": {"protocols": ["sticky"]}}, subscription=["orders"])
>>> explain_election(two).protocol, explain_assignment(two, topics_table({"orders": 6}), "orders", 0).member_ids
('sticky', ('c1',))
>>> explain_key("customer-17", 12).partition, explain_key("customer-17", 12, "librdkafka").partition
(4, 11)

A user's own assignor is a class derived from ``ConsumerPartitionAssignor``.
"""

import logging

from rebalance_sim.engine.comparison import changes, distributions, strategies_long
from rebalance_sim.engine.produce_requests import produce_requests
from rebalance_sim.engine.producers import batches
from rebalance_sim.errors import UserError
from rebalance_sim.explanations import explain_assignment, explain_election, explain_key
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.consumer_protocol import Subscription, TopicPartition
from rebalance_sim.kafka.partitioners.record_accumulator import Settings as ProducerSettings
from rebalance_sim.kafka.rebalances import RebalanceProtocol
from rebalance_sim.lag_transformations import lag_balance, member_lag, rejected_offsets
from rebalance_sim.literals import group, topics_table
from rebalance_sim.record_transformations import (
    client_agreement,
    key_findings,
    partition,
    partition_growth,
    partition_load,
    partition_load_after,
    rejected_records,
    sent_records,
    spread_keys,
    topics_at_risk,
)
from rebalance_sim.simulation_transformations import (
    costs,
    follow,
    lag_costs,
    owned_partitions,
    simulated_rebalances,
    timeline,
)
from rebalance_sim.transformations import (
    assign,
    balance,
    compare,
    cooperative_rebalances,
    decode_subscriptions,
    elect,
    last_assignments,
    last_rebalance,
    optimum,
    partitions_long,
    rejects,
)

# Who uses the package decides what becomes of its logs; the console command does so for itself.
logging.getLogger(__name__).addHandler(logging.NullHandler())

__all__ = [
    "ConsumerPartitionAssignor",
    "ProducerSettings",
    "RebalanceProtocol",
    "Subscription",
    "TopicPartition",
    "UserError",
    "assign",
    "balance",
    "batches",
    "changes",
    "client_agreement",
    "compare",
    "cooperative_rebalances",
    "costs",
    "decode_subscriptions",
    "distributions",
    "elect",
    "explain_assignment",
    "explain_election",
    "explain_key",
    "follow",
    "group",
    "key_findings",
    "lag_balance",
    "lag_costs",
    "last_assignments",
    "last_rebalance",
    "member_lag",
    "optimum",
    "owned_partitions",
    "partition",
    "partition_growth",
    "partition_load",
    "partition_load_after",
    "partitions_long",
    "produce_requests",
    "rejected_offsets",
    "rejected_records",
    "rejects",
    "sent_records",
    "simulated_rebalances",
    "spread_keys",
    "strategies_long",
    "timeline",
    "topics_at_risk",
    "topics_table",
]


def __dir__() -> list[str]:
    """Offer to whoever presses Tab what is meant for users, and not the modules behind it."""
    return __all__
