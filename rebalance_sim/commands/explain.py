"""``explain``: why a protocol won, why a partition or a key went where it did, and whether clients agree on keys."""

from argparse import Namespace
from collections.abc import Iterator
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.api.explain import explain_assignment, explain_election
from rebalance_sim.commands.brokers import clusters_of
from rebalance_sim.commands.console import print_summary
from rebalance_sim.commands.explained_keys import EXPLAINED
from rebalance_sim.commands.job_options import ASSIGNMENT, ELECTION
from rebalance_sim.commands.named_groups import members_of_group
from rebalance_sim.commands.options import brokers_of
from rebalance_sim.commands.strategies import own_assignors, strategies
from rebalance_sim.engine.runs.input_files import read_input
from rebalance_sim.engine.tables.inputs import fit, fit_topics, usable
from rebalance_sim.errors import UserError, check_choice
from rebalance_sim.explanations.explanation import Explanation
from rebalance_sim.tables import MEMBERS, TOPICS


def run(spark: SparkSession, options: Namespace) -> None:
    """Print the explanations. Nothing is written."""
    for explained in _explained(spark, options):
        print_summary(repr(explained).splitlines())


def _explained(spark: SparkSession, options: Namespace) -> Iterator[Explanation]:
    if options.what == ELECTION:
        return _election(spark, options)
    if options.what == ASSIGNMENT:
        return _assignment(spark, options)
    return EXPLAINED[options.what](options, _partitions(spark, options))


def _election(spark: SparkSession, options: Namespace) -> Iterator[Explanation]:
    yield explain_election(_members(spark, options), clusters_of(options, partial(read_input, spark)))


def _assignment(spark: SparkSession, options: Namespace) -> Iterator[Explanation]:
    version = brokers_of(options).rules()
    own = own_assignors(options, version)
    members, topics = _members(spark, options), read_input(spark, TOPICS, options.topics, options.format)
    partition = (options.topic, options.partition)
    clusters = clusters_of(options, partial(read_input, spark))
    for strategy in strategies(options.strategy, version, own):
        yield explain_assignment(members, topics, partition, strategy, clusters, tuple(own.values()))


def _members(spark: SparkSession, options: Namespace) -> DataFrame:
    given = read_input(spark, MEMBERS, options.members, options.format)
    return members_of_group(usable(fit(given, MEMBERS)), options.cluster, options.group)


def _partitions(spark: SparkSession, options: Namespace) -> int:
    """Return the number of partitions of the topic."""
    topics = usable(fit_topics(read_input(spark, TOPICS, options.topics, options.format)))
    here = topics if options.cluster is None else topics.where(F.col("cluster") == options.cluster)
    found = here.where(F.col("topic") == options.topic).collect()
    if not found:
        check_choice("--topic", options.topic, [row["topic"] for row in here.select("topic").distinct().collect()])
    if len(found) > 1:
        raise UserError(f"--cluster: needed, topic {options.topic!r} is in several clusters")
    return int(found[0]["partitions"])
