"""Brings the tables of a fleet together by group, and audits every group."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema, to_arrow_type

from rebalance_sim.engine.audit import balance, elections, keys, leaders, migration, risks, rollouts
from rebalance_sim.engine.audit.changes import CLASSIC_ONLY, PROTOCOL, impossible_settings
from rebalance_sim.engine.audit.finding import Confidence, Finding, Kind, Severity
from rebalance_sim.engine.audit.group import COMMITS, TOPIC_OWNERS, Group, TopicFacts
from rebalance_sim.engine.audit.rollouts import SAVED
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.engine.audit.topic_keys import key_facts
from rebalance_sim.engine.spark.driver_rows import driver_rows, keeps_rows, map_batches
from rebalance_sim.engine.tables.arrow import as_outcome
from rebalance_sim.engine.tables.outcomes import Outcomes, outcome
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.kafka.clients import LIBRARIES
from rebalance_sim.kafka.clients.assumed_protocols import SHOW_ELECTED
from rebalance_sim.kafka.group_kinds import SERVICES, SETTINGS_PREFIX, as_configured
from rebalance_sim.kafka.migration import Verdict
from rebalance_sim.tables import (
    ADVICE,
    BALANCE,
    COMPARISON,
    COSTS,
    ELECTIONS,
    EXPIRING_OFFSETS,
    FINDINGS,
    LAG_BALANCE,
    LAG_COSTS,
    LISTED_GROUPS,
    MEMBERS,
    MIGRATION_COSTS,
    OFFSETS,
    PARTITION_GROWTH,
    RECORD_PARTITIONS,
    REJECTS,
    TOPIC_LAG,
    TOPICS_AT_RISK,
    VERDICTS,
    struct,
)


class Family(NamedTuple):
    """A family of findings."""

    kinds: tuple[Kind, ...]
    findings: Callable[[Group, Thresholds], Iterator[Finding]]


FAMILIES = {
    "migration": Family(migration.KINDS, migration.findings),
    "elections": Family(elections.KINDS, elections.findings),
    "balance": Family(balance.KINDS, balance.findings),
    "leaders": Family(leaders.KINDS, leaders.findings),
    "risks": Family(risks.KINDS, risks.findings),
    "keys": Family(keys.KINDS, keys.findings),
    "rollouts": Family(rollouts.KINDS, rollouts.findings),
}
_OF_SERVICES = ("elections", "balance", "rollouts")
"""Families of findings whose advice only the owner of consumers can follow."""
_OF_LIBRARIES = ("balance", "leaders", "rollouts")
"""Families of findings that rest on what the libraries of the members do with the elected protocol."""
_OF_LISTS = ("elections",)
"""Families of findings that rest on all protocols that the members offer."""
_KEYS = ("cluster", "group_id")
_COLUMNS = {
    MEMBERS.name: (
        # Of repeated members, predictions use the first by these columns, in this order.
        *("join_order", "member_id", "protocol_type", "protocols", "client_library", "client_version", "instance_id"),
        *("rack", "subscription", "session_timeout_ms", "group_state", "generation", "generation_at_ms", "client_id"),
        *("earlier_generation", "earlier_generation_at_ms", "subscribed_regex", "rebalance_timeout_ms", "host"),
        *("protocols_assumed", "team"),
    ),
    ELECTIONS.name: (
        *("type", "members", "protocol", "candidates", "votes", "tie", "leader_id", "refused", "error"),
        "other_builds",
    ),
    BALANCE.name: (
        *("strategy", "members", "partitions", "min", "max", "idle_members", "moved", "unassigned", "unconsumed"),
        *("first_unconsumed", "whole_topics", "co_partitioned_topics", "alternatives", "bounds", "error"),
    ),
    COMPARISON.name: ("optimum", "strategies"),
    LAG_BALANCE.name: ("strategy", "members", "lag", "max_lag", "max_partition_lag", "excess_lag"),
    LAG_COSTS.name: ("unowned_lag", "delay_ms"),
    **dict.fromkeys(
        (COSTS.name, MIGRATION_COSTS.name),
        (
            *("partitions", "events", "rebalances", "storms", "stable", "unowned_ms", "moved", "moved_back", "failed"),
            *("p99_unowned_ms", "max_unowned_ms", "finished", "failure", "error"),
        ),
    ),
    ADVICE.name: ("setting", "value", "fails", *SAVED),
    EXPIRING_OFFSETS.name: ("partitions", "first_expires_at_ms"),
    COMMITS: ("member_id", "committed_at_ms", "lag"),
    TOPIC_OWNERS: ("topic", "host", "owners", "partitions"),
    REJECTS.name: ("table", "rows", "reason"),
    OFFSETS.name: ("partitions",),
    TOPIC_LAG.name: (
        *("topic", "lag_partitions", "unknown_partitions", "lag", "max_partition_lag", "max_lag_partition"),
    ),
    LISTED_GROUPS.name: ("type", "protocol_type", "state", "members"),
}
"""Columns of the tables that an audit reads."""
_OUTPUTS = struct({table.name: table.schema for table in (FINDINGS, VERDICTS)})
_ABOUT_CLIENTS = "consumers"
"""Rejects of a capture's file about clients, which names groups that no tool need show."""
_ASSIGNOR_SETTINGS = (*dict.fromkeys(library.assignor_setting for library in LIBRARIES.values()), PROTOCOL)
"""Settings that exclude each other."""


def audited(
    tables: Mapping[str, DataFrame], topics: DataFrame, clusters: Clusters, thresholds: Thresholds, scenario: str
) -> Outcomes:
    """Return the findings and verdicts of every group.

    ``tables`` are those of a fleet and of its predictions, by name; members, offsets, listed groups and ``topics`` are
    usable rows,
    and rejects the others, of which those with a group name groups that nothing else may show.
    Records are given by ``record_partitions`` and ``topics_at_risk``, both or neither; ``partition_growth`` is
    that of topics that are to grow. ``scenario`` is the name of the one that was simulated.
    """
    facts = _topic_facts(topics, tables.get(OFFSETS.name))
    if RECORD_PARTITIONS.name in tables:
        growth = tables.get(PARTITION_GROWTH.name)
        shown = key_facts(tables[RECORD_PARTITIONS.name], tables[TOPICS_AT_RISK.name], topics, growth)
        # A topic whose records have no known partition has keys, but no loads.
        with_records = shown.loads.keys() | shown.shared.keys()
        facts = replace(facts, keys=shown, partitions=_partitions(topics, with_records))
    audit = _Audit(clusters, thresholds, facts, scenario)
    rows = _audited_rows({**tables, **_summed_up(tables)}, audit)
    outcomes = {name: outcome(name) for name in _OUTPUTS.names}
    outcomes[VERDICTS.name] = lambda rows: rows.transform(outcome(VERDICTS.name)).transform(_ranked)
    return Outcomes(rows, outcomes)


def _ranked(verdicts: DataFrame) -> DataFrame:
    """Set the order in which the groups that can migrate online should: those with the lowest risk and cost first."""
    cost = F.asc_nulls_last("migration_unowned_ms")
    is_assumed = F.col("migration_assumes").isNotNull()
    order = (is_assumed, "errors", "warnings", F.col("outdated_members") > 0, cost, "members", *_KEYS)
    place = F.row_number().over(Window.partitionBy("migration").orderBy(*order))
    return verdicts.withColumn("migration_order", F.when(F.col("migration") == Verdict.ONLINE, place))


def _audited_rows(tables: Mapping[str, DataFrame], audit: "_Audit") -> DataFrame:
    """Bring all rows of each group together, in the driver if it keeps rows, and audit the groups."""
    rows = {name: tables[name].select(*_KEYS, *columns) for name, columns in _COLUMNS.items() if name in tables}
    spark = rows[MEMBERS.name].sparkSession
    if not keeps_rows(spark):
        return map_batches(_by_group(rows), audit.batches, _OUTPUTS)
    groups: defaultdict[tuple[Any, ...], dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for name, of_table in rows.items():
        for row in of_table.toArrow().to_pylist():
            groups[tuple(row[key] for key in _KEYS)][name].append(row)
    named = [dict(zip(_KEYS, key, strict=True)) | found for key, found in groups.items() if key[1]]
    return driver_rows(spark, pa.Table.from_batches(audit.of_groups(named), to_arrow_schema(_OUTPUTS)), _OUTPUTS)


def _by_group(tables: Mapping[str, DataFrame]) -> DataFrame:
    """Bring all rows of each group together: a row per group, with a list of rows for each table."""
    rows = [
        of_table.where("group_id <> ''").select(*_KEYS, F.struct(*_COLUMNS[name]).alias(name))
        for name, of_table in tables.items()
    ]
    united = rows[0]
    for more in rows[1:]:
        united = united.unionByName(more, allowMissingColumns=True)
    return united.groupBy(*_KEYS).agg(*[F.collect_list(name).alias(name) for name in tables])


def _summed_up(tables: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """Return the tables of partitions as rows of groups."""
    found = {
        REJECTS.name: _counted_rejects(tables[REJECTS.name]),
        TOPIC_OWNERS: _topics_on_one_host(tables[MEMBERS.name]),
    }
    if EXPIRING_OFFSETS.name in tables:
        found[EXPIRING_OFFSETS.name] = (
            tables[EXPIRING_OFFSETS.name]
            .groupBy(*_KEYS)
            .agg(F.count("*").alias("partitions"), F.min("expires_at_ms").alias("first_expires_at_ms"))
        )
    if OFFSETS.name in tables:
        found[OFFSETS.name] = tables[OFFSETS.name].groupBy(*_KEYS).agg(F.count("*").alias("partitions"))
        found[COMMITS] = _commits(tables[MEMBERS.name], tables[OFFSETS.name])
    return found


def _counted_rejects(rejects: DataFrame) -> DataFrame:
    """Return the number of rejected rows of each group by their table, with a reason."""
    counted = rejects.where((F.col("table") != _ABOUT_CLIENTS) & F.col("group_id").isNotNull())
    return counted.groupBy(*_KEYS, "table").agg(F.count("*").alias("rows"), F.min("reason").alias("reason"))


def _topics_on_one_host(members: DataFrame) -> DataFrame:
    """Return the topics of which several members on one host own all partitions that are owned now."""
    hosts = F.count_distinct("host")
    return (
        members.select(*_KEYS, "member_id", "host", F.inline("owned"))
        .groupBy(*_KEYS, "topic")
        .agg(
            hosts.alias("hosts"),
            F.min("host").alias("host"),
            F.count_if(F.coalesce("host", F.lit("")) == "").alias("unknown"),
            F.count_distinct("member_id").alias("owners"),
            F.count_distinct("partition").alias("partitions"),
        )
        .where("hosts = 1 AND unknown = 0 AND owners > 1")
    )


def _commits(members: DataFrame, offsets: DataFrame) -> DataFrame:
    """Return the latest commit of each member that has lag, in the partitions that it owns.

    Both times of commits and log end offsets have to be known.
    """
    lag = F.when(F.col("end") > F.col("committed"), F.col("end") - F.col("committed"))
    commits = offsets.select(*_KEYS, "topic", "partition", "committed_at_ms", lag.alias("lag"))
    return (
        members.select(*_KEYS, "member_id", F.inline("owned"))
        .join(commits, [*_KEYS, "topic", "partition"])
        .groupBy(*_KEYS, "member_id")
        .agg(F.max("committed_at_ms").alias("committed_at_ms"), F.sum("lag").alias("lag"))
        .where("committed_at_ms IS NOT NULL AND lag IS NOT NULL")
    )


def _topic_facts(topics: DataFrame, offsets: DataFrame | None) -> TopicFacts:
    without_leader = F.size("unavailable")
    lost = F.when(without_leader > 0, F.struct("topic", without_leader.alias("partitions")))
    facts = topics.groupBy("cluster").agg(
        F.collect_list(lost).alias("lost"), F.count_if(F.col("racks").isNotNull()).alias("with_racks")
    )
    rows = facts.collect()
    commits = [] if offsets is None else offsets.groupBy("cluster").agg(F.max("committed_at_ms")).collect()
    return TopicFacts(
        {(row["cluster"], topic): partitions for row in rows for topic, partitions in row["lost"]},
        frozenset(row["cluster"] for row in rows if row["with_racks"]),
        {cluster: latest_ms for cluster, latest_ms in commits if latest_ms is not None},
    )


def _partitions(topics: DataFrame, of: Collection[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return the number of partitions of these topics."""
    rows = topics.select("cluster", "topic", "partitions").collect()
    return {(row["cluster"], row["topic"]): row["partitions"] for row in rows if (row["cluster"], row["topic"]) in of}


@dataclass(frozen=True)
class _Audit:
    """An audit of groups, in Spark's workers."""

    clusters: Clusters
    thresholds: Thresholds
    topics: TopicFacts
    scenario: str

    def batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Audit batches of groups; return batches with a column for each table."""
        for batch in batches:
            yield from self.of_groups(batch.to_pylist())

    def of_groups(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[pa.RecordBatch]:
        """Audit groups that are given with a list of rows for each table."""
        groups = [self._group(row) for row in rows]
        found = [(group, self._findings(group)) for group in groups]
        yield _as_outcome(FINDINGS.name, [_row(group, *each) for group, several in found for each in several])
        yield _as_outcome(VERDICTS.name, [self._verdict(group, several) for group, several in found])

    def _group(self, row: Mapping[str, Any]) -> Group:
        cluster = row["cluster"]
        rows = {name: row.get(name) or () for name in _COLUMNS}
        return Group(cluster, row["group_id"], rows, self.clusters.of(cluster), self.topics, self.scenario)

    def _verdict(self, group: Group, found: Sequence[tuple[str, Finding]]) -> dict[str, Any]:
        """Return a row of ``verdicts``."""
        return _verdict(group, found) | {"impossible_settings": impossible_settings(group, self.thresholds)}

    def _findings(self, group: Group) -> list[tuple[str, Finding]]:
        """Return the findings with their families: the worst first, and those about the present state first."""
        is_service = group.kind.kind in SERVICES
        families = {name: of for name, of in FAMILIES.items() if is_service or name not in _OF_SERVICES}
        found = [(name, each) for name, of in families.items() for each in of.findings(group, self.thresholds)]
        return sorted(found, key=lambda each: _rank(each[1]))


def _rank(finding: Finding) -> tuple[int, bool]:
    return list(Severity).index(finding.kind.severity), finding.scenario is not None


def _row(group: Group, family: str, finding: Finding) -> dict[str, Any]:
    """Return a row of ``findings``."""
    return {
        "cluster": group.cluster,
        "group_id": group.group_id,
        "members": group.accepted,
        "family": family,
        "kind": finding.kind.name,
        "severity": finding.kind.severity,
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
    if PROTOCOL in finding.settings and group.migration.assumes:
        said = f"{said} Applies only if the members of uncertain library use {group.migration.assumes}."
    prefix = SETTINGS_PREFIX.get(group.kind.kind)
    if prefix is not None:
        said = f"{said} In the connector's configuration, these settings begin with {prefix}"
    return said.strip() or None


def confidence_of(group: Group, family: str, kind: Kind) -> Confidence:
    """Return what a finding rests on, unless it says so itself."""
    assumes_lists = family in _OF_LISTS and group.protocols_assumed
    assumes_leader = family in _OF_LIBRARIES and (
        group.assumes_libraries or not group.protocols_assumed <= SHOW_ELECTED
    )
    return Confidence.ASSUMED if group.rejected or assumes_lists or assumes_leader else kind.confidence


def _verdict(group: Group, found: Sequence[tuple[str, Finding]]) -> dict[str, Any]:
    """Return a row of ``verdicts``, without ``impossible_settings``."""
    findings = [finding for _, finding in found]
    severities = Counter(finding.kind.severity for finding in findings)
    found_migration, costs = group.migration, group.migration_costs
    return {
        "cluster": group.cluster,
        "group_id": group.group_id,
        "type": group.type,
        "members": group.accepted,
        "partitions": group.balance["partitions"] if group.balance else None,
        "lag": group.total_lag,
        "severity": findings[0].kind.severity if findings else None,
        **{f"{severity}s": severities[severity] for severity in Severity},
        "kind": findings[0].kind.name if findings else None,
        "group_kind": group.kind.kind,
        "group_kind_evidence": group.kind.evidence or None,
        "teams": group.teams or None,
        "workloads": _entries(group.workloads) or None,
        "hosts": group.hosts,
        "settings": _entries(as_configured(group.kind.kind, recommended_settings(findings))) or None,
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


def _as_outcome(name: str, rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    return as_outcome(name, pa.array(rows, to_arrow_type(_OUTPUTS[name].dataType)), _OUTPUTS)
