"""Reconcile a streams member's tasks with its target (``CurrentAssignmentBuilder``).

A member is first asked to revoke the tasks that are not in its target, and keeps its epoch until it has confirmed that.
Then it advances to the epoch of the target assignment and gets those of its tasks that are free; the rest follow as
their holders revoke them. An active task is free if nobody runs it and no member of the same process holds it; a
standby or warm-up task, if no member of the same process holds it in any role.

The tasks of a group are numbered in any order. What a member has of task t is a set of roles (``Role``).
"""

from enum import IntEnum, IntFlag
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.releases import StreamsGroupRules

Roles = NDArray[np.int8]
"""By task: the sum of roles."""


class Role(IntFlag):
    """The roles in which a member has a task; ELSEWHERE is for ``TargetOfMember.held`` only."""

    ACTIVE = 1
    STANDBY = 2
    WARMUP = 4
    ELSEWHERE = 8
    """Another process runs the task."""


class StreamsMemberState(IntEnum):
    """The state of a member (``MemberState``), with the numbers of its record."""

    STABLE = 1
    UNREVOKED_TASKS = 2
    UNRELEASED_TASKS = 3
    UNKNOWN = 127


class StreamsMember(NamedTuple):
    """What the coordinator knows of a member's current assignment."""

    state: int
    epoch: int
    previous_epoch: int
    assigned: Roles
    """By task: the roles in which the member has it."""
    epochs: Ints32
    """By task that the member runs, or ran and is to revoke: the epoch at which it got the task (since 4.2)."""
    pending: Roles
    """By task: the roles that the member has to revoke."""


class TargetOfMember(NamedTuple):
    """What a heartbeat compares a member with."""

    epoch: int
    """The epoch of the target assignment."""
    roles: Roles
    """By task: the roles of the member in the target assignment."""
    held: Roles
    """By task: the roles in which members of the same process hold it, this member among them, and ELSEWHERE. Tasks
    that are still to be revoked are held."""
    reports: bool
    """Whether the heartbeat has the tasks that the member owns."""
    owned: Roles
    """By task: the roles that it reports."""


_ACTIVE, _STANDBY, _WARMUP, _ELSEWHERE = (int(role) for role in Role)
_REPLICA = _STANDBY | _WARMUP
_STABLE, _UNREVOKED = int(StreamsMemberState.STABLE), int(StreamsMemberState.UNREVOKED_TASKS)
_UNRELEASED, _UNKNOWN = int(StreamsMemberState.UNRELEASED_TASKS), int(StreamsMemberState.UNKNOWN)
_ROLE_CHANGES = int(StreamsGroupRules.ROLE_CHANGES)


@kernel
def reconcile(member: StreamsMember, target: TargetOfMember, rules: int) -> tuple[StreamsMember, bool]:
    """Return the member after a heartbeat, and whether it is fenced (``build``)."""
    if member.state == _STABLE and member.epoch == target.epoch:
        return member, False
    if member.state == _UNREVOKED and _owns_any(target, member.pending):
        return member, False
    if member.state == _UNKNOWN:
        is_fenced = not target.reports or _any(target.owned)
        return (member, True) if is_fenced else (_next(member, target.epoch, target, rules), False)
    # Once a member has revoked its tasks, it may advance to a target that is not the one for which it did.
    return _next(member, member.epoch + (1 if member.state == _UNREVOKED else 0), target, rules), False


@inner_kernel
def _any(roles: Roles) -> bool:
    for of_task in roles:
        if of_task:
            return True
    return False


@inner_kernel
def _owns_any(target: TargetOfMember, roles: Roles) -> bool:
    """Return whether the member does not say what it owns, or still owns any of these tasks in these roles."""
    if not target.reports:
        return True
    for task in range(len(roles)):
        if target.owned[task] & roles[task]:
            return True
    return False


@kernel
def _next(member: StreamsMember, epoch: int, target: TargetOfMember, rules: int) -> StreamsMember:
    """Return the member one step closer to its target (``computeNextAssignment``)."""
    kept, revoked, granted = member.assigned & target.roles, member.assigned & ~target.roles, member.assigned.copy()
    has_unreleased = False
    for task in range(len(kept)):
        wanted = target.roles[task] & ~member.assigned[task]
        unreleased = _unreleased(member.assigned[task] if rules >= _ROLE_CHANGES else 0, target.held[task])
        has_unreleased = has_unreleased or wanted & unreleased != 0
        granted[task] = wanted & ~unreleased
        if rules >= _ROLE_CHANGES:
            _change_roles(member.assigned[task], target.roles[task], task, kept, revoked, granted)
    must_revoke = _any(revoked) and _owns_any(target, revoked)
    if rules >= _ROLE_CHANGES:
        for task in range(len(kept)):
            # A replica stays until the member runs the task.
            if target.roles[task] & _ACTIVE and (must_revoke or not granted[task] & _ACTIVE):
                kept[task] |= member.assigned[task] & _REPLICA
    if must_revoke:
        return StreamsMember(_UNREVOKED, epoch, member.epoch, kept, member.epochs, revoked)
    epochs = member.epochs.copy()
    for task in range(len(kept)):
        if granted[task] & _ACTIVE:
            epochs[task] = target.epoch
        kept[task] |= granted[task]
    state = _UNRELEASED if has_unreleased else _STABLE
    return StreamsMember(state, target.epoch, member.epoch, kept, epochs, np.zeros(len(kept), np.int8))


@inner_kernel
def _unreleased(own: int, held: int) -> int:
    """Return the roles in which the member cannot get a task yet.

    ``own`` are its own roles that do not stand in the way: none before 4.4. Even since then it gets a warm-up task only
    once it no longer runs the task.
    """
    others = held & ~own
    roles = 0
    if held & (_ACTIVE | _ELSEWHERE) or others & _REPLICA:
        roles |= _ACTIVE
    if others & (_ACTIVE | _WARMUP) or held & _STANDBY:
        roles |= _STANDBY
    if held & (_ACTIVE | _WARMUP) or others & _STANDBY:
        roles |= _WARMUP
    return roles


@inner_kernel
def _change_roles(assigned: int, target: int, task: int, kept: Roles, revoked: Roles, granted: Roles) -> None:
    """Let a member change its role at once where it has the task in another one.

    An active task becomes a standby task, and standby and warm-up tasks each other; a replica that is to become active
    is not revoked.
    """
    if assigned & _ACTIVE and granted[task] & _STANDBY:
        granted[task] &= ~_STANDBY
        kept[task] |= _STANDBY
    if assigned & _STANDBY and granted[task] & _WARMUP:
        granted[task] &= ~_WARMUP
        kept[task] |= _WARMUP
        revoked[task] &= ~_STANDBY
    if assigned & _WARMUP and granted[task] & _STANDBY:
        granted[task] &= ~_STANDBY
        kept[task] |= _STANDBY
        revoked[task] &= ~_WARMUP
    if target & _ACTIVE:
        revoked[task] &= ~_REPLICA
