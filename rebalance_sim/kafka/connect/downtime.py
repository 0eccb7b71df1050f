"""How long the connectors and tasks of a simulated Connect cluster do not run."""

from collections import Counter
from collections.abc import Iterable

from rebalance_sim.kafka.wire.connect_protocol import ConnectorTaskId

Resource = str | ConnectorTaskId
"""A connector, or a task."""


class Downtimes:
    """The time during which configured connectors and tasks run on no worker.

    >>> downtimes = Downtimes({"sink"}, ["sink"])
    >>> downtimes.stop(["sink"], 1_000)
    >>> downtimes.start(["sink"], 4_000)
    >>> downtimes.total_ms["sink"], downtimes.longest_ms
    (3000, 3000)
    """

    def __init__(self, configured: Iterable[Resource], running: Iterable[Resource]) -> None:
        self.running = Counter(running)
        self.down = {resource: 0 for resource in configured if not self.running[resource]}
        """Since when each resource is down."""
        self.configured = set(configured)
        self.total_ms: Counter[Resource] = Counter()
        self.longest_ms = 0
        self.starts = 0

    def configure(self, configured: set[Resource], now_ms: int) -> None:
        """Change what is configured; what is new is down from now on."""
        for resource in self.configured - configured:
            self._end(resource, now_ms)
        self.configured = configured
        for resource in configured:
            if not self.running[resource]:
                self.down.setdefault(resource, now_ms)

    def stop(self, resources: Iterable[Resource], now_ms: int) -> None:
        """Let workers stop resources that they run."""
        for resource in resources:
            self.running[resource] -= 1
            if self.running[resource] == 0 and resource in self.configured:
                self.down[resource] = now_ms

    def start(self, resources: Iterable[Resource], now_ms: int) -> None:
        """Let workers start resources."""
        for resource in resources:
            self.running[resource] += 1
            self.starts += 1
            self._end(resource, now_ms)

    def end(self, now_ms: int) -> None:
        """Count what is still down up to the end of the simulation; it stays down."""
        for resource in list(self.down):
            since_ms = self.down[resource]
            self._end(resource, now_ms)
            self.down[resource] = since_ms

    def _end(self, resource: Resource, now_ms: int) -> None:
        if resource in self.down:
            lasted_ms = now_ms - self.down.pop(resource)
            self.total_ms[resource] += lasted_ms
            self.longest_ms = max(self.longest_ms, lasted_ms)
