"""Findings about the balance of partitions and of lag."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from rebalance_sim.engine.audit.changes import gives_up_cooperation, how_to_roll_out, offered_by_all, settings_for
from rebalance_sim.engine.audit.finding import Confidence, Finding, Harm, Kind, Severity, filled
from rebalance_sim.engine.audit.group import TOPIC_OWNERS, Group, Row
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.kafka.assignors.by_library import leaders_assignor, predictable_protocols
from rebalance_sim.kafka.clients import JAVA
from rebalance_sim.kafka.migration import Verdict
from rebalance_sim.releases import SERVER_ASSIGNORS, StickyRules, first_release
from rebalance_sim.tables import OFFSETS
from rebalance_sim.wording import plural

IDLE = Kind(
    "idle-members",
    Severity.WARNING,
    Harm.UNEVEN,
    "{idle_members:member is|members are} idle under {strategy}, {idle_after} under {better}",
    "Use {protocol}{how}.{loss}",
    decisive="idle_members",
)
IDLE_ANYWAY = replace(
    IDLE,
    description="{idle_members:member is|members are} idle under {strategy}, although {partitions:partition is|"
    "partitions are} enough for {busy:member}",
    recommendation="{no_assignor} Give each topic at least as many partitions as it has subscribers, or change to a "
    "client library whose assignors divide the partitions of all topics together.",
)
"""If no assignor that can be predicted, and that all members could use, has fewer idle members."""
TOO_MANY_MEMBERS = Kind(
    "more-members-than-partitions",
    Severity.NOTE,
    Harm.UNEVEN,
    "{members:member}, {partitions:partition}: {idle_members:member is|members are} idle under any assignor",
    "",
    decisive="idle_members",
)
IMBALANCE = Kind(
    "imbalance",
    Severity.WARNING,
    Harm.UNEVEN,
    "{min} to {max:partition} per member under {strategy}, at most {max_after} under {better}",
    "Use {protocol}{how}.{moves}{loss}",
    decisive="max",
)
WHOLE_TOPICS = Kind(
    "topic-on-one-member",
    Severity.WARNING,
    Harm.UNEVEN,
    "one member has all partitions of a topic under {strategy}, although others subscribe to it: {topics}",
    "Use {protocol}{how}.{moves}{loss}",
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
    "",
    is_news=False,
)
LAG = Kind(
    "lag-on-one-member",
    Severity.WARNING,
    Harm.BEHIND,
    "one member has {max_lag} of {lag:record} of lag under {strategy}, at most {max_lag_after} under {better}",
    "{use} {protocol}{how}.{loss}",
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
_LOSS = " The change loses incremental rebalancing: members revoke all their partitions in every rebalance."
_CO_PARTITIONING = (
    " The change loses co-partitioning: {now} topics are co-partitioned under {strategy}, {after} afterwards. Keep the "
    "assignor if consumers join these topics by partition."
)
_UPGRADE = (
    "Upgrade the Java clients to {release} or newer and keep {assignor}: a member that has to revoke partitions then "
    "revokes some of every topic instead of whole topics (KAFKA-16277)."
)
_JAVAS = ("range", "roundrobin", "sticky", "cooperative-sticky")


def findings(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about the balance of a group."""
    yield from _topics_on_one_host(group)
    today, best = group.balance, group.optimum
    if today is None or best is None:
        return
    if best["idle_members"]:
        figures = {name: today[name] for name in ("members", "partitions")}
        yield Finding(TOO_MANY_MEMBERS, figures | {"idle_members": best["idle_members"]})
    yield from _idle(group, today, best)
    yield from _imbalance(group, today, thresholds)
    yield from _topics_on_one_member(group, today, thresholds)
    yield from _lag(group, thresholds)


def _idle(group: Group, today: Row, best: Row) -> Iterator[Finding]:
    figures = {name: today[name] for name in ("members", "partitions", "idle_members")}
    better = _best(group, "idle_members")
    if better is not None and group.strategies[better]["idle_members"] < today["idle_members"]:
        after = group.strategies[better]
        saving = {"idle_members_saved": today["idle_members"] - after["idle_members"]}
        yield _change(IDLE, group, better, figures | {"idle_after": after["idle_members"]}, saving)
    elif _is_avoidable(today, best):
        figures["busy"] = today["members"] - best["idle_members"]
        yield Finding(IDLE_ANYWAY, figures, {"strategy": str(group.strategy), "no_assignor": _no_assignor(group)})


def _is_avoidable(today: Row, best: Row) -> bool:
    """Return whether another assignment certainly has fewer idle members.

    Partitions without a consumer leave members idle, too: they have a finding of their own, with another remedy.
    """
    return best["balance_exact"] and best["idle_members"] < today["idle_members"] and not today["unconsumed"]


def _no_assignor(group: Group) -> str:
    if group.library is None and group.classic_members:
        return "The members use, or may use, several client libraries, each of which assigns by rules of its own."
    library = group.library or "the coordinator"
    return f"No assignor of {library} whose assignment can be predicted helps."


def _imbalance(group: Group, today: Row, thresholds: Thresholds) -> Iterator[Finding]:
    better = _best(group, "max")
    if better is None or today["max"] - group.strategies[better]["max"] < thresholds.imbalance_partitions:
        return
    after = group.strategies[better]
    figures = {name: today[name] for name in ("members", "partitions", "min", "max")}
    figures |= {"max_after": after["max"], "moved_after": after["moved"]}
    yield _change(IMBALANCE, group, better, figures, {"max_saved": today["max"] - after["max"]})


def _topics_on_one_member(group: Group, today: Row, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the finding about topics of which one member has all partitions.

    It is normal for a topic with few partitions, and where a member has several topics: the topic then is a small part
    of what a member has, and others may balance it.
    """
    whole = [
        row
        for row in today["whole_topics"] or ()
        if row["partitions"] >= thresholds.topic_partitions_per_subscriber * row["subscribers"]
        and row["partitions"] * today["members"] >= today["partitions"]
    ]
    if not whole:
        return
    most = max(row["partitions"] for row in whole)
    better = _divides(group, today, most - thresholds.imbalance_partitions)
    figures: dict[str, float] = {"topics": len(whole), "topic_partitions": most}
    figures |= {name: today[name] for name in ("members", "partitions")}
    topics = [f"{row['topic']} ({plural(row['partitions'], 'partition')} on {row['member_id']})" for row in whole]
    names = {"topics": ", ".join(topics), "strategy": str(group.strategy)}
    upgrade = _upgrade(group, today)
    if upgrade:
        names |= {"upgrade": upgrade, "instead": _instead(group, better)}
        is_known = group.leader is not None and group.leader.release
        yield Finding(WHOLE_TOPICS_OF_RELEASE, figures, names, confidence=None if is_known else Confidence.ASSUMED)
    elif better is not None:
        found = _change(WHOLE_TOPICS, group, better, figures | {"moved_after": group.strategies[better]["moved"]}, {})
        yield replace(found, names={**found.names, **names})


def _topics_on_one_host(group: Group) -> Iterator[Finding]:
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
    options = {name: protocol for name, protocol in _options(group).items() if rows[name]["max"] <= today["max"]}
    better = _smallest(group, "topic_spread", options)
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
    return _UPGRADE.format(release=first_release("sticky", StickyRules.OWNED_SORTED), assignor=protocol)


def _instead(group: Group, better: str | None) -> str:
    """Return the assignor that divides the topics without an upgrade, as a sentence; empty if there is none."""
    if better is None:
        return ""
    protocol = _options(group)[better]
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
    candidates = [name for name in _options(group) if name in lag and lag[name]["max_lag"] is not None]
    better = min(candidates, key=lambda name: (lag[name]["max_lag"], name), default=None)
    if better is None or today["max_lag"] < least:
        return
    saved = today["max_lag"] - lag[better]["max_lag"]
    if saved >= thresholds.lag_records:
        after = {"max_lag_after": lag[better]["max_lag"]}
        found = _change(LAG, group, better, figures | after, {"max_lag_saved": saved})
        upgrade = _upgrade(group, group.balance) if group.balance else ""
        yield replace(found, names={**found.names, "use": f"{upgrade} Or use" if upgrade else "Use"})


def _change(kind: Kind, group: Group, better: str, figures: Mapping[str, Any], saving: Mapping[str, Any]) -> Finding:
    """Return a finding that recommends another assignor."""
    protocol = _options(group)[better]
    names = {
        "strategy": str(group.strategy),
        "better": better,
        "protocol": protocol,
        "how": how_to_roll_out(group, protocol),
        "moves": filled(_MOVES, figures) if figures.get("moved_after") else "",
        "loss": _LOSS if gives_up_cooperation(group, better) else "",
    }
    return Finding(kind, figures, names, settings_for(group, protocol), saving)


def loses_co_partitioning(group: Group, settings: Mapping[str, str]) -> str:
    """Return that the assignor in some settings parts topics that are co-partitioned today, as a sentence.

    Topics with equal partitions on the same members show that the assignor in use puts them there, not that the
    application relies on it: the reader decides.
    """
    options = _options(group).items()
    named = [name for name, protocol in options if settings_for(group, protocol).items() <= settings.items()]
    if group.balance is None or len(named) != 1:
        return ""
    now, after = (figures["co_partitioned_topics"] for figures in (group.balance, group.strategies[named[0]]))
    if now is None or after is None or after >= now:
        return ""
    return _CO_PARTITIONING.format(now=now, strategy=group.strategy, after=after)


def _best(group: Group, figure: str) -> str | None:
    """Return the assignor with the smallest figure; None if the group has no choice."""
    return _smallest(group, figure, _options(group))


def _smallest(group: Group, figure: str, options: Mapping[str, str]) -> str | None:
    """Return the one of these assignors, given with their protocol names, with the smallest figure; None of none."""

    def key(strategy: str) -> tuple[int, bool, int, str]:
        # Of equally good ones, those that all members offer come first, then those that move fewer partitions.
        row = group.strategies[strategy]
        return row[figure], not offered_by_all(group, options[strategy]), row["moved"], strategy

    return min(options, key=key, default=None)


def _options(group: Group) -> dict[str, str]:
    """Return the assignors that the group could use, each with its protocol name.

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
    return {leaders_assignor(name, group.leader).name: name for name in predictable_protocols(group.library)}
