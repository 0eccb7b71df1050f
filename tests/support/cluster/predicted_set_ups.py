"""Predict the outcome of set-ups from `__consumer_offsets` before the changes and from their configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.engine.groups.prediction import ELECTED
from rebalance_sim.engine.simulation.simulations import Simulations
from rebalance_sim.engine.tables.inputs import fit, fit_topics, usable
from rebalance_sim.engine.tables.outcomes import outcome
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.sources.offsets_topic.fleet import read_offsets_topic
from rebalance_sim.tables import EVENTS, MEMBERS, OWNED_PARTITIONS, REBALANCES, REJECTS
from tests.support.cluster.clients import Partitions
from tests.support.cluster.fleet import Client
from tests.support.cluster.set_ups import Grow, Join, Leave, Restart, SetUp, Subscribe
from tests.support.cluster.topic_reader import OFFSETS_RECORD, OffsetsRecord

# Longer than a rebalance takes.
_ROUND_MS = 15_000
_SETTINGS = SimulationSettings(
    group_initial_rebalance_delay_ms=100,
    heartbeat_interval_ms=1000,
    metadata_max_age_ms=1000,
    group_consumer_heartbeat_interval_ms=1000,
    quiet_ms=5_000,
)
DRAWS = ("draw-1", "draw-2", "draw-3")
"""Names of the cluster. Random member ids of new members depend on it, so each set-up has three draws."""


@dataclass(frozen=True)
class Predicted:
    """The final state of a group; for a consumer-protocol group only the assignment of each client."""

    assigned: dict[str, Partitions]
    protocol: str | None
    leader: str | None


def members_before(
    spark: SparkSession, records: Sequence[OffsetsRecord], topics: DataFrame, set_ups: Sequence[SetUp]
) -> DataFrame:
    """Read the members from the records, and set the protocols that they offer: the topic has only the elected one."""
    read = read_offsets_topic(spark.createDataFrame(list(records), OFFSETS_RECORD), topics=topics)
    rejected = read.rejects.collect()
    assert not rejected, rejected
    offered = [(each.group, name, list(of.protocols)) for each in set_ups for name, of in each.clients().items()]
    owners = spark.createDataFrame(offered, "group_id string, client_id string, offered array<string>")
    members = read.members.withColumn("elected", F.col("protocols")[0]).join(owners, ["group_id", "client_id"])
    return members.withColumn("protocols", F.col("offered")).persist()


def predict(
    members: DataFrame, topics: DataFrame, set_ups: Sequence[SetUp], version: str, strategy: str = ELECTED
) -> list[dict[str, Predicted]]:
    """Simulate the changes of all set-ups at once, under each of DRAWS."""
    members = members.where(F.col("group_id").isin([each.group for each in set_ups]))
    spark = members.sparkSession
    draws = F.broadcast(spark.createDataFrame([(draw,) for draw in DRAWS], "draw string"))
    before = members.collect()
    name_of = {(row["group_id"], row["client_id"]): row["member_id"] for row in before}
    rows = [row for draw in DRAWS for each in set_ups for row in _events(draw, each, name_of)]
    events = spark.createDataFrame(rows, EVENTS.schema)
    drawn = [table.crossJoin(draws).withColumn("cluster", F.col("draw")).drop("draw") for table in (topics, members)]
    outputs = (REBALANCES.name, OWNED_PARTITIONS.name, REJECTS.name)
    scenario = Scenario("", settings=_SETTINGS)
    metadata = TopicMetadata.of(usable(fit_topics(drawn[0])))
    simulate = Simulations(outputs, Clusters(Brokers(version)), (strategy,), metadata, scenario)
    found = simulate(usable(fit(drawn[1], MEMBERS)), usable(fit(events, EVENTS))).persist()
    rejected = found.transform(outcome(REJECTS.name)).collect()
    assert not rejected, rejected
    owned = found.transform(outcome(OWNED_PARTITIONS.name)).collect()
    rebalances = found.transform(outcome(REBALANCES.name)).orderBy("rebalance").collect()
    return [_predicted(draw, set_ups, before, owned, rebalances) for draw in DRAWS]


def _predicted(
    draw: str, set_ups: Sequence[SetUp], before: Sequence[Row], owned: Sequence[Row], rebalances: Sequence[Row]
) -> dict[str, Predicted]:
    client_of = {(row["group_id"], row["member_id"]): row["client_id"] for row in before}
    led = {row["group_id"]: (row["elected"], row["client_id"]) for row in before if row["join_order"] == 0}
    assigned: dict[str, dict[str, Partitions]] = {each.group: {} for each in set_ups}
    for row in rebalances:
        if row["cluster"] == draw:
            key = row["group_id"], row["leader"]
            led[row["group_id"]] = row["protocol"], client_of.get(key, row["leader"])
    for row in owned:
        if row["cluster"] == draw:
            name = client_of.get((row["group_id"], row["member_id"]), row["member_id"])
            assigned[row["group_id"]][name] = {(each["topic"], each["partition"]) for each in row["partitions"]}
    return {group: Predicted(has, *led.get(group, (None, None))) for group, has in assigned.items()}


def _events(draw: str, set_up: SetUp, name_of: Mapping[tuple[str, str], str]) -> Iterator[tuple[Any, ...]]:
    """Return the rows of an events table; members that join later are identified by their client id."""
    for number, round_ in enumerate(set_up.rounds, start=1):
        at_ms = number * _ROUND_MS
        for change in round_:
            match change:
                case Join(client):
                    yield _event(draw, set_up, at_ms, "join", member_id=client.client_id, **_configured(client))
                case Leave(client_id):
                    yield _event(draw, set_up, at_ms, "leave", member_id=_name(set_up, client_id, name_of))
                case Subscribe(client_id, topics):
                    name = _name(set_up, client_id, name_of)
                    yield _event(draw, set_up, at_ms, "subscribe", member_id=name, subscription=list(topics))
                case Restart(client):
                    name = _name(set_up, client.client_id, name_of)
                    yield _event(draw, set_up, at_ms, "restart", member_id=name, down_ms=500)
                    yield _event(draw, set_up, at_ms, "subscribe", member_id=name, subscription=list(client.topics))
                    yield _event(draw, set_up, at_ms, "protocols", member_id=name, protocols=list(client.protocols))
                case Grow(topic, partitions):
                    yield _event(draw, set_up, at_ms, "grow", topic=topic, partitions=partitions)


def _name(set_up: SetUp, client_id: str, name_of: Mapping[tuple[str, str], str]) -> str:
    return name_of.get((set_up.group, client_id), client_id)


def _configured(client: Client) -> dict[str, Any]:
    return {
        "client_id": client.client_id,
        "instance_id": client.instance_id or None,
        "protocols": list(client.protocols),
        "subscription": list(client.topics),
    }


def _event(draw: str, set_up: SetUp, at_ms: int, event: str, **fields: Any) -> tuple[Any, ...]:
    values = {"cluster": draw, "group_id": set_up.group, "at_ms": at_ms, "event": event, **fields}
    return tuple(values.get(name) for name in EVENTS.names)
