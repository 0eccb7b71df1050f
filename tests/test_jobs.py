"""The jobs as a user calls them."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import main
from rebalance_sim.tables import TOPICS
from tests.engine.rows import member, members, table, topics

SMALL_FLEET = str(Path(__file__).parents[1] / "conf" / "fleets" / "small.yaml")


def record(out: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((out / "_run.json").read_text())
    return told


@pytest.fixture
def given(spark: SparkSession, tmp_path: Path) -> list[str]:
    """Write topics and members, some rows of them bad, and return the options that name them."""
    bad_topic = table(spark, TOPICS, [{"topic": "bad", "partitions": -2}])
    topics(spark, t=4, u=2).unionByName(bad_topic).write.parquet(f"{tmp_path}/topics")
    members(
        spark,
        member("a", ["range", "roundrobin"], ["t"]),
        member("b", ["roundrobin", "range"], ["t", "u"]),
        member("", ["range"], ["t"]),
        member("c", ["sticky"], ["t"]),
        member("a", ["range"], ["t"]),
        member("z", [], ["t"], group_id="empty"),
    ).write.parquet(f"{tmp_path}/members")
    return ["--topics", f"{tmp_path}/topics", "--members", f"{tmp_path}/members"]


def test_assign(spark: SparkSession, given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["assign", *given, "--out", str(out)]) == 0
    assert record(out)["rows"] == {
        "in": {"topics": 3, "members": 6},
        "used": {"topics": 2, "members": 2},
        "rejected": {"topics": 1, "members": 4},
        "out": {"assignments": 2, "balance": 1, "elections": 1, "rejects": 5},
    }
    assert sorted(path.name for path in out.iterdir() if path.is_dir()) == [
        "assignments",
        "balance",
        "elections",
        "rejects",
    ]
    told = capsys.readouterr().out
    assert "1 groups elected; 1 by a tie that hash order decided" in told
    assert "t:0-1" in told
    assert "rows used: 2 of 3 topics, 2 of 6 members; rejected: 5" in told
    reasons = {row["reason"].partition(":")[0] for row in spark.read.parquet(f"{out}/rejects").collect()}
    assert reasons == {
        "partitions is -2; allowed",
        "member_id is null or empty",
        "INCONSISTENT_GROUP_PROTOCOL",
        "member_id 'a' is given 2 times in its group; one is used",
        "protocols is empty",
    }


@pytest.mark.parametrize("strategy", ["range", "roundrobin,range", "all"])
def test_named_strategies_read_no_protocols(given: list[str], tmp_path: Path, strategy: str) -> None:
    out = tmp_path / "out"
    assert main(["assign", *given, "--strategy", strategy, "--out", str(out)]) == 0
    assert not (out / "elections").exists()
    assert record(out)["rows"]["used"]["members"] == 4


def test_elect(given: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["elect", *given[2:], "--kafka-version", "2.3", "--output-format", "json", "--out", str(out)]) == 0
    (row,) = [json.loads(line) for file in (out / "elections").glob("*.json") for line in file.read_text().splitlines()]
    assert (row["protocol"], row["tie"], row["votes"]) == ("range", True, {"range": 1, "roundrobin": 1})
    assert record(out)["rows"]["rejected"] == {"members": 4}


def test_running_again_replaces_the_output(given: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["elect", *given[2:], "--out", str(out)]
    assert main(arguments) == 0
    before = record(out)["rows"]
    assert main(arguments) == 0
    assert record(out)["rows"] == before


def test_bad_input_may_stop_a_run(given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["elect", *given[2:], "--out", str(out)]) == 0
    assert main(["elect", *given[2:], "--on-bad-input", "fail", "--out", str(out)]) == 2
    assert not (out / "_run.json").exists()
    assert "rebalance-sim elect: members: " in capsys.readouterr().err


MISTAKES = [
    (["--kafka-version", "0.8"], "kafka version '0.8' is not known; allowed: 1.0, 2.3, 3.9 and 4.x"),
    (["--strategy", "rnage"], "--strategy: 'rnage' is not known (did you mean 'range'?); allowed: "),
    (
        ["--strategy", "server-uniform", "--kafka-version", "2.3"],
        "--strategy: Kafka 2.3 has no 'server-uniform'; allowed: range, roundrobin, ",
    ),
    (["--strategy", "elected,range"], "--strategy: 'elected' is not known; allowed: range, roundrobin"),
    (["--format", "nonsense"], "topics: cannot read "),
    (["--offsets-partitions", "0"], "--offsets-partitions: 0 is not allowed; allowed: 1 and more"),
]


@pytest.mark.parametrize(("options", "told"), MISTAKES)
def test_mistakes_are_told_in_one_line(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], told: str
) -> None:
    assert main(["assign", *given, *options, "--out", f"{tmp_path}/out"]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("[")]
    assert len(lines) == 1
    assert told in lines[0]


def test_a_path_that_is_not_there(given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["elect", "--members", f"{tmp_path}/none", "--out", f"{tmp_path}/out"]) == 2
    assert f"rebalance-sim elect: members: cannot read '{tmp_path}/none' as parquet: " in capsys.readouterr().err


def test_a_file_of_another_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "members.parquet").write_text("no parquet")
    assert main(["elect", "--members", f"{tmp_path}/members.parquet", "--out", f"{tmp_path}/out"]) == 2
    assert "members: cannot read " in capsys.readouterr().err


def test_a_synthetic_fleet_through_all_jobs(tmp_path: Path) -> None:
    fleet, out = tmp_path / "fleet", tmp_path / "out"
    assert main(["fleet", "--synthetic", SMALL_FLEET, "--groups", "50", "--seed", "3", "--out", str(fleet)]) == 0
    assert main(["assign", "--topics", f"{fleet}/topics", "--members", f"{fleet}/members", "--out", str(out)]) == 0
    assert record(out)["rows"]["in"]["members"] == record(fleet)["rows"]["out"]["members"]
