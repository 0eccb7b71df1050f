"""
Give groups a history on a real broker, and write down what was done to them.

    python -m tests.support.cluster.scripted_history --kafka 4.3.1 --out docs/examples/history

writes the records of __consumer_offsets as docs/history.md reads them.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from confluent_kafka.admin import NewPartitions
from pyarrow import parquet

from rebalance_sim.kafka.history.causes import Cause
from tests.support.cluster.broker import LOGS_REBALANCES, Broker, running
from tests.support.cluster.capture import until
from tests.support.cluster.clients import JavaConsumers
from tests.support.cluster.fleet import COOPERATIVE, RANGE, SERVER, Client
from tests.support.cluster.group_requests import described
from tests.support.cluster.topic_reader import OFFSETS_TOPIC, read_topic

_TOPICS = {"orders": 6, "clicks": 3, "growing": 2}
_SETTLED_SECONDS = 2.5
"""Longer than two heartbeats: a cooperative group has then done its second rebalance."""
_SESSION_MS = 6000
"""The shortest that brokers allow by default."""
_EVENTS = ("closing", "closed", "started", "assigned")
START, CLOSE, KILL, GROW, SUBSCRIBE = "start", "close", "kill", "grow", "subscribe"


class Step(NamedTuple):
    """Something done to a client of a group, and the cause of the generation that follows; None if none does."""

    verb: str
    client: int
    cause: Cause | None


class Script(NamedTuple):
    """The history of a group."""

    protocols: tuple[str, ...]
    steps: tuple[Step, ...]
    topic: str = "orders"
    is_static: bool = False
    revoke_ms: int = 0
    """How long its clients take to revoke partitions."""


def _started(count: int) -> list[Step]:
    return [Step(START, number, Cause.JOINED) for number in range(1, count + 1)]


def _restarted(*clients: int) -> list[Step]:
    return [
        step for client in clients for step in (Step(CLOSE, client, Cause.LEFT), Step(START, client, Cause.RESTARTED))
    ]


SCRIPTS: dict[str, Script] = {
    "scaled": Script(
        (RANGE,),
        (*_started(3), *(Step(CLOSE, 3, Cause.LEFT), Step(CLOSE, 2, Cause.LEFT), Step(CLOSE, 1, Cause.EMPTIED))),
    ),
    "rolling": Script((RANGE,), (*_started(3), *_restarted(1, 2, 3))),
    "crashing": Script((RANGE,), (*_started(2), *_restarted(2, 2, 2, 2))),
    "static": Script((RANGE,), (*_started(2), Step(CLOSE, 2, None), Step(START, 2, Cause.REPLACED)), is_static=True),
    "growing": Script((RANGE,), (*_started(2), Step(GROW, 4, Cause.GREW)), topic="growing"),
    "subscribing": Script((RANGE,), (*_started(2), Step(SUBSCRIBE, 2, Cause.SUBSCRIPTION))),
    "cooperative": Script((COOPERATIVE,), tuple(_started(3)), revoke_ms=500),
    "killed": Script((RANGE,), (*_started(2), Step(KILL, 2, Cause.LEFT))),
    "kip-848": Script((f"{SERVER}uniform",), (*_started(2), Step(CLOSE, 2, Cause.LEFT))),
}


class History:
    """Groups on a broker; ``truth`` has the causes of each group's generations in order."""

    def __init__(self, on: Broker, java: JavaConsumers, victims: JavaConsumers) -> None:
        self._broker = on
        self._java = java
        self._victims = victims
        self._admin = on.admin()
        self._members: defaultdict[str, set[int]] = defaultdict(set)
        self.truth: dict[str, list[Cause]] = {}
        self.away_ms: dict[str, list[tuple[int, int]]] = defaultdict(list)
        """By group, for how long restarted clients were away: at least, and at most."""

    def play(self, scripts: Mapping[str, Script]) -> None:
        """Play one step of every group after the other, so that each waits for all groups once."""
        self._broker.create_topics(_TOPICS)
        self.truth = {group: [] for group in scripts}
        for number in range(max(len(script.steps) for script in scripts.values())):
            playing = {group: script for group, script in scripts.items() if number < len(script.steps)}
            for group, script in playing.items():
                self._do(group, script, script.steps[number])
            for group in playing:
                until(f"{group} is stable", partial(self._is_stable, group))
            time.sleep(_SETTLED_SECONDS)
        for group, script in scripts.items():
            self._add_away(group, script)
        # A client that is destroyed after its broker has stopped never ends.
        del self._admin

    def _do(self, group: str, script: Script, step: Step) -> None:
        name = f"{group}-{step.client}"
        instance = name if script.is_static else ""
        client = Client(group, name, script.protocols, (script.topic,), instance_id=instance)
        # A process is killed with all its consumers.
        killed = any(each.verb == KILL and each.client == step.client for each in script.steps)
        runner = self._victims if killed else self._java
        match step.verb:
            case "start":
                of_killed = {"session.timeout.ms": str(_SESSION_MS)} if killed else {}
                runner.start(name, client, of_killed | {"revoke.ms": str(script.revoke_ms)})
                self._members[group].add(step.client)
            case "close":
                runner.close(name)
                self._members[group] -= set() if script.is_static else {step.client}
            case "kill":
                runner.kill()
                self._members[group].discard(step.client)
            case "grow":
                self._admin.create_partitions([NewPartitions(script.topic, step.client)])[script.topic].result()
            case "subscribe":
                runner.subscribe(name, [script.topic, "clicks"])
        if step.cause is not None:
            self.truth[group].append(step.cause)

    def _add_away(self, group: str, script: Script) -> None:
        """Add for how long each restarted client was away, from its own reports.

        It leaves while it closes, and joins between its first poll and its assignment.
        """
        for client in sorted({step.client for step in script.steps if step.cause is Cause.RESTARTED}):
            reports = [each for each in self._java.reports() if each.name == f"{group}-{client}"]
            at_ms = {event: [each.at_ms for each in reports if each.event == event] for event in _EVENTS}
            for closing, closed in zip(at_ms["closing"], at_ms["closed"], strict=True):
                started = next(at for at in at_ms["started"] if at >= closed)
                assigned = next(at for at in at_ms["assigned"] if at >= started)
                self.away_ms[group].append((started - closed, assigned - closing))

    def _is_stable(self, group: str) -> bool:
        found, wanted = described(self._admin, [group])[group], len(self._members[group])
        return found is not None and (len(found.members), found.state.name) == (wanted, "STABLE" if wanted else "EMPTY")


def topic_ids(on: Broker) -> list[dict[str, str | int]]:
    """Return a topics table, whose ids are those in the records of consumer-protocol groups."""
    described = on.tools("kafka-topics", "--describe")
    found = re.findall(r"^Topic: (\S+)\s+TopicId: (\S+)\s+PartitionCount: (\d+)", described, re.MULTILINE)
    return [
        {"topic": name, "topic_id": uuid, "partitions": int(count)}
        for name, uuid, count in found
        if not name.startswith("__")
    ]


def dump(on: Broker) -> pa.Table:
    """Return the records of __consumer_offsets as Spark's source for Kafka has them."""
    messages = [each for each in read_topic(on.bootstrap_servers, OFFSETS_TOPIC) if each.key() is not None]
    return pa.table(
        {
            "key": pa.array([each.key() for each in messages], pa.binary()),
            "value": pa.array([each.value() for each in messages], pa.binary()),
            "partition": pa.array([each.partition() for each in messages], pa.int32()),
            "offset": pa.array([each.offset() for each in messages], pa.int64()),
            "timestamp": pa.array([each.timestamp()[1] for each in messages], pa.timestamp("ms", "UTC")),
        }
    )


def played(version: str, folder: Path, scripts: Mapping[str, Script], stack: ExitStack) -> tuple[Broker, History]:
    """Start a broker, and play scripts on it."""
    on = stack.enter_context(running(version, folder, java_options=LOGS_REBALANCES))
    java = stack.enter_context(JavaConsumers(version, on.bootstrap_servers, folder / "java.log"))
    victims = stack.enter_context(JavaConsumers(version, on.bootstrap_servers, folder / "victims.log"))
    history = History(on, java, victims)
    history.play(scripts)
    return on, history


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kafka", default="4.3.1")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        on, _ = played(given.kafka, Path(folder), SCRIPTS, stack)
        parquet.write_table(dump(on), given.out / "consumer-offsets.parquet", compression="zstd")
        rows = [json.dumps(row) for row in topic_ids(on)]
        (given.out / "topics.json").write_text("".join(f"{row}\n" for row in rows))


if __name__ == "__main__":
    main()
