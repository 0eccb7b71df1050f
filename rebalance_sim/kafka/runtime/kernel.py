"""Run the rules as plain Python until it is worth compiling them with numba.

``@kernel`` and its variants make a function one that numba can compile with all the functions that it calls. The first
calls run as plain Python if they get little data and no compiled code is kept; the results are the same. So numba is
not even imported where it would not pay off. ``NUMBA_DISABLE_JIT=1`` runs all calls as plain Python, and
``REBALANCE_SIM_COMPILE=always`` compiles at the first call.

Compiled, the functions are ``numba.njit`` with a faster compilation and faster calls between them. That needs numba's
internals, which are all in ``numba_internals.py`` and may change with any release of numba. With
``REBALANCE_SIM_PLAIN_NUMBA=1`` they use numba's documented options only: every result is the same, but the first run
compiles much longer and a simulation runs slower.
"""

import os
import sys
import time
import zlib
from collections.abc import Callable
from functools import cached_property, update_wrapper
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar, cast

import numpy as np

from rebalance_sim.kafka.runtime.compiled_code import cache_folder, number_compiled
from rebalance_sim.kafka.runtime.records import plain_rows, rows
from rebalance_sim.kafka.runtime.rule_keys import rule_key

_P = ParamSpec("_P")
_R = TypeVar("_R")
ALWAYS_COMPILES = "REBALANCE_SIM_COMPILE"


def _is_set(switch: str) -> bool:
    return os.environ.get(switch, "0") not in ("", "0")


PLAIN_NUMBA = _is_set("REBALANCE_SIM_PLAIN_NUMBA")
"""Whether kernels use numba's documented options only."""
_PLAIN_PYTHON = _is_set("NUMBA_DISABLE_JIT")
_ALWAYS = os.environ.get(ALWAYS_COMPILES) == "always"
_FEW = 2**16
"""Up to so many numbers in its arrays, a call may run as plain Python."""
_IMPORTING_S, _LOADING_S, _COMPILING_S = 0.1, 0.005, 30.0
"""Seconds that the calls of a rule may take as plain Python before numba is imported for its compiled code, if that is
kept, before the code is loaded where numba is imported already, and before the rule is compiled: that takes seconds,
some milliseconds, and up to a minute."""
_IMPORTED = "rebalance_sim.kafka.runtime.numba_internals"
ENTRY, INNER, IN_PLACE, WRITTEN_OUT = "entry", "inner", "in place", "written out"


def kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a function over arrays and keep the compiled code for later runs."""
    return _rule(function, ENTRY)


def inner_kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a function that creates no array.

    numba counts references to an array at every call and at every access to an array in a tuple; simulations, which
    take many small steps over many arrays, spent nine tenths of their time on that. A function that creates no array
    needs no counts, and numba refuses to compile any other function without them.
    """
    return _rule(function, INNER)


def kernel_in_place(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a function that creates no array into the kernels that call it."""
    return _rule(function, IN_PLACE)


def kernel_written_out(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Copy a function into the source of the kernels that call it.

    So it may return records, as compiled functions cannot.
    """
    return _rule(function, WRITTEN_OUT)


def kernel_or(plain: Callable[_P, _R]) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Compile a function, of which plain Python has a form that takes a small part of the time."""

    def kernel_or_plain(function: Callable[_P, _R]) -> Callable[_P, _R]:
        if _PLAIN_PYTHON:
            return plain
        rule = _rule(function, ENTRY)
        if isinstance(rule, Rule):
            rule.as_plain_python = plain
        return rule

    return kernel_or_plain


def _rule(function: Callable[_P, _R], kind: str) -> Callable[_P, _R]:
    if _PLAIN_PYTHON:
        return function
    if PLAIN_NUMBA:
        from rebalance_sim.kafka.runtime.plain_numba import compiled  # noqa: PLC0415 (numba takes seconds to import)

        return compiled(function, kind)
    return Rule(function, kind)


class NotKept(Exception):  # noqa: N818 - no fault: the rule runs as plain Python
    """There is no compiled code for the arguments of a call."""


class Rule(Generic[_P, _R]):
    """A function of which each call runs as plain Python or compiled."""

    def __init__(self, function: Callable[_P, _R], kind: str) -> None:
        self.py_func, self.kind = function, kind
        self._seconds = 0.0
        """What the calls as plain Python have taken."""
        self._has_code = False
        """Whether the last call that needed compiled code had it."""
        self._has_no_code = False
        update_wrapper(self, function)

    def __call__(self, *given: _P.args, **named: _P.kwargs) -> _R:
        """Run the function."""
        if self._has_code:
            try:
                return self.compiled(*given, **named)
            except NotKept:
                # Of other types than before.
                self._has_code, self._has_no_code = False, True
        if _ALWAYS or self._seconds > _COMPILING_S or _size(given) > _FEW:
            with _numba().compiling_what_is_not_kept(self.compiled):
                answer = self.compiled(*given, **named)
            self._has_code = True
            return answer
        if self._seconds > (_LOADING_S if _IMPORTED in sys.modules else _IMPORTING_S) and not self._has_no_code:
            try:
                return self._with_kept_code(*given, **named)
            except NotKept:
                self._has_no_code = True
        started = time.perf_counter()
        try:
            return self.as_plain_python(*given, **named)
        finally:
            self._seconds += time.perf_counter() - started

    def __reduce__(self) -> str:
        """Pickle as the name under which the rule is imported."""
        return self.py_func.__qualname__

    @property
    def full_name(self) -> str:
        """The module and name of the function."""
        return f"{self.py_func.__module__}.{self.py_func.__qualname__}"

    @cached_property
    def key(self) -> str:
        """What compiled code is kept under."""
        try:
            return rule_key(self.full_name)
        except LookupError:
            # A function of a test: of its file and place in it.
            code = self.py_func.__code__
            return f"{zlib.crc32(code.co_code + repr(code.co_consts).encode()):08x}-{code.co_firstlineno}"

    @cached_property
    def compiled(self) -> Callable[_P, _R]:
        """The function as numba compiles it at its first call, unless compiled code is kept."""
        return cast(Callable[_P, _R], _numba().entry(self))

    @cached_property
    def linked(self) -> Any:
        """The function as numba compiles it into its callers."""
        return _numba().linked(self)

    @property
    def targetoptions(self) -> dict[str, str]:
        """The options by which numba recognizes a function that it copies into the source of its callers."""
        return {"inline": "always" if self.kind == WRITTEN_OUT else "never"}

    @cached_property
    def as_plain_python(self) -> Callable[_P, _R]:
        """The function, calling all others as plain Python."""
        of = self.py_func
        copy = FunctionType(of.__code__, _plain_names(of.__module__), of.__name__, of.__defaults__, of.__closure__)
        copy.__kwdefaults__ = of.__kwdefaults__
        return cast(Callable[_P, _R], copy)

    def _with_kept_code(self, *given: _P.args, **named: _P.kwargs) -> _R:
        if "compiled" not in vars(self) and not self._may_be_kept():
            raise NotKept
        answer = self.compiled(*given, **named)
        self._has_code = True
        return answer

    def _may_be_kept(self) -> bool:
        # Without importing numba, and without the key of a rule where nothing was ever compiled.
        folder = cache_folder()
        return folder.is_dir() and any(folder.glob(f"{self.file_name}*.nbi"))

    @property
    def file_name(self) -> str:
        """The beginning of the names of files with compiled code."""
        return f"{self.full_name.replace('<', '').replace('>', '')}-{self.key}"


def _size(given: Any) -> int:
    """Return how many numbers there are in arrays, and in tuples of arrays.

    >>> _size((np.zeros(3), (np.zeros((2, 2)), 5)))
    7
    """
    if isinstance(given, np.ndarray):
        return given.size
    return sum(map(_size, given)) if isinstance(given, tuple) else 0


def get_ready() -> None:
    """Import numba, and what it takes to load the first rule, if any is kept compiled: that takes seconds."""
    if not PLAIN_NUMBA and not _PLAIN_PYTHON and number_compiled():
        _numba().get_ready()


_PLAIN_NAMES: dict[str, dict[str, Any]] = {}


def _plain_names(module: str) -> dict[str, Any]:
    """Return the global names of a module, with its rules as plain Python."""
    if module not in _PLAIN_NAMES:
        names = _PLAIN_NAMES[module] = dict(vars(sys.modules[module]))
        names |= {name: value.as_plain_python for name, value in names.items() if isinstance(value, Rule)}
        names |= {name: plain_rows for name, value in names.items() if value is rows}
    return _PLAIN_NAMES[module]


def _numba() -> Any:
    """Return the module that compiles, with which numba is imported."""
    try:
        from rebalance_sim.kafka.runtime import numba_internals  # noqa: PLC0415 (it takes seconds)
    except (ImportError, AttributeError) as missing:
        import numba  # noqa: PLC0415 (likewise)

        raise ImportError(
            f"numba {numba.__version__} lacks internals that rebalance_sim uses ({missing}). Install a version that "
            "rebalance_sim requires, or set REBALANCE_SIM_PLAIN_NUMBA=1 to compile without them, which is slower"
        ) from missing
    return numba_internals
