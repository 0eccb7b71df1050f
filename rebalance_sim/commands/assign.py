"""``assign``: predict the partitions of every member and the balance of every group."""

from argparse import Namespace

from pyspark.sql import SparkSession

from rebalance_sim.api.groups import predict
from rebalance_sim.commands.brokers import broker_assumptions, clusters_of
from rebalance_sim.commands.comparison import summarise_comparison, write_distributions
from rebalance_sim.commands.console import print_summary
from rebalance_sim.commands.lag import Offsets, summarise_lag
from rebalance_sim.commands.new_runs import new_run
from rebalance_sim.commands.options import brokers_of
from rebalance_sim.commands.rejects import write_rejects
from rebalance_sim.commands.strategies import own_assignors, strategies
from rebalance_sim.commands.summary import (
    summarise_assignments,
    summarise_balance,
    summarise_elections,
    summarise_rebalances,
    summarise_run,
)
from rebalance_sim.engine.groups.prediction import ELECTED
from rebalance_sim.engine.runs.run import earlier_assumptions
from rebalance_sim.engine.tables.inputs import union
from rebalance_sim.tables import (
    ASSIGNMENTS,
    BALANCE,
    COMPARISON,
    COOPERATIVE_REBALANCES,
    ELECTIONS,
    LAST_ASSIGNMENTS,
    MEMBERS,
    OFFSETS,
    REJECTS,
    TOPICS,
)


def run(spark: SparkSession, options: Namespace) -> None:
    """Read topics and members, elect where needed, assign, write all tables and, of several strategies, compare."""
    version = brokers_of(options).rules()
    own = own_assignors(options, version)
    wanted = strategies(options.strategy, version, own)
    compares = len(wanted) > 1
    run = new_run(spark, "assign", options)
    topics = run.read(TOPICS, options.topics, options.format)
    members = run.read(MEMBERS, options.members, options.format)
    offsets = Offsets.read(run, options)
    written = [ASSIGNMENTS.name, COOPERATIVE_REBALANCES.name, BALANCE.name]
    written += [ELECTIONS.name] if compares or ELECTED in wanted else []
    written += [COMPARISON.name] if compares else []
    names = [*written, REJECTS.name, *([LAST_ASSIGNMENTS.name] if offsets else [])]
    clusters = clusters_of(options, run.read)
    predicted = predict(members, topics, wanted, clusters, tuple(own.values()), names)
    run.begin()

    run.report_progress(f"assigning partitions: {', '.join(wanted)}")
    tables = run.write_outcomes(predicted, written)
    topics_given = run.number_of(topics)
    predicted.expect_topics(topics_given)
    tables |= write_distributions(run, tables[COMPARISON.name]) if compares else {}
    rejects = [predicted.rejects, *([offsets.rejects] if offsets else [])]
    bad = write_rejects(run, union(rejects), options.on_bad_input)

    run.count_rows(TOPICS.name, topics_given, predicted.used_topics or 0, bad[TOPICS.name])
    used = tables[COMPARISON.name if compares else BALANCE.name].agg({"members": "sum"}).first()
    run.count_rows(MEMBERS.name, run.number_of(members), (used and used[0]) or 0, bad[MEMBERS.name])
    lag = offsets.write(run, predicted.last_assignments, members, bad[OFFSETS.name]) if offsets else None
    run.assumptions = earlier_assumptions(spark, options.members)
    run.assumptions += broker_assumptions(clusters, wanted, tables.get(ELECTIONS.name))
    run.finish()
    lines = summarise_elections(tables[ELECTIONS.name]) if ELECTIONS.name in tables else []
    lines += summarise_assignments(tables[ASSIGNMENTS.name])
    lines += summarise_rebalances(tables[COOPERATIVE_REBALANCES.name])
    lines += summarise_balance(tables[BALANCE.name])
    lines += summarise_comparison(tables) if compares else []
    lines += summarise_lag(lag, tables.get(ELECTIONS.name)) if lag else []
    print_summary(lines + summarise_run(run))
