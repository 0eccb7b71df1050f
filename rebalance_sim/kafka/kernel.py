"""How the rules are compiled."""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core import config
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.dispatcher import Dispatcher
from numba.core.typed_passes import IRLegalization
from numba.core.types import int32, int64
from numba.core.types.misc import unliteral

_P = ParamSpec("_P")
_R = TypeVar("_R")
_PACKAGE = Path(__file__).parents[1]


@cache
def _cache_folder() -> str:
    """Where compiled code is kept: a folder for this very source of the rules.

    numba notices a change in the file of a kernel, but not in another file that the kernel calls into.
    """
    digest = hashlib.sha256()
    for source in (_PACKAGE / "versions.py", *sorted((_PACKAGE / "kafka").rglob("*.py"))):
        digest.update(source.read_bytes())
    base = Path(config.CACHE_DIR) if config.CACHE_DIR else _PACKAGE / "__pycache__"
    return str(base / f"kernels-{digest.hexdigest()[:16]}")


class _Nowhere:
    """Stands for the machine where code is that is not there by itself."""

    def set_env(self, name: str, environment: Any) -> None:
        """Set nothing: what raises nothing but fixed errors has no use for it."""


class _PartOfKernels(JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into kernels, and is neither optimized nor made machine code by itself.

    numba does both with every function, and with all that it calls, and again with whoever calls it.
    """

    codegen = _Nowhere()

    def _optimize_final_module(self) -> None:
        """Leave that to the kernel."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0


@register_pass(mutates_CFG=False, analysis_only=True)
class _LinkOnly(AnalysisPass):  # type: ignore[misc]
    _name = "link_only"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.library = _PartOfKernels(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


class _PartCompiler(CompilerBase):  # type: ignore[misc]
    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_LinkOnly, IRLegalization)
        passes.finalize()
        return [passes]


def kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a function over arrays, once a machine.

    ``NUMBA_DISABLE_JIT=1`` runs the same function as plain Python; the tests do both.
    """
    return _compiled(function)


def inner_kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a function that makes no array.

    numba counts who uses an array, at every call and at every access to an array in a tuple. Many small steps over
    many arrays spent nine tenths of their time on that. What makes no array needs no count; numba refuses to compile
    the rest so.
    """
    return _compiled(function, _nrt=False)


def kernel_in_place(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a function that makes no array, into those that call it."""
    return _compiled(function, forceinline=True, _nrt=False)


def kernel_written_out(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Write a function out wherever kernels call it: it may return records, which a compiled function cannot."""
    return _cached(function, inline="always")


def _compiled(function: Callable[_P, _R], **options: bool) -> Callable[_P, _R]:
    """Compile for Python what Python calls, and as a part of the kernel what a kernel calls."""
    called = _cached(function, **options)
    if not isinstance(called, Dispatcher):
        return called
    part = numba.njit(
        nogil=True, pipeline_class=_PartCompiler, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options
    )(function)

    def widened(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return part.get_call_template(tuple(map(_widened, args)), {name: _widened(kind) for name, kind in kws.items()})

    vars(called).update(get_call_template=widened, get_overload=part.get_overload)
    return called


def _widened(kind: Any) -> Any:
    """One code for constants and for numbers of 32 and of 64 bits, not one for each."""
    plain = unliteral(kind)
    return int64 if plain == int32 else plain


def _cached(function: Callable[_P, _R], **options: bool | str) -> Callable[_P, _R]:
    folder, usual = _cache_folder(), config.CACHE_DIR
    config.CACHE_DIR = folder
    try:
        compiled: Callable[_P, _R] = numba.njit(cache=True, nogil=True, **options)(function)
    finally:
        config.CACHE_DIR = usual
    return compiled
