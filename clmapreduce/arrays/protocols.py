"""NumPy's own functions on arrays of a device: each runs there, or says that it is not offered."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.arrays import namespace
from clmapreduce.arrays.elementwise import elementwise
from clmapreduce.arrays.operands import on_device
from clmapreduce.arrays.promotion import HOST
from clmapreduce.arrays.targets import stored
from clmapreduce.errors import ArgumentError

_REDUCES = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max", "logical_or": "any",
            "logical_and": "all"}  # fmt: skip
_ACCUMULATES = {"add": "cumsum", "multiply": "cumprod"}
_RENAMED = {"a_min": "min", "a_max": "max"}
_OTHER_NAMES = {"amin": "min", "amax": "max", "around": "round"}
_LEFT_OUT = object()
_USUAL = {"casting": "same_kind", "order": "K", "subok": True, "dtype": None}
"""Keywords of ufuncs that change nothing as they are."""


def call_ufunc(ufunc: np.ufunc, method: str, operands: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A ufunc called, reduced (`np.add.reduce`) or accumulated. Raises ArgumentError if it is not supported."""
    name = ufunc.__name__
    if method == "__call__":
        out, where = keywords.pop("out", None), keywords.pop("where", True)
        more = sorted(key for key, value in keywords.items() if value != _USUAL.get(key, _LEFT_OUT))
        if more:
            raise ArgumentError(f"np.{name} of a DeviceArray takes no {', '.join(more)}; {HOST}")
        return elementwise(name, operands, out, where=where)
    table = {"reduce": _REDUCES, "accumulate": _ACCUMULATES}.get(method, {})
    if name not in table:
        raise ArgumentError(f"np.{name}.{method} is not offered for a DeviceArray; {HOST}")
    options = {key: value for key, value in keywords.items() if value is not None or key == "axis"}
    if not isinstance(on_device(operands[0]).ndim, int) or len(operands) > 1:
        raise ArgumentError(f"np.{name}.{method} of a DeviceArray takes its keywords by name; {HOST}")
    return _call(namespace.find(table[name]), f"np.{name}.{method}", operands, {"axis": 0, **options})


def call_function(function: Callable[..., Any], values: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A function of NumPy's other than a ufunc. Raises ArgumentError for unsupported functions and
    keywords.
    """
    name = getattr(function, "__name__", str(function))
    ours = namespace.find(_OTHER_NAMES.get(name, name)) if function.__module__ in ("numpy", "numpy._core") else None
    if ours is None:
        raise ArgumentError(f"{function.__module__}.{name} is not offered for a DeviceArray; {HOST}")
    rest = dict(keywords)
    positional = list(values)
    if names := _parameters(function):
        rest |= dict(zip(names, positional, strict=False))
        by_position = _positional_only(ours)
        if by_position is not None:
            positional = [rest.pop(each) for each in names[:by_position] if each in rest]
        else:
            positional, rest = list(values), dict(keywords)
        defaults = _defaults(function)
        rest = {key: v for key, v in rest.items() if v is not defaults.get(key, _LEFT_OUT)}
    return _call(ours, f"np.{name}", positional, {_RENAMED.get(key, key): value for key, value in rest.items()})


def _call(ours: Callable[..., Any], what: str, values: Sequence[Any], keywords: dict[str, Any]) -> Any:
    out = keywords.pop("out", None)
    try:
        inspect.signature(ours).bind(*values, **keywords)
    except TypeError as error:
        raise ArgumentError(f"{what} of a DeviceArray: {error}; {HOST}") from None
    result = ours(*values, **keywords)
    return result if out is None else stored(what, result, out)


@lru_cache(maxsize=256)
def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters in order; none where Python cannot tell, or where there may be any number.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    named = all(one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters)
    return tuple(one.name for one in parameters) if named else ()


@lru_cache(maxsize=256)
def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    return {one.name: one.default for one in inspect.signature(function).parameters.values()}


@lru_cache(maxsize=256)
def _positional_only(ours: Callable[..., Any]) -> int | None:
    """How many of our function's parameters have no name in a call; None where there may be any number."""
    kinds = [one.kind for one in inspect.signature(ours).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return None
    return kinds.count(inspect.Parameter.POSITIONAL_ONLY)
