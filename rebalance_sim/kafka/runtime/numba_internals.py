"""All uses of numba's internals, which may change with any release: numba's version is bounded in pyproject.toml.

``kernel.py`` describes the switch that does without this module; ``tests/kafka/runtime/test_numba_internals.py`` checks
what the module relies on. It changes six things about ``numba.njit``:

- Compiled code is kept by what a rule is made of, where a copy of the package on another machine finds it.
- A kernel that another kernel calls is linked into its caller and optimized only there.
- Kernels count references to arrays without atomic instructions.
- Arrays that may not be written have the type of those that may.
- ``Rows`` and the tuples of ``reference`` are passed as an address, and the names of record types are short.
- Compiling does less: functions get few passes before they are linked, sizes of types, defaults of options and the
  templates that fit calls are kept, references are counted without reading shapes, nothing listens to events, Python
  rarely looks for garbage, and the error of an array that does not fit a slice has no figures.
"""

import gc
import operator
import platform
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, datamodel, errors, event, transforms, utils
from numba.core import ir as numba_ir
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.registry import cpu_target
from numba.core.runtime import nrtdynmod
from numba.core.runtime.context import NRTContext
from numba.core.target_extension import get_local_target
from numba.core.targetconfig import TargetConfig
from numba.core.types.functions import BaseFunction, _unlit_non_poison  # type: ignore[attr-defined]
from numba.core.types.misc import unliteral
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature
from numba.core.typing.typeof import _typeof_ndarray
from numba.extending import NativeValue, lower_builtin, models, overload, register_model, typeof_impl, unbox
from numba.np import arrayobj, numpy_support

from rebalance_sim.kafka.runtime.compiled_code import cache_folder, compiling
from rebalance_sim.kafka.runtime.kernel import ENTRY, IN_PLACE, INNER, WRITTEN_OUT, NotKept, Rule
from rebalance_sim.kafka.runtime.records import Rows, reference, rows

_BYTE_POINTER = ir.IntType(8).as_pointer()

# ---- Which processors compiled code runs on

# Those of the last fifteen years, so that one cache serves all executors of a cluster and travels with the package. The
# rules hardly gain from newer instructions (docs/clusters.md).
_PORTABLE = {"x86_64": "x86-64-v2"}

if numba.config.CPU_NAME is None and numba.config.CPU_FEATURES is None:
    numba.config.CPU_NAME = _PORTABLE.get(platform.machine(), "generic")
    numba.config.CPU_FEATURES = ""

# ---- Where compiled code is kept


class _Locator:
    """Locates compiled code by the name and key of the rule.

    numba's own locators use the absolute path: executors would not find the code in the archive that they unpack.
    """

    def __init__(self, rule: Rule[..., Any]) -> None:
        self._key = rule.key

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def ensure_cache_path(self) -> None:
        cache_folder().mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        # numba's own stamp is the time and size of the file, which differ between copies.
        return self._key


class _CacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    def __init__(self, rule: Rule[..., Any]) -> None:
        # Instead of numba's: a docstring that moves a rule to another line must not compile it again.
        self._locator = _Locator(rule)
        self._filename_base = f"{rule.file_name}.py{sys.version_info[0]}{sys.version_info[1]}"


class _Cache(FunctionCache):  # type: ignore[misc]
    _impl_class = _CacheImpl

    def __init__(self, rule: Rule[..., Any]) -> None:
        self._rule = rule.full_name
        self.compiles = False
        self.waiting = ExitStack()
        super().__init__(rule)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load compiled code. If none is kept, it is about to be compiled, unless another process compiles it now."""
        kept = super().load_overload(sig, target_context)
        if kept is not None:
            return kept
        if not self.compiles:
            raise NotKept
        self.waiting.enter_context(compiling(self._rule))
        kept = super().load_overload(sig, target_context)
        if kept is None:
            self.waiting.enter_context(_rarely_looking_for_garbage())
            self.waiting.enter_context(_linking_helpers(target_context.codegen()))
        return kept

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save compiled code; a folder that cannot be written, or a full disk, must not fail the run."""
        with suppress(OSError):
            super().save_overload(sig, data)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        # The name of the file has the rest.
        return sig, codegen.magic_tuple()


def get_ready() -> None:
    """Do what numba does before it loads or compiles the first function, which takes a second."""
    with global_compiler_lock:
        cpu_target.target_context.refresh()


def entry(rule: Rule[..., Any]) -> Any:
    """Return a rule that Python calls compiled, which keeps its code."""
    options: dict[str, Any] = {"no_cfunc_wrapper": True, **_OPTIONS[rule.kind]}
    called = numba.njit(nogil=True, pipeline_class=KernelCompiler, **options)(rule.py_func)
    kept = called._cache = _Cache(rule)
    compile_or_load = called.compile

    def compile_with_lock(sig: Any) -> Any:
        with kept.waiting:
            return compile_or_load(sig)

    called.compile = compile_with_lock
    return called


@contextmanager
def compiling_what_is_not_kept(called: Any) -> Iterator[None]:
    """Compile a rule if no code is kept for the arguments of a call, which otherwise raises NotKept."""
    called._cache.compiles = True
    try:
        yield
    finally:
        called._cache.compiles = False


# ---- What compiling does less


@contextmanager
def _rarely_looking_for_garbage() -> Iterator[None]:
    """Let Python look for cycles of objects seldom: that took a sixth of the time, and most stay until the end."""
    usual = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


_NEW_OBJECTS = 200_000


def _no_event(*_given: Any, **_named: Any) -> None:
    """Stand in for the announcement of an event, such as each call of LLVM."""


event.start_event = event.end_event = _no_event


def _post_process(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Do what ``PostProcessor.run`` does, ten times per function, without what only generators and objects read."""
    of = self.func_ir
    if of.is_generator:
        _usual_post_process(self, emit_dels, extend_lifetimes)
        return
    of.blocks = transforms.canonicalize_cfg(of.blocks)
    of.variable_lifetime = VariableLifetime(of.blocks)
    of.generator_info = None
    if emit_dels:
        self._insert_var_dels(extend_lifetimes)


_usual_post_process = PostProcessor.run
PostProcessor.run = _post_process

# numba's holds types weakly, which takes longer to look up.
datamodel.default_manager._cache = {}


def _variables(instruction: Any, value: Any) -> list[Any]:
    """Return what ``Inst._rec_list_vars`` does: it is called millions of times, mostly for variables and places."""
    kind = type(value)
    if kind is numba_ir.Var:
        return [value]
    if kind is numba_ir.Loc or kind is str:
        return []
    if kind is dict:
        value = value.values()
    elif kind is not tuple and kind is not list:
        return value.list_vars() if isinstance(value, numba_ir.Inst) else []
    return [variable for each in value for variable in _variables(instruction, each)]


numba_ir.Inst._rec_list_vars = _variables


def _call_type(function: Any, context: Any, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
    """Return what ``BaseFunction.get_call_type`` does, with the template that fitted a call with the same types."""
    call = function, args, tuple(kws.items())
    for template_class, literal in [_FITTING[call]] if call in _FITTING else _templates(function, context):
        template = template_class(context)
        with suppress(errors.NumbaError):
            given = args if literal else tuple(map(_unlit_non_poison, args))
            named = kws if literal else {name: _unlit_non_poison(of) for name, of in kws.items()}
            found = template.apply(given, named)
            if found is not None:
                function._impl_keys[found.args] = template.get_impl_key(found)
                _FITTING[call] = template_class, literal
                return found
    return _usual_call_type(function, context, args, kws)


def _templates(function: Any, context: Any) -> Iterator[tuple[Any, bool]]:
    """Yield the templates in the order in which numba tries them, with literal types and without."""
    target = get_local_target(context)
    for template in utils.order_by_target_specificity(target, function.templates, fnkey=function.key[0]):
        yield template, bool(template.prefer_literal)
        yield template, not template.prefer_literal


_FITTING: dict[Any, tuple[Any, bool]] = {}
_usual_call_type = BaseFunction.get_call_type
BaseFunction.get_call_type = _call_type  # type: ignore[method-assign, assignment]


# ---- Kernels that kernels call


class _NoCodegen:
    """Stands in for the just-in-time linker, to which a part of a kernel never gets."""

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: only functions that raise exceptions with computed arguments read their environment."""


class _Library(JITCodeLibrary):  # type: ignore[misc]
    def _optimize_functions(self, ll_module: Any) -> None:
        """Make functions smaller before they are linked into kernels, which are optimized as a whole.

        numba runs all of LLVM's passes for functions here, which takes a tenth of the time of compiling. Without the
        others simulations are at most 2 % slower.
        """
        ll_module.data_layout = self._codegen._data_layout
        builder, passes = self._codegen._pass_builder(), llvm.create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.add_refprune_pass()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)


class _LinkedLibrary(_Library):
    """Code that is linked into kernels, and is neither optimized nor translated to machine code by itself.

    numba does both with every function and all functions it calls, and again with each caller, of which each has a
    copy of the code of all functions below it.
    """

    codegen = _NoCodegen()

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0


_SIZES: dict[str, int] = {}


def _size_of(context: Any, of: Any) -> int:
    """Return what ``get_abi_sizeof`` does, for which LLVM parses a module with the type for each variable."""
    text = str(of)
    if text not in _SIZES:
        _SIZES[text] = of.get_abi_size(context.target_data)
    return _SIZES[text]


CPUContext.get_abi_sizeof = _size_of
llvm.get_process_triple = cache(llvm.get_process_triple)


def _all_below(libraries: Iterable[Any]) -> list[Any]:
    """Return libraries with those that they call, each once."""
    found: dict[int, Any] = {}
    waiting = list(libraries)
    while waiting:
        library = waiting.pop()
        if id(library) not in found:
            found[id(library)] = library
            waiting += library._linking_libraries if isinstance(library, _LinkedLibrary) else ()
    return list(found.values())


class _LinkedCompiler(CompilerBase):  # type: ignore[misc]
    library: type[JITCodeLibrary] = _LinkedLibrary

    def define_pipelines(self) -> list[Any]:
        state = self.state
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


_OPTIONS: dict[str, dict[str, Any]] = {
    ENTRY: {},
    INNER: {"_nrt": False},
    IN_PLACE: {"_nrt": False, "forceinline": True},
    WRITTEN_OUT: {"inline": "always"},
}
"""numba's options by kind of rule."""


@contextmanager
def _linking_helpers(codegen: Any) -> Iterator[None]:
    """Link numba's own functions too, such as those for ``np.empty``, instead of compiling each by itself."""
    usual = codegen._library_class
    codegen._library_class = _LinkedLibrary
    try:
        yield
    finally:
        codegen._library_class = usual


def linked(rule: Rule[..., Any]) -> Any:
    """Return a rule as its callers link it."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_OPTIONS[rule.kind]}
    called = numba.njit(nogil=True, pipeline_class=_LinkedCompiler, **options)(rule.py_func)
    template = called.get_call_template

    def widened_template(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return template(tuple(map(_widened, args)), {name: _widened(argument) for name, argument in kws.items()})

    called.get_call_template = widened_template
    return called


@typeof_impl.register(Rule)  # type: ignore[untyped-decorator]
def _typeof_rule(rule: Rule[..., Any], context: Any) -> Any:
    return types.Dispatcher(rule.linked)


def _values(options: TargetConfig) -> dict[str, Any]:
    """Return what ``TargetConfig.values`` does, which took a tenth of the time: options are compared at each call."""
    kind = type(options)
    if kind not in _DEFAULTS:
        _DEFAULTS[kind] = {name: option.default for name, option in kind.options.items()}
    return _DEFAULTS[kind] | options._values


_DEFAULTS: dict[type[Any], dict[str, Any]] = {}


TargetConfig.values = _values


def _widened(argument: Any) -> Any:
    """Return one type for constants, 32-bit and 64-bit numbers, so that they share one compilation."""
    plain = unliteral(argument)
    return types.int64 if plain == types.int32 else plain


# ---- References to arrays


def _meminfos(context: Any, builder: Any, of: Any, value: Any) -> list[Any]:
    """Return what ``NRTContext.get_meminfos`` does, without an instruction for each number in the shape of an array."""
    manager = context._context.data_model_manager
    found = [(of, manager[of].get_nrt_meminfo(builder, value))] if manager[of].has_nrt_meminfo() else []
    for member, get in manager[of].traverse(builder):
        if manager[member].contains_nrt_meminfo():
            found += context.get_meminfos(builder, member, get(value))
    return found


NRTContext.get_meminfos = _meminfos


def _plain(module: ir.Module, operation: str) -> ir.Function:
    """Define an addition or subtraction of 1 that is not atomic, and returns the new number."""
    word = nrtdynmod._word_type
    function = ir.Function(module, ir.FunctionType(word, [word.as_pointer()]), f"plain_{operation}")
    builder = ir.IRBuilder(function.append_basic_block())
    number = getattr(builder, operation)(builder.load(function.args[0]), word(1))
    builder.store(number, function.args[0])
    builder.ret(number)
    return function


@cache
def _plain_counts(codegen: Any) -> Any:
    """Return a library that counts references without atomic instructions.

    numba's took a sixth of the time of a simulation. A kernel runs in one thread, and each of its calls counts the
    references to the arrays that it is given for itself.
    """
    library = codegen.create_library("plain_counts")
    module = library.create_ir_module("plain_counts")
    nrtdynmod._define_nrt_incref(module, _plain(module, "add"))
    nrtdynmod._define_nrt_decref(module, _plain(module, "sub"))
    library.add_ir_module(module)
    library.finalize()
    return library


class _KernelLibrary(_Library):
    def finalize(self) -> None:
        # Of several definitions, the one that is linked first stays.
        self._linking_libraries: list[Any] = [_plain_counts(self.codegen), *_all_below(self._linking_libraries)]
        super().finalize()

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        # Otherwise the just-in-time linker would take those of the first library that it has loaded, which are numba's.
        for function in self._final_module.functions:
            if function.name in ("NRT_incref", "NRT_decref") and not function.is_declaration:
                function.linkage = "internal"

    def serialize_using_object_code(self) -> Any:
        """Return what is kept: the machine code, and a module that defines the same names.

        numba would keep the whole code for other libraries to link, but callers link another compilation of it.
        """
        names = ir.Module(self.name)
        for function in self._get_module_for_linking().functions:
            if not function.is_declaration:
                body = ir.Function(names, ir.FunctionType(ir.VoidType(), []), function.name).append_basic_block()
                ir.IRBuilder(body).ret_void()
        return self.name, "object", (self._get_compiled_object(), llvm.parse_assembly(str(names)).as_bitcode())


class KernelCompiler(_LinkedCompiler):
    """Compiles kernels that count references without atomic instructions."""

    library = _KernelLibrary


# ---- Arrays


@typeof_impl.register(np.ndarray)  # type: ignore[untyped-decorator]
def _typeof_array(value: np.ndarray[Any, Any], context: Any) -> Any:
    # Arrow's arrays are read-only, or writable copies where a type had to be cast: kernels would be compiled for every
    # mixture. None writes to what it is given to read; as plain Python, NumPy would refuse it.
    return _typeof_ndarray(value, context).copy(readonly=False)


def _raise_shapes_differ(source: Any, index: Any) -> None:
    """Stand in for numba's error of an array that does not fit a slice, which takes seconds to compile its text."""


@overload(_raise_shapes_differ, strict=False)  # type: ignore[untyped-decorator]
def _overload_raise_shapes_differ(source: Any, index: Any) -> Any:
    def fail(source, index):  # type: ignore[no-untyped-def]
        raise ValueError("cannot assign an array to a slice of another size")

    return fail


arrayobj.raise_with_shape_context = _raise_shapes_differ


# ---- Rows and records


class _ShortRecord(types.Record):  # type: ignore[misc]
    """A record whose name does not list its fields: type names become parts of every name of a function."""

    def __init__(self, of: Any) -> None:
        fields = [(name, {"type": field.type, "offset": field.offset}) for name, field in of.fields.items()]
        super().__init__(fields, of.size, of.aligned)
        self.name = f"Record{zlib.crc32(of.name.encode()):08x}"


register_model(_ShortRecord)(models.RecordModel)


def _short(element: Any) -> Any:
    return _ShortRecord(element) if isinstance(element, types.Record) else element


class _RowsType(types.Type):  # type: ignore[misc]
    def __init__(self, element: Any) -> None:
        self.element = element
        super().__init__(name=f"Rows({element})")


@register_model(_RowsType)
class _RowsModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, of: Any) -> None:
        super().__init__(manager, of, _BYTE_POINTER)


@typeof_impl.register(Rows)  # type: ignore[untyped-decorator]
def _typeof_rows(value: Rows, context: Any) -> Any:
    return _RowsType(_short(numpy_support.from_dtype(value.dtype)))


@typeof_impl.register(np.record)  # type: ignore[untyped-decorator]
def _typeof_record(value: np.record, context: Any) -> Any:
    return _short(numpy_support.from_dtype(value.dtype))


@unbox(_RowsType)  # type: ignore[untyped-decorator]
def _unbox_rows(of: Any, value: Any, c: Any) -> Any:
    interface = c.pyapi.object_getattr_string(value, "ctypes")
    address = c.pyapi.object_getattr_string(interface, "data")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    c.pyapi.decref(interface)
    return NativeValue(pointer, is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


# Templates rather than ``numba.extending.overload``, which would compile a function for each type of element.
@infer_global(rows)
class _RowsOf(AbstractTemplate):  # type: ignore[misc]
    def generic(self, given: Any, named: Any) -> Any:
        return signature(_RowsType(_short(given[0].dtype)), given[0], *[types.intp for _ in given[1:]])


@lower_builtin(rows, types.Array)  # type: ignore[untyped-decorator]
def _rows_of(context: Any, builder: Any, of: Any, given: Any) -> Any:
    return builder.bitcast(context.make_array(of.args[0])(context, builder, given[0]).data, _BYTE_POINTER)


@lower_builtin(rows, types.Array, types.Integer)  # type: ignore[untyped-decorator]
def _rows_from(context: Any, builder: Any, of: Any, given: Any) -> Any:
    all_rows = _rows_of(context, builder, of, given)
    address = _address(context, builder, of.return_type.element, (all_rows, given[1]))
    return builder.bitcast(address, _BYTE_POINTER)


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):  # type: ignore[misc]
    def generic(self, given: Any, named: Any) -> Any:
        if isinstance(given[0], _RowsType) and isinstance(given[1], types.Integer):
            return signature(given[0].element, given[0], types.intp)
        return None


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):  # type: ignore[misc]
    def generic(self, given: Any, named: Any) -> Any:
        if isinstance(given[0], _RowsType) and isinstance(given[1], types.Integer):
            return signature(types.none, given[0], types.intp, given[0].element)
        return None


@lower_builtin(operator.getitem, _RowsType, types.Integer)  # type: ignore[untyped-decorator]
def _get_item(context: Any, builder: Any, of: Any, given: Any) -> Any:
    element = of.args[0].element
    return context.unpack_value(builder, element, _address(context, builder, element, given))


@lower_builtin(operator.setitem, _RowsType, types.Integer, types.Any)  # type: ignore[untyped-decorator]
def _set_item(context: Any, builder: Any, of: Any, given: Any) -> Any:
    element = of.args[0].element
    context.pack_value(builder, element, given[2], _address(context, builder, element, given))
    return context.get_dummy_value()


def _address(context: Any, builder: Any, element: Any, given: Any) -> Any:
    data_type = context.get_data_type(element)
    size = given[1].type(context.get_abi_sizeof(data_type))
    return builder.bitcast(builder.gep(given[0], [builder.mul(given[1], size)]), data_type.as_pointer())


# ---- References to named tuples


class _ReferenceType(types.Type):  # type: ignore[misc]
    def __init__(self, of: Any) -> None:
        self.of = of
        super().__init__(name=f"Reference{zlib.crc32(of.name.encode()):08x}")


@register_model(_ReferenceType)
class _ReferenceModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, of: Any) -> None:
        super().__init__(manager, of, _BYTE_POINTER)


# Not ``numba.extending.overload``: the tuple has to be in the frame of the kernel that calls ``reference``.
@infer_global(reference)
class _Reference(AbstractTemplate):  # type: ignore[misc]
    def generic(self, given: Any, named: Any) -> Any:
        return signature(_ReferenceType(*given), *given)


@lower_builtin(reference, types.BaseNamedTuple)  # type: ignore[untyped-decorator]
def _reference(context: Any, builder: Any, of: Any, given: Any) -> Any:
    return builder.bitcast(cgutils.alloca_once_value(builder, given[0]), _BYTE_POINTER)


@infer_getattr
class _GetField(AttributeTemplate):  # type: ignore[misc]
    key = _ReferenceType

    def generic_resolve(self, given: Any, name: str) -> Any:
        element = given.of[given.of.fields.index(name)]
        return _ReferenceType(element) if isinstance(element, types.BaseNamedTuple) else element


@lower_getattr_generic(_ReferenceType)  # type: ignore[untyped-decorator]
def _get_field(context: Any, builder: Any, given: Any, value: Any, name: str) -> Any:
    place = given.of.fields.index(name)
    named = builder.bitcast(value, context.get_value_type(given.of).as_pointer())
    field = cgutils.gep_inbounds(builder, named, 0, place)
    if isinstance(given.of[place], types.BaseNamedTuple):
        return builder.bitcast(field, _BYTE_POINTER)
    return impl_ret_borrowed(context, builder, given.of[place], builder.load(field))
