"""The what-ifs of ``partition``: more partitions, or another client library."""

from argparse import Namespace
from dataclasses import dataclass

from pyspark.sql import DataFrame

from rebalance_sim.api.records import PlacedRecords
from rebalance_sim.commands.validation.partition import compared_clients, partitions_after
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.tables.inputs import fit_topics, no_rejects, rejected, usable
from rebalance_sim.tables import (
    CLIENT_AGREEMENT,
    CONFLICTING_KEYS,
    MOVED_KEYS,
    PARTITION_GROWTH,
    PARTITION_LOAD_AFTER,
    TOPICS_AFTER,
    TOPICS_AT_RISK,
)


@dataclass(frozen=True)
class WhatIfs:
    """The what-ifs that are asked for."""

    after: DataFrame | int | None
    """Usable topics with their new partitions, or one number of partitions for all topics."""
    given_after: DataFrame | None
    rejects: DataFrame
    """Rows of that table that cannot be used."""
    compared: tuple[str, ...]
    """Names of clients."""

    @classmethod
    def read(cls, run: Run, options: Namespace) -> "WhatIfs":
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
