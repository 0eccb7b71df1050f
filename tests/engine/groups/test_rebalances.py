"""The rebalances of cooperative members as tables."""

from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from rebalance_sim.api.groups import assign, cooperative_rebalances, last_rebalance, partitions_long
from rebalance_sim.engine.groups.prediction import ELECTED, Prediction
from rebalance_sim.engine.tables.inputs import fit, fit_topics, usable
from rebalance_sim.engine.tables.outcomes import outcome
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.kafka.rebalances import MOST_REBALANCES
from rebalance_sim.tables import ASSIGNMENTS, BALANCE, COOPERATIVE_REBALANCES, LAST_ASSIGNMENTS, MEMBERS
from tests.support.rows import member, members, topics

ONLY = ["cooperative-sticky"]


def owner(member_id: str, owned: str, **more: Any) -> dict[str, Any]:
    """Make a member of topic t that owns some of its partitions."""
    partitions = [{"topic": "t", "partition": int(number)} for number in owned]
    return {"owned": partitions, "generation": 4} | member(member_id, more.pop("protocols", ONLY), ["t"], **more)


def predicted(spark: SparkSession, given: DataFrame, strategy: str) -> tuple[list[Row], dict[str, Row]]:
    """Return rows of cooperative_rebalances, in order, and of balance, by group.

    The first of them are the assignments, and the last are what members have in the end.
    """
    metadata = TopicMetadata.of(usable(fit_topics(topics(spark, t=6, u=2))))
    outputs = (ASSIGNMENTS.name, COOPERATIVE_REBALANCES.name, LAST_ASSIGNMENTS.name, BALANCE.name)
    rows = Prediction(outputs, Clusters(Brokers("4.3")), (strategy,), metadata)(usable(fit(given, MEMBERS))).cache()
    order = ("group_id", "member_id")
    assigned = rows.transform(outcome(ASSIGNMENTS.name)).orderBy(*order).collect()
    played = rows.transform(outcome(COOPERATIVE_REBALANCES.name)).orderBy("rebalance", *order).collect()
    if played:
        first = [tuple(row[name] for name in ASSIGNMENTS.names) for row in played if row["rebalance"] == 1]
        assert first == [tuple(row) for row in assigned]
    ended = [row for row in played if row["last"]] if played else assigned
    last = rows.transform(outcome(LAST_ASSIGNMENTS.name)).collect()
    assert sorted(last) == sorted(tuple(row[name] for name in ASSIGNMENTS.names) for row in ended)
    return played, {row["group_id"]: row for row in rows.transform(outcome(BALANCE.name)).collect()}


def results(row: Row) -> tuple[object, ...]:
    lists = (row["partitions"], row["revoked"], row["added"])
    shown = ("".join(f"{p['topic']}{p['partition']}" for p in some) for some in lists)
    return (row["rebalance"], row["last"], row["member_id"], *shown)


def test_a_member_joins(spark: SparkSession) -> None:
    given = members(spark, owner("a", "012"), owner("b", "345"), owner("c", ""), owner("z", "", group_id="h"))
    rows, balances = predicted(spark, given, "cooperative-sticky")
    assert [results(row) for row in rows if row["group_id"] == "g"] == [
        (1, False, "a", "t0t1", "t2", ""),
        (1, False, "b", "t3t4", "t5", ""),
        (1, False, "c", "", "", ""),
        (2, True, "a", "t0t1", "", ""),
        (2, True, "b", "t3t4", "", ""),
        (2, True, "c", "t2t5", "", "t2t5"),
    ]
    assert [results(row)[:3] for row in rows if row["group_id"] == "h"] == [(1, True, "z")]
    figures = ("rebalances", "revoked", "moved", "kept", "unassigned", "max", "error")
    assert [balances["g"][name] for name in figures] == [2, 2, 2, 4, 0, 2, None]
    assert [balances["h"][name] for name in figures] == [1, 0, 0, 0, 0, 6, None]


def test_eager_members_have_one_rebalance(spark: SparkSession) -> None:
    given = members(spark, owner("a", "012"), owner("b", "345"), owner("c", ""))
    rows, balances = predicted(spark, given, "sticky")
    assert rows == []
    assert (balances["g"]["rebalances"], balances["g"]["revoked"], balances["g"]["moved"]) == (1, 6, 2)


def test_a_member_that_offers_an_eager_assignor_gives_up_everything(spark: SparkSession) -> None:
    """Where the strategy is named, what members offer is not asked."""
    both = ["cooperative-sticky", "range"]
    given = members(spark, *(owner(name, owned, protocols=both) for name, owned in (("b", "012"), ("a", "345"))))
    rows, balances = predicted(spark, given, ELECTED)
    found = [results(row) for row in rows]
    assert found == [(1, True, "a", "t0t2t4", "t3t4t5", "t0t2t4"), (1, True, "b", "t1t3t5", "t0t1t2", "t1t3t5")]
    assert (balances["g"]["revoked"], balances["g"]["moved"]) == (6, 4)
    rows, balances = predicted(spark, given, "cooperative-sticky")
    assert (balances["g"]["revoked"], balances["g"]["moved"]) == (0, 0)


def test_rebalances_that_go_on(spark: SparkSession) -> None:
    """A member without topics stands first; the assignor gives it partitions, which it cannot take."""
    given = members(spark, owner("0", "") | {"subscription": []}, owner("a", "012"), owner("b", "345"))
    rows, balances = predicted(spark, given, "cooperative-sticky")
    assert len(rows) == 3 * MOST_REBALANCES
    assert not any(row["last"] for row in rows)
    assert balances["g"]["error"] == f"members ask for another rebalance after {MOST_REBALANCES} still"
    assert balances["g"]["rebalances"] is None


def test_the_end_as_long_rows(spark: SparkSession) -> None:
    given = members(spark, owner("a", "012"), owner("b", "345"), owner("c", ""))
    rebalances = given.transform(cooperative_rebalances("cooperative-sticky", topics(spark, t=6)))
    long = rebalances.transform(last_rebalance).transform(partitions_long)
    assert long.columns == ["cluster", "group_id", "strategy", "member_id", "topic", "partition"]
    assert sorted(row["partition"] for row in long.collect()) == [0, 1, 2, 3, 4, 5]
    assignments = given.transform(assign("cooperative-sticky", topics(spark, t=6)))
    assert assignments.transform(partitions_long).count() == 4
