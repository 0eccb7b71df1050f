"""Synthetic fleets: the same rows whatever Spark does, the shapes that the file asks for, and what is refused."""

import base64
import copy
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pytest
import yaml
from msgspec.structs import replace
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from rebalance_sim import tables
from rebalance_sim.engine.tables.inputs import fit, rejected, union
from rebalance_sim.errors import UserError
from rebalance_sim.sources.synthetic import fleet_spec
from rebalance_sim.sources.synthetic.fleet import Draws, SyntheticFleet, synthetic_fleet
from rebalance_sim.sources.synthetic.fleet_spec import (
    ClusterSpec,
    Distribution,
    FleetSpec,
    GiantSpec,
    Lognormal,
    MemberSpec,
    PreviousSpec,
    ProtocolLists,
    RackSpec,
    SubscriptionSpec,
    TopicSpec,
    Varying,
    Zipf,
    load,
)
from rebalance_sim.tables import MEMBERS, TOPICS

FLEETS = Path(__file__).parents[3] / "conf" / "fleets"
SMALL = replace(load(FLEETS / "small.yaml"), giants=(GiantSpec(9, 2, 5),))
PLAIN = FleetSpec(
    topics=TopicSpec(4, per_cluster=50),
    subscriptions=SubscriptionSpec(1),
    members=MemberSpec(1),
    protocols=(ProtocolLists(1.0, (("range",),)),),
)
BEFORE, AFTER = ("range",), ("cooperative-sticky", "range")
MIXED = (("sticky", "range"), ("range", "sticky"))
VARIED = FleetSpec(
    topics=TopicSpec(Varying(choice={1: 1.0, 4: 2.0, 9: 1.0}), per_cluster=200, without_partitions=0.2),
    subscriptions=SubscriptionSpec(Varying(uniform=(1, 4)), differing=0.4, missing=0.3),
    members=MemberSpec(Varying(uniform=(1, 6)), static=0.4, per_host=2),
    protocols=(
        ProtocolLists(2.0, (("roundrobin",),)),
        ProtocolLists(1.0, MIXED),
        ProtocolLists(1.0, (BEFORE, AFTER), upgrading=True),
    ),
    racks=RackSpec(("a", "b", "c"), groups=0.3, topics=0.5, replicas=2),
    previous=PreviousSpec(0.7, Varying(uniform=(3, 9))),
)


@dataclass(frozen=True)
class Collected:
    """A fleet's rows."""

    topics: list[Row]
    groups: dict[str, list[Row]]

    @classmethod
    def of(cls, fleet: SyntheticFleet) -> "Collected":
        groups = defaultdict(list)
        for member in sorted(fleet.members.collect(), key=lambda member: int(member.join_order)):
            groups[member.group_id].append(member)
        return cls(fleet.topics.collect(), dict(groups))

    @property
    def lines(self) -> set[str]:
        members = [member for members in self.groups.values() for member in members]
        lines = [str(row) for row in self.topics + members]
        assert len(set(lines)) == len(lines)
        return set(lines)

    @cached_property
    def partitions(self) -> dict[tuple[str, str], int]:
        return {(topic.cluster, topic.topic): topic.partitions for topic in self.topics}


@pytest.fixture(scope="module")
def small(spark: SparkSession) -> SyntheticFleet:
    return synthetic_fleet(spark, SMALL, groups=60, seed=1)


@pytest.fixture(scope="module")
def small_rows(small: SyntheticFleet) -> Collected:
    return Collected.of(small)


@pytest.fixture(scope="module")
def varied(spark: SparkSession) -> Collected:
    return Collected.of(synthetic_fleet(spark, VARIED, groups=600, seed=1))


def share(flags: Iterable[bool]) -> float:
    return fmean(flags)


# What a fleet depends on


@pytest.mark.scale
@pytest.mark.parametrize("tasks", [7, 50])
def test_same_rows_however_spark_parts_the_work(
    spark: SparkSession, small: SyntheticFleet, small_rows: Collected, tasks: int
) -> None:
    again = synthetic_fleet(spark, SMALL, groups=60, seed=1, tasks=tasks)
    for fleet, of_each in ((small, 1), (again, tasks)):
        assert fleet.members.rdd.getNumPartitions() == 2 * of_each, "those of the groups and those of the giant"
    assert Collected.of(again).lines == small_rows.lines


@pytest.mark.scale
def test_more_groups_leave_the_first_as_they_were(spark: SparkSession, small_rows: Collected) -> None:
    few = Collected.of(synthetic_fleet(spark, SMALL, groups=25, seed=1))
    assert few.lines < small_rows.lines
    assert (len(few.groups), len(small_rows.groups)) == (26, 61)


@pytest.mark.scale
def test_another_seed_gives_another_fleet(spark: SparkSession, small_rows: Collected) -> None:
    other = Collected.of(synthetic_fleet(spark, replace(SMALL, giants=()), groups=60, seed=-(2**63)))
    assert not other.lines & small_rows.lines


def test_rows_of_the_first_release_stay(small_rows: Collected) -> None:
    """A change of the draws changes every synthetic fleet: it must not happen by accident."""
    assert small_rows.groups["group-2"][0].member_id == "group-2-0-75175dfc-bdc7-4d6e-ab2f-9f934bab1fc1"
    assert small_rows.groups["group-2"][0].host == "/10.249.119.216"
    [topic] = [topic for topic in small_rows.topics if (topic.cluster, topic.topic) == ("cluster-0", "topic-0")]
    assert (topic.topic_id, topic.partitions) == ("CSBWfwyjRJCJP2WiYVebJg", 6)


# What the rows look like


def test_columns_are_those_of_the_tables(small: SyntheticFleet) -> None:
    for made, table in ((small.topics, TOPICS), (small.members, MEMBERS)):
        columns = [(field.name, field.dataType) for field in made.schema]
        assert columns == [(column.name, column.type) for column in table.columns]


def test_rows_are_valid_input(small: SyntheticFleet, small_rows: Collected) -> None:
    fitted = [rejected(fit(small.topics, TOPICS), TOPICS), rejected(fit(small.members, MEMBERS), MEMBERS)]
    assert union(fitted).collect() == []
    assert len(small_rows.partitions) == len(small_rows.topics)
    for members in small_rows.groups.values():
        assert len({member.member_id for member in members}) == len(members)
        assert [member.join_order for member in members] == list(range(len(members)))
        assert all(member.protocols and member.subscription for member in members)


def test_ids_have_the_form_that_kafka_gives_them(small_rows: Collected) -> None:
    uuid = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    members = [member for members in small_rows.groups.values() for member in members]
    for member in members:
        assert re.fullmatch(f"{member.instance_id or member.client_id}-{uuid}", member.member_id)
        assert re.fullmatch(f"consumer-{member.group_id}-[12]", member.client_id)
        assert re.fullmatch(r"/10(\.\d{1,3}){3}", member.host)
        assert member.protocol_type == "consumer"
    assert len({member.member_id for member in members}) == len(members)
    ids = [topic.topic_id for topic in small_rows.topics]
    assert len(set(ids)) == len(ids)
    assert all(len(base64.urlsafe_b64decode(f"{topic_id}==")) == 16 for topic_id in ids)


# What is drawn


@pytest.mark.scale
def test_distributions(spark: SparkSession) -> None:
    expected: list[tuple[Distribution[int], dict[int, float]]] = [
        (7, {7: 1.0}),
        (Varying(choice={3: 1.0}), {3: 1.0}),
        (Varying(choice={3: 1.0, 5: 2.0, 9: 1.0}), {3: 0.25, 5: 0.5, 9: 0.25}),
        (Varying(uniform=(2, 5)), dict.fromkeys(range(2, 6), 0.25)),
        (Varying(zipf=Zipf(0.0, 4)), dict.fromkeys(range(1, 5), 0.25)),
        (Varying(zipf=Zipf(1.0, 3)), {1: 0.5, 2: 0.292, 3: 0.208}),
        (Varying(zipf=Zipf(2.0, 2)), {1: 0.75, 2: 0.25}),
        (Varying(lognormal=Lognormal(4.0, 0.0, 10)), {4: 1.0}),
        # ln(2.5 / 2) and so on, halfway between the whole numbers, in the normal distribution function.
        (Varying(lognormal=Lognormal(2.0, 1.0, 4)), {1: 0.387, 2: 0.202, 3: 0.123, 4: 0.288}),
    ]
    draws = Draws(3)
    drawn = [draws.number(distribution, repr(distribution), F.col("id")) for distribution, _ in expected]
    rows = spark.range(10_000).select(*drawn).collect()
    for index, (distribution, wanted) in enumerate(expected):
        shares = {value: count / len(rows) for value, count in Counter(row[index] for row in rows).items()}
        assert shares == pytest.approx(wanted, abs=0.02), distribution


def test_draws_at_the_ends_of_a_long_tail_stay_in_range(spark: SparkSession) -> None:
    draws, row = Draws(1), F.col("id")
    widest: list[Distribution[int]] = [
        Varying(zipf=Zipf(10.0, 10_000_000)),
        Varying(zipf=Zipf(1.0001, 10_000_000)),
        Varying(lognormal=Lognormal(1.0, 10.0, 2**31 - 1)),
    ]
    drawn = [draws.number(distribution, str(n), row).alias(f"d{n}") for n, distribution in enumerate(widest)]
    rows = spark.range(20_000).select(*drawn)
    bounds = rows.agg(*[bound(f"d{n}") for n in range(3) for bound in (F.min, F.max)]).collect()[0]
    assert all(bounds[2 * n] == 1 for n in range(3))
    assert 1 < bounds[1] < 10
    assert 10**6 < bounds[3] <= 10**7
    assert bounds[5] == 2**31 - 1


@pytest.mark.scale
def test_clusters_take_groups_and_topics_by_their_share(spark: SparkSession) -> None:
    spec = replace(PLAIN, clusters=ClusterSpec(3, 1.0), topics=TopicSpec(1, per_group=3.0))
    fleet = synthetic_fleet(spark, spec, 4000, seed=1)
    expected = {"cluster-0": 0.5, "cluster-1": 0.292, "cluster-2": 0.208}
    for table, in_all in ((fleet.members, 4000), (fleet.topics, 12_000)):
        counted = table.groupBy("cluster").count().collect()
        assert {row.cluster: row["count"] / in_all for row in counted} == pytest.approx(expected, abs=0.03)
    assert fleet.topics.distinct().count() == fleet.topics.count(), "blocks of topics do not overlap"


def test_subscriptions_are_distinct_and_popular_topics_come_first(spark: SparkSession) -> None:
    spec = replace(PLAIN, subscriptions=SubscriptionSpec(Varying(choice={2: 1.0, 7: 1.0, 99: 1.0}), popularity=1.0))
    fleet = Collected.of(synthetic_fleet(spark, spec, 600, seed=1))
    existing = {topic for _, topic in fleet.partitions}
    subscriptions = [members[0].subscription for members in fleet.groups.values()]
    assert {len(subscription) for subscription in subscriptions} == {2, 7, 50}, "no more than there are"
    assert all(len(set(subscription)) == len(subscription) for subscription in subscriptions)
    assert {topic for subscription in subscriptions for topic in subscription} == existing
    chosen = Counter(topic for subscription in subscriptions if len(subscription) == 2 for topic in subscription)
    first, last = (fmean(chosen[f"topic-{n}"] for n in part) for part in (range(10), range(40, 50)))
    assert first > 5 * last


def test_differing_subscriptions(varied: Collected) -> None:
    existing = {topic for _, topic in varied.partitions}
    able, differing = 0, 0
    for members in varied.groups.values():
        subscriptions = [set(member.subscription) & existing for member in members]
        assert all(subscriptions)
        able += len(members) > 1
        differing += len({frozenset(subscription) for subscription in subscriptions}) > 1
    assert differing / able == pytest.approx(0.4, abs=0.06)


def test_subscriptions_to_a_missing_topic(varied: Collected) -> None:
    existing = {topic for _, topic in varied.partitions}
    missing = [len(set(members[0].subscription) - existing) for members in varied.groups.values()]
    assert set(missing) == {0, 1}
    assert fmean(missing) == pytest.approx(0.3, abs=0.06)


def test_protocol_lists(varied: Collected) -> None:
    kinds = Counter[str]()
    offered_in_mixed = Counter[tuple[str, ...]]()
    for members in varied.groups.values():
        lists = [tuple(member.protocols) for member in members]
        if lists[0] == ("roundrobin",):
            kinds["same"] += 1
            assert set(lists) == {("roundrobin",)}
        elif lists[0] in MIXED:
            kinds["mixed"] += 1
            offered_in_mixed.update(lists)
        else:
            kinds["upgrading"] += 1
            old = lists.count(BEFORE)
            assert lists == [BEFORE] * old + [AFTER] * (len(lists) - old)
            assert 1 <= old < len(lists) or lists == [AFTER]
    shares = {kind: count / 600 for kind, count in kinds.items()}
    assert shares == pytest.approx({"same": 0.5, "mixed": 0.25, "upgrading": 0.25}, abs=0.06)
    assert set(offered_in_mixed) == set(MIXED)
    assert offered_in_mixed[MIXED[0]] == pytest.approx(offered_in_mixed[MIXED[1]], rel=0.25)


def test_static_members_and_processes(varied: Collected) -> None:
    static = [all(member.instance_id for member in members) for members in varied.groups.values()]
    assert share(static) == pytest.approx(0.4, abs=0.06)
    for group_id, members in varied.groups.items():
        size = len(members)
        assert [member.instance_id for member in members] in ([f"{group_id}-{n}" for n in range(size)], [None] * size)
        assert [member.client_id[-2:] for member in members] == (["-1", "-2"] * 3)[:size]
        assert len({member.host for member in members}) == (size + 1) // 2


def test_racks(varied: Collected) -> None:
    groups = [{member.rack for member in members} for members in varied.groups.values()]
    assert share(None not in racks for racks in groups) == pytest.approx(0.3, abs=0.06)
    assert all(racks <= {"a", "b", "c"} or racks == {None} for racks in groups)
    known = [topic for topic in varied.topics if topic.racks is not None]
    assert len(known) / 200 == pytest.approx(0.5, abs=0.1)
    around = [["a", "b"], ["b", "c"], ["c", "a"]]
    for topic in known:
        start = around.index(topic.racks[0]) if topic.racks else 0
        assert topic.racks == [around[(start + partition) % 3] for partition in range(topic.partitions)]


def test_topics_without_partitions(varied: Collected) -> None:
    shares = Counter(topic.partitions for topic in varied.topics)
    assert {count: n / 200 for count, n in shares.items()} == pytest.approx({0: 0.2, 1: 0.2, 4: 0.4, 9: 0.2}, abs=0.1)


# What the members owned


def ranges(partitions: int, members: int) -> list[list[int]]:
    """Kafka's range assignment of one topic."""
    length, longer = divmod(partitions, members)
    ends = [(n + 1) * length + min(n + 1, longer) for n in range(members)]
    return [list(range(start, end)) for start, end in zip([0, *ends], ends, strict=False)]


def check_owned(fleet: Collected, members: list[Row]) -> bool:
    """Check that a group owned ranges of one member more or fewer; return whether it owned anything."""
    taken = [(owned.topic, owned.partition) for member in members for owned in member.owned or []]
    assert len(set(taken)) == len(taken)
    assert all((member.owned is None) == (member.generation is None) for member in members)
    known = [member for member in members if member.generation is not None]
    if not known:
        return False
    assert len({member.generation for member in known}) == 1
    joined = len(members) - len(known)
    assert members[: len(known)] == known
    assert joined in (0, 1)
    before = len(known) if joined else len(members) + 1
    gaps = [None] if joined else range(before)

    def owned_with(gap: int | None) -> list[list[tuple[str, int]]]:
        slots = [slot for slot in range(before) if slot != gap]
        return [
            [
                (topic, partition)
                for topic in member.subscription
                for partition in ranges(fleet.partitions.get((member.cluster, topic), 0), before)[slot]
            ]
            for member, slot in zip(known, slots, strict=True)
        ]

    owned = [[(owned.topic, owned.partition) for owned in member.owned] for member in known]
    assert owned in map(owned_with, gaps)
    return True


def test_owned_partitions(varied: Collected) -> None:
    owning = [members for members in varied.groups.values() if check_owned(varied, members)]
    assert len(owning) / 600 == pytest.approx(0.7, abs=0.06)
    assert {members[0].generation for members in owning} == set(range(3, 10))
    joined = [members[-1].generation is None for members in owning if len(members) > 1]
    assert share(joined) == pytest.approx(0.5, abs=0.08)


def test_what_is_not_asked_for_is_null(spark: SparkSession) -> None:
    fleet = Collected.of(synthetic_fleet(spark, PLAIN, 5, seed=1))
    assert all(
        (member.owned, member.generation, member.rack, member.instance_id) == (None,) * 4
        for [member] in fleet.groups.values()
    )
    assert all((topic.racks, topic.unavailable) == (None, None) for topic in fleet.topics)


# Giants


@pytest.mark.scale
def test_giants(spark: SparkSession) -> None:
    spec = replace(PLAIN, giants=(GiantSpec(2500, 3, 8), GiantSpec(40, 2, 6)), previous=PreviousSpec(1.0))
    made = synthetic_fleet(spark, spec, 0, seed=1)
    fleet = Collected.of(made)
    assert len(fleet.groups) == 2
    for index, giant in enumerate(spec.giants):
        members = fleet.groups[f"giant-{index}"]
        topics = [f"giant-{index}-topic-{n}" for n in range(giant.topics)]
        assert len(members) == len({member.member_id for member in members}) == giant.members
        assert all(member.subscription == topics for member in members)
        assert [fleet.partitions["cluster-0", topic] for topic in topics] == [giant.partitions] * giant.topics
    assert check_owned(fleet, fleet.groups["giant-1"])
    tasks = made.members.where("group_id = 'giant-0'").select(F.spark_partition_id()).distinct().count()
    assert tasks == 3, "more than one task makes a giant"


# The files


def test_default_file(spark: SparkSession) -> None:
    members = synthetic_fleet(spark, load(FLEETS / "default.yaml"), 3000, seed=1).members
    sizes = [row["count"] for row in members.groupBy("group_id").count().collect()]
    assert len(sizes) == 3000
    assert median(sizes) == 3
    assert fmean(sizes) == pytest.approx(5, abs=0.5)
    assert max(sizes) > 40


def test_election_file() -> None:
    spec = load(FLEETS / "benchmark-election.yaml")
    assert spec.members.count == 10
    [protocols] = spec.protocols
    assert sorted(protocols.lists) == sorted(permutations(["range", "roundrobin", "sticky"]))


def test_assignment_file() -> None:
    spec = load(FLEETS / "benchmark-assignment.yaml")
    assert (spec.members.count, spec.subscriptions) == (5, SubscriptionSpec(1))
    assert (spec.clusters, spec.topics) == (ClusterSpec(), TopicSpec(24, per_cluster=10_000))


@pytest.mark.scale
def test_giant_file(spark: SparkSession) -> None:
    fleet = synthetic_fleet(spark, load(FLEETS / "giant.yaml"), 300, seed=1)
    kinds = fleet.members.groupBy(F.col("group_id").startswith("giant").alias("giant"), F.size("subscription"))
    assert sorted(kinds.count().collect()) == [(False, 1, 1500), (True, 100, 10_000)]
    assert sorted(fleet.topics.groupBy("partitions").count().collect()) == [(24, 10_000), (1000, 100)]


def test_limits_are_those_of_the_tables() -> None:
    assert fleet_spec.MAX_PARTITIONS == tables.MAX_PARTITIONS


SETTINGS: dict[str, Any] = {
    "topics": {"per_group": 0.5, "partitions": 3},
    "subscriptions": {"topics": 1},
    "members": {"count": 5},
    "protocols": [{"weight": 1, "lists": [["range"]]}],
}


def loaded(directory: Path, changes: Mapping[str, Any]) -> FleetSpec:
    """Load the settings with some keys, given by their path, set to something else; None takes them away."""
    settings = copy.deepcopy(SETTINGS)
    for key, value in changes.items():
        *parents, last = key.split(".")
        section = settings
        for parent in parents:
            section = section.setdefault(parent, {})
        if value is None:
            del section[last]
        else:
            section[last] = value
    path = directory / "fleet.yaml"
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return load(path)


def test_defaults(tmp_path: Path) -> None:
    assert loaded(tmp_path, {}) == FleetSpec(
        topics=TopicSpec(3, per_group=0.5),
        subscriptions=SubscriptionSpec(1),
        members=MemberSpec(5),
        protocols=(ProtocolLists(1.0, (("range",),)),),
    )


def test_every_form(tmp_path: Path) -> None:
    spec = loaded(
        tmp_path,
        {
            "members.count": {"choice": {1: 2, 4: 0.5}},
            "members.per_host": {"uniform": [1, 3]},
            "members.session_timeout_ms": {"lognormal": {"median": 3, "sigma": 1.5, "max": 9}},
            "members.rebalance_timeout_ms": {"zipf": {"exponent": 1, "max": 9}},
            "giants": [],
        },
    )
    assert spec.members == MemberSpec(
        Varying(choice={1: 2.0, 4: 0.5}),
        per_host=Varying(uniform=(1, 3)),
        session_timeout_ms=Varying(lognormal=Lognormal(3.0, 1.5, 9)),
        rebalance_timeout_ms=Varying(zipf=Zipf(1.0, 9)),
    )
    assert spec.giants == ()


FORMS = "choice, uniform, lognormal, zipf"
COUNT = f": expected a whole number from 1 to 1000000 or a mapping with the keys {FORMS}, got "


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("topics", None, ": is missing"),
        ("members.count", None, ": is missing"),
        ("memebrs", {}, ": unknown key; did you mean 'members'? allowed: topics, subscriptions, members, "),
        ("members.statik", 0.1, ": unknown key; did you mean 'static'? allowed: count, static, "),
        ("members.zzz", 1, ": unknown key; allowed: count, static, per_host, "),
        ("members.5", 1, ": unknown key; allowed: count, "),
        ("members", 5, ": expected a mapping with the keys count, static, "),
        ("members.static", 1.5, ": expected a number from 0 to 1, got 1.5"),
        ("members.static", float("nan"), ": expected a number from 0 to 1, got nan"),
        ("members.static", True, ": expected a number from 0 to 1, got True"),
        ("members.count", "ten", f"{COUNT}'ten'"),
        ("members.count", 0, f"{COUNT}0"),
        ("members.count", 2.5, f"{COUNT}2.5"),
        ("members.count", [1], f"{COUNT}[1]"),
        ("members.count", {}, f": expected one of {FORMS}, got none"),
        ("members.count", {"choise": {1: 1}}, ".choise: unknown key; did you mean 'choice'? "),
        (
            "members.count",
            {"uniform": [1, 2], "zipf": {"exponent": 1, "max": 3}},
            f": expected one of {FORMS}, got uniform, zipf",
        ),
        ("members.count", {"choice": {}}, ".choice: expected a mapping of numbers to weights, got {}"),
        ("members.count", {"choice": [1, 2]}, ".choice: expected a mapping of numbers to weights, got [1, 2]"),
        ("members.count", {"choice": {1: 0}}, ".choice.1: expected a number above 0, at most 1e+12, got 0"),
        ("members.count", {"choice": {1: -2}}, ".choice.1: expected a number above 0, at most 1e+12, got -2"),
        ("members.count", {"choice": {1: "a"}}, ".choice.1: expected a number above 0, at most 1e+12, got 'a'"),
        ("members.count", {"choice": {"a": 1}}, ".choice: expected a whole number from 1 to 1000000, got 'a'"),
        ("members.count", {"uniform": [3]}, ".uniform: expected two numbers, the lower one first, got [3]"),
        ("members.count", {"uniform": [3, 2]}, ": expected two numbers in uniform, the lower one first, got [3, 2]"),
        ("members.count", {"uniform": 3}, ".uniform: expected two numbers, the lower one first, got 3"),
        ("members.count", {"uniform": [0, 2]}, ".uniform[0]: expected a whole number from 1 to 1000000, got 0"),
        ("members.count", {"lognormal": {"median": 3, "max": 9}}, ".lognormal.sigma: is missing"),
        (
            "members.count",
            {"lognormal": {"median": 30, "sigma": 1, "max": 9}},
            ".lognormal: median is 30; allowed: at most max, 9",
        ),
        (
            "members.count",
            {"zipf": {"exponent": -1, "max": 9}},
            ".zipf.exponent: expected a number from 0 to 10, got -1",
        ),
        (
            "members.count",
            {"zipf": {"exponent": 1, "max": 9, "min": 2}},
            ".zipf.min: unknown key; allowed: exponent, max",
        ),
        ("topics", {"partitions": 3}, ": expected either per_group above 0 or per_cluster"),
        (
            "topics",
            {"per_group": 0.5, "partitions": 3, "per_cluster": 9},
            ": expected either per_group above 0 or per_cluster",
        ),
        ("topics.partitions", 10**7, ": expected a whole number from 1 to 1000000 or "),
        ("protocols", [], ": expected a list of protocol lists and their weights, got []"),
        ("protocols", {"range": 1}, ": expected a list of protocol lists and their weights, got {'range': 1}"),
        ("protocols", [{"lists": [["range"]]}], "[0].weight: is missing"),
        ("protocols", [{"weight": 1, "lists": ["range"]}], "[0].lists[0]: expected a list of names, got 'range'"),
        ("protocols", [{"weight": 1, "lists": [[1]]}], "[0].lists[0][0]: expected a name, got 1"),
        ("protocols", [{"weight": 1, "lists": [["a", "a"]]}], "[0]: lists: 'a' is listed twice"),
        (
            "protocols",
            [{"weight": 1, "lists": [["a"]], "upgrading": True}],
            "[0]: an upgrade needs exactly two lists, got 1",
        ),
        (
            "protocols",
            [{"weight": 1, "lists": [["a"]], "upgrading": 1}],
            "[0].upgrading: expected true or false, got 1",
        ),
        ("racks", {"groups": 1}, ".names: is missing"),
        ("racks.names", ["a", ""], "[1]: expected a name, got ''"),
        ("racks", {"names": ["a", "a"]}, ": names: 'a' is listed twice"),
        ("previous", {"generation": 1}, ".groups: is missing"),
        ("clusters.count", 0, ": expected a whole number from 1 to 100000, got 0"),
        ("giants", [{"members": 5, "topics": 1}], "[0].partitions: is missing"),
        ("giants", 5, ": expected a list of giant groups, got 5"),
        ("giants", "x" * 99, f": expected a list of giant groups, got '{'x' * 56}..."),
    ],
)
def test_mistakes_in_a_file(tmp_path: Path, key: str, value: object, expected: str) -> None:
    with pytest.raises(UserError) as problem:
        loaded(tmp_path, {key: value})
    message = str(problem.value)
    assert re.match(f"{re.escape(str(tmp_path))}/fleet.yaml: line \\d+: {re.escape(key + expected)}", message)
    assert "\n" not in message
    assert message.endswith(expected) or expected.endswith((" ", "or "))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", "line 1: expected a mapping with the keys topics, subscriptions, members, protocols, "),
        (b"- 1", "line 1: expected a mapping with the keys "),
        (b"members: {count: 5", "line 1: not YAML: expected ',' or '}', but got '<stream end>'"),
        (b"members:\n\tcount: 5", "line 2: not YAML: found character '\\t' that cannot start any token"),
        (b"topics: 1\ntopics: 2", "'topics' is given twice, in line 1 and line 2"),
        (b"topics: !!python/name:os.system", "line 1: not YAML: could not determine a constructor for the tag "),
        (b"topics: &own [1, *own]", "line 1: not YAML: an anchor contains itself"),
        (b"topics: !!set {a}", "line 1: not YAML: could not determine a constructor for the tag "),
        (b'"a\\nb": 1', "line 1: 'a\\nb': unknown key; allowed: "),
        (b"? [a]\n: 1", "line 1: not YAML: found unhashable key"),
        (b"topics: \xff", "is not UTF-8 text"),
        (b"topics: \x07", "not YAML: unacceptable character #x0007"),
        (b"topics: 1\n---\ntopics: 2", "line 2: not YAML: but found another document"),
    ],
)
def test_files_that_are_no_fleet(tmp_path: Path, text: bytes, expected: str) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_bytes(text)
    with pytest.raises(UserError) as problem:
        load(path)
    assert str(problem.value).startswith(f"{path}: {expected}")
    assert "\n" not in str(problem.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.yaml: cannot be read: No such file or directory$"):
        load(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize(
    ("groups", "seed", "expected"),
    [
        (-1, 0, "groups: expected a whole number from 0 to 1000000000, got -1"),
        (1, 2**63, f"seed: expected a whole number of 64 bits, got {2**63}"),
    ],
)
def test_numbers_out_of_range(spark: SparkSession, groups: int, seed: int, expected: str) -> None:
    with pytest.raises(UserError, match=f"^{re.escape(expected)}$"):
        synthetic_fleet(spark, PLAIN, groups, seed)
