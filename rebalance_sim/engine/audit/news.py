"""What changed between two audits: findings, groups, and settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.audit.finding import Confidence, Harm, Kind, Severity
from rebalance_sim.engine.audit.judgement import FAMILIES
from rebalance_sim.engine.audit.lags import GROWS
from rebalance_sim.engine.audit.ranking import ASSUMED, place_of
from rebalance_sim.engine.audit.risks import NOT_DESCRIBED, REJECTED, UNREAD
from rebalance_sim.engine.audit.settings_in_use import ELECTED
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.engine.spark.driver_rows import collected, once
from rebalance_sim.tables import LISTED_GROUPS, NEWS, OFFSETS
from rebalance_sim.wording import plural_of


class Change(StrEnum):
    """What happened since the earlier audit."""

    UNREAD = "unread"
    """A group cannot be read any more: nothing about it is resolved."""
    NEW = "new"
    WORSE = "worse"
    APPEARED = "appeared"
    VANISHED = "vanished"
    CHANGED = "changed"
    """Settings of a group, a topic or the brokers."""
    BETTER = "better"
    RESOLVED = "resolved"


OF_GROUPS = (Change.APPEARED, Change.VANISHED, Change.CHANGED)
"""Changes without a finding."""
HARMFUL = (Change.UNREAD, Change.NEW, Change.WORSE, Change.APPEARED)
"""Changes that ``--fail-on-new`` counts, if their severity is high enough."""
KINDS: Mapping[str, Kind] = {kind.name: kind for family in FAMILIES.values() for kind in family.kinds}
SIMULATED = frozenset(kind.name for kind in KINDS.values() if kind.confidence is Confidence.SIMULATED)
_HIDING = (UNREAD.name, NOT_DESCRIBED.name, REJECTED.name)
"""Kinds of findings about a group of which rows could not be read: what else was found may have been in those."""
_GROUP = ["cluster", "group_id"]
_KIND = ("change", "kind", "severity", "severity_before")
_NAMED = 5
"""Topics that a description names."""


@dataclass(frozen=True)
class Compared:
    """What two audits can be compared by; the rest is in one of them only."""

    inputs: frozenset[str] = frozenset()
    """Tables that only one of them read."""
    rollouts: bool = True
    """Whether both simulated the same rollout."""
    brokers: bool = True
    """Whether both know the release of the brokers."""
    rates: bool = False
    """Whether this audit knows how lag has changed since the earlier one."""

    @property
    def kinds(self) -> list[str]:
        """The kinds of findings whose changes are news."""
        left_out = (frozenset() if self.rollouts else SIMULATED) | (frozenset() if self.rates else {GROWS.name})
        return [
            name for name, of in KINDS.items() if of.is_news and of.needs not in self.inputs and name not in left_out
        ]

    @property
    def has_same_groups(self) -> bool:
        """Whether groups without members are in both: only offsets and the list of groups show these."""
        return self.inputs.isdisjoint({OFFSETS.name, LISTED_GROUPS.name})


@dataclass(frozen=True)
class Audited:
    """The tables of an audit that are compared; columns that an older version did not write are null."""

    findings: DataFrame
    verdicts: DataFrame


def news(now: Audited, before: Audited, compared: Compared, thresholds: Thresholds) -> DataFrame:
    """Compare two audits, and return ``news``.

    What happens by itself is no news: rebalances, new member ids, another leader. A simulation draws random member ids,
    so that its result counts as changed only if the group's settings or topics have, or its number of members by a lot.
    """
    groups = _groups(now, before, thresholds.news_share)
    rows = [
        _findings(now, before, groups, compared, thresholds.news_share),
        _appeared_and_vanished(groups, compared),
        _settings(groups),
        _grown_topics(now, before),
        *([_brokers(now, before)] if compared.brokers else []),
    ]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), rows).transform(_ranked)


def _groups(now: Audited, before: Audited, news_share: float) -> DataFrame:
    """Return a row per group of either audit: what both know of it, and what happened to it."""
    joined = _known_group(now, "now").join(_known_group(before, "before"), _GROUP, "full_outer")
    is_now, is_before = F.col("now").isNotNull(), F.col("before").isNotNull()
    has_members, had_members = (F.coalesce(F.col(f"{when}.members") > 0, F.lit(False)) for when in ("now", "before"))
    is_hidden, was_hidden = (F.coalesce(f"hidden_{when}", F.lit(False)) for when in ("now", "before"))
    has_settings = F.col("now.settings_in_use").isNotNull() & F.col("before.settings_in_use").isNotNull()
    members, members_before = F.col("now.members"), F.col("before.members")
    is_resized = (members >= members_before * (1 + news_share)) | (members <= members_before * (1 - news_share))
    return joined.withColumns(
        {
            "appeared": is_now & ~is_before,
            "vanished": is_before & ~is_now,
            # Of these, only errors and warnings are new: notes come with every group.
            "begins": ~is_before | (has_members & ~had_members) | (was_hidden & ~is_hidden),
            # Of these, no finding is resolved: nothing shows whether it is.
            "ends": ~is_now | (had_members & ~has_members) | is_hidden,
            "altered": has_settings & ~is_hidden & (is_resized | (_configured("now") != _configured("before"))),
        }
    )


def _known_group(audit: Audited, when: str) -> DataFrame:
    """Return what an audit knows of each group, and whether rows of it could not be read."""
    columns = ("members", "severity", "harm", "settings_in_use", "topic_partitions")
    hidden = audit.findings.where(F.col("kind").isin(*_HIDING)).select(*_GROUP).distinct()
    verdicts = audit.verdicts.select(*_GROUP, F.struct(*columns).alias(when))
    return verdicts.join(hidden.withColumn(f"hidden_{when}", F.lit(True)), _GROUP, "left")


def _configured(when: str) -> Column:
    """Return the settings and topics of a group; maps cannot be compared."""
    return F.struct(
        *(F.array_sort(F.map_entries(f"{when}.{name}")) for name in ("settings_in_use", "topic_partitions"))
    )


def _findings(now: Audited, before: Audited, groups: DataFrame, compared: Compared, news_share: float) -> DataFrame:
    """Return the findings that only one audit has, and those of both that are worse or better now."""
    joined = (
        _known_findings(now, "found", compared)
        .join(_known_findings(before, "earlier", compared), [*_GROUP, "matter"], "full_outer")
        .join(groups.select(*_GROUP, "begins", "ends", "altered"), _GROUP)
    )
    kind = F.coalesce("found.kind", "earlier.kind")
    was = F.concat(F.lit("before: "), _marked("earlier"))
    return (
        joined.withColumn("change", _change(news_share))
        .where(F.col("change").isNotNull())
        # A group that begins has no earlier simulation to compare with.
        .where(~kind.isin(*SIMULATED) | F.col("altered") | F.col("begins"))
        .select(
            "change",
            *_GROUP,
            kind.alias("kind"),
            *(F.coalesce(f"found.{name}", f"earlier.{name}").alias(name) for name in ("scenario", "harm", "members")),
            F.col("found.severity").alias("severity"),
            F.col("earlier.severity").alias("severity_before"),
            F.concat_ws("; ", _marked("found"), was).alias("description"),
        )
    )


def _marked(name: str) -> Column:
    """Return the description of a finding, marked if it rests on inputs that are missing."""
    is_assumed = F.coalesce(F.col(f"{name}.confidence") == Confidence.ASSUMED, F.lit(False))
    return F.concat(F.col(f"{name}.description"), F.when(is_assumed, ASSUMED).otherwise(""))


def _known_findings(audit: Audited, name: str, compared: Compared) -> DataFrame:
    """Return the findings of an audit whose changes are news, by group and by what they are about."""
    figure = F.try_element_at("figures", _by_kind({each.name: each.decisive for each in KINDS.values()}))
    matter = _by_kind({each.name: each.matter for each in KINDS.values() if each.matter})
    columns = ("kind", "scenario", "severity", "harm", "description", "members", "confidence")
    return audit.findings.where(F.col("kind").isin(*compared.kinds)).select(
        *_GROUP,
        F.coalesce(matter, F.concat_ws(" ", "kind", "scenario")).alias("matter"),
        F.struct(*columns, figure.alias("figure")).alias(name),
    )


def _change(news_share: float) -> Column:
    """Return what happened to a finding; null if nothing worth a line did."""
    severity, kind, figure, before = map(F.col, ("found.severity", "found.kind", "found.figure", "earlier.figure"))
    place, place_before = (place_of(F.col(f"{name}.severity"), Severity) for name in ("found", "earlier"))
    is_usual = F.col("begins") & (severity == Severity.NOTE)
    return (
        F.when(
            F.col("earlier").isNull(),
            F.when(kind == UNREAD.name, Change.UNREAD.value).when(~is_usual, Change.NEW.value),
        )
        .when(F.col("found").isNull(), F.when(~F.col("ends"), Change.RESOLVED.value))
        .when(place < place_before, Change.WORSE.value)
        .when(place > place_before, Change.BETTER.value)
        .when(figure >= before * (1 + news_share), F.when(figure > 0, Change.WORSE.value))
        .when(figure <= before * (1 - news_share), Change.BETTER.value)
    )


def _by_kind(values: Mapping[str, str]) -> Column:
    """Return what a mapping has for the kind of a finding; null for other kinds."""
    return F.try_element_at(F.create_map(*(F.lit(text) for pair in values.items() for text in pair)), F.col("kind"))


def _appeared_and_vanished(groups: DataFrame, compared: Compared) -> DataFrame:
    """Return the groups that only one audit has."""
    of = F.coalesce("now", "before")
    members = F.coalesce(_plural(of["members"], "member"), F.lit("members unknown"))
    what = F.concat_ws(", ", members, F.try_element_at(of["settings_in_use"], F.lit(ELECTED)))
    begin = F.when(F.col("appeared"), "new group: ").otherwise("the group is not there any more; before: ")
    rows = groups.where("appeared OR vanished")
    if not compared.has_same_groups:
        rows = rows.where(of["members"] > 0)
    return rows.select(
        F.when(F.col("appeared"), Change.APPEARED.value).otherwise(Change.VANISHED.value).alias("change"),
        *_GROUP,
        F.col("now.severity").alias("severity"),
        F.col("before.severity").alias("severity_before"),
        F.col("now.harm").alias("harm"),
        F.concat(begin, what).alias("description"),
        of["members"].alias("members"),
    )


def _plural(number: Column, noun: str) -> Column:
    return F.concat(F.format_number(number, 0), F.when(number == 1, f" {noun}").otherwise(f" {noun}s"))


def _settings(groups: DataFrame) -> DataFrame:
    """Return the groups whose settings or topics differ: what only one of the audits knows is not compared."""
    names = F.filter(F.array_sort(F.map_keys("now.settings_in_use")), _differs)
    topics, topics_before = F.map_keys("now.topic_partitions"), F.map_keys("before.topic_partitions")
    texts = F.concat(
        F.transform(names, _setting),
        _listed("subscribes to ", F.array_except(topics, topics_before)),
        _listed("no longer subscribes to ", F.array_except(topics_before, topics)),
    )
    known = groups.where("now.settings_in_use IS NOT NULL AND before.settings_in_use IS NOT NULL")
    described = known.withColumn("texts", texts).where("size(texts) > 0")
    return described.select(
        F.lit(Change.CHANGED.value).alias("change"),
        *_GROUP,
        F.col("now.members").alias("members"),
        F.array_join("texts", "; ").alias("description"),
    )


def _values(name: Column) -> tuple[Column, Column]:
    """Return the value of a setting in both audits; null if it is unknown."""
    now, before = (F.try_element_at(f"{when}.settings_in_use", name) for when in ("now", "before"))
    return now, before


def _differs(name: Column) -> Column:
    now, before = _values(name)
    return F.coalesce(now != before, F.lit(False))


def _setting(name: Column) -> Column:
    now, before = _values(name)
    return F.concat(name, F.lit(": "), now, F.lit(" (before "), before, F.lit(")"))


def _listed(what: str, names: Column) -> Column:
    """Return a list with one text about some names, the first of them; an empty list if there are none."""
    some = F.coalesce(F.array_sort(names), F.array().cast("array<string>"))
    more = F.when(
        F.size(some) > _NAMED, F.concat(F.lit(" and "), F.format_number(F.size(some) - _NAMED, 0), F.lit(" more"))
    ).otherwise("")
    text = F.concat(F.lit(what), F.array_join(F.slice(some, 1, _NAMED), ", "), more)
    return F.when(F.size(some) > 0, F.array(text)).otherwise(F.array().cast("array<string>"))


def _grown_topics(now: Audited, before: Audited) -> DataFrame:
    """Return the topics whose number of partitions has changed, once for all groups that subscribe to them."""

    def known(audit: Audited, name: str) -> DataFrame:
        topics = audit.verdicts.select("cluster", F.explode("topic_partitions").alias("topic", name))
        return topics.groupBy("cluster", "topic").agg(F.max(name).alias(name), F.count("*").alias(f"{name}_groups"))

    description = F.concat(
        _plural(F.col("now"), "partition"),
        F.lit(", before "),
        F.format_number("before", 0),
        F.lit("; subscribed by "),
        _plural(F.col("now_groups"), "group"),
    )
    both = known(now, "now").join(known(before, "before"), ["cluster", "topic"]).where("now != before")
    return both.select(
        F.lit(Change.CHANGED.value).alias("change"), "cluster", "topic", description.alias("description")
    )


def _brokers(now: Audited, before: Audited) -> DataFrame:
    """Return the clusters whose brokers have another release or other settings."""

    def known(audit: Audited, name: str) -> DataFrame:
        return audit.verdicts.groupBy("cluster").agg(F.max("brokers").alias(name))

    both = known(now, "now").join(known(before, "before"), "cluster").where("now != before")
    description = F.concat(F.lit("brokers: "), "now", F.lit(", before "), "before")
    return both.select(F.lit(Change.CHANGED.value).alias("change"), "cluster", description.alias("description"))


def _ranked(rows: DataFrame) -> DataFrame:
    """Set the rank of each change."""
    worst = F.least(*(place_of(F.col(name), Severity) for name in ("severity", "severity_before")))
    is_note = worst == list(Severity).index(Severity.NOTE) + 1
    place = (
        F.when(F.col("change").isin(*OF_GROUPS), 2)
        .when(is_note, 3)
        .when(F.col("change").isin(Change.BETTER, Change.RESOLVED), 1)
        .otherwise(0)
    )
    identity = ("cluster", "group_id", "topic", "kind", "scenario", "change")
    order = (
        *(place, place_of(F.col("harm"), Harm), worst, place_of(F.col("change"), Change)),
        *(F.desc_nulls_last("members"), *(F.asc_nulls_first(name) for name in identity)),
    )
    ranked = rows.withColumn("rank", F.row_number().over(Window.orderBy(*order)))
    return ranked.select(*(F.col(of.name).cast(of.dataType) for of in NEWS.schema))


@dataclass(frozen=True)
class RankedNews:
    """Changes of one kind: their number, and the first of them."""

    change: Change
    kind: str | None
    """The kind of finding; None for a change of a group or of settings."""
    severity: str | None
    severity_before: str | None
    number: int
    first: tuple[Any, ...]
    """Rows of ``news``."""

    @property
    def is_bad(self) -> bool:
        """Whether it is nothing that is better or over."""
        return self.change not in (Change.BETTER, Change.RESOLVED)

    @property
    def noun(self) -> str:
        """What is counted."""
        return plural_of(self.number, "change" if self.change is Change.CHANGED else "group")


def ranked_news(rows: DataFrame, shown: int) -> list[RankedNews]:
    """Return the kinds of changes, the worst first, each with up to ``shown`` rows of ``news``."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in collected(_first_of_kinds(rows, shown)):
        found.setdefault(tuple(row[name] for name in _KIND), []).append(row)
    return [
        RankedNews(Change(change), kind, severity, before, first[0]["number"], tuple(first))
        for (change, kind, severity, before), first in found.items()
    ]


@once
def _first_of_kinds(rows: DataFrame, shown: int) -> DataFrame:
    """Return the first changes of each kind, with the number of all of the kind."""
    kind = Window.partitionBy(*_KIND)
    numbered = rows.withColumns({"place": F.row_number().over(kind.orderBy("rank")), "number": F.count("*").over(kind)})
    return numbered.where(F.col("place") <= shown).orderBy("rank")


def is_new_at(changes: Sequence[RankedNews], severity: Severity) -> bool:
    """Return whether something is new, worse or appeared that is at least this severe."""
    counted = list(Severity)[: list(Severity).index(severity) + 1]
    return any(each.change in HARMFUL and each.severity in counted for each in changes)
