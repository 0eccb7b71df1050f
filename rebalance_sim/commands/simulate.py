"""``simulate``: what happens to groups on the way, and what it costs."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.commands.assign import ALL, strategies
from rebalance_sim.commands.custom_assignors import load_assignors
from rebalance_sim.commands.lag import Offsets, add_offsets_option
from rebalance_sim.commands.options import (
    add_assignors_option,
    add_election_options,
    add_input_options,
    add_output_options,
    check_at_least,
    items,
    new_run,
)
from rebalance_sim.commands.rejects import write_rejects
from rebalance_sim.commands.simulation_summary import summarise_advice, summarise_costs, summarise_lag_costs
from rebalance_sim.commands.summary import print_summary, summarise_run
from rebalance_sim.engine.advice import advise, variations
from rebalance_sim.engine.comparison import BEST
from rebalance_sim.engine.followed_group import log_lines
from rebalance_sim.engine.inputs import fit, fit_topics, format_of, rejected, union, usable
from rebalance_sim.engine.prediction import ELECTED, outcome
from rebalance_sim.engine.runs import Run, earlier_assumptions
from rebalance_sim.engine.simulation import Simulations
from rebalance_sim.engine.simulation_rows import Storms
from rebalance_sim.engine.topic_metadata import TopicMetadata
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.kafka.simulation.settings import Settings
from rebalance_sim.sources.scenarios import RejectedStep, read_scenario, scenario_names, settings_of
from rebalance_sim.tables import (
    ADVICE,
    COSTS,
    EVENTS,
    LAG_COSTS,
    MEMBERS,
    OFFSETS,
    OWNED_PARTITIONS,
    PARTITION_COSTS,
    REBALANCES,
    REJECTS,
    TIMELINE,
    TOPICS,
)
from rebalance_sim.versions import kafka_version

NOBODY = "none"
_STEPS = "scenario"
_NEAREST = 3
_ASSUMED = (
    "network_ms", "network_jitter_ms", "store_ms", "assignor_ms", "revoke_ms", "poll_interval_ms", "start_ms",
)  # fmt: skip
"""Settings that are no defaults of Kafka's; times depend on them."""


def add_options(parser: ArgumentParser) -> None:
    """Options of the job."""
    add_input_options(parser, TOPICS, MEMBERS)
    add_offsets_option(parser, "with it, what is told is which records wait longer, and where")
    parser.add_argument(
        "--scenario",
        default="",
        metavar="NAME|FILE",
        help=f"what happens to every group: a YAML file, or one of {', '.join(scenario_names())}",
    )
    parser.add_argument(
        "--events",
        default="",
        metavar="PATH",
        help="events table: what else happens to which group; as .json, .csv, .parquet or .orc if its name ends so, "
        "else in --format",
    )
    parser.add_argument(
        "--strategy",
        default=ELECTED,
        metavar="NAME,...",
        help=f"{ELECTED} (each group's own, the default), {ALL} that the version has, or what all consumers are to "
        "use: Kafka's, or MODULE:CLASS (an assignor of your own)",
    )
    add_assignors_option(parser)
    parser.add_argument(
        "--settings",
        default="",
        metavar="NAME=VALUE,...",
        help="what is assumed of brokers, network and applications, as network_ms=5; wins over what the scenario says",
    )
    parser.add_argument(
        "--timeline",
        default=NOBODY,
        metavar="GROUP,...",
        help=f"groups whose every step is told: their ids, {ALL} or {NOBODY} (the default)",
    )
    parser.add_argument(
        "--follow", default="", metavar="GROUP", help="a group whose timeline is told, and printed as a log at the end"
    )
    parser.add_argument("--advice", action="store_true", help="try other settings, and tell what they would save")
    parser.add_argument("--storm-rebalances", type=int, default=Storms.rebalances, metavar="N")
    parser.add_argument("--storm-window-ms", type=int, default=Storms.window_ms, metavar="MS")
    add_election_options(parser)
    add_output_options(parser)


def run(spark: SparkSession, options: Namespace) -> None:
    """Read what there is and what will happen, simulate, write timeline, rebalances, costs, advice and rejects."""
    version = kafka_version(options.kafka_version)
    check_at_least("--storm-rebalances", options.storm_rebalances, 2)
    check_at_least("--storm-window-ms", options.storm_window_ms, 1)
    own = load_assignors(options.assignors, options.strategy, version, [ELECTED, ALL, BEST])
    wanted = strategies(options.strategy, version, own)
    scenario, bad_steps = _scenario(options)
    run = new_run(spark, "simulate", options)
    given = {table.name: run.read(table, getattr(options, table.name), options.format) for table in (TOPICS, MEMBERS)}
    topics, members = fit_topics(given[TOPICS.name]), fit(given[MEMBERS.name], MEMBERS)
    events = _events(run, options) if options.events else None
    offsets = Offsets.read(run, options)
    followed = _followed(options)
    if run.looks_at_rows:
        _check_groups("--timeline", () if options.timeline == ALL else _asked(options.timeline), members, events)
        _check_groups("--follow", [options.follow] if options.follow else (), members, events)
    run.begin()

    run.tell("reading topics")
    metadata = TopicMetadata.of(usable(topics))
    tried = variations(scenario, version) if options.advice else ()
    storms = Storms(options.storm_rebalances, options.storm_window_ms)
    outputs = [TIMELINE.name, REBALANCES.name, OWNED_PARTITIONS.name, COSTS.name, REJECTS.name]
    outputs += [PARTITION_COSTS.name] if offsets else []
    run.tell(f"simulating {scenario.name or 'the events'} under {', '.join(wanted)}")
    simulate = Simulations(
        tuple(outputs), version, wanted, metadata, scenario, options.seed, followed, storms, tried, tuple(own.values())
    )
    found = run.stage(simulate(usable(members), None if events is None else usable(events)))
    tables: dict[str, DataFrame] = {}
    for name in (TIMELINE.name, REBALANCES.name, OWNED_PARTITIONS.name):
        tables[name] = run.write(name, found.transform(outcome(name)))
    tables[COSTS.name] = run.write(COSTS.name, found.where("variation = 0").transform(outcome(COSTS.name)))
    if tried:
        costs = found.where(f"{COSTS.name} IS NOT NULL").select(f"{COSTS.name}.*", "variation")
        tables[ADVICE.name] = run.write(ADVICE.name, costs.transform(advise(tried)))
    rejects = [rejected(topics, TOPICS), rejected(members, MEMBERS), found.transform(outcome(REJECTS.name))]
    rejects += [rejected(events, EVENTS)] if events is not None else []
    rejects += [offsets.rejects] if offsets else []
    bad = write_rejects(run, union([*rejects, _rejected_steps(spark, bad_steps)]), options.on_bad_input)

    run.count_rows(TOPICS.name, given[TOPICS.name].count(), metadata.topics.num_rows, bad[TOPICS.name])
    in_members = given[MEMBERS.name].count()
    run.count_rows(MEMBERS.name, in_members, in_members - bad[MEMBERS.name], bad[MEMBERS.name])
    if options.scenario:
        run.count_rows(_STEPS, len(scenario.steps) + len(bad_steps), len(scenario.steps), bad[_STEPS])
    if events is not None:
        in_events = events.count()
        run.count_rows(EVENTS.name, in_events, in_events - bad[EVENTS.name], bad[EVENTS.name])
    if offsets:
        found_costs = found.transform(outcome(PARTITION_COSTS.name))
        tables[LAG_COSTS.name] = offsets.write_costs(run, found_costs, bad[OFFSETS.name])
    run.assumptions = [*earlier_assumptions(spark, options.members), *_assumed(scenario)]
    run.finish()
    if options.follow:
        print_summary(_log(tables[TIMELINE.name], options.follow))
    lines = summarise_costs(tables[COSTS.name])
    lines += summarise_lag_costs(tables[LAG_COSTS.name]) if offsets else []
    lines += summarise_advice(tables[ADVICE.name]) if tried else []
    print_summary(lines + summarise_run(run))


def _events(run: Run, options: Namespace) -> DataFrame:
    return fit(run.read(EVENTS, options.events, format_of(options.events, options.format)), EVENTS)


def _asked(timeline: str) -> list[str]:
    return [] if timeline == NOBODY else items(timeline)


def _followed(options: Namespace) -> tuple[str, ...] | None:
    """Groups whose timeline is told; None: all."""
    if options.timeline == ALL:
        return None
    asked = _asked(options.timeline)
    return (*asked, options.follow) if options.follow else tuple(asked)


def _check_groups(option: str, asked: Sequence[str], members: DataFrame, events: DataFrame | None) -> None:
    """Raise UserError, with the nearest ones, for a group that nobody is in, and that nobody will join."""
    if not asked:
        return
    groups = usable(members).select("group_id")
    if events is not None:
        groups = groups.union(usable(events).where("event = 'join'").select("group_id"))
    found = {row["group_id"] for row in groups.where(F.col("group_id").isin(*asked)).distinct().collect()}
    for group in asked:
        if group not in found:
            by_distance = F.levenshtein(F.col("group_id"), F.lit(group)), F.col("group_id")
            nearest = [row["group_id"] for row in groups.distinct().orderBy(*by_distance).limit(_NEAREST).collect()]
            told = ", ".join(map(repr, nearest)) or "there is none"
            raise UserError(f"{option}: there is no group {group!r}; the nearest: {told}")


def _log(timeline: DataFrame, group: str) -> list[str]:
    """Write the timeline of a group as a log, strategy by strategy."""
    rows = timeline.where(F.col("group_id") == group).orderBy("cluster", "strategy", "number").collect()
    lines = []
    for (cluster, strategy), told in groupby(rows, lambda row: (row["cluster"], row["strategy"])):
        lines += [f"{cluster} {group}, {strategy}:", *log_lines(row.asDict() for row in told)]
    return lines or [f"group {group!r} has no timeline (see error in costs, and rejects)"]


def _scenario(options: Namespace) -> tuple[Scenario, list[RejectedStep]]:
    if not options.scenario and not options.events:
        raise UserError("--scenario: nothing is to happen; allowed: a scenario, --events, or both")
    scenario, bad = read_scenario(options.scenario) if options.scenario else (Scenario(""), [])
    given: dict[str, Any] = {}
    for item in items(options.settings) if options.settings else []:
        name, _, value = item.partition("=")
        if name in given:
            raise UserError(f"--settings: {name!r} is given twice")
        given[name] = {"true": True, "false": False}.get(value, int(value) if value.isdecimal() else value)
    return replace(scenario, settings=settings_of("--settings", given, scenario.settings)), bad


def _rejected_steps(spark: SparkSession, bad: list[RejectedStep]) -> DataFrame:
    rows = [(_STEPS, None, None, step.row, step.reason) for step in bad]
    return spark.createDataFrame(rows, REJECTS.schema)


def _assumed(scenario: Scenario) -> list[str]:
    """Say what a simulation takes for granted: what is no default of Kafka's, and what is set to something else."""
    usual, settings = vars(Settings()), vars(scenario.settings)
    assumed = {name: value for name, value in settings.items() if name in _ASSUMED or value != usual[name]}
    configured = {name: value for name, value in vars(scenario.consumers).items() if value is not None}
    told = [f"simulated with {_listed(assumed)}"]
    return told + ([f"all consumers have {_listed(configured)}"] if configured else [])


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_shown(value)}" for name, value in values.items())


def _shown(value: Any) -> str:
    """Show a value as files and options have it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(value)}]" if isinstance(value, tuple) else str(value)
