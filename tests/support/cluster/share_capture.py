"""
Capture what Kafka's tools print about share groups (KIP-932) of a real broker.

    python -m tests.support.cluster.share_capture --kafka 4.3.1 --out docs/examples/share-4.3.1

docs/examples/README.md describes the files.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.support.cluster.broker import Broker
from tests.support.cluster.capture import until, write_reports
from tests.support.cluster.programs import console_consumer

SETTINGS = {f"share.coordinator.state.topic.{name}": "1" for name in ("replication.factor", "min.isr")}
"""Settings of a single broker, which then can hold the state of share groups."""
TOPICS = {"jobs": 7, "mails": 2}
GROUPS = {"workers": ("jobs", 3), "senders": ("mails", 3)}
"""By group, the topic of its members and their number."""
STOPPED = ("stopped", "mails")
"""A group whose only member has left."""
OF_GROUPS = ("--describe", "--all-groups")
REPORTS = {
    "topics.txt": ("kafka-topics", "--describe"),
    "groups.txt": ("kafka-groups", "--list"),
    "members.txt": ("kafka-share-groups", *OF_GROUPS, "--members", "--verbose"),
    "state.txt": ("kafka-share-groups", *OF_GROUPS, "--state", "--verbose"),
    "offsets.txt": ("kafka-share-groups", *OF_GROUPS, "--offsets"),
}
"""By file, the tool that prints it, and its options."""


class ShareCapture:
    """A broker with share groups, and the consumers of the console that are their members."""

    def __init__(self, broker: Broker, logs: Path) -> None:
        self._broker = broker
        self._logs = logs
        self._consumers = ExitStack()

    def __enter__(self) -> ShareCapture:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumers.close()

    def form(self) -> None:
        """Let the groups form, one member after the other, until each member has the last target assignment."""
        group, topic = STOPPED
        with ExitStack() as left:
            left.enter_context(self._consumer(group, topic, 1))
            until(f"{group} has a member", lambda: self.has_settled(group, 1, TOPICS[topic]))
        until(f"{group} is empty", lambda: "no active members" in self._members(group))
        for group, (topic, count) in GROUPS.items():
            for number in range(1, count + 1):
                self._consumers.enter_context(self._consumer(group, topic, number))
                until(f"{group} has {number} members", lambda: self.has_settled(group, number, TOPICS[topic]))  # noqa: B023

    def has_settled(self, group: str, members: int, partitions: int) -> bool:
        """Return whether a group has so many members, all of the last epoch, which have so many partitions together."""
        rows = [line.split() for line in self._members(group).splitlines() if line.startswith(f"{group} ")]
        state = self._broker.tools("kafka-share-groups", "--describe", "--group", group, "--state", "--verbose")
        epochs = {epoch for line in state.splitlines() if line.startswith(f"{group} ") for epoch in line.split()[4:6]}
        assigned = {number for row in rows for number in row[-1].partition(":")[2].split(",")}
        return len(rows) == members and epochs == {row[5] for row in rows} and len(assigned - {""}) == partitions

    def _members(self, group: str) -> str:
        options = ("--describe", "--group", group, "--members", "--verbose")
        return self._broker.tools("kafka-share-groups", *options, merge_stderr=True)

    def _consumer(self, group: str, topic: str, number: int) -> ExitStack:
        name = f"{group}-{number}"
        options = ("--topic", topic, "--group", group, "--command-property", f"client.id={name}")
        started = ExitStack()
        started.enter_context(
            console_consumer(self._broker, "kafka-console-share-consumer", options, self._logs / f"{name}.log")
        )
        return started


def main() -> None:
    """Capture a broker of the release that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka", default="4.3.1")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        broker = stack.enter_context(Broker(options.kafka, logs / "broker", settings=SETTINGS))
        capture = stack.enter_context(ShareCapture(broker, logs))
        broker.create_topics(TOPICS)
        capture.form()
        write_reports(broker, REPORTS, options.out)


if __name__ == "__main__":
    main()
