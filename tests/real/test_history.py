"""The causes that history finds on real brokers, compared with what was done to each group."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from rebalance_sim import backtest
from rebalance_sim.kafka.history.causes import Cause
from rebalance_sim.sources.offsets_topic.history import read_history
from tests.support.cluster.scripted_history import SCRIPTS, dump, played, topic_ids
from tests.support.maven import JarsUnavailable
from tests.support.rows import given_rows

pytestmark = pytest.mark.cluster

VERSIONS = ("4.3.1", "3.9.2")
"""Of Java's coordinator and of Scala's; before 2.6.1 it did not store the new id of a static member."""
CLASSIC = {group: script for group, script in SCRIPTS.items() if group != "kip-848"}


@pytest.mark.parametrize("version", VERSIONS)
def test_causes_of_scripted_groups(spark: SparkSession, tmp_path: Path, version: str) -> None:
    """No generation is missing, and every cause is the one in the script.

    The first generation has no cause. Java's coordinator also writes a record when it creates a group.
    """
    scripts = SCRIPTS if version.startswith("4") else CLASSIC
    with ExitStack() as stack:
        try:
            on, history = played(version, tmp_path, scripts, stack)
        except JarsUnavailable as reason:
            pytest.skip(f"no broker of Kafka {version}: {reason}")
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
    assert None not in [row.completed_at_ms for row in rows if row.type == "classic"]
