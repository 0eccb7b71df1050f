"""The rules against Kafka's released classes: groups per processor second, each on one warm thread in the same run.

Two things are measured. The rule alone, on prepared arrays, against Kafka's class alone, on prepared objects; for
elections that is the vote, to which ours adds the joins. And the way from the bytes of the members' subscriptions to
those of their assignments; Kafka's coordinator gets and sends no such bytes, but as much in another form. Elections
have no bytes there: theirs is the way from the members' lists of protocols to the name of the winner. Answers are
compared before times are.
"""

import base64
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rebalance_sim.engine.groups.name_lists import store_once
from rebalance_sim.engine.tables.arrow import codes, list_offsets, numbers, strings, text_array
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.assignors import ASSIGNORS
from rebalance_sim.kafka.assignors.server import uniform
from rebalance_sim.kafka.assignors.server.specification import specification_order
from rebalance_sim.kafka.election import Elections, PreferenceLists, elect
from rebalance_sim.kafka.groups import Groups, TopicArrays
from rebalance_sim.kafka.runtime.strings import Ints32, java_hashes
from rebalance_sim.kafka.wire.consumer_batches import decode_subscriptions, encode_assignments
from rebalance_sim.kafka.wire.consumer_protocol import (
    Subscription,
    TopicPartition,
    decode_assignment,
    encode_subscription,
)
from rebalance_sim.releases import NEWEST, kafka_version
from tests.benchmarks.assignors import processor_seconds
from tests.oracle import JsonObject, answers, measure
from tests.support.arrays import offsets
from tests.support.batches import Batch
from tests.support.model import Cluster, Group, Member, Partition
from tests.support.unavailable import Unavailable

_KAFKA, _VERSION = "4.3", kafka_version(NEWEST)
_LIMITS = {"alone": 1.0, "from bytes": 3.0}
"""How many times as many groups as Kafka's class."""
_KAFKAS_GROUPS, _SECONDS, _LONGEST_CALL = 1000, 0.5, 60
_COMPARED = 5000
"""Members whose answers are compared."""
_MOVED, _MOST_SECONDS = 100_000, 1.0
_BUCKETS = 5
_TOPICS, _PROTOCOLS = 10_000, ("range", "roundrobin", "sticky")


@dataclass(frozen=True)
class ServerShape:
    """Equal groups as in Kafka's ``ServerSideAssignorBenchmark``; they differ in their ids only."""

    members: int
    partitions_per_member: int
    topics: int
    homogeneous: bool = True
    """Whether all members subscribe to all topics; otherwise there are five buckets of members and topics."""
    incremental: bool = False
    """Whether all members but one have been assigned partitions before."""

    def __str__(self) -> str:
        size = f"{self.members:,} x {self.partitions_per_member}, {self.topics:,} topics"
        kind = "homogeneous" if self.homogeneous else "heterogeneous"
        return f"{size}, {kind}, {'incremental' if self.incremental else 'full'}"

    @property
    def groups(self) -> int:
        """Number of groups of a batch: of at most 100,000 members, a million partitions and 10 million names."""
        partitions, names = self.members * self.partitions_per_member, self.members * self.topics
        return max(1, min(100_000 // self.members, 1_000_000 // partitions, 10_000_000 // names))

    @property
    def kafkas_groups(self) -> int:
        """Number of groups that Kafka's class assigns: few enough to read them fast."""
        return max(1, 200_000 // (self.members * max(self.topics, self.partitions_per_member)))


_SIZES = ((100, 5, 10), (100, 50, 10), (1000, 10, 100), (1000, 5, 1000), (5000, 10, 1000), (10_000, 50, 100))


class _Prepared(NamedTuple):
    """A rule, and a batch of groups for it."""

    groups: int
    alone: Callable[[], object]
    from_bytes: Callable[[], object]
    answers: Callable[[int], list[Any]]
    """Returns the answers to the first groups in the form of Kafka's."""


def bench_kafka(groups: int) -> None:
    """Print groups per second of both, their ratio and its limit, and name the limits that are missed."""
    print(f"\none thread: groups a processor second, against Kafka {_KAFKA}")
    missed: list[str] = []
    for rule in ("election", "range", "roundrobin"):
        cases = list(_client_cases(rule, groups))
        prepared = _election(cases) if rule == "election" else _assignment(rule, cases)
        missed += _compare(rule, f"{groups:,} groups", prepared, cases[:_KAFKAS_GROUPS])
    for size, homogeneous, incremental in product(_SIZES, (True, False), (False, True)):
        shape = ServerShape(*size, homogeneous, incremental)
        # server-range does not read what members own.
        for rule in ("server-uniform",) if incremental else ("server-range", "server-uniform"):
            case = _server_case(rule, shape)
            cases = [case | {"id": str(number)} for number in range(shape.kafkas_groups)]
            missed += _compare(rule, str(shape), _assignment(rule, [case], shape.groups), cases)
    print(f"  limits missed: {'; '.join(missed) or 'none'}")
    seconds = seconds_of_moves(_MOVED)
    print(f"  sticky, a topic of which {_MOVED:,} partitions move: {seconds:.2f} s (limit {_MOST_SECONDS})")


def seconds_of_moves(moved: int) -> float:
    """Return the processor seconds that ``sticky`` takes to move partitions of one topic to a new member."""
    partitions = tuple(Partition("t", number) for number in range(2 * moved))
    first, new = Member("a", ("t",), owned=partitions, generation=1), Member("b", ("t", "u"), generation=1)
    batch = Batch([Group((first, new, Member("c", ("u",))), Cluster({"t": 2 * moved, "u": 1}))])
    return processor_seconds(lambda: ASSIGNORS["sticky"].assign(batch.arrays, batch.topics, _VERSION))


def _compare(rule: str, title: str, ours: _Prepared, cases: Sequence[JsonObject]) -> Iterator[str]:
    """Print how fast both are, and yield the limits missed, of which there is none where Kafka's classes cannot run."""
    try:
        _check(rule, ours, cases[: max(1, _COMPARED // len(cases[0]["members"]))])
    except Unavailable as reason:
        print(f"  {rule:15} {title:48} Kafka's classes cannot run here: {reason}")
        return
    names = ("election", "election_with_join") if rule == "election" else (rule, f"{rule}-from-bytes")
    for (kind, limit), name, call in zip(_LIMITS.items(), names, (ours.alone, ours.from_bytes), strict=True):
        rate = ours.groups / processor_seconds(call, _SECONDS)
        kafka = float(measure(_KAFKA, name, cases, _SECONDS)["cases_per_cpu_second"])
        print(
            f"  {rule:15} {title:48} {kind:10} {rate:12,.1f} ours  {kafka:12,.1f} Kafka  {rate / kafka:6.2f} x "
            f"(limit {limit})",
            flush=True,
        )
        if rate < kafka * limit:
            yield f"{rule} of {title} {kind}"


def _check(rule: str, ours: _Prepared, cases: Sequence[JsonObject]) -> None:
    """Raise AssertionError if Kafka's answers to these cases, the first groups of the batch, are not ours."""
    field = "protocol" if rule == "election" else "assignment"
    if ours.answers(len(cases)) != [answer[field] for answer in answers(_KAFKA, cases, _LONGEST_CALL)]:
        raise AssertionError(f"{rule}: Kafka's answers are not ours")


# ---- cases


def _client_cases(rule: str, count: int) -> Iterator[JsonObject]:
    """Make groups of members with one topic of 24 partitions, or with the same protocols in any order."""
    draw = random.Random(1)
    topics, orders = [_name("topic", draw) for _ in range(_TOPICS)], list(map(list, permutations(_PROTOCOLS)))
    for number in range(count):
        case: JsonObject = {"rule": rule, "id": str(number)}
        if rule == "election":
            members = [{"member_id": _name("consumer", draw), "protocols": draw.choice(orders)} for _ in range(10)]
            yield case | {"members": members}
            continue
        topic = draw.choice(topics)
        yield case | {
            "topics": {topic: 24},
            "members": [_subscriber(_name("consumer", draw), [topic]) for _ in "12345"],
        }


def _server_case(rule: str, shape: ServerShape) -> JsonObject:
    draw = random.Random(1)
    names = sorted(_name("topic", draw) for _ in range(shape.topics))
    ids = {name: base64.urlsafe_b64encode(draw.randbytes(16)).decode().rstrip("=") for name in names}
    buckets = 1 if shape.homogeneous else _BUCKETS
    in_bucket, of_bucket = -(-shape.members // buckets), -(-shape.topics // buckets)
    lists = [names[first : first + of_bucket] for first in range(0, shape.topics, of_bucket)]
    members = [_subscriber(_name("consumer", draw), lists[number // in_bucket]) for number in range(shape.members)]
    partitions = dict.fromkeys(names, max(1, shape.members * shape.partitions_per_member // shape.topics))
    case = {"rule": rule, "topics": partitions, "topic_ids": ids, "members": members}
    if shape.incremental:
        (given,) = _assignment(rule, [case | {"members": members[:-1]}]).answers(1)
        case["members"] = [member | {"owned": given.get(member["member_id"], [])} for member in members]
    return case


def _name(kind: str, draw: random.Random) -> str:
    # Numbered names have close hash codes: partitions would crowd in the buckets of Kafka's maps (see hash_order).
    return f"{kind}-{draw.getrandbits(64):016x}"


def _subscriber(member_id: str, topics: Sequence[str]) -> JsonObject:
    return {"member_id": member_id, "instance_id": None, "topics": topics, "owned": [], "generation": -1, "rack": None}


# ---- our side


def _election(cases: Sequence[JsonObject]) -> _Prepared:
    members = [member for case in cases for member in case["members"]]
    groups = offsets(len(case["members"]) for case in cases)
    ids = strings(pa.array([member["member_id"] for member in members]))
    lists, types = pa.array([member["protocols"] for member in members]), np.zeros(len(members), np.int32)

    def read() -> tuple[Ints32, PreferenceLists, pa.Array]:
        stored = store_once(lists, types)
        protocols, names = codes(stored.dictionary.flatten())
        preferences = PreferenceLists(list_offsets(stored.dictionary), protocols, java_hashes(strings(names)))
        return numbers(stored.indices).astype(np.int32, copy=False), preferences, names

    def winners(offered: Ints32, preferences: PreferenceLists, names: pa.Array) -> pa.Array:
        return names.take(pa.array(vote(offered, preferences).winner))

    def vote(offered: Ints32, preferences: PreferenceLists) -> Elections:
        return elect(groups, ids, types, offered, preferences, int(_VERSION.coordinator_map))

    offered, preferences, _ = read()
    return _Prepared(
        len(cases),
        lambda: vote(offered, preferences),
        lambda: winners(*read()),
        lambda count: winners(*read())[:count].to_pylist(),
    )


def _assignment(rule: str, cases: Sequence[JsonObject], times: int = 1) -> _Prepared:
    """Prepare these groups, so many times."""
    assignor, ids = ASSIGNORS[rule], [[member["member_id"] for member in case["members"]] for case in cases]
    groups = offsets([*map(len, ids)] * times)
    member_ids = strings(pa.concat_arrays([pa.array([each for of in ids for each in of])] * times))
    sent = pa.concat_arrays([pa.array([_sent(member) for case in cases for member in case["members"]])] * times)
    index = _metadata(cases).index()

    def read() -> tuple[Groups, TopicArrays]:
        found = decode_subscriptions(strings(sent))
        of_names = np.zeros(len(found.names.offsets) - 1, np.int32)
        topics = index.find(
            pa.array(["default"]), of_names, text_array(found.names, pa.string()), assignor.asks_topic_ids
        )
        return Groups(
            groups,
            member_ids,
            np.ones(len(sent), np.int64),
            member_ids,
            index.racks(text_array(found.racks, pa.string())),
            found.subscriptions._replace(topics=topics.numbers[found.subscriptions.topics]),
            found.owned._replace(topics=topics.numbers[found.owned.topics]),
            found.generations,
        ), topics.topics

    def from_bytes() -> pa.Array:
        read_groups, topics = read()
        given = assignor.assign(read_groups, topics, _VERSION).assignments
        return text_array(encode_assignments(given, topics.names), pa.binary())

    def assignments(count: int) -> list[dict[str, list[list[str | int]]]]:
        given = iter(from_bytes()[: groups[count]])
        return [{member_id: _listed(next(given).as_py()) for member_id in of} for of in (ids * times)[:count]]

    prepared = read()
    # Kafka's class is given the map of members, whose order the rule has to find out otherwise.
    order = specification_order(prepared[0])

    def alone() -> object:
        if rule == "server-uniform":
            return uniform.assign_in_order(*prepared, order, _VERSION.server_uniform)
        return assignor.assign(*prepared, _VERSION)

    return _Prepared(len(groups) - 1, alone, from_bytes, assignments)


def _listed(assignment: bytes) -> list[list[str | int]]:
    return [list(partition) for partition in decode_assignment(assignment).partitions]


def _sent(member: JsonObject) -> bytes:
    return _encoded(tuple(member["topics"]), tuple(TopicPartition(*each) for each in member["owned"]))


@lru_cache(maxsize=1)
def _encoded(topics: tuple[str, ...], owned: tuple[TopicPartition, ...]) -> bytes:
    return encode_subscription(Subscription(topics, None, owned))


def _metadata(cases: Sequence[JsonObject]) -> TopicMetadata:
    partitions = {name: count for case in cases for name, count in case["topics"].items()}
    ids = {name: topic_id for case in cases for name, topic_id in case.get("topic_ids", {}).items()}
    columns = {
        "cluster": pa.array(["default"] * len(partitions)),
        "topic": pa.array(list(partitions)),
        "partitions": pa.array(list(partitions.values()), pa.int32()),
        "racks": pa.nulls(len(partitions), pa.list_(pa.list_(pa.string()))),
        "topic_id": pa.array(map(ids.get, partitions), pa.string()),
    }
    return TopicMetadata(pa.table(columns))
