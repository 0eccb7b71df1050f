"""``audit``: find out what is wrong with each group, and what to do about it."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.api.audit import Audit, AuditOptions
from rebalance_sim.commands.audit_files import METRICS, SUMMARY, AuditFigures, metrics, summary
from rebalance_sim.commands.audit_summary import summarise_findings
from rebalance_sim.commands.brokers import broker_assumptions, clusters_of, untested_releases
from rebalance_sim.commands.configuration import DEFAULT
from rebalance_sim.commands.connect_assumptions import MEMORY, assumed_of_workers, assumed_times
from rebalance_sim.commands.console import Line, print_summary
from rebalance_sim.commands.fleet import write_fleet
from rebalance_sim.commands.job_options import FAIL_ON_NEW, REJECTED_SHARE
from rebalance_sim.commands.lag import LagTables, total_lag
from rebalance_sim.commands.new_runs import new_run
from rebalance_sim.commands.news import write_news
from rebalance_sim.commands.options import brokers_of, on_record
from rebalance_sim.commands.rejects import count_given, write_rejects
from rebalance_sim.commands.report import CHARTS, PAGE, plan_page, write_page
from rebalance_sim.commands.simulate import simulation_assumptions
from rebalance_sim.commands.strategies import own_assignors
from rebalance_sim.commands.streams_assumptions import assumed_of_rollouts
from rebalance_sim.commands.summary import summarise_read, summarise_run
from rebalance_sim.commands.timings import seen_in
from rebalance_sim.commands.topologies import read_subtopologies
from rebalance_sim.commands.validation.audit import find_tables, set_tables
from rebalance_sim.commands.validation.fleet import has_source
from rebalance_sim.commands.validation.report import missing_library
from rebalance_sim.commands.validation.simulate import with_settings
from rebalance_sim.commands.validation.topologies import check_topologies
from rebalance_sim.defaults import AUDIT_TITLE
from rebalance_sim.engine.audit.coverage import Coverage
from rebalance_sim.engine.audit.finding import Severity
from rebalance_sim.engine.audit.news import is_new_at
from rebalance_sim.engine.audit.since import Since, elapsed_ms, read_at_ms
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.engine.audit.unread import Unread, keeps_rejected_members
from rebalance_sim.engine.runs.assumed import LIBRARY, RELEASE
from rebalance_sim.engine.runs.earlier_audits import previous_audit
from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.engine.runs.hadoop_files import HadoopFiles
from rebalance_sim.engine.runs.past_runs import tables_of_history
from rebalance_sim.engine.runs.recorded_runs import RecordedRun, fleet_of
from rebalance_sim.engine.runs.run import Run, earlier_assumptions
from rebalance_sim.engine.spark.driver_rows import where_null
from rebalance_sim.engine.streams.application import CLASSIC, STREAMS
from rebalance_sim.engine.streams.classic import ASSUMED_OF_CLASSIC
from rebalance_sim.engine.tables.inputs import fit, union, usable
from rebalance_sim.errors import IncompleteError, NewsError
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.sources.audit_thresholds import read_thresholds
from rebalance_sim.sources.connect.stored_workers import ASSUMED_CONNECTORS, ASSUMED_DELAY
from rebalance_sim.sources.scenarios import scenario_of
from rebalance_sim.sources.streams.stored_groups import ASSUMED
from rebalance_sim.tables import (
    CONNECTORS,
    COSTS,
    ELECTIONS,
    FINDINGS,
    GENERATIONS,
    LISTED_GROUPS,
    MEMBERS,
    OFFSETS,
    OUTPUTS,
    RECORDS,
    REJECTS,
    STREAMS_BALANCE,
    STREAMS_MEMBERS,
    SUBTOPOLOGIES,
    TIMINGS,
    TOPICS,
    TOPICS_AFTER,
    VERDICTS,
    WORKERS,
    Table,
)
from rebalance_sim.wording import plural

_REPLACED = (*OUTPUTS, PAGE, CHARTS, SUMMARY, METRICS)
_MINUTE_MS = 60_000
_READ = (
    *(STREAMS_MEMBERS, TOPICS, MEMBERS, OFFSETS, RECORDS, TOPICS_AFTER, LISTED_GROUPS),
    *(TIMINGS, WORKERS, CONNECTORS),
)
"""Tables in the order in which they are read."""
_COUNTED = (
    *(MEMBERS, RECORDS, TOPICS_AFTER, LISTED_GROUPS, OFFSETS, TIMINGS, WORKERS, CONNECTORS),
    *(STREAMS_MEMBERS, SUBTOPOLOGIES),
)
"""Tables in the order in which their rows are printed, after those of topics."""


@dataclass(frozen=True)
class _Fleet:
    """The tables that are audited."""

    topics: DataFrame
    members: DataFrame
    tables: dict[Table, DataFrame]
    """All that are given."""
    assumptions: list[str]
    """What is assumed of described topologies."""

    @classmethod
    def read(cls, run: Run, options: Namespace) -> Self:
        """Read the tables that the options name."""
        paths = {table: getattr(options, _option(table)) for table in _READ}
        tables = {table: run.read(table, path, options.format) for table, path in paths.items() if path}
        streams = tables.get(STREAMS_MEMBERS)
        parts, assumed = read_subtopologies(run.spark, options, streams, run.read, reads_rows=run.reads_rows)
        tables |= {} if parts is None else {SUBTOPOLOGIES: parts}
        return cls(tables[TOPICS], tables[MEMBERS], tables, assumed)

    @property
    def offsets(self) -> DataFrame | None:
        """The committed offsets of groups."""
        return self.tables.get(OFFSETS)

    def options(self) -> dict[str, DataFrame]:
        """Return the tables that are options of an audit."""
        given = self.tables.keys() - {TOPICS, MEMBERS, OFFSETS}
        return {_option(table): self.tables[table] for table in given}

    def count(self, run: Run, used_topics: int, rejected: Mapping[str, int]) -> None:
        """Record the rows of the tables."""
        run.count_rows(TOPICS.name, run.number_of(self.topics), used_topics, rejected[TOPICS.name])
        count_given(run, {table: self.tables.get(table) for table in _COUNTED}, rejected)


def _option(table: Table) -> str:
    """Return the option that names a table."""
    return "partitions_after" if table is TOPICS_AFTER else table.name


def run(spark: SparkSession, options: Namespace) -> None:
    """Read a fleet, predict and simulate it, audit every group, and write findings, verdicts and what they rest on.

    Raises, when everything is written, IncompleteError if too much of the fleet could not be used, or else NewsError if
    something is new at the severity that an option names.
    """
    thresholds = read_thresholds(options.thresholds)
    scenario = with_settings(scenario_of(options.scenario), options.settings)
    version = brokers_of(options).rules()
    own = tuple(own_assignors(options, version).values())
    from_source = has_source(options)
    if not from_source:
        find_tables(HadoopFiles(spark), options)
    previous = previous_audit(HadoopFiles(spark), options.previous, options.out)
    asked, options.previous = options.previous, previous.folder if previous else ""
    run = new_run(spark, "audit", options)
    source = _read_source(run, options) if from_source else []
    fleet, read_by = _Fleet.read(run, options), fleet_of(HadoopFiles(spark), RecordedRun(run.out, run.record()))
    read = read_by.record if read_by else run.record()
    past = tables_of_history(HadoopFiles(spark), options.history, run.read)
    before = _offsets_before(run, previous, thresholds)
    earlier = _rejected_earlier(run, read_by)
    given: dict[str, Any] = {
        "kafka_version": clusters_of(options, run.read),
        "seed": options.seed,
        "assignors": own,
        "thresholds": thresholds,
        "scenario": scenario,
        "history": past,
        "read_at_ms": read_at_ms(read),
        **fleet.options(),
        **({} if earlier is None else {"rejects": earlier}),
        **({} if before is None else {"earlier_offsets": before[0], "elapsed_ms": before[1]}),
    }
    rules = Audit(fleet.members, fleet.topics, fleet.offsets, **cast(AuditOptions, given))
    if not from_source:
        run.begin(_REPLACED)
    run.report_progress(f"auditing every group, with the scenario {scenario.name} and a migration")
    audited = rules.outcomes(run.stage)
    written = run.write_outcomes(audited, [name for name in audited if name != REJECTS.name])
    rejects = write_rejects(run, union([audited[REJECTS.name], *rules.rejects_beside]), options.on_bad_input)
    fleet.count(run, audited.used_topics or 0, rejects)
    if past:
        number = run.number_of(past[GENERATIONS.name])
        run.count_rows(GENERATIONS.name, number, number, 0)
    seen = [] if rules.seen is None else seen_in(written[VERDICTS.name], rules.seen)
    assumed = [
        *earlier_assumptions(spark, options.members),
        *simulation_assumptions(scenario, seen),
        *_assumed_release(options),
        *_unknown_clients(fleet.members),
        *broker_assumptions(rules.clusters, (), written[ELECTIONS.name]),
        *_assumed_of_connect(fleet, scenario),
        *_assumed_of_streams(written),
        *fleet.assumptions,
    ]
    run.assumptions = list(dict.fromkeys(assumed))
    since = write_news(run, previous, written, thresholds, has_rates=before is not None)
    missing = missing_library()
    if not run.writes:
        _plan_files(run, missing)
        run.finish()
        return
    if not missing:
        write_page(run, [FinishedRun(run.out, run.record(), spark, run.tables)], AUDIT_TITLE, lambda _: rules)
    unread = Unread.of(
        written[FINDINGS.name], written[ELECTIONS.name], run.counts["out"][VERDICTS.name], run.counts, read_by
    )
    _write_files(run, AuditFigures.of(written[FINDINGS.name], written[VERDICTS.name], unread, since, run.started_at))
    run.finish()
    ended = _summarise_end(run, missing, read_by, untested_releases(rules.clusters))
    if asked and not previous:
        ended.append(f"no finished audit matches {asked}: nothing is compared")
    findings = summarise_findings(written[FINDINGS.name], written[VERDICTS.name], unread.sentence, since)
    lag = [] if fleet.offsets is None else total_lag(LagTables.of(written))
    print_summary([*findings, *lag, *_about_history(past, written[VERDICTS.name], read["started"]), *source, *ended])
    _check_complete(unread, options)
    _check_news(since, options)


def _offsets_before(run: Run, previous: RecordedRun | None, thresholds: Thresholds) -> tuple[DataFrame, int] | None:
    """Return the offsets of an earlier audit, and the time since; None unless both read brokers, some time apart."""
    if previous is None:
        return None
    fleet, elapsed = fleet_of(HadoopFiles(run.spark), previous), elapsed_ms(run.record(), previous.record)
    if fleet is None or OFFSETS.name not in fleet.written or elapsed < thresholds.growth_minutes * _MINUTE_MS:
        return None
    return run.read(OFFSETS, fleet.path(OFFSETS.name), fleet.output_format), elapsed


def _about_history(past: Mapping[str, DataFrame], verdicts: DataFrame, read: str) -> list[Line]:
    """Return how much of a history is about the audited groups, which were ``read`` then; nothing without one."""
    if not past:
        return []
    coverage = Coverage.of(past[GENERATIONS.name], verdicts)
    return [f"history: {coverage.sentence}", *(f"  {note}" for note in coverage.notes(read))]


def _rejected_earlier(run: Run, read_by: RecordedRun | None) -> DataFrame | None:
    """Return the rows that the run of ``fleet`` rejected, if there are any; no job may have read them."""
    if read_by is None or not read_by.written.get(REJECTS.name):
        return None
    rejects = run.read(REJECTS, read_by.path(REJECTS.name), read_by.output_format).select(*REJECTS.names)
    if keeps_rejected_members(read_by):
        return rejects.where(F.col("table") != MEMBERS.name)
    return rejects


def _check_complete(unread: Unread, options: Namespace) -> None:
    """Raise IncompleteError if more than the allowed share of the input could not be used."""
    if not unread.exceeds(options.max_rejected_share):
        return
    reached = (
        "" if unread.groups else f"; {unread.worst} is more than --max-{REJECTED_SHARE} {options.max_rejected_share}"
    )
    raise IncompleteError(f"{unread.sentence}{reached}. The output in {options.out} has everything else")


def _check_news(since: Since | None, options: Namespace) -> None:
    """Raise NewsError if a finding of the severity of ``--fail-on-new`` is new or worse."""
    if since is None or not options.fail_on_new or not is_new_at(since.changes, Severity(options.fail_on_new)):
        return
    severity = f"{options.fail_on_new} or worse" if options.fail_on_new != Severity.ERROR else options.fail_on_new
    raise NewsError(
        f"{since.title}: {since.counts}; --{FAIL_ON_NEW} does not allow a new {severity}. The output in {options.out} "
        "is complete"
    )


def _write_files(run: Run, figures: AuditFigures) -> None:
    """Write the summary and the figures beside the tables."""
    page = "" if missing_library() else f"{run.out.rstrip('/')}/{PAGE}"
    run.write_file(SUMMARY, summary(figures, page).encode())
    run.write_file(METRICS, metrics(figures).encode())


def _plan_files(run: Run, missing: str | None) -> None:
    """Add the files beside the tables to the outputs of a run that writes nothing."""
    if not missing:
        plan_page(run)
    for name in (SUMMARY, METRICS):
        run.write_file(name, b"")


def _summarise_end(run: Run, missing: str | None, read_by: RecordedRun | None, warnings: Sequence[str]) -> list[Line]:
    """Return what was read, and the page, which has the assumptions; without the page also those."""
    if missing:
        without = f"no page: {missing} is missing (pip install rebalance-sim[report])"
        return [*summarise_run(run), without]
    earlier = read_by.written.get(REJECTS.name, 0) if read_by else 0
    assumptions = f"{plural(len(run.assumptions), 'assumption')}, listed on the page"
    warned = [f"warning: {warning}" for warning in warnings]
    return [
        "",
        *summarise_read(run, earlier),
        *warned,
        assumptions,
        f"page: {run.out.rstrip('/')}/{PAGE}",
        f"output: {run.out}",
    ]


def _read_source(run: Run, options: Namespace) -> list[Line]:
    """Read the fleet from its source into the folder ``fleet`` of the output, as the job of this name does.

    Set the options of the tables to those in this folder. Return what there is to print about the source.
    """
    part = run.part("fleet", on_record(options) | {"out": f"{options.out.rstrip('/')}/fleet"})

    def begin(replaced: list[str]) -> None:
        run.begin(_REPLACED)
        part.begin(replaced)

    about = write_fleet(part, Namespace(**vars(options) | {"records_from": None}), begin)
    if SUBTOPOLOGIES.name in part.counts["out"]:
        # From __consumer_offsets, it has those of the table as well.
        options.subtopologies = ""
    set_tables(options, part.out, part.counts["out"])
    if run.reads_rows:
        check_topologies(options)
    run.options |= on_record(options)
    return [*about, *(["", "from the source:", *summarise_read(part)] if part.counts["out"].get(REJECTS.name) else [])]


def _assumed_of_connect(fleet: _Fleet, scenario: Scenario) -> list[str]:
    """Return what is assumed of Connect clusters, if there are any."""
    if WORKERS not in fleet.tables:
        return []
    connectors = [] if CONNECTORS in fleet.tables else [ASSUMED_CONNECTORS]
    times = assumed_times(scenario)
    return [*connectors, ASSUMED_DELAY, *assumed_of_workers(fleet.tables[WORKERS]), MEMORY, *times]


def _assumed_of_streams(written: Mapping[str, DataFrame]) -> list[str]:
    """Return what is assumed of applications of Kafka Streams with a predicted assignment, by their protocol."""
    if STREAMS_BALANCE.name not in written:
        return []
    balance = written[STREAMS_BALANCE.name]
    predicted = balance.where("error IS NULL").select("protocol").distinct().collect()
    assumed = {STREAMS: ASSUMED, CLASSIC: ASSUMED_OF_CLASSIC}
    rollouts = assumed_of_rollouts(written[COSTS.name], balance.where(F.col("protocol") == STREAMS))
    return [*(assumed[row["protocol"]] for row in sorted(predicted)), *rollouts]


def _unknown_clients(members: DataFrame) -> list[str]:
    """Return the assumption about members whose client library is unknown."""
    unknown = where_null(usable(fit(members, MEMBERS)), "client_library").count()
    if not unknown:
        return []
    return [LIBRARY.format(plural(unknown, "member"))]


def _assumed_release(options: Namespace) -> list[str]:
    """Return the assumption about brokers whose release neither an option nor a table has."""
    is_given = options.clusters or options.sources["kafka_version"] != DEFAULT
    return [] if is_given else [RELEASE.format(options.kafka_version)]
