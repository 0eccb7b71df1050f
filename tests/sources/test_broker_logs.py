"""Lines of brokers' logs: those of Scala's and Java's coordinator, in any layout, and those that cannot be read."""

from pyspark.sql import SparkSession

from rebalance_sim import timings
from rebalance_sim.kafka.wire.consumer_protocol import TopicPartition
from rebalance_sim.sources.broker_logs import read_broker_logs
from rebalance_sim.sources.offsets_topic.history import read_history
from tests.sources.offsets_topic.test_history import T0, T1, T2, placed
from tests.support.offsets_records import group, member
from tests.support.rows import given_rows

SCALA = "INFO [GroupCoordinator 1]: "
JAVA = "[GroupCoordinator id=2 topic=__consumer_offsets partition=5] "
OF_CLASS = " (kafka.coordinator.group.GroupCoordinator)"
SCALA_LINES = [
    f"[2026-11-29 16:23:19,036] {SCALA}Preparing to rebalance group a b in state PreparingRebalance with old "
    "generation 3 (__consumer_offsets-5) (reason: Removing member c-1 on LeaveGroup; client reason: not (yet) "
    f"provided){OF_CLASS}",
    f"[2026-11-29 16:23:20,040] {SCALA}Stabilized group a b generation 4 (__consumer_offsets-5) with 2 members"
    f"{OF_CLASS}",
    f"[2026-11-29 16:23:20,041] {SCALA}Assignment received from leader for group a b for generation 4{OF_CLASS}",
]
JAVA_LINES = [
    f"2026-11-29T16:23:19.036Z broker-2 {JAVA}Preparing to rebalance group g in state PreparingRebalance with old "
    "generation 3 (reason: explicit `LeaveGroup` request for (c-1) members.).",
    f"2026-11-29T16:23:20.040Z broker-2 {JAVA}Stabilized group g generation 4 with 2 members.",
    f"2026-11-29T16:23:20.041Z broker-2 {JAVA}Assignment received from leader c-2 for group g for generation 4. The "
    "group has 2 members, 0 of which are static.",
]
UNTIMED, UNFINISHED = "Stabilized group g generation 4", "[2026-11-29 16:23:20,041] Preparing to rebalance group g soon"
BAD = {
    UNTIMED: "'Stabilized group' without a date and a time with milliseconds before it",
    UNFINISHED: "'Preparing to rebalance group' without a group and a generation after it",
}
AT_MS = 1_795_969_399_036


def test_lines_of_both_coordinators(spark: SparkSession) -> None:
    """A line that occurs twice, in two copies of a log, counts once; other lines are skipped."""
    lines = [*SCALA_LINES, *JAVA_LINES, *JAVA_LINES, *BAD, "", "[2026-11-29 16:23:20,041] INFO Stopped (kafka.Server)"]
    found = read_broker_logs(given_rows(spark, [(line,) for line in lines], "value string"))
    leaving = {
        "a b": "Removing member c-1 on LeaveGroup; client reason: not (yet) provided",
        "g": "explicit `LeaveGroup` request for (c-1) members.",
    }
    assert sorted(map(tuple, found.steps.drop("cluster").collect())) == [
        row
        for name, broker in (("a b", "1"), ("g", "2"))
        for row in (
            (name, broker, "1 preparing", 4, AT_MS, leaving[name]),
            (name, broker, "2 stabilized", 4, AT_MS + 1_004, None),
            (name, broker, "3 assigned", 4, AT_MS + 1_005, None),
        )
    ]
    assert {row.row: (row.table, row.reason) for row in found.rejects.collect()} == {
        line: ("broker_logs", reason) for line, reason in BAD.items()
    }


def line(second: str, message: str) -> tuple[str]:
    return (f"[2026-11-29 16:00:{second}] INFO {JAVA}{message}",)


def test_times_of_logs(spark: SparkSession) -> None:
    """Member a has to revoke partitions, b leaves and comes back; the log says when each began a rebalance."""

    def generation(number: int, *members: bytes) -> tuple[bytes, bytes | None]:
        return group("g", members, protocol="cooperative-sticky", leader="a", at=(number, 10_000 * number))

    def of(
        name: str, *assigned: TopicPartition, owned: tuple[TopicPartition, ...] = (), client: str = "app-1"
    ) -> bytes:
        return member(name, ("t",), assigned, sent=owned, client=(None, client))

    records = [
        generation(1, of("a", T0, T1, T2)),
        generation(2, of("a", T0, T1, owned=(T0, T1, T2)), of("b", client="app-2")),
        generation(3, of("a", T0, T1, owned=(T0, T1)), of("b", T2, client="app-2")),
        generation(4, of("a", T0, T1, T2, owned=(T0, T1))),
        generation(5, of("a", T0, T1, T2, owned=(T0, T1, T2)), of("b2", client="app-2")),
    ]
    preparing = "Preparing to rebalance group g in state PreparingRebalance with old generation"
    lines = [
        line("20,000", "Stabilized group g generation 2 with 2 members."),
        line("20,010", "Assignment received from leader a for group g for generation 2. The group has 2 members."),
        line(
            "20,720",
            f"{preparing} 2 (reason: Leader a re-joining; client reason: need to revoke partitions and re-join).",
        ),
        line("21,500", "Stabilized group g generation 3 with 2 members."),
        line("30,000", f"{preparing} 3 (reason: explicit `LeaveGroup` request for (b) members.)."),
        line("31,000", "Stabilized group g generation 4 with 1 members."),
        line("34,500", f"{preparing} 4 (reason: Adding new member b2 with group instance id null; client reason: x)."),
    ]
    history = read_history([given_rows(spark, placed(records), "key binary, value binary, partition int, offset long")])
    found = history.generation_members.transform(
        timings(history.generations, history.episodes, given_rows(spark, lines, "value string"))
    )
    of_group = found.where("workload IS NULL AND source = 'broker logs'")
    rows = of_group.select("timing", "bound", "count", "min_ms", "max_ms").orderBy("timing").collect()
    assert list(map(tuple, rows)) == [
        ("assign", "measured", 1, 10, 10),
        ("join", "measured", 2, 780, 1_000),
        ("return", "measured", 1, 4_500, 4_500),
        ("revoke", "measured", 1, 710, 710),
    ]
