"""The topologies of applications of Kafka Streams that ``--topology`` names."""

from argparse import Namespace
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.commands.named_groups import unknown_group
from rebalance_sim.commands.options import items
from rebalance_sim.engine.spark.driver_rows import where_in
from rebalance_sim.engine.streams.application import CLASSIC
from rebalance_sim.engine.tables.inputs import fit, usable
from rebalance_sim.sources.assumptions import groups
from rebalance_sim.sources.kafka_tools.capture import frame_of
from rebalance_sim.sources.streams.described_groups import ASSUMED_REPLICAS
from rebalance_sim.sources.streams.stored import with_given
from rebalance_sim.sources.streams.stored_applications import ASSUMED_TOPOLOGY
from rebalance_sim.sources.streams.topology_description import ASSUMED_OF_DESCRIPTIONS, read_topologies
from rebalance_sim.tables import STREAMS_MEMBERS, SUBTOPOLOGIES, Table

_KEYS = ("cluster", "group_id")


class DescribedTopologies(NamedTuple):
    """Rows of ``subtopologies``, and what is assumed of them."""

    subtopologies: DataFrame
    assumptions: list[str]


def read_subtopologies(
    spark: SparkSession,
    options: Namespace,
    members: DataFrame | None,
    read: Callable[[Table, str, str], DataFrame],
    *,
    reads_rows: bool = True,
) -> tuple[DataFrame | None, list[str]]:
    """Return the subtopologies of the table and of the files of --topology, and what is assumed of them."""
    table = read(SUBTOPOLOGIES, options.subtopologies, options.format) if options.subtopologies else None
    known = None if table is None else fit(table, SUBTOPOLOGIES).select(*SUBTOPOLOGIES.names)
    described = None if members is None else described_topologies(spark, options, members, known, reads_rows=reads_rows)
    if described is None:
        return table, [] if known is None else assumed_of_inferred(known)
    if known is None:
        return described.subtopologies, described.assumptions
    subtopologies = with_given(known, described.subtopologies)
    return subtopologies, [*described.assumptions, *assumed_of_inferred(subtopologies)]


def assumed_of_inferred(subtopologies: DataFrame) -> list[str]:
    """Return what is assumed of applications whose topologies are inferred."""
    rows = subtopologies.where("inferred").select("group_id").distinct().collect()
    return [ASSUMED_TOPOLOGY.format(groups({row["group_id"] for row in rows}))] if rows else []


def described_topologies(
    spark: SparkSession,
    options: Namespace,
    members: DataFrame,
    known: DataFrame | None = None,
    *,
    reads_rows: bool = True,
) -> DescribedTopologies | None:
    """Return the subtopologies in the files of the option, in every cluster in which the group has members.

    Groups with ``known`` subtopologies keep these, unless they are inferred. Returns None without the option; raises
    UserError for a group that has no members.
    """
    if not options.topology:
        return None
    described = read_topologies(items(options.topology))
    names = list(dict.fromkeys(row["group_id"] for row in described))
    fitted = usable(fit(members, STREAMS_MEMBERS))
    found = _with_members(fitted, names)
    for name in names if reads_rows else ():
        if all(name != group["group_id"] for group in found):
            raise unknown_group("--topology", name, fitted)
    certain = None if known is None else _named(known.where("inferred IS NOT TRUE"), names)
    done = set() if certain is None else {(row["cluster"], row["group_id"]) for row in certain.collect()}
    left = [group for group in found if (group["cluster"], group["group_id"]) not in done]
    rows = [row | _of_group(group) for group in left for row in described if row["group_id"] == group["group_id"]]
    return DescribedTopologies(
        frame_of(spark, SUBTOPOLOGIES, rows),
        [ASSUMED_OF_DESCRIPTIONS, *_assumed_replicas(options, left)] if rows else [],
    )


def _named(rows: DataFrame, names: Collection[str]) -> DataFrame:
    return where_in(rows, "group_id", names).select(*_KEYS).distinct()


def _with_members(members: DataFrame, names: Collection[str]) -> list[Row]:
    """Return the groups of these names, with their kind and the largest number of standby tasks of one task."""
    is_classic = F.coalesce(F.col("protocol") == CLASSIC, F.lit(False)).alias("is_classic")
    named = where_in(members, "group_id", names)
    tasks = named.select(*_KEYS, is_classic, F.explode_outer("standby").alias("task")).groupBy(*_KEYS, "task")
    copies = tasks.agg(F.count("task").alias("copies"), F.max("is_classic").alias("is_classic")).groupBy(*_KEYS)
    largest = copies.agg(*(F.max(name).alias(name) for name in ("copies", "is_classic")))
    return largest.orderBy(*_KEYS).collect()


def _of_group(group: Row) -> dict[str, Any]:
    """Return the columns about a group: a description has no num.standby.replicas."""
    return {"cluster": group["cluster"], "standby_replicas": None if group["is_classic"] else group["copies"]}


def _assumed_replicas(options: Namespace, described: Collection[Row]) -> list[str]:
    streams = {group["group_id"] for group in described if not group["is_classic"]}
    is_given = getattr(options, "standby_replicas", None) is not None
    return [ASSUMED_REPLICAS.format(groups(streams))] if streams and not is_given else []
