"""Methods of traced vectors that use the whole vector, by NumPy's names: fills the table WHOLE."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from clmapreduce.checks import quoted
from clmapreduce.dtypes import number_of
from clmapreduce.errors import FormulaError
from clmapreduce.formula.functions import cast
from clmapreduce.formula.node import Node
from clmapreduce.formula.registry import WHOLE
from clmapreduce.program.build import is_vector, reduced, scanned
from clmapreduce.program.tracing import Tracing, current_tracing
from clmapreduce.reductions import operator

REDUCTIONS = ("sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "mean", "var", "std")
SCANS = {"cumsum": "sum", "cumprod": "product"}
NEUTRAL = {"out": None, "ddof": 0, "keepdims": False, "initial": None, "where": True}
"""The defaults that NumPy's functions pass on."""


def _prepared(name: str, value: Node, axis: Any, dtype: Any, more: Mapping[str, Any]) -> Node:
    """The vector in the dtype asked for. Raises FormulaError outside of cm.fuse, and for keywords that are not offered.
    """
    tracing = _tracing_for(value, f"x.{name}()")
    if axis not in (None, 0, -1):
        raise FormulaError(f"x.{name}(): axis is {quoted(axis)}; a traced vector has one axis, leave it out")
    tracing.axis_read |= axis is not None
    for key, option in more.items():
        if key not in NEUTRAL or (option is not NEUTRAL[key] and option != NEUTRAL[key]):
            raise FormulaError(
                f"x.{name}() of a traced vector takes no {key}={quoted(option)}; cm.Reduce takes initial and where"
            )
    return value if dtype is None else cast(value, number_of(dtype))


def _reduce(name: str, value: Node, axis: Any, dtype: Any, more: Mapping[str, Any]) -> Any:
    return reduced(operator(name), _prepared(name, value, axis, dtype, more), f"x.{name}()")


def _scan(name: str, value: Node, axis: Any, dtype: Any, more: Mapping[str, Any]) -> Any:
    return scanned(operator(SCANS[name]), _prepared(name, value, axis, dtype, more), False, f"x.{name}()")


def _extent(value: Node, named: bool = True) -> tuple[int, ...]:
    """The shape of a traced value; not named: only its length counts."""
    tracing = _tracing_for(value, "its shape")
    if not is_vector(value):
        return ()
    tracing.axis_read = True
    return (tracing.asked_extent() if named else -1,)


def _length(value: Node) -> int:
    extent = _extent(value)
    if not extent:
        raise FormulaError("len() of a value that is one number for the line; len(x) of the vector tells the length")
    return extent[0]


def _size(value: Node) -> int:
    tracing = _tracing_for(value, "its size")
    return tracing.asked_extent() if is_vector(value) else 1


def _tracing_for(value: Node, what: str) -> Tracing:
    tracing = current_tracing()
    if tracing is None:
        raise FormulaError(
            f"a traced value was asked for {what}; inside cm.Map a value is one number: write a function of whole "
            "vectors and decorate it with cm.fuse"
        )
    return tracing


WHOLE.update({name: partial(_reduce, name) for name in REDUCTIONS})
WHOLE.update({name: partial(_scan, name) for name in SCANS})
WHOLE.update(extent=_extent, length=_length, size=_size)
