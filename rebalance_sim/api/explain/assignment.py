"""Why a member is assigned a partition: its previous owner, its possible owners, and the step that assigned it.

Nothing is assigned here: the facts are taken from the answers of the assignors. Only range and roundrobin follow a
plain order, so only theirs is explained step by step, and only if the answer matches it. With rack-aware assignment it
may not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

import pyarrow as pa

from rebalance_sim.api.explain.election import refuse_share_group
from rebalance_sim.engine.groups.batch_arrays import as_groups, elect_protocols, find_topics, refusals
from rebalance_sim.engine.groups.group_batches import GroupBatch
from rebalance_sim.engine.groups.prediction import Prediction
from rebalance_sim.errors import UserError, check_choice
from rebalance_sim.explanations.explanation import MOST_SHOWN, Explanation, first_lines, listed
from rebalance_sim.kafka.assignors import FORGETFUL
from rebalance_sim.kafka.groups import map_order, sorted_order, subscribers, topics_by_name
from rebalance_sim.releases import KafkaVersion
from rebalance_sim.tables import ASSIGNMENTS, BALANCE, COOPERATIVE_REBALANCES, LAST_ASSIGNMENTS, REJECTS

OUTPUTS = (ASSIGNMENTS.name, LAST_ASSIGNMENTS.name, COOPERATIVE_REBALANCES.name, BALANCE.name, REJECTS.name)
"""Tables that an explanation needs."""

_TopicPartition = tuple[str, int]
_Lists = Mapping[str, Sequence[_TopicPartition]]
"""Partitions by member id."""


@dataclass(frozen=True)
class Claim:
    """A member that reports the partition as owned before the rebalance."""

    member_id: str
    generation: int | None
    takes_part: bool
    """Whether it may keep the partition: it is in the group and subscribed to the topic."""


@dataclass(frozen=True)
class Step:
    """What happens to the partition in one rebalance of a cooperative group."""

    rebalance: int
    revoked_by: tuple[str, ...]
    added_to: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class AssignmentExplanation(Explanation):
    """Why a member is assigned a partition."""

    cluster: str
    group_id: str
    kafka_version: str
    strategy: str
    topic: str
    partition: int
    member_ids: tuple[str, ...]
    """Owners after the last rebalance: one or none; more where Kafka's assignor assigns the partition twice."""
    claims: tuple[Claim, ...]
    """Previous owners."""
    subscribers: tuple[str, ...]
    """Possible owners, in the order in which Java's assignors sort members."""
    before: Mapping[str, int]
    """Number of partitions of each member before, over all topics."""
    after: Mapping[str, int]
    """Number of partitions of each member after the last rebalance."""
    reasons: tuple[str, ...]
    """The assignor's step that assigned the partition, where it can be known."""
    steps: tuple[Step, ...]
    """What happens to the partition in the rebalances of a cooperative group."""
    error: str | None
    """Why the group ends without an assignment."""

    def lines(self) -> Sequence[str]:
        """Return the facts, one per line."""
        owner = f"is assigned to {' and '.join(self.member_ids)}" if self.member_ids else "is not assigned"
        return [
            f"{self.topic}-{self.partition} of group {self.group_id!r} {owner} "
            f"({self.strategy}, Kafka {self.kafka_version})",
            *([f"  the group has no assignment: {self.error}"] if self.error else []),
            f"  previous owner: {self._previous_owners()}",
            *([f"  {self._change()}"] if self.claims and self.member_ids else []),
            *(f"  {reason}" for reason in self.reasons),
            *(f"  {line}" for line in self._steps()),
            f"  partitions of the members subscribed to {self.topic}, over all topics",
            *first_lines([f"    {member_id}: {self._count(member_id)}" for member_id in self._concerned_first()]),
        ]

    def _previous_owners(self) -> str:
        if not self.claims:
            return "none"
        return " and ".join(
            claim.member_id
            + ("" if claim.generation is None else f" (generation {claim.generation})")
            + ("" if claim.takes_part else ", which may not keep it")
            for claim in self.claims
        )

    def _change(self) -> str:
        kept = {claim.member_id for claim in self.claims}.intersection(self.member_ids)
        if self.strategy in FORGETFUL:
            return f"{'kept' if kept else 'moved'}: {self.strategy} ignores previous owners"
        return "kept" if kept else "moved"

    def _steps(self) -> Iterator[str]:
        for step in self.steps:
            if step.revoked_by:
                yield f"rebalance {step.rebalance}: {listed(step.revoked_by)} revokes it"
            if step.added_to:
                yield f"rebalance {step.rebalance}: it is assigned to {listed(step.added_to)}"

    def _concerned_first(self) -> Sequence[str]:
        """Put members that own or owned the partition first where not all members are shown."""
        if len(self.subscribers) <= MOST_SHOWN:
            return self.subscribers
        concerned = {*self.member_ids, *(claim.member_id for claim in self.claims)}
        return sorted(self.subscribers, key=lambda member_id: member_id not in concerned)

    def _count(self, member_id: str) -> str:
        return f"{self.after.get(member_id, 0)} (before: {self.before.get(member_id, 0)})"


def explain_assignment(group: pa.RecordBatch, predict: Prediction, topic: str, partition: int) -> AssignmentExplanation:
    """Explain a partition of the only group in a batch, as ``collect_group`` returns it.

    ``predict`` has one strategy and fills ``OUTPUTS``. Raises UserError if no member subscribes to the topic, if the
    topics table does not have the partition, and if none of the members can be used.
    """
    refuse_share_group(GroupBatch.of(group))
    predicted = _tables(predict, group)
    if not predicted[BALANCE.name]:
        raise UserError(f"members: none can be used: {predicted[REJECTS.name][0]['reason']}")
    balance = predicted[BALANCE.name][0]
    last = _lists(predicted[LAST_ASSIGNMENTS.name])
    order = _Order.of(_taking_part(group, predict), predict)
    order.check(topic, partition)
    members: list[dict[str, Any]] = group.column("members")[0].as_py()
    chosen = (topic, partition)
    owned = {member["member_id"]: _pairs(member["owned"]) for member in members}
    takers = order.subscribers_of[topic]
    reasons = _REASONS.get(balance["strategy"])
    return AssignmentExplanation(
        cluster=balance["cluster"],
        group_id=balance["group_id"],
        kafka_version=predict.clusters.of(balance["cluster"]).version,
        strategy=balance["strategy"],
        topic=topic,
        partition=partition,
        member_ids=tuple(member_id for member_id, partitions in last.items() if chosen in partitions),
        claims=tuple(
            Claim(member["member_id"], member["generation"], member["member_id"] in takers)
            for member in members
            if chosen in owned[member["member_id"]]
        ),
        subscribers=takers,
        before={member_id: len(partitions) for member_id, partitions in owned.items()},
        after={member_id: len(partitions) for member_id, partitions in last.items()},
        reasons=tuple(reasons(order, last, chosen)) if reasons else (),
        steps=tuple(_steps(predicted[COOPERATIVE_REBALANCES.name], chosen)),
        error=balance["error"],
    )


def _tables(predict: Prediction, group: pa.RecordBatch) -> dict[str, list[dict[str, Any]]]:
    """Predict on the driver, with the code that the workers run."""
    predicted: dict[str, list[dict[str, Any]]] = {name: [] for name in predict.outputs}
    for batch in predict.predict_batches([group]):
        for row in batch.to_pylist():
            ((name, values),) = [(name, values) for name, values in row.items() if values is not None]
            predicted[name].append(values)
    return predicted


def _taking_part(group: pa.RecordBatch, predict: Prediction) -> GroupBatch:
    """Leave out members that cannot be used and, in an election, those that the coordinator refuses."""
    batch, _ = GroupBatch.of(group).without_unusable_members(predict.refuses)
    if not predict.refuses:
        return batch
    admitted, _ = batch.reject(refusals(elect_protocols(batch, _rules(batch, predict))))
    return admitted


def _rules(batch: GroupBatch, predict: Prediction) -> KafkaVersion:
    return predict.clusters.of(batch.clusters[0].as_py()).rules()


def _pairs(partitions: Iterable[Mapping[str, Any]] | None) -> list[_TopicPartition]:
    return [(each["topic"], each["partition"]) for each in partitions or ()]


def _lists(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[_TopicPartition]]:
    return {row["member_id"]: _pairs(row["partitions"]) for row in rows}


def _steps(rows: Sequence[Mapping[str, Any]], chosen: _TopicPartition) -> Iterator[Step]:
    for number, of_rebalance in groupby(rows, key=lambda row: row["rebalance"]):
        members = list(of_rebalance)
        revoked, added = (
            tuple(row["member_id"] for row in members if chosen in _pairs(row[change]))
            for change in ("revoked", "added")
        )
        if revoked or added:
            yield Step(number, revoked, added)


@dataclass(frozen=True)
class _Order:
    """The orders in which Java's assignors visit the members and topics of a group."""

    members: tuple[str, ...]
    subscribers_of: Mapping[str, tuple[str, ...]]
    """By topic, topics sorted by name."""
    partitions_of: Mapping[str, int]

    @classmethod
    def of(cls, batch: GroupBatch, predict: Prediction) -> "_Order":
        """Sort the members and topics of a group."""
        assert predict.metadata is not None
        index = predict.metadata.index()
        found = find_topics(batch, index, ids=False)
        groups = as_groups(batch, found, index)
        in_map_order = map_order(groups)
        in_order = sorted_order(groups, in_map_order, _rules(batch, predict).static_members_first)
        by_topic = subscribers(groups, in_map_order, in_order, len(found.names), count_repeats=False)
        ids, names = batch.column("member_id").to_pylist(), found.names.to_pylist()
        subscribers_of, partitions_of = {}, {}
        for entry in topics_by_name(found.topics, by_topic):
            topic = by_topic.topics[entry]
            members = by_topic.members[by_topic.first[entry] : by_topic.end[entry]]
            subscribers_of[names[topic]] = tuple(ids[member] for member in members)
            partitions_of[names[topic]] = int(found.topics.partitions[topic])
        return cls(tuple(ids[member] for member in in_order), subscribers_of, partitions_of)

    def check(self, topic: str, partition: int) -> None:
        """Raise UserError for a partition that the group cannot be assigned."""
        check_choice("topic", topic, list(self.subscribers_of))
        partitions = self.partitions_of[topic]
        if not 0 <= partition < partitions:
            allowed = f"0 to {partitions - 1}" if partitions > 0 else "none, the topics table has no partition of it"
            raise UserError(f"partition {partition} of topic {topic!r}; allowed: {allowed}")


def _range_step(order: _Order, last: _Lists, chosen: _TopicPartition) -> list[str]:
    """Explain the block of partitions that range assigns to each subscriber."""
    topic, partition = chosen
    members, partitions = order.subscribers_of[topic], order.partitions_of[topic]
    blocks = [[n for name, n in last.get(member_id, ()) if name == topic] for member_id in members]
    share, extra = divmod(partitions, len(members))
    plain = [share + (place < extra) for place in range(len(members))]
    if list(chain(*blocks)) != list(range(partitions)) or [len(block) for block in blocks] != plain:
        return []
    first = "first" if extra == 1 else f"first {extra}"
    more = f", one more for the {first}" if extra else ""
    cut = f"range divides {partitions} partitions of {topic} among {len(members)} subscribers: {share} each{more}"
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


def _roundrobin_step(order: _Order, last: _Lists, chosen: _TopicPartition) -> list[str]:
    """Explain which member is next when roundrobin reaches the partition."""
    receiver = {partition: member_id for member_id, partitions in last.items() for partition in partitions}
    everything = [(topic, n) for topic in order.subscribers_of for n in range(order.partitions_of[topic])]
    place = everything.index(chosen)
    if chosen not in receiver:
        return []
    circle = f"roundrobin assigns the partitions of all topics in turn to {listed(order.members)}"
    if place == 0:
        skipped, position = order.members[: order.members.index(receiver[chosen])], "this is the first partition"
    else:
        before = everything[place - 1]
        start = order.members.index(receiver[before]) + 1
        in_turn = order.members[start:] + order.members[:start]
        skipped = in_turn[: in_turn.index(receiver[chosen])]
        position = f"the partition before it, {before[0]}-{before[1]}, goes to {receiver[before]}"
    over = f"; not subscribed to {chosen[0]}: {listed(skipped)}" if skipped else ""
    return [circle, f"{position}{over}; next is {receiver[chosen]}"]


_REASONS = {"range": _range_step, "roundrobin": _roundrobin_step}
