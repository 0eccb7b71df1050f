"""The size of what a job reads, which decides how Spark runs on this machine."""

import os
from argparse import Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple


class Limits(NamedTuple):
    """The most that inputs may have together."""

    size: int
    """Bytes of the files."""
    rows: int
    """Rows of Parquet files, in which equal values take hardly any bytes."""
    groups: int
    """Groups of a synthetic fleet."""


IN_DRIVER = Limits(2**20, 100_000, 1000)
"""Up to here the driver takes less time than Spark's workers."""
AS_PLAIN_PYTHON = Limits(2**18, 2_000, 100)
"""Up to here the rules as plain Python take less time than compiling them."""
_COMPRESSED = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate", ".orc")
_RATIO = 100
"""A compressed file counts as this many times its size."""
_PATHS = ("kafka_tools", "offsets_topic", "topics", "members", "offsets", "records", "events")


def is_small(options: Namespace, limits: Limits = IN_DRIVER) -> bool:
    """Return whether what the job reads stays within the limits.

    Unknown sizes, such as those of remote files and of live clusters, are not small. Neither is a plan to be explained,
    which would be another one.
    """
    given = vars(options)
    if given.get("explain") or given.get("bootstrap_servers"):
        return False
    if given.get("synthetic"):
        within: bool = options.groups <= limits.groups
        return within
    paths = [given[name] for name in _PATHS if given.get(name)]
    return _are_small([*paths, *filter(None, given.get("runs", "").split(","))], limits)


def _are_small(paths: Iterable[str], limits: Limits) -> bool:
    """Return whether files and folders exist on this machine and are small together."""
    size = rows = 0
    for path in map(Path, paths):
        if not path.exists():
            return False
        for file in [path] if path.is_file() else _files(path):
            size += file.stat().st_size * (_RATIO if file.suffix in _COMPRESSED else 1)
            if size > limits.size:
                return False
            rows += _parquet_rows(file)
    return rows <= limits.rows


def _files(folder: Path) -> Iterator[Path]:
    for inside, _, names in os.walk(folder):
        yield from (Path(inside, name) for name in names if not name.startswith("."))


def _parquet_rows(file: Path) -> int:
    """Return the number of rows that a Parquet file says it has; 0 for another file."""
    if file.suffix != ".parquet":
        return 0
    from pyarrow.parquet import read_metadata  # noqa: PLC0415 (other inputs do not need it)

    try:
        rows: int = read_metadata(file).num_rows
    except (OSError, ValueError):
        # Spark will say what is wrong with it.
        return 0
    return rows
