"""Predicts elections, assignments and rebalances of a fleet of Kafka consumer groups, and the partitions of records.

In a shell or a notebook:

>>> from rebalance_sim import assign, costs, elect, partition, predict
>>> elections = members.transform(elect())
>>> assignments = members.transform(assign("range", topics))
>>> record_partitions = records.transform(partition(topics))
>>> costs_of_a_deploy = members.transform(costs("rolling-restart", topics))

All tables of one run, computed once:

>>> predicted = predict(members, topics, ["range", "cooperative-sticky"])
>>> balance, rejects = predicted.balance, predicted.rejects

One group from a literal, with explanations:

>>> from rebalance_sim import explain_assignment, explain_election, explain_key, group, topics_table
>>> two = group({"c1": {"protocols": ["sticky"]}, "c2": {"protocols": ["sticky"]}}, subscription=["orders"])
>>> explain_election(two).protocol, explain_assignment(two, topics_table({"orders": 6}), ("orders", 0)).member_ids
('sticky', ('c1',))
>>> explain_key("customer-17", 12).partition, explain_key("customer-17", 12, "librdkafka").partition
(4, 11)

A user's own assignor is a class derived from ``ConsumerPartitionAssignor``.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rebalance_sim.api import *  # noqa: F403 (their list is there)

# An application decides about the logs of its libraries; the console command configures its own.
logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    """Import the public names at their first use, so that ``rebalance_sim.kafka`` can be used without Spark."""
    return getattr(import_module("rebalance_sim.api"), name)


def __dir__() -> list[str]:
    """Return the public names only, for completion in a shell."""
    names: list[str] = __getattr__("__all__")
    return names
