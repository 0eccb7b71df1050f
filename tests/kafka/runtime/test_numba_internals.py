"""What ``numba_internals.py`` relies on. ``make test`` runs this file first: if it fails, numba has changed.

Then bound numba in pyproject.toml to the versions before, or adapt ``numba_internals.py``. Until then
``REBALANCE_SIM_PLAIN_NUMBA=1`` does without the internals.
"""

import inspect
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core import types
from numba.core.base import BaseContext
from numba.core.caching import CacheImpl, CompileResultCacheImpl, FunctionCache
from numba.core.codegen import CPUCodegen, JITCodeLibrary
from numba.core.compiler import DefaultPassBuilder
from numba.core.dispatcher import Dispatcher
from numba.core.errors import TypingError
from numba.core.ir import Expr, Loc, Scope
from numba.core.runtime import _nrt_python, nrtdynmod, rtsys
from numba.core.runtime.context import NRTContext
from numba.core.utils import order_by_target_specificity
from numba.np.arrayobj import raise_with_shape_context
from packaging.requirements import Requirement

from rebalance_sim.kafka.runtime import numba_internals
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.records import Records, new_records, record_type, reference, rows
from tests.kafka.runtime.test_kernel import ROOT, Member, compiled_code
from tests.support.examples import COMPILED

__all__ = ["compiled_code"]
compiled = pytest.mark.skipif(not COMPILED, reason="kernels run as plain Python")
SIGNATURES = {
    CacheImpl.__init__: ["self", "py_func"],
    FunctionCache.__init__: ["self", "py_func"],
    FunctionCache.load_overload: ["self", "sig", "target_context"],
    FunctionCache._index_key: ["self", "sig", "codegen"],
    FunctionCache.save_overload: ["self", "sig", "data"],
    JITCodeLibrary.__init__: ["self", "codegen", "name"],
    JITCodeLibrary.enable_object_caching: ["self"],
    JITCodeLibrary.finalize: ["self"],
    JITCodeLibrary._optimize_final_module: ["self"],
    JITCodeLibrary._optimize_functions: ["self", "ll_module"],
    CPUCodegen._function_pass_manager: ["self", "kwargs"],
    BaseContext.get_abi_sizeof: ["self", "ty"],
    JITCodeLibrary.get_pointer_to_function: ["self", "name"],
    JITCodeLibrary.serialize_using_object_code: ["self"],
    JITCodeLibrary._get_module_for_linking: ["self"],
    JITCodeLibrary._get_compiled_object: ["self"],
    DefaultPassBuilder.define_nopython_pipeline: ["state", "name"],
    Dispatcher.get_call_template: ["self", "args", "kws"],
    Dispatcher.compile: ["self", "sig"],
    nrtdynmod._define_nrt_incref: ["module", "atomic_incr"],
    nrtdynmod._define_nrt_decref: ["module", "atomic_decr"],
    NRTContext._call_incref_decref: ["self", "builder", "typ", "value", "funcname"],
    numba_internals._usual_post_process: ["self", "emit_dels", "extend_lifetimes"],
    numba_internals._usual_call_type: ["self", "context", "args", "kws"],
    order_by_target_specificity: ["target", "templates", "fnkey"],
    raise_with_shape_context: ["src_shapes", "index_shape"],
    types.Record.__init__: ["self", "fields", "size", "aligned"],
}


class _Inner(NamedTuple):
    members: Records[Member]
    number: int


class _Outer(NamedTuple):
    inner: _Inner
    number: int


def test_the_installed_numba_is_a_version_that_the_package_requires() -> None:
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    required = {Requirement(line).name: Requirement(line).specifier for line in dependencies}["numba"]
    assert numba.__version__ in required
    assert any(bound.operator == "<" for bound in required)


@pytest.mark.parametrize("method", SIGNATURES, ids=lambda method: method.__qualname__)
def test_the_methods_that_are_called_or_overridden_have_the_same_parameters(method: Any) -> None:
    assert list(inspect.signature(method).parameters) == SIGNATURES[method]


def test_the_variables_of_an_instruction_are_those_in_its_lists_and_tuples_too() -> None:
    place = Loc("here", 1)
    scope = Scope(None, place)
    called, first, named = (scope.define(name, place) for name in ("called", "first", "named"))
    assert Expr.call(called, [first], (("name", named),), place).list_vars() == [called, first, named]


def test_the_cache_takes_its_locators_and_its_implementation_from_these_attributes() -> None:
    assert CompileResultCacheImpl._locator_classes
    assert FunctionCache._impl_class is CompileResultCacheImpl
    locator = {name for name in dir(CompileResultCacheImpl._locator_classes[0]) if name.startswith(("get_", "ensure"))}
    assert {name for name in dir(numba_internals._Locator) if name.startswith(("get_", "ensure"))} >= locator - {
        "get_disambiguator",
        "get_suitable_cache_subpath",
    }
    # What _CacheImpl sets instead of numba's constructor.
    assert {"locator", "filename_base"} <= {name for name, _ in inspect.getmembers(CompileResultCacheImpl)}


@compiled
def test_a_called_kernel_is_linked_into_its_caller_and_optimized_only_there(compiled_code: Path) -> None:
    @kernel
    def double(number: int) -> int:
        return 2 * number

    @kernel
    def quadruples(numbers: Any) -> Any:
        return [double(double(number)) for number in numbers] + [double(1)]

    assert quadruples(np.array([3], np.int32)) == [12, 2]
    linked = double.linked  # type: ignore[attr-defined]
    # One compilation: numbers of 32 bits, of 64 bits and constants share it.
    assert linked.signatures == [(types.int64,)]
    library = linked.overloads[(types.int64,)].library
    assert type(library) is numba_internals._LinkedLibrary
    assert double.compiled.signatures == []  # type: ignore[attr-defined]


@compiled
@pytest.mark.usefixtures("compiled_code")
def test_each_function_below_a_kernel_is_linked_once_and_has_no_copies_of_those_that_it_calls() -> None:
    @kernel
    def one(number: int) -> int:
        return number + 1

    @kernel
    def two(number: int) -> int:
        return one(one(number))

    @kernel
    def four(numbers: Any) -> int:
        return two(two(numbers[0])) + one(numbers[0])

    assert four(np.array([3])) == 11
    (code,) = two.linked.overloads.values()  # type: ignore[attr-defined]
    assert [function.name for function in code.library._final_module.functions if not function.is_declaration] == [
        code.fndesc.mangled_name
    ]


@compiled
@pytest.mark.usefixtures("compiled_code")
def test_a_kernel_counts_references_without_atomic_instructions_and_frees_its_arrays() -> None:
    @kernel
    def longest(count: int) -> Any:
        kept = [np.zeros(number) for number in range(count)]
        return kept[-1]

    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    assert len(longest(100)) == 99
    after = rtsys.get_allocation_stats()
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free > 100
    (code,) = longest.compiled.inspect_llvm().values()  # type: ignore[attr-defined]
    assert re.search(r"define internal void @NRT_incref\(.*\) ", code)
    assert re.search(r"define internal void @NRT_decref\(.*\) ", code)
    assert "atomicrmw" not in code


@compiled
@pytest.mark.usefixtures("compiled_code")
def test_an_array_that_does_not_fit_a_slice_is_refused() -> None:
    @kernel
    def fill(numbers: Any, others: Any) -> None:
        numbers[1:] = others

    numbers = np.zeros(3)
    fill(numbers, np.ones(2))
    assert numbers.tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="cannot assign an array to a slice of another size"):
        fill(numbers, np.ones(3))


@compiled
@pytest.mark.usefixtures("compiled_code")
def test_an_inner_kernel_that_creates_an_array_is_refused() -> None:
    @inner_kernel
    def length(count: int) -> int:
        return len(np.zeros(count))

    with pytest.raises(TypingError, match="Only accept returning of array passed into the function"):
        length(3)


def test_rows_are_one_address_and_their_type_has_a_short_name() -> None:
    array = new_records(Member, 2)
    of = numba.typeof(rows(array))
    assert type(of) is numba_internals._RowsType
    assert re.fullmatch("Record[0-9a-f]{8}", str(of.element))
    assert of.element.size == record_type(Member).itemsize
    assert numba.typeof(array[0]) == of.element


@compiled
@pytest.mark.usefixtures("compiled_code")
def test_a_kernel_passes_a_reference_to_a_tuple_and_to_the_tuples_in_it_as_an_address() -> None:
    @inner_kernel
    def age(inner: _Inner) -> int:
        member = inner.members[1]
        member.epoch += 1
        return member.epoch + inner.number

    @inner_kernel
    def both(outer: _Outer) -> int:
        return age(outer.inner) + outer.number

    @kernel
    def total(members: Any) -> int:
        found = 0
        for number in range(3):
            found += both(reference(_Outer(_Inner(rows(members), 10 * number), number)))
        return found

    assert total(new_records(Member, 2)) == 1 + 2 + 3 + 11 * (0 + 1 + 2)
    (passed,) = both.linked.signatures[0]  # type: ignore[attr-defined]
    assert re.fullmatch("Reference[0-9a-f]{8}", str(passed))
    assert age.linked.signatures == [(numba_internals._ReferenceType(passed.of[0]),)]  # type: ignore[attr-defined]


@compiled
def test_kernels_do_the_same_with_documented_options_only() -> None:
    again = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/kafka/runtime/test_kernel.py"]
    plain = os.environ | {"REBALANCE_SIM_PLAIN_NUMBA": "1"}
    done = subprocess.run(again, cwd=ROOT, env=plain, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_numba_without_these_internals_is_reported_with_the_way_out() -> None:
    script = (
        "import numba.core.codegen; del numba.core.codegen.JITCodeLibrary\n"
        "from rebalance_sim.kafka.runtime.hash_order import java_table_size; java_table_size(3)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert f"ImportError: numba {numba.__version__} lacks internals" in done.stderr
    assert "REBALANCE_SIM_PLAIN_NUMBA=1" in done.stderr
