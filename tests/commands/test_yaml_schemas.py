"""JSON Schemas for editors: they are those of the program, and allow what it allows."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from rebalance_sim.commands.yaml_schemas import schemas

CONF = Path(__file__).parents[2] / "conf"
FILES = sorted(CONF.rglob("*.yaml"))


def schema_of(file: Path) -> Path:
    """Return the schema that the first line names."""
    named = re.fullmatch(r"# yaml-language-server: \$schema=(.*)", file.read_text().splitlines()[0])
    assert named, file
    return file.parent / named[1]


def mistakes(schema: Path, value: Any) -> list[str]:
    """Check a value as JSON, whose keys are strings."""
    return [problem.message for problem in validator_of(schema).iter_errors(json.loads(json.dumps(value)))]


@cache
def validator_of(schema: Path) -> Draft202012Validator:
    validator = Draft202012Validator(json.loads(schema.read_text()))
    validator.check_schema(validator.schema)
    return validator


def test_the_schemas_are_those_of_the_program() -> None:
    """After a change: python -m rebalance_sim.commands.yaml_schemas."""
    assert {path.name: path.read_text() for path in (CONF / "schemas").iterdir()} == schemas()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_file_of_conf_names_a_schema_and_follows_it(file: Path) -> None:
    assert mistakes(schema_of(file), yaml.safe_load(file.read_text())) == []


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("fleet", "memebrs", {}),
        ("fleet", "members", {"count": 0}),
        ("fleet", "members", {"count": {"choice": {1: 0}}}),
        ("fleet", "members", {"count": {"zipf": {"exponent": 1}}}),
        ("scenario", "settings", {"network_ms": 0}),
        ("scenario", "consumers", {"static": "yes"}),
        ("scenario", "steps", [{"event": "restart", "at_ms": 1}]),
        ("scenario", "steps", [{"event": "laeve", "at_ms": 1}]),
        ("scenario", "steps", [{"event": "leave", "at_ms": 1, "members": "5.5%"}]),
        ("options", "elect", {"seed": "one"}),
        ("options", "asign", {}),
        ("options", "common", {"log-level": "warn"}),
    ],
)
def test_schemas_refuse_mistakes(name: str, key: str, value: Any) -> None:
    fleet = {
        "topics": {"partitions": 1, "per_cluster": 1},
        "subscriptions": {"topics": 1},
        "members": {"count": 1},
        "protocols": [{"weight": 1, "lists": [["range"]]}],
    }
    valid = fleet if name == "fleet" else {}
    schema = CONF / "schemas" / f"{name}.json"
    assert mistakes(schema, valid) == []
    assert len(mistakes(schema, valid | {key: value})) == 1
