"""What is assumed of Connect clusters: by the jobs ``connect`` and ``audit``."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.tables.inputs import fit
from rebalance_sim.kafka.connect.leader import DEFAULT_MAX_DELAY_MS
from rebalance_sim.kafka.connect.simulation import SESSION_TIMEOUT_MS
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.tables import WORKERS
from rebalance_sim.wording import plural

MEMORY = (
    "the leader of each cluster remembers what runs now; what is configured and runs nowhere is lost if a delay is "
    "pending, and new otherwise"
)
MIRRORED = (
    "connectors of MirrorMaker 2 have the release of their workers, and know the topics and groups of their source "
    "clusters that are given, and no others; the brokers there are those of --kafka-version, or of --clusters"
)
_UNKNOWN = {
    "max_delay_ms": (
        "the value of scheduled.rebalance.max.delay.ms",
        f"the default, {DEFAULT_MAX_DELAY_MS:,}, is used",
    ),
    "session_timeout_ms": ("the value of session.timeout.ms", f"the default, {SESSION_TIMEOUT_MS:,}, is used"),
    "client_version": ("the release", "that of --client-version, or of the brokers, is used"),
}
"""Columns that rows of workers may lack: what they have, and what is assumed."""


def assumed_of_workers(workers: DataFrame) -> list[str]:
    """Return which columns rows of workers do not have, and what is used."""
    unknown = [F.count_if(F.col(name).isNull()).alias(name) for name in _UNKNOWN]
    counts = fit(workers, WORKERS).agg(*unknown).first()
    assert counts is not None
    return [
        f"{what} of {plural(counts[name], 'worker')} is unknown: {used}"
        for name, (what, used) in _UNKNOWN.items()
        if counts[name]
    ]


def assumed_times(scenario: Scenario | None) -> list[str]:
    """Return what a scenario assumes of the times of workers."""
    if scenario is None:
        return []
    times = scenario.settings
    return [
        f"workers rejoin within heartbeat_interval_ms {times.heartbeat_interval_ms}, and join start_ms {times.start_ms}"
        " after their process has started; connectors and tasks start and stop at once"
    ]
