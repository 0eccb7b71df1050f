"""The waves of a rollout by Kubernetes: the pods that stop and start once enough new ones are available.

The rules are those of the deployment controller (``pkg/controller/deployment``, ``NewRSNewReplicas``,
``reconcileOldReplicaSets``, ``ResolveFenceposts``), of the StatefulSet controller (``updateStatefulSet``), and of
evictions under a PodDisruptionBudget.
"""

from dataclasses import dataclass
from math import ceil, floor

Count = int | str
"""A number of pods, or a share of all pods such as ``25%``."""


@dataclass(frozen=True)
class Wave:
    """The pods that start and stop as soon as enough new pods are available; pods have numbers from 0."""

    available: int
    """How many new pods must be available."""
    starts: range
    """The new pods that are created; a pod of this number replaces the old one."""
    stops: range
    """The old pods that receive SIGTERM."""


def pods_of(count: Count, replicas: int, rounds_up: bool) -> int:
    """Return a number of pods, of which a share is rounded (``GetScaledIntOrPercentValue``).

    >>> pods_of("25%", 30, True), pods_of("25%", 30, False), pods_of(3, 30, True)
    (8, 7, 3)
    """
    if isinstance(count, int):
        return count
    exact = replicas * int(count.removesuffix("%")) / 100
    return ceil(exact) if rounds_up else floor(exact)


@dataclass(frozen=True)
class Deployment:
    """A Deployment with the strategy RollingUpdate, and its defaults."""

    max_surge: Count = "25%"
    max_unavailable: Count = "25%"

    def fenceposts(self, replicas: int) -> tuple[int, int]:
        """Return maxSurge and maxUnavailable as pods (``ResolveFenceposts``).

        >>> Deployment().fenceposts(30), Deployment("10%", 0).fenceposts(0), Deployment(0, "10%").fenceposts(4)
        ((8, 7), (0, 1), (0, 1))
        """
        surge = pods_of(self.max_surge, replicas, rounds_up=True)
        unavailable = pods_of(self.max_unavailable, replicas, rounds_up=False)
        # Both are 0 only after rounding: without the one, the rollout could not begin.
        return (surge, unavailable) if surge or unavailable else (0, 1)

    def waves(self, replicas: int) -> list[Wave]:
        """Return the waves of a rolling update, one for each new pod that becomes available.

        >>> [(wave.available, len(wave.starts), len(wave.stops)) for wave in Deployment().waves(4)]
        [(0, 2, 1), (1, 1, 1), (2, 1, 1), (3, 0, 1), (4, 0, 0)]
        """
        surge, unavailable = self.fenceposts(replicas)
        started = stopped = 0
        found = []
        for available in range(replicas + 1):
            first_started, first_stopped = started, stopped
            started = new_pods(replicas, surge, replicas - stopped, started)
            stopped += removable_pods(replicas, unavailable, replicas - stopped, started, available)
            started = new_pods(replicas, surge, replicas - stopped, started)
            found.append(Wave(available, range(first_started, started), range(first_stopped, stopped)))
        return found


def new_pods(replicas: int, surge: int, old: int, new: int) -> int:
    """Return the size that a Deployment gives its new ReplicaSet (``NewRSNewReplicas``)."""
    allowed = replicas + surge - (old + new)
    return new if allowed <= 0 else new + min(allowed, replicas - new)


def removable_pods(replicas: int, unavailable: int, old: int, new: int, available: int) -> int:
    """Return how many available old pods a Deployment removes (``reconcileOldReplicaSets``)."""
    most_unavailable = min(unavailable, replicas)
    least_available = replicas - most_unavailable
    if old + new - least_available - (new - available) <= 0:
        return 0
    return max(min(old, old + available - least_available), 0)


@dataclass(frozen=True)
class StatefulSet:
    """A StatefulSet with the strategy RollingUpdate."""

    partition: int = 0
    """Pods with a lower ordinal are not updated."""

    def waves(self, replicas: int) -> list[Wave]:
        """Return the waves: one pod after the other, from the highest ordinal down; each keeps its name.

        >>> [(wave.available, *wave.stops) for wave in StatefulSet(1).waves(4)]
        [(0, 3), (1, 2), (2, 1), (3,)]
        """
        updated = range(replicas - 1, self.partition - 1, -1)
        waves = [Wave(done, range(pod, pod + 1), range(pod, pod + 1)) for done, pod in enumerate(updated)]
        return [*waves, Wave(len(updated), range(0), range(0))]


@dataclass(frozen=True)
class Drain:
    """A drained node with some pods of a Deployment; evictions respect the Deployment's PodDisruptionBudget."""

    pods: Count
    max_unavailable: Count | None = None
    min_available: Count | None = None
    """Like ``max_unavailable``, of the PodDisruptionBudget; without either, all pods are evicted at once."""

    def waves(self, replicas: int) -> list[Wave]:
        """Return the waves: a pod is evicted as soon as the budget allows it, and replaced on another node.

        >>> [(wave.available, *wave.stops) for wave in Drain(3, max_unavailable=1).waves(10)]
        [(0, 0), (1, 1), (2, 2), (3,)]
        """
        evicted = min(pods_of(self.pods, replicas, rounds_up=True), replicas)
        allowed = min(self.disruptions_allowed(replicas), evicted)
        ends = [min(allowed + available, evicted) if allowed else 0 for available in range(evicted + 1)]
        chosen = [range(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]
        return [Wave(available, pods, pods) for available, pods in enumerate(chosen)]

    def disruptions_allowed(self, replicas: int) -> int:
        """Return how many pods may be unavailable at a time; both figures of a budget are rounded up.

        >>> Drain(3, min_available="90%").disruptions_allowed(15), Drain(3).disruptions_allowed(15)
        (1, 15)
        """
        if self.max_unavailable is not None:
            return min(pods_of(self.max_unavailable, replicas, rounds_up=True), replicas)
        if self.min_available is not None:
            return max(replicas - pods_of(self.min_available, replicas, rounds_up=True), 0)
        return replicas


@dataclass(frozen=True)
class PodTimes:
    """How long the pods of a rollout take, in milliseconds."""

    start_ms: int = 5000
    """From the creation of a pod to the start of its process: scheduling, image, init containers."""
    shutdown_ms: int = 0
    """From SIGTERM until the application closes its consumer."""
    grace_ms: int = 30_000
    """terminationGracePeriodSeconds: then the process is killed."""


@dataclass(frozen=True)
class Rollout:
    """How the pods of a group are replaced."""

    kind: Deployment | StatefulSet | Drain
    times: PodTimes = PodTimes()
    replicas: int | None = None
    """Number of pods, to which the consumers of a group are distributed; None: each consumer has a pod of its own."""
