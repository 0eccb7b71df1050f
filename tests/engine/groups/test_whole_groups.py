"""Members that Spark brings together by group and workers nest, against members that Spark nests."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.engine.groups import whole_groups
from rebalance_sim.engine.groups.group_batches import GroupBatch, collect_members
from rebalance_sim.engine.groups.whole_groups import by_group, nested_groups, whole_runs
from rebalance_sim.engine.tables.inputs import fit
from rebalance_sim.tables import MEMBERS
from tests.support.rows import member, members

COLUMNS = ("join_order", "member_id", "protocol_type", "subscription", "owned")
Group = tuple[str, str, int, list[dict[str, Any]]]


def contents(batches: Iterator[pa.RecordBatch]) -> list[Group]:
    """Return each group's name, number of rejected members, and members, in the order of the names."""
    found = []
    for rows in batches:
        of = GroupBatch.of(rows).with_lists_written_out()
        keys = zip(of.clusters.to_pylist(), of.group_ids.to_pylist(), of.rejected_members.tolist(), strict=True)
        for group, key in enumerate(keys):
            found.append((*key, of.members[of.offsets[group] : of.offsets[group + 1]].to_pylist()))
    return sorted(found, key=lambda group: group[:2])


def nested_by_spark(rows: DataFrame) -> list[Group]:
    return contents(iter(collect_members(rows, COLUMNS).toArrow().combine_chunks().to_batches()))


@pytest.mark.parametrize(("most_bytes", "rows_at_a_time"), [(1, 1), (1, 7), (2_000, 7), (2**23, 100)])
def test_the_groups_are_those_that_spark_nests(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, most_bytes: int, rows_at_a_time: int
) -> None:
    rows = [
        member(f"m{number:02}", ["range"], ["orders", "payments"][: number % 3], group_id=f"group-{group}")
        | {"cluster": ["a", "b", None][group % 3], "join_order": number if group % 2 else None}
        for group in range(12)
        for number in range(1 + group % 5 * 6)
    ]
    # In one group every row is rejected, in another one some are; rows of no group are in no group.
    rows += [member("m", ["range"], ["t"], group_id="rejected") | {"member_id": None}] * 2
    rows += [
        member("", ["range"], ["t"], group_id="group-4") | {"cluster": "b"},
        member("m", ["range"], ["t"], group_id=""),
    ]
    fitted = fit(members(spark, *rows), MEMBERS)
    monkeypatch.setattr(whole_groups, "_BYTES_AT_A_TIME", most_bytes)
    together = by_group(fitted, COLUMNS).toArrow().combine_chunks().to_batches(rows_at_a_time)
    found = contents(nested_groups(together, COLUMNS))
    assert found == nested_by_spark(fitted)
    assert len(found) == 12 + 1
    assert sum(rejected for _, _, rejected, _ in found) == 3


def test_groups_with_equal_hashes_are_kept_apart(spark: SparkSession) -> None:
    rows = [
        member(f"m{number}", ["range"], ["t"], group_id=f"group-{number % 3}", join_order=number) for number in range(9)
    ]
    fitted = fit(members(spark, *rows), MEMBERS)
    [mixed] = by_group(fitted, COLUMNS).orderBy("member_id").toArrow().combine_chunks().to_batches()
    alike = mixed.set_column(0, "_hash", pa.array([7] * len(rows), pa.int64()))
    assert contents(nested_groups([alike], COLUMNS)) == nested_by_spark(fitted)


@settings(deadline=None)
@given(st.lists(st.integers(1, 9), max_size=12), st.lists(st.integers(0, 7), min_size=1), st.integers(1, 200))
def test_rows_with_equal_keys_are_in_one_batch(sizes: list[int], cuts: list[int], most_bytes: int) -> None:
    keys = [key for key, size in enumerate(sizes) for _ in range(size)]
    batches: list[pa.RecordBatch] = []
    start = 0
    while start < len(keys):
        rows = cuts[len(batches) % len(cuts)] if any(cuts) else 1
        batches.append(pa.RecordBatch.from_pydict({"key": pa.array(keys[start : start + rows], pa.int64())}))
        start += rows
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(whole_groups, "_BYTES_AT_A_TIME", most_bytes)
        runs = [rows["key"].to_pylist() for rows in whole_runs(batches, "key")]
    assert [key for run in runs for key in run] == keys
    assert sum(len(set(run)) for run in runs) == len(sizes)
