"""Consumers without an application start, join and are answered within the ranges that a simulation assumes."""

import statistics

import pytest

from rebalance_sim.kafka.simulation.latencies import BY_SETTING
from tests.support.cluster.measured_latencies import LIBRARIES, REQUESTS, SAMPLES, measure, table

pytestmark = [pytest.mark.cluster, pytest.mark.alone]


def test_bare_consumers_are_within_the_ranges(tmp_path_factory: pytest.TempPathFactory) -> None:
    measured = measure(tmp_path_factory.mktemp("latencies"))
    print(table(measured))
    assert tuple(measured) == LIBRARIES
    for of in measured.values():
        assert (len(of.start_ms), len(of.join_ms), len(of.request_ms)) == (SAMPLES, SAMPLES, SAMPLES * REQUESTS)
        assert statistics.median(of.start_ms) < BY_SETTING["start_ms"].longest_ms
        # A request goes there and back.
        assert statistics.median(of.request_ms) < 2 * BY_SETTING["network_ms"].longest_ms
