"""Why Kafka does what is predicted: of one group, of one partition, of one key, to read in a shell or a notebook."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from rebalance_sim.engine import explained_assignment, explained_election, explained_key
from rebalance_sim.engine.explained_assignment import AssignmentExplanation
from rebalance_sim.engine.explained_election import ElectionExplanation
from rebalance_sim.engine.explained_key import KeyExplanation
from rebalance_sim.engine.group_batches import collect_group
from rebalance_sim.engine.inputs import fit, fit_topics, usable
from rebalance_sim.engine.prediction import ELECTED, Prediction, asks_topic_ids
from rebalance_sim.engine.topic_metadata import TopicMetadata
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors import check_strategy
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.partitioners.clients import client_named
from rebalance_sim.tables import DEFAULT_CLIENT, ELECTIONS, MEMBERS
from rebalance_sim.transformations import custom_names
from rebalance_sim.versions import NEWEST
from rebalance_sim.versions import kafka_version as rules_of


def explain_election(
    members: DataFrame, kafka_version: str = NEWEST, *, group_id: str | None = None
) -> ElectionExplanation:
    """Explain why a group elects what it elects: candidates, each member's vote, and how a tie is decided.

    ``group_id`` picks the group where the members are of several. The facts are attributes of what is returned.

    Raises UserError where the members are not of one group, or none of them can be used.

    >>> explain_election(members)
    group 'group' elects range (Kafka 4.3)
      candidates, which all members support: range, roundrobin
      each votes for the first candidate of its list
        c1: range (offers range, roundrobin)
        c2: roundrobin (offers roundrobin, range)
      votes: range 1, roundrobin 1: a tie
      the first in Java's HashMap, the lowest bucket first: range (bucket 9), then roundrobin (bucket 10)
      leader: c1, the first to join
    """
    version = rules_of(kafka_version)
    columns = Prediction((ELECTIONS.name,), version).columns
    group = collect_group(_of_group(members, group_id), columns)
    return explained_election.explain_election(group, version, kafka_version)


def explain_assignment(
    members: DataFrame,
    topics: DataFrame,
    topic: str,
    partition: int,
    strategy: str = ELECTED,
    kafka_version: str = NEWEST,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
    *,
    group_id: str | None = None,
) -> AssignmentExplanation:
    """Explain why a partition goes to the member that gets it: who had it, who could have it, whose turn it was.

    Of range and roundrobin the step is told that led there. The others weigh all partitions at once: of them it is told
    who had the partition, and how many partitions each member that could have it has before and after.

    ``group_id`` picks the group where the members are of several; the other parameters are those of ``assign``. Raises
    UserError as ``assign`` does, and for a partition that the group cannot have.

    >>> explain_assignment(members, topics, "orders", 1)
    orders-1 of group 'group' goes to c1 (range, Kafka 4.3)
      before: nobody had it
      range cuts 3 partitions of orders for 2 subscribers: 1 each, the first 1 one more
          c1: 0 to 1
          c2: 2
      partitions of those that subscribe to orders, of all topics
        c1: 2 (had 0)
        c2: 1 (had 0)
    """
    version = rules_of(kafka_version)
    check_strategy("strategy", strategy, version, [*custom_names(assignors, version), ELECTED])
    metadata = TopicMetadata.of(usable(fit_topics(topics)), asks_topic_ids([strategy]))
    outputs = explained_assignment.OUTPUTS
    predict = Prediction(outputs, version, (strategy,), metadata, assignors=tuple(assignors))
    group = collect_group(_of_group(members, group_id), predict.columns)
    return explained_assignment.explain_assignment(group, predict, kafka_version, topic, partition)


def explain_key(key: bytes | str | None, partitions: int, client: str = DEFAULT_CLIENT) -> KeyExplanation:
    """Explain to which of so many partitions a client sends a record with this key; a text stands for its UTF-8 bytes.

    Raises UserError for a client that is not known, and for a number of partitions below one.

    >>> explain_key("TT0124", 15)
    key 'TT0124' goes to partition 10 of 15 (client java-3.3)
      murmur2 of 6 bytes: -1442328778
      without its sign bit, modulo 15: 10
    >>> explain_key("TT0124", 15, "librdkafka").partition
    9
    """
    known = client_named("client", client)
    if partitions < 1:
        raise UserError(f"partitions is {partitions}; allowed: at least 1")
    return explained_key.explain_key(key.encode() if isinstance(key, str) else key, partitions, known)


def _of_group(members: DataFrame, group_id: str | None) -> DataFrame:
    fitted = usable(fit(members, MEMBERS))
    return fitted if group_id is None else fitted.where(fitted["group_id"] == group_id)
