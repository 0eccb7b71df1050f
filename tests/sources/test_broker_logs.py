"""Lines of brokers' logs: those of Scala's and Java's coordinator, in any layout, and those that cannot be read."""

import json
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from rebalance_sim import timings
from rebalance_sim.engine.history.log_reasons import with_log_reasons
from rebalance_sim.kafka.wire.consumer_protocol import TopicPartition
from rebalance_sim.sources.broker_logs import read_broker_logs
from rebalance_sim.sources.offsets_topic.history import read_history
from rebalance_sim.tables import GENERATIONS
from tests.sources.offsets_topic.test_history import T0, T1, T2, placed
from tests.support.offsets_records import group, member
from tests.support.rows import given_rows, table

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


JSON_LINES: dict[str, dict[str, Any]] = {
    "log4j's JsonTemplateLayout": {"@timestamp": "2026-11-29T16:23:19.036Z", "log.level": "INFO", "message": ""},
    "log4j's JsonLayout": {"instant": {"epochSecond": 1_795_969_399, "nanoOfSecond": 36_900_000}, "message": ""},
    "the same, compact": {"timeMillis": 1_795_969_399_036, "message": ""},
    "another field first": {"time": None, "timestamp": "2026-11-29 16:23:19,036", "msg": ""},
    "a container's, with the time of the line": {"log": "[2026-11-29 16:23:19,036] INFO ", "time": "2026-12-01"},
}


def test_lines_in_json(spark: SparkSession) -> None:
    """The group's id has characters that JSON escapes; a line without a time, even in its fields, is rejected."""
    message = f'{JAVA}Preparing to rebalance group "\u00e9" in state Stable with old generation 3 (reason: a "b" \\).'
    of_layouts = [
        json.dumps({name: text + message if name in ("message", "msg", "log") else text for name, text in of.items()})
        for of in JSON_LINES.values()
    ]
    bad = [
        json.dumps({"message": message, "time": "16:23"}),
        json.dumps([message]),
        json.dumps({"text": message}),
        of_layouts[0][:-1],
    ]
    for line in of_layouts:
        found = read_broker_logs(given_rows(spark, [(line,)], "value string"))
        assert [tuple(row) for row in found.steps.drop("cluster").collect()] == [
            ('"\u00e9"', "2", "1 preparing", 4, AT_MS, 'a "b" \\')
        ]
        assert found.rejects.count() == 0
    found = read_broker_logs(given_rows(spark, [(line,) for line in bad], "value string"))
    assert found.steps.count() == 0
    assert {row.row for row in found.rejects.collect()} == set(bad)


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


PREPARING = "Preparing to rebalance group g in state PreparingRebalance with old generation"
REPEATED = [line("30,900", f"{PREPARING} 3 (reason: later)."), line("30,900", f"{PREPARING} 7 (reason: no row).")]
"""A rebalance that began anew before all had joined, and one whose generation has no record."""


def test_reasons_of_generations_that_logs_may_confuse_are_unknown(spark: SparkSession) -> None:
    """A group that was created again has another generation 4, and a rewritten record is no rebalance."""
    steps = read_broker_logs(given_rows(spark, REPEATED, "value string")).steps
    rows: list[dict[str, Any]] = [
        {"group_id": "g", "recreated": 0, "generation": 4, "rewritten": False},
        {"group_id": "g", "recreated": 1, "generation": 4, "rewritten": False},
        {"group_id": "h", "recreated": 0, "generation": 4, "rewritten": False},
        {"group_id": "h", "recreated": 0, "generation": 4, "rewritten": True},
    ]
    of_h = steps.withColumn("group_id", F.lit("h"))
    found = with_log_reasons(table(spark, GENERATIONS, rows), steps.unionByName(of_h)).collect()
    shown = {(row["group_id"], row["recreated"], row["rewritten"]): row["log_reasons"] for row in found}
    assert shown == {("g", 0, False): None, ("g", 1, False): None, ("h", 0, False): ["later"], ("h", 0, True): None}


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
    lines = [
        line("20,000", "Stabilized group g generation 2 with 2 members."),
        line("20,010", "Assignment received from leader a for group g for generation 2. The group has 2 members."),
        line(
            "20,720",
            f"{PREPARING} 2 (reason: Leader a re-joining; client reason: need to revoke partitions and re-join).",
        ),
        line("21,500", "Stabilized group g generation 3 with 2 members."),
        line("30,000", f"{PREPARING} 3 (reason: explicit `LeaveGroup` request for (b) members.)."),
        line("31,000", "Stabilized group g generation 4 with 1 members."),
        line("34,500", f"{PREPARING} 4 (reason: Adding new member b2 with group instance id null; client reason: x)."),
    ]
    history = read_history([given_rows(spark, placed(records), "key binary, value binary, partition int, offset long")])
    steps = read_broker_logs(given_rows(spark, [*lines, *REPEATED], "value string")).steps
    reasons = with_log_reasons(history.generations, steps).orderBy("generation").collect()
    assert {row["generation"]: row["log_reasons"] for row in reasons} == {
        1: None,
        2: None,
        3: ["Leader a re-joining; client reason: need to revoke partitions and re-join"],
        4: ["explicit `LeaveGroup` request for (b) members.", "later"],
        5: ["Adding new member b2 with group instance id null; client reason: x"],
    }
    assert reasons[0].__fields__ == GENERATIONS.names
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
