"""The program's answers to the cases about protocol bytes, in the form of Kafka's answers."""

from collections.abc import Callable

from rebalance_sim.kafka.wire.consumer_protocol import (
    NEWEST_VERSION,
    Assignment,
    StickyUserData,
    Subscription,
    TopicPartition,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_cooperative_user_data,
    encode_sticky_user_data,
    encode_subscription,
    member_data,
)
from rebalance_sim.kafka.wire.readable import SchemaError
from rebalance_sim.releases import kafka_version
from tests.support.cases import JsonObject


def subscription_of(member: JsonObject, user_data: bytes | None = None) -> Subscription:
    generation = None if member["generation"] < 0 else member["generation"]
    return Subscription(tuple(member["topics"]), user_data, owned_of(member), generation, member["rack"])


def owned_of(member: JsonObject) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(*pair) for pair in member["owned"])


def written(version: str, member: JsonObject) -> JsonObject:
    """Return the encoded bytes of a member, in hexadecimal digits."""
    kafka = kafka_version(version)
    since_2_4 = version not in ("1.0", "2.3")
    generation = member["generation"]
    sticky = encode_sticky_user_data(StickyUserData(owned_of(member), None if version == "1.0" else generation), kafka)
    versions = range(NEWEST_VERSION + 1 if since_2_4 else 1)

    def subscriptions(user_data: bytes | None) -> list[str]:
        subscription = subscription_of(member, user_data)
        return [encode_subscription(subscription, protocol_version, kafka).hex() for protocol_version in versions]

    def assignments(user_data: bytes | None) -> list[str]:
        given = Assignment(owned_of(member), user_data)
        return [encode_assignment(given, protocol_version, kafka).hex() for protocol_version in versions]

    return {
        "sticky_user_data": sticky.hex(),
        "cooperative_user_data": encode_cooperative_user_data(generation).hex() if since_2_4 else None,
        "subscriptions": subscriptions(None),
        "subscriptions_with_user_data": subscriptions(sticky),
        "assignments": assignments(None),
        "assignments_with_user_data": assignments(sticky),
    }


def read(case: JsonObject) -> JsonObject | str:
    """Return the decoded fields, or the error."""
    try:
        return _READERS[case["rule"]](bytes.fromhex(case["bytes"]))
    except SchemaError as problem:
        return str(problem)


def same_reading(answer: JsonObject, ours: JsonObject | str) -> bool:
    """Return whether Kafka decoded the same; it inserts replacement characters into names that are not UTF-8."""
    if isinstance(ours, str):
        return "error" in answer or "not UTF-8" in ours
    if "not UTF-8" in (ours.get("error") or ""):
        return True
    if ours.pop("error", None):
        # Kafka then uses the generation of a consumer that has not joined yet.
        ours["generation"] = -1
    return ours == {name: value for name, value in answer.items() if name != "id"}


def _pairs(partitions: tuple[TopicPartition, ...] | None) -> list[list[str | int]]:
    return [list(partition) for partition in partitions or ()]


def _subscription(data: bytes) -> JsonObject:
    subscription = decode_subscription(data)
    return {
        "topics": list(subscription.topics),
        "user_data": None if subscription.user_data is None else subscription.user_data.hex(),
        "owned": _pairs(subscription.owned),
        "generation": subscription.generation,
        "rack": subscription.rack,
    }


def _assignment(data: bytes) -> JsonObject:
    given = decode_assignment(data)
    user_data = None if given.user_data is None else given.user_data.hex()
    return {"partitions": _pairs(given.partitions), "user_data": user_data}


def _member_data(data: bytes, protocol: str) -> JsonObject:
    found = member_data(decode_subscription(data), protocol)
    return {"owned": _pairs(found.owned), "generation": found.generation, "error": found.error}


_READERS: dict[str, Callable[[bytes], JsonObject]] = {
    "read-subscription": _subscription,
    "read-assignment": _assignment,
    "read-sticky": lambda data: _member_data(data, "sticky"),
    "read-cooperative-sticky": lambda data: _member_data(data, "cooperative-sticky"),
}
