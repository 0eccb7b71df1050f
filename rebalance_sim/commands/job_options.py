"""The jobs and their options. Nothing here imports Spark or a kernel, so that ``--help`` answers at once."""

from argparse import ArgumentParser, Namespace, _ActionsContainer
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rebalance_sim.commands.configuration import CONFIG
from rebalance_sim.commands.options import items
from rebalance_sim.defaults import (
    ACCEPTABLE_RECOVERY_LAG,
    AUTO,
    CLIENT,
    CLUSTER,
    PROBING_INTERVAL_MS,
    SCENARIO,
    STORM_REBALANCES,
    STORM_WINDOW_MS,
    STRATEGY,
    TITLE,
    WARMUP_REPLICAS,
)
from rebalance_sim.engine.runs.figures import CHECKS, FINDING_CHECKS, FINDINGS
from rebalance_sim.kafka.clients import LIBRARIES
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.logs import FORMATS, LEVELS
from rebalance_sim.releases import BATCH_SIZE, NEWEST, OFFSETS_PARTITIONS, SCALA_VERSIONS, kafka_version
from rebalance_sim.sources.yaml_files import shipped_names

ALL, NONE = "all", "none"
PARTITIONS_AFTER, COMPARE = "--partitions-after", "--compare"
EXACT = "exact"
ELECTION, ASSIGNMENT, KEY, AGREEMENT = "election", "assignment", "key", "agreement"
"""What ``explain`` explains."""
REJECTED_SHARE = "rejected-share"
"""A limit of ``audit``, and of ``check`` for the records of runs; its others apply to their tables."""
MOST_REJECTED = 0.01
"""Its default in ``audit``, and in ``check`` if no limit is given."""
FAIL_ON_NEW = "fail-on-new"
_NEEDS_PACKAGE = "needs Spark's package spark-sql-kafka-0-10"


class OptionGroups(NamedTuple):
    """The sections of a job's help."""

    input: _ActionsContainer
    rules: _ActionsContainer
    output: _ActionsContainer
    logging: _ActionsContainer

    @classmethod
    def of(cls, parser: ArgumentParser) -> "OptionGroups":
        """Add the sections to a parser; those without an option are not shown."""
        return cls(*(parser.add_argument_group(name.capitalize()) for name in cls._fields))


def _add(group: _ActionsContainer, helps: Mapping[str, str], default: Any = "", **settings: Any) -> None:
    """Add options that have the same settings. Keys are an option and its metavar: ``--topics PATH``."""
    for usage, text in helps.items():
        option, metavar = usage.split()
        group.add_argument(option, default=default, metavar=metavar, help=text, **settings)


def _add_numbers(group: _ActionsContainer, defaults_and_helps: Mapping[str, tuple[int | None, str]]) -> None:
    """Add options with whole numbers, by keys as for ``_add``. A help without a default has it in its words."""
    for usage, (default, text) in defaults_and_helps.items():
        shown = text if default is None else f"{text} (default: {default})"
        _add(group, {usage: shown}, default, type=int)


def _sources(groups: OptionGroups, source: _ActionsContainer) -> None:
    """Add the sources of a fleet, of which one can be given, and what they need."""
    sources = {
        "--synthetic FLEET": f"generate a synthetic fleet: one of {', '.join(shipped_names('fleets'))}, or a YAML file "
        "like those in conf/fleets",
        "--kafka-tools DIR": "read the saved output of Kafka's command-line tools",
        "--bootstrap-servers HOST:PORT,...": "read a live cluster",
        "--offsets-topic WHERE": "read __consumer_offsets from a dump (Parquet with key, value, partition and offset, "
        f"or the output of the console consumer) or from brokers, kafka:HOST:PORT,... ({_NEEDS_PACKAGE})",
    }
    _add(source, sources, default=None)
    _add_numbers(groups.input, {"--groups N": (1000, "number of groups of a synthetic fleet")})
    _of_real_cluster(groups)


def _of_real_cluster(groups: OptionGroups) -> None:
    """Add what says more about a cluster and how to read it."""
    _cluster(groups)
    protocols = "candidate protocols of members of a real cluster whose own are unknown (default: the elected protocol)"
    _add(groups.input, {"--protocols NAME,...": protocols}, default=None)
    clients = "what you know of the clients of a real cluster, by group and client id: a YAML file like "
    _add(groups.input, {"--clients FILE": f"{clients}docs/examples/clients.yaml"})
    _command_config(groups, "; with --bootstrap-servers also librdkafka's properties")


def _fleet(groups: OptionGroups) -> None:
    _sources(groups, groups.input.add_mutually_exclusive_group(required=True))
    groups.input.add_argument("--seed", type=int, default=0, help="random seed of a synthetic fleet (default: 0)")
    texts = {
        "--records-from TOPIC,...": f"also read the records of these topics of a live cluster ({_NEEDS_PACKAGE}, which "
        "is fetched automatically except under spark-submit)",
        "--topics PATH": "with --offsets-topic: topics table whose topic_id resolves the topics of consumer-protocol "
        "groups; its format follows from its name or first bytes",
    }
    _add(groups.input, texts, default=None)
    _output(groups)


def _elect(groups: OptionGroups) -> None:
    _tables(groups, "members")
    _election(groups)
    _output(groups)


def _assign(groups: OptionGroups) -> None:
    _tables(groups, "topics", "members")
    _offsets(groups, "adds the lag of every member and the balance of lag in every group")
    about = (
        f"{STRATEGY} (default: the protocol that each group elects), {ALL} (every assignor of the Kafka version), or "
        f"some of: {', '.join(_ASSIGNORS)}, MODULE:CLASS (an assignor of your own). Several strategies are compared "
        "with each other and with the optimum"
    )
    _strategy(groups, about)
    _assignors(groups)
    _election(groups)
    _output(groups)


def _partition(groups: OptionGroups) -> None:
    _add(groups.input, {"--topics PATH": "topics table"}, default=None, required=True)
    source = groups.input.add_mutually_exclusive_group(required=True)
    texts = {
        "--records PATH": "records table",
        "--keys PATH": "keys instead of records: a text file (.txt) with one key per line, or a table with a column "
        "`key`; each key is placed in every topic, or in that of its column `topic`",
    }
    _add(source, texts)
    _format(groups)
    _seed(groups)
    client = {
        "--client NAME,...|TOPIC=NAME,...": "place all records by the rules of these clients, once for each, or with "
        "TOPIC=NAME,... those of a topic by the rules of one (default: by the client in each record's column `client`, "
        f"{CLIENT} if there is none); allowed: {', '.join(CLIENTS)}"
    }
    _add(groups.rules, client)
    groups.rules.add_argument(
        "--heaviest-keys",
        choices=["sketch", EXACT],
        default="sketch",
        help="search the heaviest keys of a partition in its 32 heaviest of 4,096 buckets (sketch) or among all its "
        "keys (exact; more memory and time); default: sketch",
    )
    _producers(groups.rules)
    what_ifs = {
        f"{PARTITIONS_AFTER} N|PATH": "report which keys and records move if every topic gets N partitions, or those "
        "of another topics table; topics missing from that table keep their partitions",
        f"{COMPARE} NAME,...": "report for each two of these clients how many keys they place in the same partition",
    }
    _add(groups.rules, what_ifs)
    _output(groups)


def _producers(rules: _ActionsContainer) -> None:
    rules.add_argument(
        "--batches",
        action="store_true",
        help="simulate producer batches even if every record has a partition or a key (default: only if some record "
        "has neither, since its partition depends on batches)",
    )
    numbers = {
        "--batch-size BYTES": (BATCH_SIZE, "batch.size"),
        "--linger-ms MS": (None, "linger.ms (default: that of Java clients of --kafka-version)"),
    }
    _add_numbers(rules, numbers)
    release = f"Kafka release whose default linger.ms applies (default: {NEWEST})"
    _add(rules, {"--kafka-version VERSION": release}, default=NEWEST)
    rules.add_argument(
        "--not-adaptive",
        action="store_true",
        help="set partitioner.adaptive.partitioning.enable=false: ignore queue sizes when choosing a partition",
    )


def _simulate(groups: OptionGroups) -> None:
    _tables(groups, "topics", "members")
    _offsets(groups, "adds the lag that waits longer, and in which groups")
    texts = {
        "--scenario NAME|FILE": "the scenario to play in every group: a YAML file, or one of "
        + ", ".join(shipped_names("scenarios")),
        "--events PATH": "events table: further events of single groups",
    }
    _add(groups.input, texts)
    _timings(groups)
    _streams_tables(
        groups, "adds streams groups, which are simulated process by process", "subtopologies of these groups"
    )
    about = (
        f"the assignors that all consumers offer: {STRATEGY} (the default: each consumer's own list), {ALL} of the "
        "Kafka version, names of Kafka's assignors, or MODULE:CLASS (an assignor of your own)"
    )
    _strategy(groups, about)
    _assignors(groups)
    _settings(groups)
    _timeline(groups, "groups whose timeline is recorded")
    _add(groups.output, {"--follow GROUP": "a group whose timeline is recorded and printed as a log"})
    about = "simulate other settings and report what they would save"
    groups.rules.add_argument("--advice", action="store_true", help=about)
    storms = {
        "--storm-rebalances N": (STORM_REBALANCES, "rebalances within the window that make a storm"),
        "--storm-window-ms MS": (STORM_WINDOW_MS, "window of a storm"),
    }
    _add_numbers(groups.rules, storms)
    _election(groups)
    _output(groups)


def _timeline(groups: OptionGroups, which: str) -> None:
    about = f"{which}: their ids, {ALL} or {NONE} (the default)"
    _add(groups.output, {"--timeline GROUP,...": about}, default=NONE)


def _settings(groups: OptionGroups) -> None:
    about = "assumptions about brokers, network and applications, e.g. network_ms=5; overrides the scenario"
    _add(groups.rules, {"--settings NAME=VALUE,...": about})


def _timings(groups: OptionGroups) -> None:
    about = "timings table written by history: its times replace the assumed ones of each group"
    _add(groups.input, {"--timings PATH": about})


def _audit(groups: OptionGroups) -> None:
    source = groups.input.add_mutually_exclusive_group()
    fleet = {
        "--fleet DIR": "folder that fleet wrote: its topics, members, offsets, listed groups, clusters, records, and "
        "those about the tasks of Kafka Connect and Kafka Streams"
    }
    _add(source, fleet)
    _sources(groups, source)
    instead = {f"--{table} PATH": f"{table} table, instead of the fleet's" for table in ("topics", "members")}
    _add(groups.input, instead)
    _format(groups)
    _offsets(groups, "adds findings about lag and about groups without members")
    tables = {
        "--listed-groups PATH": "table of the groups that the cluster lists: adds those that no other table shows, "
        "such as share groups",
        "--workers PATH": "workers table: adds findings about the connectors and tasks of Kafka Connect clusters",
        "--connectors PATH": "connectors table (default: the connectors that run)",
    }
    _add(groups.input, tables)
    _streams_tables(
        groups,
        "adds findings about the tasks of Kafka Streams",
        "subtopologies table of these applications; with --offsets-topic that of classic applications, in place of "
        "what is inferred from their tasks",
    )
    about_keys = {
        "--records PATH": "records table: adds findings about keys",
        f"{PARTITIONS_AFTER} PATH": "topics table with the partitions that topics are to have: adds findings about "
        "keys that move (needs records)",
    }
    _add(groups.input, about_keys)
    rollout = "the rollout that is simulated: a YAML file, or a scenario that simulate has, such as deployment "
    _add(groups.input, {"--scenario NAME|FILE": f"{rollout}(default: {SCENARIO})"}, default=SCENARIO)
    _timings(groups)
    _settings(groups)
    _assignors(groups)
    _add(groups.rules, {"--thresholds FILE": "YAML file with the thresholds of findings, like conf/audit.yaml"})
    rejected = (
        "exit with code 4, after everything is written, if more of an input's rows are rejected, or if a group could "
        f"not be read at all; 0 to 1, where 1 accepts everything (default: {MOST_REJECTED})"
    )
    _add(groups.output, {f"--max-{REJECTED_SHARE} SHARE": rejected}, default=MOST_REJECTED, type=float)
    earlier = {
        "--previous DIR": "folder of an earlier audit: report what has changed since. Of a pattern such as "
        "'out/*/audit', the last finished audit by name, before --out if that matches too; without one, nothing is "
        "compared",
        "--history DIR": "output folder of history: show why groups rebalanced repeatedly, what would have prevented "
        "that, when the fleet rebalanced, and how often predictions would have been right",
    }
    _add(groups.input, earlier)
    groups.output.add_argument(
        f"--{FAIL_ON_NEW}",
        choices=list(FINDING_CHECKS),
        help="exit with code 5, after everything is written, if a finding of at least this severity is new or worse "
        "than in the earlier audit (needs --previous)",
    )
    _seed(groups)
    _election(groups)
    _output(groups)


def _history(groups: OptionGroups) -> None:
    dumps = (
        "read __consumer_offsets from dumps as for fleet; several, such as those of different days, are merged by "
        f"offset. Brokers, kafka:HOST:PORT,..., come last ({_NEEDS_PACKAGE})"
    )
    _add(groups.input, {"--offsets-topic WHERE,...": dumps}, default=None, required=True)
    keep = {
        "--keep FOLDER": "copy the brokers' new records to Parquet files in this folder, and read all that it has: the "
        "copy grows with each run, and outlives the topic's compaction"
    }
    _add(groups.input, keep)
    _of_real_cluster(groups)
    texts = {
        "--topics PATH": "topics table of today: names the topics of consumer-protocol groups by topic_id, and has the "
        "numbers of partitions and the racks with which the past is predicted",
        "--broker-logs PATH,...": "log files of the brokers, or folders of them: measure how long members took to "
        "join, to revoke and to come back",
        "--groups GROUP,...": "read these groups only (default: all)",
        "--since TIME": "leave out earlier generations; a date or time in UTC, ISO 8601",
        "--until TIME": "leave out later generations; a date or time in UTC, ISO 8601",
    }
    _add(groups.input, texts)
    _format(groups)
    _assignors(groups)
    _brokers(groups)
    _output(groups)


def _connect(groups: OptionGroups) -> None:
    source = groups.input.add_mutually_exclusive_group(required=True)
    sources = {
        "--workers PATH": "workers table",
        "--offsets-topic WHERE": "read the workers from __consumer_offsets: Parquet with key, value, partition and "
        f"offset, or brokers, kafka:HOST:PORT,... ({_NEEDS_PACKAGE})",
        "--rest-output FILE": "read workers and connectors from the saved output of GET "
        "/connectors?expand=info&expand=status",
    }
    _add(source, sources)
    texts = {
        "--connectors PATH": "connectors table (default: the connectors that run)",
        "--config-topic GROUP=WHERE,...": "read the connectors of a group from its config topic: what "
        "kafka-console-consumer.sh printed of it with print.key=true, Parquet with key, value and offset, or "
        "kafka:TOPIC at the brokers of --offsets-topic",
        "--source-topics PATH": "topics table of the clusters from which MirrorMaker 2 replicates, named as in "
        "source.cluster.alias: adds which partitions each task of its connectors replicates",
        "--source-offsets PATH": "offsets table of these clusters: adds the consumer groups of each task of connectors "
        "for checkpoints",
    }
    _add(groups.input, texts)
    _cluster(groups)
    group = "group.id of the workers in the output of the REST API, which does not have it (default: connect)"
    _add(groups.input, {"--group GROUP": group}, default="connect")
    _command_config(groups)
    _format(groups)
    _seed(groups)
    scenario = {
        "--scenario NAME|FILE": "the scenario to play in every Connect cluster: a YAML file, or one of conf/scenarios, "
        f"such as {SCENARIO} (default: a rebalance now, and those that follow from it)"
    }
    _add(groups.input, scenario)
    about = "play it with other values of scheduled.rebalance.max.delay.ms, too, and report what they would save"
    groups.rules.add_argument("--advice", action="store_true", help=about)
    _settings(groups)
    _brokers(groups)
    _output(groups)


def _cluster(groups: OptionGroups) -> None:
    _add(groups.input, {"--cluster NAME": f"cluster name of the rows read (default: {CLUSTER})"}, default=CLUSTER)


def _command_config(groups: OptionGroups, more: str = "") -> None:
    about = f"client properties file for the brokers, as for Kafka's tools{more}"
    _add(groups.input, {"--command-config FILE": about}, default=None)


def _streams_tables(groups: OptionGroups, why: str, subtopologies: str) -> None:
    tables = {"--streams-members PATH": f"streams_members table: {why}", "--subtopologies PATH": subtopologies}
    _add(groups.input, tables)
    _topology(groups, "of applications whose subtopologies no table has")


def _topology(groups: OptionGroups, whose: str) -> None:
    _add(groups.input, {"--topology GROUP=FILE,...": f"files with the output of Topology.describe() {whose}"})


def _streams(groups: OptionGroups) -> None:
    source = groups.input.add_mutually_exclusive_group(required=True)
    sources = {
        "--streams-members PATH": "table of the members of streams groups",
        "--offsets-topic WHERE": "read members and subtopologies from __consumer_offsets: Parquet with key, value, "
        f"partition and offset or brokers, kafka:HOST:PORT,... ({_NEEDS_PACKAGE})",
    }
    _add(source, sources)
    subtopologies = {
        "--subtopologies PATH": "subtopologies table, with --streams-members; with --offsets-topic that of classic "
        "applications, in place of what is inferred from their tasks"
    }
    _add(groups.input, subtopologies)
    _topology(groups, "of applications, in place of --subtopologies")
    topics = "topics table: a subtopology has as many tasks as partitions"
    _add(groups.input, {"--topics PATH": topics}, default=None, required=True)
    _cluster(groups)
    _command_config(groups)
    _format(groups)
    leave = "members, processes or client ids that leave before the tasks are assigned"
    _add(groups.input, {"--leave NAME,...": leave})
    _add(groups.input, {"--join N": "new processes that join each group, with a member each"}, default=0, type=int)
    numbers = {
        "--standby-replicas N": (
            None,
            "num.standby.replicas (default: that of each streams group's last assignment, or of the subtopologies "
            "table)",
        ),
        "--max-warmup-replicas N": (WARMUP_REPLICAS, "max.warmup.replicas of classic applications"),
        "--restore-rate N": (
            None,
            "records per second that a thread restores: adds when tasks have restored their state, and of classic "
            "applications the probing rebalances until no task moves any more (needs changelogs of the subtopologies "
            "and end_offsets of these topics)",
        ),
        "--acceptable-recovery-lag N": (ACCEPTABLE_RECOVERY_LAG, "acceptable.recovery.lag of classic applications"),
        "--probing-rebalance-interval-ms MS": (
            PROBING_INTERVAL_MS,
            "probing.rebalance.interval.ms of classic applications",
        ),
    }
    _add_numbers(groups.input, numbers)
    scenario = {
        "--scenario NAME|FILE": "the scenario to simulate in every streams group, process by process: a YAML file, or "
        f"one that simulate has, such as {SCENARIO}"
    }
    _add(groups.input, scenario)
    _settings(groups)
    _timeline(groups, "groups whose simulated timeline is recorded")
    _seed(groups)
    _brokers(groups)
    _output(groups)


def _check(groups: OptionGroups) -> None:
    _runs(groups)
    limits = {f"--max-{of.name} N": f"limit for: {of.description} ({', '.join(of.tables)})" for of in CHECKS}
    _add(groups.rules, limits, default=None, type=float)
    severities = f"limits for findings of an audit by their severity ({', '.join(FINDING_CHECKS)}), such as error=0"
    _add(groups.rules, {f"--max-{FINDINGS} SEVERITY=N,...": severities})
    rejected = "limit for: rejected share of an input's rows, 0 to 1"
    _add(groups.rules, {f"--max-{REJECTED_SHARE} SHARE": rejected}, default=None, type=float)


def _report(groups: OptionGroups) -> None:
    _runs(groups)
    _out(groups, "the page and its charts")
    _add(groups.output, {"--title TEXT": f"title of the page (default: {TITLE})"}, default=TITLE)
    shown = {
        "--groups GROUP,...": "groups whose details and timelines are shown: groups of an audit, or those that "
        "simulate --timeline has recorded; an id that contains commas must be given alone (default: those that matter "
        "most)"
    }
    _add(groups.output, shown)
    _dry_run(groups.output)


def _explain(groups: OptionGroups) -> None:
    groups.input.add_argument(
        "what",
        choices=[ELECTION, ASSIGNMENT, KEY, AGREEMENT],
        metavar="WHAT",
        help=f"{ELECTION}, {ASSIGNMENT}, {KEY} or {AGREEMENT} (whether clients place keys alike; no records needed)",
    )
    tables = {
        "--members PATH": f"members table, for {ELECTION} and {ASSIGNMENT}",
        "--topics PATH": f"topics table, for {ASSIGNMENT}, and for {KEY} and {AGREEMENT} instead of --partitions",
    }
    _add(groups.input, tables, default=None)
    _format(groups)
    names = {
        "--group GROUP": "the group, if the members are of several",
        "--cluster NAME": "the cluster, if the group or the topic is in several",
        "--topic TOPIC": "the topic of the partition or of the key",
    }
    _add(groups.input, names, default=None)
    numbers = {
        "--partition N": f"the partition whose owner is explained, for {ASSIGNMENT}",
        "--partitions N": f"partitions of the topic, for {KEY} and {AGREEMENT}",
    }
    _add(groups.input, numbers, default=None, type=int)
    keys = {"--key TEXT": "the key, as text", "--key-hex HEX": "the key, as hexadecimal bytes"}
    _add(groups.input.add_mutually_exclusive_group(), keys, default=None)
    clients = f"clients that send the key (default: {CLIENT}), or that are compared; allowed: {', '.join(CLIENTS)}"
    _add(groups.rules, {"--client NAME,...": clients}, default=CLIENT)
    _strategy(groups, f"{STRATEGY} (default: the protocol that the group elects), or assignors as for assign")
    _assignors(groups)
    _brokers(groups)


def _tables(groups: OptionGroups, *tables: str) -> None:
    _add(groups.input, {f"--{table} PATH": f"{table} table" for table in tables}, default=None, required=True)
    _format(groups)
    _seed(groups)


def _seed(groups: OptionGroups) -> None:
    groups.rules.add_argument(
        "--seed",
        type=int,
        default=0,
        help="seed of random draws in simulations and producers; elections and assignments make none (default: 0)",
    )


def _format(groups: OptionGroups) -> None:
    about = "format of inputs whose names do not show it, any that Spark can read "
    _add(groups.input, {"--format FORMAT": f"{about}({AUTO}, the default: by their first bytes)"}, default=AUTO)


def _offsets(groups: OptionGroups, effect: str) -> None:
    _add(groups.input, {"--offsets PATH": f"offsets table: {effect}"})


def _strategy(groups: OptionGroups, about: str) -> None:
    _add(groups.rules, {"--strategy NAME,...": about}, default=STRATEGY)


def _assignors(groups: OptionGroups) -> None:
    about = "assignors of your own: groups may elect them, and --strategy may name them"
    _add(groups.rules, {"--assignors MODULE:CLASS,...": about})


def _brokers(groups: OptionGroups) -> None:
    release = f"Kafka release of the brokers, and of Java clients (default: {NEWEST})"
    _add(groups.rules, {"--kafka-version VERSION": release}, default=NEWEST)
    groups.rules.add_argument(
        "--scala-version",
        choices=SCALA_VERSIONS,
        help="Scala version of the brokers' build, which decides ties of elections before Kafka 4.0 (default: that of "
        "the build that Kafka recommended for the release)",
    )
    client = "Kafka release of Java clients for which members name none (default: that of --kafka-version)"
    _add(groups.rules, {"--client-version VERSION": client}, default=None)
    clusters = "clusters table: the brokers of each cluster, where they differ from these options"
    _add(groups.input, {"--clusters PATH": clusters})


def _election(groups: OptionGroups) -> None:
    _brokers(groups)
    about = "offsets.topic.num.partitions of the brokers: decides each group's coordinator"
    _add_numbers(groups.rules, {"--offsets-partitions N": (OFFSETS_PARTITIONS, about)})


def _runs(groups: OptionGroups) -> None:
    _add(groups.input, {"--runs DIR,...": "folders of finished runs of the other jobs"}, default=None, required=True)


def _output(groups: OptionGroups) -> None:
    _out(groups, "the outputs")
    written = "format of the outputs, any that Spark can write (default: parquet)"
    _add(groups.output, {"--output-format FORMAT": written}, default="parquet")
    groups.output.add_argument(
        "--on-bad-input",
        choices=["quarantine", "fail"],
        default="quarantine",
        help="rows that cannot be used: write them to rejects and continue, or fail (default: quarantine)",
    )
    planned = groups.output.add_mutually_exclusive_group()
    _dry_run(planned)
    planned.add_argument("--explain", action="store_true", help="print Spark's plan of every output; write nothing")


def _out(groups: OptionGroups, what: str) -> None:
    about = f"folder for {what}; those of an earlier run are replaced"
    _add(groups.output, {"--out DIR": about}, default=None, required=True)


def _dry_run(group: _ActionsContainer) -> None:
    group.add_argument(
        "--dry-run", action="store_true", help="check options and inputs and print what would be done; write nothing"
    )


def add_operation_options(groups: OptionGroups) -> None:
    """Add the options of every job: how it runs."""
    _add(groups.input, {f"{CONFIG} FILE": "YAML file with options, such as conf/rebalance-sim.yaml"}, default=None)
    groups.logging.add_argument(
        "--log-level", choices=LEVELS, default="info", help="level of the log on stderr (default: info)"
    )
    groups.logging.add_argument(
        "--log-format",
        choices=FORMATS,
        default="text",
        help="format of the log: text, or one JSON object per line (default: text)",
    )


_ASSIGNORS = (
    *kafka_version(NEWEST).assignors,
    *kafka_version(NEWEST).share_assignors,
    *(strategy for library in LIBRARIES.values() for strategy in library.strategies),
)


def _explains_more_than_keys(options: Namespace) -> bool:
    """Return whether groups are explained, or keys of a topic whose table only Spark can read."""
    if options.what not in (KEY, AGREEMENT):
        return True
    from rebalance_sim.commands.topic_partitions import known_partitions  # noqa: PLC0415 (help does not need it)

    return known_partitions(options) is None


def _has_runs_elsewhere(options: Namespace) -> bool:
    """Return whether a finished run is not in Parquet files of this machine."""
    from rebalance_sim.engine.runs.recorded_runs import is_in_local_parquet  # noqa: PLC0415 (help does not need it)

    return not all(map(is_in_local_parquet, items(options.runs)))


class Job(NamedTuple):
    """A job as its help shows it."""

    summary: str
    add_options: Callable[[OptionGroups], None]
    examples: tuple[str, ...]
    needs_spark: Callable[[Namespace], bool] = lambda _: True
    """Whether the job needs Spark for these options; otherwise its module in ``without_spark`` runs it."""


JOBS = {
    "fleet": Job(
        "create the input tables from a specification, Kafka's tools, live brokers or __consumer_offsets",
        _fleet,
        (
            "--kafka-tools docs/examples/kafka-4.3.1 --out out/fleet",
            "--bootstrap-servers broker:9092 --out out/fleet",
            "--synthetic default --groups 10000 --out out/fleet",
        ),
    ),
    "elect": Job(
        "predict the protocol that every group elects, and its leader",
        _elect,
        ("--members out/fleet/members --out out/elect",),
    ),
    "assign": Job(
        "predict the partitions of every member and the balance of every group",
        _assign,
        (
            "--topics out/fleet/topics --members out/fleet/members --out out/assign",
            "--topics out/fleet/topics --members out/fleet/members --strategy all --out out/compare",
        ),
    ),
    "partition": Job(
        "predict the partition of every record, and the load of every partition",
        _partition,
        (
            "--topics topics.json --records records.json --format json --out out/partition",
            "--topics topics.json --records records.json --format json --partitions-after 24 --out out/grown",
            "--topics topics.json --keys customers.txt --partitions-after 24 --out out/customers",
        ),
    ),
    "simulate": Job(
        "play a rollout on simulated groups, and report its rebalances, downtime and costs",
        _simulate,
        (
            "--topics out/fleet/topics --members out/fleet/members --scenario rolling-restart --advice "
            "--out out/rolling",
        ),
    ),
    "audit": Job(
        "find out what is wrong with every group, what to do about it, and whether it can migrate to KIP-848",
        _audit,
        (
            "--bootstrap-servers broker:9092 --out out",
            "--kafka-tools docs/examples/kafka-4.3.1 --out out",
            "--fleet out/fleet --out out/audit",
        ),
    ),
    "history": Job(
        "explain every past rebalance in __consumer_offsets: who joined, left or restarted, and what moved",
        _history,
        (
            "--offsets-topic dump --out out/history",
            "--offsets-topic dumps/monday,dumps/tuesday --groups billing,search --since 2026-03-01 --out out/history",
            "--offsets-topic kafka:broker:9092 --keep offsets-copy --out out/history",
        ),
    ),
    "connect": Job(
        "predict the rebalances of Kafka Connect clusters: where connectors and tasks run, and what a restart costs",
        _connect,
        (
            "--offsets-topic kafka:broker:9092 --scenario rolling-restart --advice --out out/connect",
            "--rest-output connectors.json --out out/connect",
            "--rest-output connectors.json --source-topics out/east/topics --out out/connect",
            "--workers workers.json --connectors connectors.json --scenario rolling-restart --out out/connect",
        ),
    ),
    "streams": Job(
        "predict where the tasks of Kafka Streams run, of streams groups (KIP-1071) and classic applications, and how "
        "much state is restored when members change",
        _streams,
        (
            "--offsets-topic kafka:broker:9092 --topics out/fleet/topics --join 1 --out out/streams",
            "--offsets-topic kafka:broker:9092 --topics out/fleet/topics --scenario rolling-restart --out out/streams",
            "--streams-members members.json --subtopologies subtopologies.json --topics topics.json --out out/streams",
        ),
    ),
    "explain": Job(
        "explain why a protocol won, why a partition or a key goes where it does, or whether clients agree on keys",
        _explain,
        (
            "election --members out/fleet/members --group billing",
            "assignment --topics out/fleet/topics --members out/fleet/members --group billing "
            "--topic payments --partition 0",
            "key --key TT0124 --partitions 15 --client java-3.3,librdkafka",
            "agreement --client java-3.3,librdkafka --partitions 12",
        ),
        needs_spark=_explains_more_than_keys,
    ),
    "check": Job(
        f"compare the figures of finished runs with limits, by default --max-{REJECTED_SHARE} {MOST_REJECTED} and, of "
        f"audits, --max-{FINDINGS} error=0; exit code 3 if one is exceeded",
        _check,
        ("--runs out/assign,out/rolling --max-imbalance 10 --max-rejected-share 0.01",),
        needs_spark=_has_runs_elsewhere,
    ),
    "report": Job(
        "write a page about finished runs, and its charts as pictures",
        _report,
        ("--runs out/assign,out/rolling --out out/report",),
    ),
}
