"""
Groups of Java consumers that commit every second and are stopped, with the times without an owner.

    python -m tests.support.cluster.committing_groups --kafka 4.3.1 --out docs/examples/committing

writes the records of __consumer_offsets as docs/history.md reads them, and for how long partitions had no owner.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from tests.support.cluster.broker import running
from tests.support.cluster.clients import JavaConsumers, listed_partitions
from tests.support.cluster.fleet import COOPERATIVE, RANGE, Client
from tests.support.cluster.scripted_history import dump

COMMIT_MS = 1_000
GROUPS = {"restarted": (RANGE, 3), "killed": (RANGE, 2), "cooperative": (COOPERATIVE, 3)}
"""The protocol and the members of each group."""
PARTITIONS = 6
_TOPIC = "orders"
_CALM_S, _AWAY_S = 15, 4
_SETTINGS = {"enable.auto.commit": "true", "auto.commit.interval.ms": str(COMMIT_MS), "session.timeout.ms": "6000"}


def play(version: str, folder: Path) -> tuple[pa.Table, dict[str, list[int]]]:
    """Restart the last member of each group, and kill that of one; return the topic, and for how long each partition
    had no owner, by group, after it had one.
    """
    with ExitStack() as stack:
        on = stack.enter_context(running(version, folder))
        processes = [
            stack.enter_context(JavaConsumers(version, on.bootstrap_servers, folder / f"{name}.log"))
            for name in ("java", "victims")
        ]
        on.create_topics({_TOPIC: PARTITIONS})
        java, victims = processes

        def start(group: str, number: int) -> None:
            runner = victims if group == "killed" and number == GROUPS[group][1] else java
            client = Client(group, f"{group}-{number}", (GROUPS[group][0],), (_TOPIC,), commit="never")
            runner.start(client.client_id, client, _SETTINGS)

        for group, (_, members) in GROUPS.items():
            for number in range(1, members + 1):
                start(group, number)
        time.sleep(_CALM_S)
        for group in ("restarted", "cooperative"):
            java.close(f"{group}-{GROUPS[group][1]}")
        time.sleep(_AWAY_S)
        for group in ("restarted", "cooperative"):
            start(group, GROUPS[group][1])
        time.sleep(_CALM_S)
        killed_ms = round(1000 * time.monotonic())
        victims.kill()
        time.sleep(_CALM_S)
        unowned = _unowned(processes, killed_ms)
        return dump(on), unowned


def _unowned(processes: list[JavaConsumers], killed_ms: int) -> dict[str, list[int]]:
    """Return for how long partitions had no owner, from the reports of their consumers."""
    reports = sorted(each for process in processes for each in process.reports())
    held: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
    since: dict[tuple[str, str, int], int] = {}
    unowned: defaultdict[str, list[int]] = defaultdict(list)
    killed = f"killed-{GROUPS['killed'][1]}"
    for each in reports:
        if each.event not in ("assigned", "revoked"):
            continue
        group = each.name.rpartition("-")[0]
        partitions = listed_partitions(each.fields[2])
        if group == "killed" and each.at_ms >= killed_ms:
            since |= {(group, *partition): killed_ms for partition in held.pop(killed, ())}
        if each.event == "revoked":
            since |= {(group, *partition): each.at_ms for partition in partitions}
            held[each.name] -= partitions
            continue
        unowned[group] += [
            each.at_ms - since.pop((group, *partition)) for partition in partitions if (group, *partition) in since
        ]
        held[each.name] = partitions
    return unowned


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kafka", default="4.3.1")
    parser.add_argument("--out", required=True, type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        records, unowned = play(given.kafka, Path(folder))
    given.out.mkdir(parents=True, exist_ok=True)
    parquet.write_table(records, given.out / "consumer-offsets.parquet")
    (given.out / "unowned.json").write_text(json.dumps(unowned))


if __name__ == "__main__":
    main()
