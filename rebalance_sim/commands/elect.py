"""``elect``: predict the protocol that every group elects, and its leader."""

from argparse import Namespace

from pyspark.sql import SparkSession

from rebalance_sim.api.groups import predict
from rebalance_sim.commands.brokers import broker_assumptions, clusters_of
from rebalance_sim.commands.console import print_summary
from rebalance_sim.commands.new_runs import new_run
from rebalance_sim.commands.rejects import write_rejects
from rebalance_sim.commands.summary import summarise_elections, summarise_run
from rebalance_sim.engine.runs.run import earlier_assumptions
from rebalance_sim.tables import ELECTIONS, MEMBERS


def run(spark: SparkSession, options: Namespace) -> None:
    """Read members, elect, write elections and rejects."""
    run = new_run(spark, "elect", options)
    members = run.read(MEMBERS, options.members, options.format)
    clusters = clusters_of(options, run.read)
    predicted = predict(members, kafka_version=clusters)
    run.begin()

    run.report_progress("electing protocols")
    elections = run.write_outcomes(predicted, [ELECTIONS.name])[ELECTIONS.name]
    bad = write_rejects(run, predicted.rejects, options.on_bad_input)
    used = elections.agg({"members": "sum"}).first()
    run.count_rows(MEMBERS.name, run.number_of(members), (used and used[0]) or 0, bad[MEMBERS.name])
    run.assumptions = [*earlier_assumptions(spark, options.members), *broker_assumptions(clusters, (), elections)]
    run.finish()
    print_summary(summarise_elections(elections) + summarise_run(run))
