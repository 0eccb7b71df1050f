"""The archive of the JVM's classes, which halves the time that Spark takes to start.

A JVM that ends with the options of ``writing_archive`` leaves the archive, and later ones load their classes from it.
The JVM checks that Java and Spark are still the same, and starts without an archive that does not fit.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import pyspark

_QUIET = "-Xlog:disable"
"""The JVM would print why a class, or the whole archive, is not used."""


def class_archive(java_home: Path) -> Path:
    """Return the file of the archive for a Java runtime and the installed Spark."""
    runtime, spark = (java_home / "release").resolve(), Path(pyspark.__file__).parent
    release = runtime.read_bytes() if runtime.exists() else b""
    key = hashlib.sha256(b"\0".join([str(java_home).encode(), release, str(spark).encode()]))
    # Unlike Path.home(), no error where the user has no home.
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(caches) / "rebalance_sim" / f"classes-{pyspark.__version__}-{key.hexdigest()[:16]}.jsa"


def reading_archive(java_home: Path) -> Sequence[str]:
    """Return the JVM's options to load classes from the archive; none if there is no archive."""
    archive = class_archive(java_home)
    return [f'"-XX:SharedArchiveFile={archive}"', _QUIET] if archive.exists() else []


def writing_archive(archive: Path) -> Sequence[str]:
    """Return the JVM's options to write an archive when it ends."""
    return [f'"-XX:ArchiveClassesAtExit={archive}"', _QUIET]
