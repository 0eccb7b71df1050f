"""Audits: what is wrong with each group, what to do about it, and whether it can migrate to the consumer protocol.

The tables and their columns are described in ``rebalance_sim.tables``; docs/audit.md lists the kinds of findings.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypedDict, Unpack

from pyspark.sql import DataFrame, Row

from rebalance_sim.api.groups import clusters_of, custom_names, prediction
from rebalance_sim.api.records import PlacedRecords
from rebalance_sim.api.simulation import SimulationOptions, lag_costs_in_order, simulations_of
from rebalance_sim.defaults import SCENARIO
from rebalance_sim.engine.audit.connect_facts import PLAYED, ConnectInputs, restarts_of_workers
from rebalance_sim.engine.audit.facts import group_facts, topic_facts
from rebalance_sim.engine.audit.group import LAG_TREND, LAST_HOUR
from rebalance_sim.engine.audit.group_audit import GroupAudit
from rebalance_sim.engine.audit.judgement import Judgement, verdicts_in_order
from rebalance_sim.engine.audit.past import last_hours
from rebalance_sim.engine.audit.streams_facts import ASSIGNED, StreamsInputs
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.engine.groups.group_outcomes import GroupOutcomes
from rebalance_sim.engine.groups.lag import lag_balance, partition_lag, topic_lag
from rebalance_sim.engine.groups.lag_trends import lag_trends
from rebalance_sim.engine.groups.offset_expiry import expiring_offsets
from rebalance_sim.engine.groups.prediction import ELECTED, OF_LIBRARY
from rebalance_sim.engine.runs.session_runs import check_tables
from rebalance_sim.engine.simulation.group_timings import GroupTimings
from rebalance_sim.engine.simulation.rows import FirstSteps
from rebalance_sim.engine.simulation.streams_groups import StreamsRollouts
from rebalance_sim.engine.simulation.variations import Variation, variations
from rebalance_sim.engine.spark.caching import cached
from rebalance_sim.engine.spark.driver_rows import collected, in_driver, no_rows, where_in
from rebalance_sim.engine.tables.inputs import fit, fit_offsets, fit_topics, rejected, union, usable
from rebalance_sim.engine.tables.outcomes import Transformation, outcome, with_rows
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors import assignors_of
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.kafka.simulation.latencies import assumed_latencies
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.releases import NEWEST
from rebalance_sim.sources.connect.stored_workers import connectors_that_run
from rebalance_sim.sources.scenarios import scenario_of
from rebalance_sim.tables import (
    ADVICE,
    BALANCE,
    COMPARISON,
    CONNECTORS,
    COSTS,
    ELECTIONS,
    EXPIRING_OFFSETS,
    FINDINGS,
    GENERATIONS,
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
    STREAMS_MEMBERS,
    SUBTOPOLOGIES,
    TIMELINE,
    TIMINGS,
    TOPIC_LAG,
    TOPICS,
    TOPICS_AFTER,
    TOPICS_AT_RISK,
    VERDICTS,
    WORKERS,
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
    earlier_offsets: DataFrame
    """Offsets of the same groups at an earlier time: adds findings about lag that is old or grows. Needs offsets."""
    elapsed_ms: int
    """The time from the earlier offsets to ``offsets``."""
    listed_groups: DataFrame
    """Groups that the cluster lists, of any type: adds those that no other table shows."""
    rejects: DataFrame
    """Rows of groups that were rejected before: groups whose members are all among them are audited as unknown."""
    history: Mapping[str, DataFrame]
    """The tables of a history, by name: ``generations`` says why groups rebalanced repeatedly, ``prevention`` what
    would have prevented it. A page also shows ``backtest``."""
    read_at_ms: int
    """When the groups were read from brokers, as Unix time: rebalances of the history an hour before are past."""
    timings: DataFrame
    """How long past rebalances took (``timings``): what they show of a group is used in place of what is assumed."""
    partitions_after: DataFrame
    """Topics that are to grow, with their new partitions: adds findings about the keys that move. Needs records."""
    workers: DataFrame
    """Workers of Connect clusters: adds findings about their connectors and tasks."""
    connectors: DataFrame
    """The configured connectors of these clusters; those that run by default. Needs workers."""
    streams_members: DataFrame
    """Members of applications of Kafka Streams: adds findings about their tasks."""
    subtopologies: DataFrame
    """The subtopologies of these applications: without them, only what members have now is judged."""


def audit(
    members: DataFrame, topics: DataFrame, offsets: DataFrame | None = None, **options: Unpack[AuditOptions]
) -> "AuditOutcomes":
    """Audit every group, and return ``findings`` and ``verdicts`` beside the tables that they rest on, computed once.

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
    return Audit(members, topics, offsets, **options).outcomes()


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


def connect_inputs(workers: DataFrame, connectors: DataFrame | None) -> ConnectInputs:
    """Return the workers and connectors of Connect clusters; without connectors, those that run."""
    fitted = fit(workers, WORKERS)
    if connectors is not None:
        return ConnectInputs(fitted, fit(connectors, CONNECTORS), are_configured=True)
    return ConnectInputs(fitted, fit(connectors_that_run(usable(fitted)), CONNECTORS), are_configured=False)


def streams_inputs(members: DataFrame, subtopologies: DataFrame | None) -> StreamsInputs:
    """Return the members and subtopologies of applications of Kafka Streams."""
    given = no_rows(members.sparkSession, SUBTOPOLOGIES.schema) if subtopologies is None else subtopologies
    return StreamsInputs(fit(members, STREAMS_MEMBERS), fit(given, SUBTOPOLOGIES))


def _as_it_is(rows: DataFrame) -> Transformation:
    return lambda _: rows


PREDICTED = (ELECTIONS.name, BALANCE.name)
"""Tables of the prediction of the present state."""
SIMULATED = (COSTS.name, ADVICE.name, MIGRATION_COSTS.name)
"""Tables of the simulated scenario and migration; with offsets, also ``lag_costs``."""
ROLLED_OUT = (COSTS.name, ADVICE.name)
"""Those that also have rows of streams groups."""


class Audit:
    """An audit of a fleet: every group is predicted, simulated and judged in one pass."""

    def __init__(
        self, members: DataFrame, topics: DataFrame, offsets: DataFrame | None, **options: Unpack[AuditOptions]
    ) -> None:
        """Take the tables as they are given, and the options of ``audit``."""
        self.members, self.topics, self.offsets = members, topics, offsets
        self.clusters = clusters_of(options.get("kafka_version", NEWEST))
        self.is_release_given = "kafka_version" in options
        """Whether the release of the brokers is known; if not, the newest is assumed."""
        self._seed, self._assignors = options.get("seed", 0), tuple(options.get("assignors", ()))
        self._thresholds = options.get("thresholds", Thresholds())
        self.scenario = scenario_of(options.get("scenario", SCENARIO))
        """The scenario that is simulated."""
        records = options.get("records")
        self.placed = None if records is None else PlacedRecords(topics, records)
        """The records beside the topics they are sent to; None without records."""
        self.history = options.get("history", {})
        """The tables of a history, by name; empty without one."""
        if self.history:
            check_tables("history", self.history)
        if self.history and GENERATIONS.name not in self.history:
            raise UserError(f"history: there is no table {GENERATIONS.name}")
        self._read_at_ms = options.get("read_at_ms", 0)
        after = options.get("partitions_after")
        if after is not None and records is None:
            raise UserError("partitions_after: needs records, whose keys may move")
        self.fitted_after = None if after is None else fit_topics(after, TOPICS_AFTER)
        """The topics that are to grow; None if none are."""
        listed = options.get("listed_groups")
        self.fitted_listed = None if listed is None else fit(listed, LISTED_GROUPS)
        """The groups that the cluster lists; None without a list."""
        self.fitted_offsets = None if offsets is None else fit_offsets(offsets)
        """The offsets; None without offsets."""
        timings = options.get("timings")
        self.fitted_timings = None if timings is None else fit(timings, TIMINGS)
        """How long past rebalances took; None without timings."""
        workers, connectors = options.get("workers"), options.get("connectors")
        if connectors is not None and workers is None:
            raise UserError("connectors: needs workers, which run them")
        self.connect = None if workers is None else connect_inputs(workers, connectors)
        """Workers and connectors of Connect clusters; None without workers."""
        streams = options.get("streams_members")
        if streams is None and "subtopologies" in options:
            raise UserError("subtopologies: needs streams_members, which have their tasks")
        self.streams = None if streams is None else streams_inputs(streams, options.get("subtopologies"))
        """Members and subtopologies of applications of Kafka Streams; None without members."""
        self._earlier = options.get("rejects")
        self._earlier_offsets, self._elapsed_ms = options.get("earlier_offsets"), options.get("elapsed_ms", 0)
        if self._earlier_offsets is not None and (offsets is None or self._elapsed_ms <= 0):
            raise UserError("earlier_offsets: needs offsets, and elapsed_ms above 0 from one to the other")

    @cached_property
    def rejects_beside(self) -> list[DataFrame]:
        """The rejected rows of all tables but members and topics."""
        topics = [] if self.fitted_after is None else [rejected(self.fitted_after, TOPICS_AFTER)]
        records = [] if self.placed is None else [self.placed.rejected_records]
        timings = [] if self.fitted_timings is None else [rejected(self.fitted_timings, TIMINGS)]
        return [*self._rejects_of_groups, *topics, *records, *timings]

    @cached_property
    def _rejects_of_groups(self) -> list[DataFrame]:
        """Those that name groups."""
        fitted = {OFFSETS: self.fitted_offsets, LISTED_GROUPS: self.fitted_listed}
        if self.connect is not None:
            fitted |= {WORKERS: self.connect.workers, CONNECTORS: self.connect.connectors}
        if self.streams is not None:
            fitted |= {STREAMS_MEMBERS: self.streams.members, SUBTOPOLOGIES: self.streams.subtopologies}
        return [rejected(rows, table) for table, rows in fitted.items() if rows is not None]

    def outcomes(self, stage: Callable[[DataFrame, str], DataFrame] = lambda rows, _: cached(rows)) -> "AuditOutcomes":
        """Return what is predicted and simulated of every group, and the findings and verdicts.

        ``stage`` keeps rows that are read several times, by name: the partition of each record, and the lag of topics.
        """
        members = fit(self.members, MEMBERS)
        beside, played = self._tables_beside(usable(members), stage), self._played(stage)
        of_topics = topic_facts(beside, self._topics_in_driver)
        facts = replace(of_topics, elapsed_ms=self._elapsed_ms, read_at_ms=self._read_at_ms)
        assumed_ms = assumed_latencies(self.scenario)
        audit = self._audit(
            Judgement(self.clusters, self._thresholds, facts, self.scenario.name, assumed_ms, self.seen)
        )
        derived: dict[str, Transformation] = {VERDICTS.name: verdicts_in_order}
        if self.offsets is not None:
            derived |= {LAG_COSTS.name: lag_costs_in_order, LAG_BALANCE.name: lag_balance}
            derived[TOPIC_LAG.name] = lambda _: beside[TOPIC_LAG.name]
        derived |= {name: _as_it_is(played[name]) for name in (*PLAYED, *ASSIGNED) if name in played}
        derived |= {name: with_rows(name, played[name]) for name in ROLLED_OUT if name in played}
        found = AuditOutcomes(
            audit.plan(members, group_facts(beside | self._facts_of_tasks(played))),
            dict.fromkeys([*audit.outputs, *derived]),
            derived,
            {MEMBERS: members, TOPICS: fit_topics(self.topics)},
            self._metadata.topics.num_rows,
        )
        found.rules = self
        return found

    def _tables_beside(self, members: DataFrame, stage: Callable[[DataFrame, str], DataFrame]) -> dict[str, DataFrame]:
        """Return the tables beside members that findings are about, and usable members."""
        found = {MEMBERS.name: members}
        if self.fitted_offsets is not None:
            found[OFFSETS.name] = usable(self.fitted_offsets)
            found[TOPIC_LAG.name] = stage(topic_lag(found[OFFSETS.name]), TOPIC_LAG.name)
            found[EXPIRING_OFFSETS.name] = expiring_offsets(
                found[OFFSETS.name], members, self.clusters.others.rules(), None
            )
            if self._earlier_offsets is not None:
                earlier, limits = usable(fit_offsets(self._earlier_offsets)), self._thresholds
                found[LAG_TREND] = lag_trends(found[OFFSETS.name], earlier, limits.lag_records, limits.growth_share)
        if self.fitted_listed is not None:
            found[LISTED_GROUPS.name] = usable(self.fitted_listed)
        rejects = [*self._rejects_of_groups, *([] if self._earlier is None else [self._earlier])]
        if rejects:
            found[REJECTS.name] = union(rejects)
        if self.history:
            found[LAST_HOUR] = last_hours(self.history)
        if self.placed is not None:
            found[RECORD_PARTITIONS.name] = stage(self.placed.record_partitions(), RECORD_PARTITIONS.name)
            found[TOPICS_AT_RISK.name] = self.placed.topics_at_risk(found[RECORD_PARTITIONS.name])
        if self.placed is not None and self.fitted_after is not None:
            after = usable(self.fitted_after)
            counts = self.placed.key_counts(found[RECORD_PARTITIONS.name], after)
            found[PARTITION_GROWTH.name] = self.placed.growth(counts, after)
        return found

    def _played(self, stage: Callable[[DataFrame, str], DataFrame]) -> dict[str, DataFrame]:
        """Return what is played and predicted of groups that share tasks, by name."""
        found: dict[str, DataFrame] = {}
        if self.connect is not None:
            found |= self.connect.played(restarts_of_workers(self.scenario), self.clusters, self._seed, stage)
        if self.streams is not None:
            found |= self.streams.predicted(self._topics_in_driver, self.clusters, stage)
            rollouts = replace(self._streams_rollouts, outputs=ROLLED_OUT)
            found |= self.streams.rolled_out(rollouts, self._topics_in_driver, stage)
        return found

    def _facts_of_tasks(self, played: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
        """Return the rows about groups that share tasks."""
        connect = {} if self.connect is None else self.connect.facts(played, restarts_of_workers(self.scenario))
        return connect | ({} if self.streams is None else self.streams.facts(played))

    def _audit(self, judgement: Judgement) -> GroupAudit:
        """Return what is computed of every group."""
        version = self.clusters.others.rules()
        named = (*assignors_of(version), *custom_names(self._assignors, version), OF_LIBRARY)
        assigned = () if self.offsets is None else (LAST_ASSIGNMENTS.name,)
        now, others = (
            replace(prediction(tables, None, strategies, self.clusters, self._assignors), metadata=self._metadata)
            for tables, strategies in (
                ((*PREDICTED, REJECTS.name, *assigned), (ELECTED,)),
                ((COMPARISON.name, *assigned), named),
            )
        )
        options: SimulationOptions = {
            "kafka_version": self.clusters, "seed": self._seed, "assignors": self._assignors
        }  # fmt: skip
        simulated = SIMULATED if self.offsets is None else (*SIMULATED, LAG_COSTS.name)
        simulations = simulations_of(simulated, self.scenario, self._metadata, (ELECTED,), options)
        is_small = self.members.count() <= self._thresholds.ranges_up_to_members
        simulations = replace(simulations, pays=None if is_small else self._thresholds.pays, timings=self.seen)
        return GroupAudit(now, others, simulations, judgement)

    @property
    def _streams_rollouts(self) -> StreamsRollouts:
        """How the rollouts of streams groups are simulated."""
        return StreamsRollouts(self.clusters, self.scenario, self._seed)

    def members_of(self, groups: Collection[str]) -> DataFrame:
        """Return the usable members of a few groups, in the driver, where the rules then run."""
        return in_driver(where_in(usable(fit(self.members, MEMBERS)), "group_id", groups))

    def partition_lags(self, groups: Collection[str], topics: Collection[str]) -> list[Row]:
        """Return the lag of each partition of some groups and topics, as ``partition_lag``; none without offsets."""
        if self.fitted_offsets is None:
            return []
        chosen = where_in(where_in(usable(self.fitted_offsets), "group_id", groups), "topic", topics)
        return collected(partition_lag(chosen))

    def assignments(self, members: DataFrame, strategies: Sequence[str]) -> list[Row]:
        """Predict who owns what of the members of some groups: ``last_assignments`` now and under assignors."""
        rows: list[Row] = []
        for names in ((ELECTED,), *([tuple(strategies)] if strategies else [])):
            rules = prediction((LAST_ASSIGNMENTS.name,), None, names, self.clusters, self._assignors)
            rows += collected(replace(rules, metadata=self._metadata)(members))
        return rows

    def timeline(self, members: DataFrame, setting: tuple[str, str] | None, first: FirstSteps) -> DataFrame:
        """Simulate the scenario for the members of some groups, and return the first steps of their timelines.

        ``setting`` is a name and value that the audit's advice has; None for the groups' own settings.
        """
        tried = {(each.setting, each.value): each for each in self._variations}
        played = tried[setting] if setting else None
        scenario, strategy = (played.scenario, played.strategy) if played else (self.scenario, None)
        options: SimulationOptions = {
            "kafka_version": self.clusters, "seed": self._seed, "assignors": self._assignors
        }  # fmt: skip
        rules = simulations_of((TIMELINE.name,), scenario, self._metadata, (strategy or ELECTED,), options)
        rules = replace(rules, followed=None, timings=self.seen, first_steps=first)
        return rules(members).transform(outcome(TIMELINE.name))

    def streams_timeline(self, groups: Collection[str], setting: tuple[str, str] | None) -> DataFrame | None:
        """Simulate the scenario for some streams groups, step by step; None without members of such groups.

        ``setting`` is ``WITHOUT_DELAY``, or None for the groups' own settings.
        """
        if self.streams is None:
            return None
        rollouts = self._streams_rollouts.without_delay() if setting else self._streams_rollouts
        rollouts = replace(rollouts, followed=None, outputs=(TIMELINE.name,))
        chosen = self.streams.of_groups(groups)
        return chosen.rolled_out(rollouts, self._topics_in_driver, lambda rows, _: rows)[TIMELINE.name]

    @cached_property
    def seen(self) -> GroupTimings | None:
        """What past rebalances show of groups; None without timings."""
        return None if self.fitted_timings is None else GroupTimings.of(usable(self.fitted_timings), self.scenario)

    @cached_property
    def _variations(self) -> Sequence[Variation]:
        return variations(self.scenario, self.clusters.others.rules().simulated)

    @cached_property
    def _topics_in_driver(self) -> DataFrame:
        """The usable topics, in the driver."""
        return in_driver(usable(fit_topics(self.topics)))

    @cached_property
    def _metadata(self) -> TopicMetadata:
        return TopicMetadata.of(self._topics_in_driver)


class AuditOutcomes(GroupOutcomes):
    """The tables of an audit, and the audit itself, with which a page shows more of a group than the tables have."""

    rules: Audit
