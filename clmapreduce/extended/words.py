"""Error-free transformations of nodes: what rounding loses of a sum and of a product, as a float of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.formula.node import Apply, Node
from clmapreduce.formula.registry import Function
from clmapreduce.formula.types import real_transcendental


def _sum_error(a: Any, b: Any, s: Any) -> Any:
    v = s - a
    return (a - (s - v)) + (b - v)


def _product_error(a: Any, b: Any, p: Any) -> Any:
    """a b - p, rounded once but for results below the normal numbers: Dekker's product of mantissas, scaled back."""
    (a, first), (b, second) = np.frexp(a), np.frexp(b)
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    product = a * b
    lost = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return np.ldexp((product - np.ldexp(p, -first - second)) + lost, first + second)


def _halves(x: Any) -> tuple[Any, Any]:
    """Two floats of half as many digits each, of which a number in [1/2, 1) is the sum."""
    scaled = x * x.dtype.type(2 ** ((np.finfo(x.dtype).nmant + 2) // 2) + 1)
    high = scaled - (scaled - x)
    return high, x - high


SUM_ERROR = Function(
    "sum_error", 3, real_transcendental, lambda dtype: "cmr_sum_error_{V}({0}, {1}, {2})", _sum_error
)
PRODUCT_ERROR = Function(
    "product_error", 3, real_transcendental, lambda dtype: "cmr_product_error_{V}({0}, {1}, {2})", _product_error
)


def two_sum(a: Node, b: Node) -> tuple[Node, Node]:
    """a + b rounded, and exactly what rounding lost."""
    total = a + b
    return total, Apply(SUM_ERROR, (a, b, total), total.dtype)


def quick_sum(a: Node, b: Node) -> tuple[Node, Node]:
    """The same where |a| >= |b| or a is 0, by three operations."""
    total = a + b
    return total, b - (total - a)


def two_product(a: Node, b: Node) -> tuple[Node, Node]:
    """a b rounded, and exactly what rounding lost, where neither is below the normal numbers."""
    product = a * b
    return product, residue(a, b, product)


def residue(a: Node, b: Node, c: Node) -> Node:
    """a b - c, rounded once."""
    return Apply(PRODUCT_ERROR, (a, b, c), c.dtype)
