"""What changed since an earlier audit, in words: for the console, the page and the files beside it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rebalance_sim.engine.audit.news import Change, Compared, RankedNews, ranked_news
from rebalance_sim.engine.audit.ranking import NAMED_GROUPS
from rebalance_sim.engine.runs.assumed import is_release_assumed
from rebalance_sim.engine.runs.earlier_audits import PREVIOUS
from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.tables import NEWS
from rebalance_sim.wording import plural

Record = Mapping[str, Any]
"""The record of a run."""
_NOUNS = {
    Change.UNREAD: ("group unread", "groups unread"),
    Change.APPEARED: ("group appeared", "groups appeared"),
    Change.VANISHED: ("group vanished", "groups vanished"),
    Change.CHANGED: ("change of settings", "changes of settings"),
}
_IN_WORDS = (Change.UNREAD, Change.NEW, Change.WORSE, Change.BETTER, Change.RESOLVED)


@dataclass(frozen=True)
class Since:
    """What changed since an earlier audit."""

    folder: str
    """Its folder."""
    audited: str
    """When it began."""
    not_compared: tuple[str, ...]
    """What cannot be compared, as sentences."""
    changes: tuple[RankedNews, ...]

    @classmethod
    def of(cls, run: FinishedRun) -> "Since | None":
        """Read what an audit has stored of its comparison; None if it was not compared."""
        previous = run.record.get(PREVIOUS)
        if not previous or NEWS.name not in run.written:
            return None
        changes = tuple(ranked_news(run.table(NEWS), NAMED_GROUPS)) if run.rows(NEWS) else ()
        return cls(previous["folder"], previous["audited"], tuple(previous["not_compared"]), changes)

    @property
    def title(self) -> str:
        """Since when."""
        return f"since the audit of {self.audited}"

    @property
    def counts(self) -> str:
        """The number of changes in words: findings, groups and settings.

        >>> new = RankedNews(Change.NEW, "idle-members", "warning", None, 2, ())
        >>> Since("a", "2026-11-28 02:00 UTC", (), (new, RankedNews(Change.VANISHED, None, None, "note", 1, ()))).counts
        '2 new, 1 group vanished'
        >>> Since("a", "2026-11-28 02:00 UTC", (), ()).counts
        'nothing new'
        """
        numbers: Counter[Change] = Counter()
        for each in self.changes:
            numbers[each.change] += each.number
        order = [*_IN_WORDS, *(change for change in Change if change not in _IN_WORDS)]
        return ", ".join(_counted(change, numbers[change]) for change in order if numbers[change]) or "nothing new"


def _counted(change: Change, number: int) -> str:
    return plural(number, *_NOUNS[change]) if change in _NOUNS else f"{number:,} {change}"


def started(record: Record) -> str:
    """Return when a run began.

    >>> started({"started": "2026-11-28T02:00:07+00:00"})
    '2026-11-28 02:00 UTC'
    """
    return f"{record['started'][:16].replace('T', ' ')} UTC"


def comparable(now: Record, before: Record, has_settings: bool) -> tuple[Compared, tuple[str, ...]]:
    """Return by what the audits of two records can be compared, and what cannot be compared, as sentences.

    ``has_settings`` says whether the earlier audit stored the settings in use.
    """
    read, read_before = (set(record["rows"].get("in", {})) for record in (now, before))
    played = [[record["options"].get(name) or "" for name in ("scenario", "settings")] for record in (now, before)]
    scenario, scenario_before = (" ".join(filter(None, each)) for each in played)
    release, release_before = (_release(record) for record in (now, before))
    version, version_before = (record["versions"].get("rebalance-sim") for record in (now, before))
    sentences = [
        *(f"findings that need {name}: only this audit read them" for name in sorted(read - read_before)),
        *(f"findings that need {name}: only the earlier audit read them" for name in sorted(read_before - read)),
        *([f"rollouts: the earlier audit simulated {scenario_before}"] if scenario != scenario_before else []),
        *([] if has_settings else ["settings, topics and rollouts: the earlier audit did not store its settings"]),
        *(["the release of the brokers: one of the audits assumed it"] if None in {release, release_before}
          and release != release_before else []),
        *([f"the rules: the earlier audit has those of version {version_before} of this program"]
          if version != version_before else []),
        *(["thresholds: the earlier audit had others"]
          if now["options"].get("thresholds") != before["options"].get("thresholds") else []),
    ]  # fmt: skip
    is_known = None not in {release, release_before}
    return Compared(frozenset(read ^ read_before), scenario == scenario_before, is_known), tuple(sentences)


def elapsed_ms(now: Record, before: Record) -> int:
    """Return the time between two readings of brokers; 0 if it is unknown: a capture or a table may be of any age."""
    if not all(record["options"].get("bootstrap_servers") for record in (now, before)):
        return 0
    elapsed = datetime.fromisoformat(now["started"]) - datetime.fromisoformat(before["started"])
    return max(round(elapsed.total_seconds() * 1000), 0)


def read_at_ms(record: Record) -> int:
    """Return when a run read brokers, as Unix time; 0 if it did not.

    >>> read_at_ms({"options": {"bootstrap_servers": "host:9092"}, "started": "1970-01-01T00:00:07+00:00"})
    7000
    """
    is_of_brokers = record["options"].get("bootstrap_servers")
    return round(datetime.fromisoformat(record["started"]).timestamp() * 1000) if is_of_brokers else 0


def _release(record: Record) -> str | None:
    """Return what says the release of the brokers; None if it is assumed."""
    release = str(record["options"].get("kafka_version"))
    return None if is_release_assumed(release, record["assumptions"]) else release
