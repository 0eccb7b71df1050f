"""Pages full of hostile names, for the tests of the file and of the browser."""

import json
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from rebalance_sim.cli import main
from tests.support.finished_runs import HOSTILE, SCRIPT, hostile_run
from tests.support.past_rebalances import write_history


def write_hostile_page(spark: SparkSession, folder: Path) -> Path:
    """Make the page of a run with every table, with the job ``report``; return its folder."""
    run = hostile_run(spark, folder / "run <&'\"")
    out = folder / "page"
    assert main(["report", "--runs", run, "--title", f"All of it {SCRIPT}", "--out", str(out)]) == 0
    return out


def write_hostile_audit(spark: SparkSession, folder: Path) -> Path:
    """Audit a fleet with a history, of hostile names in all places; return the folder of its page."""
    topics = [{"cluster": name, "topic": name, "partitions": 4} for name in HOSTILE]
    members = [_member(name, number) for name in HOSTILE for number in range(3)]
    tables: dict[str, list[dict[str, Any]]] = {"topics": topics, "members": members}
    for name, rows in tables.items():
        (folder / f"{name}.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    out = folder / "audit <&'\""
    given = [part for name in tables for part in (f"--{name}", str(folder / f"{name}.json"))]
    past = write_history(spark, folder / "history", [(name, name) for name in HOSTILE])
    assert main(["audit", *given, "--history", past, "--out", str(out)]) == 0
    return out


def _member(name: str, number: int) -> dict[str, Any]:
    """Return a member of a group that elects by a tie, so that the group has a warning."""
    protocols = ["range", "roundrobin", name]
    return {
        "cluster": name,
        "group_id": name,
        "member_id": f"{name}-{number}",
        "instance_id": f"{number}-{name}",
        "client_library": "java",
        "client_version": "4.1.0",
        "protocols": [*protocols[number:], *protocols[:number]],
        "subscription": [name],
        "owned": [{"topic": name, "partition": number}],
        "session_timeout_ms": 10_000,
        "join_order": number,
    }
