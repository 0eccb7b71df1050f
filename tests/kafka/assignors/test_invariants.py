"""Invariants on thousands of random groups; a group may break one only if it shows a known quirk of Kafka.

``make test-real`` checks 30,000 groups per strategy (the marker ``scale``).
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from rebalance_sim.kafka.groups import AssignmentFailure
from rebalance_sim.releases import kafka_version
from tests.oracle.oracle import SERVER_RULES
from tests.oracle.random_cases import assignor_cases, sticky_cases
from tests.oracle.server_cases import server_cases
from tests.support.batches import Batch
from tests.support.cases import STICKY_RULES, group_of
from tests.support.examples import COMPILED, scaled
from tests.support.invariants import BASIC, NumberedBatch, check, faults, faults_on_the_way, may_go_on, quirks
from tests.support.model import VERSIONS, Assignment, Cluster, Group, Member, Partition
from tests.support.shares import Draws

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

MANY, SOME, LARGE = 30_000, 2000, 12
AT_ONCE = 5000
RACKS = ("a", "b", "c")

Rule = tuple[str, str]
"""Strategy and version of Kafka."""

FAMILIES = {
    "range and roundrobin": (
        assignor_cases,
        [(strategy, version) for strategy in ("range", "roundrobin") for version in VERSIONS],
    ),
    "sticky": (sticky_cases, STICKY_RULES),
    "server-side": (server_cases, [(strategy, version) for strategy in SERVER_RULES for version in ("4.0", "4.3")]),
}
"""Random cases, and the rules that they are for."""

every_family = pytest.mark.parametrize("family", FAMILIES)


@every_family
def test_some_groups_keep_the_invariants(family: str, seed: int) -> None:
    expect_invariants(family, seed, scaled(SOME))


@pytest.mark.scale
@every_family
def test_many_groups_keep_the_invariants(family: str, seed: int, draws: Draws) -> None:
    many = draws(MANY)
    seen = expect_invariants(family, seed, many)
    for (strategy, version, what), count in sorted(seen.items()):
        print(f"{strategy} {version}: {count:,} of {many:,} {what}")


def expect_invariants(family: str, seed: int, count: int) -> Counter[tuple[str, str, str]]:
    """Count the groups that break an invariant, by strategy and version; each must show a quirk that explains it."""
    make, rules = FAMILIES[family]
    seen: Counter[tuple[str, str, str]] = Counter()
    for start in range(0, count, AT_ONCE):
        numbered = NumberedBatch(Batch([group_of(case) for case in make(seed + start, min(AT_ONCE, count - start))]))
        for strategy, version in rules:
            for group, what in broken(strategy, version, numbered):
                reasons = why(strategy, version, group, what)
                assert reasons, f"{strategy} {version} {what}: {group}"
                seen[strategy, version, f"{what} ({', '.join(sorted(reasons))})"] += 1
    return seen


def why(strategy: str, version: str, group: Group, what: str) -> set[str]:
    """Return why a group may break an invariant, or rebalance for ever."""
    reasons = quirks(strategy, version, group)
    if what == "goes on" and may_go_on(group):
        reasons.add("racks")
    if what == AssignmentFailure.NEVER_RETURNS.message:
        reasons.add("cycle")
    return reasons


def broken(strategy: str, version: str, numbered: NumberedBatch) -> Iterator[tuple[Group, str]]:
    """Yield the groups that break an invariant or rebalance for ever, and how; the balance figures must agree."""
    batch = numbered.batch
    played = batch.play(version, strategy)
    summary = batch.summary(strategy, played)
    found, figures = faults(strategy, version, numbered, summary.assignments), batch.figures(summary.assignments)
    for name in BASIC:
        assert np.array_equal(getattr(figures, name)[summary.ended], found[name][summary.ended]), name
    on_the_way = faults_on_the_way(numbered, played) if strategy == "cooperative-sticky" else {}
    for g, group in enumerate(batch.groups):
        faulty = [name for name, counts in found.items() if counts[g] and summary.ended[g]]
        faulty += [f"{name} on the way" for name, counts in on_the_way.items() if counts[g]]
        if summary.errors[g]:
            faulty.append(AssignmentFailure(summary.errors[g]).message)
        elif not summary.ended[g]:
            faulty.append("goes on")
        if faulty:
            yield group, ", ".join(faulty)


# ---- larger groups


def random_cluster(rng: random.Random, most_topics: int, most_partitions: int) -> Cluster:
    topics = {
        f"topic-{rng.randrange(10**6)}": rng.randint(0, most_partitions) for _ in range(rng.randint(1, most_topics))
    }
    if rng.random() < 0.6:
        return Cluster(topics)
    racks = {t: [rng.sample(RACKS, rng.randint(1, 3)) for _ in range(count)] for t, count in topics.items()}
    return Cluster(topics, racks)


def random_group(rng: random.Random, cluster: Cluster, most_members: int) -> Group:
    topics = [*cluster.partitions, "nowhere"]
    same = rng.random() < 0.5
    static = rng.choice((0.0, 0.5, 1.0))
    members = [
        Member(
            f"consumer-{rng.randrange(10**9)}-{i}",
            tuple(rng.sample(topics, len(topics) if same else rng.randint(0, len(topics)))),
            f"instance-{rng.randrange(10**6)}-{i}" if rng.random() < static else None,
            rng.choice((*RACKS, "elsewhere", None)) if cluster.racks else None,
        )
        for i in range(rng.randint(0, most_members))
    ]
    return Group(tuple(members), cluster)


@cache
def larger_groups(seed: int) -> NumberedBatch:
    """Return groups assigned by range, in which some members are new."""
    rng = random.Random(seed)
    fresh = Batch([random_group(rng, random_cluster(rng, 30, 40), 150) for _ in range(scaled(LARGE))])
    groups = []
    for group, given in zip(fresh.groups, fresh.assign("4.3", "range"), strict=True):
        old = [member for member in group.members if rng.random() < 0.8]
        had = {member.member_id: replace(member, owned=tuple(given[member.member_id]), generation=7) for member in old}
        groups.append(replace(group, members=tuple(had.get(member.member_id, member) for member in group.members)))
    return NumberedBatch(Batch(groups))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("strategy", ["range", "roundrobin", "sticky", "cooperative-sticky", "server-range"])
def test_larger_groups_keep_the_invariants(strategy: str, version: str, seed: int) -> None:
    if strategy in kafka_version(version).assignors:
        found = broken(strategy, version, larger_groups(seed))
        assert [what for group, what in found if not why(strategy, version, group, what)] == []


# ---- the checker itself


UNSUBSCRIBED = Partition("unsubscribed", 0)
GROUP = Group(
    (Member("m1", ("t", "u")), Member("m2", ("t",), owned=(UNSUBSCRIBED,))),
    Cluster({"t": 4, "u": 1, "unsubscribed": 1}),
)
T0, T1, T2, T3, U0 = (Partition("t", 0), Partition("t", 1), Partition("t", 2), Partition("t", 3), Partition("u", 0))


def test_good_assignments_pass() -> None:
    check("range", "2.3", GROUP, {"m1": [T0, T1, U0], "m2": [T2, T3]})
    check("roundrobin", "4.3", GROUP, {"m1": [T0, U0], "m2": [T1, T2, T3]})
    check("sticky", "4.3", GROUP, {"m1": [T0, U0], "m2": [T1, T2, T3]})
    check("server-uniform", "4.3", GROUP, {"m1": [T0, U0], "m2": [T1, T2, T3]})
    racks = Group(GROUP.members, Cluster(GROUP.cluster.partitions, {"t": [["a"]] * 4}))
    check("range", "4.3", racks, {"m1": [T0, T2, U0], "m2": [T1, T3]})


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "sticky", "server-range", "server-uniform"])
@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ({"m1": [T0, T1, U0], "m2": [T2]}, "unassigned"),
        ({"m1": [T0, T1, U0], "m2": [T1, T2, T3]}, "assigned_twice"),
        ({"m1": [T0, T1, U0, U0], "m2": [T2, T3]}, "assigned_twice"),
        ({"m1": [T0, T1], "m2": [T2, T3, U0]}, "not_subscribed"),
        ({"m1": [T0, T1, U0, Partition("t", 4)], "m2": [T2, T3]}, "nonexistent"),
        ({"m1": [T0, T1, U0, UNSUBSCRIBED], "m2": [T2, T3]}, "not_subscribed"),
    ],
    ids=["missing", "twice", "twice by one", "not subscribed", "no such partition", "topic without subscribers"],
)
def test_bad_assignments_fail(strategy: str, bad: Assignment, why: str) -> None:
    with pytest.raises(AssertionError, match=f"'{why}'"):
        check(strategy, "4.3", GROUP, bad)


ALIKE = Group((Member("m1", ("t",)), Member("m2", ("t",), owned=(T0, T1))), Cluster({"t": 4}))
IMBALANCED: Assignment = {"m1": [T0, T1, T2], "m2": [T3]}


@pytest.mark.parametrize(
    ("strategy", "group", "bad", "why"),
    [
        ("range", ALIKE, IMBALANCED, "imbalanced"),
        ("range", ALIKE, {"m1": [T0, T2], "m2": [T1, T3]}, "not consecutive"),
        ("server-range", ALIKE, {"m1": [T2, T3], "m2": [T0, T1]}, "not consecutive"),
        ("range", Group(ALIKE.members, Cluster({"t": 3})), {"m1": [T0], "m2": [T1, T2]}, "the last have more"),
        ("roundrobin", ALIKE, IMBALANCED, "imbalanced"),
        ("sticky", ALIKE, IMBALANCED, "could be more balanced"),
        ("sticky", GROUP, {"m1": [T0, T1, T2, U0], "m2": [T3]}, "could be more balanced"),
        ("server-uniform", ALIKE, IMBALANCED, "imbalanced"),
        ("server-uniform", ALIKE, {"m1": [T0, T1], "m2": [T2, T3]}, "lost needlessly"),
    ],
)
def test_each_strategy_has_invariants_of_its_own(strategy: str, group: Group, bad: Assignment, why: str) -> None:
    with pytest.raises(AssertionError, match=f"'{why}'"):
        check(strategy, "4.3", group, bad)


@pytest.mark.parametrize(
    ("lists", "why"),
    [
        ([[T0, U0], [T3]], "withheld needlessly"),
        ([[T0, U0], [T1, T2, T3]], "not revoked yet"),
        ([[T0, T1, U0], [T1, T2, T3]], "twice"),
        ([[T0, U0], [T2, T3]], ""),
    ],
    ids=["withheld without an owner", "assigned too early", "twice", "good"],
)
def test_faults_between_rebalances_are_found(lists: list[list[Partition]], why: str) -> None:
    group = Group((Member("m1", ("t", "u"), owned=(T0, T1)), Member("m2", ("t",))), GROUP.cluster)
    batch = Batch([group])
    given = batch.as_arrays([{"m1": lists[0], "m2": lists[1]}])
    (rebalance, *_) = batch.play("4.3", "cooperative-sticky")
    outcome = rebalance.outcome._replace(assignments=given)
    found = faults_on_the_way(NumberedBatch(batch), [rebalance._replace(outcome=outcome)])
    assert [name for name, counts in found.items() if counts[0]] == ([why] if why else [])


@pytest.mark.skipif(not COMPILED, reason="looks at the groups only")
def test_random_groups_cover_what_the_invariants_are_about() -> None:
    """The random groups have conflicts, generations, racks, static members, and both kinds of subscriptions."""
    for make, least in ((assignor_cases, 20), (sticky_cases, 10), (server_cases, 5)):
        groups = [group_of(case) for case in make(1, 1000)]
        numbered = NumberedBatch(Batch(groups))
        claims = [Counter(p for member in group.members for p in member.owned) for group in groups]
        kinds = {
            "same": numbered.same_subscriptions.sum(),
            "other": (~numbered.same_subscriptions).sum(),
            "owned": sum(bool(owned) for owned in claims),
            "conflicts": sum(max(owned.values(), default=0) > 1 for owned in claims),
            "gone": sum(
                any(p.topic not in group.cluster.partitions for p in owned)
                for group, owned in zip(groups, claims, strict=True)
            ),
            "static": sum(any(member.instance_id for member in group.members) for group in groups),
        }
        if make is not server_cases:
            kinds["racks"] = sum(bool(group.cluster.racks) for group in groups)
            kinds["generations"] = sum(len({member.generation for member in group.members}) > 1 for group in groups)
        assert min(kinds.values()) >= least, kinds
