"""Simulates batches of groups in Spark's workers, and returns the rows of the output tables."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from rebalance_sim.engine.groups.batch_arrays import elect_protocols, refusals
from rebalance_sim.engine.groups.by_brokers import by_brokers
from rebalance_sim.engine.groups.group_batches import GroupBatch, collect_members
from rebalance_sim.engine.groups.group_plan import GroupPlan
from rebalance_sim.engine.groups.prediction import ELECTED
from rebalance_sim.engine.groups.prediction_rows import reject_rows
from rebalance_sim.engine.simulation.advice import RolloutCosts, advice_rows, may_pay
from rebalance_sim.engine.simulation.group_events import EventReader, collect_events, rejected_event_rows
from rebalance_sim.engine.simulation.group_seed import group_seed
from rebalance_sim.engine.simulation.group_timings import GroupTimings
from rebalance_sim.engine.simulation.lag_costs import LAGS, affected, collect_lag, lag_cost_rows
from rebalance_sim.engine.simulation.latency_ranges import Downtime, at_longest
from rebalance_sim.engine.simulation.migrations import migrating
from rebalance_sim.engine.simulation.partition_rows import owned_partition_rows, partition_cost_rows
from rebalance_sim.engine.simulation.pays import Pays
from rebalance_sim.engine.simulation.rows import (
    FirstSteps,
    SimulationResult,
    bounce_rows,
    cost_rows,
    rebalance_rows,
    timeline_rows,
)
from rebalance_sim.engine.simulation.share_groups import SimulatedShareGroups
from rebalance_sim.engine.simulation.simulation_batch import SimulationBatch
from rebalance_sim.engine.simulation.variations import Variation
from rebalance_sim.engine.tables.arrow import as_outcome
from rebalance_sim.engine.tables.topic_metadata import TopicIndex, TopicMetadata
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.assignors.resolved import Assignors
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.kafka.runtime.strings import Flags, Ints
from rebalance_sim.kafka.simulation.batch import NO_LIMIT
from rebalance_sim.kafka.simulation.group_events import GroupEvents
from rebalance_sim.kafka.simulation.latencies import with_range
from rebalance_sim.kafka.simulation.prepared import Conditions, PreparedGroups
from rebalance_sim.kafka.simulation.run import Run, simulate_groups, simulate_to_end
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.kafka.simulation.scenario_events import expand_scenario
from rebalance_sim.kafka.simulation.storms import Storms
from rebalance_sim.releases import KafkaVersion
from rebalance_sim.tables import (
    ADVICE,
    BOUNCES,
    COSTS,
    LAG_COSTS,
    MIGRATION_COSTS,
    OUTPUTS,
    OWNED_PARTITIONS,
    PARTITION_COSTS,
    REBALANCES,
    REJECTS,
    TIMELINE,
    struct,
)

_ROWS = {
    BOUNCES.name: bounce_rows,
    REBALANCES.name: rebalance_rows,
    OWNED_PARTITIONS.name: owned_partition_rows,
    PARTITION_COSTS.name: partition_cost_rows,
}
"""Functions that return the rows of each table of the scenario alone but costs and timelines."""
_SHARE_GROUPS = "share groups (KIP-932) are not followed event by event"
_MEMBERS_AT_A_TIME = 8_000
"""Members of groups that are simulated side by side: enough to call each assignor for many, few enough for caches."""
COLUMNS = (
    "join_order", "member_id", "instance_id", "client_id", "rack", "protocol_type", "protocols", "subscription",
    "owned", "generation", "session_timeout_ms", "rebalance_timeout_ms", "start_ms", "revoke_ms", "client_library",
)  # fmt: skip
"""Columns of the members table; ``user_data`` is added if there are assignors of the user's own."""


class _Play(NamedTuple):
    """How groups are simulated once."""

    strategy: str
    scenario: Scenario
    seed: int | None = None
    """None: that of the run."""

    @classmethod
    def of(cls, variation: Variation, strategy: str) -> "_Play":
        """Return a variation for groups with an assignor, which the variation may replace."""
        return cls(variation.strategy or strategy, variation.scenario)


@dataclass(frozen=True)
class Simulations:
    """What to simulate for every group."""

    outputs: tuple[str, ...]
    """Names of the output tables to fill."""
    clusters: Clusters
    strategies: tuple[str, ...]
    """Assignors that all consumers offer, or ELECTED: each consumer offers its own protocols."""
    metadata: TopicMetadata
    scenario: Scenario
    seed: int = 0
    followed: tuple[str, ...] | None = ()
    """Groups whose timeline is recorded; None: all."""
    storms: Storms = field(default_factory=Storms)
    variations: tuple[Variation, ...] = ()
    """Simulated besides the scenario itself, for ``advice``."""
    pays: Pays | None = None
    """The groups for which a variation pays are the only ones with ``at_longest``; None: all groups have it."""
    migration: Scenario | None = None
    """Simulated besides, for ``migration_costs``, of the groups that can migrate to the consumer protocol."""
    assignors: tuple[ConsumerPartitionAssignor, ...] = ()
    """The user's own assignors: strategies may name them and groups may elect them."""
    timings: GroupTimings | None = None
    """What the past of groups shows, in place of what the scenario assumes."""
    first_steps: FirstSteps | None = None
    """The only steps of timelines of groups of consumers that are wanted; None: all."""

    @property
    def columns(self) -> list[str]:
        """Columns of the members table that are needed."""
        return [*COLUMNS, "user_data"] if self.assignors else list(COLUMNS)

    @cached_property
    def resolved(self) -> Assignors:
        """The assignors that protocol names stand for, on clusters that are not named."""
        return replace(Assignors.of(self.clusters.others, self.assignors), version=self.version)

    @property
    def version(self) -> KafkaVersion:
        """The rules of brokers and clients, on clusters that are not named."""
        return self.clusters.others.rules().simulated

    @property
    def schema(self) -> StructType:
        """One struct column per table, of which each row sets exactly one."""
        return struct({name: OUTPUTS[name].schema for name in self.outputs})

    def __call__(self, members: DataFrame, events: DataFrame | None = None) -> DataFrame:
        """Simulate all groups of a members table, with the scenario and the events of an events table."""
        return self.plan(members, events).rows()

    def plan(self, members: DataFrame, events: DataFrame | None = None, lags: DataFrame | None = None) -> GroupPlan:
        """Return the plan for the groups of a members table and, if there is one, of an events table.

        ``lags`` are those of ``lag.partition_lag``, for ``lag_costs`` and ``advice``.
        """
        if events is None and lags is None:
            return GroupPlan.of_members(members, self.columns, self.simulate_batches, self.schema)
        groups = collect_members(members, self.columns)
        if events is not None:
            groups = groups.join(collect_events(events), ["cluster", "group_id"], "full_outer")
        if lags is not None:
            groups = groups.join(collect_lag(lags), ["cluster", "group_id"], "left")
        return GroupPlan(groups, self.simulate_batches, self.schema)

    def simulate_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Simulate the groups of one Spark partition."""
        for name, rows in self.tables(batches):
            if name in self.outputs and len(rows):
                yield as_outcome(name, rows, self.schema)

    def tables(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.StructArray]]:
        """Simulate batches of groups; yield rows of tables, also of some that are not asked for."""
        index = self.metadata.index()
        for brokers, groups in by_brokers(batches, self.clusters):
            simulations = replace(self, clusters=Clusters(brokers))
            for part in _parts(groups):
                yield from simulations._outcomes(part, index)

    def _outcomes(self, rows: pa.RecordBatch, index: TopicIndex) -> Iterator[tuple[str, pa.StructArray]]:
        shares = GroupBatch.of(rows).of_shares
        if shares.any():
            yield from self._outcomes_of_share_groups(rows.filter(pa.array(shares)), index)
            rows = rows.filter(pa.array(~shares))
        batch = self.read(rows, index)
        for rejects in batch.rejects:
            yield REJECTS.name, rejects
        for strategy in self.strategies if len(batch.batch.group_ids) else ():
            yield from self._simulate(batch, strategy)
        if self.migration is not None:
            yield from self._migrate(batch, self.migration)

    def _outcomes_of_share_groups(
        self, rows: pa.RecordBatch, index: TopicIndex
    ) -> Iterator[tuple[str, pa.StructArray]]:
        batch = self.read(rows, index, of_share_groups=True)
        for rejects in batch.rejects:
            yield REJECTS.name, rejects
        for strategy in self.strategies if len(batch.batch.group_ids) else ():
            seeds, followed, elects = self._seeds(batch, self.seed), self._followed(batch), strategy == ELECTED
            yield from SimulatedShareGroups(
                batch, self.version, self.scenario.settings, seeds, followed, elects, strategy
            ).tables()

    def read(self, rows: pa.RecordBatch, index: TopicIndex, *, of_share_groups: bool = False) -> SimulationBatch:
        """Read a batch of groups that ``collect_members`` and ``collect_events`` have nested.

        Groups that never have a consumer are left out: all rows about them are rejected. So are members of share
        groups, unless all groups of the batch are share groups.
        """
        elects = ELECTED in self.strategies
        batch, rejected = GroupBatch.of(rows).without_unusable_members(elects)
        if elects:
            batch, refused = batch.reject(refusals(elect_protocols(batch, self.version)))
            rejected += refused
        if not of_share_groups:
            sharing = np.flatnonzero(batch.shares).tolist()
            batch, rejected_sharing = batch.reject(dict.fromkeys(sharing, _SHARE_GROUPS))
            rejected += rejected_sharing
        rejects = [reject_rows(batch, rejected)] if rejected else []
        joining, events = expand_scenario(
            self.scenario,
            np.diff(batch.offsets),
            lambda group, place: batch.members[int(batch.offsets[group]) + place].as_py(),
        )
        if "events" in rows.schema.names:
            found = EventReader(batch, joining, events, index).read(rows.column("events"))
            joining, events = joining + found.joining, GroupEvents.joined([events, GroupEvents.of(found.events)])
            rejects.append(rejected_event_rows(batch, found.rejected))
        lags = rows.column(LAGS) if LAGS in rows.schema.names else None
        timings = None if self.timings is None else self.timings.of_groups(batch.clusters, batch.group_ids)
        return SimulationBatch(batch, joining, events, index, rejects, lags, timings).without_empty_groups()

    def _simulate(self, batch: SimulationBatch, strategy: str) -> Iterator[tuple[str, pa.StructArray]]:
        of_all_groups = [each for each in self.variations if each.changes is None]
        usual, *others = self._played(
            batch, [_Play(strategy, self.scenario), *(_Play.of(each, strategy) for each in of_all_groups)]
        )
        costs = self._costs(usual, strategy)
        yield COSTS.name, costs.rows
        if costs.lag is not None:
            yield LAG_COSTS.name, affected(costs.lag)
        for name, rows_of in _ROWS.items():
            if name in self.outputs:
                yield name, rows_of(usual, strategy)
        if TIMELINE.name in self.outputs:
            yield TIMELINE.name, timeline_rows(usual, strategy, self.first_steps)
        if self.variations:
            found = {each: self._costs(of, strategy) for each, of in zip(of_all_groups, others, strict=True)}
            for each in self.variations:
                if each.changes is not None:
                    found[each] = self._replayed(each, strategy, usual, costs, each.changes(usual))
            varied = [(each, found[each]) for each in self.variations]
            chosen = np.ones(len(costs.rows), np.bool_) if self.pays is None else may_pay(costs, varied, self.pays)
            yield ADVICE.name, advice_rows(costs, varied, self._at_longest(batch, strategy, chosen))

    def _at_longest(self, batch: SimulationBatch, strategy: str, chosen: Flags) -> dict[Variation, pa.ListArray]:
        """Return what other settings save the chosen groups at the ends of the ranges of what the scenario assumes."""
        ranges, tried = with_range(self.scenario), [each for each in self.variations if each.has_ranges]
        if not (chosen.any() and ranges and tried):
            return {}
        part = batch.of_groups(chosen)
        plays = [_Play(strategy, self.scenario), *(_Play.of(each, strategy) for each in tried)]
        # Another seed lets all heartbeats happen at other times.
        at_ends = [
            _Play(play.strategy, latency.at_longest(play.scenario), self.seed + latency.other_phase)
            for play in plays
            for latency in ranges
        ]
        found = [Downtime.of(result) for result in self._played(part, at_ends)]
        usual, *others = (found[first : first + len(ranges)] for first in range(0, len(found), len(ranges)))
        ends = [part.range_ends(each, self.scenario) for each in ranges]
        return {each: at_longest(ranges, ends, (usual, of), chosen) for each, of in zip(tried, others, strict=True)}

    def _replayed(
        self, variation: Variation, strategy: str, usual: SimulationResult, usual_costs: RolloutCosts, changed: Flags
    ) -> RolloutCosts:
        """Return what the scenario costs under another setting, which is simulated for the groups it may change."""
        if not changed.any():
            return usual_costs
        (result,) = self._played(usual.batch.of_groups(changed), [_Play.of(variation, strategy)])
        return usual_costs.replaced(changed, self._costs(result, strategy))

    def _costs(self, result: SimulationResult, strategy: str) -> RolloutCosts:
        lag = None if result.batch.lags is None else lag_cost_rows(result, strategy)
        return RolloutCosts(cost_rows(result, strategy, self.storms), lag)

    def _migrate(self, batch: SimulationBatch, migration: Scenario) -> Iterator[tuple[str, pa.StructArray]]:
        moving = migrating(batch, migration, self.version)
        if len(moving.batch.group_ids):
            (result,) = self._played(moving, [_Play(ELECTED, migration)])
            yield MIGRATION_COSTS.name, cost_rows(result, ELECTED, self.storms)

    def steps(
        self, batch: SimulationBatch, strategy: str, scenario: Scenario, events: int = NO_LIMIT
    ) -> Iterator[SimulationResult]:
        """Simulate groups; yield the result so far whenever some have processed this many events, and at the end."""
        run = self._run(batch, _Play(strategy, scenario), self._seeds(batch, self.seed))
        for (simulated,) in simulate_groups([run], events):
            yield SimulationResult(batch, run.prepared, *simulated)

    def _played(self, batch: SimulationBatch, plays: Sequence[_Play]) -> list[SimulationResult]:
        """Simulate groups under several conditions side by side, each to the end."""
        numbers = [self.seed if play.seed is None else play.seed for play in plays]
        seeds = {number: self._seeds(batch, number) for number in set(numbers)}
        runs = [self._run(batch, play, seeds[number]) for play, number in zip(plays, numbers, strict=True)]
        results = simulate_to_end(runs)
        return [SimulationResult(batch, run.prepared, *of) for run, of in zip(runs, results, strict=True)]

    def _run(self, batch: SimulationBatch, play: _Play, seeds: Ints) -> Run:
        conditions = Conditions(play.scenario, self.resolved, None if play.strategy == ELECTED else play.strategy)
        return Run(PreparedGroups(batch.groups, conditions), seeds, self._followed(batch))

    def _seeds(self, batch: SimulationBatch, seed: int) -> Ints:
        """Return the seeds of the groups' random numbers: functions of the group's name and the run's seed alone."""
        names = zip(batch.batch.clusters.to_pylist(), batch.batch.group_ids.to_pylist(), strict=True)
        return np.array([group_seed(seed, cluster, group) for cluster, group in names], np.int64)

    def _followed(self, batch: SimulationBatch) -> Flags:
        if self.followed is None:
            return np.ones(len(batch.batch.group_ids), np.bool_)
        return np.array([group in self.followed for group in batch.batch.group_ids.to_pylist()], np.bool_)


def _parts(groups: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Split groups into parts by size; the groups of a part are simulated side by side."""
    # Groups whose members all join later have none yet.
    sizes = np.maximum(pc.fill_null(pc.list_value_length(groups.column("members")), 0).to_numpy(), 1)
    if sizes.sum() > _MEMBERS_AT_A_TIME:
        # A large group needs many elections, for which the small groups beside it would not wait.
        order = np.argsort(sizes, kind="stable")
        groups, sizes = groups.take(pa.array(order)), sizes[order]
    parts = (np.cumsum(sizes) - sizes) // _MEMBERS_AT_A_TIME
    firsts = np.flatnonzero(np.diff(parts, prepend=-1))
    for first, end in pairwise([*firsts.tolist(), len(sizes)]):
        yield groups.slice(first, end - first)
