"""JSON Schemas of the YAML files, with which editors complete and check them: ``conf/schemas``.

``python -m rebalance_sim.commands.yaml_schemas`` writes them anew; a test compares them with the program.
"""

import json
import re
from argparse import Action
from collections.abc import Mapping
from typing import Any

import msgspec

from rebalance_sim.commands.configuration import COMMON, allowed_options, takes_list
from rebalance_sim.commands.parsers import parsers
from rebalance_sim.sources.audit_thresholds import ThresholdsFile
from rebalance_sim.sources.clients_file import ClientsFile
from rebalance_sim.sources.scenarios import ScenarioFile
from rebalance_sim.sources.synthetic.fleet_spec import FleetSpec
from rebalance_sim.sources.yaml_files import CONF

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_WIDTH = 120
_BOUNDED = re.compile(r"[\[_]typing\.Annotated[\[_]int\W*_*msgspec\.Meta\W?_?ge[=_]1\W*_*le[=_](\d+)[)\]_]+")
"""Part of the name of a distribution up to a number."""


def schemas() -> dict[str, str]:
    """Return the texts of the schemas, by file name."""
    of_files = {
        "audit": _of_struct(ThresholdsFile),
        "clients": _of_struct(ClientsFile),
        "fleet": _of_struct(FleetSpec),
        "options": _of_options(),
        "scenario": _of_struct(ScenarioFile),
    }
    return {f"{name}.json": _text({"$schema": _DRAFT, **of}) + "\n" for name, of in of_files.items()}


def _text(value: Any, key: str = "", indent: str = "") -> str:
    """Return JSON in which an object or a list is on one line, behind its key, if it fits there."""
    line = indent + key + json.dumps(value)
    if len(line) <= _WIDTH or not isinstance(value, dict | list):
        return line
    parts = [(f"{json.dumps(name)}: ", part) for name, part in value.items()] if isinstance(value, dict) else []
    inner = [_text(part, of, f"{indent}  ") for of, part in parts or [("", part) for part in value]]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([f"{indent}{key}{begin}", ",\n".join(inner), f"{indent}{end}"])


def _of_struct(kind: type[msgspec.Struct]) -> dict[str, Any]:
    described: dict[str, Any] = json.loads(_BOUNDED.sub(r"-to-\1", json.dumps(msgspec.json.schema(kind))))
    return described


def _of_options() -> dict[str, Any]:
    """Return the schema of option files (``--config``)."""
    sections = {name: _of_section(options) for name, options in allowed_options(parsers()[1]).items()}
    # Each job describes the options that it shares with others in its own words.
    for option in sections[COMMON]["properties"].values():
        del option["description"]
    return {"type": "object", "additionalProperties": False, "properties": sections}


def _of_section(options: Mapping[str, Action]) -> dict[str, Any]:
    properties = {key: _of_option(action) for key, action in options.items()}
    return {"type": ["object", "null"], "additionalProperties": False, "properties": properties}


def _of_option(action: Action) -> dict[str, Any]:
    described = {"description": (action.help or "") % vars(action)}
    if action.nargs == 0:
        return {"type": "boolean", **described}
    if action.type in (int, float):
        return {"type": "integer" if action.type is int else "number", **described}
    if action.choices:
        return {"enum": list(action.choices), **described}
    if takes_list(action):
        return {"type": ["string", "array"], "items": {"type": "string"}, **described}
    return {"type": "string", **described}


if __name__ == "__main__":
    for name, text in schemas().items():
        (CONF / "schemas" / name).write_text(text, encoding="utf-8")
