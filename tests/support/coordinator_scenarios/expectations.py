"""Check an answer to a scenario's case against what the scenario expects."""

from collections.abc import Mapping
from typing import Any

from tests.support.coordinator_scenarios.scenario import Answered, Expectation, Gone, Parked, Scenario, Standing

JsonObject = dict[str, Any]

_STATES_BEFORE_2_0 = {"CompletingRebalance": "AwaitingSync"}


def check(scenario: Scenario, version: str, answer: JsonObject) -> None:
    """Assert what the scenario expects of a release line."""
    assert "unsupported" not in answer, f"{scenario.name} ({version}): {answer['unsupported']}"
    assert version in scenario.versions, f"{scenario.name} does not hold in {version}"
    assert len(answer["groups"]) == len(scenario.steps), "a group for each step"
    for expectation in scenario.expected:
        if version in expectation.versions:
            _check_one(scenario, version, expectation, answer)


def _check_one(scenario: Scenario, version: str, expectation: Expectation, answer: JsonObject) -> None:
    step = expectation.step % len(scenario.steps)
    where = f"{scenario.name} ({version}), step {step} {scenario.steps[step]}"
    given = [one for one in answer["answers"] if one["step"] == step]
    match expectation:
        case Answered():
            assert len(given) == 1, f"{where}: one answer expected, not {given}"
            given_fields = _in_words(version, given[0])
            _compare(where, expectation.fields, given_fields, given[0])
        case Parked():
            assert not given, f"{where}: no answer expected, not {given}"
        case Standing():
            group = answer["groups"][step]
            assert group is not None, f"{where}: there is no group"
            _compare(where, expectation.fields, _standing(version, group), group)
        case Gone():
            group = answer["groups"][step]
            assert group is None, f"{where}: no group expected, not {group}"


def _compare(where: str, fields: Mapping[str, Any], given_fields: Mapping[str, Any], whole: JsonObject) -> None:
    for name, expected in fields.items():
        assert name in given_fields, f"{where}: no {name} in {whole}"
        found = given_fields[name]
        fits = found in expected if isinstance(expected, set) else found == expected
        assert fits, f"{where}: {name} should be {expected}, is {found} in {whole}"


def _in_words(version: str, given: JsonObject) -> JsonObject:
    """Return the fields of an answer as expectations name them."""
    given_fields = dict(given)
    if "errors" in given:
        errors = {error for _, _, error in given["errors"]}
        given_fields["error"] = errors.pop() if len(errors) == 1 else errors
    if "offsets" in given:
        given_fields["offsets"] = {partition: offset for _, partition, offset in given["offsets"]}
    members = given.get("members") or []
    if all(len(member) == 2 for member in members):
        given_fields["left"] = [error for _, error in members] if version in {"3.9", "4.3"} else [given["error"]]
    if all(len(member) == 3 for member in members):
        ordered = sorted(members)
        given_fields["members"] = [number for number, _, _ in ordered]
        given_fields["instances"] = {number: instance for number, instance, _ in ordered}
        given_fields["metadata"] = {number: metadata for number, _, metadata in ordered}
    return given_fields


def _standing(version: str, group: JsonObject) -> JsonObject:
    """Return a group as expectations name its fields."""
    if version != "1.0":
        return group
    modern = {old: new for new, old in _STATES_BEFORE_2_0.items()}
    return {**group, "state": modern.get(group["state"], group["state"])}
