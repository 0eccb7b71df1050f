"""Random names, groups and elections with all kinds of edge cases.

Names share hash codes, and sort differently by code unit and by code point. Topics are numerous enough for
the maps to grow, unknown, without partitions, named twice or not at all; batches have groups of several clusters.
"""

from dataclasses import replace
from itertools import product

from hypothesis import strategies as st

from tests.support.model import Assignment, Cluster, Group, Joiner, Member, Partition

Draw = st.DrawFn

COLLIDING = tuple("".join(pairs) for pairs in product(("Aa", "BB"), repeat=3))
"""Eight names with the same hash code."""
ODD_CHARACTERS = "\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"
"""Code points at which UTF-8 and UTF-16 need more bytes or units, and at which they sort differently."""

_NAMES = st.one_of(
    st.sampled_from(COLLIDING),
    st.text("aZé注😀" + ODD_CHARACTERS, min_size=1, max_size=4),
    st.integers(0, 50).map("t{}".format),
)
_PROTOCOLS = ("range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "stream")
_UNKNOWN_TOPIC = "nowhere"
_REPLICA_RACKS: tuple[tuple[str, ...], ...] = (("a",), ("b",), ("a", "b"), ("b", "c"), ("a", "b", "c"), ())
_MEMBER_RACKS = (None, "", "a", "b", "c", "elsewhere")


def distinct_names(count: int) -> st.SearchStrategy[list[str]]:
    return st.lists(_NAMES, min_size=count, max_size=count, unique=True)


# ---- elections


@st.composite
def elections(draw: Draw) -> list[tuple[Joiner, ...]]:
    """Draw several groups that join and vote."""
    return [draw(_joiners()) for _ in range(draw(st.integers(1, 4)))]


@st.composite
def _joiners(draw: Draw) -> tuple[Joiner, ...]:
    ids = draw(distinct_names(draw(st.sampled_from((0, 1, 2, 3, 4, 6, 13)))))
    common = draw(_common_protocols())
    ballots = draw(st.lists(st.permutations(common), min_size=1, max_size=len(common)))
    return tuple(draw(_joiner(member_id, ballots[i % len(ballots)])) for i, member_id in enumerate(ids))


@st.composite
def _common_protocols(draw: Draw) -> list[str]:
    count = draw(st.sampled_from((1, 2, 3, 4, 5, 6, 14)))
    if count <= len(_PROTOCOLS) and draw(st.booleans()):
        return draw(st.permutations(_PROTOCOLS))[:count]
    return draw(distinct_names(count))


@st.composite
def _joiner(draw: Draw, member_id: str, ballot: list[str]) -> Joiner:
    kind = draw(st.sampled_from(("plain", "plain", "plain", "own", "few", "other type", "nothing")))
    match kind:
        case "own":
            return Joiner(member_id, ("own-" + member_id, *ballot))
        case "few":
            return Joiner(member_id, tuple(ballot[: draw(st.integers(1, 3))]))
        case "other type":
            return Joiner(member_id, tuple(ballot), "connect")
        case "nothing":
            return Joiner(member_id, ())
    return Joiner(member_id, tuple(ballot))


# ---- groups


@st.composite
def groups(draw: Draw) -> list[Group]:
    """Draw several groups, on one or two clusters."""
    metadata = draw(st.lists(_clusters(), min_size=1, max_size=2))
    count = draw(st.integers(1, 4))
    return [draw(_group(draw(st.sampled_from(metadata)))) for _ in range(count)]


@st.composite
def _clusters(draw: Draw) -> Cluster:
    # With the unknown topic 13 and 25: at these sizes a table has just grown, or is about to.
    topics = draw(distinct_names(draw(st.sampled_from((1, 2, 3, 5, 12, 13, 24, 26)))))
    sizes = st.sampled_from((0, 1, 2, 3, 4, 4, 4, 7, 11))
    partitions = {topic: draw(sizes) for topic in topics}
    # Topics have ids of their own: server-uniform breaks ties by them.
    ids = {topic: (number, draw(st.integers(0, 2**64 - 1))) for number, topic in enumerate(topics)}
    if not draw(st.booleans()):
        return Cluster(partitions, ids=ids)
    racks = {
        topic: draw(st.lists(st.sampled_from(_REPLICA_RACKS).map(list), min_size=count, max_size=count))
        for topic, count in partitions.items()
        if draw(st.integers(0, 9)) > 0
    }
    return Cluster(partitions, racks, ids)


@st.composite
def _group(draw: Draw, cluster: Cluster) -> Group:
    ids = draw(distinct_names(draw(st.sampled_from((0, 1, 2, 3, 5, 8, 13)))))
    instances = draw(st.sampled_from((0, 0, 1, 2)))
    same = draw(st.booleans())
    topics = [*cluster.partitions, _UNKNOWN_TOPIC]
    everything = tuple(draw(st.permutations(topics)))
    members = []
    for i, member_id in enumerate(ids):
        wanted = everything if same else tuple(draw(_subscription(topics)))
        members.append(
            Member(
                member_id,
                wanted,
                draw(_NAMES) if instances and i % instances == 0 else None,
                draw(st.sampled_from(_MEMBER_RACKS)) if cluster.racks else None,
            )
        )
    return Group(tuple(members), cluster)


def _subscription(topics: list[str]) -> st.SearchStrategy[list[str]]:
    """Draw topics in any order, some twice; none; or all."""
    some = st.lists(st.sampled_from(topics), max_size=len(topics))
    return st.one_of(some, some, st.just(topics))


def as_sent(group: Group) -> Group:
    """The same group as brokers and consumers have it, whoever they are.

    Names of topics are legal, no two members have the same instance id, and none names a topic twice.
    """
    names = {topic for member in group.members for topic in member.topics}.union(group.cluster.partitions)
    legal = {name: f"topic.{number % 5}-{number}" for number, name in enumerate(sorted(names))}
    cluster = Cluster(
        {legal[topic]: count for topic, count in group.cluster.partitions.items()},
        {legal[topic]: racks for topic, racks in group.cluster.racks.items()},
    )
    members, taken = [], set[str]()
    for member in group.members:
        instance_id = None if member.instance_id in taken else member.instance_id
        taken.update({instance_id} if instance_id else ())
        topics = tuple(dict.fromkeys(legal[topic] for topic in member.topics))
        owned = tuple(Partition(legal.get(topic, topic), number) for topic, number in member.owned)
        members.append(replace(member, topics=topics, instance_id=instance_id, owned=owned))
    return Group(tuple(members), cluster)


# ---- owned partitions, and assignments that no assignor would make


@st.composite
def owned_and_assigned(draw: Draw) -> list[tuple[Group, Assignment]]:
    """Draw several groups, as ``groups`` does."""
    return [draw(_owned_and_assigned(group)) for group in draw(groups())]


@st.composite
def _owned_and_assigned(draw: Draw, group: Group) -> tuple[Group, Assignment]:
    known = group.cluster.partitions
    partitions = [Partition(topic, n) for topic, count in known.items() for n in range(count + 1)]
    partitions.append(Partition(_UNKNOWN_TOPIC, 0))
    members = tuple(
        replace(
            member,
            owned=tuple(draw(st.lists(st.sampled_from(partitions), max_size=8))),
            generation=draw(st.integers(-1, 2)),
        )
        for member in group.members
    )
    assignment: Assignment = {member.member_id: [] for member in members}
    named = {topic for member in members for topic in member.topics}
    for partition in partitions:
        receiver = draw(st.integers(-1, len(members) - 1))
        if partition.topic in named and receiver >= 0:
            assignment[members[receiver].member_id].append(partition)
            if draw(st.integers(0, 9)) == 0:
                assignment[members[draw(st.integers(0, receiver))].member_id].append(partition)
    return replace(group, members=members), assignment
