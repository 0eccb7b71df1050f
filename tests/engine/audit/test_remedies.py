"""Every recommendation is followed, for every client library and kind of group: its finding is gone, and none is new.

To write docs/remedies.md again:
``python -c "from tests.engine.audit import test_remedies as r; r.PAGE.write_text(r.page_of_audit())"``
"""

import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from rebalance_sim.api.connect import simulate_connect
from rebalance_sim.api.streams import assign_streams
from rebalance_sim.cli import main
from rebalance_sim.engine.audit.connect_clusters import MAX_DELAY
from rebalance_sim.engine.audit.judgement import FAMILIES
from rebalance_sim.kafka.clients import LIBRARIES
from rebalance_sim.kafka.group_kinds import SETTINGS_PREFIX
from rebalance_sim.tables import CONNECTORS as CONNECTORS_TABLE
from rebalance_sim.tables import STREAMS_MEMBERS as STREAMS_MEMBERS_TABLE
from rebalance_sim.tables import SUBTOPOLOGIES as SUBTOPOLOGIES_TABLE
from rebalance_sim.tables import TOPICS as TOPICS_TABLE
from rebalance_sim.tables import WORKERS as WORKERS_TABLE
from tests.engine.audit.test_audits import BY_LAG, DOCS, ELSEWHERE, KINDS, Audited
from tests.support.audited_fleet import (
    CONNECTORS,
    FOLLOWED,
    KINDS_OF_STREAMS,
    OFFSETS,
    ROLES,
    STREAMS_MEMBERS,
    SUBTOPOLOGIES,
    TOPICS,
    WORKERS,
    Rows,
    followed_tables,
    write_fleet,
)
from tests.support.audited_fleet import MEMBERS as FLEET
from tests.support.remedied_groups import CONSUMERS, SINK, Case, by_settings, cases, settings_of
from tests.support.rows import table

pytestmark = pytest.mark.scale

PAGE = DOCS / "remedies.md"
WITHOUT_REMEDY = {
    "more-members-than-partitions": "idle members do no harm, and a new partition would need them",
    "topic-on-one-host": "no assignor takes hosts into account",
    "other-kind-of-group": "says what is not predicted",
    "lag-without-assignment": "too little lag to act on",
    "more-members-than-tasks": "idle members take over when others stop",
    "stop-of-process": "says what a stop costs; no-standby-replicas recommends what reduces it",
    "restart-of-workers": "says what a restart costs; delay-of-lost-tasks recommends what reduces it",
    "no-members": "a group that has ended loses its offsets rightly",
    "regular-expression": "says what a new topic changes",
    "rollout-cost": "says what a rollout costs; rollout-downtime recommends what reduces it",
}
"""Kinds that recommend nothing, and why."""
FORESEEN = {
    "library-change-refused": "Before a change to another library, configure one of the group's assignors in it, where "
    "it has one, or stop all old members first.",
    "rollout-choice-depends": "Measure what the choice depends on, and audit again with `--settings`.",
    "lag-grows": "The same as `large-lag`. If its members committed nothing since the earlier audit: see what the "
    "consumer of the partition does, or the log of the sink's task, before adding members.",
}
"""Kinds about what the owner may never change or measure, which stay, or that need an earlier audit, and what they
recommend."""
STATED = {
    "assignment-unpredictable": ("cannot be predicted",),
    "migration-offline": ("has to stop all members",),
    "rollout-downtime": ("partitions are then without an owner", "later restarts move fewer partitions"),
}
"""By kind of a finding that a remedy may lead to, how the recommendation states it."""
REMAIN = {"migration-custom-assignor": {"migration-offline"}}
"""By kind, further obstacles that its remedy leaves."""
SHARING = dict.fromkeys((row["group_id"] for row in WORKERS), "Connect clusters")
SHARING |= dict.fromkeys((row["group_id"] for row in STREAMS_MEMBERS), "Kafka Streams")
_MOST_REBALANCES = 10
OF_ROLLOUTS = {kind.name for kind in FAMILIES["rollouts"].kinds}
CASES = cases()
TABLES = {"members": [*FLEET, *(row for case in CASES for row in case.members)]}
TABLES["offsets"] = [*OFFSETS, *(row for case in CASES for row in case.offsets)]
_HEAD = """# Remedies

What an [audit](audit.md) recommends for each kind of finding, by client library: with the library's own settings, the
number of restarts and what is lost. A test gives each library a group with the finding, follows the recommendation, and
audits the group again: the finding is gone. This page is written by that test (`tests/engine/audit/test_remedies.py`),
from groups of its own, so that names of topics and members, and numbers, are theirs.

Settings of a [sink connector](audit.md#kinds-of-groups) begin with `consumer.override.` in its configuration.

| finding | groups of | recommendation |
|---|---|---|
"""


def named(case: Case) -> str:
    return case.group if case.group_kind == CONSUMERS else f"{case.group} ({case.group_kind})"


@pytest.fixture(scope="module")
def audited(spark: SparkSession, small_runs: None, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """Audit the fleet with a group for each kind of finding, and the cases."""
    return Audited(spark, tmp_path_factory.mktemp("remedies") / "before", **TABLES)


@pytest.fixture(scope="module")
def remedied(spark: SparkSession, audited: Audited, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """Audit them again after all recommendations are followed: settings, where they are recommended, else the text."""
    tables = followed_tables()
    settings = {(row["group_id"], row["kind"]): row["settings"] for row in audited.findings}
    of_fleet = [row for row in FLEET if row["group_id"] not in FOLLOWED]
    for group in {row["group_id"] for row in of_fleet}:
        rows = [row for row in of_fleet if row["group_id"] == group]
        tables["members"] += by_settings(rows, settings.get((group, group)) or {})
    for case in CASES:
        advised = settings_of(case, settings.get((case.group, case.kind)))
        tables["members"] += case.remedy(case.members, advised)
        tables["offsets"] += case.offsets if case.offsets_after is None else case.offsets_after
    tables["workers"] = [
        *rebalanced_workers(spark),
        *_with_delay(settings["delay-of-lost-tasks", "delay-of-lost-tasks"]),
    ]
    tables["subtopologies"] = [row | {"standby_replicas": 1} for row in SUBTOPOLOGIES]
    tables["streams-members"] = caught_up(spark, STREAMS_MEMBERS, tables["subtopologies"])
    spark.sparkContext.addPyFile(str(BY_LAG))
    folder = tmp_path_factory.mktemp("remedies") / "after"
    # What is recommended for streams groups, as a setting of all of them.
    of_streams = ["--settings", "group_streams_initial_rebalance_delay_ms=0"]
    return Audited(spark, folder, "--assignors", f"{BY_LAG.stem}:ByLag", *of_streams, **tables)


def _with_delay(settings: Mapping[str, str]) -> Rows:
    """Return the workers for whom another delay is recommended, with it."""
    changed = {"max_delay_ms": int(settings[MAX_DELAY])}
    return [row | changed for row in WORKERS if row["group_id"] == "delay-of-lost-tasks"]


def rebalanced_workers(spark: SparkSession) -> Rows:
    """Return the workers of the other clusters after the rebalance that their findings recommend."""
    workers = [row for row in WORKERS if row["group_id"] != "delay-of-lost-tasks"]
    played = simulate_connect(table(spark, WORKERS_TABLE, workers), table(spark, CONNECTORS_TABLE, CONNECTORS))
    runs: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for row in played.task_assignments.collect():
        runs[row["group_id"], row["worker"]].append((row["connector"], row["task"]))
    return [
        row
        | {
            "pending_delay_ms": None,
            "connectors": [name for name, task in runs[row["group_id"], row["member_id"]] if task is None],
        }
        | {
            "tasks": [
                {"connector": name, "task": task}
                for name, task in runs[row["group_id"], row["member_id"]]
                if task is not None
            ]
        }
        for row in workers
    ]


def caught_up(spark: SparkSession, threads: Rows, subtopologies: Rows) -> Rows:
    """Return threads after the next rebalances: warm-up tasks catch up before each, until none is left."""
    topics, parts = table(spark, TOPICS_TABLE, TOPICS), table(spark, SUBTOPOLOGIES_TABLE, subtopologies)
    for _ in range(_MOST_REBALANCES):
        assigned = assign_streams(table(spark, STREAMS_MEMBERS_TABLE, threads), parts, topics, kafka_version="4.3")
        tasks = assigned.streams_tasks.collect()
        threads = [row | {role: _tasks(tasks, row["member_id"], role) for role in ROLES} for row in threads]
        if not any(row["probing"] for row in assigned.streams_balance.collect()):
            return threads
    raise AssertionError("tasks still warm up")


def _tasks(rows: Iterable[Any], member: str, role: str) -> Rows:
    return [
        {"subtopology": row["subtopology"], "partition": row["partition"]}
        for row in rows
        if (row["member_id"], row["role"]) == (member, role)
    ]


@pytest.mark.parametrize("case", CASES, ids=named)
def test_following_a_recommendation_removes_its_finding(case: Case, audited: Audited, remedied: Audited) -> None:
    finding = audited.finding(case.kind, case.group)
    assert audited.verdicts[case.group]["group_kind"] == case.group_kind
    assert finding["recommendation"]
    assert finding["settings"] or case.remedy is not by_settings
    if case.group in remedied.verdicts:
        assert case.kind not in remedied.kinds(case.group)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_a_remedy_leads_to_no_other_problem_that_it_does_not_state(
    case: Case, audited: Audited, remedied: Audited
) -> None:
    said = audited.finding(case.kind, case.group)["recommendation"]
    before, after = (_problems(each, case.group) for each in (audited, remedied))
    stated = {kind for kind, phrases in STATED.items() if any(phrase in said for phrase in phrases)}
    was_simulated = any(row["kind"] == "rollout-cost" for row in audited.findings if row["group_id"] == case.group)
    seen_first = set() if was_simulated else OF_ROLLOUTS
    assert after - before - stated - seen_first - REMAIN.get(case.kind, set()) == set()


def _problems(audited: Audited, group: str) -> set[str]:
    """Return the kinds of errors and warnings about a group."""
    return {kind for kind in audited.kinds(group) if KINDS[kind].severity != "note"}


def test_following_the_recommendations_of_the_fleet_removes_its_findings(audited: Audited, remedied: Audited) -> None:
    """A group for each kind of finding, most of them of Java."""
    followed = {row["kind"] for row in audited.findings if row["settings"] and row["group_id"] == row["kind"]}
    kinds = followed | FOLLOWED.keys()
    recommending = {name for name, kind in KINDS.items() if kind.recommendation}
    assert recommending - FORESEEN.keys() - ELSEWHERE - {case.kind for case in CASES} <= kinds
    assert kinds <= remedied.verdicts.keys()
    assert [kind for kind in kinds if kind in remedied.kinds(kind)] == []
    assert [group for group, kind in KINDS_OF_STREAMS.items() if kind in remedied.kinds(group)] == []


def test_kinds_without_a_remedy_recommend_nothing(audited: Audited) -> None:
    recommended = {row["kind"] for row in audited.findings if row["recommendation"]}
    assert WITHOUT_REMEDY.keys() == {row["kind"] for row in audited.findings} - recommended
    assert recommended | WITHOUT_REMEDY.keys() | ELSEWHERE == KINDS.keys()


OWN_NAMES = {
    library: {name for name in {*record.settings.values(), *(record.single_assignor or (0, ""))[1:]} if name}
    for library, record in LIBRARIES.items()
}
SETTINGS = {name for names in OWN_NAMES.values() for name in names if re.search(r"[A-Z._]", name)}
"""The names of settings of all libraries, without those that are plain words."""


def test_recommendations_name_settings_of_the_groups_own_library(audited: Audited) -> None:
    libraries: dict[str, set[str]] = defaultdict(set)
    for member in TABLES["members"]:
        libraries[member["group_id"]] |= set((member.get("client_library") or "java").split(";"))
    wrong = []
    for row in (row for row in audited.findings if row["group_id"] not in SHARING):
        own = {name for library in libraries[row["group_id"]] for name in OWN_NAMES[library]}
        prefix = SETTINGS_PREFIX.get(audited.verdicts[row["group_id"]]["group_kind"], "")
        said = {
            name
            for name in SETTINGS
            if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w|\.\w)", row["recommendation"] or "")
        }
        set_to = {name.removeprefix(prefix) for name in row["settings"] or {}}
        wrong += [(row["group_id"], row["kind"], name) for name in (said | set_to) - own]
    assert wrong == []


def page(findings: Iterable[Any]) -> str:
    """Return the page of all remedies from the findings about all groups."""
    known = {case.group: case for case in CASES}
    said: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in sorted(findings, key=lambda row: row["group_id"]):
        case, text = known.get(row["group_id"]), row["recommendation"]
        kind = KINDS_OF_STREAMS.get(row["group_id"], row["group_id"])
        is_about = row["kind"] == (case.kind if case else kind)
        if is_about and text:
            members = "sink connectors" if case and case.group_kind == SINK else case.library if case else "any library"
            members = SHARING.get(row["group_id"], members)
            said[row["kind"]][text].append(members)
    lines = []
    for kind in KINDS:
        for text, of in said[kind].items():
            several = {name for others in said[kind].values() for name in others}
            shown = sorted({name for name in of if name != "any library"}) or ["any library"]
            if shown != ["any library"] or several == {"any library"}:
                lines.append(f"| `{kind}` | {', '.join(shown)} | {text} |")
        if kind in WITHOUT_REMEDY:
            lines.append(f"| `{kind}` | any library | none: {WITHOUT_REMEDY[kind]} |")
        elif kind in FORESEEN:
            lines.append(f"| `{kind}` | any library | {FORESEEN[kind]} |")
        elif kind in ELSEWHERE and not said[kind]:
            lines.append(f"| `{kind}` | any library | {KINDS[kind].recommendation} |")
    return _HEAD + "\n".join(lines) + "\n"


def page_of_audit() -> str:
    """Audit all groups, and return the page."""
    with tempfile.TemporaryDirectory() as folder:
        given = [*write_fleet(Path(folder), **TABLES), "--max-rejected-share", "1"]
        assert main(["audit", *given, "--out", f"{folder}/out"]) == 0
        return page(parquet.read_table(f"{folder}/out/findings").to_pylist())


def test_the_page_lists_the_remedies_of_all_kinds(audited: Audited) -> None:
    assert PAGE.read_text() == page(audited.findings)
    assert set(re.findall(r"^\| `([\w-]+)` ", PAGE.read_text(), re.MULTILINE)) == KINDS.keys()
