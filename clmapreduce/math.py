"""Elementwise functions for formulas: `cm.math.sqrt(x)` on a traced value gives a traced value, on an object array of
traced values an array of them, on arrays on a device such an array, on numbers and NumPy's arrays NumPy's result.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from clmapreduce.checks import quoted
from clmapreduce.errors import ClMapReduceError, DTypeError, FormulaError, ShapeError
from clmapreduce.formula.functions import apply, is_traced
from clmapreduce.formula.registry import FUNCTIONS


@cache
def _public(name: str) -> Any:
    function = FUNCTIONS[name]

    def call(*operands: Any) -> Any:
        if any(map(is_traced, operands)):
            return apply(name, *operands)
        if len(operands) != function.arity:
            raise FormulaError(f"cm.math.{name} takes {function.arity} argument(s), {len(operands)} given")
        for operand in operands:
            if hasattr(operand, "math_function"):  # an array on a device
                return operand.math_function(name, operands)
        try:
            return function.numpy(*operands)
        except ClMapReduceError:
            raise
        except (TypeError, ValueError, OverflowError, AttributeError, ZeroDivisionError) as error:
            text = ", ".join(map(quoted, operands))
            wrong = ShapeError if isinstance(error, ValueError) else DTypeError
            raise wrong(f"cm.math.{name}({text}): {error}; give numbers, or arrays of them that broadcast") from error

    call.__name__ = call.__qualname__ = name
    call.__doc__ = (
        f"{name}({', '.join('xyz'[: function.arity])}), elementwise; the meaning and NaN rules of numpy.{name}."
    )
    return call


def __getattr__(name: str) -> Any:
    if name not in FUNCTIONS:
        raise AttributeError(f"cm.math has no function {name!r}; it has {', '.join(sorted(FUNCTIONS))}")
    return _public(name)


def __dir__() -> list[str]:
    return sorted(FUNCTIONS)


def where(condition: Any, chosen: Any, otherwise: Any) -> Any:
    """`chosen` where `condition` is True, else `otherwise`, without a branch; for arrays as numpy.where."""
    return _public("where")(condition, chosen, otherwise)
