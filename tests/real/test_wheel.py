"""A wheel, installed into an empty environment and used in an empty folder, without the repository."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rebalance_sim.engine.spark.java_runtime import java_home
from rebalance_sim.kafka.runtime.kernel import ALWAYS_COMPILES
from tests.real.test_fresh_clone import clone
from tests.support.submitted_jobs import ROOT

__all__ = ["clone"]
pytestmark = pytest.mark.setup


def run(command: list[object], folder: Path, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def program(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a source distribution of the committed files, a wheel from it, and install the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "venv", folder / "venv"], folder)
    pip = [folder / "venv" / "bin" / "python", "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run([*pip, "install", "setuptools>=77"], folder)
    sdist = f"from setuptools.build_meta import build_sdist; build_sdist({str(folder)!r})"
    run([pip[0], "-c", sdist], clone)
    (archive,) = folder.glob("*.tar.gz")
    run([*pip, "wheel", "--no-deps", "--wheel-dir", folder, archive], folder)
    (wheel,) = folder.glob("*.whl")
    # uv, where it is installed, takes a fraction of pip's time.
    install = ["uv", "pip", "install", "--quiet", "--python", pip[0]] if shutil.which("uv") else [*pip, "install"]
    run([*install, "--constraint", clone / "requirements.txt", f"{wheel}[report]"], folder)
    return folder / "venv" / "bin" / "rebalance-sim"


NOT_OF_USERS = ("PYTHONPATH", "VIRTUAL_ENV", ALWAYS_COMPILES)


def test_the_jobs_run_without_the_repository(program: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in NOT_OF_USERS}
    # Use the rules that other tests compiled: compiling them again takes minutes and tests nothing new.
    kept = os.environ.get("NUMBA_CACHE_DIR", str(ROOT / "rebalance_sim" / "__pycache__"))
    environment |= {"JAVA_HOME": str(java_home()), "NUMBA_CACHE_DIR": kept}

    fleet = ["--topics", "fleet/topics", "--members", "fleet/members"]
    jobs = [
        ["fleet", "--synthetic", "default", "--groups", "200", "--out", "fleet"],
        ["assign", *fleet, "--out", "assign"],
        ["simulate", *fleet, "--scenario", "rolling-restart", "--out", "simulate"],
        ["report", "--runs", "assign,simulate", "--out", "report"],
    ]
    printed = run([program, *" then ".join(map(" ".join, jobs)).split()], tmp_path, environment)
    assert printed.count("200 groups") >= 2
    assert "</html>" in (tmp_path / "report" / "report.html").read_text()
