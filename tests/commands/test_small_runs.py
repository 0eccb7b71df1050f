"""Small runs, in plain Python and with Spark's settings for small inputs, write and print what any other run does."""

import json
import os
import re
import subprocess
import sys
from argparse import Namespace
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.cli import main
from rebalance_sim.commands.input_size import IN_DRIVER, SHORT_HISTORY, are_read_by_workers, are_small, is_small
from rebalance_sim.commands.starting import settings_of
from rebalance_sim.engine.spark.driver_rows import KEEPS_ROWS, in_driver, keeps_rows
from rebalance_sim.engine.spark.java_runtime import java_home
from rebalance_sim.engine.spark.session import FOR_LARGE_INPUTS, FOR_PYTHON_WORKERS, LocalSettings
from tests.support.rows import written
from tests.support.spark_settings import set_for_a_while

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
FLEET = ("--topics", "fleet/topics", "--members", "fleet/members")
ORDERS = ("--format", "json", "--topics", f"{EXAMPLES}/orders/topics.json")
LARGE = ("--topics", f"{EXAMPLES}/orders/topics.json", "--members", "large.json")
JOBS = {
    "fleet": ("fleet", "--kafka-tools", f"{EXAMPLES}/kafka-4.3.1"),
    "elected": ("elect", *FLEET[2:]),
    "assigned": ("assign", *FLEET, "--offsets", "fleet/offsets"),
    "compared": ("assign", *FLEET, "--strategy", "all"),
    "keys": ("partition", *ORDERS, "--records", f"{EXAMPLES}/orders/clicks.json", "--partitions-after", "9"),
    "batches": ("partition", *ORDERS, "--records", f"{EXAMPLES}/orders/records.json"),
    "large": ("assign", *LARGE, "--strategy", "all"),
    "unusable": ("assign", "--topics", f"{EXAMPLES}/orders/topics.json", "--members", "unusable.json"),
    "audited": ("audit", "--kafka-tools", f"{EXAMPLES}/kafka-4.3.1"),
    "left": ("simulate", *FLEET, "--scenario", "leave", "--timeline", "all", "--advice"),
}
RUNS = ("elected", "assigned", "compared", "keys", "left")
BILLING = ("--group", "billing", "--topic", "orders", "--partition", "3")
PRINTED = {
    "why-the-protocol": ("explain", "election", *FLEET[2:], *BILLING[:2]),
    "why-the-member": ("explain", "assignment", *FLEET, *BILLING, "--strategy", "all"),
    "why-the-partition": ("explain", "key", "--key", "TT0124", *FLEET[:2], *BILLING[2:4], "--client", "sarama"),
    "checked": ("check", "--runs", ",".join(RUNS), "--max-ties", "9", "--max-unowned-ms", "1e9"),
    "reported": ("report", "--runs", ",".join(RUNS), "--out", "page"),
}
RUN_SMALL = "import json, sys; from tests.commands.test_small_runs import run_small; run_small(json.loads(sys.argv[1]))"


def run_small(commands: dict[str, list[str]]) -> None:
    """Run commands as small runs."""
    for printed, arguments in commands.items():
        run(printed, arguments)
        assert keeps_rows(SparkSession.active()), f"no small run: {arguments}"


def run(printed: str, arguments: list[str]) -> None:
    """Run a command; what it prints goes to a file."""
    with Path(printed).open("w") as file, redirect_stdout(file):
        assert main(arguments) == 0, arguments


def commands(folder: Path) -> dict[str, list[str]]:
    """Return the command lines of all jobs by the file for what they print, with inputs and outputs in a folder."""
    made = ("fleet/topics", "fleet/members", "fleet/offsets", "large.json", "unusable.json", "page")
    here = {item: f"{folder}/{item}" for item in made} | {",".join(RUNS): ",".join(f"{folder}/{run}" for run in RUNS)}
    member = {"group_id": "", "member_id": "m", "protocols": ["range"], "subscription": ["orders"]}
    (folder / "unusable.json").write_text(json.dumps(member))
    large = [
        {"group_id": "large", "member_id": f"m{i:03}", "subscription": ["orders", "clicks"][: 1 + i // 70]}
        for i in range(140)
    ]
    (folder / "large.json").write_text(
        "".join(json.dumps(member | {"protocols": ["range"]}) + "\n" for member in large)
    )
    jobs = {out: (*job, "--out", f"{folder}/{out}") for out, job in JOBS.items()} | PRINTED
    return {f"{folder}/{name}.txt": [here.get(item, item) for item in job] for name, job in jobs.items()}


@pytest.fixture(scope="module")
def both(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Run all jobs in the tests' session, with compiled rules and adaptive execution, and as small ones without."""
    assert spark.conf.get(KEEPS_ROWS, "false") == "false"
    usual, small = tmp_path_factory.mktemp("usual"), tmp_path_factory.mktemp("small")
    with set_for_a_while(spark, {"spark.sql.adaptive.enabled": "true", "spark.sql.shuffle.partitions": "4"}):
        for printed, arguments in commands(usual).items():
            run(printed, arguments)
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "JAVA_HOME": str(java_home())}
    subprocess.run(
        [sys.executable, "-c", RUN_SMALL, json.dumps(commands(small))], cwd=ROOT, env=environment, check=True
    )
    return usual, small


@pytest.mark.scale
@pytest.mark.parametrize("out", JOBS)
def test_the_rows_are_the_same(both: tuple[Path, Path], out: str) -> None:
    usual, small = (folder / out for folder in both)
    tables = sorted(path.name for path in usual.iterdir() if path.is_dir())
    assert sorted(path.name for path in small.iterdir() if path.is_dir()) == tables
    for name in tables:
        assert written(small / name) == written(usual / name), name


@pytest.mark.scale
@pytest.mark.parametrize("name", [*JOBS, *PRINTED])
def test_the_same_is_printed(both: tuple[Path, Path], name: str) -> None:
    printed = [(folder / f"{name}.txt").read_text().replace(str(folder), "") for folder in both]
    assert printed[0] == printed[1] != ""


@pytest.mark.scale
@pytest.mark.parametrize(("out", "times"), [("page", len(RUNS)), ("audited", 2)])
def test_the_page_is_the_same_but_for_times(both: tuple[Path, Path], out: str, times: int) -> None:
    pages = [(folder / out / "report.html").read_text().replace(str(folder), "") for folder in both]
    usual, small = (
        re.subn(r'(data-label="seconds" class="n">)\d+\.\d\d<|[-\d]+ [:\d]+ UTC', r"\1", page) for page in pages
    )
    assert usual == small
    assert usual[1] == times


def test_rows_that_arrow_cannot_hold_stay_in_spark(spark: SparkSession) -> None:
    def kept(rows: DataFrame) -> bool:
        return in_driver(rows) is not rows

    assert kept(spark.sql("SELECT 1 AS number"))
    assert not kept(spark.sql("SELECT make_interval(1) AS interval"))


def options(**given: object) -> Namespace:
    return Namespace(**{"explain": False} | given)


def test_inputs_are_small_up_to_a_limit(tmp_path: Path) -> None:
    folder = tmp_path / "members" / "part"
    folder.mkdir(parents=True)
    (folder / "a").write_bytes(bytes(IN_DRIVER.size // 2))
    assert is_small(options(members=str(tmp_path / "members")))
    (folder / "b").write_bytes(bytes(IN_DRIVER.size // 2 + 1))
    assert not is_small(options(members=str(tmp_path / "members")))


@pytest.mark.scale
def test_small_files_of_many_rows_are_not_small(spark: SparkSession, tmp_path: Path) -> None:
    for name, rows in (("few", IN_DRIVER.rows), ("many", IN_DRIVER.rows + 1)):
        spark.range(rows).selectExpr("'a' AS member_id").write.parquet(f"{tmp_path}/{name}")
    assert is_small(options(members=f"{tmp_path}/few"))
    assert not is_small(options(members=f"{tmp_path}/many"))
    for name in ("members.json", "members.json.gz"):
        (tmp_path / name).write_bytes(bytes(IN_DRIVER.size // 50))
    assert is_small(options(members=f"{tmp_path}/members.json"))
    assert not is_small(options(members=f"{tmp_path}/members.json.gz"))


@pytest.mark.scale
def test_small_files_of_many_partitions_are_not_small(spark: SparkSession, tmp_path: Path) -> None:
    for name, partitions in (("few", IN_DRIVER.partitions), ("many", IN_DRIVER.partitions + 1)):
        rows = spark.createDataFrame([("a", 1), ("b", partitions - 1)], "topic string, partitions int")
        rows.write.parquet(f"{tmp_path}/{name}")
        rows.coalesce(1).write.json(f"{tmp_path}/{name}-json")
        rows.coalesce(1).write.csv(f"{tmp_path}/{name}-csv", header=True)
        for form in (name, f"{name}-json", f"{name}-csv"):
            assert is_small(options(topics=f"{tmp_path}/{form}")) == (name == "few"), form


def test_unknown_sizes_are_not_small(tmp_path: Path) -> None:
    assert not is_small(options(members="hdfs://host/members"))
    assert not is_small(options(kafka_tools=None, bootstrap_servers="host:9092"))
    assert not is_small(options(runs=f"{tmp_path},missing"))
    assert is_small(options(runs=str(tmp_path)))


def test_jobs_are_small_together_if_each_reads_little_or_what_the_others_make(tmp_path: Path) -> None:
    fleet = options(synthetic="small", groups=10, out=f"{tmp_path}/fleet")
    elect = options(members=f"{tmp_path}/fleet/members", out=f"{tmp_path}/elected")
    assert are_small([fleet, elect])
    assert not are_small([elect, fleet])
    assert not are_small([fleet, options(members="hdfs://host/members")])


@pytest.mark.parametrize("name", ["x" * 300, "link"])
def test_inputs_that_cannot_be_read_are_not_small(tmp_path: Path, name: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    assert not is_small(options(members=f"{tmp_path}/{name}"))


def test_plans_are_those_of_other_runs(tmp_path: Path) -> None:
    assert not is_small(options(members=str(tmp_path), explain=True))


def test_synthetic_fleets_are_small_up_to_a_number_of_groups() -> None:
    assert is_small(options(synthetic="small", groups=IN_DRIVER.groups))
    assert not is_small(options(synthetic="small", groups=IN_DRIVER.groups + 1))


@pytest.mark.scale
def test_the_java_runtime_compiles_less_for_a_short_history(spark: SparkSession, tmp_path: Path) -> None:
    for name, rows in (("short", IN_DRIVER.rows + 1), ("long", SHORT_HISTORY.rows + 1)):
        spark.range(0, rows, 1, 2).write.parquet(f"{tmp_path}/{name}")

    def settings(job: str, dump: str) -> LocalSettings:
        return settings_of([options(job=job, offsets_topic=f"{tmp_path}/{dump}", members=None)])

    assert settings("history", "short") is FOR_PYTHON_WORKERS
    assert settings("history", "long") is FOR_LARGE_INPUTS
    assert settings("fleet", "short") is FOR_LARGE_INPUTS


@pytest.mark.scale
def test_workers_read_members_that_are_sorted_and_have_small_companions(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.range(40).selectExpr("lpad(id, 2, '0') AS group_id", "'m' AS member_id")
    rows.repartitionByRange(2, "group_id").write.parquet(f"{tmp_path}/sorted")
    rows.repartition(2).write.parquet(f"{tmp_path}/unsorted")
    rows.drop("group_id").write.parquet(f"{tmp_path}/without groups")
    rows.write.json(f"{tmp_path}/json")
    spark.range(1).selectExpr("'t' AS topic", "3 AS partitions").write.parquet(f"{tmp_path}/topics")
    (tmp_path / "many").write_bytes(bytes(IN_DRIVER.size + 1))

    def read(job: str = "simulate", output_format: str = "parquet", **given: str) -> bool:
        paths = {name: f"{tmp_path}/{path}" for name, path in given.items()}
        return are_read_by_workers([options(job=job, output_format=output_format, **paths)])

    assert read(members="sorted")
    assert read(members="sorted", topics="topics")
    assert not read(members="sorted", topics="many")
    assert not read(members="sorted", topics="missing")
    for other in ("unsorted", "without groups", "json", "many", "missing"):
        assert not read(members=other), other
    assert not read(topics="topics")
    assert read("audit", members="sorted", topics="topics")
    assert not read("audit", members="sorted", topics="topics", listed_groups="topics")
    assert not read("report", members="sorted", topics="topics")
    assert not read("assign", members="sorted", topics="topics", offsets="topics")
    assert not read(members="sorted", topics="topics", events="topics")
    assert not read(output_format="orc", members="sorted")
