"""The top of the page of an audit: what was audited, and the verdict in one sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import functions as F

from rebalance_sim.report.audits.actions import Findings
from rebalance_sim.report.audits.audited_run import AuditedRun
from rebalance_sim.report.text import count, cut, printable
from rebalance_sim.tables import CLUSTERS, MEMBERS, TOPICS, VERDICTS
from rebalance_sim.wording import plural

_NAMED_CLUSTERS, _CLUSTER_CHARACTERS = 3, 24


@dataclass(frozen=True)
class Top:
    """The top of the page."""

    facts: tuple[tuple[str, str], ...]
    """Titles and values."""
    sentence: str


def top(audited: AuditedRun, findings: Findings) -> Top:
    """Return the top of an audit."""
    verdicts = audited.run.table(VERDICTS)
    clusters = verdicts.groupBy("cluster").agg(
        F.count("*").alias("groups"), F.count_if((F.col("errors") > 0) | (F.col("warnings") > 0)).alias("affected")
    )
    found = sorted(clusters.collect(), key=lambda row: (-row["groups"], row["cluster"]))
    affected = sum(row["affected"] for row in found)
    record = audited.run.record
    used = record["rows"].get("used", {})
    facts = [
        ("cluster" if len(found) == 1 else "clusters", _listed([row["cluster"] for row in found])),
        ("groups", count(audited.groups)),
        *((name, count(used[name])) for name in (MEMBERS.name, TOPICS.name) if name in used),
        ("Kafka release", _releases(audited)),
        *_times(audited),
    ]
    return Top(tuple(facts), _sentence(findings, affected, audited.groups))


def _sentence(findings: Findings, affected: int, groups: int) -> str:
    numbers = findings.numbers
    if not affected:
        return f"No errors and no warnings in {plural(groups, 'group')}."
    found = f"{plural(numbers['error'], 'error')} and {plural(numbers['warning'], 'warning')}"
    return f"{found} in {affected:,} of {plural(groups, 'group')}."


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED_CLUSTERS:,} more" if len(names) > _NAMED_CLUSTERS else ""
    return ", ".join(cut(printable(name), _CLUSTER_CHARACTERS) for name in names[:_NAMED_CLUSTERS]) + more


def _releases(audited: AuditedRun) -> str:
    options = audited.run.record["options"]
    return str(options.get("kafka_version") or "unknown") + (" and others" if options.get(CLUSTERS.name) else "")


def _times(audited: AuditedRun) -> list[tuple[str, str]]:
    started = audited.run.record.get("started")
    return [("audited", str(started).replace("T", " ").removesuffix("+00:00") + " UTC")] if started else []
