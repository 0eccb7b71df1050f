"""Find and read YAML files: those of ``conf``, which the wheel contains, and the user's own."""

import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import yaml

from rebalance_sim.errors import UserError, check_choice

CONF = Path(__file__).parents[1] / "conf"
"""In the repository a link to its ``conf``; in a wheel a copy of it."""

Place = tuple[str | int, ...]
"""The keys and positions that lead to a value of a file."""


@dataclass(frozen=True)
class YamlFile:
    """A file's value, and where its parts stand in the file."""

    path: str
    value: Any
    repeats: dict[Place, str]
    """Mappings with a duplicate key, described with its lines. The value has the key's last value."""
    _root: yaml.Node | None

    def line(self, place: Place) -> int:
        """Return the line number of a key or list item; if the file does not have it, the line of its parent.

        >>> read_yaml(CONF / "scenarios" / "leave.yaml").line(("steps", 0, "event"))
        4
        """
        node, line = self._root, 1
        for step in place:
            match node:
                case yaml.MappingNode(value=entries):
                    # Merged keys come first; a mapping's own keys take precedence.
                    entry = [(key, value) for key, value in entries if key.value == str(step)][-1:]
                case yaml.SequenceNode(value=items) if isinstance(step, int):
                    entry = [(item, item) for item in items[step : step + 1]]
                case _:
                    entry = []
            if not entry:
                break
            [(start, node)] = entry
            line = start.start_mark.line + 1
        return line


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


def read_yaml(path: str | PathLike[str]) -> YamlFile:
    """Read a file without duplicate keys. Raises UserError, naming it, if it cannot be read or has one."""
    file = read_yaml_with_repeats(path)
    for repeat in file.repeats.values():
        raise UserError(f"{path}: {repeat}")
    return file


def read_yaml_with_repeats(path: str | PathLike[str]) -> YamlFile:
    """Read a file, and note duplicate keys. Raises UserError, naming it, if it cannot be read."""
    try:
        loader = _Loader(Path(path).read_text(encoding="utf-8"))
        root = loader.get_single_node()
        # Before merge keys (``<<``) are expanded, because those may repeat keys.
        repeats = dict(_repeats(root, {})) if root else {}
        return YamlFile(str(path), loader.construct_document(root) if root else None, repeats, root)
    except OSError as problem:
        raise UserError(f"{path}: cannot be read: {problem.strerror}") from problem
    except UnicodeDecodeError as problem:
        raise UserError(f"{path}: is not UTF-8 text") from problem
    except yaml.MarkedYAMLError as problem:
        line = f"line {problem.problem_mark.line + 1}: " if problem.problem_mark else ""
        raise UserError(f"{path}: {line}not YAML: {problem.problem}") from problem
    except yaml.YAMLError as problem:
        raise UserError(f"{path}: not YAML: {' '.join(str(problem).split())}") from problem


class _Loader(yaml.SafeLoader):
    """Rejects sets, whose order is undefined."""

    yaml_constructors: ClassVar[dict[str | None, Any]] = {
        tag: of for tag, of in yaml.SafeLoader.yaml_constructors.items() if not str(tag).endswith(":set")
    }


def _repeats(node: yaml.Node, known: dict[yaml.Node, list[tuple[Place, str]] | None]) -> list[tuple[Place, str]]:
    """Find duplicate keys, of which YAML's own loader silently uses the last: their mappings, seen from a node.

    ``known`` has the repeats of visited nodes, to which aliases may refer; None for nodes that contain this node.
    """
    if node in known:
        of_alias = known[node]
        if of_alias is None:
            raise yaml.MarkedYAMLError(None, None, "an anchor contains itself", node.start_mark)
        return of_alias
    known[node] = None
    repeats: list[tuple[Place, str]] = []
    parts: list[tuple[str | int, yaml.Node]] = []
    if isinstance(node, yaml.SequenceNode):
        parts = list(enumerate(node.value))
    elif isinstance(node, yaml.MappingNode):
        # YAML's own loader rejects lists and mappings as keys.
        entries = [(key, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]
        parts = [(key.value, value) for key, value in entries]
        first: dict[str, yaml.Node] = {}
        for key, _ in entries:
            line, first_line = (at.start_mark.line + 1 for at in (key, first.setdefault(key.value, key)))
            if first[key.value] is not key:
                lines = f"line {line}" if line == first_line else f"line {first_line} and line {line}"
                repeats.append(((), f"{key.value!r} is given twice, in {lines}"))
    for step, part in parts:
        repeats += [((step, *place), repeat) for place, repeat in _repeats(part, known)]
    known[node] = repeats
    return repeats
