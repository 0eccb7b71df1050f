"""``streams``: predict where the tasks of Kafka Streams run next, and what it costs if members change."""

from argparse import Namespace
from collections import Counter
from dataclasses import replace
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.api.streams import assign_streams, simulate_streams
from rebalance_sim.commands.brokers import clusters_of, untested_releases
from rebalance_sim.commands.console import print_summary
from rebalance_sim.commands.new_runs import new_run
from rebalance_sim.commands.options import items
from rebalance_sim.commands.rejects import count_given, write_rejects
from rebalance_sim.commands.simulate import STEPS, followed_groups, rejected_steps, simulation_assumptions
from rebalance_sim.commands.simulation_summary import summarise_costs
from rebalance_sim.commands.streams_assumptions import assumed_order
from rebalance_sim.commands.streams_summary import (
    shown_groups,
    summarise_groups,
    summarise_moves,
    summarise_restoration,
    summarise_tasks,
)
from rebalance_sim.commands.summary import summarise_run
from rebalance_sim.commands.topologies import assumed_of_inferred, described_topologies
from rebalance_sim.commands.validation.streams import scenario_played
from rebalance_sim.engine.runs.run import Run, earlier_assumptions
from rebalance_sim.engine.simulation.cost_totals import COLUMNS, TOTALS, add_up
from rebalance_sim.engine.simulation.rollout_rows import SIMULATED
from rebalance_sim.engine.simulation.streams_groups import ASSUMED_OF_ROLLOUTS
from rebalance_sim.engine.streams.application import CLASSIC, STREAMS
from rebalance_sim.engine.streams.classic import ASSUMED_IDS, ASSUMED_OF_CLASSIC
from rebalance_sim.engine.streams.restoration import ASSUMED_OF_RESTORATION
from rebalance_sim.engine.tables.inputs import fit, no_rejects, union, usable
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.sources.live_cluster.client_properties import read_client_properties
from rebalance_sim.sources.offsets_topic.dump import open_dump
from rebalance_sim.sources.streams.stored import read_stored_streams
from rebalance_sim.tables import (
    COSTS,
    REJECTS,
    STREAMS_BALANCE,
    STREAMS_MEMBERS,
    STREAMS_MOVES,
    STREAMS_TASKS,
    SUBTOPOLOGIES,
    TOPICS,
)

_RECORDS = "offsets_topic"
_WRITTEN = (STREAMS_BALANCE.name, STREAMS_TASKS.name, STREAMS_MOVES.name)


def run(spark: SparkSession, options: Namespace) -> None:
    """Read members, subtopologies and topics, assign, and write all tables of the run."""
    run = new_run(spark, "streams", options)
    source = _source(spark, run, options)
    topics = run.read(TOPICS, options.topics, options.format)
    clusters = clusters_of(options, run.read)
    assigned = assign_streams(
        source.members,
        source.subtopologies,
        topics,
        leaving=items(options.leave) if options.leave else (),
        joining=options.join,
        standby_replicas=options.standby_replicas,
        warmup_replicas=options.max_warmup_replicas,
        restore_rate=options.restore_rate,
        acceptable_recovery_lag=options.acceptable_recovery_lag,
        probing_interval_ms=options.probing_rebalance_interval_ms,
        kafka_version=clusters,
    )
    scenario, bad_steps = scenario_played(options)
    run.begin()
    run.report_progress("assigning the tasks of Kafka Streams")
    tables = {name: run.write(name, assigned[name]) for name in _WRITTEN}
    if scenario is not None:
        tables |= _simulated(run, source, topics, scenario, options)
    rejects = [assigned[REJECTS.name], source.rejects, rejected_steps(spark, bad_steps)]
    bad = write_rejects(run, union(rejects), options.on_bad_input)
    unread = Counter({row["table"]: row["count"] for row in source.rejects.groupBy("table").count().collect()})
    if options.offsets_topic:
        run.count_rows(_RECORDS, unread[_RECORDS], 0, unread[_RECORDS])
    given = {STREAMS_MEMBERS: source.members, SUBTOPOLOGIES: source.subtopologies, TOPICS: topics}
    count_given(run, given, bad, unread)
    assumed = _assumed(tables[STREAMS_BALANCE.name], source.members, options)
    if scenario is not None:
        run.count_rows(STEPS, len(scenario.steps) + len(bad_steps), len(scenario.steps), bad[STEPS])
        # The session timeout of consumers is none of streams groups.
        used = replace(scenario, consumers=replace(scenario.consumers, session_timeout_ms=None))
        assumed += [*simulation_assumptions(used), ASSUMED_OF_ROLLOUTS]
    run.assumptions = [*source.assumptions, *untested_releases(clusters), *assumed]
    run.finish()
    balance = tables[STREAMS_BALANCE.name]
    shown = shown_groups(balance)
    lines = summarise_groups(balance, shown)
    if options.restore_rate is not None:
        lines += summarise_restoration(balance, shown, options.restore_rate)
        lines += summarise_moves(tables[STREAMS_MOVES.name], shown)
    lines += summarise_tasks(tables[STREAMS_TASKS.name], shown)
    if scenario is not None:
        totals = run.map_table(tables[COSTS.name], COLUMNS, add_up, TOTALS)
        lines += [f"simulated: {scenario.name}", *summarise_costs(totals)]
    print_summary(lines + summarise_run(run))


def _simulated(
    run: Run, source: "Source", topics: DataFrame, scenario: Scenario, options: Namespace
) -> dict[str, DataFrame]:
    """Simulate the scenario, and write what it costs."""
    run.report_progress(f"simulating {scenario.name} in streams groups")
    simulated = simulate_streams(
        source.members,
        source.subtopologies,
        topics,
        scenario,
        standby_replicas=options.standby_replicas,
        seed=options.seed,
        followed=followed_groups(options.timeline),
        kafka_version=clusters_of(options, run.read),
    )
    return {table.name: run.write(table.name, simulated[table.name]) for table in SIMULATED}


class Source(NamedTuple):
    """Members and subtopologies, records that could not be read, and what is assumed."""

    members: DataFrame
    subtopologies: DataFrame
    rejects: DataFrame
    assumptions: list[str]


def _source(spark: SparkSession, run: Run, options: Namespace) -> Source:
    if options.streams_members:
        members = run.read(STREAMS_MEMBERS, options.streams_members, options.format)
        assumed = earlier_assumptions(spark, options.streams_members)
        given, described = _given_subtopologies(run, options, members)
        assert given is not None
        described += assumed_of_inferred(usable(fit(given, SUBTOPOLOGIES)))
        return Source(members, given, no_rejects(spark), list(dict.fromkeys(assumed + described)))
    properties = dict(read_client_properties(options.command_config)) if options.command_config else None
    dump = open_dump(spark, options.offsets_topic, properties)
    if dump.lines is not None:
        raise UserError("--offsets-topic: text does not have the tasks of members; give Parquet, or kafka:HOST:PORT")
    stored = read_stored_streams(dump.records, options.cluster)
    given, described = _given_subtopologies(run, options, stored.members, stored.subtopologies)
    read = stored if given is None else stored.with_subtopologies(given)
    return Source(*read, [*described, *assumed_of_inferred(read.subtopologies)])


def _given_subtopologies(
    run: Run, options: Namespace, members: DataFrame, stored: DataFrame | None = None
) -> tuple[DataFrame | None, list[str]]:
    """Return the subtopologies of the table or of the files that the options name, and what is assumed of them."""
    described = described_topologies(run.spark, options, members, stored, reads_rows=run.reads_rows)
    if described is not None:
        return described
    return run.read(SUBTOPOLOGIES, options.subtopologies, options.format) if options.subtopologies else None, []


def _assumed(balance: DataFrame, members: DataFrame, options: Namespace) -> list[str]:
    """Return what is assumed of the groups that have an assignment, by their protocol."""
    assigned = balance.where("error IS NULL")
    protocols = {row["protocol"] for row in assigned.select("protocol").distinct().collect()}
    of_groups = assumed_order(members) if STREAMS in protocols else []
    of_classic = [ASSUMED_OF_CLASSIC, *([ASSUMED_IDS] if options.join else [])] if CLASSIC in protocols else []
    is_timed = not assigned.where("restored_ms IS NOT NULL").isEmpty()
    return of_groups + of_classic + ([ASSUMED_OF_RESTORATION] if is_timed else [])
