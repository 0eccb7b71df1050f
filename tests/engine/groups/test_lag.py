"""The lag of members, and its balance."""

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from rebalance_sim import lag_balance, member_lag, topic_lag
from rebalance_sim.engine.tables.inputs import fit_offsets, rejected
from rebalance_sim.tables import ASSIGNMENTS, LAG_BALANCE, MEMBER_LAG, OFFSETS
from tests.reference.lag import Assignment, Figures, Member, Offset, Offsets, Partition, least_max_lag, matters
from tests.reference.lag import lag_balance as expected_balance
from tests.reference.lag import member_lag as expected_member_lag
from tests.support.layout import shuffled_into
from tests.support.rows import contents, member, members, table

BAD_OFFSETS: dict[str, dict[str, Any]] = {
    "partition is -1; allowed: 0 or more": {"partition": -1},
    "committed is -2; allowed: -1 or more": {"committed": -2},
    "end is -1; allowed: 0 or more": {"end": -1},
    "topic is null or empty": {"topic": ""},
    "partition is null": {"partition": None},
    "partition 'x-0' is given more than once in its group; one row is used": {"end": 100},
}


@dataclass(frozen=True)
class Group:
    members: list[Member]
    offsets: Offsets
    assignments: dict[str, Assignment]
    unlisted: set[str] = field(default_factory=set)
    """Members that are missing from the members table."""

    @property
    def known(self) -> list[Member]:
        return [member for member in self.members if member.member_id not in self.unlisted]


def random_group(rng: random.Random) -> Group:
    """Return a group of up to 4 members and 6 partitions, assigned at random: also twice, or not at all."""
    sizes = {topic: rng.randint(1, 3) for topic in ("x", "y")}
    partitions = [(topic, number) for topic, count in sizes.items() for number in range(count)]
    names = [f"c{i}" for i in range(rng.randint(1, 4))]
    same = rng.random() < 0.4
    joined = [
        Member(
            name,
            ["x", "y", "x"] if same else rng.sample(["x", "y"], rng.randint(0, 2)),
            rng.sample(partitions, rng.randint(0, len(partitions))) if rng.random() < 0.6 else [],
            rng.randint(-1, 2),
        )
        for name in names
    ]
    sloppy = rng.random() < 0.3

    def anyhow() -> Assignment:
        given: dict[str, list[Partition]] = {name: [] for name in names}
        for partition in partitions:
            subscribed = [m.member_id for m in joined if partition[0] in m.subscription]
            receivers = names if sloppy else subscribed
            for name in rng.sample(receivers, min(len(receivers), rng.choice([0, 1, 1, 2]) if sloppy else 1)):
                given[name].append(partition)
        return given

    def offset() -> Offset:
        end = rng.choice([None, 0, 5, 40, 40, 100, 10**12])
        return Offset(rng.choice([None, -1, 0, 5, 5, 30]), end)

    kind = rng.random()
    offsets = {p: offset() if kind < 0.6 else Offset(0, rng.choice([0, 10, 30])) for p in partitions}
    if kind < 0.1:
        offsets = {}
    if rng.random() < 0.3:
        offsets |= {("gone", 0): Offset(3, 10)}
        offsets.pop(partitions[0], None)
    unlisted = {names[-1]} if rng.random() < 0.15 else set()
    return Group(joined, offsets, {"range": anyhow(), "sticky": anyhow()}, unlisted)


@dataclass(frozen=True)
class Fleet:
    groups: dict[str, Group]

    @cached_property
    def member_rows(self) -> list[dict[str, Any]]:
        rows = [
            member(
                each.member_id,
                ["range"],
                list(each.subscription),
                group_id=group_id,
                owned=[{"topic": topic, "partition": number} for topic, number in each.owned] or None,
                generation=None if each.generation == -1 else each.generation,
            )
            for group_id, group in self.groups.items()
            for each in group.known
        ]
        again = [row | {"owned": [{"topic": "x", "partition": 0}], "generation": 9} for row in rows[::7]]
        return rows + again

    @cached_property
    def offset_rows(self) -> list[dict[str, Any]]:
        return [
            {"group_id": group_id, "topic": topic, "partition": number, **asdict(offset)}
            for group_id, group in self.groups.items()
            for (topic, number), offset in group.offsets.items()
        ]

    @cached_property
    def assignment_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "group_id": group_id,
                "strategy": strategy,
                "member_id": member_id,
                "partitions": [{"topic": topic, "partition": number} for topic, number in has],
            }
            for group_id, group in self.groups.items()
            for strategy, assignment in group.assignments.items()
            for member_id, has in assignment.items()
        ]


def by_hand() -> dict[str, Group]:
    """Return groups with separate topics, with lag that cannot be balanced, and with sums that overflow."""
    own = [Member("a", ["x"], [("x", 0)]), Member("b", ["y"], [("y", 0)])]
    both = [Member("a", ["x"]), Member("b", ["x"]), Member("c", ["y"])]
    ends = {("x", 0): Offset(0, 100), ("x", 1): Offset(10, 20), ("y", 0): Offset(0, 0)}
    absurd = {("x", 0): Offset(0, 2**63 - 1), ("x", 1): Offset(0, 2**63 - 1)}
    # Letters of which the first comes first by UTF-8 bytes, and last by UTF-16 code units.
    late, later = "\ufffd", "\U0001f600"
    tied = {(later, 0): Offset(0, 9), (late, 0): Offset(0, 9), ("x", 0): Offset(0, 18)}
    namesakes = [Member(later, [late, later, "x"]), Member(late, ["x"]), Member("z", ["x"])]
    three = {("x", number): Offset(0, 10) for number in range(3)}
    return {
        "own topics": Group(own, ends, {"range": {"a": [("x", 0), ("x", 1)], "b": [("y", 0)]}}),
        "one too many": Group(both, three, {"range": {"a": [("x", 0), ("x", 1)], "b": [("x", 2)], "c": []}}),
        "worst": Group(both, three, {"range": {"a": list(three), "b": [], "c": []}}),
        "tied": Group(namesakes, tied, {"range": {later: [("x", 0)], "z": [], late: [(later, 0), (late, 0)]}}),
        "absurd": Group(
            [Member("a", ["x"], [("x", 0)]), *both[1:]], absurd, {"range": {"a": list(absurd), "b": [], "c": []}}
        ),
    }


class Found(NamedTuple):
    fleet: Fleet
    assignments: DataFrame
    offsets: DataFrame
    members: DataFrame
    balances: dict[tuple[str, str], Row]
    member_lags: dict[tuple[str, str, str], Row]


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> Found:
    rng = random.Random(4)
    fleet = Fleet({f"g{i}": random_group(rng) for i in range(60)} | by_hand())
    good: dict[str, Any] = {"group_id": "bad", "topic": "x", "partition": 0, "committed": 0, "end": 0}
    nobody = {"group_id": "nobody", "topic": "x", "partition": 0, "committed": 0, "end": 7}
    bad = [good | broken for broken in BAD_OFFSETS.values()]
    offsets = table(spark, OFFSETS, [*fleet.offset_rows, nobody, good, *bad])
    assignments = table(spark, ASSIGNMENTS, fleet.assignment_rows)
    joined = members(spark, *fleet.member_rows)
    balances = assignments.transform(lag_balance(offsets, joined))
    lags = assignments.transform(member_lag(offsets))
    for rows, of in ((balances, LAG_BALANCE), (lags, MEMBER_LAG)):
        assert [(column.name, column.type.simpleString()) for column in of.columns] == rows.dtypes
    return Found(
        fleet,
        assignments,
        offsets,
        joined,
        {(row["group_id"], row["strategy"]): row for row in balances.collect()},
        {(row["group_id"], row["strategy"], row["member_id"]): row for row in lags.collect()},
    )


def each_assignment(fleet: Fleet) -> list[tuple[str, str, Group, Assignment]]:
    """Return all assignments but the one whose sums overflow."""
    return [
        (group_id, strategy, group, assignment)
        for group_id, group in fleet.groups.items()
        for strategy, assignment in group.assignments.items()
        if group_id != "absurd"
    ]


def expect(rows: Mapping[Any, Row], expected: Mapping[Any, Figures]) -> None:
    """Compare rows by group, strategy and member with the figures that are expected of them."""
    compared = {key: row for key, row in rows.items() if key[0] != "absurd"}
    assert compared.keys() == expected.keys()
    for key, figures in expected.items():
        assert {name: compared[key][name] for name in figures} == figures, key


def test_member_lag_equals_the_reference(found: Found) -> None:
    expected = {
        (group_id, strategy, member_id): expected_member_lag(group.offsets, has)
        for group_id, strategy, group, assignment in each_assignment(found.fleet)
        for member_id, has in assignment.items()
        if matters(group.offsets, assignment)
    }
    expect(found.member_lags, expected)


def test_lag_balance_equals_the_reference(found: Found) -> None:
    expected = {
        (group_id, strategy): expected_balance(group.known, group.offsets, assignment)
        for group_id, strategy, group, assignment in each_assignment(found.fleet)
        if matters(group.offsets, assignment)
    }
    expect(found.balances, expected)
    assert len(expected) < 2 * len(found.fleet.groups)
    for name in ("excess_lag", "moved_lag", "unassigned_lag", "negative_partitions", "unknown_partitions"):
        assert any(figures[name] for figures in expected.values()), name
    assert any(figures["lag"] is None for figures in expected.values())


def test_no_assignment_is_below_the_bound(found: Found) -> None:
    """Most of the best assignments reach it."""
    reached, tried = 0, 0
    for group_id, strategy, group, assignment in each_assignment(found.fleet):
        if (group_id, strategy) in found.balances and found.balances[group_id, strategy]["max_lag"]:
            bound = found.balances[group_id, strategy]["max_lag_bound"]
            best = least_max_lag(group.known, group.offsets, assignment)
            assert 0 < bound <= best <= found.balances[group_id, strategy]["max_lag"]
            reached, tried = reached + (bound == best), tried + 1
    assert tried > 40
    assert reached > tried * 0.8


def test_balances_calculated_by_hand(found: Found) -> None:
    row = found.balances["own topics", "range"]
    assert (row["lag"], row["max_lag"], row["mean_lag"], row["p99_lag"], row["imbalance"]) == (110, 110, 55.0, 110, 2.0)
    assert (row["max_lag_bound"], row["excess_lag"], row["owned_max_lag"]) == (110, 0, 100)
    row = found.balances["one too many", "range"]
    assert (row["max_lag"], row["max_lag_bound"], row["excess_lag"]) == (20, 20, 0)
    row = found.balances["worst", "range"]
    assert (row["max_lag"], row["max_lag_bound"], row["excess_lag"], row["moved_lag"]) == (30, 20, 10, None)


def test_overflowing_sums_are_unknown(found: Found) -> None:
    """So is that of partitions of which each member owned few enough before."""
    row = found.balances["absurd", "range"]
    assert (row["lag"], row["lag_partitions"], row["unknown_partitions"]) == (None, 2, 0)
    assert row["owned_max_lag"] == 2**63 - 1
    assert {found.member_lags["absurd", "range", member_id]["share"] for member_id in "abc"} == {None}


@pytest.mark.parametrize(
    ("subscriptions", "owned", "expected"),
    [
        ([["x", "y"], ["x"], ["x", "x"]], [[], []], (16, None)),
        ([["y"], ["x", "y"]], [[("y", 0)], [("y", 0), ("y", 1)]], (8, 16)),
        ([["x"], ["x"]], [[("y", 0)], [("y", 0), ("y", 1)]], (16, 8)),
        ([["x"], ["x"]], [[("y", 0)], None], (16, None)),
    ],
)
def test_of_repeated_members_the_first_by_content_is_used(
    spark: SparkSession,
    subscriptions: list[list[str]],
    owned: list[list[Partition] | None],
    expected: tuple[int, int | None],
) -> None:
    """A list that ends comes before one that goes on, and null before all lists."""
    claimed = [
        None if has is None else [{"topic": topic, "partition": number} for topic, number in has] for has in owned
    ]
    repeated = [
        member("a", ["range"], topics, owned=has, join_order=None)
        for topics, has in zip(subscriptions, [*claimed, *claimed], strict=False)
    ]
    given = [{"topic": "y", "partition": number} for number in (0, 1)]
    lags = [partition | {"group_id": "g", "committed": 0, "end": 8} for partition in given]
    holders = {"a": [], "b": given}
    assigned = [
        {"group_id": "g", "strategy": "range", "member_id": name, "partitions": has} for name, has in holders.items()
    ]
    joined = members(spark, *repeated, member("b", ["range"], ["y"]))
    balances = table(spark, ASSIGNMENTS, assigned).transform(lag_balance(table(spark, OFFSETS, lags), joined))
    assert [(row["max_lag_bound"], row["owned_max_lag"]) for row in balances.collect()] == [expected]


def test_ranks_follow_excess_lag(found: Found) -> None:
    for strategy in ("range", "sticky"):
        rows = sorted((row for key, row in found.balances.items() if key[1] == strategy), key=lambda row: row["rank"])
        assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
        known = [row["excess_lag"] for row in rows if row["excess_lag"] is not None]
        assert known == sorted(known, reverse=True)
        assert [row["excess_lag"] for row in rows[: len(known)]] == known


def test_bad_offsets_are_rejected_with_a_reason(found: Found) -> None:
    reasons = [row["reason"] for row in rejected(fit_offsets(found.offsets), OFFSETS).collect()]
    assert sorted(reasons) == sorted(BAD_OFFSETS)


def test_partitioning_and_row_order_change_nothing(spark: SparkSession, found: Found) -> None:
    given = [rows.orderBy(F.rand(3)).repartition(3) for rows in (found.assignments, found.offsets, found.members)]
    assignments, offsets, joined = given
    with shuffled_into(spark, 5):
        actual = contents(assignments.transform(lag_balance(offsets, joined)))
    assert actual == sorted(str(row.asDict(recursive=True)) for row in found.balances.values())


def test_lag_of_topics_needs_no_assignment(spark: SparkSession) -> None:
    rows: list[dict[str, Any]] = [
        *(
            {"group_id": "g", "topic": "x", "partition": n, "committed": 10, "end": end, "committed_at_ms": n}
            for n, end in enumerate((10, 17, 17))
        ),
        {"group_id": "g", "topic": "x", "partition": 3, "committed": None, "end": 99},
        {"group_id": "g", "topic": "x", "partition": 4, "committed": 20, "end": 12},
        {"group_id": "g", "topic": "unknown", "partition": 0, "committed": 5},
        *(
            {"group_id": "g", "topic": "above", "partition": n, "committed": 800, "end": end}
            for n, end in enumerate((799, 100, 100))
        ),
        {"group_id": "g", "topic": "read", "partition": 0, "committed": 5, "end": 5},
        {"group_id": "done", "topic": "x", "partition": 0, "committed": 5, "end": 5},
    ]
    found = table(spark, OFFSETS, rows).transform(topic_lag).orderBy("topic").collect()
    assert [tuple(row)[1:] for row in found] == [
        ("g", "above", 3, 0, 0, 0, 0, None, None, 3, 700, 1),
        ("g", "unknown", 1, 0, 1, None, None, None, None, 0, None, None),
        ("g", "x", 5, 2, 1, 14, 7, 1, 1, 1, 8, 4),
    ]
