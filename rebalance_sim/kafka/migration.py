"""Whether a group can migrate from the classic to the consumer protocol (KIP-848), and why not.

An online migration is a rolling restart: the first member that joins with ``group.protocol=consumer`` makes the
coordinator convert the group (``GroupMetadataManager.validateOnlineUpgrade`` and ``convertToConsumerGroup``, since
4.0), provided that ``group.consumer.migration.policy`` allows upgrades, as it does by default. The coordinator has to
read the subscription and the assignment of every member (``ConsumerGroup.fromClassicGroup``), and answers
GROUP_ID_NOT_FOUND if it cannot, or if an assignment has user data of a custom assignor (pull request 18046). An offline
migration stops all members first: a group without members has nothing to convert.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from rebalance_sim.kafka.assignors.by_library import Leader, adds_user_data, is_readable_for_java, offers
from rebalance_sim.kafka.brokers import Brokers
from rebalance_sim.kafka.clients import JAVA, LIBRARIES
from rebalance_sim.kafka.clients.library import Release
from rebalance_sim.kafka.group_kinds import WITHOUT_PREDICTION, GroupKind
from rebalance_sim.releases import SERVER_ASSIGNORS, CoordinatorRules
from rebalance_sim.wording import plural

COUNTERPARTS = {
    "range": "server-range",
    "roundrobin": "server-uniform",
    "RoundRobinAssigner": "server-uniform",
    "sticky": "server-uniform",
    "cooperative-sticky": "server-uniform",
}
"""The coordinator's assignor that comes closest to a consumer's."""
_NOT_MIGRATING = WITHOUT_PREDICTION | {
    GroupKind.STREAMS: "Kafka Streams migrates to streams groups (KIP-1071) instead",
    GroupKind.KSQLDB: "ksqlDB runs Kafka Streams, which migrates to streams groups (KIP-1071) instead",
    GroupKind.SHARE: "a share group has a protocol of its own (KIP-932)",
    GroupKind.STREAMS_GROUP: "a streams group has a protocol of its own (KIP-1071)",
    GroupKind.KCAT: "kcat, whose protocol its command line chooses",
    GroupKind.CONSOLE: "a console consumer, whose protocol its command line chooses",
}
"""By kind of group that does not migrate, why."""


class Verdict(StrEnum):
    """The ways in which a group can migrate."""

    DONE = "done"
    """All members use the consumer protocol."""
    ONLINE = "online"
    OFFLINE = "offline"
    NO = "no"
    UNKNOWN = "unknown"
    """It has no members, or none that could be read."""


class Obstacle(StrEnum):
    """A reason why a group cannot migrate online."""

    KIND = "kind-of-group"
    REFUSED = "refused"
    CUSTOM_ASSIGNOR = "custom-assignor"
    LIBRARY = "library"
    BROKERS = "brokers"
    UNREADABLE = "unreadable-member"
    USER_DATA = "user-data"
    POLICY = "migration-policy"
    NO_MEMBERS = "no-members"


class Migration(NamedTuple):
    """Whether a group can migrate."""

    verdict: Verdict
    reason: str
    """One line."""
    obstacle: Obstacle | None = None
    assignor: str | None = None
    """The coordinator's assignor to migrate to; None if the group cannot migrate or has migrated."""
    outdated: int = 0
    """Members whose client has to be upgraded first."""
    assumes: str = ""
    """The libraries that the verdict assumes of clients whose library is uncertain; empty if it is the same for every
    library that they may use."""


class MigratingGroup(NamedTuple):
    """The facts that decide whether a group can migrate."""

    kind: GroupKind
    protocol: str | None
    """The elected protocol, or the coordinator's assignor; None if there is none."""
    classic: Sequence[Leader]
    """The clients of the members that use the classic protocol."""
    modern: int
    """Members that use the consumer protocol."""
    leader: Leader | None = None
    """The client of the leader; None if it is unknown."""
    is_protocol_assumed: bool = False
    """Whether the elected protocol follows from assumptions."""


def migration(group: MigratingGroup, brokers: Brokers) -> Migration:
    """Return whether a group can migrate to the consumer protocol, and how.

    A client without a release counts as the newest one, or for Java as that of ``brokers``. A client of an uncertain
    library counts as the most likely one, Java if nothing is known; what would follow for others is in the reason.

    >>> two = [Leader("java", "4.1"), Leader("librdkafka", "2.8.0")]
    >>> migration(MigratingGroup(GroupKind.CONSUMERS, "range", two, 0), Brokers("4.3"))[:2]
    (<Verdict.ONLINE: 'online'>, 'after an upgrade of librdkafka to 2.12 (1 member)')
    >>> migration(MigratingGroup(GroupKind.CONSUMERS, "range", [Leader("sarama", "")], 0), Brokers("4.3")).reason
    'sarama does not have the consumer protocol (1 member)'
    >>> found = migration(MigratingGroup(GroupKind.CONSUMERS, "sticky", [Leader("", "")], 0), Brokers("4.3"))
    >>> found.reason
    'one rolling restart, assuming java for 1 member of uncertain library; no with aiokafka, kafka-python or sarama'
    """
    likely = _migration(group, brokers)
    others = _other_verdicts(group, likely.verdict, brokers)
    if not others:
        return likely
    uncertain = [_library(client) for client in group.classic if _is_uncertain(client)]
    assumed = " and ".join(dict.fromkeys(uncertain))
    otherwise = "; ".join(f"{verdict} with {_or(sorted(libraries))}" for verdict, libraries in others.items())
    reason = f"{likely.reason}, assuming {assumed} for {_members(uncertain)} of uncertain library; {otherwise}"
    return likely._replace(reason=reason, assumes=assumed)


def shown(verdict: str, assumes: str | None) -> str:
    """Return a verdict with the libraries that it assumes, as pages and the console show it.

    >>> shown("online", "java"), shown("no", None)
    ('online if java', 'no')
    """
    return f"{verdict} if {assumes}" if assumes else str(verdict)


def _other_verdicts(group: MigratingGroup, likely: Verdict, brokers: Brokers) -> dict[Verdict, list[str]]:
    """Return the verdicts that differ from the likely one, and the libraries of uncertain clients that lead to them."""
    protocol = None if group.is_protocol_assumed else group.protocol
    possible = {client: _possible_libraries(client, protocol) for client in group.classic if _is_uncertain(client)}
    others: dict[Verdict, list[str]] = {}
    for library in dict.fromkeys(name for names in possible.values() for name in names):

        def supposed(client: Leader, library: str = library) -> Leader:
            return Leader(library, "") if library in possible.get(client, ()) else client

        classic = [*dict.fromkeys(map(supposed, group.classic))]
        leader = None if group.leader is None else supposed(group.leader)
        verdict = _migration(group._replace(classic=classic, leader=leader), brokers).verdict
        if verdict is not likely:
            others.setdefault(verdict, []).append(library)
    return others


def _is_uncertain(client: Leader) -> bool:
    return not client.library or len(client.candidates) > 1


def _possible_libraries(client: Leader, protocol: str | None) -> list[str]:
    """Return the libraries that an uncertain client may be of: those that have its group's protocol, if it is known."""
    if client.library:
        return [each.library for each in client.candidates]
    return [name for name in LIBRARIES if protocol is None or offers(name, protocol)]


def _migration(group: MigratingGroup, brokers: Brokers) -> Migration:
    if group.kind in _NOT_MIGRATING:
        return Migration(Verdict.NO, _NOT_MIGRATING[group.kind], Obstacle.KIND)
    if group.protocol is None and (group.classic or group.modern):
        return Migration(Verdict.NO, "the coordinator refuses all members", Obstacle.REFUSED)
    if not group.classic:
        return _without_classic_members(group)
    obstacle = _obstacle(group, brokers)
    if obstacle is not None:
        return obstacle
    assignor = group.protocol if group.protocol in SERVER_ASSIGNORS else COUNTERPARTS[str(group.protocol)]
    upgrades, outdated = _upgrades(group.classic, brokers)
    after = f"after an upgrade of {upgrades}" if outdated else ""
    refused = _conversion_obstacle(group, brokers)
    if refused is not None:
        stop = f"stop all members first: {refused[1]}"
        return Migration(Verdict.OFFLINE, f"{stop}; {after}" if after else stop, refused[0], assignor, outdated)
    if group.modern:
        after = after or f"under way: {plural(len(group.classic), 'member uses', 'members use')} the classic protocol"
    return Migration(Verdict.ONLINE, after or "one rolling restart", None, assignor, outdated)


def _conversion_obstacle(group: MigratingGroup, brokers: Brokers) -> tuple[Obstacle, str] | None:
    """Return why the coordinator does not convert the group, so that it answers GROUP_ID_NOT_FOUND."""
    if not brokers.allow_upgrades:
        return Obstacle.POLICY, f"group.consumer.migration.policy of the brokers is {brokers.migration_policy}"
    unreadable = [_library(client) for client in group.classic if not is_readable_for_java(client.library)]
    if unreadable:
        problem = f"the coordinator cannot read the subscription of {_members(unreadable)} ({_names(unreadable)})"
        return Obstacle.UNREADABLE, problem
    if group.leader is not None and adds_user_data(group.leader, str(group.protocol)):
        library = _library(group.leader)
        return Obstacle.USER_DATA, f"the coordinator refuses the user data in {library}'s {group.protocol} assignments"
    return None


def _without_classic_members(group: MigratingGroup) -> Migration:
    if group.modern:
        return Migration(Verdict.DONE, "all members use the consumer protocol")
    reason = (
        "no members: consumers that have stopped can start with group.protocol=consumer, but a job that assigns "
        "partitions itself, such as Flink's or Spark's, cannot"
    )
    return Migration(Verdict.UNKNOWN, reason, Obstacle.NO_MEMBERS)


def _obstacle(group: MigratingGroup, brokers: Brokers) -> Migration | None:
    """Return why a group can migrate neither online nor offline; None if it can."""
    found = None
    missing = [name for client in group.classic if (name := _library(client)) and not _needed(name)]
    if missing:
        verb = "does" if len(set(missing)) == 1 else "do"
        found = Obstacle.LIBRARY, f"{_names(missing)} {verb} not have the consumer protocol ({_members(missing)})"
    if found is None and group.protocol not in (*COUNTERPARTS, *SERVER_ASSIGNORS):
        found = Obstacle.CUSTOM_ASSIGNOR, f"the coordinator has no equivalent of assignor {group.protocol!r}"
    if found is None and brokers.rules().coordinator < CoordinatorRules.JAVA:
        found = Obstacle.BROKERS, f"the brokers run Kafka {brokers.version}; the consumer protocol needs 4.0"
    return None if found is None else Migration(Verdict.NO, found[1], found[0])


def _upgrades(clients: Sequence[Leader], brokers: Brokers) -> tuple[str, int]:
    """Return the libraries to upgrade, with the number of their members, and the number of all these members."""
    outdated = [name for client in clients if (name := _library(client)) and _is_outdated(name, client, brokers)]
    needed = [f"{name} to {_shown(_needed(name))}" for name in dict.fromkeys(outdated)]
    return f"{', '.join(needed)} ({_members(outdated)})", len(outdated)


def _is_outdated(library: str, client: Leader, brokers: Brokers) -> bool:
    release = client.release or ((brokers.clients or brokers.version) if library == JAVA else "")
    numbers = tuple(map(int, re.findall(r"\d+", release)))
    needed = _needed(library)
    return bool(numbers) and needed is not None and numbers < needed


def _needed(library: str) -> Release | None:
    """Return the first release of a library that has the consumer protocol; None if there is none."""
    return LIBRARIES[library].consumer_protocol_since if library in LIBRARIES else None


def _library(client: Leader) -> str:
    """Return the library that a client most likely is of."""
    return client.candidates[0].library or JAVA


def _names(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _or(names: Sequence[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _members(names: Sequence[str]) -> str:
    return plural(len(names), "member")


def _shown(release: Release | None) -> str:
    return ".".join(map(str, release or ()))
