"""A rolling restart of a fleet, as rebalances a minute and core."""

import statistics
import time

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.simulation.simulations import Simulations
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.sources.scenarios import read_scenario
from rebalance_sim.tables import COSTS, REBALANCES

STRATEGIES = ("range", "sticky", "cooperative-sticky")
CORES = 2
LIMIT = 1_000_000


def bench_simulation(fleets: dict[int, tuple[DataFrame, DataFrame]], rounds: int) -> None:
    """Restart every consumer of fleets of several sizes, by number of groups; the last one has to reach the limit."""
    scenario, _ = read_scenario("rolling-restart")
    print("\nrolling restart of groups x 5 members x 24 partitions")
    medians: dict[tuple[str, int], float] = {}
    for strategy in STRATEGIES:
        for groups, (topics, members) in fleets.items():
            outputs = (REBALANCES.name, COSTS.name)
            simulate = Simulations(outputs, Clusters(), (strategy,), TopicMetadata.of(topics), scenario)
            rebalances = _count(simulate(members))
            seconds = []
            for _ in range(rounds):
                started = time.perf_counter()
                simulate(members).write.format("noop").mode("overwrite").save()
                seconds.append(time.perf_counter() - started)
            medians[strategy, groups] = median = statistics.median(seconds)
            rate = rebalances / median * 60 / CORES
            print(
                f"  {strategy:18} {groups:9,} groups {median:8.2f} s {rebalances:10,} rebalances "
                f"{rate:12,.0f} a minute and core (limit {LIMIT:,})"
            )
        few, many = list(fleets)
        growth = medians[strategy, many] / medians[strategy, few]
        print(f"  {strategy:18} {growth:5.2f} x the time for {many / few:.0f} x the groups")


def _count(simulated: DataFrame) -> int:
    row = simulated.agg(F.sum(f"{COSTS.name}.rebalances")).first()
    assert row is not None
    return int(row[0])
