"""Small Maven projects that fetch released jars, and the commands that run them."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.built_once import copied, locked
from tests.support.unavailable import Unavailable

MAVEN_SECONDS = 600
SHORT_LIFE = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Options of Java for processes that end soon or do little: they start fast and stay small.

Most of their time would go into the C2 compiler."""
_PARENT = Path(__file__).with_name("pom.xml")


@dataclass(frozen=True)
class MavenProject:
    """A ``pom.xml`` that writes ``target/VERSION/classpath.txt``, and Java sources in ``src`` below ``folder``.

    It is built in a copy that all clones on this machine share.
    """

    folder: Path
    pom: Path
    version_property: str
    version: str

    def java_command(self, *options: str) -> list[str]:
        """Return the start of a command that runs a class of this project."""
        return [_program("java"), *SHORT_LIFE, *options, "-cp", self.classpath()]

    def classpath(self) -> str:
        """Build the project unless these sources are built, and return the path of its classes and jars."""
        root = _PARENT.parent
        copy = copied(self.folder.name, root, [_PARENT, self.pom, *(self.folder / "src").rglob("*.java")])
        target = copy / self.folder.relative_to(root) / "target" / self.version
        listing = target / "classpath.txt"
        with locked(copy):
            # The jars are in Maven's local repository, which may have been emptied since.
            if not listing.exists() or not all(map(os.path.exists, listing.read_text().strip().split(os.pathsep))):
                self._build(copy / self.pom.relative_to(root))
        return f"{target / 'classes'}{os.pathsep}{listing.read_text().strip()}"

    def _build(self, pom: Path) -> None:
        command = [_program("mvn"), "--batch-mode", "--quiet", "--file", str(pom)]
        command += [f"-D{self.version_property}={self.version}", "process-classes"]
        try:
            done = subprocess.run(
                command, env=maven_environment(), check=False, capture_output=True, text=True, timeout=MAVEN_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise Unavailable(f"mvn did not end within {MAVEN_SECONDS} s") from None
        if "COMPILATION ERROR" in done.stdout:
            # A defect of the project must not look like a machine without a registry.
            raise RuntimeError(done.stdout)
        if done.returncode != 0:
            errors = [line.partition("[ERROR]")[2].strip() for line in done.stdout.splitlines()]
            reason = next(filter(None, errors), "no reason given")
            raise Unavailable(f"mvn could not fetch {self.version_property} {self.version}: {reason}")


def java_environment() -> dict[str, str]:
    """Return an environment with UTF-8 output whatever the user's locale, and no JVM options from outside."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    # With these set, the JVM announces them in the middle of a tool's output.
    for name in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"):
        environment.pop(name, None)
    return environment


def maven_environment() -> dict[str, str]:
    """Return an environment in which Maven takes half of the processor time that it takes by default."""
    return os.environ | {"MAVEN_OPTS": f"{os.environ.get('MAVEN_OPTS', '')} {' '.join(SHORT_LIFE)}"}


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise Unavailable(f"{name} is not installed")
    return path
