"""``simulate``: play a rollout on simulated groups, and report its rebalances, downtime and costs."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.api.simulation import simulate
from rebalance_sim.commands.brokers import clusters_of
from rebalance_sim.commands.console import print_summary
from rebalance_sim.commands.job_options import ALL, NONE
from rebalance_sim.commands.lag import Offsets
from rebalance_sim.commands.named_groups import unknown_group
from rebalance_sim.commands.new_runs import new_run
from rebalance_sim.commands.options import brokers_of, items
from rebalance_sim.commands.rejects import count_given, write_rejects
from rebalance_sim.commands.simulation_summary import (
    summarise_advice,
    summarise_bounces,
    summarise_costs,
    summarise_lag_costs,
)
from rebalance_sim.commands.strategies import own_assignors, strategies
from rebalance_sim.commands.streams_assumptions import assumed_of_rollouts, assumed_order
from rebalance_sim.commands.summary import summarise_run
from rebalance_sim.commands.timings import Seen, assumed_in_part, read_timings, seen_in, seen_in_words, taken_from
from rebalance_sim.commands.topologies import read_subtopologies
from rebalance_sim.commands.validation.simulate import scenario_played, storm_limits
from rebalance_sim.engine.runs.run import Run, earlier_assumptions
from rebalance_sim.engine.simulation.cost_totals import COLUMNS, TOTALS, add_up
from rebalance_sim.engine.simulation.followed_group import log_lines
from rebalance_sim.engine.tables.inputs import fit, union, usable
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.kafka.simulation.storms import Storms
from rebalance_sim.sources.kafka_tools.capture import frame_of
from rebalance_sim.sources.scenarios import RejectedStep
from rebalance_sim.tables import (
    ADVICE,
    BOUNCES,
    COSTS,
    EVENTS,
    LAG_COSTS,
    MEMBERS,
    OFFSETS,
    OWNED_PARTITIONS,
    REBALANCES,
    REJECTS,
    STREAMS_MEMBERS,
    SUBTOPOLOGIES,
    TIMELINE,
    TIMINGS,
    TOPICS,
    Table,
)
from rebalance_sim.wording import plural

STEPS = "scenario"
_ASSUMED = (
    "network_ms", "network_jitter_ms", "store_ms", "assignor_ms", "revoke_ms", "poll_interval_ms", "start_ms",
)  # fmt: skip
"""Settings that are not Kafka's; they are always listed, because all times depend on them."""


def run(spark: SparkSession, options: Namespace) -> None:
    """Read the input tables and the scenario, simulate, and write all tables of the run."""
    version = brokers_of(options).rules().simulated
    own = own_assignors(options, version)
    wanted = strategies(options.strategy, version, own)
    scenario, bad_steps = scenario_played(options)
    run = new_run(spark, "simulate", options)
    topics, members = (run.read(table, getattr(options, table.name), options.format) for table in (TOPICS, MEMBERS))
    events = run.read(EVENTS, options.events, options.format) if options.events else None
    offsets, timings = Offsets.read(run, options), read_timings(run, options)
    streams = run.read(STREAMS_MEMBERS, options.streams_members, options.format) if options.streams_members else None
    parts, described = read_subtopologies(run.spark, options, streams, run.read, reads_rows=run.reads_rows)
    with_members = [(members, MEMBERS), *([] if streams is None else [(streams, STREAMS_MEMBERS)])]
    _check_groups(run, options, with_members, events)
    run.report_progress(f"simulating {scenario.name or 'the events'} under {', '.join(wanted)}")
    written = [TIMELINE.name, REBALANCES.name, OWNED_PARTITIONS.name, COSTS.name, BOUNCES.name]
    written += [ADVICE.name] if options.advice else []
    written += [LAG_COSTS.name] if offsets else []
    simulated = simulate(
        members,
        topics,
        scenario,
        wanted,
        events,
        options.advice,
        kafka_version=clusters_of(options, run.read),
        seed=options.seed,
        assignors=tuple(own.values()),
        tables=[*written, REJECTS.name],
        followed=followed_groups(options.timeline, options.follow),
        storms=Storms(*storm_limits(options)),
        offsets=offsets.given if offsets else None,
        streams_members=streams,
        subtopologies=parts,
        **({} if timings is None else {"timings": timings}),
    )
    run.begin()

    tables = run.write_outcomes(simulated, written)
    topics_given = run.number_of(topics)
    simulated.expect_topics(topics_given)
    rejects = [simulated.rejects, *([offsets.rejects] if offsets else []), rejected_steps(spark, bad_steps)]
    bad = write_rejects(run, union(rejects), options.on_bad_input)

    run.count_rows(TOPICS.name, topics_given, simulated.used_topics or 0, bad[TOPICS.name])
    count_given(run, {MEMBERS: members}, bad)
    if scenario.steps or bad_steps:
        run.count_rows(STEPS, len(scenario.steps) + len(bad_steps), len(scenario.steps), bad[STEPS])
    given = {EVENTS: events, OFFSETS: offsets.given if offsets else None, TIMINGS: timings}
    count_given(run, given | {STREAMS_MEMBERS: streams, SUBTOPOLOGIES: parts}, bad)
    seen = [] if timings is None else seen_in(tables[COSTS.name], taken_from(timings, scenario))
    assumed = [*earlier_assumptions(spark, options.members), *simulation_assumptions(scenario, seen)]
    assumed += _assumed_of_clients(tables[COSTS.name])
    if streams is not None:
        of_rollouts = assumed_of_rollouts(tables[COSTS.name], fit(streams, STREAMS_MEMBERS))
        assumed += [*described, *assumed_order(streams), *of_rollouts]
    run.assumptions = list(dict.fromkeys(assumed))
    run.finish()
    if options.follow:
        print_summary(_log(tables[TIMELINE.name], options.follow))
    totals = run.map_table(tables[COSTS.name], COLUMNS, add_up, TOTALS)
    lines = [*summarise_costs(totals), *summarise_bounces(tables[BOUNCES.name])]
    lines += summarise_lag_costs(tables[LAG_COSTS.name]) if offsets else []
    lines += summarise_advice(tables[ADVICE.name], bool(options.timings)) if options.advice else []
    print_summary(lines + summarise_run(run))


def _asked(timeline: str) -> list[str]:
    return [] if timeline in (NONE, ALL) else items(timeline)


def followed_groups(timeline: str, follow: str = "") -> tuple[str, ...] | None:
    """Return the groups whose timeline is recorded; None: all."""
    if timeline == ALL:
        return None
    return (*_asked(timeline), follow) if follow else tuple(_asked(timeline))


def _check_groups(
    run: Run, options: Namespace, members: Sequence[tuple[DataFrame, Table]], events: DataFrame | None
) -> None:
    """Raise UserError, with the most similar ids, if an option names a group that never has a member."""
    named = [("--timeline", group) for group in _asked(options.timeline)]
    named += [("--follow", options.follow)] if options.follow else []
    if not named or not run.reads_rows:
        return
    groups = union([usable(fit(rows, table)).select("group_id") for rows, table in members])
    if events is not None:
        groups = groups.union(usable(fit(events, EVENTS)).where("event = 'join'").select("group_id"))
    asked = {group for _, group in named}
    found = {row["group_id"] for row in groups.where(F.col("group_id").isin(*asked)).distinct().collect()}
    for option, group in named:
        if group not in found:
            raise unknown_group(option, group, groups)


def _log(timeline: DataFrame, group: str) -> list[str]:
    """Return the timeline of a group as a log, strategy by strategy."""
    rows = timeline.where(F.col("group_id") == group).orderBy("cluster", "strategy", "number").collect()
    lines = []
    for (cluster, strategy), logged in groupby(rows, lambda row: (row["cluster"], row["strategy"])):
        lines += [f"{cluster} {group}, {strategy}:", *log_lines(row.asDict() for row in logged)]
    return lines or [f"group {group!r} has no timeline (see error in costs, and rejects)"]


def rejected_steps(spark: SparkSession, bad: list[RejectedStep]) -> DataFrame:
    """Return the steps of a scenario that cannot be used as rejects."""
    return frame_of(spark, REJECTS, [{"table": STEPS, "row": step.row, "reason": step.reason} for step in bad])


def simulation_assumptions(scenario: Scenario, seen: Sequence[Seen] = ()) -> list[str]:
    """Return what the simulation assumes: settings that Kafka does not have, or that differ from Kafka's defaults.

    What the past shows of all groups is not assumed.
    """
    others = assumed_in_part(seen)
    defaults, settings = vars(SimulationSettings()), vars(scenario.settings)
    differ = {name: value for name, value in settings.items() if name in _ASSUMED or value != defaults[name]}
    assumed = {
        name: f"{value} in {plural(others[name], 'group')}" if name in others else value
        for name, value in differ.items()
        if others.get(name, 1)
    }
    configured = {name: value for name, value in vars(scenario.consumers).items() if value is not None}
    pods = vars(scenario.rollout.times) if scenario.rollout else {}
    down = sorted({step.down_ms for step in scenario.steps if step.event == "restart"})
    return [
        f"simulated with {_listed(assumed)}",
        *seen_in_words(seen),
        *([f"restarted consumers have down_ms {' or '.join(map(str, down))}"] if down else []),
        *([f"all consumers have {_listed(configured)}"] if configured else []),
        *([f"pods have {_listed(pods)}"] if pods else []),
    ]


def _assumed_of_clients(costs: DataFrame) -> list[str]:
    """Return what the simulation assumes of consumers that use other libraries than Java's."""
    groups = costs.where("other_libraries is not null").select("cluster", "group_id").distinct().count()
    if not groups:
        return []
    return [f"consumers of other client libraries are simulated as Java's ({plural(groups, 'group')})"]


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_shown(value)}" for name, value in values.items())


def _shown(value: Any) -> str:
    """Return a value as it is written in files and options."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(value)}]" if isinstance(value, tuple) else str(value)
