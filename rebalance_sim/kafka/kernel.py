"""How the rules are compiled."""

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache
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
def cache_folder() -> Path:
    """Where compiled code is kept: a folder for this very source of the rules.

    numba notices a change in the file of a kernel, but not in another file that the kernel calls into.
    """
    digest = hashlib.sha256()
    for source in (_PACKAGE / "versions.py", *sorted((_PACKAGE / "kafka").rglob("*.py"))):
        digest.update(source.read_bytes())
    name = f"kernels-{digest.hexdigest()[:16]}"
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR) / name
    beside = _PACKAGE / "__pycache__" / name
    if beside.is_dir() or os.access(_PACKAGE, os.W_OK):
        return beside
    return Path.home() / ".cache" / "rebalance_sim" / name


@cache
def _digest_of(source: str) -> str:
    return hashlib.sha256(Path(source).read_bytes()).hexdigest()


def is_compiled() -> bool:
    """Tell whether compiled code is kept on this machine, or none is asked for; else the first run takes minutes."""
    return bool(config.DISABLE_JIT) or any(cache_folder().rglob("*.nbc"))


class _PlaceInCache:
    """Where the compiled code of a kernel is: by the place of its source in the package, wherever that lies.

    numba's own places go by the path of the source: code that was packed and sent to executors would not be found.
    """

    def __init__(self, function: Callable[..., Any], source: str) -> None:
        self._py_file = source
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: Callable[..., Any], source: str) -> "_PlaceInCache":
        return cls(function, source)

    def get_cache_path(self) -> str:
        return str(cache_folder() / Path(self._py_file).parent.relative_to(_PACKAGE))

    def ensure_cache_path(self) -> None:
        os.makedirs(self.get_cache_path(), exist_ok=True)

    def get_source_stamp(self) -> str:
        return _digest_of(self._py_file)

    def get_disambiguator(self) -> str:
        return str(self._line)


class _KernelCacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_PlaceInCache,)


class _KernelCache(FunctionCache):  # type: ignore[misc]
    _impl_class = _KernelCacheImpl

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, where that may be written; it runs all the same."""
        with suppress(OSError):
            super().save_overload(sig, data)


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
    compiled: Callable[_P, _R] = numba.njit(nogil=True, **options)(function)
    if isinstance(compiled, Dispatcher):
        compiled._cache = _KernelCache(function)  # type: ignore[attr-defined]
    return compiled
