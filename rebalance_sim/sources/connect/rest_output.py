"""Read the saved output of Connect's REST API: ``GET /connectors?expand=info&expand=status``.

It names workers by the address of their REST server, and does not have their member ids.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from rebalance_sim.errors import UserError
from rebalance_sim.kafka.connect.mirror_connectors import SETTINGS

_EXPECTED = "the output of GET /connectors?expand=info&expand=status"
_UNASSIGNED = "UNASSIGNED"
Rows = list[dict[str, Any]]


class _Place(msgspec.Struct):
    """Where a connector or a task runs; a task has an id."""

    worker_id: str
    state: str = ""
    id: int | None = None


class _Status(msgspec.Struct):
    connector: _Place
    tasks: list[_Place]


class _Info(msgspec.Struct):
    tasks: list[Any]
    config: dict[str, str | None] = {}


class _Expanded(msgspec.Struct):
    info: _Info
    status: _Status


def read_rest_output(path: str, cluster: str, group_id: str) -> tuple[Rows, Rows]:
    """Return rows of workers and of connectors. Raises UserError for a file that is something else.

    A task that is UNASSIGNED runs nowhere, although it names the worker that ran it last. Configurations may have
    passwords: the rows have only the settings that are used.
    """
    try:
        connectors = msgspec.json.decode(Path(path).read_bytes(), type=dict[str, _Expanded])
    except OSError as problem:
        raise UserError(f"--rest-output: cannot read {path!r}: {problem.strerror}") from problem
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise UserError(f"--rest-output: {path!r} is not {_EXPECTED}: {problem}") from problem
    keys = {"cluster": cluster, "group_id": group_id}
    configured = [
        keys | {"connector": name, "tasks": len(of.info.tasks), "config": used_settings(of.info.config)}
        for name, of in sorted(connectors.items())
    ]
    workers = [keys | worker for worker in _workers(connectors)]
    return workers, configured


def used_settings(config: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """Return the settings of a connector that predictions need, without passwords."""
    return [(name, value) for name in SETTINGS if (value := config.get(name)) is not None]


def _workers(connectors: Mapping[str, _Expanded]) -> Rows:
    workers: dict[str, dict[str, Any]] = {}
    for name, expanded in sorted(connectors.items()):
        status = expanded.status
        for place in (status.connector, *status.tasks):
            worker = workers.setdefault(
                place.worker_id,
                {"member_id": place.worker_id, "worker": place.worker_id, "connectors": [], "tasks": []},
            )
            if place.state == _UNASSIGNED:
                continue
            if place.id is None:
                worker["connectors"].append(name)
            else:
                worker["tasks"].append({"connector": name, "task": place.id})
    return list(workers.values())
