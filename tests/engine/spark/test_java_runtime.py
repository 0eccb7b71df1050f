"""Finding a Java for Spark."""

import stat
import subprocess
from pathlib import Path

import pytest

from rebalance_sim.engine.spark import java_runtime
from rebalance_sim.engine.spark.class_archive import class_archive
from rebalance_sim.errors import UserError


def fake_java(folder: Path, version: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return java


@pytest.mark.parametrize(("version", "feature"), [("17.0.15", 17), ("1.8.0_402", 8), ("25", 25), ("21-ea", 21)])
def test_java_versions_are_recognized(tmp_path: Path, version: str, feature: int) -> None:
    assert java_runtime.java_version(str(fake_java(tmp_path, version))) == feature


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "new", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "new"))
    assert java_runtime.java_home() == tmp_path / "new"


def test_an_old_java_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = fake_java(tmp_path / "old", "11.0.2")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(old.parent))
    monkeypatch.setattr(java_runtime, "find_spec", lambda _: None)
    with pytest.raises(UserError, match="no Java 17 or newer in JAVA_HOME or on the PATH; "):
        java_runtime.java_home()


def test_a_packaged_java_that_is_upgraded_gets_an_archive_of_its_own(tmp_path: Path) -> None:
    java, release = fake_java(tmp_path / "packaged", "21.0.1"), tmp_path / "packaged" / "release"
    archives = set()
    for version in ("21.0.1", "21.0.2", "21.0.2"):
        release.write_text(f'JAVA_VERSION="{version}"\n')
        launcher = java_runtime.write_launcher(tmp_path / "home", java)
        assert java_runtime.java_version(str(launcher)) == 21
        archives.add(class_archive(tmp_path / "home"))
    assert len(archives) == 2


def test_the_launcher_drops_the_missing_module(tmp_path: Path) -> None:
    real = tmp_path / "real java"
    real.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    real.chmod(0o755)
    launcher = java_runtime.write_launcher(tmp_path / "home", real)
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b:c", "Main", ""]
    printed = subprocess.run([launcher, *arguments], capture_output=True, text=True, check=True).stdout
    assert printed == "-Xmx1g|-cp|a b:c|Main||"
