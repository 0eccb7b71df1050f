"""The client libraries of leaders and members, according to the members table."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from rebalance_sim.engine.groups.group_batches import GroupBatch
from rebalance_sim.engine.tables.arrow import codes
from rebalance_sim.kafka.assignors.by_library import Leader, is_readable_for_java, tells_owned
from rebalance_sim.kafka.clients import JAVA
from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.coordinator.group_types import GroupProtocols, leaders
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32

CLIENT_COLUMNS = ("client_library", "client_version")

Candidates = tuple[Leader, ...]
"""The clients that may lead a group, the most likely one first."""


def possible_leaders(batch: GroupBatch, protocols: GroupProtocols) -> tuple[list[Candidates], Ints]:
    """Return the candidates for leaders, and the index of each group's candidates (any index without a leader).

    A group has several candidates if ``client_library`` names several, if members of different clients share the first
    place in the join order, or if the join order is unknown.
    """
    clients, of_members = _clients(batch)
    candidates = [tuple(client.candidates) for client in clients]
    if len(clients) == 1:
        return candidates, np.zeros(len(batch.group_ids), np.int64)
    of_leaders = leaders(batch.offsets, protocols)
    firsts = np.where(of_leaders == NONE, 0, of_members[of_leaders])
    tied = protocols.elections.admitted & _tied(batch, of_leaders)
    several: dict[Candidates, int] = {}
    for group, rivals in _rivals(batch.group_of_member[tied], of_members[tied], firsts):
        united = tuple(
            dict.fromkeys(candidate for client in (firsts[group], *rivals) for candidate in candidates[client])
        )
        firsts[group] = several.setdefault(united, len(candidates) + len(several))
    return [*candidates, *several], firsts


def readable_for_java(batch: GroupBatch) -> Flags:
    """Return the groups of which Java's consumer can read all subscriptions."""
    readable = np.ones(len(batch.group_ids), np.bool_)
    libraries = batch.column("client_library")
    if libraries.null_count < len(libraries):
        of_members, names = codes(libraries.fill_null(""))
        unreadable = np.array([not is_readable_for_java(name) for name in names.to_pylist()])[of_members]
        readable[batch.group_of_member[unreadable]] = False
    return readable


def other_libraries(batch: GroupBatch) -> pa.ListArray:
    """Return, by group, the libraries other than Java's that members use or may use, sorted; null if there are none."""
    by_group: dict[int, set[str]] = {}
    libraries = batch.column("client_library")
    if libraries.null_count < len(libraries):
        of_members, names = codes(libraries.fill_null(""))
        candidates = [Leader(name, "").candidates for name in names.to_pylist()]
        other_than_java = [{candidate.library for candidate in several} - {"", JAVA} for several in candidates]
        for group, number in np.unique(np.stack([batch.group_of_member, of_members], 1), axis=0).tolist():
            by_group.setdefault(group, set()).update(other_than_java[number])
    listed = [sorted(by_group.get(group, ())) or None for group in range(len(batch.group_ids))]
    return pa.array(listed, pa.list_(pa.string()))


def shared_clients(batch: GroupBatch) -> tuple[list[Leader], Ints]:
    """Return clients, and by group the index of its first member's client.

    NONE for a group whose members use several libraries, for a group of Java's consumers, and for a group with a member
    whose library is unknown or uncertain.
    """
    clients, of_members = _clients(batch)
    names = [client.library for client in clients]
    is_other = np.array([name not in ("", JAVA) and len(Leader(name, "").candidates) == 1 for name in names])
    libraries = np.array([names.index(name) for name in names])[of_members]
    has_members = np.diff(batch.offsets) > 0
    firsts = np.full(len(batch.group_ids), NONE, np.int64)
    firsts[has_members] = of_members[batch.offsets[:-1][has_members]]
    firsts[~is_other[firsts]] = NONE
    differs = libraries != np.array([names.index(name) for name in names])[firsts[batch.group_of_member]]
    firsts[batch.group_of_member[differs]] = NONE
    return clients, firsts


def silent_members(batch: GroupBatch, protocol: str) -> tuple[Flags, Flags]:
    """Return the members that do not send the leader the partitions they own, under ``protocol``, an eager assignor.

    A member with several possible libraries is assumed to use the first. The second array assumes the opposite
    wherever the possible libraries differ.
    """
    libraries = batch.column("client_library")
    if libraries.null_count == len(libraries):
        return np.zeros(len(libraries), np.bool_), np.zeros(len(libraries), np.bool_)
    of_members, names = codes(libraries.fill_null(""))
    candidates = [Leader(name, "").candidates for name in names.to_pylist()]
    silent = [[not tells_owned(candidate.library, protocol) for candidate in several] for several in candidates]
    probably = np.array([flags[0] for flags in silent])
    is_sure = np.array([len(set(flags)) == 1 for flags in silent])
    return probably[of_members], (probably == is_sure)[of_members]


def _clients(batch: GroupBatch) -> tuple[list[Leader], Ints]:
    """Return the distinct clients, and by member the index of its client."""
    columns = [batch.column(name) for name in CLIENT_COLUMNS]
    if all(column.null_count == len(column) for column in columns):
        return [Leader("", "")], np.zeros(len(batch.members), np.int64)
    (of_libraries, libraries), (of_releases, releases) = (codes(column.fill_null("")) for column in columns)
    pairs, of_members = np.unique(of_libraries.astype(np.int64) * len(releases) + of_releases, return_inverse=True)
    named = [divmod(pair, len(releases)) for pair in pairs.tolist()]
    return [Leader(libraries[library].as_py(), releases[release].as_py()) for library, release in named], of_members


def _tied(batch: GroupBatch, of_leaders: Ints) -> Flags:
    """Return which members share the leader's place in the join order."""
    leader = of_leaders[batch.group_of_member]
    tied: Flags = (leader != NONE) & (batch.join_order == batch.join_order[leader])
    return tied


def _rivals(groups: Ints32, clients: Ints, firsts: Ints) -> Iterator[tuple[int, list[int]]]:
    """Yield the groups whose members use several clients, with the clients that differ from the group's first."""
    differing = clients != firsts[groups]
    pairs = np.unique(np.stack([groups[differing], clients[differing]]), axis=1)
    starts = np.flatnonzero(np.diff(pairs[0], prepend=-1))
    for group, rivals in zip(pairs[0][starts].tolist(), np.split(pairs[1], starts[1:]), strict=False):
        yield group, rivals.tolist()
