"""Small kernels of each kind: compiled with numba's internals, with its documented options only, and as plain Python.

`test_numba_internals.py` runs this file again with ``REBALANCE_SIM_PLAIN_NUMBA=1``.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

import numba
import numpy as np
import pytest

from rebalance_sim.kafka.runtime.kernel import PLAIN_NUMBA, inner_kernel, kernel, kernel_in_place, kernel_written_out
from rebalance_sim.kafka.runtime.records import Records, new_records, record_type, reference, rows
from tests.support.examples import COMPILED

ROOT = Path(__file__).parents[3]
Kernel = Callable[..., Any]


class Member:
    epoch: int
    has_left: bool


class Group(NamedTuple):
    members: Records[Member]
    owners: Records[int]


class Kernels(NamedTuple):
    total_epoch: Kernel
    leave: Kernel
    copy_first: Kernel


def make_kernels() -> Kernels:
    """Return new kernels, each calling others."""

    @kernel_in_place
    def is_active(members: Records[Member], index: int) -> bool:
        return not members[index].has_left

    @inner_kernel
    def epoch(group: Group, index: int) -> int:
        return group.members[index].epoch if is_active(group.members, index) else 0

    @kernel_written_out
    def view(members: Any, owners: Any) -> Group:
        return Group(rows(members), rows(owners))

    @kernel
    def total_epoch(members: Any, owners: Any) -> int:
        group = view(members, owners)
        total = epoch(group, 0)
        for index in owners[1:]:
            total += epoch(group, index)
        return total

    @kernel
    def leave(group: Group, index: int) -> None:
        group.members[index].has_left = True
        group.owners[index] = -1

    @kernel
    def copy_first(group: Group) -> None:
        group.members[1] = group.members[0]

    return Kernels(total_epoch, leave, copy_first)


@pytest.fixture
def compiled_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the compiled code of a test in its own folder, so that every test compiles."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    for module in () if PLAIN_NUMBA else ("kernel", "numba_internals", "compiled_code"):
        monkeypatch.setattr(f"rebalance_sim.kafka.runtime.{module}.cache_folder", lambda: tmp_path)
    return tmp_path


def three_members() -> Records[Any]:
    members = new_records(Member, 3)
    for index in range(3):
        members[index].epoch = 5 + index
    return members


@pytest.mark.usefixtures("compiled_code")
@pytest.mark.parametrize("number", [np.int32, np.int64])
def test_kernels_read_and_write_records(number: type[np.signedinteger[Any]]) -> None:
    kernels, members, owners = make_kernels(), three_members(), np.arange(3, dtype=number)
    group = Group(rows(members), rows(owners))
    assert kernels.total_epoch(members, owners) == 5 + 6 + 7

    kernels.leave(group, 2)
    assert (members[2].has_left, owners.tolist()) == (True, [0, 1, -1])

    members[0].epoch = 1 << 40
    kernels.copy_first(group)
    assert (members[1].epoch, bool(members[1].has_left)) == (1 << 40, False)


@pytest.mark.usefixtures("compiled_code")
def test_rows_of_a_slice_begin_with_its_first_record() -> None:
    kernels, members, owners = make_kernels(), three_members(), np.arange(3)
    kernels.leave(Group(rows(members[1:]), rows(owners[1:])), 0)
    assert [bool(member.has_left) for member in members] == [False, True, False]
    assert owners.tolist() == [0, -1, 2]


@pytest.mark.usefixtures("compiled_code")
def test_what_a_reference_to_a_tuple_leads_to_can_be_read_and_written() -> None:
    @kernel
    def grow_older(group: Group) -> None:
        group.members[group.owners[1]].epoch += 1

    @kernel
    def grow_all(members: Any, owners: Any) -> None:
        for _ in range(3):
            grow_older(reference(Group(rows(members), rows(owners))))

    members = three_members()
    grow_all(members, np.array([0, 2]))
    assert [int(member.epoch) for member in members] == [5, 6, 10]


@pytest.mark.skipif(not COMPILED, reason="plain Python is not kept")
def test_compiled_code_is_kept_for_the_next_process(compiled_code: Path) -> None:
    first, second = make_kernels(), make_kernels()
    for kernels in (first, second):
        kernels.leave(Group(rows(three_members()), rows(np.arange(3))), 2)
    assert len(list(compiled_code.rglob("*leave*.nbc"))) == 1
    compiled = [getattr(kernels.leave, "compiled", kernels.leave) for kernels in (first, second)]
    assert [len(cast(Any, called).stats.cache_hits) for called in compiled] == [0, 1]


def test_a_record_has_the_fields_of_its_class_in_order() -> None:
    assert record_type(Member).fields == np.dtype([("epoch", np.int64), ("has_left", np.bool_)], align=True).fields
