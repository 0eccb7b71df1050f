"""Encoding and decoding of the consumer protocol: Kafka's own bytes, round trips and malformed bytes."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_sim.kafka.wire.consumer_protocol import (
    COOPERATIVE_STICKY,
    NEWEST_VERSION,
    STICKY,
    Assignment,
    MemberData,
    StickyUserData,
    Subscription,
    TopicPartition,
    decode_assignment,
    decode_cooperative_user_data,
    decode_sticky_user_data,
    decode_subscription,
    encode_assignment,
    encode_cooperative_user_data,
    encode_sticky_user_data,
    encode_subscription,
    member_data,
)
from rebalance_sim.kafka.wire.readable import SchemaError
from rebalance_sim.releases import KafkaVersion, kafka_version
from tests.oracle.protocol_cases import spoilt
from tests.support.cases import golden
from tests.support.model import VERSIONS
from tests.support.protocol_bytes import owned_of, read, same_reading, subscription_of, written
from tests.support.strategies import distinct_names

DECODERS: tuple[Callable[[bytes], object], ...] = (
    decode_subscription,
    decode_assignment,
    decode_sticky_user_data,
    decode_cooperative_user_data,
    lambda data: member_data(decode_subscription(data), None),
    lambda data: member_data(decode_subscription(data), STICKY),
    lambda data: member_data(decode_subscription(data), COOPERATIVE_STICKY),
)
P0 = TopicPartition("t", 0)
INT32 = st.integers(-(2**31), 2**31 - 1)


# ---- Kafka's own bytes


@pytest.mark.parametrize("version", VERSIONS)
def test_the_encoded_bytes_are_those_of_kafka(version: str) -> None:
    cases, answers = golden("cases-write-bytes"), golden(f"write-bytes-{version}")
    pairs = [(case["members"][0], answer["members"][0]) for case, answer in zip(cases, answers, strict=True)]
    assert [member for member, bytes_ in pairs if written(version, member) != bytes_] == []


@pytest.mark.parametrize("version", VERSIONS)
def test_kafkas_bytes_are_decoded(version: str) -> None:
    for case, answer in zip(golden("cases-write-bytes"), golden(f"write-bytes-{version}"), strict=True):
        member, bytes_ = case["members"][0], answer["members"][0]
        sticky = bytes.fromhex(bytes_["sticky_user_data"])
        decoded = decode_sticky_user_data(sticky)
        assert sorted(decoded.partitions) == sorted(owned_of(member))
        assert decoded.generation == (None if version == "1.0" else member["generation"])
        for name, user_data in (("", None), ("_with_user_data", sticky)):
            for protocol_version, data in enumerate(bytes_[f"subscriptions{name}"]):
                expected = subscription_of(member, user_data)
                assert decode_subscription(bytes.fromhex(data)) == as_told(expected, protocol_version, version)
            for data in bytes_[f"assignments{name}"]:
                assignment = decode_assignment(bytes.fromhex(data))
                assert sorted(assignment.partitions) == sorted(owned_of(member))
                assert assignment.user_data == user_data


@pytest.mark.parametrize("version", ["3.9", "4.3"])
def test_malformed_bytes_are_decoded_as_kafka_does(version: str) -> None:
    cases, answers = golden("cases-read-bytes"), golden(f"read-bytes-{version}")
    ours = [(case, answer, read(case)) for case, answer in zip(cases, answers, strict=True)]
    assert [trio for trio in ours if not same_reading(*trio[1:])] == []


def as_told(subscription: Subscription, protocol_version: int, kafka: str = "4.3") -> Subscription:
    """Return the fields of a subscription that this version contains."""

    def utf16(name: str) -> bytes:
        return name.encode("utf-16-be")

    topics, owned = subscription.topics, subscription.owned or ()
    return Subscription(
        topics if kafka in ("1.0", "2.3") else tuple(sorted(topics, key=utf16)),
        subscription.user_data,
        tuple(sorted(owned, key=lambda owned: (utf16(owned[0]), owned[1]))) if protocol_version >= 1 else None,
        subscription.generation if protocol_version >= 2 else None,
        (subscription.rack or None) if protocol_version >= 3 else None,
    )


# ---- round trips

TOPICS = st.integers(0, 20).flatmap(distinct_names)
PARTITIONS = TOPICS.flatmap(
    lambda names: st.lists(st.builds(TopicPartition, st.sampled_from(names or ["t"]), INT32), max_size=30).map(tuple)
)
USER_DATA = st.none() | st.binary(max_size=20)
SUBSCRIPTIONS = st.builds(
    Subscription,
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=5).map(tuple),
    USER_DATA,
    st.none() | PARTITIONS,
    st.none() | st.integers(0, 2**31 - 1),
    st.none() | st.text("aé😀", max_size=3),
)
KAFKAS = st.sampled_from(VERSIONS).map(kafka_version)


@given(SUBSCRIPTIONS, st.integers(0, NEWEST_VERSION), st.sampled_from(VERSIONS))
def test_subscriptions_survive_a_round_trip(subscription: Subscription, protocol_version: int, kafka: str) -> None:
    if not kafka_version(kafka).cooperative:
        protocol_version = 0  # Consumers before 2.4 know no other.
    data = encode_subscription(subscription, protocol_version, kafka_version(kafka))
    back = decode_subscription(data)
    assert back == as_told(subscription, protocol_version, kafka)
    if subscription.rack != "":
        assert encode_subscription(back, protocol_version, kafka_version(kafka)) == data


@pytest.mark.parametrize(("kafka", "order"), [("2.8.0", ["BB", "Aa"]), ("2.8.1", ["Aa", "BB"])])
def test_owned_partitions_are_sorted_since_2_8_1(kafka: str, order: list[str]) -> None:
    """Before, their topics are in the order of a hash map: these two share a bucket, whose head is the newer one."""
    sent = Subscription((), None, (TopicPartition("Aa", 0), TopicPartition("BB", 0)))
    owned = decode_subscription(encode_subscription(sent, 1, kafka_version(kafka))).owned
    assert owned is not None
    assert [partition.topic for partition in owned] == order


@pytest.mark.parametrize("kafka", ["2.0.1", "2.1.0", "3.9.2", "4.3.1"])
def test_each_encoding_of_sticky_user_data_may_turn_topics_round(kafka: str) -> None:
    """So what was decoded must not be encoded again: these topics share a bucket, whose head is the newer one."""
    given = (TopicPartition("t00", 0), TopicPartition("t11", 0))
    once = decode_sticky_user_data(encode_sticky_user_data(StickyUserData(given, 5), kafka_version(kafka)))
    twice = decode_sticky_user_data(encode_sticky_user_data(once, kafka_version(kafka)))
    turned = kafka != "2.0.1"
    assert once.partitions == (given[::-1] if turned else given)
    assert twice.partitions == given


@given(PARTITIONS, USER_DATA, st.integers(0, NEWEST_VERSION), KAFKAS)
def test_assignments_survive_a_round_trip(
    partitions: tuple[TopicPartition, ...], user_data: bytes | None, protocol_version: int, kafka: KafkaVersion
) -> None:
    back = decode_assignment(encode_assignment(Assignment(partitions, user_data), protocol_version, kafka))
    assert sorted(back.partitions) == sorted(partitions)
    assert back.user_data == user_data


@given(PARTITIONS, st.none() | INT32, KAFKAS)
def test_sticky_user_data_survives_a_round_trip(
    partitions: tuple[TopicPartition, ...], generation: int | None, kafka: KafkaVersion
) -> None:
    back = decode_sticky_user_data(encode_sticky_user_data(StickyUserData(partitions, generation), kafka))
    assert sorted(back.partitions) == sorted(partitions)
    assert back.generation == generation
    by_topic = {topic: [p for t, p in partitions if t == topic] for topic, _ in partitions}
    assert {topic: [p for t, p in back.partitions if t == topic] for topic, _ in back.partitions} == by_topic


@given(INT32)
def test_cooperative_user_data_survives_a_round_trip(generation: int) -> None:
    assert decode_cooperative_user_data(encode_cooperative_user_data(generation)) == generation


# ---- malformed bytes


def test_changed_bytes_give_a_value_or_a_schema_error(seed: int) -> None:
    rng = random.Random(seed)
    whole = [bytes.fromhex(case["bytes"]) for case in golden("cases-read-bytes")]
    values = errors = 0
    for _ in range(5000):
        data = spoilt(rng, rng.choice(whole))
        for decode in DECODERS:
            try:
                decode(data)
                values += 1
            except SchemaError:
                errors += 1
    assert values > 5000
    assert errors > 5000


@given(st.binary(max_size=60))
def test_any_bytes_give_a_value_or_a_schema_error(data: bytes) -> None:
    decoded = []
    for decode in DECODERS:
        try:
            decode(data)
        except SchemaError as problem:
            decoded.append(str(problem))
    assert "" not in decoded


def test_truncated_bytes_are_an_error() -> None:
    subscription = encode_subscription(Subscription(("a", "b"), b"12", (P0, TopicPartition("u", 3)), 7, "r"))
    assignment = encode_assignment(Assignment((P0, TopicPartition("u", 3)), b"12"))
    for decode, data in ((decode_subscription, subscription), (decode_assignment, assignment)):
        decode(data)
        for end in range(len(data)):
            with pytest.raises(SchemaError, match=r"expected at byte|array of"):
                decode(data[:end])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "subscription: version: 2 bytes expected at byte 0, 0 are left"),
        ("ffff00000000ffffffff", "subscription: version: -1 is not supported at byte 0"),
        ("00007fffffff0000", "subscription: topics: array of 2147483647 items, 2 bytes are left at byte 2"),
        ("0000ffffffff", "subscription: topics: array of -1 items, 0 bytes are left at byte 2"),
        ("000000000001ffff", "subscription: topics: string without a length at byte 6"),
        ("000000000001000261ff", "subscription: topics: string that is not UTF-8 at byte 9"),
        ("0000000000007fffffff", "subscription: user_data: 2147483647 bytes expected at byte 10, 0 are left"),
        ("000100000000ffffffff000000010001740000000200000000", "owned_partitions: array of 2 items, 4 bytes are left"),
    ],
)
def test_errors_name_the_field_the_value_and_the_position(data: str, message: str) -> None:
    with pytest.raises(SchemaError) as problem:
        decode_subscription(bytes.fromhex(data))
    assert message in str(problem.value)


def test_newer_versions_are_decoded_as_the_newest_known() -> None:
    subscription = Subscription(("t",), None, (P0,), 1, "r")
    newest = encode_subscription(subscription)
    assert decode_subscription(b"\x00\x09" + newest[2:] + b"a field of version 9") == subscription
    assert encode_subscription(subscription, 9) == newest
    assignment = Assignment((P0,))
    assert decode_assignment(b"\x7f\xff" + encode_assignment(assignment)[2:] + b"more") == assignment


def test_values_out_of_range_are_not_encoded() -> None:
    with pytest.raises(SchemaError, match="too long"):
        encode_subscription(Subscription(("x" * 32768,)))
    with pytest.raises(SchemaError, match="32 bits"):
        encode_assignment(Assignment((TopicPartition("t", 2**31),)))
    with pytest.raises(SchemaError, match="no UTF-8 form"):
        encode_subscription(Subscription(("\ud800",)))
    with pytest.raises(SchemaError, match="version -1"):
        encode_subscription(Subscription(()), -1)


# ---- the earlier assignment as the leader sees it

LAST = encode_sticky_user_data(StickyUserData((P0,), 4))
LAST_OF_1_0 = encode_sticky_user_data(StickyUserData((P0,)))
GENERATION_4 = encode_cooperative_user_data(4)
U1 = TopicPartition("u", 1)


@pytest.mark.parametrize(
    ("subscription", "protocol", "expected"),
    [
        # Sticky: the user data only.
        (Subscription((), LAST, (), 9), STICKY, MemberData((P0,), 4)),
        (Subscription((), LAST, (U1,), 9), STICKY, MemberData((P0,), 4)),
        (Subscription((), LAST_OF_1_0), STICKY, MemberData((P0,), None)),
        (Subscription((), None, (U1,), 9), STICKY, MemberData((), None)),
        (Subscription((), b"", (U1,), 9), STICKY, MemberData((), None)),
        # Cooperative-sticky: the subscription, and the generation of version 1 from the user data.
        (Subscription((), GENERATION_4, (P0,), 9), COOPERATIVE_STICKY, MemberData((P0,), 9)),
        (Subscription((), GENERATION_4, (P0,)), COOPERATIVE_STICKY, MemberData((P0,), 4)),
        (Subscription((), None, (P0,)), COOPERATIVE_STICKY, MemberData((P0,), None)),
        # Other assignors: the subscription only.
        (Subscription((), LAST, (U1,), 9), "range", MemberData((U1,), 9)),
        (Subscription((), LAST), "range", MemberData(None, None)),
        # Unknown protocol.
        (Subscription((), LAST, (), 9), None, MemberData((P0,), 4)),
        (Subscription((), LAST), None, MemberData((P0,), 4)),
        (Subscription((), LAST_OF_1_0), None, MemberData((P0,), None)),
        (Subscription((), LAST, (U1,), 9), None, MemberData((U1,), 9)),
        (Subscription((), LAST + b"more", (), 9), None, MemberData((), 9)),
        (Subscription((), b"something else", (), 9), None, MemberData((), 9)),
        (Subscription((), bytes.fromhex("000000010000000000010000000000000004"), (), 9), None, MemberData((), 9)),
        (Subscription((), bytes.fromhex("000000010001740000000000000004"), (), 9), None, MemberData((), 9)),
        (Subscription((), GENERATION_4, (P0,)), None, MemberData((P0,), 4)),
        (Subscription((), GENERATION_4, ()), None, MemberData((), 4)),
        (Subscription((), bytes(4), ()), None, MemberData((), 0)),
        (Subscription((), bytes(4)), None, MemberData((), None)),
        (Subscription(()), None, MemberData(None, None)),
    ],
)
def test_each_assignor_reads_owned_partitions_from_its_fields(
    subscription: Subscription, protocol: str | None, expected: MemberData
) -> None:
    assert member_data(subscription, protocol) == expected


@pytest.mark.parametrize(("protocol", "owned"), [(STICKY, ()), (COOPERATIVE_STICKY, (U1,))])
def test_malformed_user_data_counts_as_no_assignment(protocol: str, owned: tuple[TopicPartition, ...]) -> None:
    decoded = member_data(Subscription((), b"\x7f", (U1,)), protocol)
    assert (decoded.owned, decoded.generation) == (owned, None)
    assert decoded.error == f"{protocol} user data: " + (
        "previous_assignment: 4 bytes expected at byte 0, 1 are left"
        if protocol == STICKY
        else "generation: 4 bytes expected at byte 0, 1 are left"
    )
