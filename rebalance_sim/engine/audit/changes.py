"""Changes of settings: which ones a group can make, how its client library names them, and how to roll them out."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from pyspark.sql import Row as SparkRow

from rebalance_sim.engine.audit.group import Group, Row, client_of
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.engine.simulation.streams_groups import WITHOUT_DELAY
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors import KNOWN_ASSIGNORS
from rebalance_sim.kafka.assignors.by_library import (
    Leader,
    adds_user_data,
    leaders_assignor,
    offers,
    predictable_protocols,
    release_numbers,
)
from rebalance_sim.kafka.clients import JAVA, LIBRARIES
from rebalance_sim.kafka.clients.library import (
    ASSIGNORS,
    INSTANCE_ID,
    POLL_INTERVAL,
    PROTOCOL,
    REBALANCE_TIMEOUT,
    REMOTE_ASSIGNOR,
    SESSION_TIMEOUT,
    ClientLibrary,
    Release,
)
from rebalance_sim.kafka.group_kinds import SETTINGS_PREFIX, GroupKind
from rebalance_sim.kafka.migration import Verdict
from rebalance_sim.kafka.rebalances import RebalanceProtocol
from rebalance_sim.kafka.simulation.latencies import BY_SETTING
from rebalance_sim.releases import SERVER_ASSIGNORS, CoordinatorRules, kafka_version
from rebalance_sim.wording import enumerated

CLASSIC_ONLY = LIBRARIES[JAVA].rejected_beside_protocol
"""Settings that a consumer with ``group.protocol=consumer`` rejects (KIP-848)."""
_LOSS = " The change loses incremental rebalancing: members revoke all their partitions in every rebalance."
_DELAY = "group.initial.rebalance.delay.ms"
_JAVAS = ("range", "roundrobin", "sticky", "cooperative-sticky")


_Fields = Row | SparkRow
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
    if setting == ASSIGNORS:
        return group.library is not None and all(_has_assignor(group, client, value) for client in classic)
    if setting == INSTANCE_ID:
        return can_have_static_members(group)
    if setting == SESSION_TIMEOUT:
        static = any(member["instance_id"] is not None for member in group.members)
        return len(group.classic_members) == len(group.members) and (not static or int(value) > thresholds.restart_ms)
    # The delay of a group's first rebalance is a setting of the brokers, for all groups.
    return setting != _DELAY


def _has_assignor(group: Group, client: Leader, assignor: str) -> bool:
    if client.library in ("", JAVA):
        return assignor in group.rules_of(client).assignors
    known = LIBRARIES[client.library].assignor(assignor) if offers(client.library, assignor) else None
    release = release_of(client)
    return known is not None and (release is None or release >= known.added)


def can_have_static_members(group: Group) -> bool:
    """Return whether each member can have a ``group.instance.id`` of its own.

    The tasks of a sink connector share all settings: with one, they would fence each other.
    """
    clients = [candidate for member in group.members for candidate in client_of(member).candidates]
    return group.kind.kind is not GroupKind.CONNECT_SINK and all(map(_has_static_members, clients))


def _has_static_members(client: Leader) -> bool:
    """Return whether a client can have a ``group.instance.id`` (KIP-345); one of an unknown release can."""
    if client.library not in ("", JAVA):
        record, release = LIBRARIES.get(client.library), release_of(client)
        if record is None or not record.has_static_members:
            return record is None
        return release is None or release >= record.static_members_since
    try:
        return not client.release or kafka_version(client.release).coordinator >= CoordinatorRules.SCALA_2_3
    except UserError:
        return True


def release_of(client: Leader) -> Release | None:
    """Return the release of a client; None if it is unknown, or no release."""
    try:
        return release_numbers(client.release)
    except UserError:
        return None


def setting(group: Group, name: str) -> str:
    """Return how a setting, given by Kafka's name, is called where the group is configured.

    If the members use several libraries that name it differently, the name in each.
    """
    prefix = SETTINGS_PREFIX.get(group.kind.kind, "")
    names = {record.name: record.settings[name] for record in group.records if name in record.settings}
    if len(set(names.values())) <= 1:
        return prefix + next(iter(names.values()), name)
    return " or ".join(f"{own} ({library})" for library, own in names.items())


def rebalance_timeout(group: Group) -> str:
    """Return the setting that decides how long the coordinator waits for a member in a rebalance."""
    return setting(group, REBALANCE_TIMEOUT if REBALANCE_TIMEOUT in group.record.settings else POLL_INTERVAL)


def session_timeout(group: Group, milliseconds: int) -> dict[str, str]:
    """Return the settings of the group's clients with which they have a session timeout."""
    return {record.settings[SESSION_TIMEOUT]: record.durations.of(milliseconds) for record in group.records}


def settings_of(group: Group, name: str, value: str) -> dict[str, str]:
    """Return the settings of the group's clients with which it makes a change that ``advice`` has."""
    match name:
        case "partition.assignment.strategy":
            return settings_for(group, value)
        case "group.protocol":
            # What was simulated: advice replaces the protocols of all members by this assignor.
            return settings_for(group, "server-uniform")
        case "group.instance.id":
            return {record.settings[INSTANCE_ID]: value for record in group.records}
        case "session.timeout.ms":
            return session_timeout(group, int(value))
    return {name: value}


def how_to_change(group: Group, name: str, value: str) -> str:
    """Return how the members make a change that ``advice`` has, as a sentence."""
    if name == INSTANCE_ID:
        return f"Give each consumer a {setting(group, INSTANCE_ID)} of its own, such as the name of its pod."
    if name == WITHOUT_DELAY[0]:
        return (
            f"Set {name}={value} for the group (kafka-configs.sh). The first thread of an empty group then gets all "
            "tasks at once, and revokes some of them if others join."
        )
    if name == PROTOCOL:
        said = to_coordinator(group, "uniform")
        return f"{said[0].upper()}{said[1:]}."
    set_to = " with ".join(f"{own}={to}" for own, to in settings_of(group, name, value).items())
    how = how_to_roll_out(group, value) if name == ASSIGNORS else f", {in_restarts(group)}"
    return f"Set {set_to}{how}."


def settings_for(group: Group, assignor: str) -> dict[str, str]:
    """Return the settings of the group's clients that make it use an assignor, given by its protocol name.

    If all members of another library than Java's offer it, the others stay in the list behind it.
    """
    if assignor in SERVER_ASSIGNORS:
        found: dict[str, str] = {}
        for record in group.records:
            found |= record.consumer_protocol(assignor.removeprefix("server-")) if PROTOCOL in record.settings else {}
        return found
    listed = [assignor]
    if group.library != JAVA and offered_by_all(group, assignor):
        first = group.classic_members[0]["protocols"]
        listed += [name for name in first if name != assignor]
    return listed_settings(group, listed)


def listed_settings(group: Group, assignors: Sequence[str]) -> dict[str, str]:
    """Return the settings of the group's clients that list assignors, given by their protocol names."""
    return {assignor_setting(group): ",".join(map(group.record.configured, assignors))}


def assignor_setting(group: Group) -> str:
    """Return the setting that lists assignors in the group's client library; Java's if there are several libraries."""
    return _single_assignor_setting(group) or group.record.assignor_setting


def _single_assignor_setting(group: Group) -> str | None:
    """Return the setting of clients that takes one assignor instead of a list; None if that of all members lists."""
    if group.record.single_assignor is None:
        return None
    since, name = group.record.single_assignor
    releases = map(release_of, group.classic_clients)
    return name if any(release is not None and release < since for release in releases) else None


def assignors_of_choice(group: Group) -> dict[str, str]:
    """Return the assignors that the group could use, by the strategies of its comparison, with their protocol names.

    They are those that all members' library has, and the coordinator's. Those of a library are evaluated by its own
    rules; of several libraries, each leader would assign by other rules.
    """
    servers = {name: name for name in SERVER_ASSIGNORS if name in group.strategies}
    clients = {name: protocol for name, protocol in _of_clients(group).items() if name in group.strategies}
    match group.migration.verdict:
        case Verdict.DONE:
            return servers
        case Verdict.ONLINE if not group.migration.outdated:
            return {**clients, **servers}
    return clients


def _of_clients(group: Group) -> dict[str, str]:
    """Return the assignors of the members' library, each with its protocol name."""
    if group.library is None or group.leader is None:
        return {}
    if group.library == JAVA:
        return {name: name for name in _JAVAS if group.all_have(name)}
    return {
        leaders_assignor(name, group.leader).name: name
        for name in predictable_protocols(group.library)
        if all(_has_assignor(group, client, name) for client in group.classic_clients)
    }


def best_choice(
    group: Group, figure: str, among: Mapping[str, str], rows: Mapping[str, Mapping[str, Any]] | None = None
) -> str | None:
    """Return the strategy with the smallest figure of these, given with their protocol names; None of none.

    ``rows`` have the figure by strategy; by default those of the comparison.
    """

    def key(strategy: str) -> tuple[int, bool, bool, int, str]:
        # Of equally good ones, those that all members offer come first, then those to which a rolling restart changes,
        # then those that move fewer partitions.
        value, protocol = (group.strategies if rows is None else rows)[strategy][figure], among[strategy]
        is_offered = offered_by_all(group, protocol)
        stops = not is_offered and protocol not in SERVER_ASSIGNORS and bool(_why_all_stop(group, protocol))
        return value, not is_offered, stops, group.strategies[strategy]["moved"], strategy

    return min(among, key=key, default=None)


def offered_by_all(group: Group, assignor: str) -> bool:
    """Return whether all members offer an assignor, so that they can elect it after one rolling restart."""
    return bool(group.classic_members) and all(assignor in member["protocols"] for member in group.classic_members)


def how_to_use(group: Group, assignor: str) -> str:
    """Return how the members change to an assignor, given by its protocol name, as a sentence without its full stop."""
    if assignor in SERVER_ASSIGNORS:
        short = assignor.removeprefix("server-")
        return f"Use the coordinator's {short}: {to_coordinator(group, short)}"
    named, configured = assignor, group.record.configured(assignor)
    if configured != assignor and (group.library == JAVA or not offered_by_all(group, assignor)):
        named = f"{assignor} ({configured})"
    return f"Use {named}{how_to_roll_out(group, assignor)}"


def how_to_roll_out(group: Group, assignor: str) -> str:
    """Return how the members change to an assignor, given by its protocol name, as the end of a sentence.

    A group elects what all members offer, so that members with another list alone would be refused (KIP-429).
    """
    name, library = assignor_setting(group), group.library
    if library == JAVA and offered_by_all(group, assignor):
        return f": make it the only assignor in {name}, {in_restarts(group)}"
    if offered_by_all(group, assignor):
        listed = settings_for(group, assignor)[name]
        return f": list it first in {name} ({listed}), {in_restarts(group)}"
    reason = _why_all_stop(group, assignor)
    if reason:
        return (
            f": stop all members, and start them with it as the only assignor in {name}, because {reason}; nothing is "
            "consumed meanwhile"
        )
    return f", {in_restarts(group, 2)}: the first adds it to {name}, the second removes the others"


def to_coordinator(group: Group, assignor: str) -> str:
    """Return how the members use the consumer protocol with ``uniform`` or ``range``, as a sentence in lower case."""
    done = group.migration.verdict is Verdict.DONE
    parts = []
    for record in group.records:
        if PROTOCOL not in record.settings:
            continue
        settings = record.consumer_protocol(assignor)
        if done:
            settings.pop(record.settings[PROTOCOL])
        where = f"in {record.name}, " if len(group.records) > 1 else ""
        set_to = " and ".join(f"{name}={value}" for name, value in settings.items())
        rejected = enumerated([record.settings[name] for name in record.rejected_beside_protocol])
        without = f", and remove {rejected}, which consumers reject together with it" if rejected and not done else ""
        parts.append(f"{where}set {set_to}{without}")
    return f"{'; '.join(parts)}, {in_restarts(group)}"


def in_restarts(group: Group, count: int = 1) -> str:
    """Return by how many restarts of its members a group takes new settings.

    A connector restarts its tasks when its configuration changes.
    """
    number = {1: "one", 2: "two"}[count]
    if group.kind.kind is GroupKind.CONNECT_SINK:
        each = "which restarts" if count == 1 else "each of which restarts"
        return f"in {number} {'change' if count == 1 else 'changes'} of the connector's configuration, {each} its tasks"
    return f"in {number} rolling {'restart' if count == 1 else 'restarts'}"


def _why_all_stop(group: Group, assignor: str) -> str:
    """Return why no rolling restart changes to an assignor that not all members offer; empty if two do."""
    record, single = group.record, _single_assignor_setting(group)
    if single is not None:
        return f"{single} takes a single assignor"
    if not _changes_kind(group, assignor):
        return ""
    if not record.mixes_assignors:
        return f"{record.name} does not list eager and cooperative assignors together"
    if not record.returns_to_eager and not _is_cooperative(assignor):
        return f"a cooperative group of {record.name} cannot return to an eager assignor"
    return ""


def gives_up_cooperation(group: Group, strategy: str) -> bool:
    """Return whether members that rebalance incrementally would revoke everything under another assignor."""
    now = {protocol for member in group.classic_members for protocol in member["protocols"]}
    return bool(now) and all(map(_is_cooperative, now)) and _protocol_of(strategy) is RebalanceProtocol.EAGER


def loss_of_cooperation(group: Group, strategy: str) -> str:
    """Return that another assignor loses incremental rebalancing, as a sentence, if the members have it."""
    return _LOSS if gives_up_cooperation(group, strategy) else ""


def loses_prediction(group: Group, settings: Mapping[str, str]) -> str:
    """Return that the assignor in some settings cannot be predicted for a group that is predicted, as a sentence."""
    listed = settings.get(assignor_setting(group))
    if listed is None or group.leader is None or group.balance is None or not group.strategies:
        return ""
    if group.library in (None, JAVA):
        return ""
    protocol = group.record.protocol_configured_as(listed.split(",")[0])
    if leaders_assignor(protocol, group.leader).name in group.strategies:
        return ""
    return f" The assignments of {group.record.name}'s {protocol} cannot be predicted."


def loses_online_migration(group: Group, settings: Mapping[str, str]) -> str:
    """Return that the assignor in some settings adds user data, which the coordinator cannot convert, as a sentence."""
    listed = settings.get(assignor_setting(group))
    if listed is None or group.leader is None or group.migration.verdict is not Verdict.ONLINE:
        return ""
    if not adds_user_data(group.leader, group.record.protocol_configured_as(listed.split(",")[0])):
        return ""
    return " A later migration to the consumer protocol then has to stop all members."


def costs_of_restarts(group: Group, assignor: str, thresholds: Thresholds) -> str:
    """Return how much longer a simulated rollout leaves partitions without an owner under an assignor, as a sentence.

    Empty if the difference is small, or unknown: only some settings are simulated.
    """
    tried = (PROTOCOL, "consumer") if assignor == "server-uniform" else (ASSIGNORS, assignor)
    row = next((row for row in group.advice if (row["setting"], row["value"]) == tried), None)
    if row is None or group.costs is None:
        return ""
    longer_ms = -row["unowned_ms_saved"] / max(group.costs["partitions"], 1)
    if longer_ms < thresholds.downtime_ms:
        return ""
    scenario = group.scenario.replace("-", " ")
    then_s = (group.costs["unowned_ms"] / max(group.costs["partitions"], 1) + longer_ms) / 1000
    return (
        f" In a simulated {scenario}, partitions are then without an owner for {then_s:,.1f} s on average, "
        f"{longer_ms / 1000:,.1f} s longer{_unless_slow(group, row)}."
    )


def _unless_slow(group: Group, row: Row) -> str:
    """Return how much shorter that becomes if an assumed latency is longer, if it does: the clause of a sentence."""
    end = max(row["at_longest"] or (), key=lambda end: end["unowned_ms_saved"], default=None)
    if end is None or group.costs is None or end["unowned_ms_saved"] <= 0:
        return ""
    shorter_s = end["unowned_ms_saved"] / max(group.costs["partitions"], 1) / 1000
    latency = BY_SETTING[end["latency"]]
    return f" (but {shorter_s:,.1f} s shorter if {latency.subject} takes {end['longest_ms'] / 1000:g} s)"


def as_kafka_names_them(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings of any client library under Kafka's names, with assignors by their protocol names.

    >>> as_kafka_names_them({"Consumer.Group.Session.Timeout": "60 * time.Second"})
    {'session.timeout.ms': '60000'}
    >>> as_kafka_names_them({"partition_assignment_strategy": "RoundRobinPartitionAssignor,RangePartitionAssignor"})
    {'partition.assignment.strategy': 'roundrobin,range'}
    >>> as_kafka_names_them({"kgo.ServerSideBalancer": "enabled", "kgo.Balancers": "kgo.CooperativeStickyBalancer()"})
    {'group.protocol': 'consumer', 'group.remote.assignor': 'uniform'}
    """
    records = [record for record in LIBRARIES.values() if settings.keys() <= _names_in(record)]
    return _as_kafka(records[0], settings) if records else dict(settings)


def _names_in(record: ClientLibrary) -> set[str]:
    return {*record.settings.values(), *([record.single_assignor[1]] if record.single_assignor else [])}


def _as_kafka(record: ClientLibrary, settings: Mapping[str, str]) -> dict[str, str]:
    kafkas = {own: name for name, own in reversed([*record.settings.items()])}
    found = {kafkas.get(own, ASSIGNORS): value for own, value in settings.items()}
    if SESSION_TIMEOUT in found:
        found[SESSION_TIMEOUT] = str(record.durations.in_milliseconds(found[SESSION_TIMEOUT]))
    if ASSIGNORS in found:
        found[ASSIGNORS] = ",".join(map(record.protocol_configured_as, found[ASSIGNORS].split(",")))
    if PROTOCOL in found:
        found[PROTOCOL] = "consumer"
        of_own = {own: assignor for assignor, own in record.remote_assignors.items()}
        if of_own:
            found[REMOTE_ASSIGNOR] = of_own[found.pop(ASSIGNORS)]
    return found


def _changes_kind(group: Group, assignor: str) -> bool:
    offered = {name for member in group.classic_members for name in member["protocols"]}
    return any(_is_cooperative(name) != _is_cooperative(assignor) for name in offered)


def _is_cooperative(protocol: str) -> bool:
    """Return whether members that offer only this protocol rebalance incrementally: the name is Java's (KIP-429)."""
    return _protocol_of(protocol) is RebalanceProtocol.COOPERATIVE


def _protocol_of(assignor: str) -> RebalanceProtocol | None:
    """Return the rebalance protocol of an assignor; None if the assignor is unknown."""
    return KNOWN_ASSIGNORS[assignor].protocol if assignor in KNOWN_ASSIGNORS else None
