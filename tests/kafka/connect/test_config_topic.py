"""What the config topic of a Connect cluster says is configured."""

import pytest

from rebalance_sim.kafka.connect.config_topic import configured_connectors


def configured(name: str) -> tuple[str, str]:
    return f"connector-{name}", f'{{"properties": {{"connector.class": "FileStreamSink", "name": "{name}"}}}}'


def task(name: str, number: int) -> tuple[str, str]:
    return f"task-{name}-{number}", '{"properties": {"task.class": "FileStreamSinkTask"}}'


def commit(name: str, tasks: int) -> tuple[str, str]:
    return f"commit-{name}", f'{{"tasks": {tasks}}}'


def tasks_of(*records: tuple[str, str | None]) -> dict[str, int]:
    return {name: connector.tasks for name, connector in configured_connectors(records).items()}


def test_a_commit_decides_how_many_tasks_a_connector_has() -> None:
    """The name of a connector may have dashes and numbers."""
    name = "orders-2"
    first = [configured(name), task(name, 0), task(name, 1)]
    assert tasks_of(*first) == {name: 0}
    assert tasks_of(*first, commit(name, 2)) == {name: 2}
    assert tasks_of(*first, commit(name, 2), task(name, 0), commit(name, 1)) == {name: 1}
    assert tasks_of(*first, commit(name, 2), commit(name, 0)) == {name: 0}
    (connector,) = configured_connectors(first).values()
    assert connector.config == {"connector.class": "FileStreamSink", "name": name}


def test_a_deleted_connector_is_none_until_it_is_configured_again() -> None:
    written = [configured("sink"), task("sink", 0), commit("sink", 1)]
    deleted = [*written, ("connector-sink", None), ("target-state-sink", None)]
    assert tasks_of(*deleted) == {}
    assert tasks_of(*deleted, configured("sink")) == {"sink": 0}
    assert tasks_of(*deleted, *written) == {"sink": 1}


def test_a_commit_without_all_task_configurations_leaves_no_tasks() -> None:
    """Compaction has removed those of the commit, as newer ones were written, whose commit is missing yet."""
    assert tasks_of(configured("sink"), task("sink", 1), commit("sink", 2), task("sink", 0)) == {"sink": 0}


def test_other_records_are_skipped() -> None:
    others = [("target-state-sink", '{"state": "PAUSED"}'), ("session-key", '{"key": "x"}')]
    others += [("task-count-record-sink", "{}"), ("restart-connector-sink", "{}")]
    assert tasks_of(configured("sink"), *others) == {"sink": 0}


def test_a_value_that_connect_does_not_write_is_an_error() -> None:
    with pytest.raises(ValueError, match="record of 'commit-sink' is not what Connect writes"):
        configured_connectors([configured("sink"), ("commit-sink", '{"tasks": "two"}')])
