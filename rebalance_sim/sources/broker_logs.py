"""Rebalances in the logs of brokers: when each began, when all members had joined, and when the leader had assigned.

The coordinator logs each step of a classic group (``GroupCoordinator`` up to 3.9, ``GroupMetadataManager`` since 4.0).
The layout of the lines does not matter: a line has a date and a time, and somewhere after it the message. It may also
be a JSON object, as log4j's JSON layouts and container runtimes write them. Times of one broker are compared with each
other only, so that their time zone does not matter either.
"""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.spark.driver_rows import map_batches
from rebalance_sim.engine.tables.arrow import arrow_type
from rebalance_sim.kafka.history.rebalance_steps import RebalanceStep
from rebalance_sim.sources.offsets_topic.stored_members import LONGEST_SAMPLE
from rebalance_sim.tables import DEFAULT_CLUSTER, INT, LONG, REJECTS, STRING, struct

BROKER_LOGS = "broker_logs"
"""The name of the lines among the inputs."""
STEP = struct(
    {"cluster": STRING, "group_id": STRING, "broker": STRING, "step": STRING, "generation": INT, "at_ms": LONG}
    | {"reason": STRING}
)
"""A step of a rebalance towards a generation. ``at_ms`` is in the time zone of the log; ``reason`` of its beginning."""
_LINE = struct({"step": STEP, "reject": REJECTS.schema})
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)[,.](\d{3})")
_TEXTS = ("message", "msg", "log")
"""Fields of JSON objects with the message, or in logs of containers with the whole line."""
_TIMES = ("timestamp", "@timestamp", "time", "timeMillis", "instant")
"""Fields with the time: ISO 8601, milliseconds since 1970, or log4j's instant."""
_BROKER = re.compile(r"\[GroupCoordinator (?:id=)?(\d+)")
_PLACE = r"(?:\(__consumer_offsets-\d+\) ?)?"
_MESSAGES = {
    RebalanceStep.PREPARING: (
        "Preparing to rebalance group ",
        re.compile(rf"(.+) in state \S+ with old generation (\d+) {_PLACE}\(reason: (.*?)\)\.?(?: \(\S+\))?$"),
    ),
    RebalanceStep.STABILIZED: ("Stabilized group ", re.compile(r"(.+) generation (\d+)\b()")),
    RebalanceStep.ASSIGNED: (
        "Assignment received from leader",
        re.compile(r".*?\bfor group (.+) for generation (\d+)\b()"),
    ),
}
"""How each message begins, and the group, the generation and the reason in the rest of it."""


class BrokerLogs(NamedTuple):
    """What the logs of brokers contain."""

    steps: DataFrame
    """Rows of ``STEP``."""
    rejects: DataFrame
    """Lines that begin like such a message and cannot be read."""


def read_broker_logs(lines: DataFrame, cluster: str = DEFAULT_CLUSTER) -> BrokerLogs:
    """Read lines, in a column ``value`` as Spark reads text; those without such a message are skipped."""
    beginnings = [F.col("value").contains(beginning) for beginning, _ in _MESSAGES.values()]
    wanted = lines.where(beginnings[0] | beginnings[1] | beginnings[2]).select(F.lit(cluster).alias("cluster"), "value")
    read = map_batches(wanted.distinct(), _read_batches, _LINE)
    return BrokerLogs(*(read.where(f"{name} IS NOT NULL").select(f"{name}.*") for name in _LINE.names))


def _read_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [_read(*row.values()) for row in batch.to_pylist()]
        yield pa.RecordBatch.from_struct_array(pa.array(rows, arrow_type(_LINE)))


def _read(cluster: str, line: str) -> dict[str, Any]:
    """Return a row of ``_LINE``."""
    text, logged_ms = _text_and_time(line)
    for step, (beginning, form) in _MESSAGES.items():
        before, found, rest = text.partition(beginning)
        if not found:
            continue
        message, own_time = form.match(rest.rstrip()), _TIME.search(before)
        at_ms = _milliseconds(own_time) if own_time else logged_ms
        if message is None or at_ms is None:
            missing = (
                "a date and a time with milliseconds before it" if message else "a group and a generation after it"
            )
            reason = f"'{beginning.strip()}' without {missing}"
            return {
                "reject": {"table": BROKER_LOGS, "cluster": cluster, "row": line[:LONGEST_SAMPLE], "reason": reason}
            }
        broker = _BROKER.search(before)
        group_id, generation, reason = message.groups()
        row = {"cluster": cluster, "group_id": group_id, "broker": broker[1] if broker else "", "step": step.value}
        number = int(generation) + (step is RebalanceStep.PREPARING)
        return {"step": row | {"generation": number, "at_ms": at_ms, "reason": reason or None}}
    return {}


def _text_and_time(line: str) -> tuple[str, int | None]:
    """Return the text of a line and, of a JSON object, the time of its fields in milliseconds.

    >>> _text_and_time('{"time": "1970-01-01T00:00:01.5Z", "log": "INFO"}')
    ('INFO', None)
    >>> _text_and_time('{"instant": {"epochSecond": 1, "nanoOfSecond": 2000000}, "message": "Stabilized"}')
    ('Stabilized', 1002)
    """
    try:
        found = json.loads(line) if line.lstrip().startswith("{") else {}
    except ValueError:
        found = {}
    text = next((found[name] for name in _TEXTS if isinstance(found.get(name), str)), line)
    return text, next((at_ms for name in _TIMES if (at_ms := _logged_ms(found.get(name))) is not None), None)


def _logged_ms(time: Any) -> int | None:
    match time:
        case str() if at := _TIME.match(time):
            return _milliseconds(at)
        case int():
            return time
        case {"epochSecond": int(seconds), "nanoOfSecond": int(nanoseconds)}:
            return seconds * 1000 + nanoseconds // 1_000_000
    return None


def _milliseconds(time: re.Match[str]) -> int:
    day, clock, milliseconds = time.groups()
    at = datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=UTC)
    return round(at.timestamp()) * 1000 + int(milliseconds)
