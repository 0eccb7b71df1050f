"""``make bench``: elections, assignors and partitioners at fleet scale, as ratios, in one run.

The floor is what any grouping costs in Spark: ``groupBy`` and ``collect_list`` of the same columns into the noop sink.
Every round measures floor and rule in turn, so that a machine that slows down slows both. Kafka's own classes run on
one warm JVM thread.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.engine.groups.prediction import Prediction
from rebalance_sim.engine.spark.session import session
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.sources.synthetic.fleet import synthetic_fleet
from rebalance_sim.sources.synthetic.fleet_spec import load
from rebalance_sim.tables import ASSIGNMENTS, ELECTIONS
from tests.benchmarks.assignors import bench_assignors
from tests.benchmarks.commands import bench_commands
from tests.benchmarks.connect import bench_connect
from tests.benchmarks.history import bench_copy, bench_history
from tests.benchmarks.kafka_classes import bench_kafka
from tests.benchmarks.lag import bench_lag
from tests.benchmarks.latency import bench_latency
from tests.benchmarks.memory import peak_memory
from tests.benchmarks.mixed_fleets import bench_mixed_fleet
from tests.benchmarks.partitioners import bench_job, bench_keys, bench_keys_on_connect, bench_unkeyed
from tests.benchmarks.rounds import Actions, seconds
from tests.benchmarks.simulation import bench_simulation
from tests.benchmarks.streams import bench_streams
from tests.benchmarks.streams_applications import bench_applications

FLEETS = Path(__file__).parents[2] / "conf" / "fleets"
STRATEGIES = ("range", "roundrobin")
STICKY = ("sticky", "cooperative-sticky")
PARTS = (
    *("latency", "commands", "floor", "growth", "giant", "kafka", "lag", "assignors", "keys", "unkeyed", "records"),
    *("connect", "streams", "applications", "simulation", "mixed", "history", "copy"),
)
LIMITS = {"election": 1.2, "range": 1.5, "roundrobin": 1.5, "sticky": 1.7, "cooperative-sticky": 2.0}
"""Multiples of the floor."""
RESTARTED = (10_000, 100_000)
"""Groups of the fleets whose consumers are all restarted."""


@dataclass(frozen=True)
class Bench:
    """A session, started on first use, and a place for fleets."""

    folder: Path
    rounds: int

    @cached_property
    def spark(self) -> SparkSession:
        """The session."""
        return session("rebalance-sim bench")

    def fleet(self, name: str, groups: int) -> tuple[DataFrame, DataFrame]:
        """Return topics and members of a benchmark fleet, made on first use; the members are in no order."""
        made = self.made(name, groups)
        shuffled = made / "members-in-no-order"
        if not (shuffled / "_SUCCESS").exists():
            sorted_by_group = self.spark.read.parquet(str(made / "members"))
            sorted_by_group.repartition("member_id").write.mode("overwrite").parquet(str(shuffled))
        return self.spark.read.parquet(str(made / "topics")), self.spark.read.parquet(str(shuffled))

    def made(self, name: str, groups: int) -> Path:
        """Return the folder of a benchmark fleet, made on first use, whose members are sorted by group."""
        made = self.folder / f"{name}-{groups}"
        if not (made / "members" / "_SUCCESS").exists():
            fleet = synthetic_fleet(self.spark, load(str(FLEETS / f"{name}.yaml")), groups, seed=1)
            fleet.topics.write.mode("overwrite").parquet(str(made / "topics"))
            fleet.members.write.mode("overwrite").parquet(str(made / "members"))
        return made

    def seconds(self, actions: Actions) -> dict[str, list[float]]:
        """Time each action in turn."""
        return seconds(actions, self.rounds)


def floor(members: DataFrame, prediction: Prediction) -> DataFrame:
    """Group the columns that a prediction reads, and do nothing with them."""
    nested = F.collect_list(F.struct(*prediction.columns)).alias("members")
    return members.groupBy("cluster", "group_id").agg(nested)


def election() -> Prediction:
    """Elections alone."""
    return Prediction((ELECTIONS.name,), Clusters())


def assignment(strategy: str, topics: DataFrame) -> Prediction:
    """Assignments alone."""
    return Prediction((ASSIGNMENTS.name,), Clusters(), (strategy,), TopicMetadata.of(topics))


def report_ratio(title: str, groups: int, times: dict[str, list[float]], base: str, names: Sequence[str]) -> None:
    """Print each action as a multiple of the base: the median of the rounds' ratios."""
    print(f"\n{title}")
    print(f"  {base:18} {statistics.median(times[base]):8.2f} s")
    for name in names:
        ratios = [mine / theirs for mine, theirs in zip(times[name], times[base], strict=True)]
        median = statistics.median(times[name])
        print(
            f"  {name:18} {median:8.2f} s  {statistics.median(ratios):5.2f} x the floor "
            f"({min(ratios):.2f} to {max(ratios):.2f}; limit {LIMITS[name]})  {groups / median:12,.0f} groups/s"
        )


def bench_floor_ratios(bench: Bench, groups: int) -> None:
    """Elections and assignments of many small groups against the floor."""
    _, members = bench.fleet("benchmark-election", groups)
    elect = election()
    times = bench.seconds({"floor": lambda: floor(members, elect), "election": lambda: elect(members)})
    report_ratio(f"{groups:,} groups x 10 members x 3 protocols", groups, times, "floor", ["election"])

    topics, members = bench.fleet("benchmark-assignment", groups)
    rules = {strategy: assignment(strategy, topics) for strategy in STRATEGIES}
    actions: dict[str, Callable[[], DataFrame]] = {"floor": lambda: floor(members, rules["range"])}
    for strategy, rule in rules.items():
        actions[strategy] = partial(rule, members)
    title = f"{groups:,} groups x 5 members x 24 partitions"
    report_ratio(title, groups, bench.seconds(actions), "floor", STRATEGIES)

    topics, members = bench.fleet("benchmark-sticky", groups)
    rules = {strategy: assignment(strategy, topics) for strategy in STICKY}
    actions = {"floor": lambda: floor(members, rules["sticky"])}
    for strategy, rule in rules.items():
        actions[strategy] = partial(rule, members)
    title = f"{groups:,} groups x 5 members x 24 partitions, one member gone"
    report_ratio(title, groups, bench.seconds(actions), "floor", STICKY)


def bench_growth(bench: Bench, groups: int) -> None:
    """Ten times the groups."""
    times: dict[str, list[float]] = {}
    for size in (groups // 10, groups):
        _, voters = bench.fleet("benchmark-election", size)
        topics, members = bench.fleet("benchmark-assignment", size)
        actions: dict[str, Callable[[], DataFrame]] = {f"election {size:,}": partial(election(), voters)}
        for strategy in STRATEGIES:
            rule = assignment(strategy, topics)
            actions[f"{strategy} {size:,}"] = partial(rule, members)
        times |= bench.seconds(actions)
    print(f"\n{groups // 10:,} groups against {groups:,}")
    for name in ("election", *STRATEGIES):
        few = statistics.median(times[f"{name} {groups // 10:,}"])
        many = statistics.median(times[f"{name} {groups:,}"])
        print(f"  {name:12} {few:8.2f} s  {many:8.2f} s  {many / few:5.2f} x the time (limit 11)")


def bench_giant(bench: Bench) -> None:
    """One giant group among small ones: peak memory of a Python worker."""
    topics, members = bench.fleet("giant", 100_000)
    print("\n100,000 small groups and one of 10,000 members x 100,000 partitions")
    for strategy in STRATEGIES:
        rule = assignment(strategy, topics)
        with peak_memory() as peak:
            started = time.perf_counter()
            rule(members).write.format("noop").mode("overwrite").save()
            seconds = time.perf_counter() - started
        print(f"  {strategy:12} {seconds:8.2f} s  {peak.worker / 2**30:5.2f} GiB in the largest worker (limit 3)")


def bench_all_keys(bench: Bench) -> None:
    """Keys on both kinds of sessions."""
    bench_keys(bench.spark, bench.folder, bench.rounds)
    bench_keys_on_connect(bench.folder, bench.rounds)


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--groups", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "rebalance-sim-bench")
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument(
        "--before", type=Path, metavar="CHECKOUT", help="another checkout, whose commands are measured too"
    )
    options = parser.parse_args()
    bench = Bench(options.folder, options.rounds)
    parts: dict[str, Callable[[], None]] = {
        "latency": lambda: bench_latency(bench.rounds, options.before),
        "commands": lambda: bench_commands(
            bench.spark,
            {groups: bench.made("benchmark-sticky", groups) for groups in (options.groups // 10, options.groups)},
            options.before,
        ),
        "floor": lambda: bench_floor_ratios(bench, options.groups),
        "growth": lambda: bench_growth(bench, options.groups),
        "giant": lambda: bench_giant(bench),
        "kafka": lambda: bench_kafka(min(options.groups, 20_000)),
        "connect": bench_connect,
        "streams": bench_streams,
        "applications": lambda: bench_applications(bench.spark, bench.folder, options.groups // 10),
        "lag": lambda: bench_lag(bench.spark, bench.folder),
        "assignors": bench_assignors,
        "keys": lambda: bench_all_keys(bench),
        "unkeyed": lambda: bench_unkeyed(bench.spark, bench.folder, bench.rounds),
        "records": lambda: bench_job(bench.spark, bench.folder),
        "simulation": lambda: bench_simulation(
            {groups: bench.fleet("benchmark-assignment", groups) for groups in RESTARTED}, bench.rounds
        ),
        "mixed": lambda: bench_mixed_fleet(
            bench.fleet("benchmark-assignment", options.groups // 10), options.groups // 10, bench.rounds
        ),
        "history": lambda: bench_history(bench.spark, bench.folder, options.groups // 10),
        "copy": lambda: bench_copy(bench.spark, bench.folder),
    }
    for name, part in parts.items():
        if options.only in (None, name):
            part()


if __name__ == "__main__":
    main()
