"""Requests and responses between consumers and the coordinator, and the delay of each."""

from rebalance_sim.kafka.coordinator.classic.classic_group import EMPTY_ASSIGNMENT, NONE, Answer, RequestKind
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel_in_place
from rebalance_sim.kafka.runtime.thread_local_random import next_positive
from rebalance_sim.kafka.simulation.event_queue import Event, push
from rebalance_sim.kafka.simulation.model import EventKind, Simulation, Subject
from rebalance_sim.kafka.simulation.timeline import add_timeline_row

_SUBSCRIPTION_BITS = 31


@inner_kernel
def draw(simulation: Simulation, end: int) -> int:
    """Draw a random number from 0 to ``end``, inclusive."""
    return next_positive(simulation.random, 0) % (end + 1)


@inner_kernel
def travel_ms(simulation: Simulation) -> int:
    """Draw the network delay of one message."""
    if simulation.settings.network_jitter_ms == 0:
        return simulation.settings.network_ms
    return simulation.settings.network_ms + draw(simulation, simulation.settings.network_jitter_ms)


@kernel_in_place
def schedule(simulation: Simulation, kind: int, consumer: int, incarnation: int, at_ms: int) -> Event:
    """Schedule an event, at the earliest now, and return it for the caller to fill in."""
    event = push(simulation.queue, simulation.places, simulation.events, max(at_ms, simulation.queue.now))
    event.kind = kind
    event.consumer = consumer
    event.incarnation = incarnation
    return event


@inner_kernel
def set_timer(simulation: Simulation, kind: int, i: int, at_ms: int, series: int) -> None:
    """Schedule an event of a consumer's current incarnation; its handler ignores it if ``series`` is outdated."""
    schedule(simulation, kind, i, simulation.consumers[i].incarnation, at_ms).generation = series


@inner_kernel
def send(simulation: Simulation, i: int, kind: int, payload: int) -> None:
    """Send a consumer's request to the coordinator; ``payload`` is its content beside member id and generation."""
    consumer = simulation.consumers[i]
    arrival_ms = simulation.queue.now + travel_ms(simulation)
    event = schedule(simulation, EventKind.REQUEST + kind, i, consumer.incarnation, arrival_ms)
    event.member = consumer.member
    event.generation = consumer.generation
    event.assignment = payload
    simulation.progress.messages += 1
    if kind != RequestKind.HEARTBEAT:
        add_timeline_row(simulation, Subject.REQUEST, i, consumer.member, kind, 0, 0)


@kernel_in_place
def send_back(simulation: Simulation, i: int, incarnation: int, kind: int, error: int, from_ms: int) -> Event:
    """Send a response to a consumer, and return it for the caller to fill in."""
    event = schedule(simulation, EventKind.ANSWER + kind, i, incarnation, from_ms + travel_ms(simulation))
    event.error = error
    event.member = NONE
    event.generation = NONE
    event.assignment = NONE
    simulation.progress.messages += 1
    if kind != RequestKind.HEARTBEAT or error != Errors.NONE:
        add_timeline_row(simulation, Subject.ANSWER, i, NONE, kind, error, 0)
    return event


@kernel_in_place
def count_ignored_answer(simulation: Simulation) -> None:
    """Count a response that no consumer reacts to, which needs no event; its delay is drawn as that of any other."""
    travel_ms(simulation)
    simulation.progress.messages += 1


@kernel_in_place
def sender(request: int, consumers: int) -> tuple[int, int]:
    """Return the consumer that sent a request, and its incarnation."""
    return request % consumers, request // consumers


@kernel_in_place
def send_answer(simulation: Simulation, answer: Answer, from_ms: int) -> Event:
    """Send a coordinator's answer, and return it for the caller to fill in the assignment."""
    i, incarnation = sender(answer.request, simulation.progress.consumers)
    sent = send_back(simulation, i, incarnation, answer.kind, answer.error, from_ms)
    sent.member = answer.member
    sent.generation = answer.generation
    sent.lists_members = answer.lists_members
    sent.skips_assignment = answer.skips_assignment
    sent.assignment = EMPTY_ASSIGNMENT
    return sent


@inner_kernel
def pack_metadata(subscription: int, owned: int) -> int:
    """Pack the metadata of a JoinGroup, the subscription and an assignment row, into one number."""
    return (owned + 1) << _SUBSCRIPTION_BITS | subscription


@inner_kernel
def no_owned_row(generation: int) -> int:
    """Return the row number that means "owns nothing" in the metadata of a member with this generation.

    The generation makes the metadata differ from those of an earlier join, as ``ConsumerProtocolSubscription`` version
    2 does (KIP-792, 3.4). Where a member owns a row, the row itself implies the generation.
    """
    return NONE - 1 - generation


@inner_kernel
def metadata_subscription(metadata: int) -> int:
    """Return the subscription in packed metadata."""
    return metadata & ((1 << _SUBSCRIPTION_BITS) - 1)


@inner_kernel
def metadata_owned(metadata: int) -> int:
    """Return the assignment row in packed metadata, NONE if the member owns nothing."""
    return max((metadata >> _SUBSCRIPTION_BITS) - 1, NONE)
