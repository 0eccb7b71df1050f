"""Findings about elections."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rebalance_sim.engine.audit.finding import Finding, Harm, Kind, Severity
from rebalance_sim.engine.audit.group import Group, client_of
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.kafka.clients import JAVA
from rebalance_sim.kafka.clients.default_protocols import refused_by_default
from rebalance_sim.tables import CONSUMER

REFUSES_ALL = Kind(
    "group-refused",
    Severity.ERROR,
    Harm.STOPPED,
    "the coordinator refuses all {refused:member}: {errors}",
    "Give the members a protocol that all of them offer.",
    decisive="refused",
    matter="refused",
)
REFUSES_MEMBERS = Kind(
    "members-refused",
    Severity.ERROR,
    Harm.STOPPED,
    "the coordinator refuses {refused:member}: {errors}",
    "Give the members a protocol that all of them offer; with another library, set its assignor to that of the group.",
    decisive="refused",
    matter="refused",
)
TIE = Kind(
    "election-tie",
    Severity.WARNING,
    Harm.HABIT,
    "{tied} have {votes:vote} each: hash order elects {protocol}, and another Kafka version may elect another one",
    "List the protocols in the same order in all members.",
    matter="tie",
)
TIE_OF_CONSUMERS = replace(
    TIE,
    description="{tied} are each preferred by {votes:member}: the coordinator uses {protocol}",
    recommendation="Set the same group.remote.assignor in all members.",
)
"""Of a consumer-protocol group, whose members prefer one assignor each, and list none."""
BUILD = Kind(
    "election-depends-on-build",
    Severity.WARNING,
    Harm.NEXT_CHANGE,
    "{tied} have {votes:vote} each: {protocol} is elected, but {others}",
    "List the protocols in the same order in all members.",
    matter="tie",
)
EAGER_DEFAULT = Kind(
    "eager-by-default",
    Severity.NOTE,
    Harm.HABIT,
    "all members offer range and cooperative-sticky, Java's default: the group rebalances eagerly with range",
    "Remove range from partition.assignment.strategy in a rolling restart to rebalance cooperatively (KIP-726).",
)
LIBRARY_CHANGE = Kind(
    "library-change-refused",
    Severity.NOTE,
    Harm.NEXT_CHANGE,
    "consumers of {libraries} would be refused with their default assignors (INCONSISTENT_GROUP_PROTOCOL): the members "
    "agree on {candidates}",
    "Before a change to one of these libraries, configure one of the group's assignors in it, or stop all old members "
    "first.",
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
        yield Finding(kind, {"refused": len(group.refused)}, {"errors": ", ".join(sorted(errors))})
    if election["tie"]:
        yield _tie(group)
    if group.protocol == "range" and all(member["protocols"] == _JAVA_DEFAULT for member in group.members):
        settings = {"partition.assignment.strategy": "cooperative-sticky"}
        yield Finding(EAGER_DEFAULT, {"members": len(group.members)}, settings=settings)
    yield from _library_change(group)


def _library_change(group: Group) -> Iterator[Finding]:
    """Yield the libraries that members cannot change to one by one, unless they configure them."""
    election = group.election
    if election is None or election["type"] == CONSUMER or not election["candidates"]:
        return
    used = {client_of(member).library or JAVA for member in group.members}
    refused = [library for library in refused_by_default(election["candidates"]) if library not in used]
    if refused:
        names = {"libraries": _listed(refused, "or"), "candidates": _listed(election["candidates"])}
        yield Finding(LIBRARY_CHANGE, {"libraries": len(refused), "members": len(group.members)}, names)


def _tie(group: Group) -> Finding:
    election = group.election
    assert election is not None
    votes = dict(election["votes"])
    most = max(votes.values())
    tied = sorted(name for name, number in votes.items() if number == most)
    names = {"tied": _listed(tied), "protocol": str(group.protocol)}
    figures = {"votes": most, "candidates": len(election["candidates"]), "members": election["members"]}
    others = dict(election["other_builds"] or ())
    if election["type"] == CONSUMER:
        return Finding(TIE_OF_CONSUMERS, figures, names)
    if not others:
        return Finding(TIE, figures, names)
    shown = ", ".join(
        f"brokers built with Scala {scala} elect {protocol}" for scala, protocol in sorted(others.items())
    )
    return Finding(BUILD, figures, {**names, "others": shown})


def _listed(names: Sequence[str], last: str = "and") -> str:
    """Return names as a sentence lists them.

    >>> _listed(["a", "b", "c"]), _listed(["a"])
    ('a, b and c', 'a')
    """
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
