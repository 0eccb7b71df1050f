"""Records of classic applications of Kafka Streams in ``__consumer_offsets``, by hand."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from rebalance_sim.kafka.wire.consumer_protocol import (
    Assignment,
    Subscription,
    TopicPartition,
    encode_assignment,
    encode_subscription,
)
from rebalance_sim.kafka.wire.streams_protocol import (
    NEWEST_STREAMS_VERSION,
    NO_REBALANCE,
    AssignmentInfo,
    SubscriptionInfo,
    TaskId,
    encode_assignment_info,
    encode_subscription_info,
)
from tests.support.offsets_records import Written, group, stored_member


def thread(
    name: str,
    process: int,
    active: Sequence[TaskId] = (),
    standby: Iterable[TaskId] = (),
    *,
    offset_sums: Mapping[TaskId, int] | None = None,
    probing_at: int = NO_REBALANCE,
) -> bytes:
    """Return a thread that joined with some state, and the tasks of topic ``orders`` that it received."""
    version = NEWEST_STREAMS_VERSION
    sent = encode_subscription_info(SubscriptionInfo(version, UUID(int=process), version, offset_sums or {}))
    parts = [TopicPartition("orders", task.partition) for task in active]
    received = AssignmentInfo(
        *(version, version, tuple(active)),
        {task: frozenset({TopicPartition("orders", task.partition)}) for task in standby},
        next_rebalance_ms=probing_at,
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
