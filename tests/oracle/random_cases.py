"""
Random cases for the oracle and the rules alike: small groups, but with everything that surprises.

Hash order decides ties and the order of lists, so names that share a Java hash code, a bucket, or sort
differently by code unit and by code point are common here. At most eight names of a case share a hash code
and no other name shares their bucket: at the ninth Java's HashMap grows out of turn or makes the bucket a
tree, which needs names chosen to that end.
"""

import functools
import random
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from tests.support.java import PREFIXES, hash_improved_to, java_hash, name_with_hash

JsonObject = dict[str, Any]
Racks = list[str | None]
Cases = Callable[[int, int], Iterator[JsonObject]]
"""Yields so many cases from a seed."""

STANDARD_PROTOCOLS = ("range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "stream")

_MOST_COLLIDING = 8
_AROUND_GROWTH = (46, 47, 48, 49, 95, 96, 97, 191, 192, 193)
"""Sizes at which tables of Java and Scala have just grown, or are about to."""
# Beyond the BMP, and just below it: the first sort before the second by code unit, after them by code point.
_BEYOND_BMP = ("\U0001f600", "\U0001f9ea", "\U00010348")
_HIGH_BMP = ("\uff5e", "\ufffd", "\ue000")
_FOREIGN = ("größe", "заказы", "注文", "café", "ΔΣ")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def drawn(letter: str) -> Callable[[Callable[[random.Random, str], JsonObject]], Cases]:
    """Make the drawing of one case that of many, from a seed; their ids begin with a letter."""

    def of_seed(draw: Callable[[random.Random, str], JsonObject]) -> Cases:
        @functools.wraps(draw)
        def cases(seed: int, count: int) -> Iterator[JsonObject]:
            rng = random.Random(seed)
            return (draw(rng, f"{letter}{seed}-{i}") for i in range(count))

        return cases

    return of_seed


# ---- names


def _word(rng: random.Random) -> str:
    return "".join(rng.choices(_LETTERS, k=rng.randint(1, 5)))


def _uuid(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def _java_client(rng: random.Random) -> str:
    return f"consumer-{rng.randint(1, 9)}-{_uuid(rng)}"


def _other_client(rng: random.Random) -> str:
    return f"{rng.choice(('rdkafka', 'sarama', 'aiokafka-0.8'))}-{_uuid(rng)}"


def _short(rng: random.Random) -> str:
    return f"{_word(rng)}{rng.randint(0, 99)}"


def _foreign(rng: random.Random) -> str:
    return f"{rng.choice(_FOREIGN)}-{rng.randint(0, 99)}"


def _astral(rng: random.Random) -> str:
    marks = rng.choices(_BEYOND_BMP + _HIGH_BMP, k=rng.randint(1, 2))
    return f"{rng.choice(('', 'm', 'consumer-'))}{''.join(marks)}{rng.randint(0, 99)}"


def _distinct(rng: random.Random, count: int, make: Callable[[random.Random], str]) -> list[str]:
    names: dict[str, None] = {}
    while len(names) < count:
        names[make(rng)] = None
    return list(names)


def _numbered(rng: random.Random, count: int) -> list[str]:
    prefix = rng.choice(("m", "c", "consumer-", "worker_"))
    return [f"{prefix}{i}" for i in range(count)]


def bucket(hash_code: int) -> int:
    """The bucket in a table of 16; keys apart here stay apart in every larger table."""
    return (hash_code ^ hash_code >> 16) & 15


def _colliding(rng: random.Random, count: int, rest: Callable[[random.Random], str]) -> list[str]:
    """Names of which up to eight share a Java hash code: "Aa" and "BB" do, and so do their combinations."""
    pairs = rng.randint(3, 5)
    same = _distinct(
        rng, min(count, rng.randint(2, _MOST_COLLIDING)), lambda r: "".join(r.choices(("Aa", "BB"), k=pairs))
    )
    names = dict.fromkeys(same)
    while len(names) < count:
        name = rest(rng)
        if bucket(java_hash(name)) != bucket(java_hash(same[0])):
            names[name] = None
    mixed = list(names)
    rng.shuffle(mixed)
    return mixed


def _member_ids(rng: random.Random, count: int) -> list[str]:
    kinds = ("java", "other", "short", "numbered", "colliding", "foreign", "astral", "mixed")
    kind = rng.choices(kinds, weights=(10, 6, 30, 18, 12, 8, 8, 8))[0]
    makers: dict[str, Callable[[random.Random], str]] = {
        "java": _java_client,
        "other": _other_client,
        "short": _short,
        "foreign": _foreign,
        "astral": _astral,
        "mixed": lambda r: r.choice((_short, _foreign, _astral, _other_client))(r),
    }
    if kind == "numbered":
        return _numbered(rng, count)
    if kind == "colliding":
        return _colliding(rng, count, _short)
    return _distinct(rng, count, makers[kind])


def _group_size(rng: random.Random) -> int:
    """Mostly the size of real groups, now and then beyond the sizes at which hash tables grow (12, 24)."""
    return rng.choices((rng.randint(1, 4), rng.randint(2, 10), rng.randint(8, 30)), weights=(30, 50, 20))[0]


# ---- elections


@drawn("e")
def election_cases(rng: random.Random, case_id: str) -> JsonObject:
    group_type = rng.choices(("consumer", "connect"), weights=(95, 5))[0]
    crowded = rng.random() < 0.04
    ids = _member_ids(rng, rng.randint(16, 30) if crowded else _group_size(rng))
    common = _protocol_names(rng, rng.randint(16, 30) if crowded else _protocol_count(rng))
    lists = _preferences(rng, common, len(ids))
    members = [_election_member(i, protocols, group_type) for i, protocols in zip(ids, lists, strict=True)]
    if rng.random() < 0.25:
        _spoil_joiners(rng, members, common, group_type)
    return {"rule": "election", "id": case_id, "members": members, "remove": _removals(rng, ids)}


def _election_member(member_id: str, protocols: list[str], protocol_type: str) -> JsonObject:
    member: JsonObject = {"member_id": member_id, "protocols": protocols}
    if protocol_type != "consumer":
        member["protocol_type"] = protocol_type
    return member


def _protocol_count(rng: random.Random) -> int:
    """Beyond four, and twelve, distinct votes the voting tables take other paths."""
    counts = (rng.randint(1, 3), rng.randint(2, 6), rng.randint(5, 12))
    return rng.choices(counts, weights=(35, 40, 25))[0]


def _protocol_names(rng: random.Random, count: int) -> list[str]:
    """Protocols that all members share."""
    kind = rng.choices(("standard", "random", "mixed", "colliding"), weights=(45, 20, 25, 10))[0]
    if kind == "standard" and count <= len(STANDARD_PROTOCOLS):
        return rng.sample(STANDARD_PROTOCOLS, count)
    if kind == "colliding":
        return _colliding(rng, count, _word)
    standard = rng.sample(STANDARD_PROTOCOLS, min(count, rng.randint(0, 4))) if kind == "mixed" else []
    names = dict.fromkeys(standard)
    while len(names) < count:
        names[_word(rng)] = None
    return list(names)


def _preferences(rng: random.Random, common: list[str], count: int) -> list[list[str]]:
    """One ordered list a member. Camps of equal size, and a shuffle each, tie easily."""
    style = rng.choices(("agree", "camps", "shuffled"), weights=(10, 50, 40))[0]
    divisors = [n for n in (2, 3, 4, 5) if count % n == 0] or [2]
    order = rng.sample(common, len(common))
    camps = [order[first:] + order[:first] for first in range(min(rng.choice(divisors), len(order)))]
    lists = []
    for i in range(count):
        if style == "agree":
            protocols = list(camps[0])
        elif style == "camps":
            protocols = list(camps[i % len(camps)])
        else:
            protocols = rng.sample(common, len(common))
        # Protocols of its own win no vote, but may stand first in a member's list.
        for own in range(rng.choices((0, 1, 2), weights=(70, 20, 10))[0]):
            protocols.insert(rng.randint(0, len(protocols)), f"own-{i}-{own}")
        lists.append(protocols)
    return lists


def _spoil_joiners(rng: random.Random, members: list[JsonObject], common: list[str], group_type: str) -> None:
    """Makes some members ones that the coordinator refuses, or, if the first, ones that shut out the rest."""
    first = 0 if rng.random() < 0.1 else 1
    for member in members[first:]:
        if rng.random() < 0.7:
            continue
        match rng.randrange(3):
            case 0:
                member["protocols"] = [f"nobody-{name}" for name in common[:2]]
            case 1:
                member["protocol_type"] = "connect" if group_type == "consumer" else "consumer"
            case _:
                member["protocols"] = []


def _removals(rng: random.Random, ids: list[str]) -> list[str]:
    if rng.random() < 0.5:
        return []
    removals = rng.sample(ids, rng.randint(1, min(len(ids), 5)))
    if rng.random() < 0.6 and ids[0] not in removals:
        removals.insert(0, ids[0])
    if rng.random() < 0.1:
        removals.append("was-never-here")
    return removals


@drawn("ce")
def crowded_election_cases(rng: random.Random, case_id: str) -> JsonObject:
    """Many members with one protocol, so that the coordinator's maps grow, or one vote for each of some protocols.

    These are close in Scala's tries, and the first in the map wins.
    """
    if rng.random() < 0.4:
        ids = _colliding(rng, rng.choice(_AROUND_GROWTH), _short)
        lists = [["range"]] * len(ids)
    else:
        common = _close_names(rng, rng.randint(2, 12))
        ids = _member_ids(rng, rng.randint(2, len(common)))
        lists = rng.sample([common[first:] + common[:first] for first in range(len(common))], len(ids))
    members = [_election_member(i, protocols, "consumer") for i, protocols in zip(ids, lists, strict=True)]
    return {"rule": "election", "id": case_id, "members": members, "remove": _removals(rng, ids)}


def _close_names(rng: random.Random, count: int) -> list[str]:
    """Names whose improved hash codes agree in some of their lowest groups of 5 bits, now and then in all of them."""
    base = rng.getrandbits(32)
    names: dict[str, None] = {}
    while len(names) < count:
        bits = 5 * rng.randint(0, 7)
        close = (base & ((1 << bits) - 1) | rng.getrandbits(32) >> bits << bits) % 2**32
        names[name_with_hash(hash_improved_to(close), rng.randrange(len(PREFIXES)))] = None
    return list(names)


# ---- assignors


def assignor_case(rng: random.Random, case_id: str) -> JsonObject:
    """A group without a "rule", which is good for every assignor."""
    ids = _member_ids(rng, _group_size(rng))
    topics = _topics(rng)
    members = _members(ids)
    _subscribe(rng, members, list(topics))
    _make_static(rng, members)
    if rng.random() < 0.5:
        _give_history(rng, members, topics)
    case: JsonObject = {"id": case_id, "topics": topics, "members": members}
    if rng.random() < 0.35:
        case["racks"] = place_racks(rng, members, topics)
    return case


assignor_cases = drawn("a")(assignor_case)


def _members(ids: list[str]) -> list[JsonObject]:
    return [
        {"member_id": i, "instance_id": None, "topics": [], "owned": [], "generation": -1, "rack": None} for i in ids
    ]


def _topics(rng: random.Random) -> dict[str, int]:
    count = rng.choices((0, 1, rng.randint(2, 4), rng.randint(5, 8)), weights=(3, 22, 50, 25))[0]
    kinds = ("numbered", "short", "dotted", "colliding", "foreign")
    kind = rng.choices(kinds, weights=(35, 20, 20, 15, 10))[0]
    if kind == "numbered":
        names = [f"t{i}" for i in range(count)]
        rng.shuffle(names)
    elif kind == "colliding" and count:
        names = _colliding(rng, count, _short)
    else:
        makers: dict[str, Callable[[random.Random], str]] = {
            "dotted": lambda r: f"{_word(r)}.{_word(r)}.v{r.randint(0, 3)}",
            "foreign": lambda r: r.choice((_foreign, _astral, _short))(r),
        }
        names = _distinct(rng, count, makers.get(kind, _short))
    alike = rng.randint(1, 20) if rng.random() < 0.35 else None
    return {name: alike if alike and rng.random() < 0.8 else _partition_count(rng) for name in names}


def _partition_count(rng: random.Random) -> int:
    counts = (0, rng.randint(1, 4), rng.randint(2, 12), rng.randint(10, 30))
    return rng.choices(counts, weights=(4, 40, 41, 15))[0]


def _subscribe(rng: random.Random, members: list[JsonObject], topics: list[str]) -> None:
    offered = [*topics, *(["not-in-metadata"] if rng.random() < 0.12 else [])]
    same = rng.random() < 0.45
    some_empty = rng.random() < 0.1
    some_twice = rng.random() < 0.06
    for member in members:
        size = len(offered) if same else rng.randint(min(1, len(offered)), len(offered))
        member["topics"] = rng.sample(offered, size)
        if some_empty and rng.random() < 0.3:
            member["topics"] = []
        if some_twice and member["topics"] and rng.random() < 0.5:
            member["topics"].insert(rng.randint(0, len(member["topics"])), rng.choice(member["topics"]))


def _make_static(rng: random.Random, members: list[JsonObject]) -> None:
    share = rng.choices((0.0, 0.5, 1.0), weights=(60, 22, 18))[0]
    maker = rng.choice((_short, lambda r: f"i-{r.randint(0, 999)}", _astral))
    instances = _distinct(rng, len(members), maker)
    for member, instance in zip(members, instances, strict=True):
        if rng.random() < share:
            member["instance_id"] = instance


def _give_history(rng: random.Random, members: list[JsonObject], topics: dict[str, int]) -> None:
    """What members say they owned: with newcomers, stragglers, conflicting claims and deleted topics."""
    generation = rng.randint(0, 50)
    holders = [m for m in members if rng.random() < 0.8]
    for member in holders:
        straggler = rng.random() < 0.15
        member["generation"] = rng.choice((-1, max(0, generation - 1))) if straggler else generation
    if not holders:
        return
    everything = [[topic, p] for topic, count in topics.items() for p in range(count)]
    if rng.random() < 0.2:
        everything += [["deleted-topic", p] for p in range(rng.randint(1, 3))]
        everything += [[topic, count] for topic, count in topics.items()]
    rng.shuffle(everything)
    for partition in everything:
        chance = rng.random()
        claimants = 0 if chance < 0.1 else 2 if chance > 0.97 and len(holders) > 1 else 1
        for member in rng.sample(holders, claimants):
            member["owned"].append(partition)


def place_racks(
    rng: random.Random,
    members: list[JsonObject],
    topics: dict[str, int],
    names: tuple[str, ...] = ("r0", "r1", "r2", "r3"),
) -> dict[str, list[Racks]]:
    """Racks of members (set in place) and of every partition's replicas (returned)."""
    racks = list(names[: rng.randint(1, len(names))])
    with_rack = rng.choice((1.0, 0.7))
    for member in members:
        if rng.random() < with_rack:
            # An empty rack is what a client without a rack is configured with.
            member["rack"] = rng.choice([*racks, "elsewhere"] if rng.random() < 0.1 else racks)
            if rng.random() < 0.02:
                member["rack"] = ""
    everywhere = rng.random() < 0.2
    blind_spots = rng.random() < 0.15
    return {
        topic: [_replica_racks(rng, racks, everywhere, blind_spots) for _ in range(count)]
        for topic, count in topics.items()
        if rng.random() < 0.95
    }


def _replica_racks(rng: random.Random, racks: list[str], everywhere: bool, blind_spots: bool) -> Racks:
    if everywhere:
        return [*racks]
    if blind_spots and rng.random() < 0.2:
        blind: tuple[Racks, ...] = ([], [None], [None, racks[0]])
        return rng.choice(blind)
    return [*rng.sample(racks, rng.randint(1, min(3, len(racks))))]


# ---- sticky assignors


@drawn("s")
def sticky_cases(rng: random.Random, case_id: str) -> JsonObject:
    """A group after some change: what its members remember is mostly what an assignor may have given them.

    It has no "rule": it is good for every assignor that looks at what members owned.
    Where loads are torn apart, many partitions move, some of them on and back.
    """
    torn = rng.random() < 0.12
    sizes = (1, rng.randint(2, 6), rng.randint(5, 12))
    ids = _member_ids(rng, rng.choices(sizes, weights=(0, 30, 70) if torn else (5, 60, 35))[0])
    topics = {f"t{i}": rng.randint(2, 12) for i in range(rng.randint(3, 8))} if torn else _sticky_topics(rng)
    members = _members(ids)
    style = "own" if torn else rng.choices(("same", "camps", "own"), weights=(40, 25, 35))[0]
    for member, wanted in zip(members, _wanted(rng, list(topics), len(ids), style), strict=True):
        member["topics"] = wanted
    match rng.choices(("fresh", "one", "several", "wild"), weights=(0, 70, 30, 0) if torn else (8, 40, 40, 12))[0]:
        case "one":
            _remember(rng, members, topics, 1, torn)
        case "several":
            _remember(rng, members, topics, rng.randint(2, 3), torn)
        case "wild":
            _give_history(rng, members, topics)
    _spoil_memories(rng, members, topics)
    _spoil_subscriptions(rng, members)
    if rng.random() < 0.1:
        _make_static(rng, members)
    case: JsonObject = {"id": case_id, "topics": topics, "members": members}
    if rng.random() < 0.3:
        case["racks"] = place_racks(rng, members, topics)
    return case


def endless_case() -> JsonObject:
    """A group over which the sticky assignors of all versions go round in circles; hardly one of 40,000 cases does."""
    wanted_and_owned: list[tuple[str, str]] = [
        ("t1 t3 t0", "t0-1 t3-0"),
        ("t2", ""),
        ("t2 t3 t0", "t0-2 t0-3 t2-3 t2-4 t2-5 t3-1"),
        ("t2", ""),
        ("t1 t0", ""),
        ("t3", ""),
    ]
    members = [
        {
            "member_id": f"m{i}",
            "instance_id": None,
            "topics": wanted.split(),
            "owned": [[partition[:2], int(partition[3:])] for partition in owned.split()],
            "generation": 1,
            "rack": None,
        }
        for i, (wanted, owned) in enumerate(wanted_and_owned)
    ]
    return {"id": "endless", "topics": {"t0": 4, "t1": 6, "t2": 6, "t3": 2}, "members": members}


def _sticky_topics(rng: random.Random) -> dict[str, int]:
    """Small ones, so that many cases fit in a file; few without partitions, of which Kafka 1.0 dies."""
    most = rng.choices((3, 6, 12), weights=(40, 40, 20))[0]
    least = 0 if rng.random() < 0.05 else 1
    return {name: max(min(partitions, most), least) for name, partitions in _topics(rng).items()}


def _wanted(rng: random.Random, topics: list[str], count: int, style: str) -> list[list[str]]:
    """Subscriptions: all the same, a few camps, or each its own."""
    if style == "same":
        return [rng.sample(topics, len(topics)) for _ in range(count)]
    sizes = range(min(1, len(topics)), len(topics) + 1)
    if style == "own":
        return [rng.sample(topics, rng.choice(sizes)) for _ in range(count)]
    camps = [rng.sample(topics, rng.choice(sizes)) for _ in range(rng.randint(2, 3))]
    return [list(rng.choice(camps)) for _ in range(count)]


def _remember(
    rng: random.Random, members: list[JsonObject], topics: dict[str, int], generations: int, torn: bool
) -> None:
    """Lets members remember one of the last generations; the group was another in each."""
    latest = rng.randint(generations - 1, 50)
    pasts = [_past_assignment(rng, members, topics, torn) for _ in range(generations)]
    up_to_date = 1.0 if generations == 1 else rng.choice((0.4, 0.7, 0.9))
    for member in members:
        age = 0 if rng.random() < up_to_date else rng.randrange(generations)
        if member["member_id"] in pasts[age]:
            member["generation"] = latest - age
            member["owned"] = pasts[age][member["member_id"]]


def _past_assignment(
    rng: random.Random, members: list[JsonObject], topics: dict[str, int], torn: bool
) -> dict[str, list[list[str | int]]]:
    """What an assignor may have given the group as it was: partly others, with other subscriptions and other topics."""
    wanted = {member["member_id"]: list(member["topics"]) for member in members}
    change = rng.choices(("nothing", "left", "came", "subscriptions", "all"), weights=(10, 25, 25, 25, 15))[0]
    if change in ("left", "all"):
        for i in range(rng.randint(1, 2)):
            wanted[f"left-{i}"] = rng.choice(members)["topics"]
    if change in ("came", "all"):
        for newcomer in rng.sample(list(wanted), min(rng.randint(1, 2), len(wanted) - 1)):
            del wanted[newcomer]
    if change in ("subscriptions", "all"):
        for member_id in wanted:
            if rng.random() < 0.5:
                wanted[member_id] = rng.sample(list(topics), rng.randint(0, len(topics)))
    style = "torn" if torn else rng.choices(("blocks", "turn", "fewest"), weights=(20, 20, 60))[0]
    return _share_out(rng, wanted, _past_topics(rng, topics), style)


def _past_topics(rng: random.Random, topics: dict[str, int]) -> dict[str, int]:
    """Topics grow now and then, and seldom are deleted, or made again with fewer partitions."""
    past = dict(topics)
    for topic, partitions in topics.items():
        chance = rng.random()
        if chance < 0.08:
            past[topic] = rng.randint(0, partitions)
        elif chance < 0.1:
            past[topic] = partitions + rng.randint(1, 2)
    if rng.random() < 0.05:
        past["deleted-topic"] = rng.randint(1, 3)
    return past


def _share_out(
    rng: random.Random, wanted: dict[str, list[str]], topics: dict[str, int], style: str
) -> dict[str, list[list[str | int]]]:
    """In blocks as range does, in turn as roundrobin does, to whoever has the fewest, or mostly to a few."""
    shares: dict[str, list[list[str | int]]] = {member_id: [] for member_id in wanted}
    greed = {member_id: rng.random() ** 4 + 1e-9 for member_id in wanted}
    in_order = sorted(topics) if rng.random() < 0.7 else rng.sample(list(topics), len(topics))
    turn = 0
    for topic in in_order:
        takers = sorted(member_id for member_id, names in wanted.items() if topic in names or topic == "deleted-topic")
        for number in range(topics[topic] if takers else 0):
            if style == "blocks":
                taker = takers[number * len(takers) // topics[topic]]
            elif style == "turn":
                taker = takers[turn % len(takers)]
            elif style == "torn":
                taker = rng.choices(takers, [greed[member_id] for member_id in takers])[0]
            else:
                taker = min(takers, key=lambda member_id: len(shares[member_id]))
            shares[taker].append([topic, number])
            turn += 1
    return shares


def _spoil_memories(rng: random.Random, members: list[JsonObject], topics: dict[str, int]) -> None:
    """Loses generations, claims partitions twice, forgets partitions, and mixes up their order."""
    forgetful = rng.choices((0.0, 0.3, 1.0), weights=(80, 12, 8))[0]
    mixed_up = rng.random() < 0.5
    for member in members:
        if rng.random() < forgetful:
            member["generation"] = -1
        if rng.random() < 0.03:
            member["owned"] = []
        if mixed_up:
            rng.shuffle(member["owned"])
    everything = [[topic, number] for topic, partitions in topics.items() for number in range(partitions)]
    if everything and rng.random() < 0.15:
        for partition in rng.choices(everything, k=rng.randint(1, 4)):
            for member in rng.choices(members, k=2):
                member["owned"].append(partition)


def _spoil_subscriptions(rng: random.Random, members: list[JsonObject]) -> None:
    """Some members want nothing, a topic that is not known, or one topic twice."""
    match rng.choices(("", "nothing", "unknown", "twice"), weights=(78, 14, 3, 5))[0]:
        case "nothing":
            for member in rng.sample(members, rng.randint(1, len(members))):
                member["topics"] = []
        case "unknown":
            for member in members:
                member["topics"].append("not-in-metadata")
        case "twice":
            for member in rng.sample(members, rng.randint(1, len(members))):
                if member["topics"]:
                    member["topics"].append(rng.choice(member["topics"]))


# ---- groups with many topics


@drawn("ca")
def crowded_assignor_cases(rng: random.Random, case_id: str) -> JsonObject:
    """A group after some change, with about as many topics as make a table grow; some of them may be gone.

    It has no "rule": it is good for every assignor.
    """
    names = _distinct(rng, rng.choice((12, 13, 14, 24, 25, 26, 48, 49)), _short)
    topics = {name: rng.choice((1, 1, 2)) for name in names}
    ids = _member_ids(rng, rng.choice((1, 2, 3, 5, 13)))
    members = _members(ids)
    style = rng.choice(("same", "camps", "own"))
    for member, wanted in zip(members, _wanted(rng, names, len(ids), style), strict=True):
        member["topics"] = wanted
    if rng.random() < 0.8:
        _remember(rng, members, topics, rng.randint(1, 2), torn=False)
    gone = rng.sample(names, rng.choice((0, 0, 1, 2, 3)))
    known = {name: partitions for name, partitions in topics.items() if name not in gone}
    return {"id": case_id, "topics": known, "members": members}


# ---- the coordinator's partition


@drawn("p")
def partition_for_cases(rng: random.Random, case_id: str) -> JsonObject:
    # The hash code of the last name is the one integer that has no absolute value.
    named = rng.choice((_short, _foreign, _astral, _other_client, lambda r: "polygenelubricants"))
    partitions = rng.choice((1, 3, 50, 50, 100, rng.randint(1, 1000)))
    return {"rule": "partition-for", "id": case_id, "group_id": named(rng), "offsets_partitions": partitions}
