"""The events of a simulation that are still to come, in the order of their times; at the same time first come first."""

from rebalance_sim.kafka.kernel import inner_kernel
from rebalance_sim.kafka.records import Records


class Event:
    """Something that happens to a consumer or at the coordinator."""

    kind: int
    consumer: int
    turn: int
    """The process, the wait or the series of heartbeats that it belongs to; it counts only for the same one."""
    member: int
    generation: int
    error: int
    protocol: int
    assignment: int
    """A row of the assignments, or what a request carries."""
    lists_members: bool
    skips_assignment: bool


class Place:
    """A place in the queue, which is a binary heap; behind its end are the numbers of free events."""

    at_ms: int
    order: int
    event: int


class Queue:
    """How far a queue is filled."""

    length: int
    pushed: int
    now: int
    places: int
    """Events that there is room for; ``events`` has one place more."""


@inner_kernel
def push(queue: Queue, places: Records[Place], events: Records[Event], at_ms: int) -> Event:
    """Put in an event, for the caller to fill."""
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
    """Take out the next event and set the clock to its time; it stays readable behind the others."""
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
