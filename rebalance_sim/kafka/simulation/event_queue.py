"""The pending events of a simulation, ordered by time; events of the same time keep the order in which they were
pushed.
"""

from rebalance_sim.kafka.runtime.kernel import inner_kernel
from rebalance_sim.kafka.runtime.records import Records


class Event:
    """A timer that expires, a message that arrives, or an event of the scenario."""

    kind: int
    consumer: int
    incarnation: int
    """The incarnation of the consumer that the event belongs to; a later incarnation ignores it. For events at the
    coordinator: the coordinator load that the event belongs to."""
    member: int
    generation: int
    """For a request or response: the generation or member epoch. For a timer: the wait, heartbeat series or poll that
    it belongs to; the handler ignores it once the next has begun."""
    error: int
    protocol: int
    assignment: int
    """An assignment row, or the payload of a request."""
    lists_members: bool
    skips_assignment: bool


class Place:
    """A slot of the queue, which is a binary heap; the slots behind its end hold the numbers of free events."""

    at_ms: int
    order: int
    event: int


class Queue:
    """The fill level of a queue, and its clock."""

    length: int
    pushed: int
    now: int
    places: int
    """Capacity in events; ``events`` has one element more."""


@inner_kernel
def push(queue: Queue, places: Records[Place], events: Records[Event], at_ms: int) -> Event:
    """Add an event, and return it for the caller to fill in."""
    here = queue.length
    event, order = places[here].event, queue.pushed
    queue.length += 1
    queue.pushed += 1
    while here > 0:
        above = (here - 1) >> 1
        if places[above].at_ms <= at_ms:
            break
        places[here] = places[above]
        here = above
    place = places[here]
    place.at_ms, place.order, place.event = at_ms, order, event
    return events[event]


@inner_kernel
def pop(queue: Queue, places: Records[Place], events: Records[Event]) -> Event:
    """Remove the next event and set the clock to its time; the event stays readable until the next call."""
    queue.now = max(queue.now, places[0].at_ms)
    taken = places[0].event
    queue.length -= 1
    last = queue.length
    at_ms, order, event = places[last].at_ms, places[last].order, places[last].event
    here = 0
    while True:
        below = 2 * here + 1
        if below >= last:
            break
        if below + 1 < last and _before(places, below + 1, below):
            below += 1
        if places[below].at_ms > at_ms or (places[below].at_ms == at_ms and places[below].order > order):
            break
        places[here] = places[below]
        here = below
    place = places[here]
    place.at_ms, place.order, place.event = at_ms, order, event
    places[last].event = taken
    events[queue.places] = events[taken]
    return events[queue.places]


@inner_kernel
def _before(places: Records[Place], a: int, b: int) -> bool:
    if places[a].at_ms != places[b].at_ms:
        return places[a].at_ms < places[b].at_ms
    return places[a].order < places[b].order
