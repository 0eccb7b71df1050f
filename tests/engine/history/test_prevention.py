"""Past episodes simulated again under other settings."""

from functools import reduce
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from rebalance_sim import prevention
from rebalance_sim.tables import GENERATION_MEMBERS, GENERATIONS, PREVENTION
from tests.support.rows import contents, table

STATIC, PROTOCOL, SESSION = "group.instance.id", "group.protocol", "session.timeout.ms"
MINUTE = 60_000


class Past:
    """The generations of a group of three members that own two partitions each, more or less."""

    def __init__(self, group_id: str = "g", instance_ids: bool = False, **columns: Any) -> None:
        self.generations: list[dict[str, Any]] = []
        self.members: list[dict[str, Any]] = []
        self._of_group = {"group_id": group_id, "recreated": 0}
        self._instances, self._columns = instance_ids, columns

    def add(self, at_ms: int | None, *members: str, episode: int = 1) -> None:
        """Add a generation: ``a.2`` is the second process of consumer a."""
        number = len(self.generations) + 1
        of_generation = {**self._of_group, "generation": number, "completed_at_ms": at_ms}
        self.generations.append(of_generation | {"type": "classic", "rewritten": False, "episode": episode})
        for place, name in enumerate(members):
            consumer = name.split(".")[0]
            self.members.append(
                of_generation
                | {
                    "member_id": name,
                    "client_id": consumer,
                    "host": "/h",
                    "instance_id": consumer if self._instances else None,
                    "join_order": min(place, 1),
                    "protocol": "range",
                    "protocols": ["range"],
                    "subscription": ["t"],
                    "session_timeout_ms": 45_000,
                    "rebalance_timeout_ms": 5 * MINUTE,
                    **self._columns,
                    "assigned": [
                        {"topic": "t", "partition": each} for each in range(6) if each % len(members) == place
                    ],
                }
            )

    def tables(self, spark: SparkSession) -> tuple[DataFrame, DataFrame]:
        return table(spark, GENERATIONS, self.generations), table(spark, GENERATION_MEMBERS, self.members)


def rolling_restart(**more: Any) -> Past:
    """Return a restart of three consumers, each away for 15 seconds."""
    past = Past(**more)
    past.add(0, "a", "b", "c")
    past.add(10 * MINUTE, "b", "c")
    past.add(10 * MINUTE + 15_000, "b", "c", "a.2")
    past.add(11 * MINUTE, "a.2", "c")
    past.add(11 * MINUTE + 15_000, "c", "a.2", "b.2")
    past.add(12 * MINUTE, "a.2", "b.2")
    past.add(12 * MINUTE + 15_000, "a.2", "b.2", "c.2")
    return past


def by_setting(spark: SparkSession, past: Past) -> dict[str, Row]:
    generations, members = past.tables(spark)
    prevented = members.transform(prevention(generations))
    assert prevented.columns == PREVENTION.names
    return {row["setting"]: row for row in prevented.collect()}


def test_static_membership_would_have_prevented_a_rolling_restarts_rebalances(spark: SparkSession) -> None:
    rows = by_setting(spark, rolling_restart())
    assert {(row["episodes"], row["generations"], row["rebalances"]) for row in rows.values()} == {(1, 6, 6)}
    assert rows[STATIC]["rebalances_saved"] == 6
    assert rows[STATIC]["failing"] == 0
    assert rows[SESSION]["rebalances_saved"] == rows[SESSION]["unowned_ms_saved"] == 0


def test_what_the_clients_lack_is_marked_and_not_simulated(spark: SparkSession) -> None:
    """kafka-go has neither static members nor the consumer protocol; Java has both."""
    java, other = (by_setting(spark, rolling_restart(client_library=name)) for name in ("java", "kafka-go"))
    assert {name for name, row in java.items() if row["possible"]} == {STATIC, PROTOCOL, SESSION}
    assert {name for name, row in other.items() if row["possible"]} == {SESSION}
    assert {name for name, row in other.items() if row["rebalances_saved"] is None} == {STATIC, PROTOCOL}
    assert other[STATIC]["rebalances"] == 6


def test_static_members_have_nothing_to_save_but_with_a_longer_session(spark: SparkSession) -> None:
    """Each is away for 70 seconds, longer than its session."""
    past = Past(instance_ids=True)
    past.add(0, "a", "b")
    past.add(10 * MINUTE, "b")
    past.add(10 * MINUTE + 70_000, "b", "a.2")
    past.add(12 * MINUTE, "a.2")
    past.add(12 * MINUTE + 70_000, "a.2", "b.2")
    rows = by_setting(spark, past)
    assert rows[STATIC]["rebalances_saved"] == rows[STATIC]["unowned_ms_saved"] == 0
    assert rows[SESSION]["rebalances_saved"] > 0


def test_a_crash_loop_is_replayed_in_parts(spark: SparkSession) -> None:
    past = Past()
    past.add(0, "a", "b")
    for restart in range(1, 61):
        past.add(restart * 2 * MINUTE, "a")
        past.add(restart * 2 * MINUTE + 20_000, "a", f"b.{restart}")
    row = by_setting(spark, past)[STATIC]
    assert (row["episodes"], row["generations"]) == (1, 120)
    assert abs(row["rebalances"] - 120) <= 4
    assert row["rebalances_saved"] >= 115


def test_scaling_cannot_be_prevented(spark: SparkSession) -> None:
    past = Past()
    past.add(0, "a")
    past.add(MINUTE, "a", "b")
    past.add(2 * MINUTE, "a", "b", "c")
    past.add(3 * MINUTE)
    row = by_setting(spark, past)[STATIC]
    assert row["rebalances_saved"] <= 1


@pytest.mark.parametrize(("cause", "is_simulated"), [("members joined and left", False), ("member restarted", True)])
def test_a_single_rebalance_is_simulated_if_a_member_came_back(
    spark: SparkSession, cause: str, is_simulated: bool
) -> None:
    past = Past()
    past.add(0, "a", "b")
    past.add(10 * MINUTE, "a", "b.2", episode=2)
    past.generations[-1]["cause"] = cause
    assert (by_setting(spark, past) != {}) == is_simulated


def test_time_between_episodes_is_not_simulated(spark: SparkSession) -> None:
    """The simulated time decides how often heartbeats are sent, and with that all times that follow."""
    soon, late = Past(), Past()
    for past, after_ms in ((soon, 10 * MINUTE), (late, 1_000 * MINUTE)):
        past.add(0, "a", "b")
        past.add(after_ms, "b", episode=2)
        past.add(after_ms + 20_000, "b", "a.2", episode=2)
    rows, same = (by_setting(spark, past) for past in (soon, late))
    assert rows == same
    assert rows[STATIC]["rebalances_saved"] == 2


def test_a_group_that_never_has_members_has_nothing_to_replay(spark: SparkSession) -> None:
    past = Past()
    past.add(0)
    past.add(MINUTE)
    assert by_setting(spark, past) == {}


def test_the_consumer_protocol_must_be_possible_with_each_library(spark: SparkSession) -> None:
    assert not by_setting(spark, rolling_restart(client_library="java;sarama"))["group.protocol"]["possible"]


def test_generations_without_a_time_are_not_replayed(spark: SparkSession) -> None:
    past = Past()
    past.add(None, "a")
    past.add(MINUTE, "a", "b")
    assert by_setting(spark, past) == {}


def test_neither_the_order_of_rows_nor_other_groups_change_the_result(spark: SparkSession) -> None:
    generations, members = rolling_restart().tables(spark)
    again = spark.createDataFrame(members.collect()[::-1], members.schema).repartition(5)
    turned = spark.createDataFrame(generations.collect()[::-1], generations.schema)
    alone = contents(members.transform(prevention(generations)))
    assert contents(again.transform(prevention(turned))) == alone
    others = [rolling_restart(group_id=f"group-{number}").tables(spark) for number in range(3)]
    among = prevention(reduce(DataFrame.union, [generations, *(each for each, _ in others)]))
    together = reduce(DataFrame.union, [*(each for _, each in others), members]).transform(among)
    assert contents(together.where("group_id = 'g'")) == alone
