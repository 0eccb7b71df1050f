"""The DAG, run by Airflow with real jobs and the commands of docs/airflow.md."""

import doctest
import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from rebalance_sim.engine.runs.figures import CHECKS
from tests.real.airflow.conftest import AIRFLOW, DEADLINE_S, ROOT, Airflow
from tests.test_documentation import blocks, table_under

pytestmark = pytest.mark.airflow

DAG = ROOT / "conf" / "airflow" / "rebalance_sim_dag.py"
PAGE = ROOT / "docs" / "airflow.md"
OFFSETS_TOPIC = "docs/examples/history/consumer-offsets.parquet"
DATE, NEXT_DATE = "2026-11-21", "2026-11-22"
JOBS = ("fleet", "history", "audit", "assign", "partition", "simulate", "report")
READ_DAG = f"""
import datetime, json, runpy, types
read = runpy.run_path({str(DAG)!r})
after = datetime.datetime(2026, 11, 21, 7, 8, 9, 10, datetime.timezone(datetime.timedelta(hours=1)))
date = read["date_of"](types.SimpleNamespace(logical_date=None, run_after=after))
print(json.dumps([date, [[name, param.value, param.description] for name, param in read["dag"].params.items()]]))
"""


class Runs:
    """Runs of the DAG into one folder."""

    def __init__(self, airflow: Airflow, out: Path) -> None:
        self.airflow, self.out = airflow, out
        text = PAGE.read_text().replace("out/daily", str(out))
        self.commands, self.printed = blocks(text)
        (self.shell,) = blocks(text, "python")
        self.conf: dict[str, Any] = json.loads(self.commands.partition("--conf '")[2].partition("'")[0])
        self.conf |= {"records": f"{out}-records/{{logical_date}}", "offsets_topic": OFFSETS_TOPIC}
        records = Path(f"{out}-records") / f"{DATE}T00-00-00"
        records.mkdir(parents=True)
        rows = {"topic": ["sessions"] * 9, "key": [bytes([i]) for i in range(9)]}
        pq.write_table(pa.table(rows), records / "records.parquet")

    def by_the_page(self) -> str:
        """Run the commands of the page, with records, on one core, and without installing Airflow again."""
        commands = self.commands.replace("make setup airflow\n", "").replace("local[*]", "local[1]")
        commands = commands.replace("$PWD/build/airflow-home", str(self.airflow.home))
        return self.airflow.run(
            "bash", "-ec", re.sub("--conf '.*?'", f"--conf '{json.dumps(self.conf)}'", commands, flags=re.S)
        )

    def command(self, date: str, done: str, **conf: Any) -> list[str]:
        """Run the DAG for a date; tasks that are ``done`` already count as successful."""
        asked = json.dumps(self.conf | conf)
        return [AIRFLOW, "dags", "test", "rebalance_sim", date, "--conf", asked, "--mark-success-pattern", done]

    def of(self, date: str) -> Path:
        """Return the folder of a date."""
        return self.out / f"logical_date={date}T00-00-00"

    def tables(self, date: str) -> dict[str, Any]:
        """Return the rows of every table of a date, and the records of its jobs."""
        found: dict[str, Any] = {}
        for record in self.of(date).glob("*/_run.json"):
            run_record = json.loads(record.read_text())
            del run_record["started"], run_record["seconds"]
            found[f"{record.parent.name}/{record.name}"] = run_record
            for name in run_record["rows"].get("out", {}):
                rows = pq.read_table(record.parent / name, partitioning=None).to_pylist()
                found[f"{record.parent.name}/{name}"] = sorted(map(str, rows))
        return found


@pytest.fixture(scope="module")
def runs(airflow: Airflow, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Return the runs after that of the first date has finished as the page describes."""
    runs = Runs(airflow, tmp_path_factory.mktemp("runs") / "daily")
    assert f"{runs.printed.strip()} [" in runs.by_the_page()
    return runs


def test_a_run_writes_all_outputs(airflow: Airflow, runs: Runs, spark: SparkSession) -> None:
    assert airflow.tasks(DATE) == dict.fromkeys([*JOBS, "check", "has_records", "has_offsets_topic"], ("success", 1))
    tables = runs.tables(DATE)
    assert {f"{job}/_run.json" for job in JOBS} <= tables.keys()
    assert len(tables["assign/elections"]) == len(tables["simulate/costs"]) == 23
    assert len(tables["partition/record_partitions"]) == 9
    assert tables["audit/_run.json"]["options"]["history"] == f"{runs.of(DATE)}/history"

    session = doctest.DocTestParser().get_doctest(runs.shell, {"spark": spark}, PAGE.name, None, None)
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(session) == (0, 2)


def test_the_dag_loads_without_warnings_and_has_the_parameters_of_the_page(airflow: Airflow, runs: Runs) -> None:
    date, params = json.loads(airflow.run(str(Path(AIRFLOW).with_name("python")), "-W", "error", "-c", READ_DAG))
    assert date == "2026-11-21T06-08-09.000010"
    checks = {f"max_{check.name.replace('-', '_')}": check.description for check in CHECKS}
    assert {name: text for name, _, text in params if name in checks} == checks
    for param in params:
        param[1] = "" if param[1] is None else str(param[1]).removeprefix(f"{ROOT}/")
    assert table_under(PAGE.read_text(), "parameter") == params
    assert "No data found" in airflow.run(AIRFLOW, "dags", "list-import-errors")


def is_driver(process: Path, out: Path) -> bool:
    """Return whether a process is the JVM of the job with these outputs."""
    try:
        return (process / "comm").read_text() == "java\n" and f"--out={out}\0" in (process / "cmdline").read_text()
    except OSError:
        return False


def kill_driver(out: Path, began: Path) -> None:
    """Kill the JVM of the job with these outputs after it has begun to write."""
    until = time.monotonic() + DEADLINE_S
    while time.monotonic() < until:
        time.sleep(0.05)
        drivers = [process for process in Path("/proc").glob("[0-9]*") if began.exists() and is_driver(process, out)]
        if drivers:
            os.kill(int(drivers[0].name), signal.SIGKILL)
            return
    raise TimeoutError(f"{began} was not there in {DEADLINE_S} s")


def test_a_killed_job_is_retried_and_a_failed_check_is_not(airflow: Airflow, runs: Runs) -> None:
    """The same date again: a task that is retried replaces its own outputs with the same rows."""
    before, out = runs.tables(DATE), runs.of(DATE) / "simulate"
    log = airflow.home / "again.log"
    running = airflow.start(
        *runs.command(DATE, "fleet|history|audit|assign|partition|has_records|has_offsets_topic", max_ties=2), log=log
    )
    try:
        kill_driver(out, out / "_staging")
        assert not (out / "_run.json").exists()
        exit_code = running.wait(DEADLINE_S)
    finally:
        running.kill()
    printed = log.read_text()
    tasks = airflow.tasks(DATE)
    assert exit_code == 1, printed
    assert (tasks["simulate"], tasks["check"]) == (("success", 2), ("failed", 1)), printed
    assert "a check failed, not retried" in printed
    assert "1 of 4 checks failed: ties = 3, limit 2" in printed
    assert runs.tables(DATE) == before


def test_another_date_has_its_own_folder(airflow: Airflow, runs: Runs) -> None:
    """The other jobs have not finished there: check reports it, and is not retried."""
    before = runs.tables(DATE)
    printed = airflow.run(
        *runs.command(NEXT_DATE, "audit|assign|simulate", records=None, offsets_topic=None), exit_code=1
    )
    assert "is not the output of a finished run (no _run.json)" in printed
    assert airflow.tasks(NEXT_DATE) == {
        "fleet": ("success", 1),
        "audit": ("success", 1),
        "assign": ("success", 1),
        "simulate": ("success", 1),
        "has_records": ("success", 1),
        "has_offsets_topic": ("success", 1),
        "history": ("skipped", 0),
        "partition": ("skipped", 0),
        "report": ("failed", 1),
        "check": ("failed", 1),
    }
    assert [path.name for path in runs.of(NEXT_DATE).iterdir()] == ["fleet"]
    assert runs.tables(DATE) == before
