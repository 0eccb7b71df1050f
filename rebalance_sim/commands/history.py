"""``history``: every past generation of the groups in __consumer_offsets, and why it came about."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.commands.brokers import clusters_of, untested_releases
from rebalance_sim.commands.console import print_summary
from rebalance_sim.commands.history_predictions import prediction_assumptions, summarise_predictions, write_predictions
from rebalance_sim.commands.history_summary import assumptions, summarise_history, summarise_timings
from rebalance_sim.commands.new_runs import new_run
from rebalance_sim.commands.offsets_topic import count_records
from rebalance_sim.commands.options import items
from rebalance_sim.commands.rejects import write_rejects
from rebalance_sim.commands.strategies import own_assignors
from rebalance_sim.commands.summary import summarise_run
from rebalance_sim.commands.validation.history import dumps_of, reading_of
from rebalance_sim.engine.history.log_reasons import with_log_reasons
from rebalance_sim.engine.history.timings import Timings
from rebalance_sim.engine.runs.hadoop_files import HadoopFiles
from rebalance_sim.engine.runs.input_formats import check_exists
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.tables.inputs import union
from rebalance_sim.errors import UserError
from rebalance_sim.sources.broker_logs import BROKER_LOGS, BrokerLogs, read_broker_logs
from rebalance_sim.sources.live_cluster.client_properties import read_client_properties
from rebalance_sim.sources.offsets_topic import KAFKA
from rebalance_sim.sources.offsets_topic.copied_topic import append_new, has_copy
from rebalance_sim.sources.offsets_topic.dump import Dump, open_dump
from rebalance_sim.sources.offsets_topic.fleet import check
from rebalance_sim.sources.offsets_topic.history import History, read_history, read_printed_history
from rebalance_sim.tables import EPISODES, GENERATION_MEMBERS, GENERATIONS, TIMINGS, TOPICS
from rebalance_sim.wording import plural

_COPIED = "copied"
"""The number of records that were copied, among the counts of a run."""


def run(spark: SparkSession, options: Namespace) -> None:
    """Read dumps, write generations, their members, episodes and rejects, and predict all of it."""
    run = new_run(spark, "history", options)
    topics = run.read(TOPICS, options.topics, options.format) if options.topics else None
    clusters = clusters_of(options, run.read)
    own = own_assignors(options, clusters.others.rules())
    dumps, lines = _dumps(run, options), _log_lines(run, options)
    run.begin()
    logs = None if lines is None else _logs(run, lines, options.cluster)
    run.report_progress("reading the generations of all groups")
    history = _read(run, options, dumps, topics)
    if logs is not None:
        history = replace(history, generations=with_log_reasons(history.generations, logs.steps))
    names = (GENERATIONS.name, GENERATION_MEMBERS.name, EPISODES.name)
    tables = {name: run.write(name, getattr(history, name)) for name in names}
    run.report_progress("measuring how long groups took")
    timed = tables[GENERATION_MEMBERS.name].transform(
        Timings(tables[GENERATIONS.name], tables[EPISODES.name], None if logs is None else logs.steps)
    )
    tables[TIMINGS.name] = run.write(TIMINGS.name, timed)
    tables |= write_predictions(run, tables, topics, clusters, tuple(own.values()))
    _count(run, history, logs, options.on_bad_input)
    run.assumptions = [*assumptions(tables), *prediction_assumptions(tables), *untested_releases(clusters)]
    run.finish()
    past = [*summarise_history(tables), *summarise_timings(tables[TIMINGS.name])]
    copied = [f"copied {plural(run.counts[_COPIED], 'new record')} to {options.keep}"] if options.keep else []
    print_summary([*past, *summarise_predictions(run, tables), *copied, *summarise_run(run)])


def _dumps(run: Run, options: Namespace) -> list[tuple[str, Dump]]:
    """Open the dumps. Raises UserError if one does not exist, or if they cannot be merged."""
    properties = read_client_properties(options.command_config) if options.command_config else {}
    dumps = [(where, open_dump(run.spark, where, properties)) for where in dumps_of(options)]
    for where, dump in dumps:
        if dump.lines is None:
            check(dump.records)
        elif len(dumps) > 1:
            raise UserError(
                f"--offsets-topic: {where!r} is text, which has no offsets; several dumps are merged by offset, and "
                "must be Parquet or brokers"
            )
    return dumps


def _read(run: Run, options: Namespace, dumps: Sequence[tuple[str, Dump]], topics: DataFrame | None) -> History:
    reading = reading_of(options)
    given: dict[str, Any] = {"groups": items(options.groups) if options.groups else (), "stage": run.stage}
    first = dumps[0][1]
    if first.lines is not None:
        return read_printed_history(first.lines, reading, **given)
    records = [
        _of_brokers(run, dump, options.keep) if where.startswith(KAFKA) else dump.records for where, dump in dumps
    ]
    return read_history(records, reading, topics=topics, **given)


def _of_brokers(run: Run, dump: Dump, copy: str) -> DataFrame:
    """Return the brokers' records, which are more each time that they are read, or all of their copy."""
    records = run.stage(dump.records, "brokers")
    if not copy:
        return records
    run.report_progress(f"copying new records to {copy}")
    exists = has_copy(HadoopFiles(run.spark), copy)
    new = append_new(records, copy, run.spark.read.parquet(copy) if exists else None)
    run.counts[_COPIED] = new
    return run.spark.read.parquet(copy) if exists or new else records


def _log_lines(run: Run, options: Namespace) -> DataFrame | None:
    """Return the lines of the logs of brokers; None without the option. Raises UserError if one does not exist."""
    if not options.broker_logs:
        return None
    paths = items(options.broker_logs)
    for path in paths:
        check_exists(HadoopFiles(run.spark), "the broker log", path)
    return run.spark.read.text(paths)


def _logs(run: Run, lines: DataFrame, cluster: str) -> BrokerLogs:
    """Return the contents of the logs, of which little is needed, and several times."""
    run.report_progress("reading the logs of the brokers")
    read = read_broker_logs(lines, cluster)
    return BrokerLogs(run.stage(read.steps, "steps"), run.stage(read.rejects, "lines"))


def _count(run: Run, history: History, logs: BrokerLogs | None, on_bad_input: str) -> None:
    """Record how many records, members and lines about rebalances were used and rejected."""
    unread = [] if logs is None else [logs.rejects]
    rejected = write_rejects(run, union([history.rejects, *unread]), on_bad_input)
    if logs is not None:
        used_lines, bad_lines = logs.steps.count(), rejected[BROKER_LOGS]
        run.count_rows(BROKER_LOGS, used_lines + bad_lines, used_lines, bad_lines)
    count_records(run, history.records, GENERATION_MEMBERS.name, rejected)
