"""Simulates streams groups (KIP-1071) in Spark's workers, and returns rows of the output tables of simulations.

Processes are what events name; their threads are the consumers. Subtopologies take the place of topics.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.groups.prediction import ELECTED
from rebalance_sim.engine.groups.whole_groups import KEYS, collected, join_key
from rebalance_sim.engine.simulation.advice import RolloutCosts, advice_rows
from rebalance_sim.engine.simulation.group_seed import group_seed
from rebalance_sim.engine.simulation.rollout_rows import SIMULATED, GroupRows, Rows
from rebalance_sim.engine.simulation.variations import Variation
from rebalance_sim.engine.spark.driver_rows import map_batches
from rebalance_sim.engine.streams.application import CLASSIC
from rebalance_sim.engine.streams.groups import missing_topic, with_tasks
from rebalance_sim.engine.tables.arrow import arrow_type, as_outcome
from rebalance_sim.engine.tables.inputs import REASON, usable
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.kafka.coordinator.streams.streams_group import Tasks
from rebalance_sim.kafka.coordinator.streams.topology import Subtopology, Topology
from rebalance_sim.kafka.simulation.group_events import EVENT_KINDS, GroupEvent
from rebalance_sim.kafka.simulation.heartbeat_groups import ROLLOUT_EVENTS
from rebalance_sim.kafka.simulation.model import ScenarioKind
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.kafka.simulation.scenario_events import expand_scenario
from rebalance_sim.kafka.simulation.streams_rollouts import StreamsSetUp, StreamsThread, simulate_streams_group
from rebalance_sim.releases import STREAMS_ASSIGNORS, KafkaVersion, StreamsGroupRules, StreamsRules
from rebalance_sim.tables import ADVICE, COSTS, STREAMS_MEMBERS, SUBTOPOLOGIES, struct

ASSUMED_OF_ROLLOUTS = (
    "a task of a streams group is available as soon as a member has it: restoring its state takes no time; processes "
    "that start have no state on their disks, but those with stores keep their ids; changelog topics exist and do not "
    "grow; groups begin in epoch 1"
)
WITHOUT_DELAY = ("streams.initial.rebalance.delay.ms", "0")
"""The setting of a group, in ``kafka-configs.sh --entity-type groups``, that ``advice`` tries, and its value."""
_FILLED = (*SIMULATED, ADVICE)
_SCHEMA = struct({table.name: table.schema for table in _FILLED})
_EMPTY = "Empty"
"""The state of a group without members."""
_OLD_BROKERS = "streams groups are simulated by the rules of brokers since Kafka 4.2"
CLASSIC_ROLLOUT = "an application over the classic protocol is not simulated"
_STATIC = (
    "static members of streams groups exist since Kafka 4.4; the release of the brokers (--kafka-version) is older"
)
_AWAITED = ("a restarted process or a task without a thread", "processes with tasks")
_REJECTED = "rejected_members"


@dataclass(frozen=True)
class StreamsRollouts:
    """What is simulated for every streams group."""

    clusters: Clusters
    scenario: Scenario
    seed: int = 0
    followed: tuple[str, ...] | None = ()
    """Groups whose timeline is recorded; None: all."""
    standby_replicas: int | None = None
    """num.standby.replicas, in place of each group's own."""
    outputs: tuple[str, ...] = tuple(table.name for table in SIMULATED)
    """Names of the tables to fill; ``advice`` may be one of them."""

    def rows(self, members: DataFrame, subtopologies: DataFrame, topics: DataFrame) -> DataFrame:
        """Return the rows of all tables, from fitted members and the usable rows of the other inputs."""
        parts = with_tasks(subtopologies, topics)
        names = ("subtopology", "stateful", "standby_replicas", "tasks", "missing", "sources")
        lost = members.groupBy(*KEYS).agg(F.count(REASON).cast("int").alias(_REJECTED))
        groups = (
            collected(usable(members), STREAMS_MEMBERS.names, "members")
            .join(collected(parts, [*KEYS, *names], SUBTOPOLOGIES.name), [*KEYS], "left")
            .join(lost, [*KEYS], "left")
        )
        listed = F.coalesce(SUBTOPOLOGIES.name, F.array()).alias(SUBTOPOLOGIES.name)
        return map_batches(groups.select(*KEYS, "members", listed, _REJECTED), self._simulate, _SCHEMA)

    def _simulate(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows: Rows = defaultdict(list)
            for row in batch.to_pylist():
                for name, found in self._tables(row).items():
                    rows[name] += found
            for table in _FILLED:
                if table.name in self.outputs and rows[table.name]:
                    yield as_outcome(table.name, pa.array(rows[table.name], arrow_type(table.schema)), _SCHEMA)

    def _tables(self, row: Mapping[str, Any]) -> Rows:
        """Return the rows of one group."""
        version = self.clusters.of(row["cluster"]).rules()
        members = sorted(row["members"], key=join_key)
        threads, events = self._played(members, version)
        happening = sum(event.kind < ScenarioKind.NEXT_BOUNCE for event in events)
        names = {key: row[key] for key in KEYS} | {"strategy": ELECTED}
        error = _error(members, row[SUBTOPOLOGIES.name], events, version) or self._unknown(threads, version)
        costs: dict[str, Any] = names | {
            "consumers": len(threads),
            "partitions": sum(part["tasks"] or 0 for part in row[SUBTOPOLOGIES.name]),
            "events": happening,
            _REJECTED: row[_REJECTED],
            "downtimes": [],
            "error": error,
        }
        if error is not None:
            return {COSTS.name: [costs]}
        outcome = simulate_streams_group(self._set_up(row, threads, events, version))
        counts: dict[str, int] = defaultdict(int)
        for subtopology, _ in outcome.sharing.partitions:
            counts[subtopology] += 1
        rows = GroupRows(names, [each.name for each in threads], counts, STREAMS_ASSIGNORS[0], outcome, _AWAITED)
        is_followed = self.followed is None or row["group_id"] in self.followed
        tables = rows.tables(costs, happening, is_followed=is_followed)
        if ADVICE.name in self.outputs and any(step.state == _EMPTY for step in outcome.steps):
            tables[ADVICE.name] = self._advice(row, tables[COSTS.name])
        return tables

    def _advice(self, row: Mapping[str, Any], costs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return what it saves a group whose members have all left at some time if the first does not wait for others.

        No other setting of a group saves anything: heartbeats cannot be more frequent, nor sessions shorter, than the
        brokers' least, which are the defaults, and the coordinator rarely waits for ``streams.assignment.interval.ms``.
        """
        without = replace(self.without_delay(), outputs=(COSTS.name,))
        others = without._tables(row)[COSTS.name]
        usual, changed = (RolloutCosts(pa.array(each, arrow_type(COSTS.schema)), None) for each in (costs, others))
        variation = Variation(*WITHOUT_DELAY, None, without.scenario)
        found: list[dict[str, Any]] = advice_rows(usual, [(variation, changed)], {}).to_pylist()
        return found

    def without_delay(self) -> Self:
        """Return the same under ``WITHOUT_DELAY``."""
        settings = replace(self.scenario.settings, group_streams_initial_rebalance_delay_ms=0)
        return replace(self, scenario=replace(self.scenario, settings=settings))

    def _unknown(self, threads: Sequence[StreamsThread], version: KafkaVersion) -> str | None:
        """Return what the scenario or the threads configure that streams groups do not have.

        The session timeout of consumers is ignored: these groups have ``group.streams.session.timeout.ms``.
        """
        for name in ("protocols", "max_poll_interval_ms"):
            if getattr(self.scenario.consumers, name) is not None:
                return f"{name} of consumers is not simulated for streams groups (KIP-1071)"
        is_static = any(thread.instance_id for thread in threads)
        return _STATIC if is_static and version.streams_groups < StreamsGroupRules.ROLE_CHANGES else None

    def _played(
        self, members: Sequence[Mapping[str, Any]], version: KafkaVersion
    ) -> tuple[list[StreamsThread], list[GroupEvent]]:
        """Return the threads of all processes, those that join later last, and the events of the processes."""
        processes = list(dict.fromkeys(member["process_id"] for member in members))
        sizes = {name: sum(member["process_id"] == name for member in members) for name in processes}

        def row(_: int, place: int) -> Mapping[str, Any]:
            # No event happens to a process that joins: whether it is static does not matter.
            return {"threads": sizes[processes[place]], "instance_id": None}

        joining, found = expand_scenario(self.scenario, np.array([len(processes)], np.int32), row)
        numbers = {name: number for number, name in enumerate(processes)}
        threads = [
            StreamsThread(
                each["member_id"],
                numbers[each["process_id"]],
                each["process_id"],
                _tasks(each, version),
                instance_id=self._instance_id(each),
            )
            for each in members
        ]
        for number, process in enumerate(joining, len(processes)):
            name = process.row["member_id"]
            threads += [
                StreamsThread(f"{name}-{thread}", number, name, is_member=False)
                for thread in range(1, process.row["threads"] + 1)
            ]
        return threads, found.by_group()[0]

    def _instance_id(self, member: Mapping[str, Any]) -> str | None:
        """Return the instance id of a thread; where the scenario makes all static, its member id if it has none."""
        static, instance_id = self.scenario.consumers.static, member["instance_id"]
        if static is None:
            return instance_id or None
        return instance_id or member["member_id"] if static else None

    def _set_up(
        self,
        row: Mapping[str, Any],
        threads: Sequence[StreamsThread],
        events: Sequence[GroupEvent],
        version: KafkaVersion,
    ) -> StreamsSetUp:
        topics: dict[str, int] = {}
        parts: dict[str, Subtopology] = {}
        for part in row[SUBTOPOLOGIES.name]:
            sources = {source["topic"]: source["partitions"] for source in part["sources"]}
            # Known or not, they have as many partitions as there are tasks.
            changelogs = [f"changelogs of {part['subtopology']}"] if part["stateful"] else []
            topics |= sources | dict.fromkeys(changelogs, part["tasks"])
            parts[part["subtopology"]] = Subtopology(tuple(sorted(sources)), tuple(changelogs), part["stateful"])
        standbys = max((part["standby_replicas"] or 0 for part in row[SUBTOPOLOGIES.name]), default=0)
        return StreamsSetUp(
            threads,
            Topology(0, parts),
            topics,
            events,
            version,
            self.scenario.settings,
            standbys if self.standby_replicas is None else self.standby_replicas,
            group_seed(self.seed, row["cluster"], row["group_id"]),
        )


def without_classic(members: DataFrame) -> DataFrame:
    """Return the fitted members without those of classic applications, whose consumers are other rows of a fleet."""
    classic = usable(members).where(F.col("protocol") == CLASSIC).select(*KEYS)
    return members.join(classic, [*KEYS], "left_anti")


def _error(
    members: Sequence[Mapping[str, Any]],
    subtopologies: Sequence[Mapping[str, Any]],
    events: Sequence[GroupEvent],
    version: KafkaVersion,
) -> str | None:
    """Return why a group cannot be simulated."""
    if any(member["protocol"] == CLASSIC for member in members):
        return CLASSIC_ROLLOUT
    if version.streams < StreamsRules.LEAST_LOADED:
        return _OLD_BROKERS
    if not subtopologies:
        return "its subtopologies are unknown"
    missing = missing_topic(subtopologies)
    if missing is not None:
        return missing
    names = {kind: name for name, kind in EVENT_KINDS.items()}
    others = sorted({names[event.kind] for event in events if event.kind not in ROLLOUT_EVENTS})
    return f"event {others[0]} is not simulated for streams groups (KIP-1071)" if others else None


def _tasks(member: Mapping[str, Any], version: KafkaVersion) -> Tasks:
    """Return what the assignor takes into account of a member: its target, or since 4.4 what it has."""
    has_current = version.streams >= StreamsRules.TASK_OFFSETS and member["current_active"] is not None
    prefix = "current_" if has_current else ""
    return Tasks(
        *(
            frozenset((task["subtopology"], task["partition"]) for task in member[f"{prefix}{role}"] or ())
            for role in ("active", "standby")
        )
    )
