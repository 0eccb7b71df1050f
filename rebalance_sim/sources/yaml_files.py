"""Reads YAML files, strictly."""

from collections.abc import Hashable
from os import PathLike
from typing import Any

import yaml

from rebalance_sim.errors import UserError


def read_yaml(path: str | PathLike[str]) -> Any:
    """Read a file. Raises UserError, naming it, where it cannot be read, and for a key that is given twice."""
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
    """Refuses a key that is given twice, of which YAML's own loader silently takes the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            # Lists and mappings as keys are refused by the loader that this one goes on to.
            name = key.value if isinstance(key, yaml.ScalarNode) else None
            if name is not None and name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {name!r} is given twice", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)
