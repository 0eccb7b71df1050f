"""Run set-ups on a broker, all at once and round by round, waiting until every group is stable."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from confluent_kafka import ConsumerGroupState, ConsumerGroupType
from confluent_kafka.admin import ConsumerGroupDescription, NewPartitions

from rebalance_sim.engine.tables.topic_ids import topic_ids
from rebalance_sim.kafka.assignors.server.specification import uuid_hashes
from rebalance_sim.kafka.runtime.hash_order import java_bucket, java_table_size
from rebalance_sim.kafka.runtime.strings import Ints, Strings, java_hashes
from tests.support.cluster.broker import Broker
from tests.support.cluster.capture import seen_by_broker, until
from tests.support.cluster.clients import Partitions, Runner
from tests.support.cluster.fleet import Client
from tests.support.cluster.group_requests import commit, described
from tests.support.cluster.set_ups import Grow, Join, Leave, Restart, Round, SetUp, Subscribe
from tests.support.cluster.topic_reader import OffsetsRecord, read_rows

# A group that is not finished rebalances within a heartbeat.
_QUIET_SECONDS = 1.5
_ANSWER_SECONDS = 5


@dataclass
class _Now:
    """The expected state of a group."""

    members: dict[str, Client]
    partitions: dict[str, int]
    restarted: list[Client] = field(default_factory=list)
    """Static members whose new configuration takes effect in the next rebalance."""

    def change(self, round_: Round) -> None:
        self.members |= {client.client_id: client for client in self.restarted}
        self.restarted = []
        for change in round_:
            match change:
                case Join(client):
                    self.members[client.client_id] = client
                case Restart(client):
                    self.restarted.append(client)
                case Leave(client_id):
                    del self.members[client_id]
                case Subscribe(client_id, topics):
                    self.members[client_id] = replace(self.members[client_id], topics=topics)
                case Grow(topic, partitions):
                    self.partitions[topic] = partitions

    @property
    def assignable(self) -> int:
        topics = {topic for client in self.members.values() for topic in client.topics}
        return sum(self.partitions[topic] for topic in topics)


class LiveSetUps:
    """The groups of set-ups, and their clients."""

    def __init__(self, broker: Broker, runners: Mapping[str, Runner], set_ups: Sequence[SetUp]) -> None:
        self._servers = broker.bootstrap_servers
        self._admin = broker.admin()
        self._runners = runners
        self._set_ups = {each.group: each for each in set_ups}
        self._now = {each.group: _Now({}, dict(each.topics)) for each in set_ups}
        topics = {name: count for each in set_ups for name, count in each.topics.items()}
        broker.create_topics(topics)
        # Form one group first, which creates __consumer_offsets; a hundred groups at once would delay that.
        until("there are coordinators", lambda: commit(self._admin, "first", next(iter(topics)), {0: 0}))

    def form(self) -> None:
        """Let members join one after the other, so that the leader is known."""
        self.play({name: [(Join(client),) for client in each.members] for name, each in self._set_ups.items()})

    def go_on(self) -> None:
        """Run the rounds of changes."""
        self.play({name: each.rounds for name, each in self._set_ups.items()})

    def play(self, rounds: Mapping[str, Sequence[Round]]) -> None:
        """Make the changes of each round in all groups at once."""
        for number in range(max(map(len, rounds.values()))):
            playing = {name: each[number] for name, each in rounds.items() if number < len(each)}
            for name, round_ in playing.items():
                self._do(name, round_)
            self._wait(playing)

    def assigned(self) -> dict[str, dict[str, Partitions]]:
        """Return the partitions of each client of each group, as the client reports them."""
        by_clients = self._by_clients()
        return {
            name: {member.client_id: by_clients.get(member.member_id, set()) for member in found.members}
            for name, found in described(self._admin, self._set_ups).items()
            if found
        }

    def member_ids(self) -> dict[str, set[str]]:
        """Return the member ids of each group."""
        groups = described(self._admin, self._set_ups).items()
        return {name: {member.member_id for member in found.members} for name, found in groups if found}

    def types(self) -> dict[str, ConsumerGroupType]:
        """Return whether each group uses the classic or the consumer protocol."""
        listed = self._admin.list_consumer_groups(request_timeout=_ANSWER_SECONDS).result().valid
        return {each.group_id: each.type for each in listed}

    def offsets_topic(self) -> list[OffsetsRecord]:
        """Read all records of __consumer_offsets."""
        return read_rows(self._servers)

    def _do(self, name: str, round_: Round) -> None:
        now = self._now[name]
        for change in round_:
            match change:
                case Join(client):
                    self._runner(client).start(_label(client), client)
                case Leave(client_id):
                    client = now.members[client_id]
                    self._runner(client).close(_label(client))
                case Subscribe(client_id, topics):
                    client = now.members[client_id]
                    self._runner(client).subscribe(_label(client), topics)
                case Restart(client):
                    self._runner(client).close(_label(client))
                    self._runner(client).start(_label(client), client)
                case Grow(topic, partitions):
                    self._admin.create_partitions([NewPartitions(topic, partitions)])[topic].result()
        now.change(round_)

    def _runner(self, client: Client) -> Runner:
        return self._runners[client.library]

    def _wait(self, names: Iterable[str]) -> None:
        waiting = set(names)

        def are_stable() -> bool:
            by_clients = self._by_clients()
            for name, found in described(self._admin, waiting).items():
                if found and _is_stable(found, self._now[name], by_clients):
                    waiting.discard(name)
            return not waiting

        while waiting:
            try:
                until("the groups are stable", are_stable)
            except TimeoutError:
                raise TimeoutError(f"not stable: {self._told(waiting)}") from None
            time.sleep(_QUIET_SECONDS)
            waiting = set(names)
            are_stable()

    def _told(self, names: Iterable[str]) -> list[str]:
        by_clients = self._by_clients()
        lines = []
        for name, found in described(self._admin, names).items():
            broker = found and {m.client_id: len(m.assignment.topic_partitions) for m in found.members}
            clients = found and {m.client_id: len(by_clients.get(m.member_id, ())) for m in found.members}
            lines.append(f"{name} {found and found.state}: {broker}, by the clients {clients}")
        return lines

    def _by_clients(self) -> dict[str, Partitions]:
        return {id_: has for runner in self._runners.values() for id_, has in runner.assignments().items()}


def _label(client: Client) -> str:
    return f"{client.group}#{client.client_id}"


def _is_stable(found: ConsumerGroupDescription, now: _Now, by_clients: Mapping[str, Partitions]) -> bool:
    """Return whether a group is stable with the expected members, and they report owning all partitions."""
    by_broker = seen_by_broker(found)
    topics = {
        member.member_id: now.members[member.client_id].topics
        for member in found.members
        if member.client_id in now.members
    }
    return (
        found.state == (ConsumerGroupState.STABLE if now.members else ConsumerGroupState.EMPTY)
        and sorted(member.client_id for member in found.members) == sorted(now.members)
        and sum(map(len, by_broker.values())) == now.assignable
        and all({topic for topic, _ in has} <= set(topics[id_]) for id_, has in by_broker.items())
        and all(by_clients.get(id_) == has for id_, has in by_broker.items())
    )


def share_a_bucket(member_ids: Collection[str]) -> bool:
    """Return whether two of a few members share a bucket of a HashMap, where the join order matters."""
    return _collide(java_hashes(Strings.of(list(member_ids))))


def topics_share_a_bucket(ids: Mapping[str, str]) -> bool:
    """Return whether two of a few topics, by name, share a bucket of a member's target assignment.

    There the order in which the coordinator has added them matters, and no table has it.
    """
    return _collide(uuid_hashes(topic_ids(pa.array(ids.values()), pa.array(ids.keys()))))


def _collide(hashes: Ints) -> bool:
    return len({java_bucket(int(h), java_table_size(len(hashes))) for h in hashes}) < len(hashes)
