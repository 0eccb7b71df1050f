"""The figures of tables that can have a limit. Nothing here imports Spark or Arrow: ``check --help`` lists them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any


@dataclass(frozen=True)
class Check:
    """A figure of the rows of some tables that can have a limit."""

    name: str
    description: str
    tables: tuple[str, ...]
    columns: tuple[str, ...]
    figure: Callable[..., Any]
    """Returns the figures of rows from the Arrow arrays of ``columns``; null for a row that does not count."""
    adds_up: bool = False
    """Whether a table's figures are summed; otherwise the largest counts."""


def _itself(values: Any) -> Any:
    return values


def _is_given(values: Any) -> Any:
    return values.is_valid()


def _difference(most: Any, fewest: Any) -> Any:
    from pyarrow import compute  # noqa: PLC0415 (help does not need it)

    return compute.subtract(most, fewest)


def _is_unstable(stable: Any, failed: Any, finished: Any) -> Any:
    from pyarrow import compute  # noqa: PLC0415 (likewise)

    ended_well = compute.and_kleene(stable, finished)
    return compute.or_kleene(compute.invert(ended_well), compute.greater(failed, 0))


def _is(value: str, values: Any) -> Any:
    from pyarrow import compute  # noqa: PLC0415 (likewise)

    return compute.equal(values, value)


CHECKS = (
    Check("rejects", "rejected rows", ("rejects",), ("table",), _is_given, adds_up=True),
    Check(
        "errors",
        "groups with an error instead of a result",
        ("elections", "balance", "costs"),
        ("error",),
        _is_given,
        adds_up=True,
    ),
    Check("ties", "groups whose election is a tie", ("elections",), ("tie",), _itself, adds_up=True),
    Check("imbalance", "most minus fewest partitions per member of a group", ("balance",), ("max", "min"), _difference),
    Check("idle-members", "members of a group without a partition", ("balance",), ("idle_members",), _itself),
    Check(
        "unstable",
        "groups whose rollout fails or that are not stable when the simulation ends",
        ("costs",),
        ("stable", "failed", "finished"),
        _is_unstable,
        adds_up=True,
    ),
    Check("unowned-ms", "partition-milliseconds without an owner, of a group", ("costs",), ("unowned_ms",), _itself),
    Check(
        "partition-load",
        "load of a partition, as a multiple of its topic's mean",
        ("partition_load",),
        ("imbalance",),
        _itself,
    ),
)

FINDINGS = "findings"
"""A limit for each severity, rather than one."""
FINDING_CHECKS = {
    severity: Check(
        f"{FINDINGS} {severity}",
        f"findings of severity {severity}",
        (FINDINGS,),
        ("severity",),
        partial(_is, severity),
        adds_up=True,
    )
    for severity in ("error", "warning", "note")
}
"""By severity of an audit's findings."""
