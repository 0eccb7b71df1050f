"""The job history: what it prints and writes, and the mistakes that it reports."""

import json
import shlex
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import USER_ERROR, main
from tests.sources.offsets_topic.test_history import GROUP, T0, T1, T2, classic, frame, of, placed

pytestmark = pytest.mark.usefixtures("small_runs")


def test_a_history_of_two_dumps(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A group whose member crashes again and again, and one that is seen once; the dumps overlap."""
    a = of("a")
    crashing = [classic(2 * n + 1 + back, a, *[of(f"b{n}")] * back) for n in range(4) for back in (0, 1)]
    records = placed([*crashing, *[classic(1, a, group_id="quiet")]])
    dumps = [records[:5], [*records[3:], (None, None, 0, 99)]]
    for number, dump in enumerate(dumps):
        frame(spark, dump).write.parquet(f"{tmp_path}/{number}")
    arguments = ["history", "--offsets-topic", f"{tmp_path}/0,{tmp_path}/1", "--out", f"{tmp_path}/out"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(
        "9 generations of 2 groups in 7 seconds, in 2 episodes\n\n"
        "  group g: 8 generations in 7 seconds, 6 of them because member client-b left and came back\n"
        "  group quiet: 1 generation\n"
    )
    assert "read 12 rows of offsets_topic, 13 generation members; 1 row rejected" in printed
    record = json.loads((tmp_path / "out/_run.json").read_text())
    assert record["rows"]["records"] == {"group metadata": {"used": 9, "duplicate": 2}, "unreadable": {"rejected": 1}}
    assert record["rows"]["rejected"] == {"offsets_topic": 1, "generation_members": 0}
    kinds = spark.read.parquet(f"{tmp_path}/out/episodes").select("group_id", "kind").collect()
    assert sorted(map(tuple, kinds)) == [("g", "crash loop"), ("quiet", "single change")]

    assert main([*arguments, "--groups", "quiet", "--until", "1970-01-01", "--on-bad-input", "fail"]) == USER_ERROR
    assert "offsets_topic: record key: null" in capsys.readouterr().err


def test_a_miss_is_printed_with_the_command_that_explains_it(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The leader's second answer is altered: range assigns the first two of three partitions to the first member."""
    written = [classic(1, of("a", T0, T1), of("b", T2)), classic(2, of("a", T2, T1), of("b", T0))]
    frame(spark, placed(written)).write.parquet(f"{tmp_path}/dump")
    (tmp_path / "topics.json").write_text(json.dumps({"topic": "t", "partitions": 3, "racks": [["r1"]] * 3}))
    inputs = ["--offsets-topic", f"{tmp_path}/dump", "--topics", f"{tmp_path}/topics.json"]
    assert main(["history", *inputs, "--kafka-version", "3.9", "--out", f"{tmp_path}/out"]) == 0
    printed = capsys.readouterr().out
    misses = printed[printed.index("assigned differently from the prediction:") :].splitlines()
    assert [" ".join(line.split()) for line in misses[2:4]] == [
        f"g 2 {basis} range 2 3 2" for basis in ("what the members sent", "the generation before")
    ]
    assert misses[4] == "In the first of them, t-0 was assigned to b and is predicted for a. See why:"
    program, *arguments = shlex.split(misses[5])
    assert program == "rebalance-sim"
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("t-0 of group 'g' is assigned to a (range, Kafka 3.9)\n")
    tables = [
        part for name in ("topics", "members", "clusters") for part in (f"--{name}", f"{tmp_path}/out/miss_{name}")
    ]
    assert main(["assign", *tables, "--out", f"{tmp_path}/assigned"]) == 0
    predicted = spark.read.parquet(f"{tmp_path}/assigned/assignments").where("member_id = 'a'").collect()
    assert {row["cluster"]: [tuple(each) for each in row["partitions"]] for row in predicted} == {
        f"default/g/0/2/{basis}": [("t", 0), ("t", 1)] for basis in ("as joined", "generation before")
    }


def test_a_dump_without_groups(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame(spark, placed(GROUP[1:2])).write.parquet(f"{tmp_path}/dump")
    assert main(["history", "--offsets-topic", f"{tmp_path}/dump", "--out", f"{tmp_path}/out"]) == 0
    assert capsys.readouterr().out.startswith("0 generations of 0 groups, in 0 episodes\n\nread 1 row of offsets_topic")


def test_text_is_not_merged(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.txt").write_text("g::NULL\n")
    where = f"{tmp_path}/one.txt,{tmp_path}/two.txt"
    assert main(["history", "--offsets-topic", where, "--out", f"{tmp_path}/out"]) == USER_ERROR
    assert "one.txt' is text, which has no offsets; several dumps are merged by offset" in capsys.readouterr().err


def test_broker_logs(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lines about rebalances are counted, and those that cannot be read are rejected; a missing log is an error."""
    frame(spark, placed(GROUP)).write.parquet(f"{tmp_path}/dump")
    (tmp_path / "logs").mkdir()
    lines = [
        "[2026-11-29 16:00:20,000] INFO Preparing to rebalance group g in state PreparingRebalance with old generation "
        "1 (reason: x)",
        '{"timestamp": "2026-11-29T16:00:21.250Z", "message": "Stabilized group g generation 2 with 2 members."}',
        "Stabilized group g generation 3",
    ]
    (tmp_path / "logs" / "server.log").write_text("\n".join([*lines, "another line", ""]))
    arguments = ["history", "--offsets-topic", f"{tmp_path}/dump", "--out", f"{tmp_path}/out", "--cluster", "eu"]
    arguments.append("--broker-logs")
    assert main([*arguments, f"{tmp_path}/logs"]) == 0
    printed = capsys.readouterr().out
    assert ["join", "measured", "broker", "logs", "1", "1", "1,250", "1,250"] in map(str.split, printed.splitlines())
    record = json.loads((tmp_path / "out/_run.json").read_text())
    assert record["rows"]["rejected"]["broker_logs"] == 1
    generations = spark.read.parquet(f"{tmp_path}/out/generations").orderBy("generation").collect()
    assert [row["log_reasons"] for row in generations] == [None, ["x"], None, None, None]
    assert main([*arguments, f"{tmp_path}/none"]) == USER_ERROR
    assert f"cannot read the broker log {str(tmp_path / 'none')!r}: it does not exist" in capsys.readouterr().err
