"""``elect``: which protocol every group elects, and who leads it."""

from argparse import ArgumentParser, Namespace

from pyspark.sql import SparkSession

from rebalance_sim.commands.options import (
    add_election_options,
    add_input_options,
    add_output_options,
    check_at_least,
    new_run,
)
from rebalance_sim.commands.rejects import write_rejects
from rebalance_sim.commands.summary import print_summary, summarise_elections, summarise_run
from rebalance_sim.engine.inputs import fit, rejected, union, usable
from rebalance_sim.engine.prediction import Prediction, outcome
from rebalance_sim.engine.runs import earlier_assumptions
from rebalance_sim.tables import ELECTIONS, MEMBERS, REJECTS
from rebalance_sim.versions import kafka_version


def add_options(parser: ArgumentParser) -> None:
    """Options of the job."""
    add_input_options(parser, MEMBERS)
    add_election_options(parser)
    add_output_options(parser)


def run(spark: SparkSession, options: Namespace) -> None:
    """Read members, elect, write elections and rejects."""
    version = kafka_version(options.kafka_version)
    check_at_least("--offsets-partitions", options.offsets_partitions, 1)
    run = new_run(spark, "elect", options)
    given = run.read(MEMBERS, options.members, options.format)
    members = fit(given, MEMBERS)
    run.begin()
    predict = Prediction((ELECTIONS.name, REJECTS.name), version, offsets_partitions=options.offsets_partitions)

    run.tell("electing")
    predicted = run.stage(usable(members).transform(predict))
    elections = run.write(ELECTIONS.name, predicted.transform(outcome(ELECTIONS.name)))
    bad = write_rejects(
        run,
        union([rejected(members, MEMBERS), predicted.transform(outcome(REJECTS.name))]),
        options.on_bad_input,
    )
    used = elections.agg({"members": "sum"}).first()
    run.count_rows(MEMBERS.name, given.count(), (used and used[0]) or 0, bad[MEMBERS.name])
    run.assumptions = earlier_assumptions(spark, options.members)
    run.finish()
    print_summary(summarise_elections(elections) + summarise_run(run))
