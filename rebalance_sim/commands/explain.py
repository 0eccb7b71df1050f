"""``explain``: why a protocol won, why a partition or a key went where it did, and whether clients agree on keys."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.api.explain import explain_assignment, explain_election
from rebalance_sim.commands.assign import strategies
from rebalance_sim.commands.brokers import brokers_of, clusters_of
from rebalance_sim.commands.custom_assignors import load_assignors
from rebalance_sim.commands.job_options import AGREEMENT, ALL, ASSIGNMENT, ELECTION, KEY
from rebalance_sim.commands.named_groups import members_of_group
from rebalance_sim.commands.options import items
from rebalance_sim.commands.summary import print_summary
from rebalance_sim.engine.groups.comparison import BEST
from rebalance_sim.engine.groups.prediction import ELECTED
from rebalance_sim.engine.runs.input_files import read_input
from rebalance_sim.engine.tables.inputs import fit, fit_topics, usable
from rebalance_sim.errors import UserError, check_choice
from rebalance_sim.explanations.agreement import explain_agreement
from rebalance_sim.explanations.key import explain_key
from rebalance_sim.tables import MEMBERS, TOPICS


def run(spark: SparkSession | None, options: Namespace) -> None:
    """Print the explanation. Nothing is written; keys need Spark only if their topic is read."""
    for explained in _EXPLAINED[options.what](spark, options):
        print_summary(repr(explained).splitlines())


def _election(spark: SparkSession, options: Namespace) -> Iterator[Any]:
    yield explain_election(_members(spark, options), clusters_of(options, partial(read_input, spark)))


def _assignment(spark: SparkSession, options: Namespace) -> Iterator[Any]:
    _need(options, "topics", "topic", "partition")
    version = brokers_of(options).rules()
    own = load_assignors(options.assignors, options.strategy, version, [ELECTED, ALL, BEST])
    members, topics = _members(spark, options), read_input(spark, TOPICS, options.topics, options.format)
    partition = (options.topic, options.partition)
    clusters = clusters_of(options, partial(read_input, spark))
    for strategy in strategies(options.strategy, version, own):
        yield explain_assignment(members, topics, partition, strategy, clusters, tuple(own.values()))


def _key(spark: SparkSession, options: Namespace) -> Iterator[Any]:
    if options.key is None and options.key_hex is None:
        raise UserError("give --key or --key-hex")
    partitions = _partitions(spark, options) if options.partitions is None else options.partitions
    for client in items(options.client):
        yield explain_key(_key_bytes(options), partitions, client)


def _agreement(spark: SparkSession, options: Namespace) -> Iterator[Any]:
    clients = items(options.client)
    if len(clients) < 2:
        raise UserError(f"--client: {options.client!r} is one client; explain {AGREEMENT} needs at least two")
    partitions = _partitions(spark, options) if options.partitions is None else options.partitions
    for pair in combinations(clients, 2):
        yield explain_agreement(pair, partitions)


_EXPLAINED: dict[str, Callable[[Any, Namespace], Iterator[Any]]] = {
    ELECTION: _election,
    ASSIGNMENT: _assignment,
    KEY: _key,
    AGREEMENT: _agreement,
}


def _need(options: Namespace, *names: str) -> None:
    """Raise UserError for an option without a value."""
    for name in names:
        if getattr(options, name) is None:
            raise UserError(f"explain {options.what} needs --{name}")


def _members(spark: SparkSession, options: Namespace) -> DataFrame:
    _need(options, "members")
    given = read_input(spark, MEMBERS, options.members, options.format)
    return members_of_group(usable(fit(given, MEMBERS)), options.cluster, options.group)


def _key_bytes(options: Namespace) -> bytes | str:
    if options.key is not None:
        return str(options.key)
    try:
        return bytes.fromhex(options.key_hex.removeprefix("0x"))
    except ValueError as problem:
        raise UserError(f"--key-hex: {options.key_hex!r} is not hexadecimal") from problem


def _partitions(spark: SparkSession, options: Namespace) -> int:
    """Return the number of partitions of the topic."""
    if options.topics is None or options.topic is None:
        raise UserError("give --partitions, or --topics and --topic")
    topics = usable(fit_topics(read_input(spark, TOPICS, options.topics, options.format)))
    here = topics if options.cluster is None else topics.where(F.col("cluster") == options.cluster)
    found = here.where(F.col("topic") == options.topic).collect()
    if not found:
        check_choice("--topic", options.topic, [row["topic"] for row in here.select("topic").distinct().collect()])
    if len(found) > 1:
        raise UserError(f"--cluster: needed, topic {options.topic!r} is in several clusters")
    return int(found[0]["partitions"])
