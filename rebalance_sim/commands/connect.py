"""``connect``: predict where the connectors and tasks of Kafka Connect clusters run, and what a scenario costs them."""

from argparse import Namespace
from collections import Counter
from functools import partial
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.api.connect import simulate_connect
from rebalance_sim.commands.brokers import clusters_of, untested_releases
from rebalance_sim.commands.connect_assumptions import MEMORY, MIRRORED, assumed_of_workers, assumed_times
from rebalance_sim.commands.connect_summary import (
    shown_clusters,
    summarise_assignments,
    summarise_costs,
    summarise_delays,
    summarise_mirror_tasks,
)
from rebalance_sim.commands.console import print_summary
from rebalance_sim.commands.new_runs import new_run
from rebalance_sim.commands.options import items
from rebalance_sim.commands.rejects import count_given, write_rejects
from rebalance_sim.commands.simulate import STEPS, rejected_steps
from rebalance_sim.commands.summary import summarise_run
from rebalance_sim.commands.validation.connect import scenario_played
from rebalance_sim.engine.runs.run import Run, earlier_assumptions
from rebalance_sim.engine.tables.inputs import fit, no_rejects, union, usable
from rebalance_sim.errors import UserError
from rebalance_sim.sources.connect.config_topic import named_config_topics, read_config_topic
from rebalance_sim.sources.connect.rest_output import read_rest_output
from rebalance_sim.sources.connect.stored_workers import (
    ASSUMED_CONNECTORS,
    ASSUMED_DELAY,
    connectors_that_run,
    read_workers,
)
from rebalance_sim.sources.kafka_tools.capture import frame_of
from rebalance_sim.sources.live_cluster.client_properties import read_client_properties
from rebalance_sim.sources.offsets_topic.dump import open_dump
from rebalance_sim.tables import (
    CONNECT_ADVICE,
    CONNECT_COSTS,
    CONNECT_REBALANCES,
    CONNECTORS,
    MIRROR_TASKS,
    OFFSETS,
    REJECTS,
    TASK_ASSIGNMENTS,
    TOPICS,
    WORKERS,
)

_WITHOUT_IDS = (
    "member ids, leader and join order are unknown: the addresses of workers are used. Which worker stops tasks, "
    "and which one leads next, may differ"
)


def run(spark: SparkSession, options: Namespace) -> None:
    """Read workers and connectors, play the scenario, and write all tables of the run."""
    scenario, bad_steps = scenario_played(options)
    run = new_run(spark, "connect", options)
    source = _with_config_topics(spark, _source(spark, run, options), options)
    clusters = clusters_of(options, run.read)
    # What MirrorMaker 2 can replicate, as far as it is given.
    paths = {TOPICS: options.source_topics, OFFSETS: options.source_offsets}
    replicated = {table: run.read(table, path, options.format) for table, path in paths.items() if path}
    played = simulate_connect(
        source.workers,
        source.connectors,
        scenario,
        options.advice,
        kafka_version=clusters,
        seed=options.seed,
        source_topics=replicated.get(TOPICS),
        source_offsets=replicated.get(OFFSETS),
    )
    run.begin()
    run.report_progress(f"playing {scenario.name if scenario else 'a rebalance'} in Connect clusters")
    names = [CONNECT_COSTS.name, CONNECT_REBALANCES.name, TASK_ASSIGNMENTS.name]
    names += [MIRROR_TASKS.name] if replicated else []
    names += [CONNECT_ADVICE.name] if options.advice else []
    tables = {name: run.write(name, played[name]) for name in names}
    rejects = [played[REJECTS.name], source.rejects, rejected_steps(spark, bad_steps)]
    bad = write_rejects(run, union(rejects), options.on_bad_input)
    unread = Counter({WORKERS.name: run.number_of(source.rejects)})
    count_given(run, {WORKERS: source.workers, CONNECTORS: source.connectors} | replicated, bad, unread)
    if scenario is not None:
        run.count_rows(STEPS, len(scenario.steps) + len(bad_steps), len(scenario.steps), bad[STEPS])
    run.assumptions = [*source.assumptions, *untested_releases(clusters), *assumed_of_workers(source.workers)]
    run.assumptions += [MEMORY, *assumed_times(scenario), *([MIRRORED] if replicated else [])]
    run.finish()
    shown = shown_clusters(tables[CONNECT_COSTS.name])
    lines = summarise_costs(tables[CONNECT_COSTS.name], tables[CONNECT_REBALANCES.name], shown)
    lines += summarise_assignments(tables[TASK_ASSIGNMENTS.name], shown)
    if replicated:
        lines += summarise_mirror_tasks(tables[MIRROR_TASKS.name], tables[TASK_ASSIGNMENTS.name], shown)
    lines += summarise_delays(tables[CONNECT_ADVICE.name]) if options.advice else []
    print_summary(lines + summarise_run(run))


class Source(NamedTuple):
    """Workers and connectors, the rows of workers that could not be read, and what is assumed."""

    workers: DataFrame
    connectors: DataFrame
    rejects: DataFrame
    assumptions: list[str]


def _source(spark: SparkSession, run: Run, options: Namespace) -> Source:
    """Read the workers and the connectors from where the options say."""
    given = run.read(CONNECTORS, options.connectors, options.format) if options.connectors else None
    if options.workers:
        workers = run.read(WORKERS, options.workers, options.format)
        assumed = earlier_assumptions(spark, options.workers)
        if given is not None:
            return Source(workers, given, no_rejects(spark), assumed)
        running = connectors_that_run(usable(fit(workers, WORKERS)))
        return Source(workers, running, no_rejects(spark), list(dict.fromkeys([*assumed, ASSUMED_CONNECTORS])))
    if options.rest_output:
        rows = read_rest_output(options.rest_output, options.cluster, options.group)
        workers, connectors = map(partial(frame_of, spark), (WORKERS, CONNECTORS), rows)
        return Source(workers, given or connectors, no_rejects(spark), [_WITHOUT_IDS])
    dump = open_dump(spark, options.offsets_topic, _client_properties(options))
    if dump.lines is not None:
        raise UserError("--offsets-topic: text does not have what workers run; give Parquet, or kafka:HOST:PORT")
    workers, rejects = read_workers(dump.records, options.cluster)
    if given is not None:
        return Source(workers, given, rejects, [ASSUMED_DELAY])
    return Source(workers, connectors_that_run(workers), rejects, [ASSUMED_CONNECTORS, ASSUMED_DELAY])


def _with_config_topics(spark: SparkSession, source: Source, options: Namespace) -> Source:
    """Take the connectors of the groups whose config topics are named from these topics."""
    named = named_config_topics(items(options.config_topic), options.offsets_topic)
    if not named:
        return source
    rows = [
        {"cluster": options.cluster, "group_id": group, **row}
        for group, where in named.items()
        for row in read_config_topic(spark, where, options.offsets_topic, _client_properties(options))
    ]
    configured = frame_of(spark, CONNECTORS, rows)
    others = source.connectors.where(~F.col("group_id").isin(*named))
    is_assumed = ASSUMED_CONNECTORS in source.assumptions and not others.isEmpty()
    assumptions = [each for each in source.assumptions if each != ASSUMED_CONNECTORS]
    return source._replace(
        connectors=configured.unionByName(others, allowMissingColumns=True),
        assumptions=[*assumptions, *([ASSUMED_CONNECTORS] if is_assumed else [])],
    )


def _client_properties(options: Namespace) -> dict[str, str] | None:
    return dict(read_client_properties(options.command_config)) if options.command_config else None
