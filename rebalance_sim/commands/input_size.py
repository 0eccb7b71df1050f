"""The size of what a job reads, which decides how Spark runs on this machine."""

import csv
import os
import re
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Limits(NamedTuple):
    """The most that inputs may have together."""

    size: int
    """Bytes of the files."""
    rows: int
    """Rows of Parquet files, or items in their lists: equal ones take hardly any bytes."""
    groups: int
    """Groups of a synthetic fleet."""
    partitions: int
    """Partitions of all topics."""


IN_DRIVER = Limits(2**20, 100_000, 1000, 100_000)
"""Up to here the driver takes less time than Spark's workers."""
SHORT_HISTORY = Limits(2**28, 3_000_000, 0, 100_000)
"""Up to here the JVM's second compiler takes longer than it saves in the many queries of a history.

Measured: it takes 30 s of a processor; of 10 million records it saves as much again.
"""
_COMPRESSED = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate", ".orc")
_RATIO = 100
"""A compressed file counts as this many times its size."""
_OF_TOPICS = ("topics", "partitions_after")
_PARTITIONS = re.compile(r'"partitions"\s*:\s*"?(\d+)')
_INPUTS = (
    "topics",
    "members",
    "clusters",
    "offsets",
    "listed_groups",
    "records",
    "events",
    "workers",
    "connectors",
    "streams_members",
    "subtopologies",
)
_PATHS = (*_INPUTS, "kafka_tools", "partitions_after", "fleet")
_LISTS = ("runs", "offsets_topic")
"""Options with several paths."""

_FOR_WORKERS = ("assign", "audit", "elect", "simulate")
"""Jobs whose workers compute all tables group by group."""
_JOINED = ("events", "offsets", "listed_groups", "workers", "connectors", "streams_members", "subtopologies")
"""Tables that Spark joins to the groups."""


def are_small(jobs: Iterable[Namespace], limits: Limits = IN_DRIVER) -> bool:
    """Return whether what jobs that run one after the other read stays within the limits."""
    made: list[str] = []
    for options in jobs:
        if not is_small(options, limits, made):
            return False
        made += [f"{options.out.rstrip('/')}/"] if getattr(options, "out", None) else []
    return True


def is_small(options: Namespace, limits: Limits = IN_DRIVER, made: Sequence[str] = ()) -> bool:
    """Return whether what the job reads stays within the limits; ``made`` are folders of earlier jobs that do.

    Unknown sizes, such as those of remote files and of live clusters, are not small. Neither are runs with --explain:
    their plan would differ.
    """
    given = vars(options)
    if given.get("explain") or given.get("bootstrap_servers"):
        return False
    if given.get("synthetic") and options.groups > limits.groups:
        return False
    read = [path for path in _inputs(given) if not f"{path}/".startswith(tuple(made))]
    topics = [path for path in read if path in [given.get(name) for name in _OF_TOPICS]]
    try:
        return _fit(read, limits) and _partitions(topics) <= limits.partitions
    except OSError:
        # A name that is too long, or a link to nothing: Spark's reader says what is wrong.
        return False


def are_read_by_workers(jobs: Iterable[Namespace]) -> bool:
    """Return whether Python workers read and write nearly all rows, so that Spark's JVM has little to do.

    They do if the members are in Parquet files sorted by group (``LocalRun``), the other inputs are small, and Spark
    joins nothing to the groups.
    """
    return all(_has_sorted_members(vars(options)) for options in jobs)


def _has_sorted_members(given: Mapping[str, Any]) -> bool:
    members = given.get("members")
    if given["job"] not in _FOR_WORKERS or not members or not Path(members).is_dir():
        return False
    if given["output_format"] != "parquet" or any(given.get(name) for name in _JOINED):
        return False
    from pyarrow.parquet import read_schema  # noqa: PLC0415 (small inputs do not need it)

    from rebalance_sim.engine.groups.sorted_row_groups import sorted_row_groups  # noqa: PLC0415 (likewise)

    others = [path for path in _inputs(given) if path != members]
    try:
        files = [str(file) for file in _files(Path(members)) if file.suffix == ".parquet"]
        return bool(files and sorted_row_groups(files, read_schema(files[0]).names)) and _fit(others, IN_DRIVER)
    except (OSError, ValueError):
        # Spark will say what is wrong with them.
        return False


def _inputs(given: Mapping[str, Any]) -> list[str]:
    """Return the paths of what a job reads."""
    paths = [given[name] for name in _PATHS if given.get(name)]
    paths += [path for name in _LISTS for path in (given.get(name) or "").split(",") if path]
    # The partitions after growth may be a number.
    return [path for path in paths if not path.isdecimal()]


def _fit(paths: Iterable[str], limits: Limits) -> bool:
    """Return whether files and folders exist on this machine and are small together."""
    size = rows = 0
    for path in map(Path, paths):
        if not path.exists():
            return False
        for file in _files(path):
            size += file.stat().st_size * (_RATIO if file.suffix in _COMPRESSED else 1)
            if size > limits.size:
                return False
            rows += _parquet_values(file)
    return rows <= limits.rows


def _files(path: Path) -> Iterator[Path]:
    """Return a file itself, or the files in a folder."""
    if path.is_file():
        yield path
    for inside, _, names in os.walk(path):
        yield from (Path(inside, name) for name in names if not name.startswith("."))


def _parquet_values(file: Path) -> int:
    """Return the number of values in the longest column of a Parquet file; 0 for another file."""
    if file.suffix != ".parquet":
        return 0
    from pyarrow.parquet import read_metadata  # noqa: PLC0415 (other inputs do not need it)

    try:
        groups = [read_metadata(file).row_group(number) for number in range(read_metadata(file).num_row_groups)]
    except (OSError, ValueError):
        # Spark will say what is wrong with it.
        return 0
    return sum(max(group.column(place).num_values for place in range(group.num_columns)) for group in groups)


def _partitions(topics: Iterable[str]) -> int:
    """Return the partitions of all topics in small tables; those in ORC and in compressed files are not counted."""
    return sum(_partitions_in(file) for path in topics for file in _files(Path(path)))


def _partitions_in(file: Path) -> int:
    if file.suffix == ".parquet":
        from pyarrow import compute, parquet  # noqa: PLC0415 (other inputs do not need it)

        try:
            return int(compute.sum(parquet.read_table(file).column("partitions").cast("int64")).as_py() or 0)
        except (OSError, ValueError, KeyError):
            # Spark will say what is wrong with it.
            return 0
    text = file.read_text(errors="replace")
    found = _PARTITIONS.findall(text) or [row.get("partitions") for row in csv.DictReader(text.splitlines())]
    return sum(int(number) for number in found if number and number.isdecimal())
