"""Pack the environment for executors that have a Python but not this package: ``make package``.

Submit the archive with ``--archives FILE#environment``. ``PYSPARK_PYTHON=./environment/bin/python`` then starts the
executor's own Python with the content of the archive: this package, the installed versions of its dependencies, and the
compiled rules. Spark itself distributes PySpark.
"""

import os
import re
import shutil
import sys
import tarfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryDirectory

from rebalance_sim.kafka.runtime.compiled_code import NAME, cache_folder
from rebalance_sim.preparation import prepare

_PACKAGE = Path(__file__).parent
_OF_SPARK = ("pyspark", "py4j")
_CPU = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")
_OF_THIS_CHECKOUT = ("__editable__", "direct_url.json")
"""Parts of the names of files that refer to the folder of an editable installation."""
_LAUNCHER = """#!/bin/sh
# Starts this machine's Python with the packages of this archive, and without those of the current folder.
here=$(cd "$(dirname "$0")/.." && pwd) || exit
export PYTHONPATH="$here/lib${{PYTHONPATH:+:$PYTHONPATH}}" PYTHONSAFEPATH=1
{cpu}exec {python} "$@"
"""


def pack(archive: Path) -> None:
    """Write the archive (tar.gz)."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=archive.parent) as folder:
        environment = Path(folder) / "environment"
        prepare()
        _copy_packages(environment / "lib")
        _write_launcher(environment / "bin" / "python")
        unfinished = Path(folder) / archive.name
        # Level 1: the archive is mostly machine code, which higher levels hardly make smaller.
        with tarfile.open(unfinished, "w:gz", compresslevel=1) as tar:
            tar.add(environment, arcname=".", filter=_without_owner)
        unfinished.replace(archive)


def _copy_packages(lib: Path) -> None:
    for packed in _distributions():
        for file in packed.files or ():
            if ".." in file.parts or any(part in str(file) for part in _OF_THIS_CHECKOUT):
                continue
            if file.parts[0] == _PACKAGE.name:
                # Copied below as it is now: a checkout records the files that it had when it was set up.
                continue
            source, target = Path(str(file.locate())), lib / file
            if source.suffix == ".pyc" and not source.exists():
                # pip records bytecode, which may have been removed since: Python writes it again.
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            # Keeps the modification time, which Python compares with the one recorded in the bytecode.
            shutil.copy2(source, target)
    here = lib / _PACKAGE.name
    shutil.copytree(_PACKAGE, here, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    compiled = cache_folder()
    if compiled.is_dir():
        shutil.copytree(compiled, here / "__pycache__" / NAME)


def _distributions() -> list[Distribution]:
    """Return this package and its dependencies, without those that Spark distributes."""
    found: dict[str, Distribution] = {}
    required_names = [_PACKAGE.name.replace("_", "-")]
    while required_names:
        name = required_names.pop()
        if name in found or name in _OF_SPARK:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            # A dependency of other platforms, or it would be installed.
            continue
        needed = [required for required in found[name].requires or () if "extra ==" not in required]
        required_names += [re.split(r"[^\w.-]", required, maxsplit=1)[0].lower() for required in needed]
    return list(found.values())


def _write_launcher(launcher: Path) -> None:
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    # Rules that were compiled for another type of processor than the usual one serve executors with the same setting.
    set_here = [f"export {name}={os.environ[name]}\n" for name in _CPU if name in os.environ]
    launcher.parent.mkdir(parents=True)
    launcher.write_text(_LAUNCHER.format(python=python, cpu="".join(set_here)))
    launcher.chmod(0o755)


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Remove the user who packed the archive."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
