"""Waves of pods, compared with Kubernetes' documented arithmetic and with a controller that goes pod by pod."""

import random

import pytest

from rebalance_sim.kafka.simulation.kubernetes import (
    Count,
    Deployment,
    Drain,
    StatefulSet,
    Wave,
    new_pods,
    pods_of,
    removable_pods,
)


@pytest.mark.parametrize(
    ("surge", "unavailable", "replicas", "expected"),
    [
        ("25%", "25%", 30, (8, 7)),
        ("30%", "30%", 10, (3, 3)),
        ("39%", "39%", 10, (4, 3)),
        ("0%", "0%", 10, (0, 1)),
        (0, 0, 10, (0, 1)),
        (0, "5%", 10, (0, 1)),
        ("1%", 0, 10, (1, 0)),
        ("100%", 0, 7, (7, 0)),
        (3, 2, 10, (3, 2)),
    ],
)
def test_surge_is_rounded_up_and_unavailability_down(
    surge: Count, unavailable: Count, replicas: int, expected: tuple[int, int]
) -> None:
    """If both are 0 after rounding, one pod may be unavailable."""
    assert Deployment(surge, unavailable).fenceposts(replicas) == expected


@pytest.mark.parametrize(
    ("replicas", "surge", "old", "new", "expected"),
    [(10, 0, 10, 0, 0), (10, 2, 10, 0, 2), (10, 2, 5, 0, 7), (10, 2, 10, 2, 2), (10, 3, 8, 3, 5), (10, 3, 2, 8, 10)],
)
def test_new_pods(replicas: int, surge: int, old: int, new: int, expected: int) -> None:
    """Up to maxSurge pods more than replicas, but never more new pods than replicas."""
    assert new_pods(replicas, surge, old, new) == expected


@pytest.mark.parametrize(
    ("replicas", "unavailable", "old", "new", "available", "expected"),
    [(10, 0, 10, 0, 0, 0), (10, 2, 10, 0, 0, 2), (10, 2, 8, 5, 0, 0), (10, 2, 8, 5, 3, 3), (10, 20, 10, 0, 0, 10)],
)
def test_removable_pods(replicas: int, unavailable: int, old: int, new: int, available: int, expected: int) -> None:
    """The example of the controller's source: 10 replicas, maxSurge 3, maxUnavailable 2: 8 old and 5 new pods."""
    assert removable_pods(replicas, unavailable, old, new, available) == expected


def together(waves: list[Wave]) -> list[tuple[int, int]]:
    """Return how many pods start and stop at a time if all that start together become available together."""
    found: list[tuple[int, int]] = []
    available = 0
    while True:
        due = [wave for wave in waves if wave.available <= available]
        waves = waves[len(due) :]
        counts = sum(len(wave.starts) for wave in due), sum(len(wave.stops) for wave in due)
        if counts == (0, 0):
            return found
        found.append(counts)
        available += counts[0]


@pytest.mark.parametrize(
    ("deployment", "replicas", "expected"),
    [
        (Deployment(), 30, [(15, 7), (15, 15), (0, 8)]),
        (Deployment("25%", 0), 30, [(8, 0), (8, 8), (8, 8), (6, 8), (0, 6)]),
        (Deployment(0, 1), 3, [(1, 1), (1, 1), (1, 1)]),
        (Deployment(1, 0), 3, [(1, 0), (1, 1), (1, 1), (0, 1)]),
        (Deployment("100%", 0), 4, [(4, 0), (0, 4)]),
        (Deployment(0, "100%"), 4, [(4, 4)]),
        (Deployment(3, 2), 10, [(5, 2), (5, 5), (0, 3)]),
    ],
)
def test_waves_of_a_deployment(deployment: Deployment, replicas: int, expected: list[tuple[int, int]]) -> None:
    """With 25 % each, 30 replicas take two waves of 15 new pods: 8 by surge and 7 for those that stop at once."""
    assert together(deployment.waves(replicas)) == expected


def test_the_limits_hold_at_every_step() -> None:
    """Whichever pod becomes available first: a controller that changes one pod at a time ends up with the same."""
    rng = random.Random(1)
    for _ in range(500):
        replicas = rng.randint(1, 40)
        numbers = rng.randint(0, 12), rng.randint(0, 12)
        shares = f"{rng.randint(0, 100)}%", f"{rng.randint(0, 100)}%"
        deployment = rng.choice([Deployment(*numbers), Deployment(*shares), Deployment(numbers[0], shares[0])])
        surge, unavailable = deployment.fenceposts(replicas)
        old, new, expected = replicas, 0, []
        for available in range(replicas + 1):
            while old and old + available > max(replicas - unavailable, 0):
                old -= 1
            while new < replicas and old + new < replicas + surge:
                new += 1
            # Surge pods start before any old pod stops; that changes nothing at the end of the wave.
            expected.append((new, replicas - old))
        starts = stops = 0
        for wave, counts in zip(deployment.waves(replicas), expected, strict=True):
            assert (wave.starts.start, wave.stops.start) == (starts, stops)
            starts, stops = wave.starts.stop, wave.stops.stop
            assert (starts, stops) == counts
            assert replicas - stops + starts <= replicas + surge
        assert (starts, stops) == (replicas, replicas)


def test_a_stateful_set_replaces_one_pod_at_a_time_from_the_highest_ordinal() -> None:
    waves = StatefulSet().waves(3)
    assert [(wave.available, [*wave.stops], [*wave.starts]) for wave in waves] == [
        (0, [2], [2]), (1, [1], [1]), (2, [0], [0]), (3, [], []),
    ]  # fmt: skip
    assert [wave.available for wave in StatefulSet(partition=3).waves(3)] == [0]


@pytest.mark.parametrize(
    ("drain", "expected"),
    [
        (Drain(4), [(4, 4)]),
        (Drain("50%"), [(5, 5)]),
        (Drain(4, max_unavailable=1), [(1, 1)] * 4),
        (Drain(4, max_unavailable="25%"), [(3, 3), (1, 1)]),
        (Drain(4, min_available="75%"), [(2, 2), (2, 2)]),
        (Drain(4, min_available=10), []),
    ],
)
def test_waves_of_a_drain(drain: Drain, expected: list[tuple[int, int]]) -> None:
    """Of 10 pods. Both figures of a PodDisruptionBudget are rounded up; one that allows nothing blocks the drain."""
    waves = drain.waves(10)
    assert together(waves) == expected
    assert waves[-1].available == pods_of(drain.pods, 10, rounds_up=True)
