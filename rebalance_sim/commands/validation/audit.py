"""Read and validate the options of ``audit``."""

from argparse import Namespace
from collections.abc import Collection

from rebalance_sim.commands.job_options import FAIL_ON_NEW, PARTITIONS_AFTER, REJECTED_SHARE
from rebalance_sim.commands.options import brokers_of, check_share
from rebalance_sim.commands.strategies import own_assignors
from rebalance_sim.commands.validation.fleet import has_source, validate_source
from rebalance_sim.commands.validation.known_files import KnownFiles
from rebalance_sim.commands.validation.simulate import with_settings
from rebalance_sim.commands.validation.topologies import check_topologies, check_topology
from rebalance_sim.engine.runs.earlier_audits import previous_audit
from rebalance_sim.engine.runs.files import Files, LocalFiles
from rebalance_sim.engine.runs.past_runs import past_run
from rebalance_sim.engine.runs.recorded_runs import recorded_run
from rebalance_sim.errors import UserError
from rebalance_sim.sources.audit_thresholds import read_thresholds
from rebalance_sim.sources.scenarios import scenario_of
from rebalance_sim.tables import (
    CLUSTERS,
    CONNECTORS,
    LISTED_GROUPS,
    MEMBERS,
    OFFSETS,
    RECORDS,
    STREAMS_MEMBERS,
    SUBTOPOLOGIES,
    TIMINGS,
    TOPICS,
    TOPICS_AFTER,
    WORKERS,
)

_TABLES = (
    *(TOPICS.name, MEMBERS.name, OFFSETS.name, LISTED_GROUPS.name, CLUSTERS.name, RECORDS.name),
    *(WORKERS.name, CONNECTORS.name, STREAMS_MEMBERS.name, SUBTOPOLOGIES.name),
)


def validate(options: Namespace, known: KnownFiles) -> None:
    """Raise UserError for a mistake that shows without reading rows."""
    check_share(f"--max-{REJECTED_SHARE}", options.max_rejected_share)
    read_thresholds(options.thresholds)
    check_topology(options)
    with_settings(scenario_of(options.scenario), options.settings)
    own_assignors(options, brokers_of(options).rules())
    if options.fail_on_new and not options.previous:
        raise UserError(f"--{FAIL_ON_NEW}: needs an earlier audit; give --previous")
    if options.previous and known.knows(options.previous):
        previous_audit(LocalFiles(), options.previous, options.out)
    if options.history and known.knows(options.history):
        past_run(LocalFiles(), options.history)
    found = Namespace(**vars(options))
    if has_source(options):
        validate_source(options, known)
        check_growth(options)
        if not options.offsets_topic:
            check_connectors(options)
    elif not options.fleet or known.knows(options.fleet):
        find_tables(LocalFiles(), found)
    known.check_out(found)
    known.check_tables(found, *_TABLES)
    known.check_table(TIMINGS.name, options.timings, options.format)
    known.check_table(TOPICS_AFTER.name, options.partitions_after, options.format)


def find_tables(files: Files, options: Namespace) -> None:
    """Set the options of the tables to those in the folder of --fleet. Raises UserError if there is none."""
    for name in ("protocols", "clients", "command_config"):
        if getattr(options, name):
            raise UserError(f"--{name.replace('_', '-')}: not allowed with tables that exist already")
    if options.fleet:
        folder = options.fleet.rstrip("/")
        recorded_run(files, "--fleet", folder)
        set_tables(options, folder, files.names_in(folder))
    for name in (TOPICS.name, MEMBERS.name):
        if not getattr(options, name):
            where = f"{options.fleet!r} has no table {name}" if options.fleet else "no fleet is given"
            raise UserError(f"--{name}: {where}; give --fleet, or --topics and --members")
    check_growth(options)
    check_connectors(options)
    check_topologies(options)


def check_connectors(options: Namespace) -> None:
    """Raise UserError for connectors without the workers that run them."""
    if options.connectors and not options.workers:
        raise UserError("--connectors: needs workers, which run them; give --workers, or --offsets-topic")


def set_tables(options: Namespace, folder: str, existing: Collection[str]) -> None:
    """Set the options of the tables to those that exist in a folder; a table that is given is used instead."""
    for name in _TABLES:
        if name in existing and not getattr(options, name):
            setattr(options, name, f"{folder}/{name}")


def check_growth(options: Namespace) -> None:
    """Raise UserError for topics that are to grow without records, whose keys would move."""
    if options.partitions_after and not options.records:
        raise UserError(f"{PARTITIONS_AFTER}: needs records, whose keys may move; give --records")
