"""Messages between consumers and the coordinator."""

from rebalance_sim.kafka.coordinator.classic_group import NONE, Kind
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.kernel import inner_kernel
from rebalance_sim.kafka.partitioners.thread_local_random import next_positive
from rebalance_sim.kafka.simulation.event_queue import Event, push
from rebalance_sim.kafka.simulation.model import Happening, Simulation, Subject
from rebalance_sim.kafka.simulation.timeline import tell

_SUBSCRIPTION_BITS = 31


@inner_kernel
def draw(s: Simulation, end: int) -> int:
    """Draw a number from 0 to ``end``, itself included."""
    return next_positive(s.random, 0) % (end + 1)


@inner_kernel
def travel_ms(s: Simulation) -> int:
    """Draw how long a message is on its way."""
    if s.settings.network_jitter_ms == 0:
        return s.settings.network_ms
    return s.settings.network_ms + draw(s, s.settings.network_jitter_ms)


@inner_kernel
def schedule(s: Simulation, kind: int, consumer: int, turn: int, at_ms: int) -> Event:
    """Let something happen at a time."""
    event = push(s.queue, s.places, s.events, max(at_ms, s.queue.now))
    event.kind = kind
    event.consumer = consumer
    event.turn = turn
    return event


@inner_kernel
def send(s: Simulation, i: int, kind: int, carried: int) -> None:
    """Send a request of a consumer's to the coordinator; ``carried`` is what it brings beside its identity."""
    consumer = s.consumers[i]
    event = schedule(s, Happening.REQUEST + kind, i, consumer.turn, s.queue.now + travel_ms(s))
    event.member = consumer.member
    event.generation = consumer.generation
    event.assignment = carried
    s.course.messages += 1
    if kind != Kind.HEARTBEAT:
        tell(s, Subject.REQUEST, i, consumer.member, kind, 0, 0)


@inner_kernel
def send_back(s: Simulation, i: int, turn: int, kind: int, error: int) -> Event:
    """Send an answer to a consumer."""
    event = schedule(s, Happening.ANSWER + kind, i, turn, s.queue.now + travel_ms(s))
    event.error = error
    event.member = NONE
    event.generation = NONE
    event.assignment = NONE
    s.course.messages += 1
    if kind != Kind.HEARTBEAT or error != Errors.NONE:
        tell(s, Subject.ANSWER, i, NONE, kind, error, 0)
    return event


@inner_kernel
def pack_metadata(subscription: int, owned: int) -> int:
    """Make one number of what a member tells the leader: its subscription and a row of the assignments."""
    return (owned + 1) << _SUBSCRIPTION_BITS | subscription


@inner_kernel
def nothing_of(generation: int) -> int:
    """Return what stands for no row in the metadata of a member of a generation, which tell that too (3.4 and later).

    Where a member tells of a row, the row tells of the generation.
    """
    return NONE - 1 - generation


@inner_kernel
def metadata_subscription(metadata: int) -> int:
    """Return the subscription in ``pack_metadata``."""
    return metadata & ((1 << _SUBSCRIPTION_BITS) - 1)


@inner_kernel
def metadata_owned(metadata: int) -> int:
    """Return the row in ``pack_metadata``, NONE if there is none."""
    return max((metadata >> _SUBSCRIPTION_BITS) - 1, NONE)
