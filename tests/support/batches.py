"""Batches of groups as the arrays that kernels take, and the results read back."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import cast

import numpy as np

from rebalance_sim.kafka.assignors import KNOWN_ASSIGNORS
from rebalance_sim.kafka.balance import Balance, balance
from rebalance_sim.kafka.balance_bounds import Bounds, balance_bounds
from rebalance_sim.kafka.election import Elections, PreferenceLists, elect
from rebalance_sim.kafka.groups import (
    NO_RACK,
    UNKNOWN_RACK,
    AssignmentFailure,
    Assignments,
    Groups,
    Subscribers,
    Subscriptions,
    TopicArrays,
    map_order,
    subscribers,
)
from rebalance_sim.kafka.guarantees import Guarantee
from rebalance_sim.kafka.optimum import STEPS, Optimum, optimum
from rebalance_sim.kafka.rebalances import Rebalance as RebalanceOfSome
from rebalance_sim.kafka.rebalances import RebalanceSummary, rebalances, summarize_rebalances
from rebalance_sim.kafka.runtime.strings import Flags, Strings
from rebalance_sim.kafka.topic_balance import (
    NOBODY,
    co_partitioned_topics,
    owners_of_whole_topics,
    unconsumed_partitions,
)
from rebalance_sim.releases import kafka_version
from tests.reference.rebalances import Rebalance
from tests.support.arrays import hashes, ints, numbered, offsets, ranks
from tests.support.cases import Answer
from tests.support.model import Assignment, Cluster, Group, Joiner, Member, Partition

ERRORS = {
    AssignmentFailure.NULL_POINTER: "NullPointerException",
    AssignmentFailure.ILLEGAL_STATE: "IllegalStateException",
    AssignmentFailure.NO_SUCH_ELEMENT: "NoSuchElementException",
    AssignmentFailure.NEVER_RETURNS: "TimeoutException",
    AssignmentFailure.ARRAY_INDEX: "ArrayIndexOutOfBoundsException",
    AssignmentFailure.PARTITION_ASSIGNOR: "PartitionAssignorException",
    AssignmentFailure.KEY_ERROR: "KeyError",
    AssignmentFailure.UNDETERMINED: "undetermined",
    AssignmentFailure.UNKNOWN_TOPIC: "UnknownTopic",
    AssignmentFailure.TASK_ASSIGNOR: "TaskAssignorException",
}
TopicKey = tuple[int, str]
"""A topic is identified by its cluster (the id of the object) and its name."""


# ---- elections


@dataclass(frozen=True)
class Election:
    """The election of one group."""

    admitted: tuple[str, ...]
    protocol: str | None
    tie: bool
    votes: dict[str, int]
    """Votes for each candidate; the leader's order."""


class Voters:
    """Groups of voters as arrays, without members that have no protocol, which every coordinator rejects."""

    def __init__(self, groups: Sequence[Sequence[Joiner]]) -> None:
        voters = [[joiner for joiner in group if joiner.protocols] for group in groups]
        self.members = list(chain.from_iterable(voters))
        protocols = numbered(name for member in self.members for name in member.protocols)
        self.type_numbers = numbered(member.protocol_type for member in self.members)
        self.names = list(protocols)
        self.sections = offsets(len(group) for group in voters)
        self.member_ids = Strings.of([member.member_id for member in self.members])
        self.types = ints(self.type_numbers[member.protocol_type] for member in self.members)
        lists = {listed: k for k, listed in enumerate(dict.fromkeys(member.protocols for member in self.members))}
        self.offered = ints(lists[member.protocols] for member in self.members)
        self.preferences = PreferenceLists(
            offsets(len(listed) for listed in lists),
            ints(protocols[name] for listed in lists for name in listed),
            hashes(self.names),
        )

    def elections(self, answer: Elections) -> list[Election]:
        """Return the election of each group."""
        found = []
        for low, high, first, end, winner, tie in zip(
            self.sections[:-1],
            self.sections[1:],
            answer.candidate_offsets[:-1],
            answer.candidate_offsets[1:],
            answer.winner,
            answer.tie,
            strict=True,
        ):
            found.append(
                Election(
                    tuple(self.members[m].member_id for m in range(low, high) if answer.admitted[m]),
                    self.names[winner] if winner >= 0 else None,
                    bool(tie),
                    {self.names[answer.candidates[k]]: int(answer.votes[k]) for k in range(first, end)},
                )
            )
        return found


def elect_all(version: str, groups: Sequence[Sequence[Joiner]], scala: str | None = None) -> list[Election]:
    """Elect the protocols of many groups, by the build of a release with this Scala version."""
    voters = Voters(groups)
    map_rule = int(kafka_version(version, scala).coordinator_map)
    elections = elect(voters.sections, voters.member_ids, voters.types, voters.offered, voters.preferences, map_rule)
    return voters.elections(elections)


# ---- assignments


class Batch:
    """Groups as arrays. Groups with the same ``Cluster`` object share its topics."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = groups
        self._members: list[Member] = list(chain.from_iterable(group.members for group in groups))
        self._names: list[str] = []
        self._numbers: dict[TopicKey, int] = {}
        self._clusters: list[Cluster] = []
        for group in groups:
            for member in group.members:
                for topic in chain(member.topics, (partition.topic for partition in member.owned)):
                    self._number(group.cluster, topic)
        self._racks = numbered(
            rack
            for cluster in {id(cluster): cluster for cluster in self._clusters}.values()
            for partitions in cluster.racks.values()
            for replicas in partitions
            for rack in replicas
        )
        self.topics = self._topic_arrays()
        self.arrays = self._group_arrays()

    def assign(self, version: str, strategy: str) -> list[Assignment]:
        """Return the assignments of all groups by an assignor that does not fail."""
        answers = self.answers(version, strategy)
        assert not any(isinstance(answer, str) for answer in answers)
        return cast(list[Assignment], answers)

    def answers(self, version: str, strategy: str) -> list[Answer]:
        """Return the assignment of each group, or the error as the oracle reports it."""
        outcome = KNOWN_ASSIGNORS[strategy].assign(self.arrays, self.topics, kafka_version(version))
        lists = self.lists(outcome.assignments)
        return [ERRORS[error] if error else given for given, error in zip(lists, outcome.errors, strict=True)]

    def play(self, version: str, strategy: str, eager: Flags | None = None) -> list[RebalanceOfSome]:
        """Return the rebalances of all groups; ``eager`` members follow the eager protocol whatever the strategy."""
        assignor, kafka = KNOWN_ASSIGNORS[strategy], kafka_version(version)
        nobody = np.zeros(len(self._members), np.bool_)
        to_come = rebalances(
            assignor.protocol,
            self.arrays,
            self.topics.ranks,
            nobody if eager is None else eager,
            lambda joined, _: assignor.assign(joined, self.topics, kafka),
        )
        return list(to_come)

    def by_group(self, played: Sequence[RebalanceOfSome]) -> list[list[Rebalance]]:
        """Return the rebalances of cooperative members, group by group."""
        answer: list[list[Rebalance]] = [[] for _ in self.groups]
        for rebalance in played:
            assert rebalance.revoked is not None
            assert rebalance.added is not None
            groups = [self.groups[g] for g in rebalance.groups]
            given, revoked, added = (
                self.lists(some, groups) for some in (rebalance.outcome.assignments, rebalance.revoked, rebalance.added)
            )
            for k, g in enumerate(rebalance.groups):
                error = rebalance.outcome.errors[k]
                again = not error and not rebalance.last[k]
                answer[g].append(Rebalance(ERRORS[error] if error else given[k], revoked[k], added[k], again))
        return answer

    def summary(self, strategy: str, played: Sequence[RebalanceOfSome]) -> RebalanceSummary:
        """Summarize the rebalances of each group."""
        return summarize_rebalances(KNOWN_ASSIGNORS[strategy].protocol, self.arrays, self.topics.ranks, played)

    def measure(self, assignments: Sequence[Assignment]) -> Balance:
        """Return the balance figures of all groups; the groups have the owned partitions."""
        return self.figures(self.as_arrays(assignments))

    def figures(self, assigned: Assignments) -> Balance:
        """Return the balance figures of all groups."""
        by_topic, owned, generations = self._by_topic(), self.arrays.owned, self.arrays.generations
        return balance(self.arrays.members, self.topics, by_topic, assigned, owned, generations)

    def unconsumed(self, assignments: Sequence[Assignment], most: int) -> list[list[tuple[Partition, str | None]]]:
        """Return the first partitions of each group that no subscriber is assigned, and a member that is."""
        assigned, by_topic = self.as_arrays(assignments), self._by_topic()
        counts = np.minimum(self.figures(assigned).unconsumed, most)
        found = unconsumed_partitions(self.arrays.members, self.topics, by_topic, assigned, counts)
        listed = [
            (Partition(self._names[topic], int(number)), None if m == NOBODY else self._members[m].member_id)
            for topic, number, m in zip(found.topics, found.partitions, found.members, strict=True)
        ]
        return [listed[low:high] for low, high in pairwise(found.offsets)]

    def whole_topics(self, assignments: Sequence[Assignment]) -> list[dict[str, str]]:
        """Return the topics of each group that lie on one of several subscribers, with this member."""
        by_topic, assigned = self._by_topic(), self.as_arrays(assignments)
        owners = owners_of_whole_topics(self.arrays.members, self.topics, by_topic, assigned)
        return [
            {
                self._names[by_topic.topics[k]]: self._members[owners[k]].member_id
                for k in range(*of_group)
                if owners[k] >= 0
            }
            for of_group in pairwise(by_topic.group_topics)
        ]

    def co_partitioned(self, assignments: Sequence[Assignment]) -> list[int]:
        """Return the number of co-partitioned topics of each group."""
        assigned = self.as_arrays(assignments)
        return co_partitioned_topics(self.arrays.members, self.topics, self._by_topic(), assigned).tolist()

    def as_arrays(self, assignments: Sequence[Assignment]) -> Assignments:
        """Return one assignment per group as arrays."""
        members = [(g, member.member_id) for g, group in enumerate(self.groups) for member in group.members]
        return self._lists_as_arrays([assignments[g][member_id] for g, member_id in members])

    def best(self, steps: int = STEPS) -> Optimum:
        """Return the optimum of each group; the groups have the owned partitions."""
        return optimum(
            self.arrays.members, self.topics, self._by_topic(), self.arrays.owned, self.arrays.generations, steps
        )

    def bounds(self, guarantee: Guarantee, silent: bool) -> Bounds:
        """Return the bounds of the balance of each group; all members are ``silent`` or none is."""
        of_members = np.full(len(self._members), silent)
        return balance_bounds(self.arrays, self.topics, self._by_topic(), self.best(), guarantee, of_members)

    def by_groups(self, lists: Sequence[Sequence[Partition]]) -> Assignments:
        """Return one list per group as arrays, of partitions whose topics a member names or owns."""
        pairs = zip(self.groups, lists, strict=True)
        known = [[p for p in listed if (id(g.cluster), p.topic) in self._numbers] for g, listed in pairs]
        return self._numbered([group.cluster for group in self.groups], known)

    def lists(self, assignments: Assignments, groups: Sequence[Group] | None = None) -> list[Assignment]:
        """Return assignments as one dict per group, for all groups or the given ones."""
        partitions = [
            Partition(self._names[topic], int(number))
            for topic, number in zip(assignments.topics, assignments.partitions, strict=True)
        ]
        answer = []
        start = 0
        for group in self.groups if groups is None else groups:
            lists: Assignment = {}
            for m, member in enumerate(group.members, start):
                lists[member.member_id] = partitions[assignments.offsets[m] : assignments.offsets[m + 1]]
            start += len(group.members)
            answer.append(lists)
        assert len(partitions) == assignments.offsets[start]
        return answer

    def _number(self, cluster: Cluster, topic: str) -> int:
        key = id(cluster), topic
        if key not in self._numbers:
            self._numbers[key] = len(self._names)
            self._names.append(topic)
            self._clusters.append(cluster)
        return self._numbers[key]

    def _topic_arrays(self) -> TopicArrays:
        known = list(zip(self._clusters, self._names, strict=True))
        racks = [cluster.racks.get(topic, []) for cluster, topic in known]
        replicas = list(chain.from_iterable(racks))
        return TopicArrays(
            ints(cluster.partitions.get(topic, -1) for cluster, topic in known),
            hashes(self._names),
            ranks(self._names),
            offsets(len(partitions) for partitions in racks),
            offsets(len(names) for names in replicas),
            ints(self._racks[name] for names in replicas for name in names),
            hashes(list(self._racks)),
            np.array([cluster.ids.get(topic, (0, 0)) for cluster, topic in known], np.uint64)
            .astype(np.int64)
            .reshape(len(known), 2),
            Strings.of(self._names),
        )

    def _group_arrays(self) -> Groups:
        ids = [member.member_id for member in self._members]
        sort_ids = [m.member_id if m.instance_id is None else m.instance_id for m in self._members]
        return Groups(
            offsets(len(group.members) for group in self.groups),
            Strings.of(ids),
            np.array([member.instance_id is None for member in self._members], np.int64),
            Strings.of(sort_ids),
            ints(self._rack(member.rack) for member in self._members),
            self._subscriptions(),
            self._lists_as_arrays([member.owned for member in self._members]),
            np.array([member.generation for member in self._members], np.int64),
        )

    def _subscriptions(self) -> Subscriptions:
        """Number the lists, so that equal ones of a cluster share a number."""
        named = [
            tuple(self._number(group.cluster, topic) for topic in member.topics)
            for group in self.groups
            for member in group.members
        ]
        lists = {listed: number for number, listed in enumerate(dict.fromkeys(named))}
        return Subscriptions(
            ints(lists[listed] for listed in named),
            offsets(len(listed) for listed in lists),
            ints(topic for listed in lists for topic in listed),
        )

    def _rack(self, name: str | None) -> int:
        return self._racks.get(name, UNKNOWN_RACK) if name else NO_RACK

    def _by_topic(self) -> Subscribers:
        in_map_order = map_order(self.arrays)
        return subscribers(self.arrays, in_map_order, in_map_order, len(self._names), False)

    def _lists_as_arrays(self, lists: Sequence[Sequence[Partition]]) -> Assignments:
        return self._numbered([group.cluster for group in self.groups for _ in group.members], lists)

    def _numbered(self, clusters: Sequence[Cluster], lists: Sequence[Sequence[Partition]]) -> Assignments:
        return Assignments(
            offsets(len(partitions) for partitions in lists),
            ints(
                self._numbers[id(cluster), partition.topic]
                for cluster, partitions in zip(clusters, lists, strict=True)
                for partition in partitions
            ),
            ints(partition.number for partitions in lists for partition in partitions),
        )
