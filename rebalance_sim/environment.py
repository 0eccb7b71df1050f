"""Packs what Spark's executors need, where they have a Python but not this package: ``make package``.

The archive goes with a job by ``--archives FILE#environment``, and ``PYSPARK_PYTHON=./environment/bin/python`` starts
the executors' own Python with what is in it: this package, what it depends on as it is installed here, and the compiled
rules. Spark brings its own part of Python along.
"""

import json
import os
import re
import shutil
import sys
import tarfile
from contextlib import redirect_stdout
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryDirectory

from numba.core import config

from rebalance_sim.cli import main
from rebalance_sim.engine.session import session
from rebalance_sim.kafka.kernel import cache_folder
from rebalance_sim.sources.scenarios import SCENARIOS

_PACKAGE = Path(__file__).parent
_OF_SPARK = ("pyspark", "py4j")
_OF_THIS_CHECKOUT = ("__editable__", "direct_url.json")
"""Parts of the names of files that tell where a package under development lies."""
_LAUNCHER = """#!/bin/sh
# The Python of this machine, with the packages that lie here, and not with those of the folder where it is started.
here=$(cd "$(dirname "$0")/.." && pwd) || exit
export PYTHONPATH="$here/lib${{PYTHONPATH:+:$PYTHONPATH}}" PYTHONSAFEPATH=1
{cpu}exec {python} "$@"
"""
_FOR_FEW_ROWS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""What Spark compiles itself is not kept."""
_RECORD = {"topic": "orders", "key": "a", "value_bytes": 10, "producer_id": "p", "seq": 1}


def pack(archive: Path) -> None:
    """Write the archive, a tar.gz."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=archive.parent) as folder:
        environment = Path(folder) / "environment"
        _copy_packages(environment / "lib")
        launcher = _write_launcher(environment / "bin" / "python")
        _compile_rules(launcher, Path(folder) / "runs")
        unfinished = Path(folder) / archive.name
        # Soon there rather than small: compiled code is most of it.
        with tarfile.open(unfinished, "w:gz", compresslevel=1) as tar:
            tar.add(environment, arcname=".", filter=_of_nobody)
        unfinished.replace(archive)


def _copy_packages(lib: Path) -> None:
    for packed in _distributions():
        for file in packed.files or ():
            if ".." in file.parts or any(part in str(file) for part in _OF_THIS_CHECKOUT):
                continue
            target = lib / file
            target.parent.mkdir(parents=True, exist_ok=True)
            # With its time: Python compares it with that of the source in the bytecode.
            shutil.copy2(file.locate(), target)
    here = lib / _PACKAGE.name
    shutil.copytree(_PACKAGE, here, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    shutil.copytree(SCENARIOS, lib / SCENARIOS.relative_to(_PACKAGE.parent), dirs_exist_ok=True)
    compiled = cache_folder()
    if compiled.is_dir():
        shutil.copytree(compiled, here / "__pycache__" / compiled.name)


def _distributions() -> list[Distribution]:
    """Find this package and all that it depends on, but for what comes with Spark."""
    found: dict[str, Distribution] = {}
    waiting = [_PACKAGE.name.replace("_", "-")]
    while waiting:
        name = waiting.pop()
        if name in found or name in _OF_SPARK:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            # Needed on other systems only, or it would be here.
            continue
        needed = [required for required in found[name].requires or () if "extra ==" not in required]
        waiting += [re.split(r"[^\w.-]", required, maxsplit=1)[0].lower() for required in needed]
    return list(found.values())


def _write_launcher(launcher: Path) -> Path:
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    # Compiled rules are for a kind of processor, and where that is chosen, executors have to choose the same.
    cpu = f"export NUMBA_CPU_NAME={config.CPU_NAME}\n" if config.CPU_NAME else ""
    launcher.parent.mkdir(parents=True)
    launcher.write_text(_LAUNCHER.format(python=python, cpu=cpu))
    launcher.chmod(0o755)
    return launcher


def _compile_rules(launcher: Path, runs: Path) -> None:
    """Let workers of the environment run the jobs over a little of everything: they keep what they compile."""
    os.environ["PYSPARK_PYTHON"] = str(launcher)
    os.environ.pop("NUMBA_CACHE_DIR", None)
    spark = session("rebalance-sim environment")
    for name, value in _FOR_FEW_ROWS.items():
        spark.conf.set(name, value)
    runs.mkdir()
    (runs / "topics.json").write_text(json.dumps({"topic": _RECORD["topic"], "partitions": 6}) + "\n")
    (runs / "records.json").write_text("".join(json.dumps(_RECORD | {"key": key}) + "\n" for key in ("a", "", None)))
    fleet = ["--topics", f"{runs}/fleet/topics", "--members", f"{runs}/fleet/members"]
    orders = ["--format", "json", "--topics", f"{runs}/topics.json", "--records", f"{runs}/records.json"]
    small = str(SCENARIOS.parent / "fleets" / "small.yaml")
    for job in (
        ["fleet", "--synthetic", small, "--groups", "30"],
        ["assign", *fleet],
        ["assign", *fleet, "--strategy", "all"],
        ["partition", *orders, "--partitions-after", "8"],
        ["simulate", *fleet, "--scenario", "rolling-restart"],
        ["simulate", *fleet, "--scenario", "rolling-restart", "--strategy", "all"],
    ):
        with redirect_stdout(sys.stderr):
            if main([*job, "--out", f"{runs}/{job[0]}"]) != 0:
                raise RuntimeError(f"{job[0]} fails with what was packed: see above")


def _of_nobody(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Leave out who packed it."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
