"""Random heartbeats of members of streams groups: what they have, what they are to have, and who holds their tasks."""

import random

from tests.oracle.random_cases import JsonObject, drawn

KINDS = ("active", "standby", "warmup")
SUBTOPOLOGIES, PARTITIONS = ("0", "1"), 3
_STATES = (1, 2, 2, 3, 3, 127)
_PROCESSES = ("p", "q")
"""The member's own process, and another one."""


@drawn("h")
def reconciliation_cases(rng: random.Random, case_id: str) -> JsonObject:
    """A heartbeat, from plausible ones to tasks in all roles at once."""
    density, epoch = rng.choice((0.1, 0.3, 0.6)), rng.randint(1, 6)
    assigned, pending = _current(rng, density), _current(rng, rng.choice((0.0, density)))
    for kind in KINDS:
        # What a member is to give up in a role, it no longer has assigned in that role.
        for s, listed in pending[kind].items():
            had = assigned[kind].pop(s, ())
            assigned[kind][s] = (
                {p: epoch for p, epoch in had.items() if p not in listed}
                if isinstance(had, dict)
                else [p for p in had if p not in listed]
            )
        assigned[kind] = {s: listed for s, listed in assigned[kind].items() if listed}
    # A target that is reached, one that is close, or any.
    near = rng.choice((0.0, 0.2, 1.0))
    target = {kind: _near(rng, assigned[kind], near, density) for kind in KINDS}
    owned = None
    if rng.random() < 0.8:
        missing = rng.choice((0.0, 0.0, 0.3, 1.0))
        owned = {kind: _owned(rng, assigned[kind], pending[kind], missing) for kind in KINDS}
    heartbeat = {
        "state": rng.choice(_STATES),
        "epoch": epoch,
        "previous_epoch": rng.randint(0, epoch),
        "assigned": assigned,
        "pending": pending,
        "target_epoch": epoch + rng.choice((0, 1, 1, 3)),
        "target": target,
        "holders": _holders(rng, assigned, pending, rng.choice((0.0, 0.2, 0.6))),
        "owned": owned,
    }
    return {"rule": "streams-reconciliation", "id": case_id, "config": heartbeat}


def _current(rng: random.Random, density: float) -> JsonObject:
    tasks: JsonObject = {kind: _some(rng, density) for kind in KINDS}
    tasks["active"] = {s: {str(p): rng.randint(1, 6) for p in listed} for s, listed in tasks["active"].items()}
    return tasks


def _some(rng: random.Random, density: float) -> dict[str, list[int]]:
    drawn = {s: [p for p in range(PARTITIONS) if rng.random() < density] for s in SUBTOPOLOGIES}
    return {s: listed for s, listed in drawn.items() if listed}


def _near(rng: random.Random, listed: JsonObject, changed: float, density: float) -> dict[str, list[int]]:
    had = {(s, int(p)) for s, partitions in listed.items() for p in partitions}
    drawn = {
        s: [p for p in range(PARTITIONS) if (rng.random() < density if rng.random() < changed else (s, p) in had)]
        for s in SUBTOPOLOGIES
    }
    return {s: partitions for s, partitions in drawn.items() if partitions}


def _owned(rng: random.Random, assigned: JsonObject, pending: JsonObject, missing: float) -> dict[str, list[int]]:
    """Return what a member reports: some of the tasks that it has, or is to give up."""
    had = {s: {int(p) for tasks in (assigned, pending) for p in tasks.get(s, ())} for s in SUBTOPOLOGIES}
    kept = {s: [p for p in sorted(partitions) if rng.random() >= missing] for s, partitions in had.items()}
    return {s: partitions for s, partitions in kept.items() if partitions}


def _holders(rng: random.Random, assigned: JsonObject, pending: JsonObject, others: float) -> JsonObject:
    """Return who holds what: this member, and others of the same or of another process."""
    holders: JsonObject = {kind: {} for kind in KINDS}
    for s in SUBTOPOLOGIES:
        for p in range(PARTITIONS):
            for kind in KINDS:
                own = any(p in map(int, tasks[kind].get(s, ())) for tasks in (assigned, pending))
                held = {"p"} if own else set()
                held |= {process for process in _PROCESSES if rng.random() < others}
                if kind == "active" and held:
                    holders[kind].setdefault(s, {})[str(p)] = "p" if own else rng.choice(sorted(held))
                elif held:
                    holders[kind].setdefault(s, {})[str(p)] = sorted(held)
    return holders
