"""
Capture what Kafka's tools print about a real, busy broker.

    python -m tests.support.cluster.capture --kafka 4.3.1 --out docs/examples/kafka-4.3.1

docs/examples/README.md describes the files.
"""

from __future__ import annotations

import argparse
import csv
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, Producer
from confluent_kafka.admin import ConsumerGroupDescription

from tests.support.cluster import truth
from tests.support.cluster.broker import Broker
from tests.support.cluster.clients import JavaConsumers, Partitions, RdkafkaConsumers, Runner
from tests.support.cluster.fleet import LEFT, NEVER_JOINED, STALLED, TOPICS, Client, Group, groups
from tests.support.cluster.group_requests import commit, described
from tests.support.unavailable import Unavailable

# Long enough for all members to join the same first rebalance one after the other.
FIRST_REBALANCE_MS = 3000
PATIENCE_SECONDS = 240

GROUP_REPORTS = {"offsets.txt": ("--offsets",), "state.txt": ("--state",), "members.txt": ("--members", "--verbose")}
# The tools' names of states, which confluent-kafka names differently.
STATES = {"STABLE": "Stable", "PREPARING_REBALANCING": "PreparingRebalance"}
COLUMNS = ["group_id", "client_id", "protocols", "subscription", "rack", "instance_id"]


class Capture:
    """A broker with its clients; after each step the cluster is ready for the next."""

    def __init__(self, broker: Broker, java: JavaConsumers, rdkafka: RdkafkaConsumers, out: Path) -> None:
        self._broker = broker
        self._java = java
        self._rdkafka = rdkafka
        self._out = out
        self._admin = broker.admin()
        self._groups = groups(broker.version)
        self._joined: dict[str, list[str]] = {}

    def run(self) -> None:
        self._broker.create_topics(TOPICS)
        self._produce(records=30)
        until(f"{NEVER_JOINED} committed", lambda: commit(self._admin, NEVER_JOINED, "orders", {0: 2, 1: 2, 2: 2}))
        for group in LEFT:
            self._come_and_go(group)
        for group in self._groups:
            self._join(group.group_id, group.first, already=0)
        for group in self._groups:
            self._wait_until_stable(group)
        # Start these last, so that their rebalances find partitions already owned.
        for group in self._groups:
            self._join_late(group)
        # More records than committed offsets: a lag.
        self._produce(records=12)
        self._write_reports()
        self._write_consumers()
        self._write_truth()

    def _produce(self, records: int) -> None:
        """Send records: most to partition 0 of each topic, none to every fourth partition."""
        producer = Producer({"bootstrap.servers": self._broker.bootstrap_servers, "log_level": 0})
        for topic, count in TOPICS.items():
            for partition in range(count):
                for _ in range(0 if partition % 4 == 3 else records // (partition + 1)):
                    producer.produce(topic, value=b"record", partition=partition)
        producer.flush()

    def _come_and_go(self, group: Group) -> None:
        """Let the clients join, commit if configured, and leave."""
        self._join(group.group_id, group.clients, already=0)
        self._wait_until_stable(group)
        for name, client in named(group.clients, already=0):
            if client.commit != "never":
                until(f"{group.group_id} committed", lambda: self._committed(group.group_id))
            self._runner(client).close(name)
        until(f"{group.group_id} is empty", lambda: not self._members(group.group_id))

    def _committed(self, group_id: str) -> bool:
        request = [ConsumerGroupTopicPartitions(group_id)]
        offsets = self._admin.list_consumer_group_offsets(request)[group_id].result()
        return bool(offsets.topic_partitions)

    def _join(self, group_id: str, clients: tuple[Client, ...], already: int) -> None:
        """Start the clients one by one, each after the broker knows the previous one."""
        joined = self._joined.setdefault(group_id, [])
        for name, client in named(clients, already):
            print("start", name, file=sys.stderr)
            self._runner(client).start(name, client)
            joined.append(self._newcomer(group_id, joined))

    def _newcomer(self, group_id: str, joined: list[str]) -> str:
        """Wait for the new member and return it."""
        new: set[str] = set()

        def seen() -> bool:
            new.update(set(self._members(group_id)).difference(joined))
            return bool(new)

        until(f"a member joined {group_id}", seen)
        (member_id,) = new
        return member_id

    def _join_late(self, group: Group) -> None:
        if not group.later:
            return
        if group.group_id == STALLED:
            stalled, _ = named(group.first, already=0)[-1]
            self._java.stall(stalled)
        self._join(group.group_id, group.later, already=len(group.first))
        if group.group_id == STALLED:
            until("the rebalance began", lambda: not self._stable(group.group_id))
        else:
            self._wait_until_stable(group)

    def _runner(self, client: Client) -> Runner:
        return self._java if client.library == "java" else self._rdkafka

    def _describe(self, group_id: str) -> ConsumerGroupDescription | None:
        return described(self._admin, [group_id])[group_id]

    def _members(self, group_id: str) -> list[str]:
        found = self._describe(group_id)
        return [member.member_id for member in found.members] if found else []

    def _stable(self, group_id: str) -> bool:
        found = self._describe(group_id)
        return found is not None and found.state.name == "STABLE"

    def _wait_until_stable(self, group: Group) -> None:
        until(f"{group.group_id} is stable", lambda: self._is_stable(group))

    def _is_stable(self, group: Group) -> bool:
        found = self._describe(group.group_id)
        return found is not None and is_stable(found, group, self._seen_by_clients())

    def _seen_by_clients(self) -> dict[str, Partitions]:
        return {**self._java.assignments(), **self._rdkafka.assignments()}

    def _write_reports(self) -> None:
        of_groups = ("kafka-consumer-groups", "--describe", "--all-groups")
        reports = {name: (*of_groups, *options) for name, options in GROUP_REPORTS.items()}
        of_topics = {"topics.txt": ("kafka-topics", "--describe"), "get-offsets.txt": ("kafka-get-offsets",)}
        write_reports(self._broker, of_topics | reports, self._out)

    def _write_consumers(self) -> None:
        with (self._out / "consumers.csv").open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(COLUMNS)
            rows.writerows(_row(client) for group in self._groups for client in group.clients)

    def _write_truth(self) -> None:
        records = truth.records(self._broker)
        lines = [f"  {_json(group.group_id)}: {_json(self._truth(group, records))}" for group in self._groups]
        # One line per group: easy to read, search and compare.
        text = ",\n".join(lines)
        text = f'{{\n "kafka": {_json(self._broker.version)},\n "groups": {{\n{text}\n }}\n}}\n'
        self._out.with_name(f"{self._out.name}.truth.json").write_text(text, encoding="utf-8")

    def _truth(self, group: Group, records: truth.Records) -> dict[str, Any]:
        found = self._describe(group.group_id)
        assert found is not None
        joined = self._joined[group.group_id]
        next_generation = group.clients[0].next_generation
        common = {
            "type": "consumer" if next_generation else "classic",
            "state": STATES[found.state.name],
            "join_order": joined,
        }
        if next_generation:
            assigned = {id_: sorted(p) for id_, p in seen_by_broker(found).items()}
            return {**common, "assignments": assigned}
        generations = [truth.describe(each, joined) for each in records[group.group_id]]
        if group.group_id == STALLED:
            assert found.state.name == "PREPARING_REBALANCING", "the rebalance ended during the capture"
            # The next election has not happened yet.
            return {**common, "earlier": generations}
        *earlier, last = generations
        self._check(last, found)
        return {**common, **last, "earlier": earlier}

    def _check(self, last: truth.Generation, found: ConsumerGroupDescription) -> None:
        """Check that the coordinator's record agrees with the broker's answers and with the clients."""
        assert found.state.name == "STABLE", found.group_id
        assert last["protocol"] == found.partition_assignor, found.group_id
        truth.check(last, seen_by_broker(found))
        truth.check(last, self._seen_by_clients())


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def seen_by_broker(found: ConsumerGroupDescription) -> dict[str, Partitions]:
    return {
        member.member_id: {(p.topic, p.partition) for p in member.assignment.topic_partitions}
        for member in found.members
    }


def is_stable(found: ConsumerGroupDescription, group: Group, by_clients: Mapping[str, Partitions]) -> bool:
    """
    Return whether a group is stable, owns all partitions, and the clients agree with the broker.

    The state is also "Stable" between the two rebalances of the cooperative protocol.
    """
    by_broker = seen_by_broker(found)
    subscribed = {topic for client in group.clients for topic in client.topics}
    assigned = sum(len(partitions) for partitions in by_broker.values())
    return (
        found.state.name == "STABLE"
        and assigned == sum(TOPICS[topic] for topic in subscribed)
        and all(by_clients.get(member_id, set()) == partitions for member_id, partitions in by_broker.items())
    )


def named(clients: tuple[Client, ...], already: int) -> list[tuple[str, Client]]:
    """Return unique names, because a client.id may occur twice in a group."""
    return [(f"{c.group}#{n}", c) for n, c in enumerate(clients, start=already + 1)]


def _row(client: Client) -> list[str]:
    lists = [";".join(client.protocols), ";".join(client.topics)]
    return [client.group, client.client_id, *lists, client.rack, client.instance_id]


def write_reports(broker: Broker, reports: Mapping[str, Sequence[str]], out: Path) -> None:
    """Write what tools print: ``reports`` has, by file, the tool and its options."""
    for name, (tool, *options) in reports.items():
        # With warnings, as users save what they see on the terminal.
        (out / name).write_text(broker.tools(tool, *options, merge_stderr=True), encoding="utf-8", newline="")


def until(what: str, question: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not question():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {PATIENCE_SECONDS} s: {what}")
        # Ten requests per second leave the processor to the broker.
        time.sleep(0.1)


def capture(version: str, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        broker = stack.enter_context(Broker(version, work, initial_rebalance_delay_ms=FIRST_REBALANCE_MS))
        servers = broker.bootstrap_servers
        java = stack.enter_context(JavaConsumers(version, servers, work / "consumers.log"))
        rdkafka = stack.enter_context(RdkafkaConsumers(servers))
        Capture(broker, java, rdkafka, out).run()


def main() -> int:
    parser = argparse.ArgumentParser(description="Capture what Kafka's tools print.")
    parser.add_argument("--kafka", required=True, metavar="VERSION", help="e.g. 4.3.1")
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER")
    options = parser.parse_args()
    # Without this, a terminated capture would leave its broker running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        capture(options.kafka, options.out)
    except Unavailable as reason:
        print(reason, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
