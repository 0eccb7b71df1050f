"""
Generate random cases for the bytes of the consumer protocol.

Members have up to forty topics, so that the hash maps in which consumers group them grow (past 12 and past 24), and
list partitions in random order, so that the last one may or may not add a new topic. Names share hash codes, but at
most seven per bucket: `computeIfAbsent` turns a bucket into a tree at its eighth key, `put` at its ninth.
"""

import random
from collections.abc import Iterator

from tests.oracle.random_cases import JsonObject, bucket, drawn
from tests.support.java import java_hash

READ_RULES = ("read-subscription", "read-assignment", "read-sticky", "read-cooperative-sticky")

_COLLIDING = tuple(a + b + c for a in ("Aa", "BB") for b in ("Aa", "BB") for c in ("Aa", "BB"))
_MOST_COLLIDING = 7
_STEMS = ("orders", "t", "größe", "注文", "\U0001f600", "\uff5e", "\ue000", "a.b-c_")
_RACKS = (None, None, "", "r1", "eu-west-1a", "注文")


@drawn("w")
def write_cases(rng: random.Random, case_id: str) -> JsonObject:
    """A member to be encoded."""
    return {"rule": "write-bytes", "id": case_id, "members": [_member(rng)]}


def read_cases(seed: int, answers: list[JsonObject], count: int) -> Iterator[JsonObject]:
    """Return bytes to be decoded: Kafka's answers to `write_cases`, most of them truncated or changed."""
    rng = random.Random(seed)
    for i in range(count):
        rule = rng.choice(READ_RULES)
        written = rng.choice(rng.choice(answers)["members"])
        what = "assignments" if rule == "read-assignment" else "subscriptions"
        with_user_data = "_with_user_data" if rng.random() < 0.7 else ""
        data = bytes.fromhex(rng.choice(written[what + with_user_data]))
        if rule == "read-cooperative-sticky" and rng.random() < 0.5:
            data = _subscription_of_old_cooperative(data, bytes.fromhex(written["cooperative_user_data"]))
        yield {"rule": rule, "id": f"r{seed}-{i}", "bytes": (data if i % 5 == 0 else spoilt(rng, data)).hex()}


def spoilt(rng: random.Random, data: bytes) -> bytes:
    """Return bytes with some removed, added or changed."""
    spoiling = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at = rng.randrange(len(spoiling) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            del spoiling[at:]
        elif kind == 1:
            del spoiling[at : at + rng.randint(1, 4)]
        elif kind == 2:
            spoiling[at:at] = rng.randbytes(rng.randint(1, 6))
        elif kind == 3:
            spoiling[at : at + 4] = rng.choice((0, 1, 2, 3, 255, 2**31 - 1, 2**32 - 1, 2**31)).to_bytes(4)
        elif kind == 4:
            spoiling[at : at + 2] = rng.choice((0, 1, 2, 3, 4, 9, 2**15 - 1, 2**16 - 1)).to_bytes(2)
        elif at < len(spoiling):
            spoiling[at] = rng.choice((0, 1, 2, 3, 4, 127, 255, spoiling[at] ^ 1 << rng.randrange(8)))
    return bytes(spoiling)


def _subscription_of_old_cooperative(data: bytes, user_data: bytes) -> bytes:
    """Return a subscription of version 1 to one topic, with its generation in the user data."""
    return b"\0\1" + bytes.fromhex("00000001000174") + len(user_data).to_bytes(4) + user_data + b"\0\0\0\0" + data[:3]


def _member(rng: random.Random) -> JsonObject:
    names = _names(rng, rng.choice((0, 1, 2, rng.randint(3, 11), 12, 13, rng.randint(12, 26), rng.randint(20, 40))))
    return {
        "member_id": "m",
        "instance_id": None,
        "topics": rng.sample(names, rng.randint(0, len(names))),
        "owned": _partitions(rng, names),
        "generation": rng.choice((-1, 0, rng.randint(1, 500), 2**31 - 1)),
        "rack": rng.choice(_RACKS),
    }


def _partitions(rng: random.Random, names: list[str]) -> list[list[str | int]]:
    owned: list[list[str | int]] = [[name, _partition(rng)] for name in names for _ in range(rng.choice((1, 1, 2, 4)))]
    if rng.random() < 0.5:
        rng.shuffle(owned)
    return owned


def _partition(rng: random.Random) -> int:
    return rng.choice((rng.randint(0, 9), rng.randint(0, 300), 2**31 - 1))


def _names(rng: random.Random, count: int) -> list[str]:
    colliding = rng.sample(_COLLIDING, rng.choice((0, 0, min(count, rng.randint(2, _MOST_COLLIDING)))))
    taken = {bucket(java_hash(name)) for name in colliding}
    names = dict.fromkeys(colliding)
    while len(names) < count:
        name = f"{rng.choice(_STEMS)}{rng.randint(0, 99)}"
        if bucket(java_hash(name)) not in taken:
            names[name] = None
    mixed = list(names)
    rng.shuffle(mixed)
    return mixed
