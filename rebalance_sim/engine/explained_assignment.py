"""Why a partition is with the member that it is with: who had it, who could have it, and by what turn it came there.

Nothing is assigned here. The assignors answer as they do for tables, and what is told are facts of their answers. Only
of range and roundrobin, which go by a plain order, the step that led to the member is told; and only where the answer
bears it out. Where racks are matched it may not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

import pyarrow as pa

from rebalance_sim.engine.batch_arrays import as_groups, elect_protocols, find_topics, refusals
from rebalance_sim.engine.explanation import MOST_SHOWN, Explanation, first_lines, shown
from rebalance_sim.engine.group_batches import GroupBatch
from rebalance_sim.engine.prediction import Prediction
from rebalance_sim.errors import UserError, check_choice
from rebalance_sim.kafka.assignors import FORGETFUL
from rebalance_sim.kafka.groups import map_order, sorted_order, subscribers, topics_by_name
from rebalance_sim.tables import ASSIGNMENTS, BALANCE, COOPERATIVE_REBALANCES, LAST_ASSIGNMENTS, REJECTS

OUTPUTS = (ASSIGNMENTS.name, LAST_ASSIGNMENTS.name, COOPERATIVE_REBALANCES.name, BALANCE.name, REJECTS.name)
"""Tables that an explanation is made of."""

_TopicPartition = tuple[str, int]
_Lists = Mapping[str, Sequence[_TopicPartition]]
"""Partitions by member id."""


@dataclass(frozen=True)
class Claim:
    """A member that owns the partition before the rebalance, as it says itself."""

    member_id: str
    generation: int | None
    takes_part: bool
    """Whether it subscribes to the topic and is let in: else it cannot have the partition any longer."""


@dataclass(frozen=True)
class Step:
    """What happens to the partition in one rebalance of a cooperative group."""

    rebalance: int
    revoked_by: tuple[str, ...]
    added_to: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class AssignmentExplanation(Explanation):
    """Why a partition is with the member that it is with."""

    cluster: str
    group_id: str
    kafka_version: str
    strategy: str
    topic: str
    partition: int
    member_ids: tuple[str, ...]
    """Who has the partition after the last rebalance: one, or nobody; more where Kafka's assignor gives it twice."""
    claims: tuple[Claim, ...]
    """Who had it before."""
    subscribers: tuple[str, ...]
    """Who could have it: in the order in which Java's assignors sort members."""
    before: Mapping[str, int]
    """How many partitions members had before, of all topics."""
    after: Mapping[str, int]
    """How many they have after the last rebalance."""
    reasons: tuple[str, ...]
    """By what step of the assignor it came there, where that can be told."""
    steps: tuple[Step, ...]
    """What happens to the partition in the rebalances of a cooperative group."""
    error: str | None
    """Why the group has no assignment in the end."""

    def lines(self) -> Sequence[str]:
        """Tell the facts, a line each."""
        goes = f"goes to {' and '.join(self.member_ids)}" if self.member_ids else "goes to nobody"
        return [
            f"{self.topic}-{self.partition} of group {self.group_id!r} {goes} "
            f"({self.strategy}, Kafka {self.kafka_version})",
            *([f"  the group has no assignment: {self.error}"] if self.error else []),
            f"  before: {self._before()}",
            *([f"  {self._change()}"] if self.claims and self.member_ids else []),
            *(f"  {reason}" for reason in self.reasons),
            *(f"  {line}" for line in self._steps()),
            f"  partitions of those that subscribe to {self.topic}, of all topics",
            *first_lines([f"    {member_id}: {self._count(member_id)}" for member_id in self._concerned_first()]),
        ]

    def _before(self) -> str:
        if not self.claims:
            return "nobody had it"
        return " and ".join(
            f"{claim.member_id} had it"
            + ("" if claim.generation is None else f" (generation {claim.generation})")
            + ("" if claim.takes_part else ", and may not have it now")
            for claim in self.claims
        )

    def _change(self) -> str:
        kept = {claim.member_id for claim in self.claims}.intersection(self.member_ids)
        if self.strategy in FORGETFUL:
            return f"{'kept' if kept else 'moved'}: {self.strategy} does not ask who had it"
        return "kept" if kept else "moved"

    def _steps(self) -> Iterator[str]:
        for step in self.steps:
            if step.revoked_by:
                yield f"rebalance {step.rebalance}: {shown(step.revoked_by)} gives it up"
            if step.added_to:
                yield f"rebalance {step.rebalance}: {shown(step.added_to)} takes it"

    def _concerned_first(self) -> Sequence[str]:
        """Of so many members that not all are shown, those that have or had the partition are."""
        if len(self.subscribers) <= MOST_SHOWN:
            return self.subscribers
        concerned = {*self.member_ids, *(claim.member_id for claim in self.claims)}
        return sorted(self.subscribers, key=lambda member_id: member_id not in concerned)

    def _count(self, member_id: str) -> str:
        return f"{self.after.get(member_id, 0)} (had {self.before.get(member_id, 0)})"


def explain_assignment(
    group: pa.RecordBatch, predict: Prediction, kafka_version: str, topic: str, partition: int
) -> AssignmentExplanation:
    """Explain a partition of the one group of a batch, as ``collect_group`` returns it.

    ``predict`` has one strategy and fills ``OUTPUTS``. Raises UserError where nobody subscribes to the topic, where
    the topics table does not have the partition, and where none of the members can be used.
    """
    predicted = _tables(predict, group)
    if not predicted[BALANCE.name]:
        raise UserError(f"members: none can be used: {predicted[REJECTS.name][0]['reason']}")
    told = predicted[BALANCE.name][0]
    last = _lists(predicted[LAST_ASSIGNMENTS.name])
    order = _Order.of(_taking_part(group, predict), predict)
    order.check(topic, partition)
    members: list[dict[str, Any]] = group.column("members")[0].as_py()
    wanted = (topic, partition)
    owned = {member["member_id"]: _pairs(member["owned"]) for member in members}
    wanting = order.subscribers_of[topic]
    reasons = _REASONS.get(told["strategy"])
    return AssignmentExplanation(
        cluster=told["cluster"],
        group_id=told["group_id"],
        kafka_version=kafka_version,
        strategy=told["strategy"],
        topic=topic,
        partition=partition,
        member_ids=tuple(member_id for member_id, partitions in last.items() if wanted in partitions),
        claims=tuple(
            Claim(member["member_id"], member["generation"], member["member_id"] in wanting)
            for member in members
            if wanted in owned[member["member_id"]]
        ),
        subscribers=wanting,
        before={member_id: len(partitions) for member_id, partitions in owned.items()},
        after={member_id: len(partitions) for member_id, partitions in last.items()},
        reasons=tuple(reasons(order, last, wanted)) if reasons else (),
        steps=tuple(_steps(predicted[COOPERATIVE_REBALANCES.name], wanted)),
        error=told["error"],
    )


def _tables(predict: Prediction, group: pa.RecordBatch) -> dict[str, list[dict[str, Any]]]:
    """Predict here, with what the workers run."""
    predicted: dict[str, list[dict[str, Any]]] = {name: [] for name in predict.outputs}
    for batch in predict.predict_batches([group]):
        for row in batch.to_pylist():
            ((name, values),) = [(name, values) for name, values in row.items() if values is not None]
            predicted[name].append(values)
    return predicted


def _taking_part(group: pa.RecordBatch, predict: Prediction) -> GroupBatch:
    """Leave out the members that cannot be used and, where the group elects, those that the coordinator refuses."""
    batch, _ = GroupBatch.of(group).without_unusable_members(predict.refuses)
    if not predict.refuses:
        return batch
    admitted, _ = batch.reject(refusals(elect_protocols(batch, predict.version)))
    return admitted


def _pairs(partitions: Iterable[Mapping[str, Any]] | None) -> list[_TopicPartition]:
    return [(each["topic"], each["partition"]) for each in partitions or ()]


def _lists(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[_TopicPartition]]:
    return {row["member_id"]: _pairs(row["partitions"]) for row in rows}


def _steps(rows: Sequence[Mapping[str, Any]], wanted: _TopicPartition) -> Iterator[Step]:
    for number, of_rebalance in groupby(rows, key=lambda row: row["rebalance"]):
        members = list(of_rebalance)
        revoked, added = (
            tuple(row["member_id"] for row in members if wanted in _pairs(row[change]))
            for change in ("revoked", "added")
        )
        if revoked or added:
            yield Step(number, revoked, added)


@dataclass(frozen=True)
class _Order:
    """The orders by which Java's assignors go, of the members that take part."""

    members: tuple[str, ...]
    subscribers_of: Mapping[str, tuple[str, ...]]
    """Of the topics, in the order of their names."""
    partitions_of: Mapping[str, int]

    @classmethod
    def of(cls, batch: GroupBatch, predict: Prediction) -> "_Order":
        """Sort the members and topics of a group."""
        assert predict.metadata is not None
        index = predict.metadata.index()
        found = find_topics(batch, index, ids=False)
        groups = as_groups(batch, found, index)
        in_map_order = map_order(groups)
        in_order = sorted_order(groups, in_map_order, predict.version.static_members_first)
        by_topic = subscribers(groups, in_map_order, in_order, len(found.names), count_repeats=False)
        ids, names = batch.column("member_id").to_pylist(), found.names.to_pylist()
        subscribers_of, partitions_of = {}, {}
        for entry in topics_by_name(found.topics, by_topic):
            topic = by_topic.topics[entry]
            members = by_topic.members[by_topic.offsets[entry] : by_topic.offsets[entry + 1]]
            subscribers_of[names[topic]] = tuple(ids[member] for member in members)
            partitions_of[names[topic]] = int(found.topics.partitions[topic])
        return cls(tuple(ids[member] for member in in_order), subscribers_of, partitions_of)

    def check(self, topic: str, partition: int) -> None:
        """Raise UserError for a partition that the group cannot have."""
        check_choice("topic", topic, list(self.subscribers_of))
        partitions = self.partitions_of[topic]
        if not 0 <= partition < partitions:
            allowed = f"0 to {partitions - 1}" if partitions > 0 else "none, the topics table has no partition of it"
            raise UserError(f"partition {partition} of topic {topic!r}; allowed: {allowed}")


def _blocks(order: _Order, last: _Lists, wanted: _TopicPartition) -> list[str]:
    """Tell how range cuts the topic."""
    topic, partition = wanted
    members, partitions = order.subscribers_of[topic], order.partitions_of[topic]
    blocks = [[n for name, n in last.get(member_id, ()) if name == topic] for member_id in members]
    share, extra = divmod(partitions, len(members))
    plain = [share + (place < extra) for place in range(len(members))]
    if list(chain(*blocks)) != list(range(partitions)) or [len(block) for block in blocks] != plain:
        return []
    more = f", the first {extra} one more" if extra else ""
    cut = f"range cuts {partitions} partitions of {topic} for {len(members)} subscribers: {share} each{more}"
    lines = [
        f"  {member_id}: {_block(block)}"
        for member_id, block in zip(members, blocks, strict=True)
        if len(members) <= MOST_SHOWN or partition in block
    ]
    return [cut, *lines]


def _block(numbers: Sequence[int]) -> str:
    if len(numbers) <= 1:
        return "".join(map(str, numbers)) or "-"
    return f"{numbers[0]} to {numbers[-1]}"


def _turns(order: _Order, last: _Lists, wanted: _TopicPartition) -> list[str]:
    """Tell whose turn it is when roundrobin comes to the partition."""
    receiver = {partition: member_id for member_id, partitions in last.items() for partition in partitions}
    everything = [(topic, n) for topic in order.subscribers_of for n in range(order.partitions_of[topic])]
    place = everything.index(wanted)
    if wanted not in receiver:
        return []
    turns = f"roundrobin deals the partitions of all topics in turn to {shown(order.members)}"
    if place == 0:
        passed, who = order.members[: order.members.index(receiver[wanted])], "it is dealt first"
    else:
        before = everything[place - 1]
        start = order.members.index(receiver[before]) + 1
        in_turn = order.members[start:] + order.members[:start]
        passed = in_turn[: in_turn.index(receiver[wanted])]
        who = f"{before[0]}-{before[1]}, dealt before it, went to {receiver[before]}"
    over = f"; {shown(passed)} subscribed to other topics only" if passed else ""
    return [turns, f"{who}{over}: the turn is {receiver[wanted]}'s"]


_REASONS = {"range": _blocks, "roundrobin": _turns}
