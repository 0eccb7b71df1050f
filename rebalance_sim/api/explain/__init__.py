"""Explain predictions: one group's election, one partition's owner. ``explanations`` has those of keys."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from rebalance_sim.api.explain import assignment, election
from rebalance_sim.api.explain.assignment import AssignmentExplanation
from rebalance_sim.api.explain.election import ElectionExplanation
from rebalance_sim.api.groups import prediction
from rebalance_sim.engine.groups.group_batches import collect_group
from rebalance_sim.engine.groups.prediction import ELECTED
from rebalance_sim.engine.tables.inputs import fit, usable
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.releases import NEWEST
from rebalance_sim.tables import ELECTIONS, MEMBERS


def explain_election(
    members: DataFrame, kafka_version: str | Clusters = NEWEST, *, group_id: str | None = None
) -> ElectionExplanation:
    """Explain why a group elects its protocol: candidates, each member's vote, and how a tie is decided.

    ``group_id`` names the group if the members are of several. The facts are attributes of the result.

    Raises UserError if the members are not of one group, or none of them can be used.

    >>> explain_election(members)
    group 'group' elects range (Kafka 4.3)
      candidates, supported by all members: range, roundrobin
      each member votes for the first candidate in its list
        c1: range (supports range, roundrobin)
        c2: roundrobin (supports roundrobin, range)
      votes: range 1, roundrobin 1: a tie, decided by hash order
      order in Java's HashMap, lowest bucket first: range (bucket 9), roundrobin (bucket 10)
      leader: c1, the first member to join
    """
    predict = prediction([ELECTIONS.name], None, (), kafka_version)
    group = collect_group(_of_group(members, group_id), predict.columns)
    return election.explain_election(group, predict.clusters)


def explain_assignment(
    members: DataFrame,
    topics: DataFrame,
    partition: tuple[str, int],
    strategy: str = ELECTED,
    kafka_version: str | Clusters = NEWEST,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
    *,
    group_id: str | None = None,
) -> AssignmentExplanation:
    """Explain why a partition is assigned to its member: previous owner, possible owners, and the assignor's step.

    ``partition`` is a topic and a number. The step is explained for range and roundrobin. The other assignors weigh all
    partitions at once: for them the explanation has the previous owner and, for each possible owner, its number of
    partitions before and after.

    ``group_id`` names the group if the members are of several; the other parameters are those of ``assign``. Raises
    UserError as ``assign`` does, and for a partition that the group cannot be assigned.

    >>> explain_assignment(members, topics, ("orders", 1))
    orders-1 of group 'group' is assigned to c1 (range, Kafka 4.3)
      previous owner: none
      range divides 3 partitions of orders among 2 subscribers: 1 each, one more for the first
          c1: 0 to 1
          c2: 2
      partitions of the members subscribed to orders, over all topics
        c1: 2 (before: 0)
        c2: 1 (before: 0)
    """
    predict = prediction(assignment.OUTPUTS, topics, (strategy,), kafka_version, assignors)
    group = collect_group(_of_group(members, group_id), predict.columns)
    return assignment.explain_assignment(group, predict, *partition)


def _of_group(members: DataFrame, group_id: str | None) -> DataFrame:
    fitted = usable(fit(members, MEMBERS))
    return fitted if group_id is None else fitted.where(fitted["group_id"] == group_id)
