"""Findings about the balance of partitions and of lag."""

from collections.abc import Iterator, Mapping
from typing import Any

from rebalance_sim.engine.audit.changes import how_to_roll_out
from rebalance_sim.engine.audit.finding import Finding, Kind, Severity, filled
from rebalance_sim.engine.audit.group import Group, Row
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.kafka.migration import Verdict
from rebalance_sim.releases import SERVER_ASSIGNORS

IDLE = Kind(
    "idle-members",
    Severity.WARNING,
    "{idle_members:member is|members are} idle under {strategy}, {idle_after} under {better}",
    "Use {better}{how}.",
)
TOO_MANY_MEMBERS = Kind(
    "more-members-than-partitions",
    Severity.NOTE,
    "{members:member}, {partitions:partition}: {idle_members:member is|members are} idle under any assignor",
    "",
)
IMBALANCE = Kind(
    "imbalance",
    Severity.WARNING,
    "{min} to {max:partition} per member under {strategy}, at most {max_after} under {better}",
    "Use {better}{how}.{moves}",
)
LAG = Kind(
    "lag-on-one-member",
    Severity.WARNING,
    "one member has {max_lag} of {lag:record} of lag under {strategy}, at most {max_lag_after} under {better}",
    "Use {better}{how}.",
)
LAG_IN_PARTITION = Kind(
    "lag-in-one-partition",
    Severity.NOTE,
    "one partition has {max_partition_lag} of {lag:record} of lag: no assignor divides it",
    "Look for a hot key, or speed up the consumer of this partition.",
)
KINDS = (IDLE, TOO_MANY_MEMBERS, IMBALANCE, LAG, LAG_IN_PARTITION)
_MOVES = " {moved_after:partition moves|partitions move} once."
_JAVAS = ("range", "roundrobin", "sticky", "cooperative-sticky")


def findings(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about the balance of a group."""
    today, best = group.balance, group.optimum
    if today is None or best is None:
        return
    if best["idle_members"]:
        figures = {name: today[name] for name in ("members", "partitions")}
        yield Finding(TOO_MANY_MEMBERS, figures | {"idle_members": best["idle_members"]})
    yield from _idle(group, today)
    yield from _imbalance(group, today, thresholds)
    yield from _lag(group, thresholds)


def _idle(group: Group, today: Row) -> Iterator[Finding]:
    better = _best(group, "idle_members")
    if better is None or group.strategies[better]["idle_members"] >= today["idle_members"]:
        return
    after = group.strategies[better]
    saving = {"idle_members_saved": today["idle_members"] - after["idle_members"]}
    figures = {name: today[name] for name in ("members", "partitions", "idle_members")}
    yield _change(IDLE, group, better, figures | {"idle_after": after["idle_members"]}, saving)


def _imbalance(group: Group, today: Row, thresholds: Thresholds) -> Iterator[Finding]:
    better = _best(group, "max")
    if better is None or today["max"] - group.strategies[better]["max"] < thresholds.imbalance_partitions:
        return
    after = group.strategies[better]
    figures = {name: today[name] for name in ("members", "partitions", "min", "max")}
    figures |= {"max_after": after["max"], "moved_after": after["moved"]}
    yield _change(IMBALANCE, group, better, figures, {"max_saved": today["max"] - after["max"]})


def _lag(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    lag = group.lag
    today = lag.get(group.strategy or "")
    if today is None or not today["lag"] or not today["max_lag"]:
        return
    figures = {name: today[name] for name in ("members", "lag", "max_lag", "max_partition_lag", "excess_lag")}
    least = max(thresholds.lag_share * today["lag"], thresholds.lag_records)
    if today["max_partition_lag"] >= least:
        yield Finding(LAG_IN_PARTITION, figures)
    candidates = [name for name in _usable(group) if name in lag and lag[name]["max_lag"] is not None]
    better = min(candidates, key=lambda name: (lag[name]["max_lag"], name), default=None)
    if better is None or today["max_lag"] < least:
        return
    saved = today["max_lag"] - lag[better]["max_lag"]
    if saved >= thresholds.lag_records:
        after = {"max_lag_after": lag[better]["max_lag"]}
        yield _change(LAG, group, better, figures | after, {"max_lag_saved": saved})


def _change(kind: Kind, group: Group, better: str, figures: Mapping[str, Any], saving: Mapping[str, Any]) -> Finding:
    """Return a finding that recommends another assignor."""
    moves = filled(_MOVES, figures) if figures.get("moved_after") else ""
    names = {"strategy": str(group.strategy), "better": better, "how": how_to_roll_out(group, better), "moves": moves}
    return Finding(kind, figures, names, _settings(better), saving)


def _settings(assignor: str) -> dict[str, str]:
    if assignor in SERVER_ASSIGNORS:
        return {"group.protocol": "consumer", "group.remote.assignor": assignor.removeprefix("server-")}
    return {"partition.assignment.strategy": assignor}


def _best(group: Group, figure: str) -> str | None:
    """Return the assignor with the smallest figure, then with the fewest moves; None if the group has no choice."""
    rows = group.strategies
    return min(_usable(group), key=lambda name: (rows[name][figure], rows[name]["moved"], name), default=None)


def _usable(group: Group) -> list[str]:
    """Return the assignors that the group could use: those of all its libraries, or of the coordinator.

    What is predicted are Java's assignors and the coordinator's; those of other libraries assign differently.
    """
    clients = [name for name in _JAVAS if name in group.strategies and group.all_have(name)]
    servers = [name for name in SERVER_ASSIGNORS if name in group.strategies]
    match group.migration.verdict:
        case Verdict.DONE:
            return servers
        case Verdict.ONLINE if not group.migration.outdated:
            return [*clients, *servers]
    return clients
