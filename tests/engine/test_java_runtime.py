"""Finding a Java for Spark."""

import stat
import subprocess
from pathlib import Path

import pytest

from rebalance_sim.engine import java_runtime
from rebalance_sim.errors import UserError


def fake_java(folder: Path, version: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return java


@pytest.mark.parametrize(("told", "feature"), [("17.0.15", 17), ("1.8.0_402", 8), ("25", 25), ("21-ea", 21)])
def test_versions(tmp_path: Path, told: str, feature: int) -> None:
    assert java_runtime.java_version(str(fake_java(tmp_path, told))) == feature


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "new", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "new"))
    assert java_runtime.java_home() == tmp_path / "new"


def test_an_old_java_does_not_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = fake_java(tmp_path / "old", "11.0.2")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(old.parent))
    monkeypatch.setattr(java_runtime, "find_spec", lambda _: None)
    with pytest.raises(UserError, match="no Java 17 or newer: neither in JAVA_HOME nor on the PATH; "):
        java_runtime.java_home()


def test_the_launcher_leaves_one_module_out(tmp_path: Path) -> None:
    real = tmp_path / "real java"
    real.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    real.chmod(0o755)
    launcher = java_runtime.write_launcher(tmp_path / "home", real)
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b:c", "Main", ""]
    told = subprocess.run([launcher, *arguments], capture_output=True, text=True, check=True).stdout
    assert told == "-Xmx1g|-cp|a b:c|Main||"
