"""The formats of inputs, and messages about inputs that cannot be read."""

import gzip
import logging
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import main
from rebalance_sim.defaults import AUTO
from rebalance_sim.engine.runs.hadoop_files import HadoopFiles
from rebalance_sim.engine.runs.input_files import read_input
from rebalance_sim.engine.runs.input_formats import input_format
from rebalance_sim.engine.tables.inputs import fit
from rebalance_sim.errors import UserError
from rebalance_sim.tables import MEMBERS, TOPICS
from tests.support.rows import member, members

CSV = "group_id,member_id,protocols,subscription\ng,a,range; roundrobin,t\n"
JSON = '{"group_id": "g", "member_id": "a", "protocols": ["range", "roundrobin"], "subscription": ["t"]}\n'


def test_the_format_is_found_in_the_name_or_the_content(spark: SparkSession, tmp_path: Path) -> None:
    """Of a file, a compressed file, a folder, and of what a pattern matches."""
    given = members(spark, member("a", ["range", "roundrobin"], ["t"]))
    for name in ("parquet", "orc", "json"):
        given.write.format(name).save(f"{tmp_path}/folder-of-{name}")
    (tmp_path / "members.csv").write_text(CSV)
    (tmp_path / "lines").write_text(f"\n  {JSON}")
    (tmp_path / "text").write_text(CSV)
    (tmp_path / "zipped.gz").write_bytes(gzip.compress(JSON.encode()))
    found = {path.name: input_format(HadoopFiles(spark), MEMBERS.name, str(path), AUTO) for path in tmp_path.iterdir()}
    assert found == {
        "folder-of-parquet": "parquet",
        "folder-of-orc": "orc",
        "folder-of-json": "json",
        "members.csv": "csv",
        "lines": "json",
        "text": "csv",
        "zipped.gz": "json",
    }
    assert input_format(HadoopFiles(spark), MEMBERS.name, f"{tmp_path}/*-of-orc", AUTO) == "orc"
    for name in found:
        (row,) = fit(read_input(spark, MEMBERS, f"{tmp_path}/{name}", AUTO), MEMBERS).collect()
        assert (row["member_id"], row["protocols"], row["_reason"]) == ("a", ["range", "roundrobin"], None)


@pytest.mark.parametrize(
    ("name", "content", "more", "printed"),
    [
        ("m", CSV, ["--format", "parquet"], "not parquet, it looks like csv; leave out --format, or use --format csv"),
        ("m", JSON, ["--format", "csv"], "is not csv, it looks like json; leave out --format, or use --format json"),
        ("m.json", CSV, [], "is not json, it looks like csv; use --format csv"),
        ("m.csv", JSON, ["--format", "parquet"], "is not parquet, it looks like json; use --format json"),
        ("m.json", CSV, ["--format", "json"], "is not json, it looks like csv; use --format csv"),
        ("m.json", "{nothing\nof this\n", [], "as json: no line of it is a JSON object"),
        ("m.parquet", "PAR1 and no more", [], "as parquet: [FAILED_READ_FILE"),
        ("m.json", "", [], "is empty: it has no rows and no columns"),
        ("folder/_SUCCESS", "", [], "is empty: it has no rows and no columns"),
        ("m", JSON, ["--format", "jason"], "as jason: [DATA_SOURCE_NOT_FOUND]"),
        ("m.json", '{"topic": "t", "partitions": 3}', [], "'group_id' is missing; available: partitions, topic. This "
         "looks like the table topics"),
        ("m.csv", CSV.replace("group_id", "groupId"), [], "'group_id' is missing (did you mean 'groupId'?); "),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_input_takes_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str, more: list[str], printed: str
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(content)
    path = tmp_path / name.partition("/")[0]
    assert main(["elect", "--members", str(path), *more, "--out", f"{tmp_path}/out"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("rebalance-sim elect: members: ")
    assert printed in line


def test_a_path_that_does_not_exist_is_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"^topics: cannot read '{tmp_path}/none': it does not exist$"):
        read_input(spark, TOPICS, f"{tmp_path}/none", AUTO)
    with pytest.raises(UserError, match=r"^topics: cannot read 'kafka:broker:9092': "):
        read_input(spark, TOPICS, "kafka:broker:9092", AUTO)


def test_a_mistyped_column_that_is_ignored_is_named(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Additional columns are allowed."""
    (tmp_path / "members.csv").write_text("group_id,member_id,protocols,subscription,Instance_Id,region\ng,a,x,t,i,r\n")
    with caplog.at_level(logging.WARNING, "rebalance_sim"):
        read_input(spark, MEMBERS, f"{tmp_path}/members.csv", AUTO)
    assert [record.message for record in caplog.records] == [
        "members: column 'Instance_Id' is ignored; did you mean 'instance_id'?"
    ]
