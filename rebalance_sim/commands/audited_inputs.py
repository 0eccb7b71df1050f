"""The inputs of a finished audit, for a page that shows more of some groups than its tables do."""

import logging
from argparse import Namespace
from functools import partial
from typing import Any, cast

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from rebalance_sim.api.audit import Audit, AuditOptions
from rebalance_sim.commands.brokers import clusters_of
from rebalance_sim.commands.options import brokers_of
from rebalance_sim.commands.strategies import own_assignors
from rebalance_sim.commands.topologies import read_subtopologies
from rebalance_sim.commands.validation.simulate import with_settings
from rebalance_sim.defaults import SCENARIO
from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.engine.runs.input_files import read_input
from rebalance_sim.errors import UserError
from rebalance_sim.sources.scenarios import scenario_of
from rebalance_sim.tables import MEMBERS, OFFSETS, STREAMS_MEMBERS, SUBTOPOLOGIES, TOPICS

_LOG = logging.getLogger(__name__)


def audit_of_run(run: FinishedRun) -> Audit | None:
    """Return the audit of a finished run over the inputs that its record names; None if they cannot be read."""
    options = Namespace(**{"scenario": SCENARIO, "settings": ""} | run.record["options"])
    try:
        own = own_assignors(options, brokers_of(options).rules())
        topics, members = (
            read_input(run.spark, table, getattr(options, table.name), options.format) for table in (TOPICS, MEMBERS)
        )
        scenario = with_settings(scenario_of(options.scenario), options.settings)
        clusters = clusters_of(options, partial(read_input, run.spark))
    except (AttributeError, PySparkException, UserError) as problem:
        _LOG.warning("details of groups are without members and timelines: %s", problem)
        return None
    given: dict[str, Any] = {
        "kafka_version": clusters, "seed": options.seed, "assignors": tuple(own.values()), "scenario": scenario
    } | _streams(run, options)  # fmt: skip
    return Audit(members, topics, _offsets(run, options), **cast(AuditOptions, given))


def _streams(run: FinishedRun, options: Namespace) -> dict[str, DataFrame]:
    """Return the members and subtopologies of Kafka Streams that an audit read, as far as they can be read."""
    path = getattr(options, STREAMS_MEMBERS.name, "")
    if not path:
        return {}
    try:
        read = partial(read_input, run.spark)
        members = read(STREAMS_MEMBERS, path, options.format)
        subtopologies, _ = read_subtopologies(run.spark, options, members, read)
    except (PySparkException, UserError) as problem:
        _LOG.warning("rollouts of streams groups are without timelines: %s", problem)
        return {}
    return {STREAMS_MEMBERS.name: members} | ({} if subtopologies is None else {SUBTOPOLOGIES.name: subtopologies})


def _offsets(run: FinishedRun, options: Namespace) -> DataFrame | None:
    """Return the offsets that an audit read; None if it read none, or if they cannot be read."""
    path = getattr(options, OFFSETS.name, "")
    if not path:
        return None
    try:
        return read_input(run.spark, OFFSETS, path, options.format)
    except (PySparkException, UserError) as problem:
        _LOG.warning("the lag of groups is shown without partitions: %s", problem)
        return None
