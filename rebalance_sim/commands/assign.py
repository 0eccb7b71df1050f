"""``assign``: who gets which partitions, and how even that is."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.commands.comparison import summarise_comparison, write_comparison
from rebalance_sim.commands.custom_assignors import load_assignors
from rebalance_sim.commands.lag import Offsets, add_offsets_option, summarise_lag
from rebalance_sim.commands.options import (
    add_assignors_option,
    add_election_options,
    add_input_options,
    add_output_options,
    check_at_least,
    items,
    new_run,
)
from rebalance_sim.commands.rejects import write_rejects
from rebalance_sim.commands.summary import (
    print_summary,
    summarise_assignments,
    summarise_balance,
    summarise_elections,
    summarise_rebalances,
    summarise_run,
)
from rebalance_sim.engine.comparison import BEST
from rebalance_sim.engine.inputs import fit, fit_topics, rejected, union, usable
from rebalance_sim.engine.prediction import ELECTED, Prediction, asks_topic_ids, outcome
from rebalance_sim.engine.runs import earlier_assumptions
from rebalance_sim.engine.topic_metadata import TopicMetadata
from rebalance_sim.kafka.assignors import KNOWN_ASSIGNORS, assignors_of, check_strategy
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.tables import (
    ASSIGNMENTS,
    BALANCE,
    COMPARISON,
    COOPERATIVE_REBALANCES,
    ELECTIONS,
    LAST_ASSIGNMENTS,
    MEMBERS,
    OFFSETS,
    OPTIMUM,
    REJECTS,
    TOPICS,
)
from rebalance_sim.versions import KafkaVersion, kafka_version

ALL = "all"


def add_options(parser: ArgumentParser) -> None:
    """Options of the job."""
    add_input_options(parser, TOPICS, MEMBERS)
    add_offsets_option(parser, "with it, who has how much lag is told, and which assignment would part it better")
    parser.add_argument(
        "--strategy",
        default=ELECTED,
        metavar="NAME,...",
        help=f"{ELECTED} (each group's own, the default), {ALL} that the version has, or some of: "
        f"{', '.join(KNOWN_ASSIGNORS)}, MODULE:CLASS (an assignor of your own); more than one are compared, with each "
        "other and with the optimum",
    )
    add_assignors_option(parser)
    add_election_options(parser)
    add_output_options(parser)


def strategies(
    asked: str, version: KafkaVersion, own: Mapping[str, ConsumerPartitionAssignor] | None = None
) -> tuple[str, ...]:
    """Read the option; what is named twice counts once. ``own`` are the user's assignors by MODULE:CLASS.

    >>> strategies("roundrobin,range", kafka_version("4.3"))
    ('roundrobin', 'range')
    """
    name_of = {item: assignor.name for item, assignor in (own or {}).items()}
    names: list[str] = []
    for name in (name_of.get(item, item) for item in items(asked)):
        check_strategy("--strategy", name, version, [*name_of.values(), ELECTED, ALL])
        names += [*assignors_of(version), *name_of.values()] if name == ALL else [name]
    return tuple(dict.fromkeys(names))


def run(spark: SparkSession, options: Namespace) -> None:
    """Read topics and members, elect where asked, assign, write assignments, balance and rejects; compare."""
    version = kafka_version(options.kafka_version)
    check_at_least("--offsets-partitions", options.offsets_partitions, 1)
    own = load_assignors(options.assignors, options.strategy, version, [ELECTED, ALL, BEST])
    wanted = strategies(options.strategy, version, own)
    run = new_run(spark, "assign", options)
    given_topics = run.read(TOPICS, options.topics, options.format)
    given_members = run.read(MEMBERS, options.members, options.format)
    topics, members = fit_topics(given_topics), fit(given_members, MEMBERS)
    offsets = Offsets.read(run, options)
    run.begin()

    run.tell("reading topics")
    metadata = TopicMetadata.of(usable(topics), asks_topic_ids(wanted))
    compares = len(wanted) > 1
    outputs = [ASSIGNMENTS.name, COOPERATIVE_REBALANCES.name, BALANCE.name, REJECTS.name]
    outputs += [ELECTIONS.name] if compares or ELECTED in wanted else []
    outputs += [OPTIMUM.name] if compares else []
    outputs += [LAST_ASSIGNMENTS.name] if offsets else []
    run.tell(f"assigning by {', '.join(wanted)}")
    predict = Prediction(tuple(outputs), version, wanted, metadata, options.offsets_partitions, tuple(own.values()))
    predicted = run.stage(usable(members).transform(predict))
    tables: dict[str, DataFrame] = {}
    for name in outputs:
        if name not in (OPTIMUM.name, LAST_ASSIGNMENTS.name, REJECTS.name):
            tables[name] = run.write(name, predicted.transform(outcome(name)))
    tables |= write_comparison(run, predicted) if compares else {}
    rejects = [
        rejected(topics, TOPICS),
        rejected(members, MEMBERS),
        predicted.transform(outcome(REJECTS.name)),
        *([offsets.rejects] if offsets else []),
    ]
    bad = write_rejects(run, union(rejects), options.on_bad_input)

    run.count_rows(TOPICS.name, given_topics.count(), metadata.topics.num_rows, bad[TOPICS.name])
    by_group = tables[COMPARISON.name if compares else BALANCE.name]
    used = by_group.agg({"members": "sum"}).first()
    run.count_rows(MEMBERS.name, given_members.count(), (used and used[0]) or 0, bad[MEMBERS.name])
    lag = None
    if offsets:
        last = predicted.transform(outcome(LAST_ASSIGNMENTS.name))
        lag = offsets.write(run, last, usable(members), bad[OFFSETS.name])
    run.assumptions = earlier_assumptions(spark, options.members)
    run.finish()
    lines = summarise_elections(tables[ELECTIONS.name]) if ELECTIONS.name in tables else []
    lines += summarise_assignments(tables[ASSIGNMENTS.name])
    lines += summarise_rebalances(tables[COOPERATIVE_REBALANCES.name])
    lines += summarise_balance(tables[BALANCE.name])
    lines += summarise_comparison(tables) if compares else []
    lines += summarise_lag(lag, tables.get(ELECTIONS.name)) if lag else []
    print_summary(lines + summarise_run(run))
