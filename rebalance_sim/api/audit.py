"""Audits: what is wrong with each group, what to do about it, and whether it can migrate to the consumer protocol.

The tables and their columns are described in ``rebalance_sim.tables``; docs/audit.md lists the kinds of findings.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypedDict, Unpack

from pyspark.sql import DataFrame, Row

from rebalance_sim.api.groups import clusters_of, custom_names, predict, prediction
from rebalance_sim.api.lag import lag_tables, topic_lag
from rebalance_sim.api.records import PlacedRecords
from rebalance_sim.api.simulation import SimulationOptions, simulate, simulations_of
from rebalance_sim.defaults import SCENARIO
from rebalance_sim.engine.audit.audits import audited
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.engine.groups.group_outcomes import GroupOutcomes
from rebalance_sim.engine.groups.offset_expiry import expiring_offsets
from rebalance_sim.engine.groups.prediction import ELECTED, OF_LIBRARY
from rebalance_sim.engine.simulation.variations import Variation, variations
from rebalance_sim.engine.spark.driver_rows import collected, in_driver, where_in
from rebalance_sim.engine.tables.inputs import fit, fit_offsets, fit_topics, usable
from rebalance_sim.engine.tables.outcomes import Outcomes, Transformation, outcome
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors import assignors_of
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.releases import NEWEST
from rebalance_sim.sources.scenarios import scenario_of
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
    LAST_ASSIGNMENTS,
    LISTED_GROUPS,
    MEMBERS,
    MIGRATION_COSTS,
    OFFSETS,
    PARTITION_GROWTH,
    RECORD_PARTITIONS,
    REJECTS,
    TIMELINE,
    TOPIC_LAG,
    TOPICS_AFTER,
    TOPICS_AT_RISK,
    VERDICTS,
)


class AuditOptions(TypedDict, total=False):
    """Options of an audit."""

    kafka_version: str | Clusters
    """Release of the brokers and of the Java clients, or those of each cluster; the newest by default."""
    seed: int
    """Of the simulation's random numbers; 0 by default."""
    assignors: Sequence[ConsumerPartitionAssignor]
    """The user's own assignors, which groups may elect."""
    thresholds: Thresholds
    """From when something is worth a finding."""
    scenario: str | Scenario
    """The rollout that is simulated: a name, a file or a ``Scenario``; a rolling restart by default."""
    records: DataFrame
    """Records of the topics, which add findings about keys."""
    listed_groups: DataFrame
    """Groups that the cluster lists, of any type: adds those that no other table shows."""
    partitions_after: DataFrame
    """Topics that are to grow, with their new partitions: adds findings about the keys that move. Needs records."""


def audit(
    members: DataFrame, topics: DataFrame, offsets: DataFrame | None = None, **options: Unpack[AuditOptions]
) -> Outcomes:
    """Audit every group, and return ``findings`` and ``verdicts``, which are computed once.

    Each group is elected and assigned as it is, under every assignor of the Kafka version, in a simulated rolling
    restart with its own settings and with others, and in a simulated migration. ``offsets`` add
    findings about lag and about groups without members, ``records`` (an option) about keys.
    Findings with a ``scenario`` are results of a hypothetical scenario; the others are about the present state.

    Raises UserError for an unknown version, for an assignor that cannot be used, and for a table without a required
    column.

    >>> audited = audit(members, topics)
    >>> audited.findings.where("severity = 'warning'").select("group_id", "kind", "confidence").show()
    +--------+------------+----------+
    |group_id|        kind|confidence|
    +--------+------------+----------+
    |   group|election-tie|   certain|
    +--------+------------+----------+
    <BLANKLINE>
    >>> audited.verdicts.select("group_id", "severity", "kind", "migration", "migration_assumes").show()
    +--------+--------+------------+---------+-----------------+
    |group_id|severity|        kind|migration|migration_assumes|
    +--------+--------+------------+---------+-----------------+
    |   group| warning|election-tie|   online|             java|
    +--------+--------+------------+---------+-----------------+
    <BLANKLINE>
    """
    rules = Audit(members, topics, offsets, **options)
    now, others, rolled_out = rules.now(), rules.others(), rules.rolled_out()
    tables = {name: now[name] for name in (*PREDICTED, REJECTS.name)} | {name: others[name] for name in COMPARED}
    tables |= rolled_out
    if offsets is not None:
        assigned = all_assignments(now.last_assignments, others.last_assignments)
        tables[LAG_BALANCE.name] = lag_tables(assigned, offsets, members).lag_balance
        tables[TOPIC_LAG.name] = topic_lag(offsets)
    return rules.outcomes(tables)


def findings(topics: DataFrame, offsets: DataFrame | None = None, **options: Unpack[AuditOptions]) -> Transformation:
    """From members to what is wrong with each group, and what to do about it: ``audit(...).findings``.

    >>> members.transform(findings(topics)).where("scenario IS NULL").select("kind", "severity", "description").show()
    +------------+--------+--------------------+
    |        kind|severity|         description|
    +------------+--------+--------------------+
    |election-tie| warning|range and roundro...|
    +------------+--------+--------------------+
    <BLANKLINE>
    """
    return lambda members: audit(members, topics, offsets, **options)[FINDINGS.name]


def verdicts(topics: DataFrame, offsets: DataFrame | None = None, **options: Unpack[AuditOptions]) -> Transformation:
    """From members to the verdict about each group: ``audit(...).verdicts``.

    >>> judged = members.transform(verdicts(topics, kafka_version="3.9"))
    >>> judged.select("group_id", "migration", "migration_reason").show(truncate=False)
    +--------+---------+----------------------------------------------------------+
    |group_id|migration|migration_reason                                          |
    +--------+---------+----------------------------------------------------------+
    |group   |no       |the brokers run Kafka 3.9; the consumer protocol needs 4.0|
    +--------+---------+----------------------------------------------------------+
    <BLANKLINE>
    """
    return lambda members: audit(members, topics, offsets, **options)[VERDICTS.name]


PREDICTED = (ELECTIONS.name, BALANCE.name)
"""Tables of the prediction of the present state."""
COMPARED = (COMPARISON.name,)
"""Tables of the prediction under every assignor."""
_SIMULATED = (COSTS.name, ADVICE.name, MIGRATION_COSTS.name)
"""Tables of the simulated scenario and migration; with offsets, also ``lag_costs``."""


def all_assignments(now: DataFrame, others: DataFrame) -> DataFrame:
    """Return the assignments of the present state and of other strategies, each strategy of a group once."""
    keys = ["cluster", "group_id", "strategy"]
    return others.unionByName(now.join(others.select(*keys).distinct(), keys, "left_anti"))


class Audit:
    """An audit of a fleet, in steps: three runs over all groups, and findings from their tables."""

    def __init__(
        self, members: DataFrame, topics: DataFrame, offsets: DataFrame | None, **options: Unpack[AuditOptions]
    ) -> None:
        """Take the tables as they are given, and the options of ``audit``."""
        self.members, self.topics, self.offsets = members, topics, offsets
        self.clusters = clusters_of(options.get("kafka_version", NEWEST))
        self._seed, self._assignors = options.get("seed", 0), tuple(options.get("assignors", ()))
        self._thresholds = options.get("thresholds", Thresholds())
        self.scenario = scenario_of(options.get("scenario", SCENARIO))
        """The scenario that is simulated."""
        records = options.get("records")
        self.placed = None if records is None else PlacedRecords(topics, records)
        """The records beside the topics they are sent to; None without records."""
        after = options.get("partitions_after")
        if after is not None and records is None:
            raise UserError("partitions_after: needs records, whose keys may move")
        self.fitted_after = None if after is None else fit_topics(after, TOPICS_AFTER)
        """The topics that are to grow; None if none are."""
        listed = options.get("listed_groups")
        self.fitted_listed = None if listed is None else fit(listed, LISTED_GROUPS)
        """The groups that the cluster lists; None without a list."""
        self._assigned = () if offsets is None else (LAST_ASSIGNMENTS.name,)

    def now(self) -> GroupOutcomes:
        """Predict the present state: ``PREDICTED``, rejects and, for lag, last assignments."""
        return self._predicted((ELECTED,), (*PREDICTED, *self._assigned, REJECTS.name))

    def others(self) -> GroupOutcomes:
        """Predict the groups under every assignor of Java and of their own library: ``COMPARED``.

        For lag, also predict the last assignments.
        """
        version = self.clusters.others.rules()
        named = (*assignors_of(version), *custom_names(self._assignors, version), OF_LIBRARY)
        return self._predicted(named, (*COMPARED, *self._assigned))

    def rolled_out(self) -> GroupOutcomes:
        """Simulate the scenario, with the groups' own settings and others, and a migration."""
        return simulate(
            self.members,
            self.topics,
            self.scenario,
            advice=True,
            kafka_version=self.clusters,
            seed=self._seed,
            assignors=self._assignors,
            tables=_SIMULATED if self.offsets is None else (*_SIMULATED, LAG_COSTS.name),
            offsets=self.offsets,
        )

    def outcomes(
        self,
        tables: Mapping[str, DataFrame],
        stage: Callable[[DataFrame, str], DataFrame] = lambda rows, _: rows.persist(),
    ) -> Outcomes:
        """Return the findings and verdicts that follow from the tables of the three runs, by name.

        Rejects may have rows that were rejected before: groups whose members are all among them are audited as unknown.
        ``stage`` keeps rows that are read several times, by name: the partition of each record.
        """
        members = usable(fit(self.members, MEMBERS))
        found = {**tables, MEMBERS.name: members}
        if self.offsets is not None:
            found[OFFSETS.name] = usable(fit_offsets(self.offsets))
            found[EXPIRING_OFFSETS.name] = expiring_offsets(
                found[OFFSETS.name], members, self.clusters.others.rules(), None
            )
        if self.fitted_listed is not None:
            found[LISTED_GROUPS.name] = usable(self.fitted_listed)
        if self.placed is not None:
            found[RECORD_PARTITIONS.name] = stage(self.placed.record_partitions(), RECORD_PARTITIONS.name)
            found[TOPICS_AT_RISK.name] = self.placed.topics_at_risk(found[RECORD_PARTITIONS.name])
        if self.placed is not None and self.fitted_after is not None:
            after = usable(self.fitted_after)
            counts = self.placed.key_counts(found[RECORD_PARTITIONS.name], after)
            found[PARTITION_GROWTH.name] = self.placed.growth(counts, after)
        return audited(found, usable(fit_topics(self.topics)), self.clusters, self._thresholds, self.scenario.name)

    def members_of(self, groups: Collection[str]) -> DataFrame:
        """Return the usable members of a few groups, in the driver, where the rules then run."""
        return in_driver(where_in(usable(fit(self.members, MEMBERS)), "group_id", groups))

    def assignments(self, members: DataFrame, strategies: Sequence[str]) -> list[Row]:
        """Predict who owns what of the members of some groups: ``last_assignments`` now and under assignors."""
        rows: list[Row] = []
        for names in ((ELECTED,), *([tuple(strategies)] if strategies else [])):
            rules = prediction((LAST_ASSIGNMENTS.name,), self._topics_in_driver, names, self.clusters, self._assignors)
            rows += collected(rules(members))
        return rows

    def timeline(self, members: DataFrame, setting: tuple[str, str] | None) -> DataFrame:
        """Simulate the scenario for the members of some groups, step by step.

        ``setting`` is a name and value that the audit's advice has; None for the groups' own settings.
        """
        tried = {(each.setting, each.value): each for each in self._variations}
        played = tried[setting] if setting else None
        scenario, strategy = (played.scenario, played.strategy) if played else (self.scenario, None)
        options: SimulationOptions = {
            "kafka_version": self.clusters, "seed": self._seed, "assignors": self._assignors
        }  # fmt: skip
        rules = simulations_of((TIMELINE.name,), scenario, self._topics_in_driver, (strategy or ELECTED,), options)
        return replace(rules, followed=None)(members).transform(outcome(TIMELINE.name))

    @cached_property
    def _variations(self) -> Sequence[Variation]:
        return variations(self.scenario, self.clusters.others.rules().simulated)

    @cached_property
    def _topics_in_driver(self) -> DataFrame:
        """The usable topics, in the driver."""
        return in_driver(usable(fit_topics(self.topics)))

    def _predicted(self, strategies: Sequence[str], tables: Sequence[str]) -> GroupOutcomes:
        return predict(self.members, self.topics, strategies, self.clusters, self._assignors, tables)
