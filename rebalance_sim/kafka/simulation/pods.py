"""Pods of a rollout: a new one is available once it has been ready for some time."""

from rebalance_sim.kafka.runtime.kernel import inner_kernel
from rebalance_sim.kafka.simulation.messages import set_timer
from rebalance_sim.kafka.simulation.model import EventKind, Simulation


@inner_kernel
def start_pod(simulation: Simulation, i: int) -> None:
    """Let the pod of a consumer that starts become ready, unless that takes partitions or no rollout waits for it."""
    if not simulation.progress.awaits_pods:
        return
    simulation.consumers[i].unready = True
    if not simulation.settings.ready_when_assigned:
        _become_ready(simulation, i)


@inner_kernel
def assign_to_pod(simulation: Simulation, i: int) -> None:
    """Let the pod of a consumer that has been assigned partitions become ready."""
    if simulation.consumers[i].unready:
        _become_ready(simulation, i)


@inner_kernel
def _become_ready(simulation: Simulation, i: int) -> None:
    simulation.consumers[i].unready = False
    set_timer(simulation, EventKind.AVAILABLE, i, simulation.queue.now + simulation.settings.ready_ms, 0)


@inner_kernel
def make_available(simulation: Simulation, i: int) -> None:
    """Count the pod of a consumer as available."""
    simulation.consumers[i].available = True
    simulation.progress.available += 1


@inner_kernel
def stop_pod(simulation: Simulation, i: int) -> None:
    """Stop counting the pod of a consumer whose process ends."""
    consumer = simulation.consumers[i]
    simulation.progress.available -= int(consumer.available)
    consumer.unready = consumer.available = False
