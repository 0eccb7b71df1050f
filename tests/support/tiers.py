"""What ``make test-change`` runs of ``make test-real``: in full what a change touches, and a part of the rest.

``python -m tests.support.tiers`` prints it; ``run MARKERS OPTIONS`` runs those of its tests that have the markers, with
options of pytest; ``passed`` records that the checks of HEAD have passed on this machine, and ``seed`` prints the seed
of HEAD's random cases.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from rebalance_sim.kafka.clients import LIBRARIES
from tests.support.changes import ROOT, Imports, changed_files, git

_REGISTRIES = ("rebalance_sim/kafka/assignors/__init__.py", "rebalance_sim/kafka/clients/__init__.py")
"""They lead to every assignor: a test that uses them depends on those of its tier."""
_LIBRARIES = [name.replace("-", "_") for name, library in LIBRARIES.items() if library.strategies]
"""Their folders below ``assignors``."""
MINUTES = 10.0
"""How long tiers that a change touches may run in full. One that touches nearly everything would take an hour."""
SHARE = 10
"""A live comparison that nothing touches draws one in so many of its random cases."""
_RULES = ("tests/", "rebalance_sim/kafka/", "rebalance_sim/releases.py")
_OF_ALL = ("requirements.txt",)
"""Inputs of every tier."""
_HOW_JOBS_RUN = (
    "jobs/",
    "rebalance_sim/cli.py",
    "rebalance_sim/engine/runs/",
    "rebalance_sim/engine/spark/",
    *(f"rebalance_sim/kafka/runtime/{name}" for name in ("compiled_code", "kernel", "numba_internals", "rule_keys")),
)
_WHAT_PAGES_SHOW = tuple(f"rebalance_sim/{part}/" for part in ("api", "commands", "engine/audit", "report", "sources"))
_AROUND_RULES = (
    *(f"rebalance_sim/{part}" for part in ("api/", "cli", "commands/", "defaults", "engine/", "report/", "sources/")),
    *(f"rebalance_sim/{part}" for part in ("tables", "wording")),
    "jobs/",
)
_SOURCES_OF_GROUPS = tuple(f"rebalance_sim/sources/{part}" for part in ("kafka_tools/", "scenarios", "synthetic/"))
_PACKING = ("rebalance_sim/environment.py", "rebalance_sim/preparation.py")
_CLUSTERS = ("tests/support/cluster/", "tests/support/pom.xml", "rebalance_sim/sources/live_cluster/")
_OF_LIBRARIES = ("rebalance_sim/kafka/clients/", "rebalance_sim/kafka/assignors/by_library.py")
_PROGRAMS = ("tests/real/client_libraries/",)


@dataclass(frozen=True)
class Tier:
    """Test files that run together, and what they depend on."""

    name: str
    minutes: float
    """How long it takes in full on two cores, beside others."""
    files: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    """Beginnings of the paths of files that count although no import leads to them."""
    within: tuple[str, ...] = ("tests/",)
    """Beginnings of the paths of the files into which imports are followed.

    The rows of a job are the same wherever it runs, and ``make test`` compares them on every change. So the tests of
    an environment depend on what starts jobs and moves their files there, and not on the rules and tables.
    """
    rules: tuple[str, ...] = ()
    """Beginnings of the paths of the rules that it tests: they count with all that they import."""
    always: bool = False
    """Whether a part of it runs if nothing that it depends on has changed, or if it is postponed."""
    reads_text: bool = False
    """Whether docstrings count."""


def _live(name: str, minutes: float, file: str, rules: Sequence[str], inputs: tuple[str, ...] = ()) -> Tier:
    paths = tuple(f"rebalance_sim/kafka/{each}" for each in rules)
    return Tier(name, minutes, (file,), inputs, _RULES, paths, always=True)


def _with_oracle(name: str, minutes: float, file: str, *rules: str) -> Tier:
    return _live(name, minutes, f"tests/oracle/{file}", rules, _ORACLE)


_ORACLE = tuple(
    f"tests/oracle/{folder}"
    for folder in ("pom.xml", "kafka-", "shared/", "groups", "assignors-", "server-", "producers", "coordinator")
)
TIERS = (
    _with_oracle(
        "live: elections and consumers' assignors",
        1.0,
        "test_live.py",
        "assignors/java/",
        "assignors/sticky/",
        "election",
        "rebalances",
        "votes",
    ),
    _with_oracle("live: server-side assignors", 0.5, "test_live_server_assignors.py", "assignors/server/"),
    _with_oracle(
        "live: streams groups", 0.5, "test_live_streams_groups.py", "assignors/streams/", "coordinator/streams/"
    ),
    _with_oracle("live: classic groups", 0.5, "test_live_coordinator.py", "coordinator/classic/"),
    _with_oracle("live: consumer-protocol groups", 0.5, "test_live_consumer_groups.py", "coordinator/"),
    _with_oracle(
        "live: share groups", 0.5, "test_live_share_groups.py", "coordinator/share/", "assignors/server/simple"
    ),
    _with_oracle(
        "live: conversations with streams groups",
        0.5,
        "test_live_streams_coordinator.py",
        "coordinator/streams/",
        "assignors/streams/",
    ),
    _with_oracle("live: partitioners", 0.5, "test_live_partitioners.py", "partitioners/"),
    _with_oracle("live: protocol bytes", 0.5, "test_live_protocol_bytes.py", "wire/"),
    _with_oracle("live: Kafka Streams", 2.0, "test_live_kafka_streams.py", "streams/", "wire/"),
    _with_oracle("live: Connect clusters", 5.5, "test_live_connect.py", "connect/"),
    _with_oracle("live: MirrorMaker 2", 2.0, "test_live_mirror.py", "connect/mirror", "runtime/hash_order"),
    _with_oracle("live: offsets topic", 0.5, "test_live_offsets_topic.py", "wire/"),
    _live(
        "live: other libraries' assignors",
        1.0,
        "tests/real/test_client_assignors.py",
        ["clients/", *(f"assignors/{library}/" for library in _LIBRARIES)],
        _PROGRAMS,
    ),
    _live("invariants", 0.5, "tests/kafka/assignors/test_invariants.py", ["assignors/"]),
    Tier(
        "brokers",
        1.5,
        ("tests/real/test_live_cluster.py",),
        (*_CLUSTERS, "README.md", "docs/live-clusters.md"),
        always=True,
    ),
    Tier(
        "Airflow",
        2.0,
        ("tests/real/airflow/test_dag.py",),
        (*_HOW_JOBS_RUN, "conf/airflow/", "docs/airflow.md", "requirements-airflow.txt", "rebalance_sim/commands/"),
    ),
    Tier(
        "YARN",
        1.5,
        ("tests/real/test_yarn.py",),
        (*_HOW_JOBS_RUN, *_PACKING, "docs/clusters.md", "tests/support/yarn/", "tests/support/pom.xml"),
    ),
    Tier(
        "Spark cluster",
        2.0,
        ("tests/real/test_spark_cluster.py", "tests/real/test_interrupted_runs.py"),
        (*_HOW_JOBS_RUN, *_PACKING),
    ),
    Tier(
        "Spark Connect",
        0.5,
        ("tests/real/test_spark_connect.py",),
        ("rebalance_sim/api/", "rebalance_sim/report/", *_HOW_JOBS_RUN),
    ),
    Tier("wheel", 1.0, ("tests/real/test_wheel.py",), ("pyproject.toml", "conf/", *_HOW_JOBS_RUN, *_PACKING)),
    Tier(
        "fresh clone",
        2.5,
        ("tests/real/test_fresh_clone.py", "tests/real/test_preparation.py"),
        ("Makefile", "pyproject.toml", "requirements-java.txt", "docs/audit.md", *_HOW_JOBS_RUN, *_PACKING),
    ),
    Tier(
        "browser",
        1.5,
        ("tests/real/test_browser.py",),
        ("rebalance_sim/report/", "tests/real/accessibility/", "docs/page", "docs/notebook"),
    ),
    Tier(
        "other libraries on a broker",
        2.0,
        ("tests/real/test_library_groups.py", "tests/real/test_client_libraries.py"),
        (*_CLUSTERS, *_PROGRAMS, "rebalance_sim/kafka/partitioners/", *_OF_LIBRARIES),
    ),
    Tier(
        "recognized clients on a broker",
        3.0,
        ("tests/real/test_recognized_clients.py",),
        (
            *(*_CLUSTERS, *_PROGRAMS, *_OF_LIBRARIES),
            *("rebalance_sim/kafka/group_kinds.py", "rebalance_sim/sources/offsets_topic/"),
            "rebalance_sim/sources/kafka_tools/",
        ),
    ),
    Tier(
        "remedies on a broker",
        3.0,
        ("tests/real/test_remedies.py",),
        (*_CLUSTERS, *_PROGRAMS, *_OF_LIBRARIES, "rebalance_sim/engine/audit/"),
    ),
    Tier(
        "a Connect cluster on a broker",
        2.0,
        ("tests/real/test_connect_clusters.py", "tests/real/test_mirror_maker.py"),
        (
            *(*_CLUSTERS, "rebalance_sim/kafka/connect/", "rebalance_sim/sources/connect/"),
            *("rebalance_sim/engine/connect/", "rebalance_sim/kafka/wire/connect_protocol.py"),
        ),
    ),
    Tier(
        "a streams group on a broker",
        1.5,
        ("tests/real/test_streams_groups.py",),
        (
            *(*_CLUSTERS, *_PROGRAMS, "rebalance_sim/kafka/assignors/streams/", "rebalance_sim/sources/streams/"),
            *("rebalance_sim/engine/streams/", "rebalance_sim/kafka/wire/streams_records.py"),
            *("rebalance_sim/kafka/coordinator/streams/", "rebalance_sim/kafka/simulation/streams_rollouts.py"),
        ),
    ),
    Tier(
        "a classic application of Kafka Streams on a broker",
        1.0,
        ("tests/real/test_streams_applications.py",),
        (
            *(*_CLUSTERS, *_PROGRAMS, "rebalance_sim/kafka/streams/", "rebalance_sim/sources/streams/"),
            *("rebalance_sim/engine/streams/", "rebalance_sim/kafka/wire/streams_protocol.py"),
        ),
    ),
    Tier("predicted groups on a broker", 1.5, ("tests/real/test_predicted_groups.py",), _CLUSTERS),
    Tier("migrations on a broker", 2.0, ("tests/real/test_migrations.py",), (*_CLUSTERS, *_PROGRAMS)),
    Tier(
        "times on a broker",
        2.0,
        (
            *("tests/real/test_measured_latencies.py", "tests/real/test_measured_times.py"),
            "tests/real/test_turning_points.py",
        ),
        (*_CLUSTERS, "rebalance_sim/kafka/simulation/latencies.py", "rebalance_sim/engine/audit/turning_points.py"),
    ),
    Tier("an audited cluster", 1.5, ("tests/real/test_audited_cluster.py", "tests/real/test_audit_news.py"), _CLUSTERS),
    Tier(
        "topics of a broker",
        2.5,
        (
            *("tests/real/test_topic_records.py", "tests/real/test_offsets_topic.py"),
            *("tests/real/test_share_groups.py", "tests/real/test_history.py"),
            "tests/real/test_random_history.py",
        ),
        (
            *(*_CLUSTERS, *_PROGRAMS, "rebalance_sim/sources/offsets_topic/"),
            *("rebalance_sim/kafka/history/", "rebalance_sim/engine/history/"),
        ),
    ),
    Tier(
        "whole runs",
        3.0,
        (
            "tests/commands/test_audit.py",
            "tests/commands/test_jobs.py",
            "tests/commands/test_mutilated_captures.py",
            "tests/commands/test_operations.py",
            "tests/commands/test_pasted_fleet.py",
            "tests/commands/test_simulate.py",
            "tests/commands/test_small_runs.py",
            "tests/engine/groups/test_sorted_members.py",
            "tests/engine/runs/test_local_run.py",
            "tests/engine/runs/test_out_folders.py",
            "tests/engine/spark/test_java_output.py",
            "tests/report/test_page.py",
        ),
        _AROUND_RULES,
    ),
    Tier(
        "audits",
        2.0,
        (
            "tests/commands/test_audit_tasks.py",
            "tests/engine/audit/test_audits.py",
            "tests/engine/audit/test_connect_clusters.py",
            "tests/engine/audit/test_lags.py",
            "tests/engine/audit/test_leaders_of_older_brokers.py",
            "tests/engine/audit/test_news.py",
            "tests/engine/audit/test_past.py",
            "tests/engine/audit/test_remedies.py",
            "tests/engine/audit/test_share_groups.py",
            "tests/engine/audit/test_streams_applications.py",
            "tests/engine/audit/test_streams_rollouts.py",
            "tests/report/test_audit.py",
            "tests/report/test_past_rebalances.py",
            "tests/report/test_pasted_commands.py",
            "tests/report/test_urgent_groups.py",
        ),
        ("rebalance_sim/kafka/", *_AROUND_RULES),
    ),
    Tier(
        "groups",
        0.5,
        (
            "tests/api/test_explain.py",
            "tests/commands/test_explain.py",
            "tests/engine/groups/test_comparison.py",
            "tests/engine/groups/test_custom_assignors.py",
            "tests/engine/groups/test_mixed_fleets.py",
            "tests/engine/groups/test_prediction.py",
            "tests/engine/simulation/test_simulation.py",
            "tests/engine/tables/test_subscriptions.py",
            "tests/sources/kafka_tools/test_layouts.py",
            "tests/sources/synthetic/test_fleet.py",
        ),
        (
            *(f"rebalance_sim/engine/{part}/" for part in ("groups", "simulation", "spark", "tables")),
            *_SOURCES_OF_GROUPS,
        ),
    ),
    Tier(
        "keyed records",
        0.5,
        (
            "tests/commands/test_partition.py",
            "tests/engine/records/test_client_agreement.py",
            "tests/engine/records/test_key_findings.py",
            "tests/engine/records/test_key_partitions.py",
            "tests/engine/records/test_partition_growth.py",
            "tests/engine/records/test_partition_load.py",
            "tests/engine/records/test_producers.py",
            "tests/real/test_flights.py",
        ),
        ("rebalance_sim/kafka/partitioners/", *(f"rebalance_sim/engine/{part}/" for part in ("records", "spark"))),
    ),
    Tier(
        "offsets topic",
        1.0,
        tuple(f"tests/sources/offsets_topic/test_{part}.py" for part in ("commits", "fleet", "history")),
        (
            "rebalance_sim/kafka/history/",
            "rebalance_sim/kafka/wire/",
            "rebalance_sim/sources/offsets_topic/",
            *(f"rebalance_sim/engine/{part}/" for part in ("spark", "tables")),
        ),
    ),
    Tier(
        "documents",
        2.0,
        (
            *("tests/api/test_notebooks.py", "tests/engine/runs/test_spark_failures.py"),
            *("tests/test_docstrings.py", "tests/test_documentation.py"),
        ),
        ("README.md", "docs/", "conf/", *_WHAT_PAGES_SHOW),
        reads_text=True,
    ),
)


@dataclass(frozen=True)
class Plan:
    """What runs, and why."""

    in_full: Mapping[Tier, list[str]]
    """Tiers that a change touches, with the changed files on which they depend."""
    postponed: Mapping[Tier, list[str]]
    """Those that a change touches, too, and for which there is no time: they wait for the next change."""
    in_part: Sequence[Tier]
    in_turn: Tier | None
    left_out: Sequence[Tier]

    def files(self) -> list[str]:
        """Return the test files."""
        return [file for tier in (*self._whole(), *self.in_part) for file in tier.files]

    def arguments(self) -> list[str]:
        """Return pytest's."""
        whole = [f"--in-full={file}" for tier in self._whole() for file in tier.files]
        return ["--share", str(SHARE), *whole, *self.files()]

    def _whole(self) -> list[Tier]:
        return [*self.in_full, *([self.in_turn] if self.in_turn else [])]

    def lines(self) -> list[str]:
        """Return the plan as text."""
        lines = [f"  in full: {tier.name} ({_names(files)} changed)" for tier, files in self.in_full.items()]
        lines += [f"  next time: {tier.name} ({_names(files)} changed)" for tier, files in self.postponed.items()]
        lines += [f"  one in {SHARE} cases: {tier.name}" for tier in self.in_part]
        lines += [f"  in full, in turn: {self.in_turn.name}"] if self.in_turn else []
        return [*lines, f"  not this time: {', '.join(tier.name for tier in self.left_out) or 'none'}"]


def _names(files: Sequence[str]) -> str:
    others = len(files) - 1
    return f"{files[0]} and {others} other{'s' if others > 1 else ''}" if others else files[0]


def plan(
    changed: Mapping[str, bool], seed: int, imports: Imports, waiting: Mapping[str, Mapping[str, bool]] | None = None
) -> Plan:
    """Return what runs after a change; the seed decides which of the tiers without a change has its turn.

    ``waiting`` are the names of postponed tiers, each with what has changed since it ran. First come the tiers that
    this change touches, of those the postponed ones, of those the ones whose own rules change, and then those of which
    no part runs otherwise, in an order that the seed decides.
    """
    waiting = waiting or {}
    now = {tier for tier in TIERS if _touched(tier, changed, imports)}
    turn = {tier: (place + seed) % len(TIERS) for place, tier in enumerate(TIERS)}

    def urgency(tier: Tier) -> tuple[bool, bool, bool, bool, int]:
        changes_rules = any(changed[name] and name.startswith(tier.rules) for name in changed if tier.rules)
        return tier not in now, tier.name not in waiting, not changes_rules, tier.always, turn[tier]

    of_all = ((tier, _touched(tier, waiting.get(tier.name, changed), imports)) for tier in TIERS)
    touched = {tier: files for tier, files in of_all if files}
    in_time = _in_time(sorted(touched, key=urgency))
    in_full = {tier: touched[tier] for tier in TIERS if tier in in_time}
    postponed = {tier: touched[tier] for tier in TIERS if tier in touched and tier not in in_time}
    idle = [tier for tier in TIERS if tier not in touched and not tier.always]
    in_turn = idle[seed % len(idle)] if idle and not postponed else None
    in_part = [tier for tier in TIERS if tier.always and tier not in in_full]
    return Plan(in_full, postponed, in_part, in_turn, [tier for tier in idle if tier is not in_turn])


def _in_time(tiers: Sequence[Tier]) -> list[Tier]:
    """Return those that run within the minutes of a change, and the first one in any case."""
    chosen: list[Tier] = []
    for tier in tiers:
        if not chosen or sum(each.minutes for each in (*chosen, tier)) <= MINUTES:
            chosen.append(tier)
    return chosen


def _touched(tier: Tier, changed: Mapping[str, bool], imports: Imports) -> list[str]:
    """Return the changed files on which a tier depends."""
    closure = imports.closure((*tier.files, *imports.below(tier.rules)), tier.within, _REGISTRIES)
    inputs = (*tier.inputs, *_OF_ALL)
    return [
        name
        for name, has_code in changed.items()
        if (has_code or tier.reads_text) and (name in closure or name.startswith(inputs))
    ]


def seed_of_tree() -> int:
    """Return a number that depends on the content of HEAD: new cases for a change, the same for the same content."""
    return int(git(ROOT, "rev-parse", "HEAD^{tree}")[:8], 16)


# ---- The commits with which HEAD is compared


def record() -> Path:
    """Return the file of the commits whose checks have passed on this machine, the last one at the end.

    Each line has a commit, and in JSON the postponed tiers with the commits since which they have not run.
    """
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(caches) / "rebalance_sim" / "ci" / "passed"


def last_passed(lines: Sequence[str], root: Path = ROOT) -> tuple[str | None, dict[str, str]]:
    """Return the last commit before HEAD or HEAD itself that has passed, and the tiers that were postponed then."""
    history = set(git(root, "rev-list", "HEAD").split())
    for line in reversed(lines):
        commit, _, postponed = line.partition(" ")
        if commit in history:
            waiting = json.loads(postponed or "{}")
            return commit, {name: since for name, since in waiting.items() if since in history}
    return None, {}


def base(passed: str | None, root: Path = ROOT) -> tuple[str, str]:
    """Return the commit with which the files are compared, and why that one."""
    if given := os.environ.get("CI_BASE"):
        return git(root, "rev-parse", f"{given}^{{commit}}").strip(), "CI_BASE"
    if passed:
        return passed, "the last commit that passed on this machine"
    # A change lands when its checks have passed, so what came before HEAD has. CI_BASE names an earlier commit where
    # several land at once.
    before = git(root, "rev-list", "--max-count=1", "--skip=1", "--first-parent", "HEAD").strip()
    return (before, "the commit before, as none is known to have passed here") if before else (_EMPTY, "nothing")


_EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""git's tree without files."""


def main(arguments: Sequence[str]) -> int:
    """Print the plan and carry it out, print the seed, or record that HEAD has passed."""
    task, seed = arguments[0] if arguments else "", seed_of_tree()
    if task == "seed":
        print(seed)
        return 0
    if task == "passed" and changed_files("HEAD"):
        print("not recorded as passed: the files are not those of HEAD")
        return 0
    lines = record().read_text().splitlines() if record().exists() else []
    passed, waiting = last_passed(lines)
    commit, reason = base(passed)
    planned = plan(changed_files(commit), seed, Imports(), {name: changed_files(it) for name, it in waiting.items()})
    if task == "passed":
        postponed = {tier.name: waiting.get(tier.name, commit) for tier in planned.postponed}
        record().parent.mkdir(parents=True, exist_ok=True)
        head = git(ROOT, "rev-parse", "HEAD").strip()
        record().write_text("\n".join([*lines[-100:], f"{head} {json.dumps(postponed)}"]))
        return 0
    print(f"changes since {commit[:10]} ({reason}) decide what runs:", *planned.lines(), sep="\n", flush=True)
    return _run(planned, seed, arguments[1], arguments[2:]) if task == "run" else 0


def _run(planned: Plan, seed: int, markers: str, options: Sequence[str]) -> int:
    """Run the tests with these markers, and after them, with nothing beside it, each that must be alone."""
    command = [sys.executable, "-m", "pytest", "--seed", str(seed), *planned.arguments(), "-m"]
    runs = [[*command, f"({markers}) and not hunt and not alone", *options]]
    if any("pytest.mark.alone" in (ROOT / file).read_text() for file in planned.files()):
        runs.append([*command, f"({markers}) and not hunt and alone"])
    # Those that must be alone may all be for a hunt.
    allowed = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    failed = [run for run in runs if subprocess.run(run, check=False).returncode not in allowed]
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
