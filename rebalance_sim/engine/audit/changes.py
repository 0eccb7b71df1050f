"""Changes of settings: which ones a group can make, and how to roll out another assignor."""

from rebalance_sim.engine.audit.group import Group, client_of
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors.by_library import JAVA, Leader, offers
from rebalance_sim.kafka.client_features import has_static_members
from rebalance_sim.kafka.migration import Verdict
from rebalance_sim.releases import SERVER_ASSIGNORS, CoordinatorRules, kafka_version

ASSIGNOR, PROTOCOL, STATIC = "partition.assignment.strategy", "group.protocol", "group.instance.id"
_SESSION, _DELAY = "session.timeout.ms", "group.initial.rebalance.delay.ms"
CLASSIC_ONLY = (ASSIGNOR, _SESSION, "heartbeat.interval.ms")
"""Settings that a consumer with ``group.protocol=consumer`` rejects (KIP-848)."""


def is_possible(group: Group, setting: str, value: str, thresholds: Thresholds) -> bool:
    """Return whether a group can make a change that ``advice`` has: its clients and brokers have the setting.

    The consumer protocol needs no other release of any client, and a session of static members must outlast a restart.
    """
    classic = [candidate for member in group.classic_members for candidate in client_of(member).candidates]
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
        return has_static_members(client.library)
    try:
        return not client.release or kafka_version(client.release).coordinator >= CoordinatorRules.SCALA_2_3
    except UserError:
        return True


def how_to_roll_out(group: Group, assignor: str) -> str:
    """Return how the members change to an assignor, as the end of a sentence.

    A group elects what all members offer, so that members with another list alone would be refused (KIP-429).
    """
    if assignor in SERVER_ASSIGNORS:
        return ""
    if all(assignor in member["protocols"] for member in group.classic_members):
        return f": make it the only assignor in {ASSIGNOR}, in one rolling restart"
    return f", in two rolling restarts: the first adds it to {ASSIGNOR}, the second removes the others"
