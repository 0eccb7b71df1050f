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
    hole: bool
    """Whether the event at the top has been taken, and its slot is not filled yet."""
    places: int
    """Capacity in events; ``events`` has one element more."""


@inner_kernel
def push(queue: Queue, places: Records[Place], events: Records[Event], at_ms: int) -> Event:
    """Add an event, and return it for the caller to fill in.

    If the top is free it goes there: a message arrives soon after the event that sends it.
    """
    order = queue.pushed
    queue.pushed += 1
    if queue.hole:
        queue.hole = False
        event = places[0].event
        _sink(places, queue.length, at_ms, order, event)
        return events[event]
    here = queue.length
    event = places[here].event
    queue.length += 1
    while here > 0:
        above = (here - 1) >> 1
        if places[above].at_ms <= at_ms:
            break
        _move(places, here, above)
        here = above
    _put(places[here], at_ms, order, event)
    return events[event]


@inner_kernel
def pop(queue: Queue, places: Records[Place], events: Records[Event]) -> Event:
    """Remove the next event and set the clock to its time; the event stays readable until the next call.

    The queue must have been filled up (``fill_up``).
    """
    queue.now = max(queue.now, places[0].at_ms)
    queue.hole = True
    events[queue.places] = events[places[0].event]
    return events[queue.places]


@inner_kernel
def fill_up(queue: Queue, places: Records[Place]) -> None:
    """Move the next event to the top, unless a new one has taken the place of the last."""
    if not queue.hole:
        return
    queue.hole = False
    queue.length -= 1
    taken, last = places[0].event, queue.length
    _sink(places, last, places[last].at_ms, places[last].order, places[last].event)
    places[last].event = taken


@inner_kernel
def _sink(places: Records[Place], length: int, at_ms: int, order: int, event: int) -> None:
    """Put an event at the top of the first slots, and move it down to where it belongs."""
    here = 0
    while True:
        below = 2 * here + 1
        if below >= length:
            break
        if below + 1 < length and _before(places, below + 1, below):
            below += 1
        if places[below].at_ms > at_ms or (places[below].at_ms == at_ms and places[below].order > order):
            break
        _move(places, here, below)
        here = below
    _put(places[here], at_ms, order, event)


@inner_kernel
def _move(places: Records[Place], to: int, origin: int) -> None:
    """Copy a slot by its fields: compiled code copies a small record byte by byte, and waits for the bytes later."""
    _put(places[to], places[origin].at_ms, places[origin].order, places[origin].event)


@inner_kernel
def _put(place: Place, at_ms: int, order: int, event: int) -> None:
    place.at_ms, place.order, place.event = at_ms, order, event


@inner_kernel
def _before(places: Records[Place], a: int, b: int) -> bool:
    if places[a].at_ms != places[b].at_ms:
        return places[a].at_ms < places[b].at_ms
    return places[a].order < places[b].order
