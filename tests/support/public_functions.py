"""Calls every public function once, over a few rows, in any Spark session.

Run as a program, it uses Spark Connect, which needs a process of its own.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import rebalance_sim as sim
from rebalance_sim.engine.groups.group_outcomes import GroupOutcomes
from rebalance_sim.engine.spark.session import FOR_FEW_ROWS
from rebalance_sim.kafka.wire.consumer_protocol import encode_subscription
from rebalance_sim.sources.offsets_topic.history import History
from rebalance_sim.tables import OFFSETS
from tests.support.rows import member, members, record, records, table, topics
from tests.support.spark_settings import FOR_A_SHORT_LIFE

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


class LastTakesAll(sim.ConsumerPartitionAssignor):
    """An assignor of a user's own."""

    name = "last-takes-all"

    def assign(
        self, partitions: Mapping[str, int], subscriptions: Mapping[str, sim.Subscription]
    ) -> Mapping[str, Sequence[sim.TopicPartition]]:
        everything = [sim.TopicPartition(topic, n) for topic, count in partitions.items() for n in range(count)]
        return {name: everything if name == max(subscriptions) else [] for name in subscriptions}


@dataclass(frozen=True)
class Given:
    """The input tables."""

    topics: DataFrame
    members: DataFrame
    offsets: DataFrame
    records: DataFrame

    @classmethod
    def on(cls, spark: SparkSession) -> "Given":
        """Return the tables, each with some unusable rows."""
        both, clients = ["range", "cooperative-sticky"], ("java-2.4", "librdkafka")
        keys = [bytes([n % 5]) if n < 20 else None for n in range(30)]
        offsets = [{"group_id": "g", "topic": "t", "partition": n, "committed": n, "end": 5 * n} for n in range(-1, 6)]
        return cls(
            topics(spark, t=6, u=3),
            members(
                spark,
                member("a", both, ["t"], owned=[("t", 5)], generation=1),
                member("b", both, ["t", "u"]),
                member("c", ["server-uniform"], ["t"], group_id="by KIP-848"),
                member("", both, ["t"]),
            ),
            table(spark, OFFSETS, offsets),
            records(
                spark,
                *(record(key, client=clients[n % 2], producer_id="p", seq=n) for n, key in enumerate(keys)),
                record(b"", topic="missing"),
            ),
        )

    @property
    def placed(self) -> DataFrame:
        return self.records.transform(sim.partition(self.topics))

    @property
    def compared(self) -> DataFrame:
        return self.members.transform(sim.compare(self.topics, ["range", "cooperative-sticky"]))

    @property
    def assigned(self) -> DataFrame:
        return self.members.transform(sim.assign("elected", self.topics))

    @property
    def sent(self) -> DataFrame:
        return self.records.transform(sim.sent_records(self.topics))


def _decoded(given: Given) -> DataFrame:
    bytes_of = F.lit(bytearray(encode_subscription(sim.Subscription(("t", "u")))))
    joined = given.members.drop("subscription").withColumn("metadata", bytes_of)
    return joined.transform(sim.decode_subscriptions())


def _followed(given: Given) -> list[str]:
    return list(sim.follow(given.members.where("group_id = 'g' AND member_id <> ''"), given.topics, "leave"))


def _elected_by_old_brokers(given: Given) -> DataFrame:
    clusters = given.topics.selectExpr("cluster", "'2.8' AS broker_version").distinct()
    return given.members.transform(sim.elect(kafka_version=sim.read_clusters(clusters)))


def _left_by_range_and_sticky(given: Given) -> dict[str, GroupOutcomes]:
    return {name: sim.simulate(given.members, given.topics, "leave", [name]) for name in ("range", "sticky")}


def _explained(given: Given) -> list[str]:
    result = sim.explain_assignment(given.members, given.topics, ("t", 5), "cooperative-sticky", group_id="g")
    return repr(result).splitlines()


def _past(given: Given) -> History:
    dump = given.topics.sparkSession.read.parquet(str(EXAMPLES / "history" / "consumer-offsets.parquet"))
    return sim.history(dump, groups=["cooperative", "crashing"])


def _prevented(given: Given) -> DataFrame:
    past = _past(given)
    return past.generation_members.transform(sim.prevention(past.generations))


def _missed(given: Given) -> DataFrame:
    """Return the members of the generations in which a leader is said to have left out a partition."""
    left_out = F.filter("assigned", lambda each: (F.col("generation") != 2) | (each["partition"] != 0))
    members = _past(given).generation_members.where("group_id = 'crashing'").withColumn("assigned", left_out)
    return sim.misses(members.transform(sim.backtest()))(members).miss_members


def _of_connect(given: Given) -> DataFrame:
    workers, connectors = (
        given.topics.sparkSession.read.json(str(EXAMPLES / "connect" / f"{name}.json"))
        for name in ("workers", "connectors")
    )
    return sim.simulate_connect(workers, connectors, "rolling-restart", advice=True).connect_advice


def _streams(given: Given) -> tuple[DataFrame, DataFrame, DataFrame]:
    read, folder = given.topics.sparkSession.read, EXAMPLES / "streams"
    members, parts, topics = (read.json(f"{folder}/{name}.json") for name in ("members", "subtopologies", "topics"))
    return members, parts, topics


def _timed(given: Given) -> DataFrame:
    past = _past(given)
    return past.generation_members.transform(sim.timings(past.generations, past.episodes))


CASES: dict[str, Callable[[Given], DataFrame | list[str]]] = {
    "assign": lambda given: given.assigned,
    "assign, by an assignor of one's own": lambda given: given.members.transform(
        sim.assign(LastTakesAll.name, given.topics, assignors=[LastTakesAll()])
    ),
    "assign_streams": lambda given: sim.assign_streams(*_streams(given), joining=1).streams_tasks,
    "audit": lambda given: sim.audit(given.members, given.topics, given.offsets).verdicts,
    "backtest": lambda given: _past(given).generation_members.transform(sim.backtest()),
    "balance": lambda given: given.members.transform(sim.balance("elected", given.topics)),
    "batches": lambda given: given.sent.transform(sim.batches),
    "changes": lambda given: given.compared.transform(sim.changes()),
    "client_agreement": lambda given: given.records.transform(
        sim.client_agreement(given.topics, ["java-3.3", "librdkafka", "sarama"])
    ),
    "compare": lambda given: given.compared,
    "conflicting_keys": lambda given: given.records.transform(
        sim.conflicting_keys(given.topics, ["java-3.3", "librdkafka"])
    ),
    "cooperative_rebalances": lambda given: given.members.transform(
        sim.cooperative_rebalances("cooperative-sticky", given.topics)
    ),
    "costs": lambda given: given.members.transform(sim.costs("leave", given.topics)),
    "decode_subscriptions": _decoded,
    "distributions": lambda given: given.compared.transform(sim.distributions),
    "elect": lambda given: given.members.transform(sim.elect()),
    "explain_agreement": lambda given: repr(sim.explain_agreement(("java-3.3", "sarama"), 6)).splitlines(),
    "explain_assignment": _explained,
    "explain_election": lambda given: repr(sim.explain_election(given.members, group_id="g")).splitlines(),
    "explain_key": lambda given: repr(sim.explain_key("key", 6)).splitlines(),
    "expiring_offsets": lambda given: given.members.where("false").transform(
        sim.expiring_offsets(given.offsets.withColumn("committed_at_ms", F.lit(0)))
    ),
    "findings": lambda given: given.members.transform(sim.findings(given.topics, given.offsets)),
    "follow": _followed,
    "group": lambda given: sim.group({"c1": {"owned": {"t": [0]}}, "c2": {}}, subscription=["t"]),
    "history": lambda given: _past(given).generations,
    "key_findings": lambda given: given.placed.transform(sim.key_findings(given.topics)),
    "lag_balance": lambda given: given.assigned.transform(sim.lag_balance(given.offsets, given.members)),
    "lag_costs": lambda given: given.members.transform(sim.lag_costs("leave", given.topics, given.offsets)),
    "lag_tables": lambda given: sim.lag_tables(given.assigned, given.offsets, given.members).member_lag,
    "last_assignments": lambda given: given.members.transform(
        sim.last_assignments(["range", "cooperative-sticky"], given.topics)
    ),
    "last_rebalance": lambda given: given.members.transform(
        sim.cooperative_rebalances("cooperative-sticky", given.topics)
    ).transform(sim.last_rebalance),
    "member_lag": lambda given: given.assigned.transform(sim.member_lag(given.offsets)),
    "misses": _missed,
    "moved_keys": lambda given: given.placed.transform(sim.moved_keys(given.topics, 8)),
    "optimum": lambda given: given.members.transform(sim.optimum(given.topics)),
    "owned_partitions": lambda given: given.members.transform(sim.owned_partitions("leave", given.topics)),
    "partition": lambda given: given.placed,
    "partition_growth": lambda given: given.placed.transform(sim.partition_growth(given.topics, 8)),
    "partition_load": lambda given: given.placed.transform(sim.partition_load(given.topics)),
    "partition_load_after": lambda given: given.placed.transform(sim.partition_load_after(given.topics, 8)),
    "partitions_long": lambda given: given.assigned.transform(sim.partitions_long),
    "predict": lambda given: sim.predict(given.members, given.topics).balance,
    "prevention": _prevented,
    "produce_requests": lambda given: given.sent.transform(sim.batches).transform(sim.produce_requests),
    "read_clusters": _elected_by_old_brokers,
    "rejected_offsets": lambda given: given.offsets.transform(sim.rejected_offsets),
    "topic_lag": lambda given: given.offsets.transform(sim.topic_lag),
    "rejected_records": lambda given: given.records.transform(sim.rejected_records(given.topics)),
    "rejects": lambda given: given.members.transform(sim.rejects(given.topics)),
    "report": lambda given: sim.report(sim.audit(given.members, given.topics, given.offsets)).splitlines(),
    "report, of two runs": lambda given: sim.report(_left_by_range_and_sticky(given)).splitlines(),
    "score": lambda given: _past(given).generation_members.transform(sim.backtest()).transform(sim.score),
    "sent_records": lambda given: given.sent,
    "show": lambda given: sim.show(given.members.transform(sim.timeline("leave", given.topics)), "g").splitlines(),
    "show, a group of an audit": lambda given: sim.show(sim.audit(given.members, given.topics), "g").splitlines(),
    "show, a comparison": lambda given: sim.show(given.compared).splitlines(),
    "show, assignments": lambda given: sim.show(given.assigned).splitlines(),
    "simulate": lambda given: sim.simulate(given.members, given.topics, "leave").costs,
    "simulate_connect": _of_connect,
    "simulate_streams": lambda given: sim.simulate_streams(*_streams(given), "leave").costs,
    "simulated_rebalances": lambda given: given.members.transform(sim.simulated_rebalances("leave", given.topics)),
    "spread_keys": lambda given: given.records.transform(sim.spread_keys(6)),
    "strategies_long": lambda given: given.compared.transform(sim.strategies_long),
    "timeline": lambda given: given.members.transform(sim.timeline("leave", given.topics)),
    "timings": _timed,
    "topics_at_risk": lambda given: given.records.transform(sim.topics_at_risk(given.topics)),
    "topics_table": lambda given: sim.topics_table({"t": 6, "u": {"partitions": 1, "racks": [["a"]]}}),
    "verdicts": lambda given: given.members.transform(sim.verdicts(given.topics)),
}
"""By the name of the function, and a variant after a comma."""


def answer(case: str, given: Given) -> list[str]:
    """Return the sorted result of a function."""
    result = CASES[case](given)
    if isinstance(result, list):
        return result
    return sorted(json.dumps(row.asDict(recursive=True), sort_keys=True, default=str) for row in result.collect())


def _answer_or_error(case: str, given: Given) -> list[str] | str:
    try:
        return answer(case, given)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"


if __name__ == "__main__":
    on_connect = SparkSession.builder.remote("local[1]").config(map={**FOR_A_SHORT_LIFE, **FOR_FEW_ROWS}).getOrCreate()
    inputs = Given.on(on_connect)
    print(json.dumps({case: _answer_or_error(case, inputs) for case in CASES}))
    on_connect.stop()
