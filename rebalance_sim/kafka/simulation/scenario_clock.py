"""The clock of a scenario: events happen at their time, counted from the end of the last wait.

Some events wait for the group, as a real rollout does. A bounce begins when the previous bounce is over: all consumers
that it restarted are members again. A controller of Kubernetes goes on when new pods are available.
"""

from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.runtime.kernel import inner_kernel
from rebalance_sim.kafka.simulation.messages import schedule
from rebalance_sim.kafka.simulation.model import (
    Consumer,
    ConsumerStep,
    EventKind,
    Presence,
    ScenarioEvent,
    ScenarioKind,
    Simulation,
    Subject,
)
from rebalance_sim.kafka.simulation.ownership import count_unowned_ms
from rebalance_sim.kafka.simulation.timeline import add_timeline_row


@inner_kernel
def begin_stage(simulation: Simulation, at_ms: int) -> None:
    """Let the next events count their time from ``at_ms``, up to the next event that waits."""
    progress = simulation.progress
    progress.stage_ms = at_ms
    progress.awaits_pods = False
    for k in range(progress.next_event, progress.events):
        event = simulation.scenario[k]
        if _waits(event):
            progress.awaits_pods = event.kind == ScenarioKind.PODS_AVAILABLE
            break
        ends_ms = at_ms + event.at_ms + event.delay_ms + _lasts_ms(simulation, event)
        progress.last_event_ms = max(progress.last_event_ms, ends_ms)
    _schedule_next_event(simulation)


@inner_kernel
def _waits(event: ScenarioEvent) -> bool:
    return bool(event.kind >= ScenarioKind.NEXT_BOUNCE)


@inner_kernel
def _lasts_ms(simulation: Simulation, event: ScenarioEvent) -> int:
    """Return the time from a scenario event to the first poll of the consumer that it concerns."""
    if event.kind in (ScenarioKind.STALL, ScenarioKind.MOVE_COORDINATOR):
        return event.value
    if event.kind == ScenarioKind.RESTART:
        return event.value + simulation.consumers[event.consumer].start_ms
    return simulation.consumers[event.consumer].start_ms if event.kind == ScenarioKind.JOIN else 0


@inner_kernel
def _schedule_next_event(simulation: Simulation) -> None:
    """Schedule the next event of the scenario, if there is another and it does not wait."""
    progress = simulation.progress
    if progress.next_event == progress.events:
        return
    event = simulation.scenario[progress.next_event]
    progress.waits = _waits(event)
    if not progress.waits:
        schedule(simulation, EventKind.SCENARIO, NONE, 0, progress.stage_ms + event.at_ms).generation = NONE


@inner_kernel
def due_event(simulation: Simulation, delayed: int) -> int:
    """Return the event of the scenario that happens now; NONE if the due event has a delay.

    ``delayed`` is an event whose delay has passed. If it is NONE, the next event is due; the following is scheduled.
    """
    if delayed != NONE:
        return delayed
    progress = simulation.progress
    k = progress.next_event
    progress.next_event += 1
    progress.first_event_ms = min(progress.first_event_ms, simulation.queue.now)
    _schedule_next_event(simulation)
    delay_ms = simulation.scenario[k].delay_ms
    if delay_ms == 0:
        return k
    schedule(simulation, EventKind.SCENARIO, NONE, 0, simulation.queue.now + delay_ms).generation = k
    return NONE


@inner_kernel
def end_wait(simulation: Simulation) -> None:
    """Go on with the scenario if it waits, and what it waits for has happened."""
    progress = simulation.progress
    while progress.waits and _is_reached(simulation, simulation.scenario[progress.next_event]):
        count_unowned_ms(simulation)
        event = simulation.scenario[progress.next_event]
        event.reached_ms = simulation.queue.now
        event.rebalances, event.failed = progress.begun, progress.failed
        event.unowned_ms, event.moved, event.moved_back = progress.unowned_ms, progress.moved, progress.moved_back
        progress.waits = False
        progress.next_event += 1
        add_timeline_row(simulation, Subject.EVENT, NONE, NONE, event.kind, 0, event.value)
        begin_stage(simulation, simulation.queue.now)


@inner_kernel
def _is_reached(simulation: Simulation, event: ScenarioEvent) -> bool:
    if event.kind == ScenarioKind.PODS_AVAILABLE:
        return bool(simulation.progress.available >= event.value)
    return _bounce_is_over(simulation)


@inner_kernel
def _bounce_is_over(simulation: Simulation) -> bool:
    """Return whether the group is stable, every partition has an owner, and no consumer is still on its way back."""
    if not simulation.progress.stable:
        return False
    for i in range(simulation.progress.consumers):
        if _is_on_its_way(simulation.consumers[i]):
            return False
    return True


@inner_kernel
def _is_on_its_way(consumer: Consumer) -> bool:
    """Return whether a consumer is down for its restart, has not joined yet, closes, or has failed."""
    if consumer.presence == Presence.RUNS:
        return consumer.generation <= 0 or consumer.step == ConsumerStep.CLOSING
    return consumer.presence == Presence.RETURNS or consumer.failure != Errors.NONE
