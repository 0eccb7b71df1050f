"""``partition``: the partition of every record, and the load of every partition."""

from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.api import batches, produce_requests
from rebalance_sim.api.records import PlacedRecords
from rebalance_sim.commands.console import print_summary
from rebalance_sim.commands.job_options import EXACT
from rebalance_sim.commands.new_runs import new_run
from rebalance_sim.commands.partition_summary import summarise_partitions
from rebalance_sim.commands.rejects import write_rejects
from rebalance_sim.commands.summary import summarise_run
from rebalance_sim.commands.validation.partition import (
    batches_of,
    clients_of,
    compared_clients,
    format_of_keys,
    partitions_after,
)
from rebalance_sim.engine.records.keys_as_records import fit_keys, keys_as_records
from rebalance_sim.engine.runs.input_formats import TEXT
from rebalance_sim.engine.runs.run import Run, earlier_assumptions
from rebalance_sim.engine.tables.inputs import fit_topics, no_rejects, rejected, union, usable
from rebalance_sim.kafka.partitioners.record_accumulator import ProducerSettings
from rebalance_sim.tables import (
    BATCHES,
    CLIENT_AGREEMENT,
    CONFLICTING_KEYS,
    KEY_FINDINGS,
    KEYS,
    MOVED_KEYS,
    PARTITION_GROWTH,
    PARTITION_LOAD,
    PARTITION_LOAD_AFTER,
    PRODUCE_REQUESTS,
    RECORD_PARTITIONS,
    RECORDS,
    TOPICS,
    TOPICS_AFTER,
    TOPICS_AT_RISK,
)

_BROKERS_READY = "every broker is ready and answers at once; batches wait for further records only"


@dataclass(frozen=True)
class _Sent:
    """What is placed: records, or keys that count as records."""

    records: DataFrame
    given: DataFrame
    """The rows that were read: of records, or of keys."""
    rejected_keys: DataFrame | None = None
    """The keys that cannot be used; None if records are given."""

    @classmethod
    def read(cls, run: Run, topics: DataFrame, options: Namespace) -> "_Sent":
        """Read the records or the keys."""
        if not options.keys:
            records = run.read(RECORDS, options.records, options.format)
            return cls(records, records)
        given, known = _read_keys(run, options), usable(fit_topics(topics))
        fitted = fit_keys(given, known)
        records = keys_as_records(fitted, known)
        return cls(records if "client" in given.columns else records.drop("client"), given, rejected(fitted, KEYS))


def _sent_by(clients: Mapping[str, str]) -> Callable[[DataFrame], DataFrame]:
    """Set the client of all records of the named topics; records of other topics keep theirs."""

    def transform(records: DataFrame) -> DataFrame:
        if not clients or "topic" not in records.columns:
            return records
        own = F.col("client") if "client" in records.columns else F.lit(None).cast("string")
        of_topic = [F.when(F.col("topic") == topic, F.lit(name)) for topic, name in clients.items()]
        return records.withColumn("client", F.coalesce(*of_topic, own))

    return transform


def _read_keys(run: Run, options: Namespace) -> DataFrame:
    """Read keys from a table, or from the lines of a text file."""
    given = run.read(KEYS, options.keys, format_of_keys(options))
    return given.withColumnRenamed("value", "key") if format_of_keys(options) == TEXT else given


@dataclass(frozen=True)
class _WhatIfs:
    """The what-ifs that are asked for: more partitions, or another client library."""

    after: DataFrame | int | None
    """Usable topics with their new partitions, or one number of partitions for all topics."""
    given_after: DataFrame | None
    rejects: DataFrame
    """Rows of that table that cannot be used."""
    compared: tuple[str, ...]
    """Names of clients."""

    @classmethod
    def read(cls, run: Run, options: Namespace) -> "_WhatIfs":
        """Read the what-ifs of the options."""
        compared, after = compared_clients(options), partitions_after(options)
        if not isinstance(after, str):
            return cls(after, None, no_rejects(run.spark), compared)
        given = run.read(TOPICS_AFTER, after, options.format)
        fitted = fit_topics(given, TOPICS_AFTER)
        return cls(usable(fitted), given, rejected(fitted, TOPICS_AFTER), compared)

    def write(self, run: Run, placed: PlacedRecords, record_partitions: DataFrame) -> None:
        """Write the tables that are asked for."""
        if placed.by_own_client:
            run.write(TOPICS_AT_RISK.name, placed.topics_at_risk(record_partitions))
        if self.after is None and not self.compared:
            return
        run.report_progress("counting records by key")
        counts = run.stage(placed.key_counts(record_partitions, self.after))
        if self.after is not None:
            run.write(PARTITION_LOAD_AFTER.name, placed.load_after(counts, self.after))
            run.write(PARTITION_GROWTH.name, placed.growth(counts, self.after))
            run.write(MOVED_KEYS.name, placed.moved_keys(counts))
        if self.compared:
            run.write(CLIENT_AGREEMENT.name, placed.agreement(counts, self.compared))
            run.write(CONFLICTING_KEYS.name, placed.conflicting_keys(counts, self.compared))

    def count(self, run: Run, rejected_rows: int) -> None:
        """Record the row counts of the table of new partitions, if there is one."""
        if self.given_after is not None and isinstance(self.after, DataFrame):
            run.count_rows(TOPICS_AFTER.name, run.number_of(self.given_after), run.number_of(self.after), rejected_rows)


def run(spark: SparkSession, options: Namespace) -> None:
    """Read topics and records, place the records, and write all tables that follow."""
    of_topics, asked = clients_of(options.client)
    settings = ProducerSettings(*batches_of(options), not options.not_adaptive)
    run = new_run(spark, "partition", options)
    what_ifs = _WhatIfs.read(run, options)
    topics = run.read(TOPICS, options.topics, options.format)
    sent = _Sent.read(run, topics, options)
    placed = PlacedRecords(topics, sent.records.transform(_sent_by(of_topics)), asked, run.kept)
    run.begin()

    record_partitions = _write_record_partitions(run, placed, settings, options)
    loads = placed.load(record_partitions, exact=options.heaviest_keys == EXACT)
    loads = run.write(PARTITION_LOAD.name, loads)
    run.write(KEY_FINDINGS.name, placed.key_findings(record_partitions, loads))
    what_ifs.write(run, placed, record_partitions)

    used, given = run.counts["out"][RECORD_PARTITIONS.name] // max(len(asked), 1), run.number_of(sent.given)
    # Another pass over all records only if some were rejected.
    bad_records = placed.rejected_records if used < given else placed.rejected_records.limit(0)
    bad_rows = bad_records if sent.rejected_keys is None else sent.rejected_keys
    bad = write_rejects(run, union([placed.rejected_topics, what_ifs.rejects, bad_rows]), options.on_bad_input)
    run.count_rows(TOPICS.name, run.number_of(topics), run.number_of(placed.topics), bad[TOPICS.name])
    what_ifs.count(run, bad[TOPICS_AFTER.name])
    if sent.rejected_keys is None:
        run.count_rows(RECORDS.name, given, used, bad[RECORDS.name])
    else:
        run.count_rows(KEYS.name, given, given - bad[KEYS.name], bad[KEYS.name])
    run.assumptions += earlier_assumptions(spark, options.topics)
    run.finish()
    print_summary(summarise_partitions(run.tables) + summarise_run(run))


def _write_record_partitions(
    run: Run, placed: PlacedRecords, settings: ProducerSettings, options: Namespace
) -> DataFrame:
    """Write and return the partition of each record; write the batches too if they decide it or are asked for."""
    if not options.batches and run.reads_rows and not placed.needs_batches():
        return run.write(RECORD_PARTITIONS.name, placed.record_partitions())
    run.report_progress("simulating producers")
    run.assumptions.append(_BROKERS_READY)
    sent = run.stage(placed.sent(settings, options.seed))
    record_partitions = run.write(RECORD_PARTITIONS.name, sent.drop("batch"))
    opened = run.write(BATCHES.name, sent.transform(batches))
    run.write(PRODUCE_REQUESTS.name, opened.transform(produce_requests))
    return record_partitions
