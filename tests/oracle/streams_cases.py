"""
Random cases for the task assignor of streams groups (KIP-1071): subtopologies, members in processes, and what they had.

At most seven ids share a bucket, so that no bucket of a map becomes a tree.
"""

import random
from collections.abc import Sequence

from tests.oracle.random_cases import JsonObject, bucket, drawn
from tests.support.java import java_hash

_SAME_HASH = ("Aa", "BB")
_MOST_ALIKE = 7


def agreed(answers: Sequence[JsonObject]) -> JsonObject:
    """Return the answer that all calls with a case have, or that it is undetermined."""
    given = answers[0]
    if any(answer != given for answer in answers):
        return {"id": given["id"], "error": "undetermined"}
    return {name: value for name, value in given.items() if name in ("id", "assignment", "error")}


@drawn("t")
def streams_cases(rng: random.Random, case_id: str) -> JsonObject:
    """A group; most have had tasks before, in all stages from balanced to chaotic."""
    size = rng.choice((1, 3, 8, 24, 60))
    count = rng.randint(1, size)
    topology = {
        name: {"tasks": rng.randint(1, rng.choice((2, 8, 40))), "stateful": rng.random() < 0.6}
        for name in _subtopology_ids(rng)
    }
    processes = _ids(rng, rng.choice((1, 2, max(count // 3, 1), count, count)))
    members: list[JsonObject] = [{"member_id": name, "process_id": rng.choice(processes)} for name in _ids(rng, count)]
    for member in members:
        member["instance_id"] = f"i-{member['member_id']}" if rng.random() < 0.2 else None
        member["rack"] = rng.choice((None, "r0", "r1"))
        member["client_tags"] = rng.choice(({}, {"zone": rng.choice("ab")}))
    _give(rng, topology, members)
    return {
        "rule": "streams-sticky",
        "id": case_id,
        "subtopologies": topology,
        "standby_replicas": rng.choice((0, 0, 1, 1, 2, 3)),
        "members": members,
    }


def _subtopology_ids(rng: random.Random) -> list[str]:
    """Return ids as Kafka Streams gives them, or any others, in any order."""
    count = rng.choice((1, 1, 2, 3, 5, 12))
    names = (
        [str(i) for i in range(count)] if rng.random() < 0.8 else [f"{rng.getrandbits(20):x}é" for _ in range(count)]
    )
    names = list(dict.fromkeys(names))
    rng.shuffle(names)
    return names


def _ids(rng: random.Random, count: int) -> list[str]:
    """Return distinct ids: UUIDs, short names, or names of which some share a hash code or a bucket."""
    kind = rng.random()
    if kind < 0.6:
        return [f"{rng.getrandbits(128):032x}" for _ in range(count)]
    if kind < 0.8:
        return [f"m{i}" for i in range(count)]
    names: dict[str, None] = {}
    full: dict[int, int] = {}
    while len(names) < count:
        name = "".join(rng.choice((*_SAME_HASH, "x")) for _ in range(3)) + str(rng.randint(0, count))
        place = bucket(java_hash(name))
        if name not in names and full.get(place, 0) < _MOST_ALIKE:
            names[name] = None
            full[place] = full.get(place, 0) + 1
    return list(names)


def _give(rng: random.Random, topology: JsonObject, members: list[JsonObject]) -> None:
    """Give members what they had, and offsets of tasks on their disks."""
    tasks = [(name, p) for name, one in topology.items() for p in range(one["tasks"])]
    # What the topology does not have, or no longer.
    tasks += [(name, one["tasks"]) for name, one in topology.items() if rng.random() < 0.2]
    if rng.random() < 0.2:
        tasks.append(("gone", 0))
    had = rng.sample(members, rng.randint(0, len(members)))
    density, again = rng.choice((0.0, 0.3, 0.9, 1.0)), rng.choice((0.0, 0.0, 0.1))
    standbys, of_others = rng.choice((0.0, 0.3, 1.0)), rng.choice((0, 1, 2, 4))
    reported = rng.choice((0.0, 0.0, 0.2, 0.7))
    for name, partition in tasks:
        if had and rng.random() < density:
            active = [rng.choice(had)] + ([rng.choice(had)] if rng.random() < again else [])
            for member in active:
                _append(member, "active", name, partition)
        if had and rng.random() < standbys:
            for member in rng.sample(had, min(rng.randint(0, of_others), len(had))):
                _append(member, "standby", name, partition)
        if rng.random() < 0.05:
            _append(rng.choice(members), "warmup", name, partition)
        for member in members:
            if rng.random() < reported * min(1, 4 / len(members)):
                offset = rng.choice((0, 5, 5, rng.randint(0, 10**12)))
                member.setdefault("offsets", {}).setdefault(name, {})[str(partition)] = offset


def _append(member: JsonObject, kind: str, name: str, partition: int) -> None:
    listed: list[int] = member.setdefault(kind, {}).setdefault(name, [])
    if partition not in listed:
        listed.append(partition)
