"""The causes that history finds on real brokers, compared with what was done to each group."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim import backtest, timings
from rebalance_sim.kafka.history.causes import Cause
from rebalance_sim.sources.offsets_topic.history import History as Read
from rebalance_sim.sources.offsets_topic.history import read_history
from tests.support.cluster.committing_groups import COMMIT_MS, GROUPS, PARTITIONS, play
from tests.support.cluster.scripted_history import SCRIPTS, History, dump, played, topic_ids
from tests.support.rows import given_rows

pytestmark = pytest.mark.cluster

VERSIONS = ("4.3.1", "3.9.2")
"""Of Java's coordinator and of Scala's; before 2.6.1 it did not store the new id of a static member."""
_APART_MS = 100
"""Between a line of the log and the record of the same moment; heartbeats, which both would mistake, are 1 s apart."""
CLASSIC = {group: script for group, script in SCRIPTS.items() if group != "kip-848"}


@pytest.mark.parametrize("version", VERSIONS)
def test_causes_of_scripted_groups(spark: SparkSession, tmp_path: Path, version: str) -> None:
    """No generation is missing, and every cause is the one in the script.

    The first generation has no cause. Java's coordinator also writes a record when it creates a group.
    """
    scripts = SCRIPTS if version.startswith("4") else CLASSIC
    with ExitStack() as stack:
        on, history = played(version, tmp_path, scripts, stack)
        parquet.write_table(dump(on), tmp_path / "dump.parquet")
        named = [(row["topic"], row["topic_id"], row["partitions"]) for row in topic_ids(on)]
    topics = given_rows(spark, named, "topic string, topic_id string, partitions int")
    read = read_history([spark.read.parquet(str(tmp_path / "dump.parquet"))], groups=[*scripts], topics=topics)
    rows = read.generations.orderBy("group_id", "record_offset").collect()
    found: dict[str, list[Cause]] = {group: [] for group in scripts}
    for row in rows:
        if row.cause == Cause.FIRST_SEEN and row.members:
            found[row.group_id].append(Cause.JOINED)
        elif row.cause not in (Cause.FIRST_SEEN, Cause.REVOKED):
            found[row.group_id].append(Cause(row.cause))
    assert found == history.truth
    assert {row.complete for row in rows} == {True}
    assert {row.skipped for row in rows} <= {0, None}
    assert [row.group_id for row in rows if row.cause == Cause.REVOKED] == ["cooperative"] * 2
    assert read.rejects.count() == 0
    for basis, number in (("as joined", "generation >= 1"), ("generation before", "generation > 1")):
        tested = read.generation_members.where("group_id <> 'kip-848'").transform(backtest(basis=basis))
        assert {row.result for row in tested.collect()} == {"equal"}
        with_members = read.generations.where("members > 0 AND NOT rewritten AND group_id <> 'kip-848'")
        assert tested.count() == with_members.where(number).count()
    _check_timings(read, history, spark.read.text(str(on.log)))
    assert None not in [row.completed_at_ms for row in rows if row.type == "classic"]


def test_downtime_that_commits_show(spark: SparkSession, tmp_path: Path) -> None:
    """Consumers that commit every second are restarted, and one is killed; a gap tells its downtime to a second.

    Members of a cooperative group cannot commit during a rebalance, in which they keep partitions.
    """
    records, unowned = play("4.3.1", tmp_path)
    parquet.write_table(records, tmp_path / "dump.parquet")
    read = read_history([spark.read.parquet(str(tmp_path / "dump.parquet"))], groups=[*GROUPS])
    found = {row.group_id: row for row in read.episodes.collect()}
    for group in GROUPS:
        estimated_ms, true_ms = found[group].downtime_ms, sum(unowned[group])
        assert abs(estimated_ms - true_ms) <= COMMIT_MS * PARTITIONS, group
        assert found[group].rewound == 0
    rows = read.generations.where("group_id = 'killed' AND cause = 'member left'").collect()
    assert [(row.commits_compared, row.downtime_partitions, row.downtime_reason) for row in rows] == [(6, 6, None)]


def _check_timings(read: Read, history: History, log: DataFrame) -> None:
    """What records and the broker's log show is what the clients report."""
    found = read.generation_members.transform(timings(read.generations, read.episodes, log))
    rows = {(row.group_id, row.timing, row.source): row for row in found.where("workload IS NULL").collect()}
    for group, timing in (("rolling", "restart"), ("crashing", "return")):
        known = history.away_ms[group]
        logged, recorded = rows[group, timing, "broker logs"], rows[group, timing, "records"]
        assert (logged["count"], logged.bound) == (len(known), "measured")
        assert min(least for least, _ in known) <= logged.min_ms
        assert logged.max_ms <= max(most for _, most in known)
        assert (recorded["count"], recorded.bound) == (len(known), "upper bound")
        assert (recorded.min_ms, recorded.max_ms) >= (logged.min_ms, logged.max_ms)
    # The first member revokes alone when the second one joins.
    logged, recorded = rows["cooperative", "revoke", "broker logs"], rows["cooperative", "revoke", "records"]
    assert SCRIPTS["cooperative"].revoke_ms <= logged.min_ms <= recorded.max_ms
    # Log and record are of the same moments; of Java's coordinator, the records have the first generation too.
    for group in CLASSIC:
        logged, recorded = rows[group, "assign", "broker logs"], rows[group, "assign", "records"]
        assert abs(logged.min_ms - recorded.min_ms) <= _APART_MS
        assert rows[group, "join", "broker logs"]["count"] >= logged["count"]
