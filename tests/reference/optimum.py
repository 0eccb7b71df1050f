"""The most balanced loads and the fewest moves, found by trying all assignments and by shortest paths."""

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from statistics import pstdev

from tests.reference.balance import previous_owners, wanted_partitions
from tests.support.model import Group, Partition

Loads = tuple[int, ...]


@dataclass(frozen=True)
class Best:
    min: int
    max: int
    stddev: float
    score: int
    idle_members: int
    moved: int


def best_of_all(group: Group) -> Best:
    """Goes through all assignments. Each figure is the best that there is, whichever assignment has it.

    Moves are counted only where the sum of squared loads is least.
    """
    moves = _fewest_moves_by_loads(group)
    least_squares = min(map(squares, moves))
    return Best(
        min=max(min(loads, default=0) for loads in moves),
        max=min(max(loads, default=0) for loads in moves),
        stddev=min(pstdev(loads) if loads else 0.0 for loads in moves),
        score=min(map(score, moves)),
        idle_members=min(loads.count(0) for loads in moves),
        moved=min(moved for loads, moved in moves.items() if squares(loads) == least_squares),
    )


def best_by_shortest_paths(group: Group) -> Best:
    """Gives out one partition after the other, each in the cheapest way (successive shortest paths).

    On its way a partition may take another's place, which goes on to somebody else, and so on.

    What a member's next partition costs grows with its load, so that the cheapest way ends at the least load that can
    be reached; of ways that end equally, the one of the fewest moves is cheapest.
    """
    before = previous_owners(group)
    holder: dict[Partition, str] = {}
    for partition in wanted_partitions(group):
        _give(group, before, holder, partition)
    load = Counter(holder.values())
    loads = [load[member.member_id] for member in group.members]
    return Best(
        min=min(loads, default=0),
        max=max(loads, default=0),
        stddev=pstdev(loads) if loads else 0.0,
        score=score(tuple(loads)),
        idle_members=loads.count(0),
        moved=sum(before.get(partition, owner) != owner for partition, owner in holder.items()),
    )


def squares(loads: Loads) -> int:
    return sum(load * load for load in loads)


def score(loads: Loads) -> int:
    """``getBalanceScore`` of Kafka's sticky assignors."""
    return sum(abs(a - b) for a, b in combinations(loads, 2))


def _fewest_moves_by_loads(group: Group) -> dict[Loads, int]:
    """Return the fewest moves of all assignments with the same loads."""
    before = previous_owners(group)
    moves: dict[Loads, int] = {(0,) * len(group.members): 0}
    for partition in wanted_partitions(group):
        further: dict[Loads, int] = {}
        for loads, moved in moves.items():
            for m, member in enumerate(group.members):
                if partition.topic in member.topics:
                    more = (*loads[:m], loads[m] + 1, *loads[m + 1 :])
                    now = moved + (before.get(partition, member.member_id) != member.member_id)
                    further[more] = min(further.get(more, now), now)
        moves = further
    return moves


def _give(group: Group, before: dict[Partition, str], holder: dict[Partition, str], partition: Partition) -> None:
    """Return the cheapest way for one more partition to every member (Bellman and Ford)."""
    topics = {member.member_id: member.topics for member in group.members}
    ways: dict[str, tuple[int, list[tuple[Partition, str]]]] = {}

    def go(cost: int, way: list[tuple[Partition, str]], handed_on: Partition) -> bool:
        shorter = False
        for member_id, wants in topics.items():
            if handed_on.topic in wants:
                now = cost + (before.get(handed_on, member_id) != member_id)
                if member_id not in ways or now < ways[member_id][0]:
                    ways[member_id] = now, [*way, (handed_on, member_id)]
                    shorter = True
        return shorter

    changed = go(0, [], partition)
    while changed:
        changed = False
        for handed_on, member_id in holder.items():
            if member_id in ways:
                cost, way = ways[member_id]
                stayed = before.get(handed_on, member_id) == member_id
                changed |= go(cost - (not stayed), way, handed_on)
    load = Counter(holder.values())
    end = min(ways, key=lambda member_id: (load[member_id], ways[member_id][0]))
    holder.update(ways[end][1])
