"""Functions at a device's full speed, a few units in the last place from the exact ones, and differences of what was
rounded: for the inner loops of pairwise reductions. Each vendor spells them its own way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from clmapreduce.formula.node import Apply, Node
from clmapreduce.formula.registry import Function
from clmapreduce.formula.types import real_transcendental


def _fast(name: str, arity: int, twin: Callable[..., Any]) -> Function:
    arguments = ", ".join(f"{{{i}}}" for i in range(arity))
    spelling = f"cmr_{name}_fast_{{V}}({arguments})"
    return Function(f"{name}_fast", arity, real_transcendental, lambda dtype: spelling, twin)


EXP2_FAST = _fast("exp2", 1, np.exp2)
"""Within 2.2 ulp where the result is at least twice the least normal number; smaller ones may become 0."""
EXP2_DECAY = Function("exp2_decay", 1, real_transcendental, lambda dtype: "cmr_exp2_decay_{V}({0})", np.exp2)
"""The same for x <= 1."""
EXP2_PRODUCT = Function(
    "exp2_product", 4, real_transcendental, lambda dtype: "cmr_exp2_product_{V}({0}, {1}, {2}, {3})",
    lambda x, scale, low, high: np.exp2(x * scale),
)  # fmt: skip
"""2^(x scale) for a finite scale, the product not rounded: x is taken between low and high, where the power is 0 and
infinite, or the other way round.
"""
EXP2_PRODUCT_DECAY = Function(
    "exp2_product_decay", 3, real_transcendental, lambda dtype: "cmr_exp2_product_decay_{V}({0}, {1}, {2})",
    lambda x, scale, high: np.exp2(x * scale),
)  # fmt: skip
"""The same for x >= 0 and scale <= 0: the power is 0 from high on."""
EXP2_NEAR = Function("exp2_near", 1, real_transcendental, lambda dtype: "cmr_exp2_near_{V}({0})", np.exp2)
"""2^x by additions and multiplications alone, for |x| <= 126."""
DIVIDE_FAST = _fast("divide", 2, np.true_divide)
"""Within 2 ulp; a divisor below the normal numbers may count as 0, one whose inverse is below them as infinite."""
SQRT_FAST = _fast("sqrt", 1, np.sqrt)
"""Within 1 ulp; numbers below the normal ones may count as 0."""
RSQRT_FAST = _fast("rsqrt", 1, lambda x: 1 / np.sqrt(x))
"""1 / sqrt(x), within 2 ulp; numbers below the normal ones may count as 0."""

ROOT_FAST = _fast("root", 2, lambda x, inverse: np.sqrt(x))
"""sqrt(x) of no negative number, from 1 / sqrt(x) beside it, within 2 ulp."""

LOG_FAST = _fast("log", 1, np.log)
"""Within 3 ulp; 2e-6 of it for float32 on NVIDIA."""
SIN_FAST = _fast("sin", 1, np.sin)
COS_FAST = _fast("cos", 1, np.cos)
"""Within 2^-22 (float32) or 2^-51, sin near 0 within 3 ulp; for float32 on NVIDIA sin within 2^-20.6, near 0 5 ulp, cos
within 2^-20.9.
"""
SIN_POSITIVE_FAST = _fast("sin_positive", 1, np.sin)
"""The same for x >= 0, which is seldom near 0: a device may look at small angles one by one."""
SIN_CALLED = Function("sin_called", 1, real_transcendental, lambda dtype: "cmr_sin_called_{V}({0})", np.sin)
COS_CALLED = Function("cos_called", 1, real_transcendental, lambda dtype: "cmr_cos_called_{V}({0})", np.cos)
"""The library's, whose text is in a kernel once where it is long."""
POWER_FAST = _fast("power", 2, np.power)
"""x^y within 3 + |y| ulp, where |y| <= 32; within 2e-6 of it for float32 on NVIDIA where |y| <= 4."""
ATAN_FAST = _fast("atan", 1, np.arctan)
"""Within 4 ulp."""
FAST = {
    "sqrt": SQRT_FAST, "log": LOG_FAST, "sin": SIN_FAST, "cos": COS_FAST, "power": POWER_FAST, "arctan": ATAN_FAST,
}  # fmt: skip
"""What stands for the usual functions, by their names."""
TESTING = frozenset({LOG_FAST, SIN_FAST, SIN_POSITIVE_FAST, COS_FAST, POWER_FAST})
"""Those that look for rare arguments."""


class Quick(NamedTuple):
    """A function of float32 as hardware approximates it.

    error: its largest one near 0; 0 where the careful function is off by as much, or the error is a small share of the
    result. slope: what the error grows by with the argument's magnitude. reach: of larger arguments it is wrong. angle:
    whether its argument is an angle; of one that is too large it is NaN, where neither slope nor reach tells. scale:
    what its results are multiplied by.
    """

    function: Function
    error: float
    slope: float = 0.0
    reach: float = math.inf
    angle: bool = False
    scale: float = 1.0


def _quick(name: str, twin: Callable[..., Any]) -> Function:
    spelling = f"cmr_{name}_quick_{{V}}({{0}})"
    return Function(f"{name}_quick", 1, real_transcendental, lambda dtype: spelling, twin)


SIN_SERIES = _quick("sin", np.sin)
"""The sine by additions and multiplications alone."""
_NEAR = Quick(_quick("sin_near", np.sin), 3.5e-7, slope=1.6e-7, angle=True)
_SMALL = Quick(_quick("sin_small", np.sin), 0.0, reach=3.1415, angle=True)
_SERIES = Quick(SIN_SERIES, 0.0, angle=True)
_COSINE = Quick(_quick("cos", np.cos), 0.0, angle=True)
_LOG = Quick(_quick("log2_close", np.log2), 0.0, scale=math.log(2))
QUICK = {
    LOG_FAST: Quick(_quick("log2", np.log2), 2.0**-22 * math.log(2), scale=math.log(2)),
    SIN_FAST: _NEAR, SIN_POSITIVE_FAST: _NEAR, COS_FAST: _COSINE,
}  # fmt: skip
"""What stands for these functions in sums that check how large their terms are. Logarithms of numbers below the normal
ones are infinite; their error is that of the PTX manual for lg2.approx. On an H200 sin.approx is off by 3.5e-7 up to
pi, 6.5e-7 up to 2 pi, 1.27e-6 up to 4 pi: its product with 1 / (2 pi) is rounded, towards 0. Cosines, of angles less
whole turns, are off by 2^-20.9, as the careful ones are.
"""
SMALL = {SIN_FAST: _SMALL, SIN_POSITIVE_FAST: _SMALL}
"""What stands for these functions instead where all arguments are small, and so are the terms."""
STEADY = {LOG_FAST: _LOG, SIN_FAST: _SERIES, SIN_POSITIVE_FAST: _SERIES}
"""What stands for them where that is too rough: as exact as the careful ones, with no test. Sines of magnitudes of
4.12e5 and more are NaN, as cosines of 2.64e7 and more are.
"""
QUICK_ANYWHERE = {SIN_FAST: _SERIES, COS_FAST: _COSINE}
"""What stands for functions in which terms need not be linear, if that is faster than the careful ones."""

XLOG2X = _quick("xlog2x", lambda x: np.where(x == 0, 0, x * np.log2(np.where(x == 0, 1, x))))
"""x log2(x) by the hardware's logarithm, 0 at 0, for x >= 0."""

DIFFERENCE = Function("difference", 2, real_transcendental, lambda dtype: "cmr_difference_{V}({0}, {1})", np.subtract)
"""a - b of what a and b are rounded to: a product is not fused into it, which would leave what its rounding lost."""


def difference(a: Node, b: Node) -> Node:
    """a - b of two nodes of one of these dtypes, rounded."""
    return Apply(DIFFERENCE, (a, b), a.dtype)


def exp2_fast(x: Node) -> Node:
    """2^x of a float32 or float64 node."""
    return Apply(EXP2_FAST, (x,), x.dtype)


def exp2_near(x: Node) -> Node:
    """2^x of such a node where |x| <= 126, by additions and multiplications alone."""
    return Apply(EXP2_NEAR, (x,), x.dtype)


def divide_fast(a: Node, b: Node) -> Node:
    """a / b of two nodes of one of these dtypes."""
    return Apply(DIVIDE_FAST, (a, b), a.dtype)


def sqrt_fast(x: Node) -> Node:
    """The square root of such a node."""
    return Apply(SQRT_FAST, (x,), x.dtype)
