"""Subscriptions and assignments of many members against the functions for one of them."""

import random
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from rebalance_sim.kafka.groups import Assignments
from rebalance_sim.kafka.runtime.strings import Strings
from rebalance_sim.kafka.wire.consumer_batches import decode_subscriptions, encode_assignments
from rebalance_sim.kafka.wire.consumer_protocol import (
    Assignment,
    Subscription,
    TopicPartition,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from rebalance_sim.kafka.wire.readable import SchemaError
from tests.oracle.protocol_cases import spoilt, write_cases
from tests.support.arrays import ints, offsets
from tests.support.protocol_bytes import owned_of, subscription_of

MEMBERS = [case["members"][0] for case in write_cases(5, 300)]


def column(values: list[bytes]) -> Strings:
    return Strings.over(offsets(map(len, values)), np.frombuffer(b"".join(values), np.uint8))


def decoded(values: list[bytes]) -> list[Subscription | None]:
    """Return what ``decode_subscriptions`` makes of each, None if malformed; it has no user data."""
    found = decode_subscriptions(column(values))
    names, racks, lists, owned = found.names.to_list(), found.racks.to_list(), found.subscriptions, found.owned
    assert len(set(names)) == len(names)
    numbers: dict[tuple[str, ...], int] = {}
    subscriptions: list[Subscription | None] = []
    for m, (low, high) in enumerate(pairwise(owned.offsets)):
        of, generation = int(lists.of_members[m]), int(found.generations[m])
        sent = Subscription(
            tuple(names[topic] for topic in lists.topics[lists.offsets[of] : lists.offsets[of + 1]]),
            None,
            tuple(TopicPartition(names[owned.topics[k]], int(owned.partitions[k])) for k in range(low, high)),
            None if generation < 0 else generation,
            racks[m] or None,
        )
        if found.malformed[m]:
            assert sent == Subscription((), owned=())
        else:
            assert numbers.setdefault(sent.topics, of) == of
        subscriptions.append(None if found.malformed[m] else sent)
    return subscriptions


def one_by_one(values: list[bytes]) -> list[Subscription | None]:
    def of(data: bytes) -> Subscription | None:
        try:
            read = decode_subscription(data)
        except SchemaError:
            return None
        return Subscription(read.topics, None, read.owned or (), read.generation, read.rack)

    return list(map(of, values))


@pytest.mark.parametrize("spoil", [lambda _, data: data, spoilt])
def test_subscriptions_are_decoded_as_one_by_one(spoil: Callable[[random.Random, bytes], bytes]) -> None:
    rng = random.Random(6)
    versions = [(subscription_of(member, rng.choice((None, b"", b"data"))), rng.randrange(4)) for member in MEMBERS]
    sent = [spoil(rng, encode_subscription(*version)) for version in versions for _ in range(rng.randint(1, 3))]
    sent += [bytes(rng.choice((0, 0, 0, 1, 255)) for _ in range(rng.randint(0, 30))) for _ in range(1000)]
    rng.shuffle(sent)
    assert decoded(sent) == one_by_one(sent)


def test_names_that_are_not_utf_8_are_malformed() -> None:
    rng = random.Random(7)
    odd = "\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"
    names = [("aaaaaaa" * rng.randrange(3) + rng.choice(odd)).encode() for _ in range(2000)]
    bits = [bytes(byte ^ (rng.random() < 0.2) << rng.randrange(8) for byte in name) for name in names]
    surrogates_and_long = [b"\xed\xa0\x80", b"\xc0\x80", b"\xe0\x80\x80", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80"]
    sent = [bytes(2) + b"\0\0\0\1" + len(name).to_bytes(2) + name + bytes(4) for name in bits + surrogates_and_long]
    assert decoded(sent) == one_by_one(sent)


def test_no_subscription_is_decoded() -> None:
    assert decoded([]) == []


def test_assignments_are_encoded_as_one_by_one() -> None:
    given = [owned_of(member) for member in MEMBERS]
    names = list({topic: None for partitions in given for topic, _ in partitions})
    arrays = Assignments(
        offsets(map(len, given)),
        ints(names.index(topic) for partitions in given for topic, _ in partitions),
        ints(number for partitions in given for _, number in partitions),
    )
    encoded = encode_assignments(arrays, Strings.of(names))
    found = [encoded.data[low:high].tobytes() for low, high in pairwise(encoded.offsets)]
    assert found == [encode_assignment(Assignment(partitions)) for partitions in given]
