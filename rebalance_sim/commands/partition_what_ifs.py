"""What the job ``partition`` answers beside where records go: what a bigger topic or another client would change."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.commands.options import check_between, named_clients
from rebalance_sim.engine.client_agreement import client_agreement, topics_at_risk
from rebalance_sim.engine.inputs import fit_topics, no_rejects, rejected, usable
from rebalance_sim.engine.partition_growth import grown_topics, moved_keys, partition_growth, partition_load_after
from rebalance_sim.engine.record_keys import record_keys
from rebalance_sim.engine.runs import Run
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.partitioners.clients import Client
from rebalance_sim.tables import (
    CLIENT_AGREEMENT,
    MAX_PARTITIONS,
    PARTITION_GROWTH,
    PARTITION_LOAD_AFTER,
    TOPICS_AFTER,
    TOPICS_AT_RISK,
)

_AFTER, _COMPARE = "--partitions-after", "--compare"


def add_what_if_options(parser: ArgumentParser) -> None:
    """Options of the what-ifs."""
    parser.add_argument(
        _AFTER,
        default="",
        metavar="N|PATH",
        help="tell what would move if every topic had N partitions, or those of another topics table; a topic that it "
        "does not name keeps its number",
    )
    parser.add_argument(
        _COMPARE, default="", metavar="NAME,...", help="tell on how many keys each two of these clients agree"
    )


@dataclass(frozen=True)
class WhatIfs:
    """What is asked."""

    after: DataFrame | int | None
    """Topics as they would be, or a number of partitions for all."""
    given_after: DataFrame | None
    rejects: DataFrame
    """Rows of that table that cannot be used."""
    compared: tuple[Client, ...]

    @classmethod
    def read(cls, run: Run, options: Namespace) -> "WhatIfs":
        """Read the options; raise UserError for what they cannot mean."""
        compared = named_clients(_COMPARE, options.compare)
        if len(compared) == 1:
            raise UserError(f"{_COMPARE}: {options.compare!r} is one client; allowed: two and more")
        asked = options.partitions_after
        if not asked:
            return cls(None, None, no_rejects(run.spark), compared)
        if asked.lstrip("+-").isdecimal():
            check_between(_AFTER, int(asked), 1, MAX_PARTITIONS)
            return cls(int(asked), None, no_rejects(run.spark), compared)
        given = run.read(TOPICS_AFTER, asked, options.format)
        fitted = fit_topics(given, TOPICS_AFTER)
        return cls(usable(fitted), given, rejected(fitted, TOPICS_AFTER), compared)

    def write(
        self, run: Run, record_partitions: DataFrame, topics: DataFrame, clients: Sequence[Client], own: bool
    ) -> dict[str, DataFrame]:
        """Write the answers, and return them as written.

        ``clients`` are those of the records: each record's own, or else each record is there once for each client.
        """
        tables = {}
        if own:
            tables[TOPICS_AT_RISK.name] = _write_topics_at_risk(run, record_partitions, topics, clients)
        if self.after is None and not self.compared:
            return tables
        run.tell("counting records by key")
        grown = topics if self.after is None else grown_topics(topics, self.after)
        keys = record_partitions.transform(record_keys)
        keys = run.stage(keys if self.after is None else keys.transform(moved_keys(grown, clients)))
        if self.after is not None:
            load_after = keys.transform(partition_load_after(grown))
            tables[PARTITION_LOAD_AFTER.name] = run.write(PARTITION_LOAD_AFTER.name, load_after)
            tables[PARTITION_GROWTH.name] = run.write(PARTITION_GROWTH.name, keys.transform(partition_growth(grown)))
        if self.compared:
            of_records = keys if own else keys.where(F.col("client") == clients[0].name)
            agreement = of_records.transform(client_agreement(topics, self.compared))
            tables[CLIENT_AGREEMENT.name] = run.write(CLIENT_AGREEMENT.name, agreement)
        return tables

    def count(self, run: Run, rejected_rows: int) -> None:
        """Put the rows of the table of topics on record, if there is one."""
        if self.given_after is not None and isinstance(self.after, DataFrame):
            run.count_rows(TOPICS_AFTER.name, self.given_after.count(), self.after.count(), rejected_rows)


def _write_topics_at_risk(
    run: Run, record_partitions: DataFrame, topics: DataFrame, clients: Sequence[Client]
) -> DataFrame:
    """Write it; without another look at the records where there is but one client."""
    at_risk = record_partitions.transform(topics_at_risk(topics, clients))
    return run.write(TOPICS_AT_RISK.name, at_risk if len(clients) > 1 else at_risk.where(F.lit(False)))
