"""Functions that compute the same: one key for all function objects of equal code, numbers and helpers.

`cm.Map(lambda a: 2 * a)(x)` inside a loop makes a new function object each time. Its key finds the call that is ready.
A function has a key only where all that it reads is known and cannot change unseen: numbers, texts, tuples of them,
modules that have no state, and functions of the same kind.
"""

from __future__ import annotations

import builtins
import dis
import math
import operator
import sys
from collections.abc import Hashable, Mapping
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np

_OWN = __name__.partition(".")[0]
_MODULES = frozenset({np, math, operator, sys.modules["_operator"]})
"""Modules, beside this package's, whose functions give the same for the same arguments, but for those of _STATEFUL."""
_STATEFUL = frozenset(
    {"datetime64", "fromfile", "fromregex", "genfromtxt", "load", "loadtxt", "memmap", "open_memmap", "random"}
)
"""Names in such modules of what may give something else each time."""
_BUILTINS = frozenset(
    {"abs", "all", "any", "bool", "complex", "dict", "divmod", "enumerate", "float", "int", "isinstance", "len", "list",
     "map", "max", "min", "pow", "range", "reversed", "round", "sorted", "str", "sum", "tuple", "zip"}
)  # fmt: skip
"""Builtin functions that do nothing but compute."""
_OUTSIDE = frozenset(
    {"DELETE_ATTR", "DELETE_GLOBAL", "IMPORT_FROM", "IMPORT_NAME", "LOAD_BUILD_CLASS", "LOAD_NAME", "STORE_ATTR",
     "STORE_GLOBAL", "STORE_NAME"}
)  # fmt: skip
"""Instructions that read or change what no key tells."""
_CHANGES = frozenset({"DELETE_DEREF", "STORE_DEREF"})
"""Instructions that change a variable of a function around."""
_CODES = 1024
"""Entries of the cache of what codes read."""
_DEEPEST = 8
"""Functions that read each other."""


class Keyed:
    """Something that is computed, and may be the same as what others compute."""

    def key(self) -> Hashable | None:
        """A key for all that compute the same now. None: this one may compute something of its own."""
        return None


def function_key(function: Any) -> Hashable | None:
    """A key for all functions that compute the same as this one does now; None if the function may change unseen."""
    try:
        return _function(function, ())
    except _NoKey:
        return None


def value_key(value: Any) -> Hashable | None:
    """A key for all values that are the same now; None if the value may change unseen."""
    try:
        return _value(value, ())
    except _NoKey:
        return None


class _NoKey(Exception):
    """A function reads something that may change unseen."""


def _function(function: Any, outer: tuple[Any, ...]) -> Hashable:
    """outer: the functions that it is read by, which it may call."""
    if type(function) is not FunctionType:
        return _callable(function)
    values = function.__globals__
    if is_own(values):
        return function
    if function in outer:
        return "outer", outer.index(function)
    if function.__dict__ or len(outer) == _DEEPEST:
        raise _NoKey
    code, around = function.__code__, (*outer, function)
    names = names_in(code)
    if names is None:
        raise _NoKey
    read = [_value(values[name], around) if name in values else _builtin(name) for name in names]
    try:
        cells = [_value(cell.cell_contents, around) for cell in function.__closure__ or ()]
    except ValueError:  # an empty cell
        raise _NoKey from None
    defaults = [_value(value, around) for value in function.__defaults__ or ()]
    named = [(name, _value(value, around)) for name, value in (function.__kwdefaults__ or {}).items()]
    return code, tuple(read), tuple(cells), tuple(defaults), tuple(named)


def _value(value: Any, outer: tuple[Any, ...]) -> Hashable:
    """The key of something that a function reads."""
    kind = type(value)
    if kind in (int, bool, str, bytes, type(None)):
        return kind, value
    if kind is float:  # zeros of either sign are two
        return kind, value.hex()
    if kind is complex:
        return kind, value.real.hex(), value.imag.hex()
    if kind is tuple:
        return kind, tuple(_value(one, outer) for one in value)
    if isinstance(value, np.generic) and not value.dtype.hasobject:
        return value.dtype, value.tobytes()
    if isinstance(value, np.dtype) and not value.hasobject:
        return value
    if isinstance(value, ModuleType) and (value in _MODULES or is_own(vars(value))):
        return value
    return _function(value, outer)


def is_own(names: Mapping[str, Any]) -> bool:
    """Whether these are the globals of one of this package's modules."""
    return str(names.get("__name__")).partition(".")[0] == _OWN


def _callable(function: Any) -> Hashable:
    """The key of what is callable, but no function of Python: itself, where it has no state."""
    if isinstance(function, Keyed):
        key = function.key()
        if key is None:
            raise _NoKey
        return key
    name = str(getattr(function, "__name__", ""))
    if name in _BUILTINS and function is getattr(builtins, name):
        return name
    stateless = isinstance(function, np.ufunc) or (isinstance(function, type) and issubclass(function, np.generic))
    if stateless or (type(function) is BuiltinFunctionType and function.__self__ in _MODULES):
        return cast("Hashable", function)
    raise _NoKey


def _builtin(name: str) -> Hashable:
    if name not in _BUILTINS:
        raise _NoKey
    return name


@lru_cache(_CODES)
def names_in(code: CodeType) -> tuple[str, ...] | None:
    """The names of globals that code and the functions in it read; None where it does more than to compute."""
    names: dict[str, None] = {}
    waiting = [code]
    while waiting:
        inner = waiting.pop()
        for instruction in dis.get_instructions(inner):
            name, operand = instruction.opname, str(instruction.argval)
            if name in _OUTSIDE or operand in _STATEFUL or (name in _CHANGES and operand in code.co_freevars):
                return None
            if name == "LOAD_GLOBAL":
                names[operand] = None
        waiting += [constant for constant in inner.co_consts if isinstance(constant, CodeType)]
    return tuple(names)
