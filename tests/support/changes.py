"""What changed since a commit, and which files of the repository a test depends on."""

import ast
import subprocess
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FOLDERS = ("rebalance_sim", "tests", "jobs")


def changed_files(base: str, root: Path = ROOT) -> dict[str, bool]:
    """Return the files that differ from a commit, and whether more than docstrings, comments and layout changed."""
    listed = [
        git(root, "diff", "--name-only", "--no-renames", "-z", base),
        git(root, "ls-files", "--others", "--exclude-standard", "-z"),
    ]
    names = {name for names in listed for name in names.split("\0") if name}
    return {name: not _is_same_code(base, name, root) for name in sorted(names)}


def git(root: Path, *arguments: str) -> str:
    """Return what git prints. CalledProcessError if it fails."""
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def _is_same_code(base: str, name: str, root: Path) -> bool:
    if not name.endswith(".py") or not (root / name).is_file():
        return False
    try:
        return _code(git(root, "show", f"{base}:{name}")) == _code((root / name).read_text())
    except (subprocess.CalledProcessError, SyntaxError):
        return False


def _code(source: str) -> str:
    """Return the syntax tree without positions, docstrings and the strings that describe attributes."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [part for part in body if not _is_text(part)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant):
        return False
    return isinstance(statement.value.value, str)


class Imports:
    """Which files the Python files of a repository import, as far as their text shows it."""

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        files = sorted(file.relative_to(root) for folder in _FOLDERS for file in (root / folder).rglob("*.py"))
        self._files = {".".join(file.with_suffix("").parts).removesuffix(".__init__"): file for file in files}
        self._imported = cache(self._read)

    def closure(self, files: Iterable[str], within: tuple[str, ...], ends: Collection[str] = ()) -> set[str]:
        """Return the files, and those that they import directly or not.

        No import is followed out of some folders, nor from files at which the search ``ends``.
        """
        found: set[str] = set()
        waiting = list(files)
        while waiting:
            file = waiting.pop()
            if file not in found:
                found.add(file)
                if file not in ends:
                    waiting += [each for each in self._imported(file) if each.startswith(within)]
        return found

    def below(self, folders: tuple[str, ...]) -> list[str]:
        """Return the files of which the path begins with one of these."""
        return [str(file) for file in self._files.values() if folders and str(file).startswith(folders)]

    def _read(self, file: str) -> set[str]:
        names = {name for name in _names(ast.parse((self._root / file).read_text())) if name in self._files}
        # Importing a module runs its packages, and pytest loads the conftest.py of every folder on the way.
        folders = [parent for name in (*names, self._module(file)) for parent in _parents(name)]
        names |= {name for folder in folders for name in (folder, f"{folder}.conftest") if name in self._files}
        return {str(self._files[name]) for name in names}

    def _module(self, file: str) -> str:
        return file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def _parents(module: str) -> Iterator[str]:
    while module := module.rpartition(".")[0]:
        yield module


def _names(tree: ast.Module) -> Iterator[str]:
    """Yield what may be names of modules: imports, and the strings that name a module for ``python -m``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
