"""Jobs from the command line."""

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import main
from rebalance_sim.commands.custom_assignors import load_assignors
from rebalance_sim.commands.strategies import strategies
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.spark.driver_rows import KEEPS_ROWS
from rebalance_sim.releases import kafka_version
from rebalance_sim.tables import MEMBERS, OFFSETS, TOPICS
from tests.support.rows import given_by, member, members, table, topics
from tests.support.spark_settings import set_for_a_while

pytestmark = pytest.mark.usefixtures("small_runs")

SMALL_FLEET = str(Path(__file__).parents[2] / "conf" / "fleets" / "small.yaml")


def record(out: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((out / "_run.json").read_text())
    return content


@pytest.fixture(scope="module")
def given(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Write topics and members, some of them unusable, and return the options for them."""
    bad_topic = table(spark, TOPICS, [{"topic": "bad", "partitions": -2}])
    rows = [
        member("a", ["range", "roundrobin"], ["t"]),
        member("b", ["roundrobin", "range"], ["t", "u"]),
        member("", ["range"], ["t"]),
        member("c", ["sticky"], ["t"]),
        member("a", ["range"], ["t"]),
        member("z", [], ["t"], group_id="empty"),
    ]
    usable_and_not = topics(spark, t=4, u=2).unionByName(bad_topic)
    return given_by(tmp_path_factory.mktemp("given"), topics=usable_and_not, members=members(spark, *rows))


def test_assign_writes_its_tables_and_counts_all_rows(
    spark: SparkSession, given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["assign", *given, "--out", str(out)]) == 0
    assert record(out)["rows"] == {
        "in": {"topics": 3, "members": 6},
        "used": {"topics": 2, "members": 2},
        "rejected": {"topics": 1, "members": 4},
        "out": {"assignments": 2, "balance": 1, "cooperative_rebalances": 0, "elections": 1, "rejects": 5},
    }
    found = sorted(path.name for path in out.iterdir() if path.is_dir())
    assert found == ["assignments", "balance", "cooperative_rebalances", "elections", "rejects"]
    printed = capsys.readouterr().out
    assert "elections: 1 group, 1 tie decided by hash order" in printed
    assert "t:0-1" in printed
    assert "read 3 topics, 6 members; 5 rows rejected" in printed
    for name in ("elections", "assignments", "balance"):
        # Of the group `empty` nothing is left to predict.
        marked = spark.read.parquet(f"{out}/{name}").select("group_id", "rejected_members").distinct().collect()
        assert marked == [("g", 3)]
    reasons = {row["reason"].partition(":")[0] for row in spark.read.parquet(f"{out}/rejects").collect()}
    assert reasons == {
        "partitions is -2; allowed",
        "member_id is null or empty",
        "INCONSISTENT_GROUP_PROTOCOL",
        "member_id 'a' is given 2 times in its group; one is used",
        "protocols is empty",
    }


@pytest.mark.scale
def test_a_named_strategy_reads_no_protocols(given: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["assign", *given, "--strategy", "range", "--out", str(out)]) == 0
    assert not (out / "elections").exists()
    assert record(out)["rows"]["used"]["members"] == 4


def test_a_mistake_in_an_input_leaves_the_earlier_output(given: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["elect", *given[2:], "--out", str(out)]) == 0
    before = record(out)
    assert main(["elect", "--members", f"{tmp_path}/typo", "--out", str(out)]) == 2
    assert record(out) == before
    assert (out / "elections" / "_SUCCESS").exists()


@pytest.mark.scale
def test_assumptions_are_passed_from_run_to_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The assumptions of a capture are reported by the runs that read it."""
    capture = Path(__file__).parents[2] / "docs" / "examples" / "kafka-4.3.1"
    assert main(["fleet", "--kafka-tools", str(capture), "--out", f"{tmp_path}/fleet"]) == 0
    tables = [f"--{name}={tmp_path}/fleet/{name}" for name in ("topics", "members")]
    assert main(["assign", *tables, "--out", f"{tmp_path}/assign"]) == 0
    assert record(tmp_path / "assign")["assumptions"] == record(tmp_path / "fleet")["assumptions"] != []
    assert "assumptions about clients: " in capsys.readouterr().out


@pytest.mark.scale
def test_tables_of_an_earlier_run_are_removed(given: list[str], tmp_path: Path) -> None:
    """Anything else stays."""
    out = tmp_path / "out"
    assert main(["assign", *given, "--out", str(out)]) == 0
    (out / "notes").mkdir()
    assert main(["assign", *given, "--strategy", "range", "--out", str(out)]) == 0
    folders = {path.name for path in out.iterdir() if path.is_dir()}
    assert folders == {"notes"} | record(out)["rows"]["out"].keys()
    assert "elections" not in folders


@pytest.mark.scale
def test_all_strategies_are_compared(
    spark: SparkSession, given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All members take part, including those that the coordinator would refuse."""
    out = tmp_path / "out"
    assert main(["assign", *given, "--strategy", "all", "--kafka-version", "2.3", "--out", str(out)]) == 0
    assert record(out)["rows"]["used"]["members"] == 4
    figures = 3 * 12 + 3  # Of three assignors, and of the optimum.
    assert record(out)["rows"]["out"] == {
        "assignments": 12,
        "balance": 6,
        "changes": 1,
        "comparison": 2,
        "cooperative_rebalances": 0,
        "distributions": figures,
        "elections": 1,
        "rejects": 3,
    }
    assert {path.name for path in out.iterdir() if path.is_dir()} == record(out)["rows"]["out"].keys()
    compared = spark.read.parquet(f"{out}/comparison").where("group_id = 'g'")
    (row,) = compared.select("members", "elected", "optimum.stddev", "strategies.range.excess_max").collect()
    assert (row["members"], row["elected"], row["stddev"], row["excess_max"]) == (3, "range", 0.0, 1)
    (change,) = spark.read.parquet(f"{out}/changes").collect()
    assert (change["strategy"], change["change"], change["group_id"]) == ("sticky", "gain", "g")
    printed = capsys.readouterr().out
    assert "elections: 1 group, 1 tie decided by hash order" in printed
    assert "comparison with the optimum (exact in all groups)" in printed


@pytest.mark.scale
def test_elected_is_compared_with_another_strategy(
    spark: SparkSession, given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Members that the coordinator refuses are left out. With offsets, lag is compared as well."""
    numbers = [("t", 0, 10, 110), ("t", 1, 5, 55), ("t", 2, 7, None), ("u", 0, 9, 4), ("u", -1, 0, 0)]
    columns = ("group_id", "topic", "partition", "committed", "end")
    of_groups = [*(("g", *row) for row in numbers), ("nobody", "t", 0, 0, 7)]
    rows = [dict(zip(columns, row, strict=True)) for row in of_groups]
    out, offsets = tmp_path / "out", given_by(tmp_path, offsets=table(spark, OFFSETS, rows))
    assert main(["assign", *given, *offsets, "--strategy", "elected,sticky", "--out", str(out)]) == 0
    counts = record(out)["rows"]
    assert [counts[kind]["offsets"] for kind in ("in", "used", "rejected")] == [6, 5, 1]
    assert counts["used"]["members"] == 2
    assert (counts["out"]["member_lag"], counts["out"]["lag_balance"]) == (4, 2)
    printed = capsys.readouterr().out
    assert "lag: 150 records in 2 partitions of 1 group\n  unknown: 3 partitions of 1 group\n" in printed
    assert "  committed offset above the log end, counted as no lag: 1 partition\n" in printed
    assert "  without an assignment: 7 records of 1 group (see topic_lag)\n" in printed
    assert "read 3 topics, 6 members, 6 offsets; 6 rows rejected" in printed
    (row,) = spark.read.parquet(f"{out}/comparison").collect()
    assert (row["members"], sorted(row["strategies"])) == (2, sorted({row["elected"], "sticky"}))


@pytest.mark.scale
def test_elect_writes_elections_in_any_format(given: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["elect", *given[2:], "--kafka-version", "2.3", "--output-format", "json", "--out", str(out)]) == 0
    (row,) = [json.loads(line) for file in (out / "elections").glob("*.json") for line in file.read_text().splitlines()]
    assert (row["protocol"], row["tie"], row["votes"]) == ("range", True, {"range": 1, "roundrobin": 1})
    assert record(out)["rows"]["rejected"] == {"members": 4}


@pytest.mark.scale
def test_a_table_of_clusters_comes_before_the_options(
    spark: SparkSession, given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of elections, simulations and explanations."""
    clusters = tmp_path / "clusters.json"
    clusters.write_text('{"cluster": "default", "broker_version": "3.9", "offsets_partitions": 1}')
    out, by_table = str(tmp_path / "out"), ["--kafka-version", "2.3", "--clusters", str(clusters)]
    assert main(["elect", *given[2:], *by_table, "--out", out]) == 0
    (election,) = spark.read.parquet(f"{out}/elections").collect()
    assert (election["protocol"], election["coordinator_partition"]) == ("roundrobin", 0)
    capsys.readouterr()
    assert main(["explain", "election", *given[2:], *by_table, "--group", election["group_id"]]) == 0
    assert "elects roundrobin (Kafka 3.9)" in capsys.readouterr().out
    costs = []
    for name, options in (("table", by_table), ("option", ["--kafka-version", "3.9"])):
        assert main(["simulate", *given, "--scenario", "leave", *options, "--out", f"{tmp_path}/{name}"]) == 0
        costs.append(spark.read.parquet(f"{tmp_path}/{name}/costs").collect())
    assert costs[0] == costs[1]


def test_mistakes_in_a_table_of_clusters_take_one_line(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clusters = tmp_path / "clusters.json"
    clusters.write_text('{"cluster": "a", "offsets_partitions": 0}')
    assert main(["elect", *given[2:], "--clusters", str(clusters), "--out", f"{tmp_path}/out"]) == 2
    assert "clusters: cluster 'a': offsets_partitions is 0; allowed: 1 or more" in capsys.readouterr().err


@pytest.mark.scale
def test_bad_input_can_fail_a_run(given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["elect", *given[2:], "--out", str(out)]) == 0
    assert main(["elect", *given[2:], "--on-bad-input", "fail", "--out", str(out)]) == 2
    assert not (out / "_run.json").exists()
    assert "rebalance-sim elect: members: " in capsys.readouterr().err


@pytest.mark.scale
def test_tables_of_a_run_that_has_not_finished_are_refused(
    spark: SparkSession, given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables in the same folder that the run does not replace can be read."""
    fleet = tmp_path / "fleet"
    run = Run(spark, "fleet", str(fleet), {})
    run.begin([MEMBERS.name])
    copytree(given[3], fleet / MEMBERS.name)
    elect = ["elect", f"--members={fleet}/members", "--out", f"{tmp_path}/out"]
    assert main(elect) == 2
    printed = f"rebalance-sim elect: members: '{fleet}/members' belongs to a run of fleet that has not finished; wait"
    assert printed in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    run.finish()
    assert main(elect) == 0
    run.begin([OFFSETS.name])
    assert main(elect) == 0


OWN_ASSIGNORS = """
from rebalance_sim import ConsumerPartitionAssignor, RebalanceProtocol, TopicPartition

class ToLast(ConsumerPartitionAssignor):
    name = "to-last"

    def assign(self, partitions, subscriptions):
        last = max(subscriptions)
        topics = set(subscriptions[last].topics) & partitions.keys()
        everything = [TopicPartition(topic, number) for topic in topics for number in range(partitions[topic])]
        return {member_id: [] for member_id in subscriptions} | {last: everything}

class Kafkas(ToLast):
    name = "range"

class Cooperative(ToLast):
    name = "cooperative"
    supported_protocols = [RebalanceProtocol.COOPERATIVE]

class SameName(ToLast):
    pass

class Unfinished(ConsumerPartitionAssignor):
    name = "unfinished"

class Other:
    pass
"""


@pytest.fixture(scope="module")
def own_assignors(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Make a module of assignors available on driver and workers, as --py-files does."""
    file = tmp_path_factory.mktemp("modules") / "own_assignors.py"
    file.write_text(OWN_ASSIGNORS)
    spark.sparkContext.addPyFile(str(file))
    return file.stem


@pytest.mark.scale
def test_an_own_assignor_is_elected(
    spark: SparkSession, own_assignors: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [member(name, ["to-last", "range"], ["t"]) for name in ("a", "b")]
    rows.append(member("c", ["range"], ["t"], group_id="h"))
    given, out = given_by(tmp_path, topics=topics(spark, t=3), members=members(spark, *rows)), tmp_path / "out"
    assert main(["assign", *given, "--assignors", f"{own_assignors}:ToLast", "--out", str(out)]) == 0
    assignments = spark.read.parquet(f"{out}/assignments").collect()
    found = {(row.strategy, row.member_id): len(row.partitions) for row in assignments}
    assert found == {("to-last", "a"): 0, ("to-last", "b"): 3, ("range", "c"): 3}
    assert record(out)["options"]["assignors"] == "own_assignors:ToLast"
    assert "t:0-2" in capsys.readouterr().out


STRATEGIES = [
    ("own_assignors:ToLast", "", ("to-last",)),
    ("range, own_assignors:ToLast ,to-last", "", ("range", "to-last")),
    ("to-last,sticky", "own_assignors:ToLast", ("to-last", "sticky")),
    ("own_assignors:ToLast", "own_assignors:ToLast,own_assignors:Cooperative", ("to-last",)),
    ("all", "own_assignors:ToLast", ("range", "roundrobin", "sticky", "cooperative-sticky", "to-last")),
    ("elected", "own_assignors:ToLast", ("elected",)),
]


@pytest.mark.parametrize(("strategy", "registered", "expected"), STRATEGIES)
def test_strategies_can_name_own_assignors(
    own_assignors: str, strategy: str, registered: str, expected: tuple[str, ...]
) -> None:
    version = kafka_version("3.6")
    own = load_assignors(registered, strategy, version)
    assert strategies(strategy, version, own) == expected
    assert "to-last" in [assignor.name for assignor in own.values()]


OWN_MISTAKES = [
    ("nowhere:ToLast", "--assignors: nowhere:ToLast: no module named 'nowhere'; its folder must be on PYTHONPATH, or"),
    ("own_assignors", "--assignors: own_assignors: expected MODULE:CLASS"),
    ("own_assignors:", "--assignors: own_assignors:: expected MODULE:CLASS"),
    (
        "own_assignors:ToLats",
        "own_assignors has no class ToLats derived from ConsumerPartitionAssignor; it has: Cooperative, Kafkas, ",
    ),
    ("own_assignors:Other", "own_assignors has no class Other derived from ConsumerPartitionAssignor; it has: "),
    ("json:JSONDecoder", "json has no class JSONDecoder derived from ConsumerPartitionAssignor; it has: none"),
    ("own_assignors:Unfinished", "Unfinished() raised TypeError: Can't instantiate abstract class Unfinished with"),
    ("own_assignors:Kafkas", "own_assignors:Kafkas: Kafkas.name is 'range'; not allowed: range, roundrobin, "),
    ("own_assignors:Cooperative", "Cooperative.supported_protocols has no EAGER; Kafka 2.3 has no other"),
    ("own_assignors:ToLast,own_assignors:SameName", "'to-last' is the name of more than one assignor: ToLast and "),
    ("broken_module:Any", "importing broken_module raised ZeroDivisionError: division by zero"),
    ("lacking_module:Any", "no module named 'nowhere'; "),
]


@pytest.mark.parametrize(("registered", "printed"), OWN_MISTAKES)
def test_mistakes_in_own_assignors_take_one_line(
    own_assignors: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    registered: str,
    printed: str,
) -> None:
    (tmp_path / "broken_module.py").write_text("1 / 0")
    (tmp_path / "lacking_module.py").write_text("import nowhere")
    monkeypatch.syspath_prepend(tmp_path)
    given = ["--topics", "none", "--members", "none", "--out", f"{tmp_path}/out", "--kafka-version", "2.3"]
    assert main(["assign", *given, "--assignors", registered]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("rebalance-sim assign: --assignors: ")
    assert printed in line


@pytest.mark.scale
def test_a_module_that_workers_cannot_import_is_named(
    spark: SparkSession,
    given: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "on_the_driver.py").write_text(OWN_ASSIGNORS)
    monkeypatch.syspath_prepend(tmp_path)
    with set_for_a_while(spark, {KEEPS_ROWS: "false"}):
        assert main(["assign", *given, "--strategy", "on_the_driver:ToLast", "--out", f"{tmp_path}/out"]) == 2
    printed = capsys.readouterr().err.splitlines()[-1]
    assert printed.startswith(
        "rebalance-sim assign: Spark's workers cannot import module 'on_the_driver'; its folder must be "
    )


MISTAKES = [
    (["--members", "typo.json"], "members: cannot read 'typo.json'"),
    (["--out", " "], "--out: ' ' is not allowed; allowed: a folder that the run may replace"),
    (["--out", "/proc/nowrite"], "--out: cannot write to '/proc/nowrite'"),
    (["--strategy", "range", "--output-format", "nope"], "--output-format: cannot write as nope"),
    (["--strategy", "range", "--output-format", "csv"], "--output-format: cannot write as csv"),
    (["--kafka-version", "0.8"], "kafka version '0.8' is not known; allowed: releases from 0.11.0 to 4.4"),
    (["--strategy", "rnage"], "--strategy: 'rnage' is not known (did you mean 'range'?); allowed: "),
    (
        ["--strategy", "server-uniform", "--kafka-version", "2.3"],
        "--strategy: Kafka 2.3 has no 'server-uniform'; allowed: range, roundrobin, ",
    ),
    (["--strategy", "elected,"], "--strategy: '' is not known; allowed: range, roundrobin"),
    (["--format", "nonsense"], "topics: cannot read "),
    (["--client-version", "9"], "kafka version '9' is not known; allowed: releases from 0.11.0 to 4.4"),
    (
        ["--kafka-version", "4.3", "--scala-version", "2.12"],
        "scala version '2.12' is not a build of Kafka 4.3; allowed",
    ),
    (["--offsets-partitions", "0"], "--offsets-partitions: 0 is not allowed; allowed: 1 or more"),
]


@pytest.mark.parametrize(("options", "printed"), MISTAKES)
def test_mistakes_in_options_take_one_line(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], printed: str
) -> None:
    assert main(["assign", *given, "--out", f"{tmp_path}/out", *options]) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("rebalance-sim assign: ")]
    assert printed in line


@pytest.mark.parametrize(("release", "warnings"), [("4.5", 1), ("2.8.1", 0)])
def test_a_release_that_was_not_tested_gives_one_warning(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], release: str, warnings: int
) -> None:
    assert main(["elect", *given[2:], "--out", f"{tmp_path}/out", "--kafka-version", release, "--dry-run"]) == 0
    message = f"Kafka {release} is newer than 4.4, the newest tested release, whose rules are used"
    assert capsys.readouterr().err.count(message) == warnings


@pytest.mark.scale
@pytest.mark.parametrize(("release", "assumed"), [("3.9", 1), ("4.0", 0)])
def test_early_access_is_an_assumption(given: list[str], tmp_path: Path, release: str, assumed: int) -> None:
    asked = ["--strategy", "server-uniform", "--kafka-version", release, "--out", f"{tmp_path}/out"]
    assert main(["assign", *given, *asked]) == 0
    assumptions = record(tmp_path / "out")["assumptions"]
    assert sum("Kafka 3.9 have the consumer protocol (KIP-848) enabled" in each for each in assumptions) == assumed


def test_early_access_is_not_simulated(given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--strategy", "server-uniform", "--kafka-version", "3.9", "--out", f"{tmp_path}/out"]
    assert main(["simulate", *given, "--scenario", "leave", *asked]) == 2
    assert "--strategy: Kafka 3.9 (simulated) has no 'server-uniform'; allowed: range" in capsys.readouterr().err


@pytest.mark.scale
def test_a_synthetic_fleet_can_be_assigned(tmp_path: Path) -> None:
    fleet, out = tmp_path / "fleet", tmp_path / "out"
    assert main(["fleet", "--synthetic", SMALL_FLEET, "--groups", "50", "--seed", "3", "--out", str(fleet)]) == 0
    assert main(["assign", "--topics", f"{fleet}/topics", "--members", f"{fleet}/members", "--out", str(out)]) == 0
    assert record(out)["rows"]["in"]["members"] == record(fleet)["rows"]["out"]["members"]


@pytest.mark.scale
def test_jobs_run_one_after_the_other_until_one_fails(given: list[str], tmp_path: Path) -> None:
    elected, assigned, never = tmp_path / "elected", tmp_path / "assigned", tmp_path / "never"
    elect = ["elect", *given[2:], "--out", str(elected)]
    fails = ["assign", *given, "--on-bad-input", "fail", "--out", str(assigned)]
    assert main([*elect, "then", *fails, "then", "elect", *given[2:], "--out", str(never)]) == 2
    assert (elected / "_run.json").exists()
    assert not (assigned / "_run.json").exists()
    assert not never.exists()


def test_a_mistake_in_a_later_job_is_found_before_the_first_runs(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["elect", *given[2:], "--out", str(out), "then", "elec"]) == 2
    assert "did you mean 'elect'?" in capsys.readouterr().err
    assert not out.exists()
