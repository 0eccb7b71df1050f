"""Groups of Java consumers to which something happens at a known time, and when each partition had an owner again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition

from rebalance_sim.kafka.offsets_topic import (
    ConsumerGroupMetadata,
    GroupMetadata,
    RecordType,
    decode_key,
    decode_value,
)
from tests.cluster.capture import until
from tests.cluster.clients import JavaConsumers, Report, listed_partitions
from tests.cluster.fleet import Client

_OFFSETS_TOPIC = "__consumer_offsets"
_READ_SECONDS = 60
_APART_SECONDS = 0.13
"""From one group's turn to the next, so that the machine has no bursts."""
_CALM_SECONDS = 3

Partition = tuple[str, int]


@dataclass
class TimedGroup:
    """A group whose members are all in one process, but for the one that leaves or dies, which is in another."""

    clients: Sequence[Client]
    """Each has a client.id of its own."""
    settings: Mapping[str, str]
    partitions: int
    leaver: int
    """Its place."""
    staying: JavaConsumers
    leaving: JavaConsumers
    _down: set[int] = field(default_factory=set)
    _died_ms: int | None = None

    @property
    def group_id(self) -> str:
        return self.clients[0].group

    def start(self, place: int) -> None:
        self._process(place).start(self._name(place), self.clients[place], self.settings)
        self._down.discard(place)

    def start_all(self) -> None:
        for place in range(len(self.clients)):
            self.start(place)

    def close(self, place: int) -> None:
        self._down.add(place)
        self._process(place).close(self._name(place))

    def close_all(self) -> None:
        for place in range(len(self.clients)):
            self.close(place)

    def restart(self, place: int, down_ms: int) -> None:
        self.close(place)
        time.sleep(down_ms / 1000)
        self.start(place)

    def restart_all(self, down_ms: int, every_ms: int) -> None:
        """One after the other, so long from one to the next."""
        began = time.monotonic()
        for place in range(len(self.clients)):
            time.sleep(max(began + place * every_ms / 1000 - time.monotonic(), 0))
            self.restart(place, down_ms)

    def lose_leaver(self, at_ms: int) -> None:
        """Note that its process has been killed."""
        self._down.add(self.leaver)
        self._died_ms = at_ms

    def began_ms(self, after_ms: int) -> int:
        """When the first consumer was told to close, or was killed, after a time."""
        ends = (report.at_ms for report in self._reports() if report.event in ("closing", "killed"))
        return min(at_ms for at_ms in ends if at_ms >= after_ms)

    def lasted_ms(self, first: str, last: str) -> list[int]:
        """How long it took each consumer, each time, from one report to another."""
        reports = sorted((r for r in self._reports() if r.event in (first, last)), key=lambda r: (r.name, r.at_ms))
        return [b.at_ms - a.at_ms for a, b in pairwise(reports) if (a.event, b.event) == (first, last)]

    def settled_ms(self) -> int:
        """When each partition had an owner that knew, for the last time."""
        settled_ms = self._settled_ms()
        assert settled_ms is not None, f"{self.group_id} is not settled"
        return settled_ms

    def _settled_ms(self) -> int | None:
        owners: dict[Partition, str] = {}
        settled = None
        for report in sorted(self._reports(), key=lambda report: report.at_ms):
            before = len(owners)
            if report.event in ("assigned", "closed", "killed"):
                owners = {partition: owner for partition, owner in owners.items() if owner != report.name}
            if report.event == "assigned":
                owners |= dict.fromkeys(listed_partitions(report.fields[2]), report.name)
            elif report.event == "revoked":
                for partition in listed_partitions(report.fields[2]):
                    owners.pop(partition, None)
            if before < len(owners) == self.partitions:
                settled = report.at_ms
        return settled if len(owners) == self.partitions else None

    def is_balanced(self) -> bool:
        """Each consumer that is up has its share, and knows."""
        up = [self._name(place) for place in range(len(self.clients)) if place not in self._down]
        has = {r.name: len(listed_partitions(r.fields[2])) for r in self._reports() if r.event == "assigned"}
        return self._settled_ms() is not None and all(has.get(name) == self.partitions // len(up) for name in up)

    def _name(self, place: int) -> str:
        return self.clients[place].client_id

    def _process(self, place: int) -> JavaConsumers:
        return self.leaving if place == self.leaver else self.staying

    def _reports(self) -> Iterator[Report]:
        names = {client.client_id for client in self.clients}
        for process in (self.staying, self.leaving):
            yield from (report for report in process.reports() if report.name in names)
        if self._died_ms is not None:
            yield Report(self._died_ms, "killed", self._name(self.leaver), ())


def now_ms() -> int:
    """The time as the consumers report it."""
    return time.monotonic_ns() // 1_000_000


def to_each(groups: Sequence[TimedGroup], happen: Callable[[TimedGroup], None], over_ms: int = 0) -> None:
    """Let something happen to all groups, a little apart, and wait until it has.

    ``over_ms`` spreads it by so much more: what begins together in each group, as heartbeats do, is at another phase
    then.
    """

    def happen_later(number: int) -> None:
        time.sleep(number * (_APART_SECONDS + over_ms / 1000 / len(groups)))
        happen(groups[number])

    with ThreadPoolExecutor(len(groups)) as threads:
        list(threads.map(happen_later, range(len(groups))))


def wait_until_balanced(groups: Sequence[TimedGroup]) -> None:
    """Wait for all groups, and then until the machine has come to rest."""
    until("all groups are balanced", lambda: all(group.is_balanced() for group in groups))
    time.sleep(_CALM_SECONDS)


def generations(bootstrap_servers: str) -> dict[str, dict[int, int]]:
    """When each generation (of KIP-848: epoch) of each group was first written, by the broker's clock."""
    found: dict[str, dict[int, int]] = {}
    for message in _records(bootstrap_servers):
        what = decode_key(message.key())
        if message.value() is None:
            continue
        if what.type not in (RecordType.GROUP_METADATA, RecordType.CONSUMER_GROUP_METADATA):
            continue
        told = decode_value(what.type, message.value())
        assert isinstance(told, GroupMetadata | ConsumerGroupMetadata)
        number = told.generation if isinstance(told, GroupMetadata) else told.epoch
        found.setdefault(what.group_id, {}).setdefault(number, message.timestamp()[1])
    return found


def _records(bootstrap_servers: str) -> Iterator[Message]:
    """All records of __consumer_offsets, up to the end that it has now."""
    reader = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "reader", "enable.auto.commit": False})
    try:
        numbers = reader.list_topics(_OFFSETS_TOPIC, _READ_SECONDS).topics[_OFFSETS_TOPIC].partitions
        of_topic = [TopicPartition(_OFFSETS_TOPIC, number, OFFSET_BEGINNING) for number in numbers]
        ends = {each.partition: reader.get_watermark_offsets(each, _READ_SECONDS)[1] for each in of_topic}
        left = {partition for partition, end in ends.items() if end > 0}
        reader.assign([each for each in of_topic if each.partition in left])
        deadline = time.monotonic() + _READ_SECONDS
        while left:
            assert time.monotonic() < deadline, f"{_OFFSETS_TOPIC} could not be read to its end"
            message = reader.poll(1)
            if message is None:
                continue
            assert message.error() is None, message.error()
            yield message
            if message.offset() >= ends[message.partition()] - 1:
                left.discard(message.partition())
    finally:
        reader.close()
