"""The preparation of a machine: it compiles every rule and archives Java's classes, and no job depends on either."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rebalance_sim.engine.spark.class_archive import class_archive
from rebalance_sim.engine.spark.java_runtime import java_home
from rebalance_sim.kafka.runtime.compiled_code import NAME, cache_folder
from rebalance_sim.kafka.runtime.kernel import ALWAYS_COMPILES
from rebalance_sim.preparation import ASSIGNING

pytestmark = pytest.mark.setup
LONGEST_S = 600
CAPTURE = Path(__file__).parents[2] / "docs" / "examples" / "kafka-4.3.1"


@pytest.fixture(scope="module")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("caches")


def python(caches: Path, *arguments: str, compiles: str = "") -> str:
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    environment |= {
        "PYTHONFAULTHANDLER": "1",
        ALWAYS_COMPILES: compiles,
        "NUMBA_CACHE_DIR": f"{caches}/numba",
        "XDG_CACHE_HOME": str(caches),
        "JAVA_HOME": str(java_home()),
    }
    command, pipe = [sys.executable, "-m", *arguments], subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True) as running:
        try:
            out, err = running.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            # It prints where it hangs.
            running.send_signal(signal.SIGABRT)
            out, err = running.communicate()
    assert running.returncode == 0, err
    return out


def predict(caches: Path, out: Path, compiles: str = "") -> str:
    fleet = ("rebalance_sim.cli", "fleet", "--kafka-tools", str(CAPTURE), "--out", f"{out}/fleet")
    members = ("--topics", f"{out}/fleet/topics", "--members", f"{out}/fleet/members")
    printed = python(caches, *fleet, "then", "assign", *members, "--out", f"{out}/assign", compiles=compiles)
    return printed.replace(str(out), "OUT")


def compiled(caches: Path) -> set[Path]:
    return set(caches.rglob("*.nbc"))


def copy_prepared_rules(caches: Path) -> None:
    """Take over the rules that ``make setup`` compiled: compiling them again takes minutes and tests nothing new.

    Those that tests have compiled since stay behind.
    """
    prepared = cache_folder() / "prepared.json"
    rules = json.loads(prepared.read_text()) if prepared.exists() else {}
    copy = caches / "numba" / NAME
    copy.mkdir(parents=True, exist_ok=True)
    for rule, key in rules.items():
        for file in cache_folder().glob(f"{rule}-{key}.*"):
            shutil.copy2(file, copy)


@pytest.mark.alone
def test_jobs_give_the_same_answer_before_and_after_it(
    caches: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless ``make setup`` has compiled all rules, only those of elections and assignors are compiled."""
    before = predict(caches, tmp_path / "before")
    assert not compiled(caches)

    copy_prepared_rules(caches)
    monkeypatch.setenv("XDG_CACHE_HOME", str(caches))
    archive = class_archive(java_home())
    archive.parent.mkdir()
    part = ("--part", ASSIGNING, "--folder", f"{tmp_path}/examples", "--archive", str(archive))
    python(caches, "rebalance_sim.preparation", *part, compiles="always")
    rules, archives = compiled(caches), list(caches.rglob("*.jsa"))
    assert rules
    assert predict(caches, tmp_path / "after", compiles="always") == before
    assert compiled(caches) == rules, "the preparation has not compiled every rule that the jobs call"

    for archive in archives:
        archive.chmod(0o644)
        archive.write_bytes(b"damaged")
    assert predict(caches, tmp_path / "damaged") == before


def test_the_rules_of_a_library_are_compiled_ahead(caches: Path, tmp_path: Path) -> None:
    copy_prepared_rules(caches)
    part = ("--part", ASSIGNING, "--folder", f"{tmp_path}/examples", "--libraries", "kafkajs")
    python(caches, "rebalance_sim.preparation", *part, compiles="always")
    rules = compiled(caches)
    fleet = f"{tmp_path}/examples/fleet"
    assign = ("assign", "--topics", f"{fleet}/topics", "--members", f"{fleet}/members", "--out", f"{tmp_path}/out")
    python(caches, "rebalance_sim.cli", *assign, "--strategy", "kafkajs-roundrobin", compiles="always")
    assert compiled(caches) == rules


@pytest.mark.parametrize(
    ("option", "name", "message"),
    [
        ("--libraries", "saram", "--libraries: 'saram' is not known"),
        ("--releases", "2.x", "kafka version '2.x' is not known"),
    ],
)
def test_a_misspelt_name_is_reported_before_anything_is_compiled(option: str, name: str, message: str) -> None:
    command = [sys.executable, "-m", "rebalance_sim.preparation", option, name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert message in done.stderr
