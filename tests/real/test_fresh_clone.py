"""The quick start of a new user, on a machine without Java: clone, then ``make run``."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rebalance_sim.kafka.runtime.kernel import ALWAYS_COMPILES

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.setup
NOT_OF_USERS = ("JAVA_HOME", "VIRTUAL_ENV", ALWAYS_COMPILES)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clone the committed files."""
    if shutil.which("git") is None or shutil.which("make") is None:
        pytest.skip("git and make are needed")
    clone = tmp_path_factory.mktemp("fresh") / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    return clone


@pytest.fixture(scope="module")
def without_java(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment whose PATH has every command of this machine except Java's."""
    commands = tmp_path_factory.mktemp("commands")
    for folder in os.environ["PATH"].split(os.pathsep):
        for command in Path(folder).glob("*"):
            link = commands / command.name
            if not command.name.startswith("java") and not link.is_symlink():
                link.symlink_to(command)
    (commands / "python3").unlink(missing_ok=True)
    (commands / "python3").symlink_to(os.path.realpath(sys.executable))
    environment = {name: value for name, value in os.environ.items() if name not in NOT_OF_USERS}
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    # Use the rules that other tests compiled, and cached packages: both take minutes and test nothing new.
    kept = {
        "NUMBA_CACHE_DIR": str(ROOT / "rebalance_sim" / "__pycache__"),
        "PIP_CACHE_DIR": f"{caches}/pip",
        "UV_CACHE_DIR": f"{caches}/uv",
    }
    # The archive of classes is new, although a clone at the same path may have left one.
    new = {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("caches"))}
    return kept | environment | new | {"PATH": str(commands), "PYTHON": str(commands / "python3")}


def made(clone: Path, environment: dict[str, str], *targets: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--no-print-directory", *targets]
    done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_make_run_works_without_java(clone: Path, without_java: dict[str, str]) -> None:
    assert shutil.which("java", path=without_java["PATH"]) is None
    printed = made(clone, without_java, "run").stdout
    assert "setting up .venv" in printed
    verdict = re.search(r"^26 groups: .*$", (clone / "docs" / "audit.md").read_text(), re.MULTILINE)
    assert verdict is not None
    assert verdict.group() in printed
    assert "page: out/report.html" in printed
    assert (clone / "out" / "report.html").exists()
    assert (clone / ".venv" / "java-for-spark" / "bin" / "java").exists()
    record = json.loads((clone / "out" / "_run.json").read_text())
    assert record["rows"]["used"] == record["rows"]["in"]

    first, second = (made(clone, without_java, "setup") for _ in range(2))
    assert "setting up" not in first.stdout
    assert first.stderr == "archiving the classes of the JVM (takes a few minutes, once)\n"
    assert (second.stdout, second.stderr) == ("", "")


def test_make_without_a_target_lists_the_targets(clone: Path) -> None:
    assert "make run " in made(clone, dict(os.environ)).stdout
