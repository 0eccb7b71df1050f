"""What changed between two audits of a fleet: each change once, and nothing that happens by itself."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.cli import INCOMPLETE, SOMETHING_NEW, USER_ERROR, main
from rebalance_sim.engine.audit.finding import Kind
from rebalance_sim.engine.audit.judgement import FAMILIES
from rebalance_sim.engine.audit.news import Audited, Compared, news
from rebalance_sim.engine.audit.since import comparable, elapsed_ms
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.engine.spark.driver_rows import KEEPS_ROWS
from rebalance_sim.tables import FINDINGS, GENERATIONS, INPUTS, NEWS, TOPICS_AFTER, VERDICTS
from tests.commands.test_audit_files import samples
from tests.support.spark_settings import set_for_a_while

pytestmark = pytest.mark.usefixtures("small_runs")

Rows = list[dict[str, Any]]
Fleet = dict[str, Rows]
JAVA = {"client_library": "java", "client_version": "4.1.0"}
COOPERATIVE = ["cooperative-sticky"]
PARTITIONS = {"one": 1, "one-too": 1, "four": 4, "six": 6, "growing": 6}


def members(group: str, count: int, topics: Iterable[str], protocols: Iterable[str], **more: Any) -> Rows:
    of_all = {"group_id": group, "protocols": list(protocols), "subscription": list(topics), **JAVA}
    return [{**of_all, "member_id": f"{group}-{place}", "join_order": place, **more} for place in range(count)]


def lag(group: str, records: int) -> Rows:
    """Return offsets of a group, all of whose lag is in one partition."""
    of_all = {"group_id": group, "topic": "six", "committed": 5}
    return [{**of_all, "partition": place, "end": 5 + (records if place == 0 else 0)} for place in range(6)]


def tie(group: str) -> Rows:
    lists = (["range", "roundrobin"], ["roundrobin", "range"])
    pairs = zip(members(group, 2, ["six"], []), lists, strict=True)
    return [row | {"protocols": protocols} for row, protocols in pairs]


def topics(**changed: int) -> Rows:
    return [{"topic": topic, "partitions": partitions} for topic, partitions in {**PARTITIONS, **changed}.items()]


BEFORE: Fleet = {
    "topics": topics(),
    "members": [
        *members("same", 3, ["six"], COOPERATIVE),
        *members("same-tie", 1, ["six"], ["range", "roundrobin"]),
        *members("same-tie", 1, ["six"], ["roundrobin", "range"], member_id="other"),
        *members("more-lag", 2, ["six"], COOPERATIVE),
        *members("a-bit-more-lag", 2, ["six"], COOPERATIVE),
        *members("less-lag", 2, ["six"], COOPERATIVE),
        *members("caught-up", 2, ["six"], COOPERATIVE),
        *members("scaled", 3, ["six"], COOPERATIVE),
        *members("idle", 1, ["one", "one-too"], ["range"]),
        *members("not-idle", 2, ["one", "one-too"], ["range"]),
        *members("crowded", 4, ["four"], COOPERATIVE),
        *tie("vanished"),
        *members("stopped", 2, ["six"], COOPERATIVE),
        *members("other-assignor", 3, ["six"], ["range"]),
        *members("other-topics", 2, ["six"], COOPERATIVE),
        *members("upgraded", 2, ["six"], COOPERATIVE, session_timeout_ms=45_000),
        *members("grown", 3, ["growing"], COOPERATIVE),
        *members("also-grown", 2, ["growing"], COOPERATIVE),
        *members("unread", 2, ["one", "one-too"], ["range"]),
        *members("readable", 2, ["six"], COOPERATIVE, protocol_type=""),
        *members("rejected", 2, ["one", "one-too"], ["range"]),
    ],
    "offsets": [
        *(row for group in ("same", "stopped") for row in lag(group, 0)),
        *lag("more-lag", 12_000),
        *lag("a-bit-more-lag", 12_000),
        *lag("less-lag", 90_000),
        *lag("caught-up", 30_000),
    ],
}
AFTER: Fleet = {
    "topics": topics(growing=12),
    "members": [
        *(row for row in BEFORE["members"] if row["group_id"] in ("same", "same-tie", "more-lag", "a-bit-more-lag")),
        *(row for row in BEFORE["members"] if row["group_id"] in ("less-lag", "caught-up", "grown", "also-grown")),
        *members("scaled", 4, ["six"], COOPERATIVE),
        *members("idle", 2, ["one", "one-too"], ["range"]),
        *members("not-idle", 1, ["one", "one-too"], ["range"]),
        *members("crowded", 5, ["four"], COOPERATIVE),
        *tie("appeared"),
        *members("other-assignor", 3, ["six"], ["roundrobin"]),
        *members("other-topics", 2, ["six", "four"], COOPERATIVE),
        *members("upgraded", 2, ["six"], COOPERATIVE, client_version="4.3.0", session_timeout_ms=60_000),
        *members("unread", 2, ["one", "one-too"], ["range"], protocol_type=""),
        *members("readable", 2, ["six"], COOPERATIVE),
        *members("rejected", 1, ["one", "one-too"], ["range"]),
        *members("rejected", 1, ["one,one-too"], ["range"], member_id="text"),
    ],
    "offsets": [
        *(row for group in ("same", "stopped") for row in lag(group, 0)),
        *lag("more-lag", 40_000),
        *lag("a-bit-more-lag", 13_000),
        *lag("less-lag", 30_000),
        *lag("caught-up", 0),
    ],
}


def audit(folder: Path, fleet: Mapping[str, Rows], *options: str) -> int:
    """Audit a fleet, and return the exit code."""
    folder.mkdir()
    for name, rows in fleet.items():
        (folder / f"{name}.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    given = [part for name in fleet for part in (f"--{name}", str(folder / f"{name}.json"))]
    accepted = [] if "--max-rejected-share" in options else ["--max-rejected-share", "1"]
    return main(["audit", *given, "--kafka-version", "4.3", *accepted, *options, "--out", f"{folder}/out"])


def news_of(spark: SparkSession, folder: Path) -> list[Row]:
    return spark.read.parquet(f"{folder}/out/{NEWS.name}").orderBy("rank").collect()


def short(rows: Iterable[Row]) -> set[tuple[str, str | None, str | None, str | None]]:
    """Return what changed, of what, and its severity: the earlier one if nothing is left."""
    return {
        (row["change"], row["group_id"] or row["topic"], row["kind"], row["severity"] or row["severity_before"])
        for row in rows
    }


@pytest.fixture(scope="module")
def before(spark: SparkSession, small_runs: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("news") / "before"
    assert audit(folder, BEFORE) == 0
    return folder


@pytest.fixture(scope="module")
def after(before: Path) -> Path:
    folder = before.with_name("after")
    assert audit(folder, AFTER, "--previous", f"{before}/out") == 0
    return folder


@pytest.mark.scale
def test_each_change_is_news_and_nothing_else_is(spark: SparkSession, after: Path) -> None:
    rows = news_of(spark, after)
    assert short(rows) == {
        ("unread", "unread", "group-unread", "error"),
        ("new", "rejected", "rejected-rows", "warning"),
        ("worse", "more-lag", "large-lag", "warning"),
        ("new", "appeared", "election-tie", "warning"),
        ("new", "idle", "idle-members", "warning"),
        ("new", "crowded", "more-members-than-partitions", "note"),
        ("new", "stopped", "no-members", "note"),
        ("better", "less-lag", "large-lag", "warning"),
        ("resolved", "caught-up", "large-lag", "warning"),
        ("resolved", "not-idle", "idle-members", "warning"),
        ("resolved", "readable", "group-unread", "error"),
        # With twice or half as many members, a rollout is another one.
        ("new", "not-idle", "rollout-downtime", "warning"),
        ("resolved", "idle", "rollout-downtime", "warning"),
        ("appeared", "appeared", None, "warning"),
        ("vanished", "vanished", None, "warning"),
        ("changed", "other-assignor", None, None),
        ("changed", "other-topics", None, None),
        ("changed", "upgraded", None, None),
        ("changed", "growing", None, None),
    }
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    severe = [row["change"] in ("unread", "new", "worse") and row["severity"] != "note" for row in rows]
    assert severe == sorted(severe, reverse=True)


@pytest.mark.scale
def test_partitions_and_the_order_of_rows_change_nothing(spark: SparkSession, before: Path, after: Path) -> None:
    """In a session whose rows are in Spark."""

    def audited(folder: Path) -> Audited:
        tables = (spark.read.parquet(f"{folder}/out/{of.name}").orderBy(F.rand(1)) for of in (FINDINGS, VERDICTS))
        return Audited(*(rows.repartition(3) for rows in tables))

    record, earlier = (json.loads((folder / "out" / "_run.json").read_text()) for folder in (after, before))
    compared, _ = comparable(record, earlier, has_settings=True)
    with set_for_a_while(spark, {KEEPS_ROWS: "false", "spark.sql.shuffle.partitions": "3"}):
        again = news(audited(after), audited(before), compared, Thresholds()).orderBy("rank").collect()
    assert again == news_of(spark, after)


@pytest.mark.scale
def test_a_change_says_what_is_now_and_what_was_before(spark: SparkSession, after: Path) -> None:
    texts = {row["group_id"] or row["topic"]: row["description"] for row in news_of(spark, after)}
    more = "six-0 is {0:,} records behind; the group has {0:,} records of lag in 1 partition of 1 topic"
    assert texts["more-lag"].startswith(f"{more.format(40_000)}; ")
    assert texts["more-lag"].endswith(f"; before: {more.format(12_000)}")
    assert texts["caught-up"] == f"before: {more.format(30_000)}"
    assert texts["vanished"] == "the group is not there any more; before: 2 members, range"
    assert texts["other-assignor"] == (
        "elected assignor: roundrobin (before range); partition.assignment.strategy: roundrobin (before range)"
    )
    assert texts["other-topics"] == "subscribes to four"
    assert texts["upgraded"] == (
        "client libraries: java 4.3.0 (before java 4.1.0); session.timeout.ms: 60000 (before 45000)"
    )
    assert texts["growing"] == "12 partitions, before 6; subscribed by 2 groups"


@pytest.mark.scale
def test_an_audit_writes_a_summary_and_metrics(spark: SparkSession, after: Path) -> None:
    out = after / "out"
    found = samples((out / "metrics.prom").read_text())
    verdicts = spark.read.parquet(f"{out}/verdicts")
    assert found["rebalance_sim_groups"] == verdicts.count()
    assert found["rebalance_sim_groups_unread"] == 1
    assert found["rebalance_sim_lag_records"] == 83_000
    for change, severity, number in (("worse", "warning", 1), ("unread", "error", 1), ("changed", "none", 4)):
        assert found[f'rebalance_sim_news{{change="{change}",severity="{severity}"}}'] == number
    counted = {
        (row["severity"], row["kind"]): row["count"]
        for row in spark.read.parquet(f"{out}/findings").groupBy("severity", "kind").count().collect()
    }
    for (severity, kind), number in counted.items():
        assert found[f'rebalance_sim_findings{{severity="{severity}",kind="{kind}"}}'] == number
    text = (out / "summary.md").read_text()
    assert "- worse warning: large-lag (1)\n  - `more-lag`: six-0 is 40,000 records behind" in text
    assert f"Page: `{out}/report.html`" in text


@pytest.mark.scale
def test_other_member_ids_and_another_order_of_rows_are_no_news(
    spark: SparkSession, before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Members have other ids after each rebalance, and another one leads."""
    renamed = [
        row | {"member_id": f"{99 - place:02}-{row['member_id']}", "join_order": 99 - place}
        for place, row in enumerate(BEFORE["members"])
    ]
    fleet = {**BEFORE, "members": renamed[::-1], "offsets": BEFORE["offsets"][::-1]}
    previous = ("--previous", f"{before}/out", "--fail-on-new", "note")
    assert audit(tmp_path / "again", fleet, *previous) == 0
    assert news_of(spark, tmp_path / "again") == []
    printed = capsys.readouterr().out
    assert since_line(printed) == ": nothing new"
    assert "notes: " not in printed


def since_line(printed: str) -> str:
    """Return the line about the earlier audit after its date."""
    (line,) = [line for line in printed.splitlines() if line.startswith("since the audit of ")]
    return line.partition(" UTC")[2]


@pytest.mark.scale
def test_the_console_names_the_worst_changes(before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also the exit code, when everything is written: an audit that could not be read takes precedence."""
    previous = ("--previous", f"{before}/out")
    assert audit(tmp_path / "now", AFTER, *previous, "--fail-on-new", "warning") == SOMETHING_NEW
    printed = capsys.readouterr()
    assert since_line(printed.out) == (
        ": 1 group unread, 6 new, 1 worse, 1 better, 4 resolved, 1 group appeared, 1 group vanished, "
        "4 changes of settings"
    )
    assert "  worse warning: large-lag: 1 group\n    more-lag: six-0 is 40,000 records behind; " in printed.out
    assert "--fail-on-new does not allow a new warning or worse" in printed.err
    assert (tmp_path / "now" / "out" / "_run.json").exists()
    unread = ("--fail-on-new", "warning", "--max-rejected-share", "0.01")
    assert audit(tmp_path / "unread", AFTER, *previous, *unread) == INCOMPLETE


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--previous", "{out}"], "--out: '{out}' is the input of --previous ('{out}'); allowed: a folder apart from"),
        (["--previous", "{folder}"], "--previous: '{folder}' is not the output of a finished run (no _run.json)"),
        (["--fail-on-new", "error"], "--fail-on-new: needs an earlier audit; give --previous"),
        (["--previous", "{fleet}"], "--previous: '{fleet}' is the output of fleet; allowed: that of audit"),
    ],
)
def test_mistakes_take_one_line(
    before: Path, capsys: pytest.CaptureFixture[str], options: list[str], expected: str
) -> None:
    places = {"out": f"{before}/out", "folder": str(before), "fleet": f"{before}/fleet"}
    if "{fleet}" in options and not Path(places["fleet"]).exists():
        assert main(["fleet", "--synthetic", "small", "--groups", "1", "--out", places["fleet"]]) == 0
        capsys.readouterr()
    tables = ["--topics", f"{before}/topics.json", "--members", f"{before}/members.json"]
    given = [option.format(**places) for option in options]
    assert main(["audit", *tables, *given, "--out", places["out"], "--log-level", "error"]) == USER_ERROR
    (line,) = capsys.readouterr().err.splitlines()
    assert expected.format(**places) in line


@pytest.mark.scale
def test_of_a_pattern_the_last_audit_before_is_taken(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first day there is none; a day that runs again is compared with the same one as before."""
    fleet = {"topics": topics(), "members": members("a", 2, ["six"], COOPERATIVE)}
    two = {**fleet, "members": [*fleet["members"], *members("b", 2, ["six"], COOPERATIVE)]}
    pattern = ("--previous", f"{tmp_path}/day=*/out")
    assert audit(tmp_path / "day=1", fleet, *pattern) == 0
    assert f"no finished audit matches {tmp_path}/day=*/out: nothing is compared" in capsys.readouterr().out
    assert not (tmp_path / "day=1" / "out" / "news").exists()
    assert audit(tmp_path / "day=3", fleet) == 0
    assert audit(tmp_path / "day=2", two, *pattern) == 0
    assert short(news_of(spark, tmp_path / "day=2")) == {("appeared", "b", None, "note")}
    (tmp_path / "day=4").mkdir()
    assert audit(tmp_path / "day=5", two, *pattern) == 0
    assert short(news_of(spark, tmp_path / "day=5")) == {("appeared", "b", None, "note")}


@pytest.mark.scale
def test_an_audit_without_settings_in_use_is_compared_as_far_as_possible(
    spark: SparkSession, before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An older version of this program did not write them."""
    findings, verdicts = (spark.read.parquet(f"{before}/out/{table.name}") for table in (FINDINGS, VERDICTS))
    old = tmp_path / "old"
    old.mkdir()
    findings.drop("harm").write.parquet(f"{old}/{FINDINGS.name}")
    verdicts.drop("settings_in_use", "topic_partitions", "brokers", "harm").write.parquet(f"{old}/{VERDICTS.name}")
    (old / "_run.json").write_text((before / "out" / "_run.json").read_text())
    assert audit(tmp_path / "now", AFTER, "--previous", str(old)) == 0
    found = short(news_of(spark, tmp_path / "now"))
    assert {change for change, *_ in found} == {"unread", "new", "worse", "better", "resolved", "appeared", "vanished"}
    assert "  not compared: settings, topics and rollouts: the earlier audit did not store its settings" in (
        capsys.readouterr().out
    )


@pytest.mark.scale
def test_what_only_one_of_the_audits_read_is_not_compared(
    spark: SparkSession, before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without offsets no lag is resolved, and a group that only offsets show has not vanished."""
    fleet = {name: rows for name, rows in BEFORE.items() if name != "offsets"}
    without = [row for row in fleet["members"] if row["group_id"] != "vanished"]
    fleet["members"] = without
    assert audit(tmp_path / "now", fleet, "--previous", f"{before}/out", "--scenario", "deployment") == 0
    assert short(news_of(spark, tmp_path / "now")) == {("vanished", "vanished", None, "warning")}
    printed = capsys.readouterr().out
    assert "  not compared: findings that need offsets: only the earlier audit read them" in printed
    assert "  not compared: rollouts: the earlier audit simulated rolling-restart" in printed


RECORD: dict[str, Any] = {
    "started": "2026-11-28T02:00:07+00:00",
    "rows": {"in": {"topics": 1}},
    "options": {"scenario": "rolling-restart", "kafka_version": "4.2"},
    "versions": {"rebalance-sim": "1"},
    "assumptions": [],
}


def test_only_audits_that_read_the_brokers_show_how_fast_lag_grows() -> None:
    """A capture, or a table, may be of any age."""
    live = RECORD["options"] | {"bootstrap_servers": "broker:9092"}
    earlier = RECORD | {"options": live}
    later = earlier | {"started": "2026-11-28T03:00:07+00:00"}
    assert elapsed_ms(later, earlier) == 3_600_000
    assert elapsed_ms(later | {"options": RECORD["options"]}, earlier) == 0


def test_lag_that_grew_is_compared_if_this_audit_knows_it() -> None:
    assert "lag-grows" in Compared(rates=True).kinds
    assert "lag-grows" not in Compared().kinds


def test_other_brokers_are_compared_if_both_audits_know_them() -> None:
    assumed = "the Kafka release of the brokers is unknown; 4.2, the default of --kafka-version, is assumed"
    compared, sentences = comparable(RECORD, RECORD | {"assumptions": [assumed]}, has_settings=True)
    assert (compared.brokers, sentences) == (False, ("the release of the brokers: one of the audits assumed it",))
    compared, sentences = comparable(RECORD, RECORD, has_settings=True)
    assert (compared.brokers, sentences) == (True, ())


@pytest.mark.scale
def test_brokers_are_reported_once_for_their_cluster(spark: SparkSession, tmp_path: Path) -> None:
    fleet = {"topics": topics(), "members": members("a", 2, ["six"], COOPERATIVE)}
    fleet["members"] += members("b", 2, ["six"], COOPERATIVE)
    assert audit(tmp_path / "before", fleet) == 0
    assert audit(tmp_path / "after", fleet, "--previous", f"{tmp_path}/before/out", "--kafka-version", "4.2") == 0
    (row,) = [row for row in news_of(spark, tmp_path / "after") if row["change"] == "changed"]
    assert (row["cluster"], row["group_id"], row["topic"]) == ("default", None, None)
    assert row["description"] == "brokers: Kafka 4.2, before Kafka 4.3"


def test_kinds_name_figures_and_inputs_that_exist() -> None:
    kinds: list[Kind] = [kind for family in FAMILIES.values() for kind in family.kinds]
    assert {kind.needs for kind in kinds} <= {"", TOPICS_AFTER.name, GENERATIONS.name, *INPUTS}
    matters = [kind.matter for kind in kinds if kind.matter]
    assert all(matters.count(matter) > 1 for matter in matters)
