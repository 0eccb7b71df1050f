"""Reads and checks scenario files, such as those of ``conf/scenarios``.

A file has a ``description``, ``settings`` (names and values of
``rebalance_sim.kafka.simulation.settings.SimulationSettings``), ``consumers`` (what all consumers are configured with:
``static``, ``session_timeout_ms``, ``max_poll_interval_ms``, ``protocols``) and ``steps``. A step has an ``event`` and
``at_ms``; which further keys it may have depends on the event (``KEYS``). ``members`` selects consumers by their
places: ``all``, a number (the first ones), a share (``50%``) or a list of places from 0. A key may be given only once.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from rebalance_sim.errors import UserError, check_choice
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.simulation.scenario import OFFERS, Overrides, Scenario, ScenarioStep, Selection, is_offer
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.sources.yaml_files import find_yaml, shipped_names

_TURNS = ("members", "every_ms", "times", "again_after_ms")
KEYS = {
    "join": ("count", "every_ms", "protocols", "subscription"),
    "leave": _TURNS,
    "crash": _TURNS,
    "restart": (*_TURNS, "down_ms"),
    "stall": (*_TURNS, "for_ms"),
    "subscribe": (*_TURNS, "subscription"),
    "protocols": (*_TURNS, "protocols"),
    "grow": ("topic", "add"),
    "move-coordinator": ("down_ms", "times", "again_after_ms"),
    "fail-store": ("error",),
}
"""Keys of a step, by event, beside ``event`` and ``at_ms``."""
_NEEDED = {
    "restart": "down_ms",
    "stall": "for_ms",
    "subscribe": "subscription",
    "protocols": "protocols",
    "grow": "add",
    "move-coordinator": "down_ms",
    "fail-store": "error",
}
_MOST_MS = 10**12
_TAKE_TIME = ("network_ms", "heartbeat_interval_ms", "group_consumer_heartbeat_interval_ms")
"""Settings that must not be 0: a request that is repeated without delay would never let the clock advance."""


@dataclass(frozen=True)
class RejectedStep:
    """A step that cannot be used."""

    row: str
    """The step as JSON."""
    reason: str


class _Mapping(dict[Any, Any]):
    """A mapping of a file; ``repeats`` describes a key that is given more than once."""

    repeats: str | None = None


class _Loader(yaml.SafeLoader):
    """Records keys that are given more than once; YAML's own loader silently takes the last one.

    It does so before merge keys (``<<``) are expanded, because those may repeat keys.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.repeats: dict[yaml.MappingNode, str] = {}

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Read a mapping and check its keys."""
        node = super().compose_mapping_node(anchor)
        lines: dict[str, int] = {}
        for key, _ in node.value:
            # Lists and mappings cannot be keys; they are rejected later.
            if not isinstance(key, yaml.ScalarNode):
                continue
            line = key.start_mark.line + 1
            if key.value in lines:
                first = f"line {lines[key.value]} and " if lines[key.value] < line else ""
                self.repeats[node] = f"{key.value!r} is given twice, in {first}line {line}"
                break
            lines[key.value] = line
        return node

    def construct_noted_mapping(self, node: yaml.MappingNode) -> Iterator[_Mapping]:
        """Construct a mapping; YAML fills it after the nodes that it refers to."""
        mapping = _Mapping()
        yield mapping
        mapping.repeats = self.repeats.get(node)
        mapping.update(self.construct_mapping(node))


_Loader.add_constructor("tag:yaml.org,2002:map", _Loader.construct_noted_mapping)


def scenario_names() -> list[str]:
    """Return the names of the scenarios that come with the program."""
    return shipped_names("scenarios")


def read_scenario(asked: str) -> tuple[Scenario, list[RejectedStep]]:
    """Read a scenario by its name or from a file; return it with the steps that cannot be used.

    Raises UserError for a file that cannot be read, for a mistake outside of the steps, and if no step can be used.

    >>> scenario, rejected = read_scenario("rolling-restart")
    >>> scenario.steps[0].event, rejected
    ('restart', [])
    """
    path = find_yaml("--scenario", asked, "scenarios")
    try:
        given = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as problem:
        reason = str(problem).replace("\n", " ")
        raise UserError(f"--scenario: cannot read {str(path)!r}: {reason}") from problem
    return _scenario(path, given)


def _scenario(path: Path, given: Any) -> tuple[Scenario, list[RejectedStep]]:
    what = f"--scenario: {path.name}"
    root = _mapping(what, given, ("description", "settings", "consumers", "steps"))
    steps, rejected = [], []
    for row in _list(f"{what}: steps", root.get("steps", [])):
        try:
            steps.append(_step(row))
        except UserError as problem:
            rejected.append(RejectedStep(json.dumps(row, ensure_ascii=False, default=str), str(problem)))
    if not steps:
        first = f"; the first: {rejected[0].reason}" if rejected else ""
        raise UserError(f"{what}: steps: no step can be used{first}")
    scenario = Scenario(
        path.stem,
        str(root.get("description", "")),
        tuple(steps),
        settings_of(f"{what}: settings", root.get("settings") or {}),
        _overrides(f"{what}: consumers", root.get("consumers") or {}),
    )
    return scenario, rejected


def settings_of(what: str, given: Any, base: SimulationSettings | None = None) -> SimulationSettings:
    """Check settings; those that are not given are taken from ``base``, or are the defaults.

    >>> settings_of("settings", {"network_ms": 20}).network_ms
    20
    """
    base = base or SimulationSettings()
    values: dict[str, Any] = {}
    for name, value in _mapping(what, given, [of.name for of in fields(SimulationSettings)]).items():
        usual = getattr(base, name)
        if isinstance(usual, bool):
            values[name] = _flag(f"{what}: {name}", value)
        else:
            values[name] = _number(f"{what}: {name}", value, 1 if name in _TAKE_TIME else 0)
    return SimulationSettings(**{**vars(base), **values})


def _overrides(what: str, given: Any) -> Overrides:
    values = _mapping(what, given, [of.name for of in fields(Overrides)])
    return Overrides(
        _flag(f"{what}: static", values["static"]) if "static" in values else None,
        _number(f"{what}: session_timeout_ms", values["session_timeout_ms"], 1)
        if "session_timeout_ms" in values
        else None,
        _number(f"{what}: max_poll_interval_ms", values["max_poll_interval_ms"], 1)
        if "max_poll_interval_ms" in values
        else None,
        _protocols(f"{what}: protocols", values["protocols"]) if "protocols" in values else None,
    )


def _step(given: Any) -> ScenarioStep:
    if not isinstance(given, Mapping) or "event" not in given:
        raise UserError(f"step: {given!r} is not a step; expected a mapping with an event")
    event = str(given["event"])
    _check_given_once(event, given)
    check_choice("event", event, list(KEYS))
    values = _mapping(event, given, ("event", "at_ms", *KEYS[event]))
    needed = ["at_ms"] + ([_NEEDED[event]] if event in _NEEDED else [])
    missing = [name for name in needed if name not in values]
    if missing:
        raise UserError(f"{event}: {missing[0]} is missing")
    read = {name: _READERS[name](f"{event}: {name}", values[name]) for name in values if name != "event"}
    return ScenarioStep(event, **read)


def _mapping(what: str, given: Any, allowed: Collection[str]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise UserError(f"{what}: {given!r} is not allowed; allowed: a mapping of {', '.join(allowed)}")
    _check_given_once(what, given)
    for name in given:
        check_choice(what, str(name), list(allowed))
    return given


def _check_given_once(what: str, given: Mapping[str, Any]) -> None:
    if isinstance(given, _Mapping) and given.repeats:
        raise UserError(f"{what}: {given.repeats}")


def _list(what: str, given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise UserError(f"{what}: {given!r} is not allowed; allowed: a list")
    return given


def _flag(what: str, given: Any) -> bool:
    if not isinstance(given, bool):
        raise UserError(f"{what}: {given!r} is not allowed; allowed: true and false")
    return given


def _number(what: str, given: Any, least: int = 0) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= _MOST_MS:
        raise UserError(f"{what}: {given!r} is not allowed; allowed: whole numbers from {least} to {_MOST_MS}")
    return given


def _at_least_one(what: str, given: Any) -> int:
    return _number(what, given, 1)


def _name(what: str, given: Any) -> str:
    if not isinstance(given, str) or not given:
        raise UserError(f"{what}: {given!r} is not allowed; allowed: a name")
    return given


def _names(what: str, given: Any) -> tuple[str, ...]:
    names = [_name(what, name) for name in _list(what, given)]
    if not names or len(set(names)) < len(names):
        raise UserError(f"{what}: {given!r} is not allowed; allowed: names, each once")
    return tuple(names)


def _protocols(what: str, given: Any) -> tuple[str, ...]:
    """Check what consumers offer: their own assignors, or one of the coordinator's."""
    names = _names(what, given)
    if not is_offer(names):
        raise UserError(f"{what}: {given!r} is not allowed; allowed: {OFFERS}")
    return names


def _error(what: str, given: Any) -> str:
    check_choice(what, str(given), [error.name for error in Errors])
    return str(given)


def _selection(what: str, given: Any) -> Selection:
    if given == "all":
        return Selection(share=1)
    if isinstance(given, int) and not isinstance(given, bool) and given > 0:
        return Selection(first=given)
    if isinstance(given, str) and re.fullmatch(r"\d{1,3}%", given):
        return Selection(share=int(given[:-1]) / 100)
    if isinstance(given, list) and given and all(isinstance(place, int) and place >= 0 for place in given):
        return Selection(places=tuple(given))
    raise UserError(
        f"{what}: {given!r} is not allowed; allowed: all, a number from 1, a share as 50%, a list of places"
    )


_READERS: dict[str, Callable[[str, Any], Any]] = {
    "at_ms": _number,
    "members": _selection,
    "every_ms": _number,
    "times": _at_least_one,
    "again_after_ms": _number,
    "count": _at_least_one,
    "down_ms": _number,
    "for_ms": _at_least_one,
    "protocols": _protocols,
    "subscription": _names,
    "topic": _name,
    "add": _at_least_one,
    "error": _error,
}
