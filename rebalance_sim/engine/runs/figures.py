"""The figures of tables that can have a limit. Nothing here imports Spark, because ``check --help`` lists them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """A figure of the rows of some tables that can have a limit."""

    name: str
    description: str
    tables: tuple[str, ...]
    figure: str
    """SQL expression for a row; null if the row does not count."""
    adds_up: bool = False
    """Whether a table's figures are summed; otherwise the largest counts."""


_ERROR = "int(error IS NOT NULL)"
_WITH_ERROR = ("elections", "balance", "costs")

CHECKS = (
    Check("rejects", "rejected rows", ("rejects",), "1", adds_up=True),
    Check("errors", "groups with an error instead of a result", _WITH_ERROR, _ERROR, adds_up=True),
    Check("ties", "groups whose election is a tie", ("elections",), "int(tie)", adds_up=True),
    Check("imbalance", "most minus fewest partitions per member of a group", ("balance",), "max - min"),
    Check("idle-members", "members of a group without a partition", ("balance",), "idle_members"),
    Check(
        "unstable",
        "groups whose rollout fails or that are not stable when the simulation ends",
        ("costs",),
        "int(NOT stable OR failed > 0 OR NOT finished)",
        adds_up=True,
    ),
    Check("unowned-ms", "partition-milliseconds without an owner, of a group", ("costs",), "unowned_ms"),
    Check("partition-load", "load of a partition, as a multiple of its topic's mean", ("partition_load",), "imbalance"),
)

FINDINGS = "findings"
"""A limit for each severity, rather than one."""
FINDING_CHECKS = {
    severity: Check(
        f"{FINDINGS} {severity}",
        f"findings of severity {severity}",
        (FINDINGS,),
        f"int(severity = '{severity}')",
        adds_up=True,
    )
    for severity in ("error", "warning", "note")
}
"""By severity of an audit's findings."""
