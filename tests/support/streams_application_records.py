"""Records of classic applications of Kafka Streams in ``__consumer_offsets``, by hand."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from rebalance_sim.kafka.wire.consumer_protocol import (
    Assignment,
    Subscription,
    TopicPartition,
    encode_assignment,
    encode_subscription,
)
from rebalance_sim.kafka.wire.streams_protocol import (
    AssignmentInfo,
    SubscriptionInfo,
    TaskId,
    encode_assignment_info,
    encode_subscription_info,
)
from tests.support.offsets_records import Written, group, stored_member


def thread(
    name: str, process: int, active: Sequence[TaskId] = (), standby: Iterable[TaskId] = (), version: int = 11
) -> bytes:
    """Return a thread that joined without state, and the tasks of topic ``orders`` that it received."""
    sent = encode_subscription_info(SubscriptionInfo(version, UUID(int=process), version))
    parts = [TopicPartition("orders", task.partition) for task in active]
    received = AssignmentInfo(
        *(version, version, tuple(active)),
        {task: frozenset({TopicPartition("orders", task.partition)}) for task in standby},
    )
    return stored_member(
        f"{name}-1",
        (None, name),
        encode_subscription(Subscription(("orders",), sent)),
        encode_assignment(Assignment(tuple(parts), encode_assignment_info(received))),
    )


def record_of(name: str, members: Sequence[bytes], generation: int = 1) -> Written:
    """Return an application's record; the thread ``a`` leads."""
    return group(name, members, "consumer", "stream", "a-1", (generation, generation))
