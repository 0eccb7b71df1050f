"""
Random cases for the oracle and the rules alike: small groups, but with everything that surprises.

Hash order decides ties and the order of lists, so names that share a Java hash code, a bucket, or sort
differently by code unit and by code point are common here. At most eight names of a case share a hash code
and no other name shares their bucket: at the ninth Java's HashMap grows out of turn or makes the bucket a
tree, which needs names chosen to that end.
"""

import random
import uuid
from collections.abc import Callable, Iterator
from typing import Any

JsonObject = dict[str, Any]
Racks = list[str | None]

STANDARD_PROTOCOLS = ("range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "stream")

_MOST_COLLIDING = 8
# Beyond the BMP, and just below it: the first sort before the second by code unit, after them by code point.
_BEYOND_BMP = ("\U0001f600", "\U0001f9ea", "\U00010348")
_HIGH_BMP = ("\uff5e", "\ufffd", "\ue000")
_FOREIGN = ("größe", "заказы", "注文", "café", "ΔΣ")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def election_cases(seed: int, count: int) -> Iterator[JsonObject]:
    rng = random.Random(seed)
    return (election_case(rng, f"e{seed}-{i}") for i in range(count))


def assignor_cases(seed: int, count: int) -> Iterator[JsonObject]:
    """Cases without a "rule": each is good for every assignor."""
    rng = random.Random(seed)
    return (assignor_case(rng, f"a{seed}-{i}") for i in range(count))


def partition_for_cases(seed: int, count: int) -> Iterator[JsonObject]:
    rng = random.Random(seed)
    return (partition_for_case(rng, f"p{seed}-{i}") for i in range(count))


def java_hash(text: str) -> int:
    """`String.hashCode`, unsigned."""
    units = text.encode("utf-16-be")
    value = 0
    for i in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[i : i + 2])) & 0xFFFFFFFF
    return value


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


def _bucket(name: str) -> int:
    """The bucket in a table of 16; names apart here stay apart in every larger table."""
    value = java_hash(name)
    return (value ^ value >> 16) & 15


def _colliding(rng: random.Random, count: int, rest: Callable[[random.Random], str]) -> list[str]:
    """Names of which up to eight share a Java hash code: "Aa" and "BB" do, and so do their combinations."""
    pairs = rng.randint(3, 5)
    same = _distinct(
        rng,
        min(count, rng.randint(2, _MOST_COLLIDING)),
        lambda r: "".join(r.choices(("Aa", "BB"), k=pairs)),
    )
    names = dict.fromkeys(same)
    while len(names) < count:
        name = rest(rng)
        if _bucket(name) != _bucket(same[0]):
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


def election_case(rng: random.Random, case_id: str) -> JsonObject:
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


# ---- assignors


def assignor_case(rng: random.Random, case_id: str) -> JsonObject:
    ids = _member_ids(rng, _group_size(rng))
    topics = _topics(rng)
    members: list[JsonObject] = [
        {"member_id": i, "instance_id": None, "topics": [], "owned": [], "generation": -1, "rack": None} for i in ids
    ]
    _subscribe(rng, members, list(topics))
    _make_static(rng, members)
    if rng.random() < 0.5:
        _give_history(rng, members, topics)
    case: JsonObject = {"id": case_id, "topics": topics, "members": members}
    if rng.random() < 0.35:
        case["racks"] = _place(rng, members, topics)
    return case


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


def _place(rng: random.Random, members: list[JsonObject], topics: dict[str, int]) -> dict[str, list[Racks]]:
    """Racks of members (set in place) and of every partition's replicas (returned)."""
    racks = [f"r{i}" for i in range(rng.randint(1, 4))]
    told = rng.choice((1.0, 0.7))
    for member in members:
        if rng.random() < told:
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


# ---- the coordinator's partition


def partition_for_case(rng: random.Random, case_id: str) -> JsonObject:
    # The hash code of the last name is the one integer that has no absolute value.
    named = rng.choice((_short, _foreign, _astral, _other_client, lambda r: "polygenelubricants"))
    partitions = rng.choice((1, 3, 50, 50, 100, rng.randint(1, 1000)))
    return {"rule": "partition-for", "id": case_id, "group_id": named(rng), "offsets_partitions": partitions}
