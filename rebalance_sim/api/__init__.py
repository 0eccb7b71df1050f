"""The public functions: transformations ``DataFrame -> DataFrame``, and runs that return several tables."""

from inspect import isfunction

import rebalance_sim.report
from rebalance_sim.api.arguments import checked
from rebalance_sim.api.audit import audit, findings, verdicts
from rebalance_sim.api.connect import simulate_connect
from rebalance_sim.api.explain import explain_assignment, explain_election
from rebalance_sim.api.groups import (
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
    predict,
    rejects,
)
from rebalance_sim.api.history import backtest, history, misses, prevention, score, timings
from rebalance_sim.api.lag import expiring_offsets, lag_balance, lag_tables, member_lag, rejected_offsets, topic_lag
from rebalance_sim.api.literals import group, topics_table
from rebalance_sim.api.notebooks import report, show
from rebalance_sim.api.records import (
    client_agreement,
    conflicting_keys,
    key_findings,
    moved_keys,
    partition,
    partition_growth,
    partition_load,
    partition_load_after,
    rejected_records,
    sent_records,
    spread_keys,
    topics_at_risk,
)
from rebalance_sim.api.simulation import (
    costs,
    follow,
    lag_costs,
    owned_partitions,
    simulate,
    simulated_rebalances,
    timeline,
)
from rebalance_sim.api.streams import assign_streams, simulate_streams
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.engine.groups.comparison import changes, distributions, strategies_long
from rebalance_sim.engine.records.produce_requests import produce_requests
from rebalance_sim.engine.records.producers import batches
from rebalance_sim.engine.tables.clusters import read_clusters
from rebalance_sim.errors import UserError
from rebalance_sim.explanations.agreement import explain_agreement
from rebalance_sim.explanations.key import explain_key
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.kafka.partitioners.record_accumulator import ProducerSettings
from rebalance_sim.kafka.rebalances import RebalanceProtocol
from rebalance_sim.kafka.wire.consumer_protocol import Subscription, TopicPartition

__all__ = [
    "Brokers",
    "Clusters",
    "ConsumerPartitionAssignor",
    "ProducerSettings",
    "RebalanceProtocol",
    "Subscription",
    "Thresholds",
    "TopicPartition",
    "UserError",
    "assign",
    "assign_streams",
    "audit",
    "backtest",
    "balance",
    "batches",
    "changes",
    "client_agreement",
    "compare",
    "conflicting_keys",
    "cooperative_rebalances",
    "costs",
    "decode_subscriptions",
    "distributions",
    "elect",
    "expiring_offsets",
    "explain_agreement",
    "explain_assignment",
    "explain_election",
    "explain_key",
    "findings",
    "follow",
    "group",
    "history",
    "key_findings",
    "lag_balance",
    "lag_costs",
    "lag_tables",
    "last_assignments",
    "last_rebalance",
    "member_lag",
    "misses",
    "moved_keys",
    "optimum",
    "owned_partitions",
    "partition",
    "partition_growth",
    "partition_load",
    "partition_load_after",
    "partitions_long",
    "predict",
    "prevention",
    "produce_requests",
    "read_clusters",
    "rejected_offsets",
    "rejected_records",
    "rejects",
    "report",
    "score",
    "sent_records",
    "show",
    "simulate",
    "simulate_connect",
    "simulate_streams",
    "simulated_rebalances",
    "spread_keys",
    "strategies_long",
    "timeline",
    "timings",
    "topic_lag",
    "topics_at_risk",
    "topics_table",
    "verdicts",
]

# The program itself calls the functions in their modules, whose arguments mypy has checked.
globals().update({name: checked(public) for name in __all__ if isfunction(public := globals()[name])})
# The package of the same name, whose modules are found by their full names, would hide the function.
vars(rebalance_sim)["report"] = globals()["report"]
