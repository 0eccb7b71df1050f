"""The programs of tests/real/client_libraries, which run client libraries of Go, JavaScript, Ruby and Erlang."""

import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.unavailable import Unavailable

_PROGRAMS = Path(__file__).parents[1] / "real" / "client_libraries"


@cache
def go_program(name: str, directory: Path) -> list[str]:
    """Build a program for Go's libraries in a directory, once, and return the command that runs it."""
    _download("go", ["go", "mod", "download"], _PROGRAMS / "go")
    program = str(directory / name)
    subprocess.run(["go", "build", "-o", program, f"./{name}"], cwd=_PROGRAMS / "go", check=True)
    return [program]


@cache
def node_program(name: str, directory: Path) -> list[str]:
    """Install a program for JavaScript's libraries in a directory, once, and return the command that runs it."""
    install_packages(_PROGRAMS / "node", directory)
    return ["node", str(directory / f"{name}.js")]


def ruby_program(gem: str, strategy: str, directory: Path) -> list[str]:
    """Unpack a gem in a directory, unless it is there, and return the command that runs its strategy."""
    if not (directory / gem).exists():
        name, release = gem.rsplit("-", maxsplit=1)
        _download("ruby", ["gem", "fetch", name, "--version", release], directory)
        _download("ruby", ["gem", "unpack", f"{gem}.gem"], directory)
    return ["ruby", str(_PROGRAMS / "ruby" / "assignors.rb"), str(directory / gem), strategy]


def erlang_program(release: str, directory: Path) -> list[str]:
    """Download the sources of a release of brod to a directory, unless they are there, and return its command."""
    libraries = directory / f"brod-{release}" / "_build" / "default" / "lib"
    if not libraries.exists():
        project = directory / f"brod-{release}"
        project.mkdir(exist_ok=True)
        (project / "rebar.config").write_text(f'{{deps, [{{brod, "{release}"}}]}}.\n')
        _download("escript", ["rebar3", "get-deps"], project)
    return ["escript", str(_PROGRAMS / "erlang" / "assignors.escript"), str(libraries)]


def install_packages(programs: Path, directory: Path) -> None:
    """Install the packages that a folder's package-lock.json names, with the folder's files, in a directory.

    Raises Unavailable if that is not possible here.
    """
    shutil.copytree(programs, directory, dirs_exist_ok=True)
    _download("node", ["npm", "ci", "--ignore-scripts", "--omit=optional", "--no-audit", "--silent"], directory)


def answers_of(program: Sequence[str], cases: Iterable[Mapping[str, Any]], directory: Path) -> list[Any]:
    """Return what a program answers to cases, a line each."""
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run(program, cwd=directory, input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _download(program: str, command: Sequence[str], directory: Path) -> None:
    missing = [name for name in (program, command[0]) if shutil.which(name) is None]
    if missing:
        raise Unavailable(f"{missing[0]} is not installed")
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"{' '.join(command)} fails: {done.stderr[-500:]}")
