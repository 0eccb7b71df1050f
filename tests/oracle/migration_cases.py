"""
Random conversations about a group that goes from the classic protocol to that of KIP-848, and back.

Members of the classic protocol join, sync and beat; then members come that follow the other protocol, and some of the
old ones leave. The last one of the new protocol that leaves makes the group a classic one again. In some conversations
members are static and are replaced by either protocol, topics grow, sessions end, the log fails, or the coordinator
moves.
"""

import random
from dataclasses import dataclass, field

from tests.oracle.conversation import STORE_ERRORS_OF_4, Conversation, conversations, topic_ids
from tests.oracle.coordinator_cases import subscription
from tests.oracle.oracle import JsonObject

_TOPICS = ("t", "u")
_PROTOCOLS = ("range", "roundrobin", "cooperative-sticky")
_INSTANCES = ("i0", "i1", "i2", "i3")


def assignment(partitions: dict[str, list[int]]) -> str:
    """The text whose bytes are a version 0 assignment of partitions, with no user data."""
    return f"\0\0{_partitions(partitions)}\0\0\0\0"


def subscription_text(topics: list[str], owned: dict[str, list[int]] | None) -> str:
    """Return the text whose bytes are a subscription: of version 1 with owned partitions, otherwise of version 0."""
    text = subscription(topics)
    return text if owned is None else f"\0\1{text[2:]}{_partitions(owned)}"


def _partitions(partitions: dict[str, list[int]]) -> str:
    listed = {topic: numbers for topic, numbers in partitions.items() if numbers}
    return f"{_int32(len(listed))}{''.join(_of_topic(topic, numbers) for topic, numbers in listed.items())}"


def _of_topic(topic: str, numbers: list[int]) -> str:
    return f"\0{chr(len(topic))}{topic}{_int32(len(numbers))}{''.join(map(_int32, numbers))}"


def _int32(number: int) -> str:
    return f"\0\0\0{chr(number)}"


@dataclass
class _Classic:
    number: int
    names: list[str]
    topics: list[str]
    instance_id: str | None
    generation: int
    session_timeout_ms: int
    rebalance_timeout_ms: int
    share: dict[str, list[int]] = field(default_factory=dict)
    tells_owned: bool = False


@dataclass
class _New:
    name: str
    topics: list[str]
    instance_id: str | None


class _Conversation(Conversation):
    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self._ids = topic_ids(rng, _TOPICS)
        self._partitions = {topic: rng.randint(2, 8) for topic in _TOPICS[: rng.choice((1, 1, 2))]}
        self._classic: list[_Classic] = []
        self._new: list[_New] = []
        self._gone: list[str] = []
        self._made = self._started = 0
        self._names = rng.sample(_PROTOCOLS, rng.randint(1, 2))
        self._epoch = 1
        self._share_of_static = rng.choice((0.0, 0.0, 0.4, 0.9))
        self._asks_for_ids = rng.random() < 0.3
        self._is_slow = rng.random() < 0.35
        self._store_troubles = rng.choice((0.0, 0.0, 0.0, 0.06))
        self._moves = rng.choice((0.0, 0.0, 0.0, 0.04))
        self._faulty = rng.choice((0.0, 0.05, 0.15))
        self._most_new = rng.choice((1, 1, 2, 3))
        self._timeouts_ms = rng.choice(((30_000, 60_000), (10_000, 60_000), (10_000, 20_000), (45_000, 6000)))

    def case(self, case_id: str) -> JsonObject:
        rng = self._rng
        self._add_topics()
        self._form_classic_group(rng.choice((0, 1, 1, 2, 2, 3, 4)))
        for _ in range(rng.choice((0, 0, 0, 1, 2, 6))):
            # Not stable when the first member of the other protocol comes.
            if len(self._steps) > 1:
                self._steps.pop()
        for _ in range(rng.randint(6, 28) if rng.random() < 0.7 else rng.randint(28, 60)):
            self._pass_time()
            self._act()
        config = {
            "initial_rebalance_delay_ms": rng.choice((0, 0, 0, 3000)),
            "assignment_interval_ms": rng.choice((0, 0, 1000)),
        }
        if rng.random() < 0.1:
            config["consumer_group_max_size"] = rng.randint(1, 4)
        if rng.random() < 0.1:
            config["group_max_size"] = rng.randint(1, 4)
        return self._finished(case_id, config)

    def _pass_time(self) -> None:
        rng = self._rng
        self._now_ms += rng.choice((0, 1, rng.randint(1, 900), 1000, 3000))
        if self._is_slow and rng.random() < 0.25:
            self._now_ms += rng.choice((5000, 10_000, 10_001, 20_000, 45_000, 60_000, rng.randint(3000, 70_000)))

    # --- the classic group

    def _member(self, number: int) -> _Classic:
        rng = self._rng
        instance_id = rng.choice(_INSTANCES) if rng.random() < self._share_of_static else None
        session_timeout_ms, rebalance_timeout_ms = self._timeouts_ms
        names = list(self._names)
        if rng.random() < 0.15:
            names = rng.sample(_PROTOCOLS, rng.randint(1, 3))
        topics = self._topics()
        return _Classic(number, names, topics, instance_id, self._epoch, session_timeout_ms, rebalance_timeout_ms)

    def _topics(self) -> list[str]:
        """A joining member subscribes to some topic: an empty subscription counts as that of the other members."""
        known = list(self._partitions)
        return known if self._rng.random() < 0.85 else self._rng.sample(_TOPICS, self._rng.randint(1, 2))

    def _join(self, classic: _Classic, member: int | str, **fields: object) -> None:
        owned = classic.share if classic.tells_owned else None
        text = subscription_text(classic.topics, owned)
        if classic.instance_id is not None:
            fields["instance_id"] = classic.instance_id
        if member == "" and self._asks_for_ids:
            fields["requires_known_member_id"] = True
        self._add(
            request="join", member=member, protocols=[[name, text] for name in classic.names],
            session_timeout_ms=classic.session_timeout_ms, rebalance_timeout_ms=classic.rebalance_timeout_ms, **fields,
        )  # fmt: skip

    def _sync(self, classic: _Classic, generation: int, assignments: list[list[object]]) -> None:
        fields: JsonObject = {}
        if classic.instance_id is not None:
            fields["instance_id"] = classic.instance_id
        if self._rng.random() < 0.15:
            fields |= {"protocol_type": "consumer", "protocol": self._rng.choice((classic.names[0], *_PROTOCOLS))}
        self._add(request="sync", member=classic.number, generation=generation, assignments=assignments, **fields)

    def _form_classic_group(self, members: int) -> None:
        """Let this many members join, and share the partitions."""
        for number in range(members):
            member = self._member(number)
            member.names = list(self._names)
            if member.instance_id in [other.instance_id for other in self._classic]:
                member.instance_id = None
            self._classic.append(member)
            self._join(member, "")
            if self._asks_for_ids and member.instance_id is None:
                self._join(member, number)
            self._now_ms += 10
            for other in self._classic[:-1]:
                self._join(other, other.number)
        self._made = members
        if members == 0:
            return
        self._now_ms += 10
        for member in self._classic:
            member.generation = members
            member.share = {
                topic: [p for p in range(count) if p % members == member.number]
                for topic, count in self._partitions.items()
            }
        others: list[list[object]] = [[member.number, assignment(member.share)] for member in self._classic]
        for member in reversed(self._classic):
            self._sync(member, members, others if member.number == 0 else [])
        self._epoch = members

    # --- what happens next

    def _act(self) -> None:
        rng = self._rng
        if rng.random() < self._store_troubles:
            self._add(request="fail_store", error=rng.choice((*STORE_ERRORS_OF_4, *["NONE"] * 5)))
            return
        if rng.random() < self._moves:
            self._move()
            return
        if rng.random() < self._faulty:
            rng.choice((self._wrong_epoch, self._wrong_identity, self._leave_many))()
            return
        choices = {
            self._start_new: 14 if len(self._new) < self._most_new else 2,
            self._beat_new: 22 if self._new else 0,
            self._beat_classic: 18 if self._classic else 0,
            self._rejoin_classic: 22 if self._classic else 0,
            self._sync_classic: 14 if self._classic else 0,
            self._leave_classic: 6 if self._classic else 0,
            self._leave_new: 6 if self._new else 0,
            self._forget: 1 if self._new or self._classic else 0,
            self._join_classic: 4,
            self._replace: 5 if self._share_of_static > 0 and (self._new or self._classic) else 0,
            self._subscribe: 3,
            self._change_topics: 1,
            self._commit_classic: 3 if self._classic else 0,
            self._commit_new: 2 if self._new else 0,
        }
        self._do_one_of(choices)

    def _move(self) -> None:
        self._add(request="unload")
        self._now_ms += self._rng.choice((0, 10, 5000))
        self._add(request="load")

    def _change_topics(self) -> None:
        topic = self._rng.choice(_TOPICS)
        self._partitions[topic] = min(self._partitions.get(topic, 0) + self._rng.randint(1, 3), 16)
        self._add_topics()

    # --- members of KIP-848

    def _heartbeat(self, new: _New, epoch: int | str, **fields: object) -> None:
        if new.instance_id is not None:
            fields["instance_id"] = new.instance_id
        self._add(request="consumer_heartbeat", member=new.name, member_epoch=epoch, **fields)

    def _enter(self, instance_id: str | None) -> None:
        new = _New(f"m{self._started}", self._topics(), instance_id)
        self._started += 1
        self._new.append(new)
        self._epoch += 1
        rebalance_timeout_ms = self._rng.choice((60_000, 60_000, 10_000))
        self._heartbeat(new, 0, rebalance_timeout_ms=rebalance_timeout_ms, subscription=new.topics, owned=[])

    def _start_new(self) -> None:
        is_static = self._rng.random() < self._share_of_static
        self._enter(self._rng.choice(_INSTANCES) if is_static else None)

    def _beat_new(self) -> None:
        for new in self._rng.sample(self._new, self._rng.randint(1, len(self._new))):
            self._heartbeat(new, "next", **self._rng.choice(({"owned": "assigned"}, {"owned": "assigned"}, {})))

    def _leave_new(self) -> None:
        new = self._rng.choice(self._new)
        self._new.remove(new)
        self._epoch += 1
        for_a_while = new.instance_id is not None and self._rng.random() < 0.5
        self._heartbeat(new, -2 if for_a_while else -1)

    def _commit_new(self) -> None:
        epoch = self._rng.choice(("next", "next", "before", "ahead"))
        self._add(
            request="commit", member=self._rng.choice(self._new).name, member_epoch=epoch, offsets=self._offsets()
        )

    # --- members of the classic protocol in either group

    def _generation(self, member: _Classic) -> int:
        """The generation that a member may have been answered; it is but guessed."""
        guesses = (member.generation, member.generation, self._epoch, self._epoch, self._epoch - 1)
        return int(self._rng.choice(guesses))

    def _beat_classic(self) -> None:
        member = self._rng.choice(self._classic)
        fields = {} if member.instance_id is None else {"instance_id": member.instance_id}
        self._add(request="heartbeat", member=member.number, generation=self._generation(member), **fields)

    def _rejoin_classic(self) -> None:
        """Rejoin after REBALANCE_IN_PROGRESS, with the partitions still owned, which version 0 cannot have."""
        member = self._rng.choice(self._classic)
        member.tells_owned = self._rng.random() < 0.5
        if self._rng.random() < 0.3:
            member.share = {
                topic: [p for p in range(count) if self._rng.random() < 0.3]
                for topic, count in self._partitions.items()
            }
        self._join(member, member.number)
        member.generation = self._epoch
        if self._rng.random() < 0.7:
            self._now_ms += self._rng.choice((0, 0, 10))
            self._sync(member, self._epoch, [])

    def _sync_classic(self) -> None:
        member = self._rng.choice(self._classic)
        self._sync(member, self._generation(member), [])

    def _leave_classic(self) -> None:
        member = self._rng.choice(self._classic)
        self._classic.remove(member)
        self._epoch += 1
        leaver: JsonObject = {"member": member.number}
        if member.instance_id is not None:
            leaver = {"member": self._rng.choice(("", member.number)), "instance_id": member.instance_id}
        self._add(request="leave", members=[leaver])

    def _leave_many(self) -> None:
        leavers: list[_Classic | _New] = [*self._classic, *self._new]
        gone = self._rng.sample(leavers, self._rng.randint(0, min(len(leavers), 3)))
        self._classic = [member for member in self._classic if member not in gone]
        self._new = [new for new in self._new if new not in gone]
        self._epoch += 1
        named = [{"member": one.name if isinstance(one, _New) else one.number} for one in gone]
        self._add(request="leave", members=[*named, {"member": "nobody-has-this-id"}])

    def _forget(self) -> None:
        """A crash: nothing more is heard."""
        if self._new and (not self._classic or self._rng.random() < 0.5):
            self._new.remove(self._rng.choice(self._new))
        else:
            self._classic.remove(self._rng.choice(self._classic))

    def _join_classic(self) -> None:
        member = self._member(self._made)
        self._made += 1
        self._epoch += 1
        self._classic.append(member)
        self._join(member, "")
        if self._asks_for_ids and member.instance_id is None and self._rng.random() < 0.8:
            self._join(member, member.number)

    def _replace(self) -> None:
        """Take a static member's place, by either protocol."""
        rng = self._rng
        members: list[_Classic | _New] = [*self._classic, *self._new]
        instances = [one.instance_id for one in members if one.instance_id is not None]
        instance_id = rng.choice(instances or _INSTANCES)
        if rng.random() < 0.5:
            self._new = [new for new in self._new if new.instance_id != instance_id]
            self._classic = [member for member in self._classic if member.instance_id != instance_id]
        if rng.random() < 0.5:
            self._enter(instance_id)
            return
        member = self._member(self._made)
        self._made += 1
        member.instance_id = instance_id
        self._classic.append(member)
        self._join(member, "")

    def _subscribe(self) -> None:
        if self._new and self._rng.random() < 0.5:
            new = self._rng.choice(self._new)
            new.topics = self._topics()
            self._heartbeat(new, "next", subscription=new.topics, owned="assigned")
        elif self._classic:
            member = self._rng.choice(self._classic)
            member.topics = self._topics()
            self._join(member, member.number)

    def _offsets(self) -> list[list[object]]:
        topic = self._rng.choice(list(self._partitions))
        return [[topic, self._rng.randrange(self._partitions[topic]), 7]]

    def _commit_classic(self) -> None:
        member = self._rng.choice(self._classic)
        fields = {} if member.instance_id is None else {"instance_id": member.instance_id}
        generation = self._generation(member)
        self._add(request="commit", member=member.number, generation=generation, offsets=self._offsets(), **fields)

    # --- what consumers do not do

    def _wrong_epoch(self) -> None:
        if self._new:
            epoch = self._rng.choice(("before", "ahead", 1, 5, -2))
            self._heartbeat(self._rng.choice(self._new), epoch, owned=self._rng.choice(("assigned", [])))

    def _wrong_identity(self) -> None:
        """Ask by the other's protocol, with an instance id that is another one's, or of another type of protocol."""
        rng = self._rng
        if self._new and rng.random() < 0.4:
            request = rng.choice(("heartbeat", "sync"))
            fields: JsonObject = {"assignments": []} if request == "sync" else {}
            self._add(request=request, member=rng.choice(self._new).name, generation=self._epoch, **fields)
        elif self._classic:
            member = rng.choice(self._classic)
            instance_id = rng.choice(_INSTANCES)
            if rng.random() < 0.5:
                self._add(request="heartbeat", member=member.number, generation=self._epoch, instance_id=instance_id)
            else:
                self._join(member, member.number, protocol_type=rng.choice(("consumer", "connect")))


migration_cases = conversations("migration", _Conversation)
"""Conversations for Kafka 4.3."""
