"""The job ``simulate`` as a user calls it."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.cli import main
from rebalance_sim.commands.simulation_summary import summarise_advice, summarise_bounces, summarise_costs
from rebalance_sim.engine.simulation.cost_totals import COLUMNS, TOTALS, add_up
from rebalance_sim.engine.spark.driver_rows import map_batches
from rebalance_sim.tables import ADVICE, BOUNCES, COSTS, EVENTS, REBALANCES, TIMELINE, TOPICS
from tests.commands.test_jobs import SMALL_FLEET
from tests.commands.test_jobs import record as run_record
from tests.support.rows import given_by, member, members, table, topics

SCENARIO = """
settings: {network_ms: 2, store_ms: 7}
consumers: {max_poll_interval_ms: 300000}
steps:
- {event: crash, at_ms: 10000, members: 1}
- {event: crash}
"""


@pytest.fixture(scope="module")
def fleet(spark: SparkSession, small_runs: None, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Make a small fleet by its own job, and return the options that name it."""
    out = tmp_path_factory.mktemp("fleet")
    assert main(["fleet", "--synthetic", SMALL_FLEET, "--groups", "12", "--seed", "1", "--out", str(out)]) == 0
    return ["--topics", f"{out}/topics", "--members", f"{out}/members"]


@pytest.fixture
def given(spark: SparkSession, tmp_path: Path) -> list[str]:
    """Write a group, an events table and a scenario, some rows of each bad, and return the options that name them."""
    bad_topic = table(spark, TOPICS, [{"topic": "bad", "partitions": -2}])
    rows = [*(member(name, ["range"], ["t"]) for name in ("a", "b", "")), member("a", ["mine"], ["t"], group_id="h")]
    events = [("leave", 20_000, "b"), ("leave", 30_000, "b"), ("explode", 1, "b")]
    made = [{"group_id": "g", "event": name, "at_ms": at_ms, "member_id": who} for name, at_ms, who in events]
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    tables = {"members": members(spark, *rows), "events": table(spark, EVENTS, made)}
    options = given_by(tmp_path, topics=topics(spark, t=4).unionByName(bad_topic), **tables)
    return [*options, "--scenario", f"{tmp_path}/scenario.yaml"]


@pytest.mark.scale
def test_simulate(spark: SparkSession, given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    asked = ["--settings", "store_ms=9,revoke_ms=3,enable_auto_commit=false", "--timeline", "g"]
    assert main(["simulate", *given, *asked, "--out", str(out)]) == 0
    record = run_record(out)
    rows = record["rows"]
    assert rows["in"] == {"topics": 2, "members": 4, "events": 3, "scenario": 2}
    assert rows["used"] == {"topics": 1, "members": 3, "events": 1, "scenario": 1}
    assert rows["rejected"] == {"topics": 1, "members": 1, "events": 2, "scenario": 1}
    assert rows["out"] == {name: spark.read.parquet(f"{out}/{name}").count() for name in rows["out"]}
    assert {path.name for path in out.iterdir() if path.is_dir()} == rows["out"].keys()
    assert (rows["out"]["costs"], rows["out"]["rejects"]) == (2, 5)
    for of in (TIMELINE, REBALANCES, COSTS):
        assert spark.read.parquet(f"{out}/{of.name}").columns == of.names
    assert {row["group_id"] for row in spark.read.parquet(f"{out}/timeline").select("group_id").collect()} == {"g"}
    costs = {row["group_id"]: row for row in spark.read.parquet(f"{out}/costs").collect()}
    assert (costs["g"]["stable"], costs["g"]["error"], costs["h"]["stable"]) == (False, None, None)
    assert {name: row["rejected_members"] for name, row in costs.items()} == {"g": 1, "h": 0}
    # What the command says wins over what the scenario says.
    assert record["assumptions"] == [
        "simulated with enable_auto_commit false, network_ms 2, network_jitter_ms 1, store_ms 9, assignor_ms 2, "
        "revoke_ms 3, poll_interval_ms 100, start_ms 1000",
        "all consumers have max_poll_interval_ms 300000",
    ]
    printed = capsys.readouterr().out
    assert "2 groups, " in printed
    assert "1 group cannot be simulated (see column error of costs)" in printed
    assert "read 2 topics, 4 members, 2 rows of scenario, 3 events; 5 rows rejected" in printed


@pytest.mark.scale
def test_advice_and_strategies(
    spark: SparkSession, fleet: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    asked = ["--scenario", "rolling-restart", "--strategy", "range,cooperative-sticky", "--advice"]
    assert main(["simulate", *fleet, *asked, "--out", str(out)]) == 0
    rows = run_record(out)["rows"]
    assert rows["out"] | {"rebalances": 0} == {
        "timeline": 0, "rebalances": 0, "owned_partitions": 2 * rows["used"]["members"], "costs": 24,
        "bounces": 24, "advice": 24 * 6, "rejects": 0,
    }  # fmt: skip
    advice = spark.read.parquet(f"{out}/advice")
    assert advice.columns == ADVICE.names
    printed = capsys.readouterr().out
    assert "range: 12 groups, " in printed
    assert "cooperative-sticky: 12 groups, " in printed
    assert "range, static membership: " in printed


@pytest.mark.scale
def test_all_groups_are_followed(spark: SparkSession, fleet: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = ["--scenario", "leave", "--timeline", "all", "--kafka-version", "2.3", "--output-format", "json"]
    assert main(["simulate", *fleet, *asked, "--out", str(out)]) == 0
    followed = spark.read.json(f"{out}/timeline").select("cluster", "group_id").distinct()
    assert followed.count() == 12


@pytest.mark.scale
def test_bad_input_may_stop_it(given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["simulate", *given, "--on-bad-input", "fail", "--out", str(out)]) == 2
    assert "events: event 'explode' is not known; allowed: join, leave, " in capsys.readouterr().err
    assert not (out / "_run.json").exists()


MISTAKES = [
    ([], "--scenario: nothing to simulate; give --scenario, --events, or both"),
    (["--scenario", "crahs"], "--scenario: 'crahs' is not known (did you mean 'crash'?); allowed: "),
    (["--scenario", "./typo.yaml"], "typo.yaml: cannot be read: No such file"),
    (["--events", "typo"], "events: cannot read 'typo': it does not exist"),
    (["--settings", "networkms=5"], "--settings: networkms: unknown key; did you mean 'network_ms'? allowed: "),
    (["--settings", "network_ms=5,network_ms=6"], "--settings: 'network_ms' is given more than once"),
    (["--settings", "network_ms"], "--settings: network_ms: expected a whole number from 1 to 1000000000000, got ''"),
    (["--settings", "network_ms=0"], "--settings: network_ms: expected a whole number from 1 to 1000000000000, got 0"),
    (["--settings", "enable_auto_commit=1"], "--settings: enable_auto_commit: expected true or false, got 1"),
    (["--strategy", "rnage"], "--strategy: 'rnage' is not known (did you mean 'range'?); allowed: "),
    (["--kafka-version", "0.8"], "kafka version '0.8' is not known; allowed: "),
    (["--storm-rebalances", "1"], "--storm-rebalances: 1 is not allowed; allowed: 2 or more"),
    (["--storm-window-ms", "0"], "--storm-window-ms: 0 is not allowed; allowed: 1 or more"),
]


@pytest.mark.parametrize(("options", "printed"), MISTAKES)
def test_mistakes(
    fleet: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], printed: str
) -> None:
    usual = ["--scenario", "crash"] if options and options[0] != "--scenario" else []
    assert main(["simulate", *fleet, *usual, *options, "--out", f"{tmp_path}/out"]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("[")]
    assert len(lines) == 1
    assert printed in lines[0]
    assert not (tmp_path / "out" / "_run.json").exists()


@pytest.mark.parametrize("option", ["--timeline", "--follow"])
def test_a_group_that_an_option_names_must_exist(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    rows = [member("a", ["range"], ["t"], group_id=name) for name in ("orders", "billing", "")]
    given = given_by(tmp_path, topics=topics(spark, t=4), members=members(spark, *rows))
    assert main(["simulate", *given, "--scenario", "leave", option, "bililng", "--out", f"{tmp_path}/out"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    problem = "group 'bililng' does not exist; similar: 'billing', 'orders'"
    assert line == f"rebalance-sim simulate: {option}: {problem}"
    assert not (tmp_path / "out").exists()


@pytest.mark.scale
def test_events_have_a_format_of_their_own(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tables are Parquet, the plan is a hand-written file; a group that a consumer founds may be followed."""
    rows = [member("a", ["range"], ["t"]), member("b", ["range"], ["t"], group_id="h")]
    given = given_by(tmp_path, topics=topics(spark, t=4), members=members(spark, *rows))
    join = '{"group_id": "new", "event": "join", "at_ms": 1, "member_id": "n", "protocols": ["range"], '
    (tmp_path / "plan.jsonl").write_text(
        join + '"subscription": ["t"]}\n{"group_id": "g", "event": "crash", "at_ms": 10000, "member_id": "a"}\n'
    )
    (tmp_path / "plan.csv").write_text("group_id,event,at_ms,member_id,down_ms\ng,restart,10000,a,500\n")
    for name, group, line in (("plan.jsonl", "new", "n: event: join"), ("plan.csv", "g", "a: event: restart 500")):
        events = ["--events", f"{tmp_path}/{name}", "--follow", group]
        assert main(["simulate", *given, *events, "--out", f"{tmp_path}/out"]) == 0
        printed = capsys.readouterr().out
        assert f"{line}\n" in printed
        assert "0 rows rejected\n" in printed
    assert "1 group, 2 rebalances\n" in printed
    assert "no event affects 1 group; the figures do not include it\n" in printed


@pytest.mark.scale
def test_the_hint_about_the_format_of_events_helps(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = given_by(tmp_path, topics=topics(spark, t=4), members=members(spark, member("a", ["range"], ["t"])))
    (tmp_path / "plan.json").write_text("group_id,event,at_ms,member_id\ng,crash,10000,a\n")
    job = ["simulate", *given, "--events", f"{tmp_path}/plan.json", "--out", f"{tmp_path}/out"]
    assert main(job) == 2
    assert "plan.json' is not json, it looks like csv; use --format csv\n" in capsys.readouterr().err
    assert main([*job, "--format", "csv"]) == 0
    assert run_record(tmp_path / "out")["rows"]["used"]["events"] == 1


OWN_ASSIGNOR = """
from rebalance_sim import ConsumerPartitionAssignor, TopicPartition


class ToLast(ConsumerPartitionAssignor):
    name = "to-last"

    def assign(self, partitions, subscriptions):
        last = max(subscriptions)
        everything = [TopicPartition(topic, n) for topic, count in partitions.items() for n in range(count)]
        return dict.fromkeys(subscriptions, ()) | {last: everything}
"""


@pytest.mark.scale
def test_an_own_assignor(spark: SparkSession, tmp_path: Path) -> None:
    """Named, registered and elected."""
    file = tmp_path / "own_simulated_assignor.py"
    file.write_text(OWN_ASSIGNOR)
    spark.sparkContext.addPyFile(str(file))
    rows = [member(name, ["to-last"], ["t"]) for name in ("a", "b")]
    given = given_by(tmp_path, topics=topics(spark, t=4), members=members(spark, *rows))
    given, out = [*given, "--scenario", "leave"], tmp_path / "out"
    asked = ["--strategy", "elected,range,to-last", "--assignors", f"{file.stem}:ToLast", "--timeline", "g"]
    assert main(["simulate", *given, *asked, "--out", str(out)]) == 0
    costs = spark.read.parquet(f"{out}/costs").collect()
    assert {(row["strategy"], row["error"], row["moved"]) for row in costs} == {
        ("elected", None, 0), ("range", None, 2), ("to-last", None, 0),
    }  # fmt: skip
    assert main(["simulate", *given, "--strategy", f"{file.stem}:ToLast", "--out", str(out)]) == 0
    assert [row["strategy"] for row in spark.read.parquet(f"{out}/costs").collect()] == ["to-last"]


def totals(spark: SparkSession, costs: list[dict[str, Any]]) -> DataFrame:
    """Return what several workers add up."""
    return map_batches(table(spark, COSTS, costs).select(*COLUMNS).repartition(3), add_up, TOTALS)


def test_groups_that_no_event_affects_are_counted_apart(spark: SparkSession) -> None:
    """They do not make the figures of the others smaller."""
    usual = {"strategy": "s", "partitions": 2, "stable": True} | dict.fromkeys(
        ("rebalances", "unowned_ms", "moved", "events"), 0
    )
    restarted: dict[str, Any] = {"events": 1, "rebalances": 2, "stable_ms": 5000, "unowned_ms": 8000, "moved": 3}
    restarted |= {"max_unowned_ms": 6000, "downtimes": [{"unowned_ms": ms, "partitions": 1} for ms in (6000, 2000)]}
    rows = [usual | restarted, *[usual | {"group_id": name} for name in "abc"]]
    thrown_out = {"rebalances": 4, "stable": False, "evicted": 4}
    not_simulated = dict.fromkeys(("rebalances", "stable", "unowned_ms", "moved")) | {"error": "why"}
    rows += [usual | {"strategy": "t"} | more for more in ({}, thrown_out, not_simulated)]
    assert summarise_costs(totals(spark, rows)) == [
        "s: 1 group, 2 rebalances",
        "  partition downtime    mean 4.0 s   p99 6.0 s   max 6.0 s",
        "  time to stable        median 5.0 s, the group becomes stable",
        "  partition moves       3",
        "s: no event affects 3 groups; the figures do not include them",
        "t: 2 groups, 4 rebalances",
        "  partition downtime    mean 0.0 s   p99 0.0 s   max 0.0 s",
        "  time to stable        no group becomes stable",
        "  partition moves       0",
        "  evicted members       4",
        "  1 group cannot be simulated (see column error of costs)",
        "t: no event affects 1 group; the figures do not include it",
    ]


def test_epochs_of_share_groups_are_no_rebalances(spark: SparkSession) -> None:
    usual = {"strategy": "elected", "partitions": 2, "stable": True, "unowned_ms": 0, "moved": 0, "events": 1}
    consumers, sharing = usual | {"rebalances": 3}, usual | {"group_id": "share", "rebalances": 2, "epochs": 2}
    for rows, first in (
        ([consumers, sharing], "2 groups, 3 rebalances, 2 epochs of share or streams groups"),
        ([sharing], "1 group, 2 epochs"),
    ):
        assert summarise_costs(totals(spark, rows))[0] == first


def test_a_rollout_that_fails_is_an_error(spark: SparkSession) -> None:
    """A group counts as failing although the consumers that remain become stable."""
    usual: dict[str, Any] = dict.fromkeys(("rebalances", "unowned_ms", "moved", "failed"), 0)
    usual |= {"strategy": "elected", "partitions": 2, "stable": True, "finished": True, "stable_ms": 5000}
    failure = "INCONSISTENT_GROUP_PROTOCOL: c2, at 16012 ms, after event 3"
    failing: dict[str, Any] = {"failed": 11, "failure": failure, "stable_ms": 90_000}
    stuck: dict[str, Any] = {"finished": False, "stable": False, "stable_ms": None, "failure": "it does not finish"}
    rows = [usual | {"group_id": f"g{place}", "events": 12} | more for place, more in enumerate(({}, failing, stuck))]
    lines = summarise_costs(totals(spark, rows))
    assert lines[2:3] + lines[4:] == [
        "  time to stable        median 5.0 s, the rollout fails in 2 of 3 groups",
        f"  error: the rollout fails in 2 groups (11 failed consumers), first in group g1: {failure}",
    ]
    for failed in ([1], [1, 2]):
        lines = summarise_costs(totals(spark, [rows[place] for place in failed]))
        assert str(lines[2]).endswith("the rollout fails" if len(failed) == 1 else "the rollout fails in all 2 groups")


def test_bounces_are_summarised_one_by_one(spark: SparkSession) -> None:
    def bounce(number: int, **more: Any) -> dict[str, Any]:
        return {"strategy": "elected", "bounce": number, "partitions": 4, "rebalances": 6, "moved": 9,
                "unowned_ms": 8000, "to_ms": 1} | more  # fmt: skip

    assert summarise_bounces(table(spark, BOUNCES, [bounce(1)])) == []
    rows = [bounce(1), bounce(2, to_ms=None), bounce(1, group_id="h", unowned_ms=4000, rebalances=1)]
    assert summarise_bounces(table(spark, BOUNCES, rows)) == [
        "",
        "bounces, one after the other",
        "  bounce 1: 2 groups, 7 rebalances, 18 partition moves, downtime per partition of a group: "
        "mean 1.5 s, p99 2.0 s, max 2.0 s",
        "  bounce 2: 1 group, 6 rebalances, 9 partition moves, downtime per partition of a group: "
        "mean 2.0 s, p99 2.0 s, max 2.0 s; "
        "not over in 1 group",
    ]


def test_advice_compares_with_the_scenario_itself(spark: SparkSession) -> None:
    usual: dict[str, Any] = {"strategy": "elected", "setting": "group.instance.id", "value": "one per consumer"}
    usual |= {"best": False, "fails": False}
    rows = [
        usual | {"rebalances_saved": 2, "unowned_ms_saved": -872_400},
        usual | {"group_id": "h", "rebalances_saved": 1, "unowned_ms_saved": 0, "fails": True},
        usual | {"setting": "session.timeout.ms", "value": "10000", "rebalances_saved": 0, "unowned_ms_saved": 0},
        usual | {"setting": "group.protocol", "rebalances_saved": -1, "unowned_ms_saved": 2_000_000, "best": True},
    ]
    assert summarise_advice(table(spark, ADVICE, rows)) == [
        "",
        "advice: the same scenario with one setting changed",
        "  consumer protocol (KIP-848): 1 more rebalance, 2,000 s less partition downtime; best choice for 1 group",
        "  session.timeout.ms=10000: as many rebalances, as much partition downtime; best choice for 0 groups",
        "  static membership: 3 fewer rebalances, 872 s more partition downtime; best choice for 0 groups; "
        "error: the rollout fails in 1 group",
        "  The partitions of a static member wait until it is back; otherwise other members take them over in a "
        "rebalance.",
    ]


def test_advice_has_the_range_of_what_a_setting_saves(spark: SparkSession) -> None:
    usual: dict[str, Any] = {"strategy": "elected", "setting": "group.protocol", "value": "consumer", "best": False}
    usual |= {"fails": False, "rebalances_saved": 0, "unowned_ms_saved": 3_000}
    ends = [("revoke_ms", -5_000), ("start_ms", 9_000)]
    longest = [{"latency": name, "unowned_ms_saved": saved_ms} for name, saved_ms in ends]
    complete = [usual | {"at_longest": longest}, usual | {"group_id": "h", "at_longest": longest}]
    setting, ranges = summarise_advice(table(spark, ADVICE, complete))[2:]
    assert "6 s less partition downtime (10 s more to 18 s less); best" in setting
    assert "revoke_ms up to 2000" in ranges
    # Groups that were not tried over ranges would be missing in the sums.
    incomplete = [complete[0], usual | {"group_id": "h"}]
    assert "6 s less partition downtime; best" in summarise_advice(table(spark, ADVICE, incomplete))[2]


def test_summaries_of_nothing(spark: SparkSession) -> None:
    assert summarise_costs(totals(spark, [])) == []
    assert summarise_bounces(table(spark, BOUNCES, [])) == []
    assert summarise_advice(table(spark, ADVICE, [])) == []
