"""Changes of settings: which ones a group can make, and how to roll out another assignor."""

from collections.abc import Collection, Iterable
from typing import Any, Protocol, TypeVar

from rebalance_sim.engine.audit.group import Group, client_of
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors import KNOWN_ASSIGNORS
from rebalance_sim.kafka.assignors.by_library import Leader, offers
from rebalance_sim.kafka.clients import JAVA, LIBRARIES
from rebalance_sim.kafka.migration import Verdict
from rebalance_sim.kafka.rebalances import RebalanceProtocol
from rebalance_sim.releases import SERVER_ASSIGNORS, CoordinatorRules, kafka_version

ASSIGNOR, PROTOCOL, STATIC = "partition.assignment.strategy", "group.protocol", "group.instance.id"
REMOTE_ASSIGNOR = "group.remote.assignor"
_SESSION, _DELAY = "session.timeout.ms", "group.initial.rebalance.delay.ms"
CLASSIC_ONLY = (ASSIGNOR, _SESSION, "heartbeat.interval.ms")
"""Settings that a consumer with ``group.protocol=consumer`` rejects (KIP-848)."""


class _Fields(Protocol):
    """A row: one of Spark, or one in its workers."""

    def __getitem__(self, name: str, /) -> Any: ...


_Row = TypeVar("_Row", bound=_Fields)


def usable_advice(advice: Iterable[_Row], impossible: Collection[str]) -> list[_Row]:
    """Return the rows of ``advice`` about changes that a group can make and with which its rollout succeeds.

    Those that save most downtime come first. ``impossible`` are those of ``impossible_settings``.
    """
    usable = [row for row in advice if change_of(row) not in impossible and not row["fails"]]
    return sorted(usable, key=most_saved)


def most_saved(row: _Fields) -> tuple[int, str, str]:
    """Return a key that sorts rows of ``advice`` by the downtime that they save, the most first."""
    return -row["unowned_ms_saved"], row["setting"], row["value"]


def change_of(row: _Fields) -> str:
    """Return the change that a row of ``advice`` is about."""
    return f"{row['setting']}={row['value']}"


def impossible_settings(group: Group, thresholds: Thresholds) -> list[str]:
    """Return the changes of a group's advice that it cannot make, such as ``group.protocol=consumer``."""
    tried = sorted({(row["setting"], row["value"]) for row in group.advice})
    return [f"{name}={value}" for name, value in tried if not is_possible(group, name, value, thresholds)]


def is_possible(group: Group, setting: str, value: str, thresholds: Thresholds) -> bool:
    """Return whether a group can make a change that ``advice`` has: its clients and brokers have the setting.

    The consumer protocol needs no other release of any client, and a session of static members must outlast a restart.
    """
    classic = [candidate for client in group.classic_clients for candidate in client.candidates]
    if setting == PROTOCOL:
        verdict = group.migration.verdict
        return verdict is Verdict.DONE or (verdict is Verdict.ONLINE and not group.migration.outdated)
    if setting == ASSIGNOR:
        return bool(classic) and all(_has_assignor(group, client, value) for client in classic)
    if setting == STATIC:
        clients = [candidate for member in group.members for candidate in client_of(member).candidates]
        return all(map(_has_static_members, clients))
    if setting == _SESSION:
        static = any(member["instance_id"] is not None for member in group.members)
        return len(group.classic_members) == len(group.members) and (not static or int(value) > thresholds.restart_ms)
    # The delay of a group's first rebalance is a setting of the brokers, for all groups.
    return setting != _DELAY


def _has_assignor(group: Group, client: Leader, assignor: str) -> bool:
    if client.library in ("", JAVA):
        return assignor in group.rules_of(client).assignors
    return offers(client.library, assignor)


def _has_static_members(client: Leader) -> bool:
    """Return whether a client can have a ``group.instance.id`` (KIP-345); one of an unknown release can."""
    if client.library not in ("", JAVA):
        return client.library not in LIBRARIES or LIBRARIES[client.library].has_static_members
    try:
        return not client.release or kafka_version(client.release).coordinator >= CoordinatorRules.SCALA_2_3
    except UserError:
        return True


def settings_for(group: Group, assignor: str) -> dict[str, str]:
    """Return the settings of the group's clients that make it use an assignor, given by its protocol name.

    If all members of another library than Java's offer it, the others stay in the list behind it.
    """
    if assignor in SERVER_ASSIGNORS:
        return {PROTOCOL: "consumer", REMOTE_ASSIGNOR: assignor.removeprefix("server-")}
    listed = [assignor]
    if group.library != JAVA and offered_by_all(group, assignor):
        first = group.classic_members[0]["protocols"]
        listed += [name for name in first if name != assignor]
    return {assignor_setting(group): ",".join(listed)}


def assignor_setting(group: Group) -> str:
    """Return the setting that lists assignors in the group's client library; Java's if there are several libraries."""
    library = LIBRARIES.get(group.library or JAVA)
    return ASSIGNOR if library is None else library.assignor_setting


def offered_by_all(group: Group, assignor: str) -> bool:
    """Return whether all members offer an assignor, so that they can elect it after one rolling restart."""
    return bool(group.classic_members) and all(assignor in member["protocols"] for member in group.classic_members)


def how_to_roll_out(group: Group, assignor: str) -> str:
    """Return how the members change to an assignor, given by its protocol name, as the end of a sentence.

    A group elects what all members offer, so that members with another list alone would be refused (KIP-429).
    """
    if assignor in SERVER_ASSIGNORS:
        return ""
    setting, library = assignor_setting(group), group.library
    if library == JAVA and offered_by_all(group, assignor):
        return f": make it the only assignor in {setting}, in one rolling restart"
    if offered_by_all(group, assignor):
        listed = settings_for(group, assignor)[setting]
        return f": list it first in {setting} ({listed}), in one rolling restart"
    if library in LIBRARIES and not LIBRARIES[library].mixes_assignors and _changes_kind(group, assignor):
        return (
            f": stop all members, and start them with it as the only assignor in {setting}, because {library} does not "
            "list eager and cooperative assignors together"
        )
    return f", in two rolling restarts: the first adds it to {setting}, the second removes the others"


def gives_up_cooperation(group: Group, strategy: str) -> bool:
    """Return whether members that rebalance incrementally would revoke everything under another assignor."""
    now = {protocol for member in group.classic_members for protocol in member["protocols"]}
    return (
        bool(now)
        and all(map(_is_cooperative, now))
        and strategy in KNOWN_ASSIGNORS
        and (KNOWN_ASSIGNORS[strategy].protocol is RebalanceProtocol.EAGER)
    )


def _changes_kind(group: Group, assignor: str) -> bool:
    offered = {name for member in group.classic_members for name in member["protocols"]}
    return any(_is_cooperative(name) != _is_cooperative(assignor) for name in offered)


def _is_cooperative(protocol: str) -> bool:
    """Return whether members that offer only this protocol rebalance incrementally: the name is Java's (KIP-429)."""
    return protocol in KNOWN_ASSIGNORS and KNOWN_ASSIGNORS[protocol].protocol is RebalanceProtocol.COOPERATIVE
