"""Members that workers read from Parquet files sorted by group, against members that Spark brings together."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.engine.groups import sorted_members
from rebalance_sim.engine.groups.group_batches import GroupBatch, collect_members
from rebalance_sim.engine.groups.sorted_members import SortedMembers
from rebalance_sim.engine.groups.sorted_row_groups import UnsortedMembersError, sorted_row_groups
from rebalance_sim.engine.tables.arrow import arrow_type
from rebalance_sim.engine.tables.inputs import fit, rejected
from rebalance_sim.tables import MEMBERS
from tests.support.rows import given_rows, member

COLUMNS = ("join_order", "member_id", "protocol_type", "subscription", "owned")
UNUSABLE: list[dict[str, Any]] = [
    {"member_id": ""},
    {"member_id": None},
    {"group_id": ""},
    {"protocols": None},
    {"subscription": None},
    {"protocol_type": ""},
]


def written(folder: Path, *files: list[dict[str, Any]], row_group: int = 3) -> Path:
    """Write rows of members to Parquet files with a few rows in each row group."""
    folder.mkdir(parents=True)
    schema = pa.schema(list(arrow_type(MEMBERS.schema)))
    for number, rows in enumerate(files):
        pq.write_table(pa.Table.from_pylist(rows, schema), folder / f"part-{number}.parquet", row_group_size=row_group)
    return folder


def groups(*sizes: int, **more: Any) -> list[dict[str, Any]]:
    """Return the members of groups of these sizes, sorted by group."""
    return [
        member(f"m{number}", ["range"], ["t"], group_id=f"group-{group:03}", join_order=number) | more
        for group, size in enumerate(sizes)
        for number in range(size)
    ]


def contents(batches: Iterator[pa.RecordBatch]) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Return each group's name and members, in the order of the names. Spark sends a missing ``owned`` as empty."""
    found = []
    for rows in batches:
        batch = GroupBatch.of(rows).with_lists_written_out()
        for group, (cluster, name) in enumerate(
            zip(batch.clusters.to_pylist(), batch.group_ids.to_pylist(), strict=True)
        ):
            first, end = batch.offsets[group], batch.offsets[group + 1]
            members = batch.members[first:end].to_pylist()
            found.append((cluster, name, [row | {"owned": row["owned"] or []} for row in members]))
    return sorted(found, key=lambda group: group[:2])


def of_files(rows: DataFrame) -> list[tuple[str, str, list[dict[str, Any]]]]:
    found = SortedMembers.of(rows, COLUMNS)
    assert found is not None
    return [group for number in range(found.pieces) for group in contents(found.batches(number))]


def brought_together(rows: DataFrame) -> list[tuple[str, str, list[dict[str, Any]]]]:
    nested = collect_members(fit(rows, MEMBERS), COLUMNS).toArrow().combine_chunks().to_batches()
    return contents(iter(nested))


def test_row_groups_and_files_may_end_within_a_group(spark: SparkSession, tmp_path: Path) -> None:
    rows = groups(1, 2, 7, 1, 1, 12, 3)
    own = {"owned": [{"topic": "t", "partition": 3}], "protocol_type": "connect"}
    rows[4:6] = [row | own for row in rows[4:6]]
    # The same id in another cluster, in the same row group and in the next one; null is the default cluster.
    rows += [row | {"cluster": cluster} for cluster in ("a", "b", "c") for row in groups(*[0] * 9, 2)]
    rows += [row | {"cluster": None} for row in groups(*[0] * 10, 2)]
    files = rows[:5], rows[5:15], rows[15:16], rows[16:]
    read = spark.read.parquet(str(written(tmp_path / "members", *files)))
    expected = brought_together(read)
    assert len(expected) == 7 + 3 + 1
    assert sorted(of_files(read), key=lambda group: group[:2]) == expected


@pytest.mark.scale
@settings(deadline=None, max_examples=80)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(1, 7), st.integers(1, 9), st.data())
def test_every_group_is_read_once(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], row_group: int, batch: int, data: st.DataObject
) -> None:
    rows = groups(*sizes)
    cut = data.draw(st.integers(0, len(rows)))
    folder = written(tmp_path_factory.mktemp("files") / "members", rows[:cut], rows[cut:], row_group=row_group)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sorted_members, "_ROWS_AT_A_TIME", batch)
        row_groups = sorted_row_groups(map(str, folder.iterdir()), MEMBERS.names)
        assert row_groups is not None
        found = SortedMembers(row_groups, COLUMNS).divided(data.draw(st.integers(1, 12)))
        read = sorted(group[1:] for number in range(found.pieces) for group in contents(found.batches(number)))
    assert [(name, len(of)) for name, of in read] == [(f"group-{i:03}", size) for i, size in enumerate(sizes)]


def test_missing_columns_have_their_defaults(spark: SparkSession, tmp_path: Path) -> None:
    required = ["group_id", "member_id", "protocols", "subscription"]
    given_rows(spark, groups(2, 2), MEMBERS.schema).select(*required).coalesce(1).write.parquet(f"{tmp_path}/m")
    read = spark.read.parquet(f"{tmp_path}/m")
    assert of_files(read) == brought_together(read)


@pytest.mark.parametrize("values", UNUSABLE, ids=str)
def test_rows_that_would_be_rejected_are_noticed(spark: SparkSession, tmp_path: Path, values: dict[str, Any]) -> None:
    rows = groups(2, 2)
    rows[0] |= values
    read = spark.read.parquet(str(written(tmp_path / "members", rows)))
    assert rejected(fit(read, MEMBERS), MEMBERS).count() == 1
    with pytest.raises(UnsortedMembersError):
        of_files(read)


@pytest.mark.parametrize("at_a_time", [1, 2, 100])
def test_rows_that_are_not_sorted_are_noticed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_a_time: int
) -> None:
    rows = groups(3, 3, 3)
    again = rows[:2] + rows[3:6] + rows[2:3] + rows[6:]
    monkeypatch.setattr(sorted_members, "_ROWS_AT_A_TIME", at_a_time)
    with pytest.raises(UnsortedMembersError, match="not sorted"):
        of_files(spark.read.parquet(str(written(tmp_path / "again", again, row_group=100))))
    # The second file begins with the last group of the first one, to which it comes back.
    back = rows[3:6] + rows[6:8] + rows[5:6]
    with pytest.raises(UnsortedMembersError, match="not sorted"):
        of_files(spark.read.parquet(str(written(tmp_path / "back", rows[:5], back[2:], row_group=100))))
    overlapping = written(tmp_path / "overlapping", rows[::2], rows[1::2], row_group=100)
    assert SortedMembers.of(spark.read.parquet(str(overlapping)), COLUMNS) is None


def test_other_tables_are_not_read_from_files(spark: SparkSession, tmp_path: Path) -> None:
    rows = given_rows(spark, groups(2, 2), MEMBERS.schema)
    rows.coalesce(1).write.orc(f"{tmp_path}/orc")
    rows.write.partitionBy("cluster").parquet(f"{tmp_path}/by_cluster")
    rows.withColumn("join_order", rows["join_order"].cast("int")).write.parquet(f"{tmp_path}/other_type")
    found = {
        "orc": spark.read.orc(f"{tmp_path}/orc"),
        "by_cluster": spark.read.parquet(f"{tmp_path}/by_cluster"),
        "other_type": spark.read.parquet(f"{tmp_path}/other_type"),
        "not_read": rows,
    }
    assert {name: SortedMembers.of(of, COLUMNS) for name, of in found.items()} == dict.fromkeys(found)
