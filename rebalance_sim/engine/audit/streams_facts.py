"""What an audit predicts of applications of Kafka Streams: the next assignment, a stop of a process, and a rollout."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Self

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.audit.rollouts import OF_ADVICE, OF_COSTS
from rebalance_sim.engine.simulation.streams_groups import StreamsRollouts, without_classic
from rebalance_sim.engine.spark.driver_rows import where_in
from rebalance_sim.engine.streams.groups import StreamsPlan
from rebalance_sim.engine.tables.inputs import usable
from rebalance_sim.engine.tables.outcomes import outcome
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.tables import ADVICE, COSTS, STREAMS_BALANCE, STREAMS_MEMBERS, STREAMS_TASKS

AFTER_STOP = "streams_after_stop"
"""The rows of ``streams_balance`` after the process with the most stateful tasks has stopped."""
WITH_STANDBY = "streams_after_stop_with_standby"
"""The same if ``num.standby.replicas`` were 1 before."""
ASSIGNED = (STREAMS_BALANCE.name, STREAMS_TASKS.name)
"""Tables of the next assignment, which an audit writes."""
_OF_BALANCE = ("processes", "tasks", "standby_replicas", "moved", "restored", "standbys_started", "error")
FACTS_OF_STREAMS = {
    STREAMS_MEMBERS.name: (
        *("member_id", "process_id", "active", "standby", "current_active", "current_standby", "protocol"),
    ),
    STREAMS_BALANCE.name: (*_OF_BALANCE, "min_active", "max_active", "probing"),
    AFTER_STOP: (*_OF_BALANCE, "process_id", "stopped_tasks"),
    WITH_STANDBY: _OF_BALANCE,
    COSTS.name: OF_COSTS,
    ADVICE.name: OF_ADVICE,
}
"""Columns of the rows about applications that findings are about."""
_KEYS = ["cluster", "group_id"]
_ROLES = ("active", "standby")
Stage = Callable[[DataFrame, str], DataFrame]


@dataclass(frozen=True)
class StreamsInputs:
    """Members and subtopologies of applications, fitted."""

    members: DataFrame
    subtopologies: DataFrame

    def of_groups(self, groups: Collection[str]) -> Self:
        """Return those of some groups alone."""
        chosen = (where_in(rows, "group_id", groups) for rows in (self.members, self.subtopologies))
        return type(self)(*chosen)

    def predicted(self, topics: DataFrame, clusters: Clusters, stage: Stage) -> dict[str, DataFrame]:
        """Return what is predicted with usable topics, by name; ``stage`` keeps what is read several times."""
        members, parts = usable(self.members), usable(self.subtopologies)
        now = stage(StreamsPlan(clusters).rows_of(members, parts, topics), "streams")
        stopping = stage(_stopping(members, parts), "stopping")

        def after_stop(rows: DataFrame, standbys: int | None) -> DataFrame:
            left = rows.join(stopping, [*_KEYS, "process_id"], "left_anti").join(stopping, _KEYS, "left_semi")
            of_groups = parts.join(stopping, _KEYS, "left_semi")
            plan = StreamsPlan(clusters, standby_replicas=standbys)
            return plan.rows_of(left, of_groups, topics).transform(outcome(STREAMS_BALANCE.name))

        with_standby = StreamsPlan(clusters, standby_replicas=1).rows_of(members, parts, topics)
        found = {name: now.transform(outcome(name)) for name in ASSIGNED}
        found[AFTER_STOP] = after_stop(members, None).join(stopping, _KEYS)
        assigned = _with_tasks(members, with_standby.transform(outcome(STREAMS_TASKS.name)))
        found[WITH_STANDBY] = after_stop(assigned, 1)
        return found

    def rolled_out(self, rollouts: StreamsRollouts, topics: DataFrame, stage: Stage) -> dict[str, DataFrame]:
        """Return what is simulated of the rollout of each streams group with usable topics, by table."""
        members = without_classic(self.members)
        rows = stage(rollouts.rows(members, usable(self.subtopologies), topics), "streams-rollouts")
        return {name: rows.transform(outcome(name)) for name in rollouts.outputs}

    def facts(self, predicted: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
        """Return the rows with the columns of ``FACTS_OF_STREAMS``, and more."""
        of = {name: rows for name, rows in predicted.items() if name in FACTS_OF_STREAMS}
        return of | {STREAMS_MEMBERS.name: usable(self.members)}


def _stopping(members: DataFrame, subtopologies: DataFrame) -> DataFrame:
    """Return the process with the most stateful tasks of each group that has several processes."""
    stateful = subtopologies.where("stateful").select(*_KEYS, "subtopology", F.lit(1).alias("stateful"))
    of_members = members.select(*_KEYS, "process_id", F.explode_outer("active").alias("task"))
    tasks = of_members.select(*_KEYS, "process_id", "task.subtopology", F.col("task").isNotNull().alias("is_task"))
    counted = (
        tasks.join(stateful, [*_KEYS, "subtopology"], "left")
        .groupBy(*_KEYS, "process_id")
        .agg(F.count("stateful").alias("stateful"), F.count_if("is_task").alias("stopped_tasks"))
    )
    most = F.max(F.struct("stateful", "stopped_tasks", "process_id")).alias("most")
    of_groups = counted.groupBy(*_KEYS).agg(most, F.count("*").alias("processes")).where("processes > 1")
    return of_groups.select(*_KEYS, "most.process_id", "most.stopped_tasks")


def _with_tasks(members: DataFrame, tasks: DataFrame) -> DataFrame:
    """Return the members with other tasks, as their target and as what they have, with all of their state."""
    task = F.struct("subtopology", "partition")
    lists = [F.collect_list(F.when(F.col("role") == role, task)).alias(f"next_{role}") for role in _ROLES]
    assigned = tasks.groupBy(*_KEYS, "member_id").agg(*lists)
    joined = members.join(assigned, [*_KEYS, "member_id"], "left")
    columns = {
        f"{prefix}{role}": F.coalesce(f"next_{role}", F.array().cast(STREAMS_MEMBERS.schema[role].dataType))
        for role in _ROLES
        for prefix in ("", "current_")
    }
    columns["task_offsets"] = F.lit(None).cast(STREAMS_MEMBERS.schema["task_offsets"].dataType)
    return joined.withColumns(columns).select(*STREAMS_MEMBERS.names)
