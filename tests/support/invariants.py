"""The invariants of assignments, whatever assignor made them, checked for many groups at once."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from rebalance_sim.kafka.groups import Assignments
from rebalance_sim.kafka.rebalances import Rebalance
from rebalance_sim.kafka.runtime.lists import take_lists
from rebalance_sim.kafka.runtime.strings import Flags, Ints
from rebalance_sim.releases import kafka_version
from tests.support.arrays import in_map_order
from tests.support.batches import Batch
from tests.support.java import java_key
from tests.support.model import Assignment, Group, Member, Partition

Faults = dict[str, Ints]
"""How often each group breaks an invariant, by the invariant's name."""

BASIC = ("unassigned", "assigned_twice", "not_subscribed", "nonexistent")
"""Every partition of the existing topics with a subscriber is assigned to exactly one member, a subscriber.

The balance table has columns of these names.
"""


_OF_EVERY_TOPIC = ("kafka-go-roundrobin", "kafkajs-1.12-roundrobin", "sarama-1.27-roundrobin")
"""They deal out every topic on its own."""


def faults(strategy: str, version: str, batch: "NumberedBatch", assigned: Assignments) -> Faults:
    """Return the invariants that complete assignments break: those of every strategy, and the strategy's own."""
    given = Given(batch, assigned)
    match strategy:
        case "range" | "server-range":
            own = _range_faults(strategy, version, given)
        case _ if strategy.endswith("-range") or strategy in _OF_EVERY_TOPIC:
            own = {"imbalanced": given.imbalanced_by_topic()}
        case _ if strategy.endswith("roundrobin"):
            own = {"imbalanced": given.imbalanced_if_same_subscriptions()}
        case "server-uniform":
            own = {"imbalanced": given.imbalanced_if_same_subscriptions(), "lost needlessly": _lost_needlessly(given)}
        case _:
            # Kafka's own tests check this, too: a member with two partitions more has none that the other could get.
            own = {"could be more balanced": given.could_be_more_balanced()}
    return given.basic() | own


def faults_on_the_way(batch: "NumberedBatch", played: Sequence[Rebalance]) -> Faults:
    """Return the invariants that the rebalances of cooperative members break.

    A partition may stay unassigned only if a member joined with it, and a member must not get a partition that another
    member joined with and loses (``ConsumerCoordinator.validateCooperativeAssignment``).
    """
    width = max(batch.places, 1)
    found = {name: np.zeros(batch.n_groups, np.int64) for name in ("withheld needlessly", "not revoked yet", "twice")}
    before = Given(batch, batch.batch.arrays.owned)
    joined_with, unwanted = np.unique(before.keys), before.keys[~before.subscribed_by_holder]
    for rebalance in played:
        answer = Given(batch, _of_all_members(batch, rebalance))
        answers = np.zeros(batch.n_groups, np.bool_)
        answers[rebalance.groups] = rebalance.outcome.errors == 0
        claimed, lost, new = (np.zeros(batch.places, np.bool_) for _ in range(3))
        claimed[joined_with % width] = True
        lost[np.setdiff1d(joined_with, answer.keys) % width] = True
        new[np.setdiff1d(answer.keys, joined_with) % width] = True
        for name, places in (
            ("withheld needlessly", (answer.holders == 0) & ~claimed),
            ("not revoked yet", lost & new),
            ("twice", answer.holders > 1),
        ):
            found[name] += answers * batch.by_group(batch.group_of_place[places])
        # A member with an unsubscribed topic in its assignment ignores it, and keeps what it still subscribes to.
        refuses = np.bincount(answer.member[~answer.subscribed], minlength=batch.n_members) > 0
        still = np.setdiff1d(joined_with[refuses[joined_with // width]], unwanted)
        joined_with = np.union1d(still, answer.keys[~refuses[answer.holder]])
    return found


def _of_all_members(batch: "NumberedBatch", rebalance: Rebalance) -> Assignments:
    """Return a rebalance's assignment; empty lists for members that do not take part."""
    given = rebalance.outcome.assignments
    sizes = np.zeros(batch.n_members, np.int64)
    sizes[rebalance.members] = np.diff(given.offsets)
    return Assignments(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32), given.topics, given.partitions)


class NumberedBatch:
    """A batch with its subscriptions as numbers.

    A subscription is a member and one of its topics; a pair is a group and one of its topics. Existing partitions of
    pairs have places.
    """

    def __init__(self, batch: Batch) -> None:
        groups, partitions = batch.arrays, batch.topics.partitions
        self.batch, self.partitions = batch, partitions
        self.n_groups, self.n_members, self.n_topics = len(batch.groups), len(groups.member_racks), len(partitions) + 1
        self.group = np.repeat(np.arange(self.n_groups), np.diff(groups.members))
        """By member."""
        listed, entries = take_lists(groups.subscriptions.offsets, groups.subscriptions.of_members)
        of_member = np.repeat(np.arange(self.n_members), np.diff(listed))
        self.subscriptions = np.unique(of_member * self.n_topics + groups.subscriptions.topics[entries])
        self.subscriber = self.subscriptions // self.n_topics
        of_group = self.group[self.subscriber] * self.n_topics + self.subscriptions % self.n_topics
        self.pairs, self.pair_of_subscription = np.unique(of_group, return_inverse=True)
        self.group_of_pair = self.pairs // self.n_topics
        sizes = np.maximum(partitions[self.pairs % self.n_topics], 0)
        self.first_place = np.cumsum(sizes) - sizes
        self.group_of_place = np.repeat(self.group_of_pair, sizes)
        self.places = len(self.group_of_place)

    def by_group(self, groups: Ints) -> Ints:
        return np.bincount(groups, minlength=self.n_groups)

    @cached_property
    def same_subscriptions(self) -> Flags:
        """By group: whether all members have the same subscriptions."""
        in_all = np.diff(self.batch.arrays.members) * self.by_group(self.group_of_pair)
        return self.by_group(self.group[self.subscriber]) == in_all

    def in_turn(self, static_first: bool) -> Ints:
        """Return the place of each member among the sorted members."""
        members = [member for group in self.batch.groups for member in group.members]
        keys = []
        for group, member in zip(self.group.tolist(), members, strict=True):
            name = member.instance_id if static_first else None
            keys.append((group, name is None, java_key(member.member_id if name is None else name)))
        turn = np.empty(len(members), np.int64)
        turn[sorted(range(len(members)), key=keys.__getitem__)] = np.arange(len(members))
        return turn


class Given:
    """The partitions assigned to the members of a batch, entry by entry."""

    def __init__(self, batch: NumberedBatch, lists: Assignments) -> None:
        self.all = batch
        self.member = np.repeat(np.arange(batch.n_members), np.diff(lists.offsets))
        self.exists = lists.partitions < batch.partitions[lists.topics]
        self.subscribed = _find(batch.subscriptions, self.member * batch.n_topics + lists.topics) >= 0
        pair = _find(batch.pairs, batch.group[self.member] * batch.n_topics + lists.topics)
        self.known = self.exists & (pair >= 0)
        """The entries that have places; what follows is about these."""
        self.holder, self.subscribed_by_holder, self.pair = (
            self.member[self.known],
            self.subscribed[self.known],
            pair[self.known],
        )
        self.place = batch.first_place[self.pair] + lists.partitions[self.known]
        self.keys = self.holder * max(batch.places, 1) + self.place
        """Member and place."""

    @cached_property
    def holders(self) -> Ints:
        """Number of members that have each place."""
        return np.bincount(self.place, minlength=self.all.places)

    @cached_property
    def loads(self) -> Ints:
        """Number of partitions of each member."""
        return np.bincount(self.member, minlength=self.all.n_members)

    def basic(self) -> Faults:
        batch = self.all
        return {
            "unassigned": batch.by_group(batch.group_of_place[self.holders == 0]),
            "assigned_twice": batch.by_group(batch.group_of_place[self.holders > 1]),
            "not_subscribed": batch.by_group(batch.group[self.member[self.exists & ~self.subscribed]]),
            "nonexistent": batch.by_group(batch.group[self.member[~self.exists]]),
        }

    def could_be_more_balanced(self) -> Ints:
        """Count topics with an owner that has two partitions more, of all topics, than another subscriber."""
        batch = self.all
        most, _ = _extremes(self.pair, self.loads[self.holder], len(batch.pairs))
        _, least = _extremes(batch.pair_of_subscription, self.loads[batch.subscriber], len(batch.pairs))
        return batch.by_group(batch.group_of_pair[most > least + 1])

    def shares(self) -> Ints:
        """Return the partitions of each subscription's topic that its member has."""
        batch = self.all
        of_subscription = _find(
            batch.subscriptions, self.holder * batch.n_topics + batch.pairs[self.pair] % batch.n_topics
        )
        return np.bincount(of_subscription[self.subscribed_by_holder], minlength=len(batch.subscriptions))

    def imbalanced_by_topic(self) -> Ints:
        """Count topics of which two subscribers differ by two partitions."""
        batch = self.all
        most, least = _extremes(batch.pair_of_subscription, self.shares(), len(batch.pairs))
        return batch.by_group(batch.group_of_pair[most > least + 1])

    def imbalanced_if_same_subscriptions(self) -> Ints:
        """Return, by group, whether members with the same subscriptions differ by two partitions."""
        most, least = _extremes(self.all.group, self.loads, self.all.n_groups)
        return (self.all.same_subscriptions & (most > least + 1)).astype(np.int64)


def _find(in_order: Ints, wanted: Ints) -> Ints:
    """Return the places of numbers among sorted ones, or -1."""
    places = np.searchsorted(in_order, wanted)
    found = places < len(in_order)
    found[found] = in_order[places[found]] == wanted[found]
    return np.where(found, places, -1)


def _extremes(which: Ints, values: Ints, count: int) -> tuple[Ints, Ints]:
    """Return the largest and the smallest value by index."""
    most, least = np.zeros(count, np.int64), np.full(count, np.iinfo(np.int32).max, np.int64)
    np.maximum.at(most, which, values)
    np.minimum.at(least, which, values)
    return most, least


def _range_faults(strategy: str, version: str, given: Given) -> Faults:
    """Members have the same number of partitions of a topic or one more; without racks, consecutive ones."""
    batch, rules = given.all, kafka_version(version)
    shares = given.shares()
    in_blocks = np.ones(batch.n_groups, np.bool_)
    if strategy == "range" and rules.rack_aware:
        in_blocks = np.array([not group.cluster.racks for group in batch.batch.groups], np.bool_)
    turn = batch.in_turn(strategy == "server-range" or rules.static_members_first)
    order = np.lexsort((turn[batch.subscriber], batch.pair_of_subscription))
    pair, share = batch.pair_of_subscription[order], shares[order]
    grows = pair[1:][(pair[1:] == pair[:-1]) & (share[1:] > share[:-1])]
    order = np.lexsort((turn[given.holder], given.pair))
    pair, place = given.pair[order], given.place[order]
    falls = pair[1:][(pair[1:] == pair[:-1]) & (place[1:] < place[:-1])]
    return {
        "imbalanced": given.imbalanced_by_topic(),
        "the last have more": in_blocks * batch.by_group(batch.group_of_pair[grows]),
        "not consecutive": in_blocks * batch.by_group(batch.group_of_pair[falls]),
    }


def _lost_needlessly(given: Given) -> Ints:
    """Count partitions lost by members that own no more than the minimum quota, with equal subscriptions."""
    batch = given.all
    had = np.unique(Given(batch, batch.batch.arrays.owned).keys)
    owner = had // max(batch.places, 1)
    share = batch.by_group(batch.group_of_place) // np.maximum(np.diff(batch.batch.arrays.members), 1)
    few = np.bincount(owner, minlength=batch.n_members) <= share[batch.group]
    lost = few[owner] & batch.same_subscriptions[batch.group[owner]] & (_find(np.unique(given.keys), had) < 0)
    return batch.by_group(batch.group[owner[lost]])


def check(strategy: str, version: str, group: Group, assignment: Assignment) -> None:
    """Raise AssertionError if a complete assignment breaks an invariant."""
    assert assignment.keys() == {member.member_id for member in group.members}
    batch = Batch([group])
    found = faults(strategy, version, NumberedBatch(batch), batch.as_arrays([assignment]))
    broken = [name for name, counts in found.items() if counts[0]]
    assert not broken, f"{broken}: {assignment} for {group}"


# ---- quirks of Kafka's assignors


def quirks(strategy: str, version: str, group: Group) -> set[str]:
    """Return the reasons why Kafka may throw or break an invariant, as far as the group alone shows them.

    The only reason that it does not show is an assignor that never returns.
    """
    match strategy:
        case "sticky" | "cooperative-sticky":
            return sticky_quirks(version, group)
        case "server-uniform":
            found = _quirks_of_server_uniform(group)
        case "range":
            found = {"named twice": not kafka_version(version).static_members_first and _names_twice(group)}
        case _:
            found = {}
    return {name for name, has in found.items() if has}


def may_go_on(group: Group) -> bool:
    """Return whether cooperative members may rebalance for ever without another quirk.

    With different subscriptions, each rebalance revokes a partition outside its owner's rack, and balancing may assign
    it back: 7 of 50,000 random groups rebalance for ever, with Kafka 4.3.1's own class, too.
    """
    return any(member.rack for member in group.members) and not _seem_subscribed_alike(group)


def _names_twice(group: Group) -> bool:
    """Before 2.4 a member that names a topic twice has two shares of it; Kafka's consumer sends a set."""
    return any(len(set(member.topics)) < len(member.topics) for member in group.members)


def _quirks_of_server_uniform(group: Group) -> dict[str, bool]:
    claims = Counter(partition for member in group.members for partition in member.owned)
    topics = group.cluster.partitions.keys() & _subscribed(group)
    return {
        "claimed twice": max(claims.values(), default=0) > 1,
        "topic shrank": any(partition.topic in topics and not _exists(group, partition) for partition in claims),
    }


def sticky_quirks(version: str, group: Group) -> set[str]:
    """Return the same for the sticky assignors."""
    if version == "1.0":
        found = _quirks_of_1_0(group)
    elif version == "2.3":
        found = {"previous owner": _may_move_back_unsubscribed(group)}
    else:
        found = _quirks_since_2_4(group)
    return {name for name, has in found.items() if has} | ({"no members"} if not group.members else set())


def _quirks_of_1_0(group: Group) -> dict[str, bool]:
    claims = Counter(partition for partition, _ in _claims(group) if _exists(group, partition))
    remembers = any(member.owned or member.generation >= 0 for member in group.members)
    return {
        "unknown topic": not _subscribed(group) <= _known(group),
        "no partitions": remembers and not _subscribed(group),
        "claimed twice": max(claims.values(), default=0) > 1,
    }


def _quirks_since_2_4(group: Group) -> dict[str, bool]:
    alike = _seem_subscribed_alike(group)
    latest = max((member.generation for member in group.members), default=-1)
    claims = _claims(group)
    return {
        "only seem to subscribe alike": alike and len({frozenset(member.topics) for member in group.members}) > 1,
        "topic shrank": any(not _exists(group, partition) for partition, _ in claims),
        "previous owner": not alike
        and any(member.generation < latest and partition.topic not in member.topics for partition, member in claims),
    }


def _seem_subscribed_alike(group: Group) -> bool:
    """Return whether all members have as many topics as the first one that has any, all of them among its topics.

    Members before that one are not compared, and a topic that is named twice counts twice.
    """
    topics_of = {member.member_id: member.topics for member in group.members}
    in_order = [topics_of[member_id] for member_id in in_map_order(list(topics_of))]
    first = next((i for i, topics in enumerate(in_order) if topics), len(in_order))
    named = set().union(*in_order[first : first + 1])
    return all(len(topics) == len(named) and named.issuperset(topics) for topics in in_order[first + 1 :])


def _may_move_back_unsubscribed(group: Group) -> bool:
    """Return whether a partition may move back to a previous owner that no longer subscribes to its topic."""
    by_generation: dict[Partition, dict[int, list[Member]]] = {}
    for partition, member in _claims(group):
        by_generation.setdefault(partition, {}).setdefault(member.generation, []).append(member)
    return any(
        partition.topic not in member.topics
        for partition, members in by_generation.items()
        for generation in sorted(members)[-2:-1]
        for member in members[generation]
    )


def _claims(group: Group) -> list[tuple[Partition, Member]]:
    """Return the claims to partitions of topics that exist and have a subscriber."""
    topics = _known(group) & _subscribed(group)
    return [(partition, m) for m in group.members for partition in m.owned if partition.topic in topics]


def _known(group: Group) -> set[str]:
    return {topic for topic, partitions in group.cluster.partitions.items() if partitions > 0}


def _subscribed(group: Group) -> set[str]:
    return {topic for member in group.members for topic in member.topics}


def _exists(group: Group, partition: Partition) -> bool:
    return partition.number < group.cluster.partitions[partition.topic]
