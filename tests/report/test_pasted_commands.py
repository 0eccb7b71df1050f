"""The commands that the page shows, pasted into a shell after an audit of the output of Kafka's tools."""

import re
import subprocess
from html import unescape
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import main

CAPTURE = Path(__file__).parents[2] / "docs" / "examples" / "kafka-4.3.1"
GROUP = "web shop (blue/green)"


def arguments(command: str) -> list[str]:
    """Return the arguments that the program gets from a shell."""
    script = f"rebalance-sim() {{ printf '%s\\0' \"$@\"; }}; {command}"
    read = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    return read.stdout.decode().split("\0")[:-1]


@pytest.mark.scale
def test_every_command_of_a_group_runs(spark: SparkSession, small_runs: None, tmp_path: Path) -> None:
    """One of each job, and of each kind of simulation; the name of the folder needs quotes too."""
    out = tmp_path / "monday's audit"
    assert main(["audit", "--kafka-tools", str(CAPTURE), "--out", str(out)]) == 0
    html = unescape((out / "report.html").read_text())
    shown = re.findall(r"<code>(rebalance-sim .*?)</code></pre></details>", html)
    given = [arguments(command) for command in dict.fromkeys(shown)]
    of_group = {_job(each): each for each in given if GROUP in each or each[0] in ("assign", "report")}
    jobs = {("explain", "election"), ("assign",), ("simulate", "rolling-restart"), ("simulate", "migration")}
    assert of_group.keys() == jobs | {("report",)}
    for command in of_group.values():
        *parts, last = command
        assert parts[-1] == "--out" or command[0] == "explain"
        assert main([*parts, f"{tmp_path}/{last}"] if parts[-1] == "--out" else command) == 0, command


def _job(command: list[str]) -> tuple[str, ...]:
    job = command[0]
    if job == "simulate":
        return job, command[command.index("--scenario") + 1]
    return (job, command[1]) if job == "explain" else (job,)
