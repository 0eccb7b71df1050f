"""
Measure the latencies of consumers without an application, of which a simulation assumes some.

    python -m tests.support.cluster.measured_latencies

Prints them by client library, on a broker of the same machine. docs/simulate.md has the figures beside the defaults.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from tests.support.cluster import bare_consumer
from tests.support.cluster.broker import running
from tests.support.cluster.capture import until
from tests.support.cluster.clients import JavaConsumers
from tests.support.cluster.fleet import RANGE, Client
from tests.support.cluster.timed_groups import now_ms
from tests.support.unavailable import Unavailable

KAFKA_VERSION = "4.3.1"
LIBRARIES = ("java", "librdkafka", "kafka-python")
SAMPLES, REQUESTS = 10, 200
"""Processes of each library, and requests to the coordinator by each."""
_TOPIC, _PARTITIONS, _SECONDS = "orders", 12, 60


class Latencies(NamedTuple):
    """Latencies of the consumers of a library, in milliseconds."""

    start_ms: list[float]
    """From the start of a process to the first poll of its consumer."""
    join_ms: list[float]
    """From the first poll until it has the partitions of a group of its own: finding the coordinator, JoinGroup and
    SyncGroup."""
    request_ms: list[float]
    """From a request to the coordinator (OffsetFetch) to its response."""


def measure(directory: Path) -> dict[str, Latencies]:
    """Start consumers of each library one after the other, each in a process and a group of its own."""
    with ExitStack() as stack:
        settings = {"group.initial.rebalance.delay.ms": "0"}
        started = stack.enter_context(running(KAFKA_VERSION, directory, settings=settings))
        servers = started.bootstrap_servers
        started.create_topics({_TOPIC: _PARTITIONS})
        # The first group creates __consumer_offsets.
        _python(LIBRARIES[1], servers, "first")
        return {library: _of_samples(library, servers, directory) for library in LIBRARIES}


def _of_samples(library: str, servers: str, directory: Path) -> Latencies:
    found = Latencies([], [], [])
    for number in range(SAMPLES):
        group, began_ms = f"{library}-{number}", now_ms()
        measured = _java(servers, group, directory) if library == "java" else _python(library, servers, group)
        found.start_ms.append(measured["started"][0] - began_ms)
        found.join_ms.append(measured["assigned"][0] - measured["started"][0])
        found.request_ms.extend(measured["requests"])
    return found


def _java(servers: str, group: str, directory: Path) -> Mapping[str, Sequence[float]]:
    client = Client(group, group, (RANGE,), (_TOPIC,), commit="never")
    with JavaConsumers(KAFKA_VERSION, servers, directory / "java.log") as consumers:
        consumers.start(group, client, {"requests": str(REQUESTS)})
        until("its requests are answered", lambda: any(each.event == "requested" for each in consumers.reports()))
        reports = {each.event: each for each in reversed(consumers.reports())}
    requests = [int(micros) / 1000 for micros in reports["requested"].fields[0].split(",")]
    return {name: [reports[name].at_ms] for name in ("started", "assigned")} | {"requests": requests}


def _python(library: str, servers: str, group: str) -> Mapping[str, Sequence[float]]:
    command = [sys.executable, bare_consumer.__file__, library, servers, group, _TOPIC, str(REQUESTS)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=_SECONDS)
    found = json.loads(done.stdout)
    return {name: [found[name]] for name in ("started", "assigned")} | {"requests": found["requests"]}


def table(measured: Mapping[str, Latencies]) -> str:
    """Return the latencies of each library: the median, with minimum and maximum."""
    lines = ["| milliseconds | " + " | ".join(measured) + " |", "|---|" + "---|" * len(measured)]
    for name, digits in zip(Latencies._fields, (0, 0, 1), strict=True):
        cells = [_shown(getattr(of, name), digits) for of in measured.values()]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _shown(times: Sequence[float], digits: int) -> str:
    middle, least, most = (f"{of:,.{digits}f}" for of in (statistics.median(times), min(times), max(times)))
    return f"{middle} ({least} to {most})"


def main() -> int:
    """Measure, and print the table."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            print(table(measure(Path(directory))))
        except Unavailable as reason:
            print(f"nothing to measure: {reason}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
