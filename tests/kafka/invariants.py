"""What holds for every good assignment, whatever the rule that made it; for many groups at once."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from rebalance_sim.kafka.groups import Assignments
from rebalance_sim.kafka.rebalances import Rebalance
from rebalance_sim.kafka.strings import Flags, Ints
from rebalance_sim.versions import kafka_version
from tests.kafka.batches import Batch
from tests.naive.java import java_key
from tests.naive.model import Assignment, Group, Member, Partition
from tests.naive.sticky import subscribed_alike
from tests.naive.sticky_input import cooperative_subscriptions

Faults = dict[str, Ints]
"""How often each group breaks an invariant, by the invariant's name."""

BASIC = ("unassigned", "assigned_twice", "not_subscribed", "nonexistent")
"""Every partition of the known topics that somebody wants goes to exactly one member, and that one wants it.

The balance table has columns of these names.
"""


def faults(strategy: str, version: str, wishes: "Wishes", assigned: Assignments) -> Faults:
    """What is wrong with complete assignments: in general, and by the strategy's own promise."""
    given = Given(wishes, assigned)
    match strategy:
        case "range" | "server-range":
            own = _range_faults(strategy, version, given)
        case "librdkafka-range" | "kafka-python-range":
            own = {"uneven": given.uneven_by_topic()}
        case "roundrobin" | "librdkafka-roundrobin" | "kafka-python-roundrobin":
            own = {"uneven": given.uneven_where_all_want_the_same()}
        case "server-uniform":
            own = {"uneven": given.uneven_where_all_want_the_same(), "lost in vain": _lost_in_vain(given)}
        case _:
            # Kafka's own tests ask for this, too: whoever has two partitions more has none that the other wants.
            own = {"could be more even": given.could_be_more_even()}
    return given.basic() | own


def faults_on_the_way(wishes: "Wishes", played: Sequence[Rebalance]) -> Faults:
    """What is wrong with any of the rebalances of cooperative members.

    A partition may be with nobody only if somebody joined with it, and a member may get none that another one joined
    with and loses (``ConsumerCoordinator.validateCooperativeAssignment``).
    """
    width = max(wishes.places, 1)
    found = {name: np.zeros(wishes.n_groups, np.int64) for name in ("withheld in vain", "not revoked yet", "twice")}
    before = Given(wishes, wishes.batch.arrays.owned)
    joined_with, unwanted = np.unique(before.keys), before.keys[~before.wanted_by_holder]
    for rebalance in played:
        answer = Given(wishes, _of_all_members(wishes, rebalance))
        answers = np.zeros(wishes.n_groups, np.bool_)
        answers[rebalance.groups] = rebalance.outcome.errors == 0
        claimed, lost, new = (np.zeros(wishes.places, np.bool_) for _ in range(3))
        claimed[joined_with % width] = True
        lost[np.setdiff1d(joined_with, answer.keys) % width] = True
        new[np.setdiff1d(answer.keys, joined_with) % width] = True
        for name, places in (
            ("withheld in vain", (answer.holders == 0) & ~claimed),
            ("not revoked yet", lost & new),
            ("twice", answer.holders > 1),
        ):
            found[name] += answers * wishes.by_group(wishes.group_of_place[places])
        # Who is given what it does not want takes nothing of it, and keeps only what it wants.
        refuses = np.bincount(answer.member[~answer.wanted], minlength=wishes.n_members) > 0
        still = np.setdiff1d(joined_with[refuses[joined_with // width]], unwanted)
        joined_with = np.union1d(still, answer.keys[~refuses[answer.holder]])
    return found


def _of_all_members(wishes: "Wishes", rebalance: Rebalance) -> Assignments:
    """A rebalance's answer; of members that have no part in it an empty one."""
    given = rebalance.outcome.assignments
    sizes = np.zeros(wishes.n_members, np.int64)
    sizes[rebalance.members] = np.diff(given.offsets)
    return Assignments(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32), given.topics, given.partitions)


class Wishes:
    """What the members of a batch want, as numbers.

    A wish is a member and a topic that it wants, a pair a group and a topic that somebody in it wants. Partitions of
    pairs, if they exist, have places.
    """

    def __init__(self, batch: Batch) -> None:
        groups, partitions = batch.arrays, batch.topics.partitions
        self.batch, self.partitions = batch, partitions
        self.n_groups, self.n_members, self.n_topics = len(batch.groups), len(groups.member_hashes), len(partitions) + 1
        self.group = np.repeat(np.arange(self.n_groups), np.diff(groups.members))
        """By member."""
        wanting = np.repeat(np.arange(self.n_members), np.diff(groups.subscriptions))
        self.wishes = np.unique(wanting * self.n_topics + groups.topics)
        self.subscriber = self.wishes // self.n_topics
        of_group = self.group[self.subscriber] * self.n_topics + self.wishes % self.n_topics
        self.pairs, self.pair_of_wish = np.unique(of_group, return_inverse=True)
        self.group_of_pair = self.pairs // self.n_topics
        sizes = np.maximum(partitions[self.pairs % self.n_topics], 0)
        self.first_place = np.cumsum(sizes) - sizes
        self.group_of_place = np.repeat(self.group_of_pair, sizes)
        self.places = len(self.group_of_place)

    def by_group(self, groups: Ints) -> Ints:
        return np.bincount(groups, minlength=self.n_groups)

    @cached_property
    def all_want_the_same(self) -> Flags:
        """By group."""
        in_all = np.diff(self.batch.arrays.members) * self.by_group(self.group_of_pair)
        return self.by_group(self.group[self.subscriber]) == in_all

    def in_turn(self, static_first: bool) -> Ints:
        """The place of each member when those of its group are sorted."""
        members = [member for group in self.batch.groups for member in group.members]
        keys = []
        for group, member in zip(self.group.tolist(), members, strict=True):
            name = member.instance_id if static_first else None
            keys.append((group, name is None, java_key(member.member_id if name is None else name)))
        turn = np.empty(len(members), np.int64)
        turn[sorted(range(len(members)), key=keys.__getitem__)] = np.arange(len(members))
        return turn


class Given:
    """Partitions of all members of a batch, entry by entry."""

    def __init__(self, wishes: Wishes, lists: Assignments) -> None:
        self.all = wishes
        self.member = np.repeat(np.arange(wishes.n_members), np.diff(lists.offsets))
        self.exists = lists.partitions < wishes.partitions[lists.topics]
        self.wanted = _find(wishes.wishes, self.member * wishes.n_topics + lists.topics) >= 0
        pair = _find(wishes.pairs, wishes.group[self.member] * wishes.n_topics + lists.topics)
        self.known = self.exists & (pair >= 0)
        """Which of the entries have places: of these is what follows."""
        self.holder, self.wanted_by_holder, self.pair = (
            self.member[self.known],
            self.wanted[self.known],
            pair[self.known],
        )
        self.place = wishes.first_place[self.pair] + lists.partitions[self.known]
        self.keys = self.holder * max(wishes.places, 1) + self.place
        """Member and place."""

    @cached_property
    def holders(self) -> Ints:
        """How many have each place."""
        return np.bincount(self.place, minlength=self.all.places)

    @cached_property
    def loads(self) -> Ints:
        """Partitions by member."""
        return np.bincount(self.member, minlength=self.all.n_members)

    def basic(self) -> Faults:
        wishes = self.all
        return {
            "unassigned": wishes.by_group(wishes.group_of_place[self.holders == 0]),
            "assigned_twice": wishes.by_group(wishes.group_of_place[self.holders > 1]),
            "not_subscribed": wishes.by_group(wishes.group[self.member[self.exists & ~self.wanted]]),
            "nonexistent": wishes.by_group(wishes.group[self.member[~self.exists]]),
        }

    def could_be_more_even(self) -> Ints:
        """Topics of which somebody has a partition who has two more, of all, than another that wants the topic."""
        wishes = self.all
        most, _ = _extremes(self.pair, self.loads[self.holder], len(wishes.pairs))
        _, least = _extremes(wishes.pair_of_wish, self.loads[wishes.subscriber], len(wishes.pairs))
        return wishes.by_group(wishes.group_of_pair[most > least + 1])

    def shares(self) -> Ints:
        """Partitions by wish: those of its topic that its member has."""
        wishes = self.all
        of_wish = _find(wishes.wishes, self.holder * wishes.n_topics + wishes.pairs[self.pair] % wishes.n_topics)
        return np.bincount(of_wish[self.wanted_by_holder], minlength=len(wishes.wishes))

    def uneven_by_topic(self) -> Ints:
        """Topics of which two members that want them differ by two partitions."""
        wishes = self.all
        most, least = _extremes(wishes.pair_of_wish, self.shares(), len(wishes.pairs))
        return wishes.by_group(wishes.group_of_pair[most > least + 1])

    def uneven_where_all_want_the_same(self) -> Ints:
        """Whether members that want the same differ by two partitions."""
        most, least = _extremes(self.all.group, self.loads, self.all.n_groups)
        return (self.all.all_want_the_same & (most > least + 1)).astype(np.int64)


def _find(in_order: Ints, wanted: Ints) -> Ints:
    """Where numbers stand among sorted ones, or -1."""
    places = np.searchsorted(in_order, wanted)
    found = places < len(in_order)
    found[found] = in_order[places[found]] == wanted[found]
    return np.where(found, places, -1)


def _extremes(which: Ints, values: Ints, count: int) -> tuple[Ints, Ints]:
    """The largest and the smallest of the values of each thing."""
    most, least = np.zeros(count, np.int64), np.full(count, np.iinfo(np.int32).max, np.int64)
    np.maximum.at(most, which, values)
    np.minimum.at(least, which, values)
    return most, least


def _range_faults(strategy: str, version: str, given: Given) -> Faults:
    """Of each topic members have the same number or one more; without racks, in blocks, from the first member on."""
    wishes, rules = given.all, kafka_version(version)
    shares = given.shares()
    in_blocks = np.ones(wishes.n_groups, np.bool_)
    if strategy == "range" and rules.rack_aware:
        in_blocks = np.array([not group.cluster.racks for group in wishes.batch.groups], np.bool_)
    turn = wishes.in_turn(strategy == "server-range" or rules.static_members_first)
    order = np.lexsort((turn[wishes.subscriber], wishes.pair_of_wish))
    pair, share = wishes.pair_of_wish[order], shares[order]
    grows = pair[1:][(pair[1:] == pair[:-1]) & (share[1:] > share[:-1])]
    order = np.lexsort((turn[given.holder], given.pair))
    pair, place = given.pair[order], given.place[order]
    falls = pair[1:][(pair[1:] == pair[:-1]) & (place[1:] < place[:-1])]
    return {
        "uneven": given.uneven_by_topic(),
        "the last have more": in_blocks * wishes.by_group(wishes.group_of_pair[grows]),
        "not in blocks": in_blocks * wishes.by_group(wishes.group_of_pair[falls]),
    }


def _lost_in_vain(given: Given) -> Ints:
    """Partitions that members lose who want the same as all, and own no more than the least share."""
    wishes = given.all
    had = np.unique(Given(wishes, wishes.batch.arrays.owned).keys)
    owner = had // max(wishes.places, 1)
    share = wishes.by_group(wishes.group_of_place) // np.maximum(np.diff(wishes.batch.arrays.members), 1)
    few = np.bincount(owner, minlength=wishes.n_members) <= share[wishes.group]
    lost = few[owner] & wishes.all_want_the_same[wishes.group[owner]] & (_find(np.unique(given.keys), had) < 0)
    return wishes.by_group(wishes.group[owner[lost]])


def check(strategy: str, version: str, group: Group, assignment: Assignment) -> None:
    """Raise AssertionError if something is wrong with one complete assignment."""
    assert assignment.keys() == {member.member_id for member in group.members}
    batch = Batch([group])
    found = faults(strategy, version, Wishes(batch), batch.as_arrays([assignment]))
    broken = [name for name, counts in found.items() if counts[0]]
    assert not broken, f"{broken}: {assignment} for {group}"


# ---- what Kafka's assignors do not do well


def quirks(strategy: str, version: str, group: Group) -> set[str]:
    """Why Kafka may throw, or answer otherwise than ``faults`` asks; told from the group alone.

    The one thing that it does not foresee is that Kafka goes round in circles.
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
    """Whether rebalances of cooperative members may have no end without another quirk.

    Where subscriptions differ, a partition outside its owner's rack is taken away each time, and evening out may hand
    it back: of 50,000 random groups seven take turns for ever, by Kafka 4.3.1's own class.
    """
    return any(member.rack for member in group.members) and not subscribed_alike(cooperative_subscriptions(group))


def _names_twice(group: Group) -> bool:
    """Before 2.4 such a member has two shares of a topic; Kafka's consumer sends a set."""
    return any(len(set(member.topics)) < len(member.topics) for member in group.members)


def _quirks_of_server_uniform(group: Group) -> dict[str, bool]:
    claims = Counter(partition for member in group.members for partition in member.owned)
    topics = group.cluster.partitions.keys() & _wanted(group)
    return {
        "claimed twice": max(claims.values(), default=0) > 1,
        "topic shrank": any(partition.topic in topics and not _exists(group, partition) for partition in claims),
    }


def sticky_quirks(version: str, group: Group) -> set[str]:
    """The same for the sticky assignors."""
    if version == "1.0":
        found = _quirks_of_1_0(group)
    elif version == "2.3":
        found = {"previous owner": _may_go_back_unwanted(group)}
    else:
        found = _quirks_since_2_4(group)
    return {name for name, has in found.items() if has} | ({"nobody"} if not group.members else set())


def _quirks_of_1_0(group: Group) -> dict[str, bool]:
    claims = Counter(partition for partition, _ in _claims(group) if _exists(group, partition))
    remembers = any(member.owned or member.generation >= 0 for member in group.members)
    return {
        "unknown topic": not _wanted(group) <= _known(group),
        "no partitions": remembers and not _wanted(group),
        "claimed twice": max(claims.values(), default=0) > 1,
    }


def _quirks_since_2_4(group: Group) -> dict[str, bool]:
    alike = subscribed_alike(cooperative_subscriptions(group))
    latest = max((member.generation for member in group.members), default=-1)
    claims = _claims(group)
    return {
        "only seem to want the same": alike and len({frozenset(member.topics) for member in group.members}) > 1,
        "topic shrank": any(not _exists(group, partition) for partition, _ in claims),
        "previous owner": not alike
        and any(member.generation < latest and partition.topic not in member.topics for partition, member in claims),
    }


def _may_go_back_unwanted(group: Group) -> bool:
    """Whether a partition may be handed to whom it had in the generation before, though it wants it no more."""
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
    """What members say of topics that are known and wanted."""
    topics = _known(group) & _wanted(group)
    return [(partition, m) for m in group.members for partition in m.owned if partition.topic in topics]


def _known(group: Group) -> set[str]:
    return {topic for topic, partitions in group.cluster.partitions.items() if partitions > 0}


def _wanted(group: Group) -> set[str]:
    return {topic for member in group.members for topic in member.topics}


def _exists(group: Group, partition: Partition) -> bool:
    return partition.number < group.cluster.partitions[partition.topic]
