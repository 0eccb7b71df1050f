"""The top of the page of an audit: what was audited, and the verdict in one sentence."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import functions as F

from rebalance_sim.defaults import SCENARIO
from rebalance_sim.engine.audit.fleet_verdict import fleet_verdict
from rebalance_sim.engine.runs.assumed import assumed_of_clients, is_release_assumed
from rebalance_sim.releases import NEWEST_TESTED, untested
from rebalance_sim.report.audits.actions import Findings
from rebalance_sim.report.audits.audited_run import AuditedRun
from rebalance_sim.report.audits.group_rows import GroupRow
from rebalance_sim.report.text import count, cut, printable
from rebalance_sim.tables import CLUSTERS, MEMBERS, TOPICS, VERDICTS

_NAMED_CLUSTERS, _CLUSTER_CHARACTERS = 3, 24


@dataclass(frozen=True)
class Top:
    """The top of the page."""

    facts: tuple[tuple[str, str], ...]
    """Titles and values."""
    sentence: str


def top(audited: AuditedRun, findings: Findings, rows: Sequence[GroupRow]) -> Top:
    """Return the top of an audit; ``rows`` are the groups that the page lists."""
    groups, affected = _clusters(rows) if len(rows) == audited.groups else _counted_clusters(audited)
    record = audited.run.record
    used = record["rows"].get("used", {})
    facts = [
        (
            "cluster" if len(groups) == 1 else "clusters",
            _listed(sorted(groups, key=lambda name: (-groups[name], name))),
        ),
        ("groups", count(audited.groups)),
        *((name, count(used[name])) for name in (MEMBERS.name, TOPICS.name) if name in used),
        ("Kafka release", _releases(audited)),
        *assumed_of_clients(map(str, record["assumptions"])),
        ("simulated rollout", _scenario(audited)),
        *_times(audited),
    ]
    return Top(tuple(facts), fleet_verdict(findings.numbers, affected, audited.groups, audited.unread))


def _clusters(rows: Sequence[GroupRow]) -> tuple[Mapping[str, int], int]:
    """Return the number of groups of each cluster, and the number of groups with errors or warnings."""
    return Counter(row.cluster for row in rows), sum(any(row.counts[:2]) for row in rows)


def _counted_clusters(audited: AuditedRun) -> tuple[Mapping[str, int], int]:
    """Return the same of all groups, when the page lists only some."""
    clusters = (
        audited.run.table(VERDICTS)
        .groupBy("cluster")
        .agg(
            F.count("*").alias("groups"), F.count_if((F.col("errors") > 0) | (F.col("warnings") > 0)).alias("affected")
        )
    )
    found = clusters.collect()
    return {row["cluster"]: row["groups"] for row in found}, sum(row["affected"] for row in found)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED_CLUSTERS:,} more" if len(names) > _NAMED_CLUSTERS else ""
    return ", ".join(cut(printable(name), _CLUSTER_CHARACTERS) for name in names[:_NAMED_CLUSTERS]) + more


def _releases(audited: AuditedRun) -> str:
    """Return the release whose rules apply, marked if it is assumed or has the rules of another one."""
    options, assumptions = audited.run.record["options"], audited.run.record["assumptions"]
    release = str(options.get("kafka_version") or "")
    if not release:
        return "unknown"
    marks = [
        *(["assumed"] if is_release_assumed(release, assumptions) else []),
        *([f"not tested: rules of {NEWEST_TESTED}"] if untested(release) in assumptions else []),
    ]
    marked = f"{release} ({', '.join(marks)})" if marks else release
    return f"as in clusters, else {marked}" if options.get(CLUSTERS.name) else marked


def _scenario(audited: AuditedRun) -> str:
    return cut(printable(str(audited.run.record["options"].get("scenario") or SCENARIO)), _CLUSTER_CHARACTERS)


def _times(audited: AuditedRun) -> list[tuple[str, str]]:
    """Return when the fleet was audited and, if an earlier run read it from its source, when that was."""
    read = audited.fleet.run.record if audited.fleet else {}
    times = {read.get("started"): "fleet read", audited.run.record.get("started"): "audited"}
    return [(name, f"{text[:19].replace('T', ' ')} UTC") for text, name in times.items() if text]
