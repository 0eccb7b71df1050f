"""Judges groups: the findings about each, and its verdict."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.audit import (
    balance,
    connect_clusters,
    elections,
    keys,
    leaders,
    migration,
    owned_now,
    risks,
    rollouts,
    share_groups,
    streams_applications,
)
from rebalance_sim.engine.audit.changes import (
    CLASSIC_ONLY,
    impossible_settings,
    loses_online_migration,
    loses_prediction,
    release_of,
)
from rebalance_sim.engine.audit.finding import Confidence, Finding, Kind, Severity
from rebalance_sim.engine.audit.group import Group, RowsByTable, TopicFacts, client_of
from rebalance_sim.engine.audit.ranking import in_order_of_harm, worst_first
from rebalance_sim.engine.audit.settings_in_use import brokers_in_use, settings_in_use, subscribed_topics
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.engine.simulation.group_timings import GroupTimings
from rebalance_sim.engine.tables.arrow import arrow_type
from rebalance_sim.engine.tables.outcomes import outcome
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.kafka.clients import LIBRARIES
from rebalance_sim.kafka.clients.assumed_protocols import SHOW_ELECTED
from rebalance_sim.kafka.clients.library import PROTOCOL
from rebalance_sim.kafka.group_kinds import SERVICES, SETTINGS_PREFIX, GroupKind, as_configured
from rebalance_sim.kafka.migration import Verdict
from rebalance_sim.tables import FINDINGS, VERDICTS, Table


class Family(NamedTuple):
    """A family of findings."""

    kinds: tuple[Kind, ...]
    findings: Callable[[Group, Thresholds], Iterator[Finding]]


def _balance(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about balance: of the predicted assignment or, without one, of the present one."""
    if group.kind.kind is GroupKind.SHARE:
        yield from share_groups.balance_findings(group, thresholds)
        return
    yield from balance.findings(group, thresholds)
    if group.prediction_error is not None:
        yield from owned_now.findings(group, thresholds)


def _leaders(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about who assigns: the leader or, in a share group, the coordinator alone."""
    if group.kind.kind is GroupKind.SHARE:
        yield from share_groups.assignment_findings(group)
    yield from leaders.findings(group, thresholds)


def _tasks(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about groups that share tasks, not partitions."""
    yield from connect_clusters.findings(group, thresholds)
    yield from streams_applications.findings(group, thresholds)


FAMILIES = {
    "migration": Family(migration.KINDS, migration.findings),
    "elections": Family(elections.KINDS, elections.findings),
    "balance": Family(balance.KINDS, _balance),
    "leaders": Family(leaders.KINDS, _leaders),
    "risks": Family(risks.KINDS, risks.findings),
    "keys": Family(keys.KINDS, keys.findings),
    "rollouts": Family(rollouts.KINDS, rollouts.findings),
    "tasks": Family((*connect_clusters.KINDS, *streams_applications.KINDS), _tasks),
}
_OF_SERVICES = ("elections", "balance", "rollouts")
"""Families of findings whose advice only the owner of consumers can follow."""
_SAY_NOTHING = {GroupKind.SHARE: ("elections",), GroupKind.STREAMS_GROUP: ("elections", "balance")}
"""By kind of group, families that say nothing of it; the others of services have findings of their own about it."""
_OF_LIBRARIES = ("balance", "leaders", "rollouts")
"""Families of findings that rest on what the libraries of the members do with the elected protocol."""
_OF_LISTS = ("elections",)
"""Families of findings that rest on all protocols that the members offer."""
_PROTOCOL_SETTINGS = {library.settings[PROTOCOL] for library in LIBRARIES.values() if PROTOCOL in library.settings}
_ASSIGNOR_SETTINGS = _PROTOCOL_SETTINGS | {library.assignor_setting for library in LIBRARIES.values()}
"""Settings that exclude each other."""
_OVERRIDES_SINCE = (3, 0)
"""The first release of Connect whose connectors may override settings of consumers by default (KIP-722)."""


def verdicts_in_order(rows: DataFrame) -> DataFrame:
    """Take the verdicts out of an audit's rows, with the rank of each group, and the order of online migrations.

    The groups with the lowest risk and cost should migrate first.
    """
    verdicts = rows.transform(outcome(VERDICTS.name))
    cost = F.asc_nulls_last("migration_unowned_ms")
    is_assumed = F.col("migration_assumes").isNotNull()
    order = (is_assumed, "errors", "warnings", F.col("outdated_members") > 0, cost, "members")
    place = F.row_number().over(Window.partitionBy("migration").orderBy(*order, "cluster", "group_id"))
    ordered = verdicts.withColumn("migration_order", F.when(F.col("migration") == Verdict.ONLINE, place))
    return ordered.transform(in_order_of_harm)


@dataclass(frozen=True)
class Judgement:
    """How groups are judged."""

    clusters: Clusters
    thresholds: Thresholds
    topics: TopicFacts
    scenario: str
    """The name of the scenario that was simulated."""
    assumed_ms: Mapping[str, int]
    """The latencies that it assumes, by the names of the settings."""
    seen: GroupTimings | None = None
    """What the past of groups shows; None without timings."""

    def rows(self, groups: Mapping[tuple[str, str], RowsByTable]) -> Iterator[tuple[str, pa.StructArray]]:
        """Yield the rows of ``findings`` and ``verdicts`` of groups, which are given by cluster and id."""
        judged = [self._group(*key, rows) for key, rows in groups.items()]
        found = [(group, self._findings(group)) for group in judged]
        yield FINDINGS.name, _rows(FINDINGS, [_row(group, *each) for group, several in found for each in several])
        yield VERDICTS.name, _rows(VERDICTS, [self._verdict(group, several) for group, several in found])

    def _group(self, cluster: str, group_id: str, rows: RowsByTable) -> Group:
        seen = {} if self.seen is None else self.seen.of_group(cluster, group_id)
        about = (cluster, group_id, rows, self.clusters.of(cluster), self.topics)
        return Group(*about, self.scenario, self.assumed_ms, seen)

    def _verdict(self, group: Group, found: Sequence[tuple[str, Finding]]) -> dict[str, Any]:
        """Return a row of ``verdicts``."""
        return (
            _verdict(group, found)
            | {"impossible_settings": impossible_settings(group, self.thresholds)}
            | rollouts.verdict_columns(rollouts.choices(group, self.thresholds))
        )

    def _findings(self, group: Group) -> list[tuple[str, Finding]]:
        """Return the findings with their families: the worst first, and those about the present state first."""
        kind = group.kind.kind
        others = () if kind in SERVICES else _SAY_NOTHING.get(kind, _OF_SERVICES)
        families = {name: of for name, of in FAMILIES.items() if name not in others}
        found = [(name, each) for name, of in families.items() for each in of.findings(group, self.thresholds)]
        return sorted(found, key=lambda each: (*worst_first(each[1].kind), each[1].scenario is not None))


def _row(group: Group, family: str, finding: Finding) -> dict[str, Any]:
    """Return a row of ``findings``."""
    return {
        "cluster": group.cluster,
        "group_id": group.group_id,
        "members": group.accepted,
        "weight": group.weight,
        "lag": group.total_lag,
        "family": family,
        "kind": finding.kind.name,
        "severity": finding.kind.severity,
        "harm": finding.kind.harm,
        "scenario": finding.scenario,
        "description": finding.description,
        "figures": _entries(finding.figures),
        "recommendation": _recommendation(group, finding),
        "settings": _entries(as_configured(group.kind.kind, finding.settings)) or None,
        "saving": _entries(finding.saving) or None,
        "confidence": finding.confidence or confidence_of(group, family, finding.kind),
    }


def _recommendation(group: Group, finding: Finding) -> str | None:
    """Return what to do, with what is lost, what it needs, and where settings are that consumers do not have."""
    if not finding.settings:
        return finding.recommendation
    said = f"{finding.recommendation or ''}{balance.loses_co_partitioning(group, finding.settings)}"
    said = f"{said}{loses_prediction(group, finding.settings)}{loses_online_migration(group, finding.settings)}"
    if not _PROTOCOL_SETTINGS.isdisjoint(finding.settings) and group.migration.assumes:
        said = f"{said} The library of some members is uncertain: this applies only if it is {group.migration.assumes}."
    prefix = SETTINGS_PREFIX.get(group.kind.kind)
    if prefix is not None:
        said = f"{said} In the connector's configuration, these settings begin with {prefix}"
        releases = [release_of(client_of(member)) for member in group.members]
        if any(release is None or release < _OVERRIDES_SINCE for release in releases):
            said = f"{said}; workers before Kafka 3.0 allow that only with connector.client.config.override.policy=All."
    return said.strip() or None


def confidence_of(group: Group, family: str, kind: Kind) -> Confidence:
    """Return what a finding rests on, unless it says so itself."""
    assumes_lists = family in _OF_LISTS and group.protocols_assumed
    assumes_leader = family in _OF_LIBRARIES and (
        group.assumes_libraries or not group.protocols_assumed <= SHOW_ELECTED
    )
    return Confidence.ASSUMED if group.rejected or assumes_lists or assumes_leader else kind.confidence


def _verdict(group: Group, found: Sequence[tuple[str, Finding]]) -> dict[str, Any]:
    """Return a row of ``verdicts``, without what it has of settings in a rollout."""
    findings = [finding for _, finding in found]
    severities = Counter(finding.kind.severity for finding in findings)
    found_migration, costs = group.migration, group.migration_costs
    return {
        "cluster": group.cluster,
        "group_id": group.group_id,
        "type": group.type,
        "members": group.accepted,
        "weight": group.weight,
        "partitions": group.balance["partitions"] if group.balance else None,
        "lag": group.total_lag,
        "severity": next((severity for severity in Severity if severities[severity]), None),
        "harm": findings[0].kind.harm if findings else None,
        **{f"{severity}s": severities[severity] for severity in Severity},
        "kind": findings[0].kind.name if findings else None,
        "group_kind": group.kind.kind,
        "group_kind_evidence": group.kind.evidence or None,
        "teams": group.teams or None,
        "workloads": _entries(group.workloads) or None,
        "hosts": group.hosts,
        **group.search_terms,
        "settings": _entries(as_configured(group.kind.kind, recommended_settings(findings))) or None,
        "settings_in_use": _entries(settings_in_use(group)) or None,
        "topic_partitions": _entries(subscribed_topics(group)) or None,
        "brokers": brokers_in_use(group.brokers),
        "migration": found_migration.verdict,
        "migration_assumes": found_migration.assumes or None,
        "migration_reason": found_migration.reason,
        "outdated_members": found_migration.outdated,
        "migration_unowned_ms": costs["unowned_ms"] if costs else None,
    }


def recommended_settings(findings: Iterable[Finding]) -> dict[str, str]:
    """Return the settings of all findings but notes; of settings that exclude each other, those of the worst.

    A group that changes to the consumer protocol needs no settings of the classic one, which consumers then reject.
    """
    settings: dict[str, str] = {}
    for finding in findings:
        has_assignor = any(name in settings for name in _ASSIGNOR_SETTINGS)
        if finding.kind.severity is Severity.NOTE or (
            has_assignor and any(name in finding.settings for name in _ASSIGNOR_SETTINGS)
        ):
            continue
        settings |= {name: value for name, value in finding.settings.items() if name not in settings}
    unneeded = CLASSIC_ONLY if settings.get(PROTOCOL) == "consumer" else ()
    return {name: value for name, value in settings.items() if name not in unneeded}


def _entries(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return a mapping as Arrow takes it."""
    return list(values.items())


def _rows(table: Table, rows: Sequence[Mapping[str, Any]]) -> pa.StructArray:
    return pa.array(rows, arrow_type(table.schema))
