"""Files and folders that runs use, and their implementation for this machine, which needs no Spark."""

import bz2
import gzip
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

_ELSEWHERE = (
    *("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"),
    *("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR", "SPARK_HOME"),
)
"""Variables of a submitted job, and of a configuration in which another file system may be the default."""
_SCHEME = re.compile(r"(?!file:/)[A-Za-z][A-Za-z0-9+.-]*:")
_PATTERN = re.compile(r"[*?{}\[\]\\]")
"""Characters with a meaning in Hadoop's patterns."""
_DECOMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
_ONLY_BY_HADOOP = (".zst", ".lz4", ".snappy", ".deflate")


class Files(Protocol):
    """The operations of runs on files. They raise OSError for a file that cannot be read."""

    def exists(self, path: str) -> bool:
        """Return whether there is a file or a folder."""

    def is_file(self, path: str) -> bool:
        """Return whether there is a file."""

    def names_in(self, folder: str) -> set[str]:
        """Return the names of the files and folders in a folder."""

    def text(self, path: str) -> str | None:
        """Return the content of a file; None if there is none, or if the path cannot be one."""

    def matching(self, path: str) -> list[str]:
        """Return the existing files and folders of a path, which may be a pattern."""

    def below(self, path: str) -> Iterator[tuple[str, int]]:
        """Yield a file itself, or all files below a folder, with their sizes."""

    def first_bytes(self, path: str, count: int) -> bytes | None:
        """Return the beginning of a file, decompressed by its extension; None if it cannot be decompressed here."""

    def full(self, path: str) -> str:
        """Return a path with its file system, and local links resolved."""


def is_local(path: str) -> bool:
    """Return whether a path surely names one file or folder of this machine; if not, only Spark knows what it names."""
    return not spark_runs() and not any(name in os.environ for name in _ELSEWHERE) and _is_plain(path)


def _is_plain(path: str) -> bool:
    """Return whether a path has neither the scheme of another file system nor a pattern.

    >>> _is_plain("out/fleet"), _is_plain("file:/out"), _is_plain("s3://bucket/fleet"), _is_plain("out/*")
    (True, True, False, False)
    """
    return bool(path.strip()) and not _SCHEME.match(path) and not is_pattern(path)


def is_pattern(path: str) -> bool:
    """Return whether a path may name several files or folders."""
    return _PATTERN.search(path) is not None


def spark_runs() -> bool:
    """Return whether this process has a Spark session, without importing PySpark."""
    pyspark = sys.modules.get("pyspark")
    return pyspark is not None and pyspark.SparkContext._active_spark_context is not None


class LocalFiles:
    """Paths for which ``is_local`` is true."""

    def exists(self, path: str) -> bool:
        """Return whether there is a file or a folder."""
        return on_this_machine(path).exists()

    def is_file(self, path: str) -> bool:
        """Return whether there is a file."""
        return on_this_machine(path).is_file()

    def names_in(self, folder: str) -> set[str]:
        """Return the names of the files and folders in a folder."""
        return set(os.listdir(on_this_machine(folder)))

    def text(self, path: str) -> str | None:
        """Return the content of a file; None if there is none, or if it cannot be read."""
        try:
            return on_this_machine(path).read_text("utf-8", "replace")
        except OSError:
            return None

    def matching(self, path: str) -> list[str]:
        """Return the path if it exists."""
        return [path] if self.exists(path) else []

    def below(self, path: str) -> Iterator[tuple[str, int]]:
        """Yield a file itself, or all files below a folder, with their sizes."""
        top = on_this_machine(path)
        if top.is_file():
            yield path, top.stat().st_size
            return
        for inside, _, names in os.walk(top, onerror=_raised, followlinks=True):
            below = f"{path}{inside.removeprefix(str(top))}"
            for name in names:
                if Path(inside, name).exists():
                    yield f"{below}/{name}", Path(inside, name).stat().st_size

    def first_bytes(self, path: str, count: int) -> bytes | None:
        """Return the beginning of a file, decompressed by its extension; None if it cannot be decompressed here."""
        file = on_this_machine(path)
        if file.suffix in _ONLY_BY_HADOOP:
            return None
        with _DECOMPRESSED.get(file.suffix, open)(file, "rb") as stream:
            try:
                return bytes(stream.read(count))
            except EOFError:
                return None

    def full(self, path: str) -> str:
        """Return a path with its file system and its links resolved."""
        return f"file:{os.path.realpath(on_this_machine(path))}"


def on_this_machine(path: str) -> Path:
    """Return a path for which ``is_local`` is true, without its scheme."""
    return Path(path.removeprefix("file:"))


def read_by_spark(files: Files, path: str) -> Iterator[tuple[str, int]]:
    """Yield the files below a path, or the file that it is, with their sizes, without those that Spark skips."""
    for file, size in files.below(path):
        if not any(name.startswith(("_", ".")) for name in file.removeprefix(path).split("/")):
            yield file, size


def _raised(problem: OSError) -> None:
    raise problem
