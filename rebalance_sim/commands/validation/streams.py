"""Read and validate the options of ``streams``."""

from argparse import Namespace

from rebalance_sim.commands.options import brokers_of, check_at_least, check_between
from rebalance_sim.commands.validation.known_files import KnownFiles
from rebalance_sim.commands.validation.simulate import with_settings
from rebalance_sim.commands.validation.topologies import check_topology
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.sources.offsets_topic import KAFKA
from rebalance_sim.sources.scenarios import RejectedStep, read_scenario

_LARGEST_LAG = 2**62
_SHORTEST_INTERVAL = 60_000
"""As Kafka Streams allows it."""


def validate(options: Namespace, known: KnownFiles) -> None:
    """Raise UserError for a mistake that shows without reading rows."""
    brokers_of(options).rules()
    check_at_least("--join", options.join, 0)
    if options.standby_replicas is not None:
        check_at_least("--standby-replicas", options.standby_replicas, 0)
    check_at_least("--max-warmup-replicas", options.max_warmup_replicas, 1)
    if options.restore_rate is not None:
        check_at_least("--restore-rate", options.restore_rate, 1)
    check_between("--acceptable-recovery-lag", options.acceptable_recovery_lag, 0, _LARGEST_LAG)
    check_at_least("--probing-rebalance-interval-ms", options.probing_rebalance_interval_ms, _SHORTEST_INTERVAL)
    scenario_played(options)
    if options.streams_members and not (options.subtopologies or options.topology):
        raise UserError("--streams-members and --subtopologies: give both, or --offsets-topic, which has both")
    check_topology(options)
    if options.command_config and not options.offsets_topic.startswith(KAFKA):
        raise UserError(f"--command-config: only allowed with --offsets-topic {KAFKA}HOST:PORT")
    if options.offsets_topic and not options.offsets_topic.startswith(KAFKA):
        known.check_exists("the dump", options.offsets_topic)
    known.check_out(options)
    known.check_tables(options, "streams_members", "subtopologies", "topics", "clusters")


def scenario_played(options: Namespace) -> tuple[Scenario | None, list[RejectedStep]]:
    """Return the scenario with the settings of the options, if there is one, and the steps that cannot be used."""
    if not options.scenario:
        if options.settings:
            raise UserError("--settings: only allowed with --scenario")
        return None, []
    if options.leave or options.join:
        raise UserError("--scenario: begins with the members that there are; --leave and --join change them before")
    scenario, bad = read_scenario(options.scenario)
    return with_settings(scenario, options.settings), bad
