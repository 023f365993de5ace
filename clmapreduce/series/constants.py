"""Constants by fast series: Σ a(k) r(1) … r(k) stands in the product of the 2×2 matrices [[r(k), r(k) a(k)], [0, 1]],
so that it is a reduction whose operator multiplies matrices, as in binary splitting.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from clmapreduce.calls.call import check_out
from clmapreduce.calls.progress import followed
from clmapreduce.checks import choice
from clmapreduce.device.context import Context, context_of
from clmapreduce.dtypes import QD, QF, DType, count_words, record, word_of
from clmapreduce.extended.casts import converted
from clmapreduce.extended.words import extended
from clmapreduce.formula.functions import cast
from clmapreduce.formula.node import Record, index
from clmapreduce.math import sqrt, where
from clmapreduce.primitives.map import Map
from clmapreduce.primitives.reduce import Reduce
from clmapreduce.reductions.user import Operator
from clmapreduce.series.functions.digits import MOST, goal_of
from clmapreduce.series.sequences import conversion

Whole = Callable[[Any], Any]
"""A formula of whole numbers of the index."""


@dataclass(frozen=True)
class FastSeries:
    """over, under: of r(k) = over / under for k >= 1. factor: a(k). digits: decimal ones that a term adds. value: the
    constant from the sum.
    """

    over: Whole
    under: Whole
    factor: Whole
    digits: float
    value: Callable[[Any], Any]


SERIES: dict[str, FastSeries] = {
    # D. and G. Chudnovsky, 1988
    "pi": FastSeries(
        lambda k: (6 * k - 5) * (2 * k - 1) * (1 - 6 * k), lambda k: k * k * k * 10939058860032000,
        lambda k: 13591409 + 545140134 * k, 14.1,
        lambda total: sqrt(converted(10005, total.dtype)) * 426880 / total,
    ),
    # Σ 1/k!: the first 64 give 89 digits
    "e": FastSeries(lambda k: 1, lambda k: k, lambda k: 1, 1.0, lambda total: total),
    # 2 atanh(1/3)
    "log2": FastSeries(
        lambda k: 2 * k - 1, lambda k: 9 * (2 * k + 1), lambda k: 1, 0.95, lambda total: total * 2 / 3
    ),
    # T. Amdeberhan and D. Zeilberger, 1997
    "zeta3": FastSeries(
        lambda k: -(k * k * k * k * k), lambda k: 32 * (2 * k + 1) ** 5, lambda k: 77 + k * (250 + 205 * k), 3.0,
        lambda total: total / 64,
    ),
    # Σ (-8)ᵏ (3k + 2) / (2 (2k + 1)³ C(2k, k)³), J. Guillera, 2019
    "catalan": FastSeries(
        lambda k: -(k * k * k), lambda k: (2 * k + 1) ** 3, lambda k: 3 * k + 2, 0.9, lambda total: total / 2,
    ),
}  # fmt: skip


@followed
def constant(
    name: str,
    digits: Any = None,
    *,
    dtype: Any = None,
    mode: str = "auto",
    context: Context | None = None,
    wait_for: Sequence[Any] = (),
    out: Any = None,
    progress: Any = None,
) -> Any:
    """A constant to `digits` decimal digits, 1 to 60: a scalar of float64 up to 16 digits, `cm.dd` up to 31, else
    `cm.qd`.

    name: "pi", "e", "log2", "zeta3" or "catalan". digits: the default is that of `dtype`, else of float64; dtypes are
    as for `cm.series.log`. Raises ModeError for another name, ArgumentError and DTypeError as `cm.series.log` does.
    """
    row = choice(name, "name", SERIES)
    home = context_of(context)
    goal = goal_of(digits, dtype, (), home)
    working: DType = QD if home.facts.fp64 else QF
    check_out(out, [((), goal.dtype)], home)
    terms = math.ceil((MOST + 3) / SERIES[row].digits) + 1
    matrices = _matrices(row, working)(length=terms, mode=mode, context=home, wait_for=wait_for)
    product = _product(working)(matrices, mode=mode, context=home)
    value = _value(row, working)(product, mode=mode, context=home)
    return conversion(goal.dtype)(value, mode=mode, context=home, out=out)


def pi(digits: Any = None, **options: Any) -> Any:
    """π to `digits` decimal digits, as by `constant`."""
    return constant("pi", digits, **options)


def e(digits: Any = None, **options: Any) -> Any:
    """Euler's number to `digits` decimal digits, as by `constant`."""
    return constant("e", digits, **options)


@lru_cache(maxsize=16)
def _matrices(name: str, dtype: DType) -> Map:
    """The matrices of all terms."""
    row = SERIES[name]

    def matrix() -> dict[str, Any]:
        first = index == 0
        over, under = (cast(where(first, 1, part(index)), dtype) for part in (row.over, row.under))
        ratio = over / under
        return _record(ratio, ratio * cast(row.factor(index) + 0 * index, dtype))

    return Map(matrix)


@lru_cache(maxsize=4)
def _product(dtype: DType) -> Reduce:
    """The product of matrices by their upper rows. Roundings break its laws by units of the last place."""
    names = [f"{row}{k}" for row in "rt" for k in range(count_words(dtype))]
    fields = record(dict.fromkeys(names, word_of(dtype)))
    identity = tuple(float(name == "r0") for name in names)

    def multiplied(a: Record, b: Record) -> dict[str, Any]:
        (r, t), (s, u) = _rows(a, dtype), _rows(b, dtype)
        return _record(r * s, t + r * u)

    return Reduce(Operator(multiplied, identity, fields, commutative=False, check=False))


def _record(r: Any, t: Any) -> dict[str, Any]:
    rows = {"r": r, "t": t}
    return {f"{row}{k}": word for row, number in rows.items() for k, word in enumerate(number.values())}


def _rows(a: Record, dtype: DType) -> tuple[Any, Any]:
    r, t = (extended([a[f"{row}{k}"] for k in range(count_words(dtype))]) for row in "rt")
    return r, t


@lru_cache(maxsize=16)
def _value(name: str, dtype: DType) -> Map:
    """The constant from the product."""
    return Map(lambda product: SERIES[name].value(_rows(product, dtype)[1]))
