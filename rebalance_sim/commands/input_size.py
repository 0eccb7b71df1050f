"""The size of what a job reads, which decides how Spark runs on this machine."""

import os
from argparse import Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path

MOST_BYTES = 2**20
"""Input files of up to this size together are small."""
MOST_GROUPS = 1000
"""A synthetic fleet of up to this many groups is small."""
_PATHS = ("kafka_tools", "offsets_topic", "topics", "members", "offsets", "records", "events")


def is_small(options: Namespace) -> bool:
    """Return whether the job reads so few rows that they may stay in the driver.

    Unknown sizes, such as those of remote files and of live clusters, are not small. Neither is a plan to be explained,
    which would be another one.
    """
    given = vars(options)
    if given.get("explain") or given.get("bootstrap_servers"):
        return False
    if given.get("synthetic"):
        return options.groups <= MOST_GROUPS
    paths = [given[name] for name in _PATHS if given.get(name)]
    return are_small([*paths, *filter(None, given.get("runs", "").split(","))])


def are_small(paths: Iterable[str]) -> bool:
    """Return whether files and folders exist on this machine and are small together."""
    total = 0
    for path in map(Path, paths):
        if not path.exists():
            return False
        for size in _sizes(path):
            total += size
            if total > MOST_BYTES:
                return False
    return True


def _sizes(path: Path) -> Iterator[int]:
    """Return the sizes of a file, or of the files in a folder, as far as they are asked for."""
    if path.is_file():
        yield path.stat().st_size
        return
    for folder, _, names in os.walk(path):
        yield from (os.stat(os.path.join(folder, name)).st_size for name in names)
