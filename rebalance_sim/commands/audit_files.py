"""Files beside the tables of an audit: a summary for a chat or a pull request, and figures for Prometheus."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.audit.finding import Severity
from rebalance_sim.engine.audit.fleet_verdict import fleet_verdict
from rebalance_sim.engine.audit.news import KINDS, OF_GROUPS, Change
from rebalance_sim.engine.audit.ranking import NAMED_GROUPS, RankedKind, mark_of, ranked_kinds
from rebalance_sim.engine.audit.since import Since
from rebalance_sim.engine.audit.unread import Unread
from rebalance_sim.wording import escaped, plural

SUMMARY, METRICS = "summary.md", "metrics.prom"
_SHOWN_KINDS, _SHOWN_GROUPS, _SHOWN_CHARACTERS = 5, 3, 300
_SPECIAL = re.compile(r"[\\`*_\[\]<>|~#&]")
"""Characters with a meaning in Markdown, wherever they are in a text."""


@dataclass(frozen=True)
class AuditFigures:
    """What the files are about."""

    kinds: Sequence[RankedKind]
    groups: int
    affected: int
    """Groups with errors or warnings."""
    lag: int | None
    """The lag of all groups; None if it is unknown."""
    unread: Unread
    since: Since | None
    started_at: str
    """When the audit began, in ISO 8601."""

    @classmethod
    def of(
        cls, findings: DataFrame, verdicts: DataFrame, unread: Unread, since: Since | None, started_at: str
    ) -> "AuditFigures":
        """Return the figures of the tables of an audit."""
        is_affected = (F.col("errors") > 0) | (F.col("warnings") > 0)
        ((groups, affected, lag),) = verdicts.agg(F.count("*"), F.count_if(is_affected), F.try_sum("lag")).collect()
        return cls(ranked_kinds(findings, NAMED_GROUPS), groups, affected, lag, unread, since, started_at)

    @property
    def verdict(self) -> str:
        """The verdict about the fleet, in one sentence."""
        found = {str(severity): sum(of.groups for of in self.kinds if of.severity is severity) for severity in Severity}
        return fleet_verdict(found, self.affected, self.groups, self.unread)


def summary(figures: AuditFigures, page: str) -> str:
    """Return the summary in Markdown; ``page`` is the path of the page, empty without one."""
    lines = [f"**{_text(figures.verdict)}**", ""]
    if figures.since is not None:
        lines += [*_news(figures.since), ""]
    severe = [of for of in figures.kinds if of.severity is not Severity.NOTE]
    for of in severe[:_SHOWN_KINDS]:
        lines += _finding(of)
    if len(severe) > _SHOWN_KINDS:
        lines.append(f"- and {plural(len(severe) - _SHOWN_KINDS, 'more kind')} of findings")
    if page:
        lines += ["", f"Page: {_code(page)}"]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines).strip()) + "\n"


def _news(since: Since) -> Iterator[str]:
    yield f"{_text(since.title[0].upper() + since.title[1:])}: {since.counts}"
    if since.changes:
        yield ""
    for changes in since.changes[:_SHOWN_KINDS]:
        severity = changes.severity or changes.severity_before
        about = "" if changes.change in OF_GROUPS else f" {severity}: {changes.kind}"
        yield f"- {changes.change}{about} ({changes.number:,})"
        for row in changes.first[:_SHOWN_GROUPS]:
            name = row["group_id"] if row["topic"] is None else row["topic"]
            yield f"  - {_code(row['cluster'] if name is None else name)}: {_text(row['description'])}"
    if len(since.changes) > _SHOWN_KINDS:
        yield f"- and {plural(len(since.changes) - _SHOWN_KINDS, 'more kind')} of changes"
    for sentence in since.not_compared:
        yield f"- not compared: {_text(sentence)}"


def _finding(of: RankedKind) -> Iterator[str]:
    yield f"- {of.severity}: {of.kind}: {plural(of.groups, 'group')}{_text(of.where)}"
    for row in of.first[:_SHOWN_GROUPS]:
        advice = f" → {_text(row['recommendation'])}" if row["recommendation"] else ""
        yield f"  - {_code(row['group_id'])}: {_text(row['description'])}{mark_of(row)}{advice}"
    if of.groups > _SHOWN_GROUPS:
        yield f"  - and {of.groups - _SHOWN_GROUPS:,} more"


def _text(text: str) -> str:
    r"""Return a text as it is shown, whatever characters it has; ``@`` as code, so that it mentions nobody.

    >>> _text("a_b <c>\n@all")
    'a\\_b \\<c\\>\\\\n`@`all'
    """
    return _SPECIAL.sub(r"\\\g<0>", _cut(escaped(text))).replace("@", "`@`")


def _code(text: str) -> str:
    """Return a name as code, between more backticks than it has in a row.

    >>> _code("orders"), _code("a`b")
    ('`orders`', '`` a`b ``')
    """
    shown = _cut(escaped(text))
    most = max(map(len, re.findall("`+", shown)), default=0)
    fence, space = "`" * (most + 1), " " if most or shown != shown.strip() or not shown else ""
    return f"{fence}{space}{shown}{space}{fence}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"


Samples = Sequence[tuple[Mapping[str, str], float]]
"""Values of a metric by their labels."""


def metrics(figures: AuditFigures) -> str:
    """Return figures in Prometheus' text format: no label names a group, so that the number of series is bounded."""
    found: Counter[tuple[str, str]] = Counter()
    for of in figures.kinds:
        found[of.severity, of.kind] += of.groups
    known = {(str(kind.severity), kind.name) for kind in KINDS.values()} | found.keys()
    started = datetime.fromisoformat(figures.started_at).timestamp()
    written: list[tuple[str, str, Samples]] = [
        ("start_time_seconds", "Start of the audit, as Unix time.", [({}, started)]),
        ("groups", "Groups that were audited.", [({}, figures.groups)]),
        ("groups_affected", "Groups with errors or warnings.", [({}, figures.affected)]),
        ("groups_unread", "Groups of which no member could be read.", [({}, figures.unread.groups)]),
        ("rejected_rows", "Rows of the inputs that could not be used.", [({}, figures.unread.rows)]),
        (
            "findings",
            "Findings by severity and kind.",
            [({"severity": severity, "kind": kind}, found[severity, kind]) for severity, kind in sorted(known)],
        ),
    ]
    if figures.lag is not None:
        written.append(("lag_records", "Lag of all groups, in records.", [({}, figures.lag)]))
    if figures.since is not None:
        written.append(("news", "Changes since the earlier audit, by severity.", _changes(figures.since)))
    return "".join(_metric(f"rebalance_sim_{name}", about, samples) for name, about, samples in written)


def _changes(since: Since) -> Samples:
    """Return the number of changes; those of groups and settings have the severity ``none``."""
    numbers: Counter[tuple[str, str]] = Counter()
    for of in since.changes:
        numbers[of.change, _severity_label(of.change, of.severity or of.severity_before)] += of.number
    series = [(change, severity) for change in Change for severity in _severities(change)]
    return [({"change": change, "severity": severity}, numbers[change, severity]) for change, severity in series]


def _severities(change: Change) -> Sequence[str]:
    return ("none",) if change in OF_GROUPS else tuple(map(str, Severity))


def _severity_label(change: Change, severity: str | None) -> str:
    return "none" if change in OF_GROUPS or severity is None else severity


def _metric(name: str, about: str, samples: Samples) -> str:
    lines = [f"# HELP {name} {about}", f"# TYPE {name} gauge"]
    return "\n".join([*lines, *(f"{name}{_labels(labels)} {value:.15g}" for labels, value in samples)]) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    r"""Return labels, with their values escaped.

    >>> _labels({"kind": 'a"\n'})
    '{kind="a\\"\\n"}'
    """
    escapes = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
    quoted = (f'{name}="{value.translate(escapes)}"' for name, value in labels.items())
    return f"{{{','.join(quoted)}}}" if labels else ""
