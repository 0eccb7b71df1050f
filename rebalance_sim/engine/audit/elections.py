"""Findings about elections."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from rebalance_sim.engine.audit.changes import (
    assignor_setting,
    costs_of_restarts,
    in_restarts,
    listed_settings,
    setting,
    settings_for,
)
from rebalance_sim.engine.audit.finding import Finding, Harm, Kind, Severity
from rebalance_sim.engine.audit.group import Group, Row, client_of, records_of
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.kafka.assignors.by_library import is_readable_for_java, offers
from rebalance_sim.kafka.clients import JAVA, LIBRARIES, refused_by_default
from rebalance_sim.kafka.clients.library import ASSIGNORS, PROTOCOL, REMOTE_ASSIGNOR
from rebalance_sim.kafka.coordinator.group_types import UNSUPPORTED_VERSION
from rebalance_sim.kafka.group_kinds import GroupKind
from rebalance_sim.releases import SERVER_ASSIGNORS, CoordinatorRules, first_release
from rebalance_sim.tables import CONSUMER
from rebalance_sim.wording import enumerated, plural_of

REFUSES_ALL = Kind(
    "group-refused",
    Severity.ERROR,
    Harm.STOPPED,
    "the coordinator refuses all {refused:member}: {errors}",
    "{remedy}",
    decisive="refused",
    matter="refused",
)
REFUSES_MEMBERS = Kind(
    "members-refused",
    Severity.ERROR,
    Harm.STOPPED,
    "the coordinator refuses {refused:member}: {errors}",
    "{remedy}",
    decisive="refused",
    matter="refused",
)
TIE = Kind(
    "election-tie",
    Severity.WARNING,
    Harm.HABIT,
    "{tied} have {votes:vote} each: hash order elects {protocol}, and another Kafka version may elect another one",
    "{remedy}",
    matter="tie",
)
TIE_OF_CONSUMERS = replace(
    TIE,
    description="{tied} are each preferred by {votes:member}: the coordinator uses {protocol}",
    recommendation="Set the same {setting} in all members, in one rolling restart.",
)
"""Of a consumer-protocol group, whose members prefer one assignor each, and list none."""
BUILD = Kind(
    "election-depends-on-build",
    Severity.WARNING,
    Harm.NEXT_CHANGE,
    "{tied} have {votes:vote} each: {protocol} is elected, but {others}",
    "{remedy}",
    matter="tie",
)
EAGER_DEFAULT = Kind(
    "eager-by-default",
    Severity.NOTE,
    Harm.HABIT,
    "all members offer range and cooperative-sticky, Java's default: the group rebalances eagerly with range",
    "Set {setting} to {assignor} alone, {restarts}, to rebalance cooperatively (KIP-726).{cost}",
)
LIBRARY_CHANGE = Kind(
    "library-change-refused",
    Severity.NOTE,
    Harm.NEXT_CHANGE,
    "consumers of {libraries} would be refused with their default assignors (INCONSISTENT_GROUP_PROTOCOL): the members "
    "agree on {candidates}",
    "Before a change to one of these libraries, {configure}stop all old members first{others}.",
    "library-change",
)
KINDS = (REFUSES_ALL, REFUSES_MEMBERS, TIE, BUILD, EAGER_DEFAULT, LIBRARY_CHANGE)
_JAVA_DEFAULT = ["range", "cooperative-sticky"]


def findings(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about the election of a group."""
    election = group.election
    if election is None:
        return
    if group.refused:
        kind = REFUSES_MEMBERS if election["protocol"] else REFUSES_ALL
        errors = Counter(row["error"] for row in group.refused)
        names = {"errors": ", ".join(sorted(errors)), "remedy": _against_refusal(group, election, errors)}
        yield Finding(kind, {"refused": len(group.refused)}, names)
    if election["tie"]:
        yield _tie(group)
    has_default = group.library == JAVA and all(member["protocols"] == _JAVA_DEFAULT for member in group.members)
    if group.protocol == "range" and has_default:
        yield _eager_by_default(group, thresholds)
    yield from _library_change(group)


def _eager_by_default(group: Group, thresholds: Thresholds) -> Finding:
    names = {
        "setting": assignor_setting(group),
        "assignor": group.record.configured("cooperative-sticky"),
        "restarts": in_restarts(group),
        "cost": costs_of_restarts(group, "cooperative-sticky", thresholds),
    }
    return Finding(EAGER_DEFAULT, {"members": len(group.members)}, names, settings_for(group, "cooperative-sticky"))


def _against_refusal(group: Group, election: Row, errors: Counter[str]) -> str:
    """Return what makes the coordinator accept the members that it refuses."""
    if UNSUPPORTED_VERSION in errors:
        release = first_release("coordinator", CoordinatorRules.JAVA)
        return f"Upgrade the brokers to {release} or newer, or remove {setting(group, PROTOCOL)} from these members."
    candidates = [name for name in election["candidates"] or () if name not in SERVER_ASSIGNORS]
    protocol = next((name for name in (election["protocol"], *candidates) if name in candidates), None)
    accepted = records_of(group.members)
    if protocol is None:
        return "Give the members a protocol that all of them offer."
    return " ".join(
        f"Set {record.settings[ASSIGNORS]} of the members of {record.name} to {record.configured(protocol)}, as the "
        "others have it."
        if offers(record.name, protocol) and (is_readable_for_java(record.name) or LIBRARIES[JAVA] not in accepted)
        else f"Give the members of {record.name}, which {_cannot(record.name, protocol)}, a group id of their own."
        for record in records_of(group.refused_members)
    )


def _cannot(library: str, protocol: str) -> str:
    """Return why members of a library cannot be in a group of Java that uses a protocol."""
    return "Java cannot read" if offers(library, protocol) else f"has no assignor {protocol}"


def _library_change(group: Group) -> Iterator[Finding]:
    """Yield the libraries that members cannot change to one by one, unless they configure them."""
    election = group.election
    if group.kind.kind is GroupKind.CONNECT_SINK:
        # Connect starts its consumers, which are Java's.
        return
    if election is None or election["type"] == CONSUMER or not election["candidates"]:
        return
    used = {client_of(member).library or JAVA for member in group.members}
    refused = [library for library in refused_by_default(election["candidates"]) if library not in used]
    if refused:
        able = [name for name in refused if any(offers(name, candidate) for candidate in election["candidates"])]
        unable = [name for name in refused if name not in able]
        names = {"libraries": enumerated(refused, "or"), "candidates": enumerated(election["candidates"])}
        names["configure"] = f"configure one of the group's assignors in it ({', '.join(able)}), or " if able else ""
        names["others"] = (
            f": {enumerated(unable)} {plural_of(len(unable), 'has', 'have')} none of the group's assignors"
            if unable
            else ""
        )
        yield Finding(LIBRARY_CHANGE, {"libraries": len(refused), "members": len(group.members)}, names)


def _tie(group: Group) -> Finding:
    election = group.election
    assert election is not None
    votes = dict(election["votes"])
    most = max(votes.values())
    tied = sorted(name for name, number in votes.items() if number == most)
    names = {"tied": enumerated(tied), "protocol": str(group.protocol)}
    figures = {"votes": most, "candidates": len(election["candidates"]), "members": election["members"]}
    others = dict(election["other_builds"] or ())
    if election["type"] == CONSUMER:
        names["setting"] = setting(group, REMOTE_ASSIGNOR if REMOTE_ASSIGNOR in group.record.settings else ASSIGNORS)
        return Finding(TIE_OF_CONSUMERS, figures, names, settings_for(group, str(group.protocol)))
    first = [str(group.protocol), *(name for name in election["candidates"] if name != group.protocol)]
    # Only its owner knows the class of an assignor that is not the library's own.
    is_configurable = len(group.records) == 1 and all(map(group.record.has_assignor, first))
    settings = listed_settings(group, first) if is_configurable else {}
    names["remedy"] = _in_one_order(group, settings)
    if not others:
        return Finding(TIE, figures, names, settings)
    shown = ", ".join(
        f"brokers built with Scala {scala} elect {protocol}" for scala, protocol in sorted(others.items())
    )
    return Finding(BUILD, figures, {**names, "others": shown}, settings)


def _in_one_order(group: Group, settings: Mapping[str, str]) -> str:
    """Return that all members have to list the same protocol first, which ends a tie."""
    if not settings:
        return f"List {group.protocol} first in {setting(group, ASSIGNORS)} of all members, in one rolling restart."
    ((name, value),) = settings.items()
    return f"Set {name} of all members to {value}, in one rolling restart: they then list {group.protocol} first."
