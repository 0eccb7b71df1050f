"""Read applications of Kafka Streams over both protocols from ``__consumer_offsets``."""

from typing import NamedTuple

from pyspark.sql import DataFrame

from rebalance_sim.engine.tables.inputs import fit, rejected, union, usable
from rebalance_sim.sources.streams.stored_applications import read_applications
from rebalance_sim.sources.streams.stored_groups import read_streams_groups
from rebalance_sim.tables import SUBTOPOLOGIES


class StoredStreams(NamedTuple):
    """Members and subtopologies, and the records and rows that could not be read."""

    members: DataFrame
    subtopologies: DataFrame
    rejects: DataFrame

    def with_subtopologies(self, given: DataFrame) -> "StoredStreams":
        """Add the given subtopologies of groups whose topologies are not stored: those of classic applications."""
        fitted = fit(given, SUBTOPOLOGIES)
        rejects = union([self.rejects, rejected(fitted, SUBTOPOLOGIES)])
        return StoredStreams(self.members, with_given(self.subtopologies, usable(fitted)), rejects)


def with_given(known: DataFrame, given: DataFrame) -> DataFrame:
    """Return known subtopologies, but those that are given in place of inferred ones, and of other groups."""
    keys = ["cluster", "group_id"]
    certain = known.where("inferred IS NOT TRUE")
    added = given.join(certain.select(*keys).distinct(), keys, "anti").select(*SUBTOPOLOGIES.names)
    inferred = known.where("inferred").join(added.select(*keys).distinct(), keys, "anti")
    return union([rows.select(*SUBTOPOLOGIES.names) for rows in (certain, added, inferred)])


def read_stored_streams(records: DataFrame, cluster: str) -> StoredStreams:
    """Return what is stored, from records with ``key``, ``value``, ``partition`` and ``offset``."""
    members, subtopologies, rejects = read_streams_groups(records, cluster)
    classic, inferred, unread = read_applications(records, cluster)
    return StoredStreams(members.unionByName(classic), subtopologies.unionByName(inferred), union([rejects, unread]))
