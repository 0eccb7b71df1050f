"""
Random conversations with the coordinator about a share group (KIP-932).

Members choose their ids, and follow what they were answered ("next") or do not. Topics appear and grow.
"""

import random
from dataclasses import dataclass

from tests.oracle.conversation import HeartbeatConversation, conversations
from tests.oracle.oracle import JsonObject

_NAMES = ("orders", "payments", "clicks", "audit")


@dataclass
class _Member:
    name: str
    subscription: list[str]


class _Conversation(HeartbeatConversation[_Member]):
    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng, _NAMES)
        self._partitions = {name: rng.randint(1, 7) for name in _NAMES[: rng.randint(1, 3)]}
        self._same_topics = rng.random() < 0.6
        self._faulty = rng.choice((0.03, 0.1, 0.25))
        self._most_members = rng.choice((2, 3, 5, 8))

    def _act(self) -> None:
        rng = self._rng
        if not self._members:
            self._start()
        elif rng.random() < self._faulty:
            rng.choice((self._wrong_epoch, self._wrong_form, self._stranger, self._rejoin))()
        else:
            weights = {
                self._start: 14 if len(self._members) < self._most_members else 2,
                self._beat: 30,
                self._beat_all: 16,
                self._full: 8,
                self._subscribe: 6,
                self._stop: 6,
                self._forget: 2,
                self._change_topics: 6,
                self._tick: 2,
            }
            self._do_one_of(weights)

    def _change_topics(self) -> None:
        rng = self._rng
        new = [name for name in _NAMES if name not in self._partitions]
        if new and rng.random() < 0.4:
            self._partitions[rng.choice(new)] = rng.randint(1, 6)
        else:
            self._partitions[rng.choice(list(self._partitions))] += rng.randint(0, 4)
        self._add_topics()

    def _subscription(self) -> list[str]:
        rng = self._rng
        if self._same_topics and rng.random() < 0.95:
            return list(_NAMES[:2])
        return rng.sample(_NAMES, rng.randint(1, 3))

    def _heartbeat(self, member: _Member, epoch: int | str, **fields: object) -> None:
        self._add(request="share_heartbeat", member=member.name, member_epoch=epoch, **fields)

    def _start(self) -> None:
        member = _Member(f"m{self._started}", self._subscription())
        self._started += 1
        if self._gone and self._rng.random() < 0.2:
            member = self._gone.pop()
        self._heartbeat(member, 0, subscription=member.subscription)
        self._members.append(member)

    def _beat(self) -> None:
        self._heartbeat(self._any(), "next")

    def _beat_all(self) -> None:
        for member in self._members:
            if self._rng.random() < 0.4:
                self._now_ms += self._rng.randint(0, 400)
            self._heartbeat(member, "next")

    def _full(self) -> None:
        member = self._any()
        self._heartbeat(member, "next", subscription=member.subscription)

    def _subscribe(self) -> None:
        member = self._any()
        member.subscription = self._rng.sample(_NAMES, self._rng.randint(0, 3))
        self._heartbeat(member, "next", subscription=member.subscription)

    def _stop(self) -> None:
        member = self._lose()
        self._heartbeat(member, -1)

    # --- what members do not do

    def _wrong_epoch(self) -> None:
        member = self._any()
        fields: JsonObject = self._rng.choice(({}, {"subscription": member.subscription}))
        self._heartbeat(member, self._rng.choice(("before", "ahead", self._rng.randint(1, 8))), **fields)

    def _wrong_form(self) -> None:
        member = self._any()
        self._heartbeat(member, self._rng.choice((0, -3)), **self._rng.choice(({}, {"subscription": []})))

    def _stranger(self) -> None:
        stranger = self._rng.choice((*self._gone, _Member("nobody", ["orders"])))
        self._heartbeat(stranger, self._rng.choice((1, -1, 3)))

    def _rejoin(self) -> None:
        """A member that is known joins again, as after a restart with the same id."""
        member = self._any()
        self._heartbeat(member, 0, subscription=member.subscription)


share_group_cases = conversations("share-group", _Conversation)
"""Conversations for Kafka 4.0 and later."""
