"""
Capture what Kafka's tools print about streams groups (KIP-1071) of a real broker.

    python -m tests.support.cluster.streams_capture --kafka 4.3.1 --out docs/examples/streams-4.3.1

docs/examples/README.md describes the files.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import ExitStack
from pathlib import Path

from confluent_kafka import Producer

from tests.support.cluster.broker import Broker, BrokerError
from tests.support.cluster.capture import until, write_reports
from tests.support.cluster.programs import streams_application

TOPIC, PARTITIONS = "orders", 4
GROUP, PROCESSES = "totals", 3
STOPPED = "stopped"
"""A group whose only process has left."""
REPLICAS = ("--add-config", "streams.num.standby.replicas=1")
OF_GROUPS = ("--describe", "--all-groups")
REPORTS = {
    "topics.txt": ("kafka-topics", "--describe"),
    "groups.txt": ("kafka-groups", "--list"),
    "members.txt": ("kafka-streams-groups", *OF_GROUPS, "--members", "--verbose"),
    "state.txt": ("kafka-streams-groups", *OF_GROUPS, "--state", "--verbose"),
    "offsets.txt": ("kafka-streams-groups", *OF_GROUPS, "--offsets", "--verbose"),
}
"""By file, the tool that prints it, and its options."""


class StreamsCapture:
    """A broker with streams groups, and the processes that are their members."""

    def __init__(self, broker: Broker, directory: Path) -> None:
        self._broker = broker
        self._directory = directory
        self._processes = ExitStack()

    def __enter__(self) -> StreamsCapture:
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.close()

    def create_topic(self) -> None:
        """Create the topic that the groups read, with records."""
        self._broker.create_topics({TOPIC: PARTITIONS})
        producer = Producer({"bootstrap.servers": self._broker.bootstrap_servers, "log_level": 0})
        for number in range(20):
            producer.produce(TOPIC, value=b"%d" % number, partition=number % PARTITIONS)
        producer.flush()

    def form(self) -> None:
        """Let the groups form, one process after the other, until all have their targets and have committed offsets."""
        options = ("--alter", "--entity-type", "groups", "--entity-name", GROUP)
        self._broker.tools("kafka-configs", *options, *REPLICAS)
        with ExitStack() as left:
            self._start(left, STOPPED, 1)
        until(f"{STOPPED} is empty", lambda: "no active members" in self._described(STOPPED, "--state"))
        for number in range(1, PROCESSES + 1):
            self._start(self._processes, GROUP, number)
        until(f"{GROUP} has committed offsets", self._has_committed)

    def _has_committed(self) -> bool:
        rows = [line.split() for line in self._described(GROUP, "--offsets").splitlines() if f" {TOPIC} " in line]
        return len(rows) == PARTITIONS and all(row[3] != "-" for row in rows)

    def _start(self, processes: ExitStack, group: str, number: int) -> None:
        folder = self._directory / f"{group}-{number}"
        folder.mkdir()
        processes.enter_context(streams_application(self._broker, group, TOPIC, folder, "streams"))
        until(f"{group} has {number} members", lambda: self._has_settled(group, number))

    def _has_settled(self, group: str, members: int) -> bool:
        """Return whether a group has so many members, which all have their target tasks."""
        rows = [line for line in self._described(group, "--members").splitlines() if line.startswith(f"{group} ")]
        tasks = [row.partition("ACTIVE: ")[2] for row in rows]
        return len(rows) == members and all(_is_target(of) for of in tasks)

    def _described(self, group: str, *what: str) -> str:
        options = ("--describe", "--group", group, *what, "--verbose")
        try:
            return self._broker.tools("kafka-streams-groups", *options, merge_stderr=True)
        except BrokerError:
            # The group does not exist yet.
            return ""

    def write(self, out: Path) -> None:
        """Write what the tools and the application print beside and into a folder."""
        write_reports(self._broker, REPORTS, out)
        described = (self._directory / f"{GROUP}-1" / "topology.txt").read_text()
        out.with_name(f"{out.name}.topology.txt").write_text(described, encoding="utf-8", newline="")


def _is_target(tasks: str) -> bool:
    """Return whether tasks, as a line has them, are followed by equal ones that are the target."""
    current, _, target = tasks.partition("TARGET-ACTIVE: ")
    return bool(current) and current == target.replace("TARGET-", "")


def main() -> None:
    """Capture a broker of the release that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka", default="4.3.1")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        broker = stack.enter_context(Broker(options.kafka, directory / "broker"))
        capture = stack.enter_context(StreamsCapture(broker, directory))
        capture.create_topic()
        capture.form()
        capture.write(options.out)


if __name__ == "__main__":
    main()
