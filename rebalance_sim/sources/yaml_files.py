"""Find and read YAML files: those of ``conf``, which the wheel contains, and the user's own."""

import re
from collections.abc import Hashable
from os import PathLike
from pathlib import Path
from typing import Any

import yaml

from rebalance_sim.errors import UserError, check_choice

CONF = Path(__file__).parents[1] / "conf"
"""In the repository a link to its ``conf``; in a wheel a copy of it."""


def shipped_names(kind: str) -> list[str]:
    """Return the names of the files of ``conf/KIND``: fleets or scenarios."""
    return sorted(path.stem for path in (CONF / kind).glob("*.yaml"))


def find_yaml(what: str, asked: str, kind: str) -> Path:
    """Return the file of ``conf/KIND`` with this name, or else the path itself, which contains a slash or a dot.

    Raises UserError for an unknown name.
    """
    if re.search(r"[/.]", asked):
        return Path(asked)
    check_choice(what, asked, shipped_names(kind))
    return CONF / kind / f"{asked}.yaml"


def read_yaml(path: str | PathLike[str]) -> Any:
    """Read a file. Raises UserError, naming it, if it cannot be read or has a duplicate key."""
    try:
        with open(path, encoding="utf-8") as file:
            return yaml.load(file, _StrictLoader)
    except OSError as problem:
        raise UserError(f"{path}: cannot be read: {problem.strerror}") from problem
    except UnicodeDecodeError as problem:
        raise UserError(f"{path}: is not UTF-8 text") from problem
    except yaml.MarkedYAMLError as problem:
        line = f"line {problem.problem_mark.line + 1}: " if problem.problem_mark else ""
        raise UserError(f"{path}: {line}not YAML: {problem.problem}") from problem
    except yaml.YAMLError as problem:
        raise UserError(f"{path}: not YAML: {' '.join(str(problem).split())}") from problem


class _StrictLoader(yaml.SafeLoader):
    """Rejects duplicate keys, of which YAML's own loader silently uses the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            # The base class rejects lists and mappings as keys.
            name = key.value if isinstance(key, yaml.ScalarNode) else None
            if name is not None and name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {name!r} is given twice", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)
