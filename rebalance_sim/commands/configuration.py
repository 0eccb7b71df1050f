"""The values of options: from the command line, else from a file (``--config``), else their defaults."""

import argparse
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rebalance_sim.errors import UserError, check_choice
from rebalance_sim.sources.yaml_files import YamlFile, read_yaml

COMMON = "common"
"""Section for options that several jobs share."""
OPTION, DEFAULT = "option", "default"
"""Sources of values; a third one is the name of the file."""
CONFIG = "--config"
_ONLY_OPTIONS = ("help", "config", "dry_run", "explain")
"""Options that are allowed on the command line only."""


def read_options(parser: ArgumentParser, jobs: Mapping[str, ArgumentParser], arguments: Sequence[str]) -> Namespace:
    """Parse a command line. Its values take precedence over those of the file that it names.

    The attribute ``sources`` of the result has the source of each option's value. Raises UserError, naming the file and
    the key, for an unknown section or key and for a value of the wrong type.
    """
    file = _file_of(arguments)
    from_file = _read_file(file, jobs) if file else {name: {} for name in jobs}
    usual = {name: {action.dest: action.default for action in job._actions} for name, job in jobs.items()}
    for name, job in jobs.items():
        _suppress_defaults(job, from_file[name])
    given = vars(parser.parse_args(arguments))
    job = given["job"]
    configured = {dest: value for dest, value in from_file[job].items() if not _is_ruled_out(jobs[job], dest, given)}
    values = usual[job] | configured | given
    values.pop("help")
    sources = {dest: OPTION if dest in given else file if dest in configured else DEFAULT for dest in values}
    return Namespace(**values, sources=sources)


def _file_of(arguments: Sequence[str]) -> str | None:
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(CONFIG)
    found: str | None = parser.parse_known_args(arguments)[0].config
    return found


def _suppress_defaults(parser: ArgumentParser, configured: Mapping[str, Any]) -> None:
    """Make a parser return given options only, and not require those that the file has."""
    for action in parser._actions:
        action.default = argparse.SUPPRESS
        action.required = action.required and action.dest not in configured
    for group in parser._mutually_exclusive_groups:
        group.required = group.required and not any(action.dest in configured for action in group._group_actions)


def _is_ruled_out(parser: ArgumentParser, dest: str, given: Mapping[str, Any]) -> bool:
    """Return whether a given option excludes this option of the file."""
    for group in parser._mutually_exclusive_groups:
        exclusive = [action.dest for action in group._group_actions]
        if dest in exclusive and any(other in given for other in exclusive):
            return True
    return False


def _read_file(file: str, jobs: Mapping[str, ArgumentParser]) -> dict[str, dict[str, Any]]:
    """Return the values for each job, by ``dest``. Its own section takes precedence over the common one."""
    allowed = allowed_options(jobs)
    read = read_yaml(file)
    values = {
        name: {
            key: _value(_where(read, (name, key)), allowed[name][key], value)
            for key, value in _section(read, (name,), given, allowed[name]).items()
        }
        for name, given in _section(read, (), read.value, allowed).items()
    }
    found = {}
    for name in jobs:
        options = allowed[name]
        merged = values.get(COMMON, {}) | values.get(name, {})
        found[name] = {options[key].dest: value for key, value in merged.items() if key in options}
        _check_exclusive(_where(read, (name,)), jobs[name], found[name])
    return found


def allowed_options(jobs: Mapping[str, ArgumentParser]) -> dict[str, dict[str, Action]]:
    """Return the options of a file by its sections and keys."""
    of_jobs = {name: _allowed(job._actions) for name, job in jobs.items()}
    return {COMMON: _shared(of_jobs.values()), **of_jobs}


def takes_list(action: Action) -> bool:
    """Return whether the option may be a list in a file."""
    return str(action.metavar).endswith(",...")


def _allowed(actions: Iterable[Action]) -> dict[str, Action]:
    """Return the options of a job by their keys in a file."""
    return {
        action.option_strings[-1].removeprefix("--"): action
        for action in actions
        if action.option_strings and action.dest not in _ONLY_OPTIONS
    }


def _shared(of_jobs: Iterable[Mapping[str, Action]]) -> dict[str, Action]:
    """Return the options that more than one job has."""
    shared: dict[str, Action] = {}
    seen: set[str] = set()
    for options in of_jobs:
        shared |= {key: action for key, action in options.items() if key in seen}
        seen |= options.keys()
    return shared


def _where(file: YamlFile, place: tuple[str, ...], *inside: str) -> str:
    """Return the line of what is inside a place, and the place."""
    return ": ".join([file.path, f"line {file.line((*place, *inside))}", *place])


def _section(file: YamlFile, place: tuple[str, ...], given: Any, allowed: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check the keys of a section. A section with comments only is null in YAML, and empty here."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise UserError(f"{_where(file, place)}: {given!r} is not allowed; allowed: a mapping of {', '.join(allowed)}")
    for key in given:
        check_choice(_where(file, place, str(key)), str(key), list(allowed))
    return given


def _value(what: str, action: Action, given: Any) -> Any:
    """Check the type of a value and return it."""
    if action.nargs == 0:
        return _checked(what, given, (bool,), "true and false")
    if action.type is int:
        return _checked(what, given, (int,), "whole numbers")
    if action.type is float:
        return float(_checked(what, given, (int, float), "numbers"))
    if isinstance(given, list) and takes_list(action):
        return ",".join(_text(what, item) for item in given)
    text = _text(what, given)
    if action.choices:
        check_choice(what, text, list(action.choices))
    return text


def _text(what: str, given: Any) -> str:
    text: str = _checked(what, given, (str,), "text, in quotes where it looks like a number")
    return text


def _checked(what: str, given: Any, kinds: tuple[type, ...], allowed: str) -> Any:
    if type(given) not in kinds:
        raise UserError(f"{what}: {given!r} is not allowed; allowed: {allowed}")
    return given


def _check_exclusive(what: str, parser: ArgumentParser, configured: Mapping[str, Any]) -> None:
    for group in parser._mutually_exclusive_groups:
        found = [action.option_strings[-1] for action in group._group_actions if action.dest in configured]
        if len(found) > 1:
            raise UserError(f"{what}: {' and '.join(found)} exclude each other")
