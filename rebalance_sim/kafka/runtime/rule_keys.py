"""The key of each rule: a hash of what it is made of, so that an edit recompiles only the rules that it changes.

A rule is made of its own definition and of all definitions that it names, in whatever module they are: called rules,
constants, records, named tuples. Comments, docstrings and layout do not count.
"""

import ast
import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path

from rebalance_sim.kafka.runtime.compiled_code import PACKAGE, cache_folder

_ROOT = PACKAGE.name
_COMPILER = f"{_ROOT}.kafka.runtime.numba_internals"
"""How rules are compiled; every rule is made of all of it."""
_NOT_COMPILED = {f"{_ROOT}.kafka.runtime.{name}" for name in ("kernel", "compiled_code", "rule_keys")}
"""When rules are compiled and where they are kept: they stay the same."""


def rule_key(rule: str) -> str:
    """Return the key of a rule by its full name. LookupError if no module of this package defines it.

    >>> rule_key("rebalance_sim.kafka.runtime.hash_order.java_order") == rule_key("rebalance_sim.kafka.balance.balance")
    False
    """
    return _keys().of(rule)


@cache
def sources_digest() -> str:
    """Return a hash of all modules that have rules, or that rules may be made of."""
    digest = hashlib.sha256()
    for name, file in sorted(_sources(PACKAGE).items()):
        digest.update(name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _keys() -> "_Keys":
    return _Keys()


class _Keys:
    """The keys of rules, which are kept for exactly these sources: to find them takes a second."""

    def __init__(self) -> None:
        self._file = cache_folder() / f"keys-{sources_digest()}.json"
        self._sources = RuleSources()
        self._kept = self._read()

    def of(self, rule: str) -> str:
        """Return the key of a rule."""
        if rule not in self._kept:
            self._kept |= {rule: self._sources.key(rule)} | self._read()
            self._write()
        return self._kept[rule]

    def _read(self) -> dict[str, str]:
        try:
            return dict(json.loads(self._file.read_text()))
        except (OSError, ValueError):
            return {}

    def _write(self) -> None:
        # A folder that cannot be written: the next run finds them again.
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            unfinished = self._file.with_suffix(f".{os.getpid()}")
            unfinished.write_text(json.dumps(self._kept))
            unfinished.replace(self._file)


def _sources(package: Path) -> dict[str, Path]:
    """Return the modules that have rules, or that rules may be made of."""
    files = (package / "releases.py", *(package / "kafka").rglob("*.py"), *(package / "engine").rglob("*.py"))
    return {_module_name(file.relative_to(package)): file for file in files}


def _module_name(file: Path) -> str:
    parts = [_ROOT, *file.with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class RuleSources:
    """The definitions of all modules of a copy of this package, parsed as they are needed."""

    def __init__(self, package: Path = PACKAGE) -> None:
        self._sources = _sources(package)
        self._modules: dict[str, _Module] = {}

    def key(self, rule: str) -> str:
        """Return the key of a rule by its full name."""
        module, _, name = rule.rpartition(".")
        if module not in self._sources or not self._module(module).statements(name):
            raise LookupError(f"no module of this package defines {rule}")
        digest = hashlib.sha256()
        for part in sorted(self._parts(module, name)):
            digest.update(part.encode() + b"\0")
        return digest.hexdigest()[:16]

    def _parts(self, module: str, rule: str) -> set[str]:
        """Return what a rule is made of: each definition as text, after the name of its module."""
        open_names = [(module, rule), (_COMPILER, None)]
        seen, parts = set(open_names), set()
        while open_names:
            of, name = open_names.pop()
            for statement in self._module(of).statements(name):
                parts.add(f"{of}: {statement.text}")
                found = {(of, used) for used in statement.names} | self._definition(statement.imported)
                open_names += found - seen
                seen |= found
        return parts

    def _definition(self, imported: tuple[str, str | None] | None) -> set[tuple[str, str | None]]:
        """Return the definition in this package that a statement imports, if it does."""
        if imported is None:
            return set()
        module, name = imported
        if f"{module}.{name}" in self._sources:
            module, name = f"{module}.{name}", None
        return {(module, name)} if module in self._sources and module not in _NOT_COMPILED else set()

    def _module(self, name: str) -> "_Module":
        if name not in self._modules:
            self._modules[name] = _Module(self._sources[name].read_text())
        return self._modules[name]


class _Module:
    """The statements of a module, by the names that they bind."""

    def __init__(self, source: str) -> None:
        body = _without_docstrings(ast.parse(source)).body
        self._all = [_Statement(part) for node in body for part in _one_by_one(node)]
        self._binding = defaultdict(list)
        for statement in self._all:
            for name in statement.bound:
                self._binding[name].append(statement)

    def statements(self, name: str | None) -> list["_Statement"]:
        """Return the statements that bind a name, and those that bind none, since they may change anything."""
        if name is None:
            return self._all
        binding = self._binding.get(name, [])
        return [*binding, *(each for each in self._all if not each.bound)] if binding else []


class _Statement:
    """A statement at the top of a module."""

    def __init__(self, node: ast.stmt) -> None:
        self._node = node
        self.bound = set(_bound(node))

    @cached_property
    def text(self) -> str:
        """The statement without comments and layout."""
        return ast.dump(self._node)

    @cached_property
    def names(self) -> set[str]:
        """All names in it."""
        return {node.id for node in ast.walk(self._node) if isinstance(node, ast.Name)}

    @property
    def imported(self) -> tuple[str, str | None] | None:
        """The module, and the name in it, that the statement imports; without a name it is the whole module."""
        if isinstance(self._node, ast.ImportFrom):
            name = self._node.names[0].name
            return self._node.module or "", None if name == "*" else name
        return (self._node.names[0].name, None) if isinstance(self._node, ast.Import) else None


def _one_by_one(node: ast.stmt) -> list[ast.stmt]:
    """Split an import into one of each name, so that a rule is made of those that it uses."""
    if isinstance(node, ast.ImportFrom):
        return [ast.ImportFrom(node.module, [alias], node.level) for alias in node.names]
    return [ast.Import([alias]) for alias in node.names] if isinstance(node, ast.Import) else [node]


def _bound(node: ast.AST) -> Iterator[str]:
    """Return the names that a statement binds in its module."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
        return
    if isinstance(node, ast.alias):
        yield (node.asname or node.name).split(".")[0]
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    for inner in ast.iter_child_nodes(node):
        yield from _bound(inner)


def _without_docstrings(tree: ast.Module) -> ast.Module:
    """Remove texts that are statements: the docstrings of modules, classes, functions and variables."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [statement for statement in body if not _is_text(statement)]  # type: ignore[attr-defined]
    return tree


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
