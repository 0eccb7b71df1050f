"""Groups of Java consumers with events at known times, and the times at which every partition has an owner again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise

from rebalance_sim.kafka.wire.offsets_topic import (
    ConsumerGroupMetadata,
    GroupMetadata,
    RecordType,
    decode_key,
    decode_value,
)
from tests.support.cluster.capture import until
from tests.support.cluster.clients import JavaConsumers, Report, listed_partitions
from tests.support.cluster.fleet import Client
from tests.support.cluster.topic_reader import read_topic

_APART_SECONDS = 0.13
"""Time between the events of two groups, to avoid bursts of load."""
_CALM_SECONDS = 3

Partition = tuple[str, int]


@dataclass
class TimedGroup:
    """A group whose members run in one process, except for the one that leaves or crashes, which has its own."""

    clients: Sequence[Client]
    """Clients with unique client.ids."""
    settings: Mapping[str, str]
    partitions: int
    leaver: int
    """The index of the client that leaves or crashes."""
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
        """Start the clients one after the other, with this time between them."""
        began = time.monotonic()
        for place in range(len(self.clients)):
            time.sleep(max(began + place * every_ms / 1000 - time.monotonic(), 0))
            self.restart(place, down_ms)

    def lose_leaver(self, at_ms: int) -> None:
        """Record that its process was killed."""
        self._down.add(self.leaver)
        self._died_ms = at_ms

    def began_ms(self, after_ms: int) -> int:
        """Return when the first consumer was asked to close or was killed, after a time."""
        ends = (report.at_ms for report in self._reports() if report.event in ("closing", "killed"))
        return min(at_ms for at_ms in ends if at_ms >= after_ms)

    def lasted_ms(self, first: str, last: str) -> list[int]:
        """Return the times from one report to another, of every consumer."""
        reports = sorted((r for r in self._reports() if r.event in (first, last)), key=lambda r: (r.name, r.at_ms))
        return [b.at_ms - a.at_ms for a, b in pairwise(reports) if (a.event, b.event) == (first, last)]

    def all_owned_ms(self) -> int:
        """Return when every partition got an owner that knew of it, for the last time."""
        all_owned_ms = self._owned_ms()
        assert all_owned_ms is not None, f"{self.group_id} is not stable"
        return all_owned_ms

    def _owned_ms(self) -> int | None:
        stable, before = None, 0
        for at_ms, number in self._owned_from():
            if before < number == self.partitions:
                stable = at_ms
            before = number
        return stable if before == self.partitions else None

    def _owned_from(self) -> Iterator[tuple[int, int]]:
        """Yield when the number of owned partitions may have changed, with the new number."""
        owners: dict[Partition, str] = {}
        for report in sorted(self._reports(), key=lambda report: report.at_ms):
            if report.event in ("assigned", "closed", "killed"):
                owners = {partition: owner for partition, owner in owners.items() if owner != report.name}
            if report.event == "assigned":
                owners |= dict.fromkeys(listed_partitions(report.fields[2]), report.name)
            elif report.event == "revoked":
                for partition in listed_partitions(report.fields[2]):
                    owners.pop(partition, None)
            yield report.at_ms, len(owners)

    def unowned_ms(self, after_ms: int) -> int:
        """Return how long partitions had no owner that knew of it, after a time: the sum of all partitions."""
        unowned_ms, since_ms, owners = 0, after_ms, self.partitions
        for at_ms, number in self._owned_from():
            unowned_ms += max(at_ms - since_ms, 0) * (self.partitions - owners)
            since_ms, owners = max(at_ms, after_ms), number
        return unowned_ms

    def is_balanced(self) -> bool:
        """Return whether every running consumer knows of an equal share of the partitions."""
        up = [self._name(place) for place in range(len(self.clients)) if place not in self._down]
        has = {r.name: len(listed_partitions(r.fields[2])) for r in self._reports() if r.event == "assigned"}
        return self._owned_ms() is not None and all(has.get(name) == self.partitions // len(up) for name in up)

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
    """Return the current time on the clock of the consumers' reports."""
    return time.monotonic_ns() // 1_000_000


def to_each(groups: Sequence[TimedGroup], happen: Callable[[TimedGroup], None], over_ms: int = 0) -> None:
    """Trigger an event in all groups, one shortly after the other, and wait until it has occurred in all.

    ``over_ms`` spreads the events further, so that they occur at different phases of the groups' heartbeats.
    """

    def happen_later(number: int) -> None:
        time.sleep(number * (_APART_SECONDS + over_ms / 1000 / len(groups)))
        happen(groups[number])

    with ThreadPoolExecutor(len(groups)) as threads:
        list(threads.map(happen_later, range(len(groups))))


def wait_until_balanced(groups: Sequence[TimedGroup]) -> None:
    """Wait until all groups are stable, and then until the machine is idle."""
    until("all groups are balanced", lambda: all(group.is_balanced() for group in groups))
    time.sleep(_CALM_SECONDS)


def generations(bootstrap_servers: str) -> dict[str, dict[int, int]]:
    """Return when each generation (or epoch) of each group was first written, on the broker's clock."""
    found: dict[str, dict[int, int]] = {}
    for message in read_topic(bootstrap_servers, "__consumer_offsets"):
        what = decode_key(message.key())
        if message.value() is None or what.type not in (RecordType.GROUP_METADATA, RecordType.CONSUMER_GROUP_METADATA):
            continue
        decoded = decode_value(what.type, message.value())
        assert isinstance(decoded, GroupMetadata | ConsumerGroupMetadata)
        number = decoded.generation if isinstance(decoded, GroupMetadata) else decoded.epoch
        found.setdefault(what.group_id, {}).setdefault(number, message.timestamp()[1])
    return found
