"""Explain predictions: one group's election, one partition's owner, one key's partition, two clients' agreement."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from rebalance_sim.api.explain import agreement, assignment, election
from rebalance_sim.api.explain.agreement import AgreementExplanation
from rebalance_sim.api.explain.assignment import AssignmentExplanation
from rebalance_sim.api.explain.election import ElectionExplanation
from rebalance_sim.api.explain.key import KeyExplanation
from rebalance_sim.api.explain.key import explain_key as explained_key
from rebalance_sim.api.groups import prediction
from rebalance_sim.engine.groups.group_batches import collect_group
from rebalance_sim.engine.groups.prediction import ELECTED
from rebalance_sim.engine.tables.inputs import fit, usable
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.kafka.partitioners.clients import client_named
from rebalance_sim.releases import NEWEST
from rebalance_sim.tables import DEFAULT_CLIENT, ELECTIONS, MEMBERS


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


def explain_agreement(clients: tuple[str, str], partitions: int) -> AgreementExplanation:
    """Explain whether two clients send a key to the same partition of a topic with this number of partitions.

    The answer follows from their rules. ``sample_agreed`` of 10,000 sample keys go to the same partition: two hashes
    agree by chance on about one key in as many as there are partitions. ``alternatives`` are partitioners of the second
    client's library that place keys as the first client does.

    Raises UserError for an unknown client, and for a number of partitions below one.

    >>> explain_agreement(("java-3.3", "librdkafka"), 12)
    java-3.3 and librdkafka place keys differently
      java-3.3: murmur2, sign bit cleared, modulo 12
      librdkafka: CRC-32, as an unsigned number, modulo 12; an empty key counts as no key
      sample keys in the same partition of 12: 856 of 10,000 (8.6 %)
      librdkafka-murmur2, librdkafka-murmur2-random place keys as java-3.3 does
    >>> explain_agreement(("java-3.3", "kafka-python"), 12).same_rule
    True
    """
    one, other = (client_named("client", name) for name in clients)
    if partitions < 1:
        raise UserError(f"partitions is {partitions}; allowed: at least 1")
    return agreement.explain_agreement(one, other, partitions)


def explain_key(key: bytes | str | None, partitions: int, client: str = DEFAULT_CLIENT) -> KeyExplanation:
    """Explain to which of a topic's partitions a client sends a record with this key; a str is encoded as UTF-8.

    Raises UserError for an unknown client, and for a number of partitions below one.

    >>> explain_key("TT0124", 15)
    key 'TT0124' goes to partition 10 of 15 (client java-3.3)
      murmur2 of 6 bytes: -1442328778
      sign bit cleared, modulo 15: 10
    >>> explain_key("TT0124", 15, "librdkafka").partition
    9
    """
    known = client_named("client", client)
    if partitions < 1:
        raise UserError(f"partitions is {partitions}; allowed: at least 1")
    return explained_key(key.encode() if isinstance(key, str) else key, partitions, known)


def _of_group(members: DataFrame, group_id: str | None) -> DataFrame:
    fitted = usable(fit(members, MEMBERS))
    return fitted if group_id is None else fitted.where(fitted["group_id"] == group_id)
