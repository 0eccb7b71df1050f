"""How long members, leaders and groups took, from records whose times are known."""

from collections.abc import Iterable
from functools import partial

import numpy as np
import pytest
from pyspark.sql import SparkSession

from rebalance_sim import timings
from rebalance_sim.kafka.wire.consumer_protocol import TopicPartition
from rebalance_sim.kafka.wire.offsets_topic import RecordType, decode_key, decode_value
from rebalance_sim.sources.offsets_topic.consumer_epochs import ConsumerGroup, Epoch
from rebalance_sim.sources.offsets_topic.gaps import Gaps, Position
from rebalance_sim.sources.offsets_topic.history import read_history
from rebalance_sim.sources.offsets_topic.reading import Reading
from rebalance_sim.tables import TIMINGS
from tests.sources.offsets_topic.test_history import T0, T1, T2, classic, of
from tests.support.offsets_records import (
    ORDERS,
    Written,
    consumer,
    consumer_epoch,
    current,
    group,
    member,
    target,
    target_epoch,
    tombstone,
    topics_of_consumer_group,
)
from tests.support.rows import given_rows

RECORDS = "key binary, value binary, partition int, offset long, timestamp long"
Record = tuple[Written, int]
"""A record and its timestamp."""
A, B = of("a", T0), of("b", T1)
STATIC, REPLACED = of("a", T0, instance="i"), of("a2", T0, instance="i")


def named(name: str, client_id: str) -> bytes:
    return member(name, ("t",), (T0,), client=(None, client_id))


def cooperative(number: int, at_ms: int, **members: tuple[tuple[TopicPartition, ...], ...]) -> Record:
    """Return a generation whose members are assigned and own partitions."""
    sent = [
        member(name, ("t",), assigned, sent=owned, client=(None, name)) for name, (assigned, owned) in members.items()
    ]
    return group("revoking", sent, protocol="cooperative-sticky", leader="a", at=(number, at_ms)), at_ms + 5


def leading() -> Iterable[Record]:
    of_group = partial(classic, group_id="leading")
    # The first generation may come from the consumer protocol, and an empty one has no leader. A clock was set back
    # before the record of generation 5.
    yield of_group(1, A), 1_900
    yield of_group(2, A, B), 2_007
    yield of_group(3, A), 3_300
    yield of_group(4, A, B), 4_020
    yield of_group(5, A), 4_990
    yield of_group(6), 6_500


def returning(*generations: tuple[int, tuple[bytes, ...]], group_id: str) -> Iterable[Record]:
    """Yield generations at their times."""
    for number, (at_ms, members) in enumerate(generations, 1):
        yield classic(number, *members, at_ms=at_ms, group_id=group_id), at_ms


def of_consumers() -> Iterable[Record]:
    """A second member joins, for which the first one revokes a partition; it leaves, and is back under another id."""
    yield from ((record, 1_000) for record in (consumer("m1", client="app-1"), topics_of_consumer_group()))
    yield from ((record, 1_000) for record in (consumer_epoch(1), target("m1", {ORDERS: [0, 1, 2]}), target_epoch(1)))
    yield current("m1", {ORDERS: [0, 1, 2]}, epoch=1), 1_000
    yield from ((record, 5_000) for record in (consumer("m2", client="app-2"), consumer_epoch(2)))
    yield from ((record, 5_000) for record in (target("m1", {ORDERS: [0, 1]}), target("m2", {ORDERS: [2]})))
    yield from ((record, 5_000) for record in (target_epoch(2), current("m2", {}, epoch=2, state=2)))
    yield current("m1", {ORDERS: [0, 1]}, {ORDERS: [2]}, epoch=1, state=1), 8_000
    yield current("m1", {ORDERS: [0, 1]}, epoch=2), 8_263
    yield current("m2", {ORDERS: [2]}, epoch=2), 10_000
    kinds = (RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, RecordType.CONSUMER_GROUP_MEMBER_METADATA)
    yield from ((tombstone(kind, "new", "m2"), 20_000) for kind in kinds)
    yield consumer_epoch(3), 20_000
    yield from ((record, 20_100) for record in (target("m1", {ORDERS: [0, 1, 2]}), target_epoch(3)))
    yield current("m1", {ORDERS: [0, 1, 2]}, epoch=3), 20_100
    # The member is back, and has not been assigned anything yet.
    yield from ((record, 26_000) for record in (consumer("m3", client="app-2"), consumer_epoch(4), target_epoch(4)))


A1, A2, A3 = (named(f"a{number}", "app-1") for number in range(1, 4))
B1, B2 = (named(f"b{number}", "app-2") for number in range(1, 3))
ROLLING = [(A1, B1), (B1,), (A2, B1), (A2,), (A2, B2)]
"""Followed by the restart of one member, much later."""
HISTORIES: dict[str, list[Record]] = {
    "leading": [*leading()],
    "replaced": [
        (classic(1, STATIC, group_id="replaced"), 1_010),
        (classic(2, STATIC, B, group_id="replaced"), 2_010),
        (classic(2, REPLACED, B, group_id="replaced"), 62_000),
    ],
    "restarted": [
        *returning(
            *((10_000 * number, members) for number, members in enumerate(ROLLING, 1)),
            (1_000_000, (B2,)),
            (1_007_000, (A3, B2)),
            group_id="restarted",
        )
    ],
    "alike": [*returning((1_000, (A, A1, A2)), (2_000, (A, A2)), (3_000, (A, A2, A3)), group_id="alike")],
    "revoking": [
        cooperative(1, 1_000, a=((T0, T1, T2), ())),
        cooperative(2, 2_000, a=((T0, T1), (T0, T1, T2)), b=((), ())),
        cooperative(3, 3_105, a=((T0, T1), (T0, T1)), b=((T2,), ())),
    ],
    "new": [*of_consumers()],
}
"""By group, each in a partition of its own."""
INCOMPLETE = {
    "static": [(classic(1, STATIC, group_id="static"), 1_010), (classic(2, REPLACED, B, group_id="static"), 62_000)],
    "dynamic": [(classic(1, A, group_id="dynamic"), 1_010), (classic(2, A, B, group_id="dynamic"), 2_010)],
}
"""Groups of which a record between these two may be missing."""
Times = dict[str, list[tuple[str | None, str, str, int, int, int, int]]]


@pytest.fixture(scope="module")
def times(spark: SparkSession) -> Times:
    """Return the rows of each group."""
    rows = [
        (*record, partition, step * place, at_ms)
        for partition, (records, step) in enumerate(
            [*((records, 1) for records in HISTORIES.values()), *((records, 2) for records in INCOMPLETE.values())]
        )
        for place, (record, at_ms) in enumerate(records)
    ]
    history = read_history([given_rows(spark, rows, RECORDS)])
    found = history.generation_members.transform(timings(history.generations, history.episodes))
    assert found.schema.names == TIMINGS.names
    by_group: Times = {}
    for row in found.orderBy("group_id", "workload", "timing").collect():
        assert (row.cluster, row.source) == ("default", "records")
        figures = (row["count"], row.min_ms, row.median_ms, row.max_ms)
        by_group.setdefault(row.group_id, []).append((row.workload, row.timing, row.bound, *figures))
    return by_group


def test_leaders_take_from_the_last_join_to_the_record(times: Times) -> None:
    assert [row for row in times["leading"] if row[1] == "assign"] == [(None, "assign", "measured", 3, 7, 20, 300)]


def test_records_that_were_written_again_show_no_time(times: Times) -> None:
    """A static member was replaced 60 s later. Where the first record may be missing, no such record counts."""
    assert times["replaced"] == [(None, "assign", "measured", 1, 10, 10, 10)]
    assert times["dynamic"] == times["replaced"]
    assert "static" not in times


def test_members_that_come_back_were_away_for_at_most_so_long(times: Times) -> None:
    """In a rolling restart, and later alone; for the group, and for the workload that names show."""
    assert [row for row in times["restarted"] if row[1] != "assign"] == [
        (workload, timing, "upper bound", count, ms, ms, ms)
        for workload in (None, "app")
        for timing, count, ms in (("restart", 2, 20_000), ("return", 1, 957_000))
    ]


def test_members_with_one_identity_are_not_told_apart(times: Times) -> None:
    """Of two consumers of one process, the records do not show which one came back."""
    assert {row[1] for row in times["alike"]} == {"assign"}


def test_members_of_consumer_protocol_groups(times: Times) -> None:
    """They revoke for 263 ms. Three epochs converge; a member was away for at most the time between two of them."""
    of_members = [("return", "upper bound", 1, 21_000, 21_000, 21_000), ("revoke", "upper bound", 1, 263, 263, 263)]
    assert times["new"] == [
        (None, "converge", "measured", 3, 0, 100, 5_000),
        *((workload, *figures) for workload in (None, "app") for figures in of_members),
    ]


def test_records_that_may_be_missing_show_no_time() -> None:
    """Every second offset is missing, so that only what one record after the other shows is known."""
    records = [*of_consumers()]
    missing = np.arange(1, 2 * len(records), 2)
    group_of = ConsumerGroup("new", Reading(gaps=Gaps({0: (missing, missing)})))
    epochs = [
        epoch
        for place, ((key, value), at_ms) in enumerate(records)
        if (epoch := _added(group_of, key, value, Position(0, 2 * place, at_ms)))
    ]
    assert [(epoch.number, epoch.converged_ms) for epoch in epochs] == [(1, None), (2, None), (3, None)]
    assert {member.columns["revoked_ms"] for epoch in epochs for member in epoch.members} == {None}


def _added(group_of: ConsumerGroup, key: bytes, value: bytes | None, position: Position) -> Epoch | None:
    name = decode_key(key)
    return group_of.add(name, None if value is None else decode_value(name.type, value), position)


def test_revoking_takes_at_most_until_all_have_rejoined(times: Times) -> None:
    assert times["revoking"] == [
        (None, "assign", "measured", 2, 5, 5, 5), (None, "revoke", "upper bound", 1, 1_100, 1_100, 1_100)
    ]  # fmt: skip
