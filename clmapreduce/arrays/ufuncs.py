"""NumPy's ufuncs as formulas: those of `cm.math` by the names that both have, the others in terms of these."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from clmapreduce.dtypes import BOOL, UINT64, is_float, is_integer
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Node
from clmapreduce.formula.registry import FUNCTIONS

Formula = Callable[..., Any]


def _of_whole_numbers(comparison: str) -> Formula:
    """A comparison that is exact between int64 and uint64, which have no common integer dtype."""

    def compared(a: Node, b: Node) -> Node:
        if not (is_integer(a.dtype) and is_integer(b.dtype)) or a.dtype.kind == b.dtype.kind:
            return apply(comparison, a, b)
        negative = a < 0 if a.dtype.kind == "i" else b < 0
        below = comparison in ("less", "less_equal", "not_equal")
        above = comparison in ("greater", "greater_equal", "not_equal")
        decided = below if a.dtype.kind == "i" else above
        return apply("where", negative, decided, apply(comparison, cast(a, UINT64), cast(b, UINT64)))

    return compared


def _reciprocal(x: Node) -> Any:
    return apply("where", abs(x) == 1, x, 0) if is_integer(x.dtype) else 1 / x


def _fmod(a: Node, b: Node) -> Node:
    """The remainder with the sign of a."""
    if is_integer(a.dtype):
        rest = a % b
        return apply("where", (rest != 0) & ((a < 0) != (b < 0)), rest - b, rest)
    rest = abs(a) % abs(b)
    return apply("where", a < 0, -rest, rest)


def _select(comparison: str, a: Node, b: Node) -> Node:
    """The better of two numbers, the other one where one is NaN."""
    best = apply(comparison, a, b)
    return apply("where", a != a, b, apply("where", b != b, a, best)) if is_float(a.dtype) else best


def _log_of_sum(power: str, logarithm: Callable[[Node], Node], unit: float, a: Node, b: Node) -> Node:
    """The logarithm of a sum of exponentials, from the larger one."""
    apart = a - b
    sizes = apply("maximum", a, b) + logarithm(apply(power, -abs(apart)))
    return apply("where", a == b, a + cast_like(unit, a), sizes)


def cast_like(number: float, x: Node) -> Any:
    """A constant in the dtype of a node."""
    return x.dtype.type(number)


def _times(factor: float) -> Formula:
    return lambda x: x * cast_like(factor, x)


def _divmod(a: Node, b: Node) -> tuple[Node, Node]:
    return a // b, a % b


UFUNCS: dict[str, Formula] = {
    getattr(np, name).__name__: partial(apply, name)
    for name in FUNCTIONS
    if isinstance(getattr(np, name, None), np.ufunc)
}
"""Formulas by the names of NumPy's ufuncs; each takes nodes of the dtypes that NumPy computes in."""

COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")

UFUNCS |= {name: _of_whole_numbers(name) for name in COMPARISONS}
UFUNCS |= {
    "positive": lambda x: x,
    "fabs": abs,
    "square": lambda x: x * x,
    "reciprocal": _reciprocal,
    "logical_xor": lambda a, b: cast(a, BOOL) ^ cast(b, BOOL),
    "fmod": _fmod,
    "divmod": _divmod,
    "fmax": partial(_select, "maximum"),
    "fmin": partial(_select, "minimum"),
    "float_power": partial(apply, "power"),
    "logaddexp": partial(_log_of_sum, "exp", lambda x: apply("log1p", x), math.log(2)),
    "logaddexp2": partial(
        _log_of_sum, "exp2", lambda x: apply("log1p", x) * cast_like(1 / math.log(2), x), 1.0
    ),
    "degrees": _times(180 / math.pi),
    "rad2deg": _times(180 / math.pi),
    "radians": _times(math.pi / 180),
    "deg2rad": _times(math.pi / 180),
}  # fmt: skip


def ufunc_of(name: str) -> np.ufunc:
    """NumPy's ufunc of a name."""
    ufunc: np.ufunc = getattr(np, name)
    return ufunc
