"""Read and validate the options of ``connect``."""

from argparse import Namespace

from rebalance_sim.commands.options import brokers_of, items
from rebalance_sim.commands.validation.known_files import KnownFiles
from rebalance_sim.commands.validation.simulate import with_settings
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.sources.connect.config_topic import named_config_topics
from rebalance_sim.sources.connect.rest_output import read_rest_output
from rebalance_sim.sources.offsets_topic import KAFKA
from rebalance_sim.sources.scenarios import CONNECT_EVENTS, RejectedStep, read_scenario


def validate(options: Namespace, known: KnownFiles) -> None:
    """Raise UserError for a mistake that shows without reading rows."""
    brokers_of(options).rules()
    scenario_played(options)
    if options.command_config and not options.offsets_topic.startswith(KAFKA):
        raise UserError(f"--command-config: only allowed with --offsets-topic {KAFKA}HOST:PORT")
    for where in named_config_topics(items(options.config_topic), options.offsets_topic).values():
        if not where.startswith(KAFKA):
            known.check_exists("the config topic", where)
    if options.rest_output:
        read_rest_output(options.rest_output, options.cluster, options.group)
    if options.offsets_topic and not options.offsets_topic.startswith(KAFKA):
        known.check_exists("the dump", options.offsets_topic)
    known.check_out(options)
    known.check_tables(options, "workers", "connectors", "clusters")
    known.check_table("topics", options.source_topics, options.format)
    known.check_table("offsets", options.source_offsets, options.format)


def scenario_played(options: Namespace) -> tuple[Scenario | None, list[RejectedStep]]:
    """Return the scenario with the settings of the options, if there is one, and the steps that cannot be used."""
    if not options.scenario:
        if options.settings:
            raise UserError("--settings: only allowed with --scenario")
        return None, []
    scenario, bad = read_scenario(options.scenario, CONNECT_EVENTS)
    if scenario.rollout is not None:
        raise UserError(
            f"--scenario: {options.scenario} is a rollout of Kubernetes; Connect clusters are played by steps"
        )
    return with_settings(scenario, options.settings), bad
