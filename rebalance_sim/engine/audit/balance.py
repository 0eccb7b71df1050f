"""Findings about the balance of partitions and of lag."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from rebalance_sim.engine.audit.changes import (
    assignors_of_choice,
    best_choice,
    costs_of_restarts,
    gives_up_cooperation,
    how_to_use,
    loss_of_cooperation,
    release_of,
    settings_for,
)
from rebalance_sim.engine.audit.finding import Confidence, Finding, Harm, Kind, Severity, filled
from rebalance_sim.engine.audit.group import TOPIC_OWNERS, Group, Row
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.kafka.clients import JAVA
from rebalance_sim.kafka.group_kinds import GroupKind
from rebalance_sim.releases import StickyRules, first_release
from rebalance_sim.tables import OFFSETS
from rebalance_sim.wording import plural

IDLE = Kind(
    "idle-members",
    Severity.WARNING,
    Harm.UNEVEN,
    "{idle_members:member is|members are} idle under {strategy}, {idle_after} under {better}",
    "{use}.{moves}{loss}{cost}",
    decisive="idle_members",
)
IDLE_ANYWAY = replace(
    IDLE,
    description="{idle_members:member is|members are} idle under {strategy}, although {partitions:partition is|"
    "partitions are} enough for {busy:member}",
    recommendation="{no_assignor} Give each topic at least as many partitions as it has subscribers{or_library}.",
)
"""If no assignor that can be predicted, and that all members could use, has fewer idle members."""
TOO_MANY_MEMBERS = Kind(
    "more-members-than-partitions",
    Severity.NOTE,
    Harm.UNEVEN,
    "{members:member}, {partitions:partition}: {idle_members:member is|members are} idle under any assignor",
    decisive="idle_members",
)
IMBALANCE = Kind(
    "imbalance",
    Severity.WARNING,
    Harm.UNEVEN,
    "{min} to {max:partition} per member under {strategy}, at most {max_after} under {better}",
    "{use}.{moves}{loss}{cost}",
    decisive="max",
)
WHOLE_TOPICS = Kind(
    "topic-on-one-member",
    Severity.WARNING,
    Harm.UNEVEN,
    "one member has all partitions of a topic under {strategy}, although others subscribe to it: {topics}",
    "{use}.{moves}{loss}{cost}",
    decisive="topic_partitions",
)
WHOLE_TOPICS_OF_RELEASE = replace(WHOLE_TOPICS, recommendation="{upgrade}{instead}")
"""If a later release of the client divides the topics."""
TOPICS_ON_HOST = Kind(
    "topic-on-one-host",
    Severity.NOTE,
    Harm.UNEVEN,
    "the members on one host own all partitions of a topic, although members on other hosts subscribe to it: {topics}; "
    "no assignor takes hosts into account",
    is_news=False,
)
LAG = Kind(
    "lag-on-one-member",
    Severity.WARNING,
    Harm.BEHIND,
    "one member has {max_lag} of {lag:record} of lag under {strategy}, at most {max_lag_after} under {better}",
    "{upgrade}{use}.{moves}{loss}{cost}",
    decisive="max_lag",
    needs=OFFSETS.name,
)
LAG_IN_PARTITION = Kind(
    "lag-in-one-partition",
    Severity.NOTE,
    Harm.BEHIND,
    "one partition has {max_partition_lag} of {lag:record} of lag: no assignor divides it",
    "Look for a hot key, or speed up the consumer of this partition.",
    decisive="max_partition_lag",
    needs=OFFSETS.name,
)
KINDS = (IDLE, TOO_MANY_MEMBERS, IMBALANCE, WHOLE_TOPICS, TOPICS_ON_HOST, LAG, LAG_IN_PARTITION)
_MOVES = " {moved_after:partition moves|partitions move} once."
_CO_PARTITIONING = (
    " The change loses co-partitioning: {now} topics are co-partitioned under {strategy}, {after} afterwards. Keep the "
    "assignor if consumers join these topics by partition."
)
_UPGRADE = (
    "Upgrade {clients} to {release} or newer and keep {assignor}: a member that has to revoke partitions then "
    "revokes some of every topic instead of whole topics (KAFKA-16277)."
)
_OR_LIBRARY = ", or change to a client library whose assignors divide the partitions of all topics together"


def findings(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about the balance of a group."""
    yield from topics_on_one_host(group)
    today, best = group.balance, group.optimum
    if today is None or best is None:
        return
    if best["idle_members"] and today["partitions"]:
        figures = {name: today[name] for name in ("members", "partitions")}
        yield Finding(TOO_MANY_MEMBERS, figures | {"idle_members": best["idle_members"]})
    yield from _idle(group, today, best, thresholds)
    yield from _imbalance(group, today, thresholds)
    yield from _topics_on_one_member(group, today, thresholds)
    yield from _lag(group, thresholds)


def _idle(group: Group, today: Row, best: Row, thresholds: Thresholds) -> Iterator[Finding]:
    figures = {name: today[name] for name in ("members", "partitions", "idle_members")}
    better = best_choice(group, "idle_members", assignors_of_choice(group))
    if better is not None and group.strategies[better]["idle_members"] < today["idle_members"]:
        after = group.strategies[better]
        saving = {"idle_members_saved": today["idle_members"] - after["idle_members"]}
        figures |= {"idle_after": after["idle_members"]}
        yield change_to(IDLE, AssignorChange(group, better, thresholds), figures, saving)
    elif _is_avoidable(today, best):
        figures["busy"] = today["members"] - best["idle_members"]
        names = {"strategy": str(group.strategy), "no_assignor": no_assignor(group)}
        names["or_library"] = _OR_LIBRARY if group.classic_members else ""
        yield Finding(IDLE_ANYWAY, figures, names)


def _is_avoidable(today: Row, best: Row) -> bool:
    """Return whether another assignment certainly has fewer idle members.

    Partitions without a consumer leave members idle, too: they have a finding of their own, with another remedy.
    """
    return best["balance_exact"] and best["idle_members"] < today["idle_members"] and not today["unconsumed"]


def no_assignor(group: Group) -> str:
    """Return why no assignor is recommended, or the release of the library that would help, as a sentence."""
    if group.library is None and group.classic_members:
        return "The members use, or may use, several client libraries, each of which assigns by rules of its own."
    upgrade = _upgrade_of_dealing(group)
    return upgrade or f"No assignor of {group.library or 'the coordinator'} whose assignment can be predicted helps."


def _upgrade_of_dealing(group: Group) -> str:
    """Return the release from which on the leader's assignor deals out all topics together, as a sentence; or nothing.

    kafkajs before 1.13 deals out every topic on its own (https://github.com/tulios/kafkajs/issues/820).
    """
    release = release_of(group.leader) if group.leader else None
    assignor = group.record.assignor(str(group.protocol))
    if release is None or assignor is None:
        return ""
    since = next((each.before for each in assignor.earlier if each.deals_each_topic and release < each.before), None)
    if since is None:
        return ""
    return f"Upgrade {group.record.name} to {'.'.join(map(str, since))} or newer, which deals out all topics together."


def _imbalance(group: Group, today: Row, thresholds: Thresholds) -> Iterator[Finding]:
    better = best_choice(group, "max", assignors_of_choice(group))
    if better is None or today["max"] - group.strategies[better]["max"] < thresholds.imbalance_partitions:
        return
    after = group.strategies[better]
    figures = {name: today[name] for name in ("members", "partitions", "min", "max")}
    figures |= {"max_after": after["max"], "moved_after": after["moved"]}
    yield change_to(
        IMBALANCE, AssignorChange(group, better, thresholds), figures, {"max_saved": today["max"] - after["max"]}
    )


def _topics_on_one_member(group: Group, today: Row, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the finding about topics of which one member has all partitions.

    It is normal for a topic with few partitions, and where a member has several topics: the topic then is a small part
    of what a member has, and others may balance it.
    """
    whole = [row for row in today["whole_topics"] or () if is_whole(row, today, thresholds)]
    if not whole:
        return
    most = max(row["partitions"] for row in whole)
    better = _divides(group, today, most - thresholds.imbalance_partitions)
    figures: dict[str, float] = {"topics": len(whole), "topic_partitions": most}
    figures |= {name: today[name] for name in ("members", "partitions")}
    names = {"topics": topics_in_words(whole), "strategy": str(group.strategy)}
    upgrade = _upgrade(group, today)
    if upgrade:
        names |= {"upgrade": upgrade, "instead": _instead(group, better)}
        is_known = group.leader is not None and group.leader.release
        yield Finding(WHOLE_TOPICS_OF_RELEASE, figures, names, confidence=None if is_known else Confidence.ASSUMED)
    elif better is not None:
        figures["moved_after"] = group.strategies[better]["moved"]
        found = change_to(WHOLE_TOPICS, AssignorChange(group, better, thresholds), figures, {})
        yield replace(found, names={**found.names, **names})


def is_whole(topic: Row, group: Mapping[str, Any], thresholds: Thresholds) -> bool:
    """Return whether a topic on one member is large, for its subscribers and for the members of the group."""
    partitions: int = topic["partitions"]
    return (
        partitions >= thresholds.topic_partitions_per_subscriber * topic["subscribers"]
        and topic["subscribers"] > 1
        and partitions * group["members"] >= group["partitions"]
    )


def topics_in_words(whole: Sequence[Row]) -> str:
    """Return topics, each with the member that has all its partitions."""
    return ", ".join(
        f"{row['topic']} ({plural(row['partitions'], 'partition')} on {row['member_id']})" for row in whole
    )


def topics_on_one_host(group: Group) -> Iterator[Finding]:
    """Yield the finding about topics that several members on one host own, as far as others could have some.

    It is normal for a topic with fewer partitions than subscribers.
    """
    found = []
    for row in sorted(group.rows[TOPIC_OWNERS], key=lambda row: (-row["partitions"], row["topic"])):
        hosts = [member["host"] for member in group.members if row["topic"] in (member["subscription"] or ())]
        elsewhere = [host for host in hosts if host not in (None, "", row["host"])]
        if elsewhere and row["partitions"] >= len(hosts):
            found.append(row)
    if found:
        figures = {"topics": len(found), "topic_partitions": found[0]["partitions"], "owners": found[0]["owners"]}
        topics = [f"{row['topic']} ({plural(row['partitions'], 'partition')} on {row['host']})" for row in found]
        yield Finding(TOPICS_ON_HOST, figures, {"topics": ", ".join(topics)}, confidence=Confidence.CERTAIN)


def _divides(group: Group, today: Row, most: int) -> str | None:
    """Return the assignor that divides every topic best, without more partitions for the member with the most.

    Two subscribers of a topic may then differ by at most ``most`` partitions.
    """
    rows = group.strategies
    options = {
        name: protocol
        for name, protocol in assignors_of_choice(group).items()
        if rows[name]["max"] <= today["max"] and protocol != group.protocol
    }
    better = best_choice(group, "topic_spread", options)
    return better if better is not None and rows[better]["topic_spread"] <= most else None


def _upgrade(group: Group, today: Row) -> str:
    """Return the upgrade that divides topics of which one member has all partitions; empty if none does.

    Since KAFKA-16277, a member above its quota keeps the partitions with the lowest numbers of all topics, if all
    members have equal subscriptions; before, it keeps the topics that it owned first.
    """
    leader, protocol = group.leader, group.protocol
    if not today["whole_topics"] or leader is None or group.library != JAVA:
        return ""
    subscriptions = {frozenset(member["subscription"] or ()) for member in group.members}
    if protocol not in ("sticky", "cooperative-sticky") or len(subscriptions) > 1:
        return ""
    if group.rules_of(leader).sticky >= StickyRules.OWNED_SORTED:
        return ""
    clients = "Kafka Connect" if group.kind.kind is GroupKind.CONNECT_SINK else "the Java clients"
    release = first_release("sticky", StickyRules.OWNED_SORTED)
    return _UPGRADE.format(clients=clients, release=release, assignor=protocol)


def _instead(group: Group, better: str | None) -> str:
    """Return the assignor that divides the topics without an upgrade, as a sentence; empty if there is none."""
    if better is None:
        return ""
    protocol = assignors_of_choice(group)[better]
    loss = ", but loses incremental rebalancing" if gives_up_cooperation(group, better) else ""
    return f" Without an upgrade, {protocol} divides topics{loss}."


def _lag(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    lag = group.lag
    today = lag.get(group.strategy or "")
    if today is None or not today["lag"] or not today["max_lag"]:
        return
    figures = {name: today[name] for name in ("members", "lag", "max_lag", "max_partition_lag", "excess_lag")}
    least = max(thresholds.lag_share * today["lag"], thresholds.lag_records)
    # From ``large_lag_records`` on, another finding names the partition.
    if least <= today["max_partition_lag"] < thresholds.large_lag_records:
        yield Finding(LAG_IN_PARTITION, figures)
    known = {name for name, row in lag.items() if row["max_lag"] is not None}
    candidates = {name: protocol for name, protocol in assignors_of_choice(group).items() if name in known}
    better = best_choice(group, "max_lag", candidates, lag)
    if better is None or today["max_lag"] < least:
        return
    saved = today["max_lag"] - lag[better]["max_lag"]
    if saved >= thresholds.lag_records:
        after = {"max_lag_after": lag[better]["max_lag"]}
        found = change_to(LAG, AssignorChange(group, better, thresholds), figures | after, {"max_lag_saved": saved})
        upgrade = _upgrade(group, group.balance) if group.balance else ""
        use = found.names["use"]
        names = {"upgrade": f"{upgrade} Or " if upgrade else "", "use": use[0].lower() + use[1:] if upgrade else use}
        yield replace(found, names={**found.names, **names})


class AssignorChange(NamedTuple):
    """The change of a group to another assignor."""

    group: Group
    better: str
    thresholds: Thresholds


def change_to(kind: Kind, change: AssignorChange, figures: Mapping[str, Any], saving: Mapping[str, Any]) -> Finding:
    """Return a finding that recommends another assignor."""
    group, better, thresholds = change
    protocol = assignors_of_choice(group)[better]
    moved = {"moved_after": group.strategies[better]["moved"]}
    names = {
        "strategy": str(group.strategy),
        "better": better,
        "use": how_to_use(group, protocol),
        "moves": filled(_MOVES, moved) if moved["moved_after"] else "",
        "loss": loss_of_cooperation(group, better),
        "cost": costs_of_restarts(group, protocol, thresholds),
    }
    return Finding(kind, figures, names, settings_for(group, protocol), saving)


def loses_co_partitioning(group: Group, settings: Mapping[str, str]) -> str:
    """Return that the assignor in some settings parts topics that are co-partitioned today, as a sentence.

    Topics with equal partitions on the same members show that the assignor in use puts them there, not that the
    application relies on it: the reader decides.
    """
    options = assignors_of_choice(group).items()
    named = [name for name, protocol in options if settings_for(group, protocol).items() <= settings.items()]
    if group.balance is None or len(named) != 1:
        return ""
    now, after = (figures["co_partitioned_topics"] for figures in (group.balance, group.strategies[named[0]]))
    if now is None or after is None or after >= now:
        return ""
    return _CO_PARTITIONING.format(now=now, strategy=group.strategy, after=after)
