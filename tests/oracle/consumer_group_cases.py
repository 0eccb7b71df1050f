"""
Random conversations with the coordinator about a group of KIP-848.

Consumers choose their ids, follow what they were answered ("next", "assigned") or do not. Topics grow, appear and go;
the log fails at times, and the coordinator moves.
"""

import random
from dataclasses import dataclass

from tests.oracle.conversation import STORE_ERRORS_OF_4, HeartbeatConversation, conversations
from tests.oracle.oracle import JsonObject

_INSTANCES = ("i0", "i1", "i2")
_NAMES = ("orders", "payments", "clicks", "audit")
_REBALANCE_TIMEOUTS_MS = (60_000, 60_000, 10_000, 300_000, 3000)


@dataclass
class _Consumer:
    name: str
    instance_id: str | None
    subscription: list[str]
    rebalance_timeout_ms: int
    server_assignor: str | None


class _Conversation(HeartbeatConversation[_Consumer]):
    _TIME_WEIGHTS = (25, 35, 20, 15, 6)
    _LIMITED = 0.08

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng, _NAMES)
        self._partitions = {name: rng.randint(1, 7) for name in _NAMES[: rng.randint(1, 3)]}
        self._deleted: set[str] = set()
        self._share_of_static = rng.choice((0.0, 0.0, 0.3, 0.8))
        self._same_topics = rng.random() < 0.6
        self._share_of_assignors = rng.choice((0.0, 0.0, 0.3, 0.9))
        self._faulty = rng.choice((0.03, 0.1, 0.25))
        self._store_troubles = rng.choice((0.0, 0.0, 0.0, 0.08))
        self._moves = rng.choice((0.0, 0.0, 0.05))
        self._most_consumers = rng.choice((2, 3, 5, 8))

    # --- what happens next

    def _act(self) -> None:
        rng = self._rng
        if rng.random() < self._store_troubles:
            self._add(request="fail_store", error=rng.choice((*STORE_ERRORS_OF_4, "NONE", "NONE", "NONE")))
        elif rng.random() < self._moves:
            self._move()
        elif rng.random() < self._faulty and self._members:
            rng.choice((self._wrong_epoch, self._wrong_form, self._wrong_owned, self._stranger, self._wrong_leave))()
        else:
            self._go_on()

    def _go_on(self) -> None:
        if not self._members:
            self._start()
            return
        weights = {
            self._start: 14 if len(self._members) < self._most_consumers else 2,
            self._beat: 24,
            self._acknowledge: 26,
            self._acknowledge_all: 14,
            self._full: 8,
            self._subscribe: 5,
            self._stop: 6,
            self._forget: 2,
            self._stop_and_start_unsubscribed: 3,
            self._change_topics: 5,
            self._commit: 6,
            self._tick: 2,
        }
        self._do_one_of(weights)

    def _move(self) -> None:
        self._add(request="unload")
        if self._members and self._rng.random() < 0.3:
            self._beat()
        self._now_ms += self._rng.choice((0, 10, 5000))
        self._add(request="load")

    # --- topics

    def _change_topics(self) -> None:
        rng = self._rng
        new = [name for name in _NAMES if name not in self._partitions and name not in self._deleted]
        if new and rng.random() < 0.3:
            self._partitions[rng.choice(new)] = rng.randint(1, 6)
        elif len(self._partitions) > 1 and rng.random() < 0.2:
            name = rng.choice(list(self._partitions))
            del self._partitions[name]
            self._deleted.add(name)
        elif self._partitions:
            self._partitions[rng.choice(list(self._partitions))] += rng.randint(0, 4)
        self._add_topics()

    def _subscription(self) -> list[str]:
        rng = self._rng
        if self._same_topics and rng.random() < 0.95:
            return list(_NAMES[:2])
        return rng.sample(_NAMES, rng.randint(1, 3))

    # --- heartbeats

    def _heartbeat(self, consumer: _Consumer, epoch: int | str, **fields: object) -> None:
        step: JsonObject = {"request": "consumer_heartbeat", "member": consumer.name, "member_epoch": epoch}
        if consumer.instance_id is not None:
            step["instance_id"] = consumer.instance_id
        self._add(**(step | fields))

    def _all_fields(self, consumer: _Consumer, owned: object) -> JsonObject:
        fields: JsonObject = {
            "rebalance_timeout_ms": consumer.rebalance_timeout_ms,
            "subscription": consumer.subscription,
            "owned": owned,
        }
        if consumer.server_assignor is not None:
            fields["server_assignor"] = consumer.server_assignor
        return fields

    def _join(self, consumer: _Consumer) -> None:
        self._heartbeat(consumer, 0, **self._all_fields(consumer, []))

    def _start(self) -> None:
        rng = self._rng
        gone = [consumer for consumer in self._gone if consumer.instance_id is not None]
        name = f"m{self._started}"
        self._started += 1
        if gone and rng.random() < 0.6:
            old = rng.choice(gone)
            self._gone.remove(old)
            name = old.name if rng.random() < 0.2 else name
            subscription = old.subscription if rng.random() < 0.8 else self._subscription()
            again = _Consumer(name, old.instance_id, subscription, old.rebalance_timeout_ms, old.server_assignor)
            self._members.append(again)
            self._join(again)
            return
        instance_id = rng.choice(_INSTANCES) if rng.random() < self._share_of_static else None
        server_assignor = rng.choice(("range", "uniform")) if rng.random() < self._share_of_assignors else None
        consumer = _Consumer(
            name, instance_id, self._subscription(), rng.choice(_REBALANCE_TIMEOUTS_MS), server_assignor
        )
        self._join(consumer)
        if instance_id is None or instance_id not in [other.instance_id for other in self._members]:
            self._members.append(consumer)

    def _beat(self) -> None:
        if self._rng.random() < 0.2:
            self._full()
        else:
            self._heartbeat(self._any(), "next")

    def _beat_all(self) -> None:
        for consumer in self._members:
            self._heartbeat(consumer, "next")

    def _acknowledge(self) -> None:
        self._heartbeat(self._any(), "next", owned="assigned")

    def _acknowledge_all(self) -> None:
        for consumer in list(self._members):
            if self._rng.random() < 0.4:
                self._now_ms += self._rng.randint(0, 400)
            fields = self._all_fields(consumer, "assigned") if self._rng.random() < 0.15 else {"owned": "assigned"}
            self._heartbeat(consumer, "next", **fields)

    def _full(self) -> None:
        consumer = self._any()
        self._heartbeat(consumer, "next", **self._all_fields(consumer, "assigned"))

    def _subscribe(self) -> None:
        consumer = self._any()
        rng = self._rng
        consumer.subscription = rng.sample(_NAMES, rng.randint(0, 3))
        fields: JsonObject = {"subscription": consumer.subscription}
        if rng.random() < 0.5:
            fields["owned"] = rng.choice(("assigned", "but_one", []))
        if rng.random() < 0.2:
            consumer.rebalance_timeout_ms = rng.choice(_REBALANCE_TIMEOUTS_MS)
            fields["rebalance_timeout_ms"] = consumer.rebalance_timeout_ms
        self._heartbeat(consumer, "next", **fields)

    def _stop(self) -> None:
        consumer = self._lose()
        static_leave = -2 if consumer.instance_id is not None and self._rng.random() < 0.8 else -1
        self._heartbeat(consumer, static_leave)

    def _stop_and_start_unsubscribed(self) -> None:
        """A new assignment is due when a member joins that does not change the subscribed topics."""
        self._stop()
        name = f"m{self._started}"
        self._started += 1
        consumer = _Consumer(name, None, [], self._rng.choice(_REBALANCE_TIMEOUTS_MS), None)
        self._join(consumer)
        self._members.append(consumer)

    def _commit(self) -> None:
        rng = self._rng
        consumer = self._any()
        epoch = rng.choice(("next", "next", "next", "before", "ahead", rng.randint(0, 6)))
        topic = rng.choice(list(self._partitions) or list(_NAMES))
        self._add(
            request="commit",
            member=consumer.name,
            member_epoch=epoch,
            offsets=[[topic, rng.randint(0, 5), rng.randint(0, 99)]],
        )

    # --- what consumers do not do

    def _wrong_epoch(self) -> None:
        rng = self._rng
        consumer = self._any()
        epoch = rng.choice(("before", "ahead", rng.randint(1, 8)))
        fields: JsonObject = rng.choice(
            ({}, {"owned": "assigned"}, {"owned": []}, self._all_fields(consumer, "assigned"))
        )
        self._heartbeat(consumer, epoch, **fields)

    def _wrong_form(self) -> None:
        rng = self._rng
        consumer = self._any()
        choice = rng.randrange(4)
        if choice == 0:
            self._heartbeat(consumer, 0, owned=[])
        elif choice == 1:
            self._heartbeat(consumer, -3)
        elif choice == 2:
            self._heartbeat(consumer, "next", server_assignor="sticky")
        else:
            self._heartbeat(consumer, 0, **self._all_fields(consumer, [["orders", 0]]))

    def _wrong_owned(self) -> None:
        rng = self._rng
        listed = [[name, p] for name in _NAMES[:2] for p in range(7) if rng.random() < 0.3]
        known = {tuple(entry) for entry in listed if entry[0] in self._partitions or entry[0] in self._deleted}
        owned: object = rng.choice(("but_one", [], [list(entry) for entry in sorted(known)]))
        self._heartbeat(self._any(), "next", owned=owned)

    def _stranger(self) -> None:
        rng = self._rng
        consumer = rng.choice(self._gone or self._members)
        if rng.random() < 0.5:
            self._heartbeat(consumer, rng.choice((0, 1, 5, -1)), **self._all_fields(consumer, []))
        else:
            stranger = _Consumer("nobody", rng.choice((None, *_INSTANCES)), [], 60_000, None)
            self._heartbeat(stranger, rng.choice((1, -1, -2, 3)))

    def _wrong_leave(self) -> None:
        rng = self._rng
        consumer = self._any()
        self._heartbeat(consumer, rng.choice((-2, -1)), instance_id=rng.choice((None, "i0", "i9")))


consumer_group_cases = conversations("consumer-group", _Conversation)
"""Conversations for Kafka 4.3."""
