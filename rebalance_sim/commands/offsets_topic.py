"""``fleet --offsets-topic``: write the input tables from ``__consumer_offsets``."""

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.commands.console import Line, Table
from rebalance_sim.commands.rejects import write_rejects
from rebalance_sim.commands.topologies import assumed_of_inferred
from rebalance_sim.commands.validation.fleet import stated_by
from rebalance_sim.defaults import AUTO
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.tables.inputs import union
from rebalance_sim.kafka.group_kinds import CONNECT_TYPE, STREAMS_PROTOCOL, STREAMS_TYPE
from rebalance_sim.sources.clients_file import unused_entries
from rebalance_sim.sources.connect.stored_workers import read_workers
from rebalance_sim.sources.offsets_topic.dump import read_where
from rebalance_sim.sources.offsets_topic.fleet import RECORD, REJECTED, SUPERSEDED, USED, OffsetsTopic
from rebalance_sim.sources.streams.stored import read_stored_streams
from rebalance_sim.tables import LISTED_GROUPS, MEMBERS, OFFSETS, STREAMS_MEMBERS, SUBTOPOLOGIES, TOPICS, WORKERS


def write_offsets_topic(
    run: Run, options: Namespace, properties: Mapping[str, str], begin: Callable[[], None]
) -> list[Line]:
    """Write topics, members and offsets; return a table of the records. Each record is decoded once."""

    def stage(decoded: DataFrame) -> DataFrame:
        begin()
        run.report_progress("decoding the records")
        return run.stage(decoded)

    as_stated = stated_by(options)
    found = read_where(
        run.spark,
        options.offsets_topic,
        properties=properties,
        topics=run.read(TOPICS, options.topics, AUTO) if options.topics else None,
        as_stated=as_stated,
        cluster=options.cluster,
        stage=stage,
    )
    run.assumptions = [*found.assumptions, *unused_entries(as_stated.clients, found.members)]
    tables = {TOPICS.name: found.topics, MEMBERS.name: found.members, OFFSETS.name: found.offsets}
    tables[LISTED_GROUPS.name] = found.listed_groups
    written = {name: run.write(name, rows) for name, rows in tables.items()}
    rejects = [found.rejects, *_write_workers(run, found, written[MEMBERS.name], options.cluster)]
    rejects += _write_streams(run, found, written, options)
    count_records(run, found.records, MEMBERS.name, write_rejects(run, union(rejects), options.on_bad_input))
    return _summarise_records(found.records)


def _write_workers(run: Run, found: OffsetsTopic, members: DataFrame, cluster: str) -> list[DataFrame]:
    """Write the workers of Connect clusters, if there are any, and return the rejects."""
    if found.given is None or members.where(F.col("protocol_type") == CONNECT_TYPE).isEmpty():
        return []
    workers, rejects = read_workers(found.given, cluster)
    count, unread = run.number_of(run.write(WORKERS.name, workers)), run.number_of(rejects)
    run.count_rows(WORKERS.name, count + unread, count, unread)
    return [rejects]


def _write_streams(
    run: Run, found: OffsetsTopic, written: Mapping[str, DataFrame], options: Namespace
) -> list[DataFrame]:
    """Write the members and subtopologies of applications of Kafka Streams, if there are any; return the rejects."""
    classic = written[MEMBERS.name].where(F.array_contains("protocols", STREAMS_PROTOCOL))
    groups = written[LISTED_GROUPS.name].where(F.col("type") == STREAMS_TYPE)
    if found.given is None or (classic.isEmpty() and groups.isEmpty()):
        return []
    stored = read_stored_streams(found.given, options.cluster)
    given = getattr(options, SUBTOPOLOGIES.name, "")
    parts = stored.with_subtopologies(run.read(SUBTOPOLOGIES, given, AUTO)) if given else stored
    run.assumptions += assumed_of_inferred(parts.subtopologies)
    # Records of streams groups have not been decoded before: what is wrong with one shows only here.
    table = F.when(F.col("table") == RECORD, F.lit(STREAMS_MEMBERS.name)).otherwise(F.col("table"))
    rejects = parts.rejects.withColumn("table", table)
    unread = Counter(row["table"] for row in rejects.select("table").collect())
    for of, rows in ((STREAMS_MEMBERS, parts.members), (SUBTOPOLOGIES, parts.subtopologies)):
        count, rejected = run.number_of(run.write(of.name, rows)), unread[of.name]
        run.count_rows(of.name, count + rejected, count, rejected)
    return [rejects]


def count_records(run: Run, records: dict[str, dict[str, int]], members: str, rejected: Counter[str]) -> None:
    """Record how many records of the topic, and rows of ``members`` that were made of them, were used and rejected."""
    given = sum(sum(of_type.values()) for of_type in records.values())
    bad = sum(of_type.get(REJECTED, 0) for of_type in records.values())
    run.count_rows(RECORD, given, given - bad, rejected[RECORD])
    count = run.counts["out"][members]
    run.count_rows(members, count, count - rejected[MEMBERS.name], rejected[MEMBERS.name])
    run.counts["records"] = records


def _summarise_records(records: dict[str, dict[str, int]]) -> list[Line]:
    """Return a table of the number of records by type and status."""
    if not records:
        return []
    present = {status for of_type in records.values() for status in of_type}
    statuses = [*(each for each in (USED, SUPERSEDED) if each in present), *sorted(present - {USED, SUPERSEDED})]
    rows = [(name, *map(of_type.get, statuses)) for name, of_type in records.items()]
    return ["", Table(("record", *statuses), rows)]
