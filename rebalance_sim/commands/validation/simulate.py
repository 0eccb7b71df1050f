"""Read and validate the options of ``simulate``."""

from argparse import Namespace
from dataclasses import replace
from typing import Any

from rebalance_sim.commands.options import brokers_of, check_at_least, items
from rebalance_sim.commands.strategies import own_assignors, strategies
from rebalance_sim.commands.validation.known_files import KnownFiles
from rebalance_sim.commands.validation.topologies import check_topologies, check_topology
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.sources.scenarios import RejectedStep, read_scenario, settings_of


def validate(options: Namespace, known: KnownFiles) -> None:
    """Raise UserError for a mistake that shows without reading rows."""
    version = brokers_of(options).rules().simulated
    storm_limits(options)
    strategies(options.strategy, version, own_assignors(options, version))
    scenario_played(options)
    check_topology(options)
    check_topologies(options)
    known.check_out(options)
    tables = ("topics", "members", "events", "offsets", "timings", "clusters", "streams_members", "subtopologies")
    known.check_tables(options, *tables)


def storm_limits(options: Namespace) -> tuple[int, int]:
    """Return how many rebalances make a storm, and within how long. Raises UserError for values out of range."""
    check_at_least("--storm-rebalances", options.storm_rebalances, 2)
    check_at_least("--storm-window-ms", options.storm_window_ms, 1)
    return options.storm_rebalances, options.storm_window_ms


def scenario_played(options: Namespace) -> tuple[Scenario, list[RejectedStep]]:
    """Return the scenario with the settings of the options, and the steps that cannot be used."""
    if not options.scenario and not options.events:
        raise UserError("--scenario: nothing to simulate; give --scenario, --events, or both")
    scenario, bad = read_scenario(options.scenario) if options.scenario else (Scenario(""), [])
    return with_settings(scenario, options.settings), bad


def with_settings(scenario: Scenario, asked: str) -> Scenario:
    """Return a scenario with the settings of the option ``--settings``."""
    given: dict[str, Any] = {}
    for item in items(asked) if asked else []:
        name, _, value = item.partition("=")
        if name in given:
            raise UserError(f"--settings: {name!r} is given more than once")
        given[name] = {"true": True, "false": False}.get(value, int(value) if value.isdecimal() else value)
    settings = settings_of("--settings", given, scenario.settings)
    return replace(scenario, settings=settings, given=scenario.given.union(given))
