"""The sequences that power series are made of: powers by unfold, factorials by kept partials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.calls.call import check_out
from clmapreduce.calls.progress import followed
from clmapreduce.calls.tracing import check_device
from clmapreduce.checks import dtype_of, switch, whole
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context, context_of
from clmapreduce.dtypes import FLOAT32, FLOAT64, INT32, DType, check_supported, dtype_name, is_extended, word_of
from clmapreduce.errors import DTypeError
from clmapreduce.formula.functions import cast
from clmapreduce.formula.node import Node, index
from clmapreduce.primitives.map import Map
from clmapreduce.primitives.partials import Partials
from clmapreduce.primitives.recurrences.starts import based
from clmapreduce.primitives.unfold import Unfold
from clmapreduce.series.exact import exact_factorials, exact_powers, refuse_options

POWERS = Unfold("product", _first_power=0)
"""base⁰, base¹, …: an unfold that starts one power early."""


@followed
def powers(
    base: Any,
    n: int,
    *,
    exact: bool = False,
    dtype: Any = None,
    mode: str = "auto",
    context: Context | None = None,
    wait_for: Sequence[Any] = (),
    out: Any = None,
    progress: Any = None,
) -> Any:
    """base⁰, base¹, …, baseⁿ: (n+1,) of the base's dtype, or `dtype`. 0⁰ is 1.

    exact=True: a list of Python's integers of any size, for an integer base; it takes no other keywords. Raises
    ShapeError for n < 0, DTypeError naming the largest n that fits if an integer power leaves the range of its dtype (a
    base in a DeviceArray is not checked: its powers wrap).
    """
    check_order(n, "n")
    if switch(exact, "exact"):
        refuse_options(dtype=dtype, mode=mode, context=context, wait_for=wait_for, out=out)
        return exact_powers(base, int(n))
    number = base if isinstance(base, DeviceArray) else based(base, None if dtype is None else dtype_of(dtype))
    if isinstance(number, np.generic) and number.dtype.kind in "iu":
        _check_integer_power(int(number), n, number.dtype)
    return POWERS(number, n + 1, dtype=dtype, mode=mode, context=context, wait_for=wait_for, out=out)


@followed
def factorials(
    n: int,
    *,
    exact: bool = False,
    dtype: Any = None,
    mode: str = "auto",
    context: Context | None = None,
    wait_for: Sequence[Any] = (),
    out: Any = None,
    progress: Any = None,
) -> Any:
    """0!, 1!, …, n!: (n+1,) of `dtype` (default float64, float32 on a device without it).

    Method: the integers 1 … n are a map over the index; `Partials` of their products; each factorial is a product of
    some partials, by the bits of its number. Raises DTypeError naming the largest n that fits: 12 for int32, 20 for
    int64, 34 for float32, `cm.df` and `cm.qf`, 170 for float64, `cm.dd` and `cm.qd`. exact=True: a list of Python's
    integers of any size; it takes no other keywords.
    """
    check_order(n, "n")
    if switch(exact, "exact"):
        refuse_options(dtype=dtype, mode=mode, context=context, wait_for=wait_for, out=out)
        return exact_factorials(int(n))
    home = context_of(context)
    working = default_dtype(home) if dtype is None else check_supported(dtype_of(dtype), "dtype")
    check_device([working], home)
    check_factorials(n + 1, working)
    check_out(out, [((n + 1,), working)], home)
    product = (Map(_counting(working)) >> Partials("product"))(length=n, mode=mode, context=home, wait_for=wait_for)
    products = product.prefix(mode=mode)
    if out is None and products.dtype == working:
        return products
    return conversion(working)(products, mode=mode, context=home, out=out)


def check_factorials(count: int, dtype: DType) -> None:
    """Raises DTypeError unless `dtype` holds the first `count` factorials."""
    largest = largest_factorial(dtype)
    if count > largest + 1:
        raise DTypeError(
            f"{count - 1}! does not fit {dtype_name(dtype)} (exact=True gives integers of any size); "
            f"the largest n that fits is {largest}"
        )


def largest_factorial(dtype: DType) -> int:
    """The largest n whose factorial `dtype` holds as a finite number."""
    word = word_of(dtype)
    if word.kind not in "iufc":
        raise DTypeError(f"factorials need a numeric dtype, not {dtype}")
    limit = int(np.iinfo(word).max) if word.kind in "iu" else int(np.finfo(word).max)
    n, value = 0, 1
    while value * (n + 1) <= limit:
        n += 1
        value *= n
    return n


def check_order(n: Any, name: str) -> None:
    """Raises ShapeError unless `n` is a whole number, 0 or more."""
    whole(n, name)


def default_dtype(context: Context) -> DType:
    """float64, or float32 on a device without it."""
    return FLOAT64 if context.facts.fp64 else FLOAT32


@lru_cache(maxsize=32)
def conversion(dtype: DType) -> Map:
    """The map that converts to a dtype."""
    return Map(lambda x: cast(x, dtype))


@lru_cache(maxsize=32)
def _counting(dtype: DType) -> Callable[[], Node]:
    """The formula of 1, 2, 3, … in a dtype."""
    return lambda: cast(cast(index + 1, INT32) if is_extended(dtype) else index + 1, dtype)


def _check_integer_power(base: int, n: int, dtype: DType) -> None:
    info = np.iinfo(dtype)
    if abs(base) <= 1:
        return
    largest, value = 0, 1
    while info.min <= value * base <= info.max:
        largest += 1
        value *= base
    if n > largest:
        raise DTypeError(f"{base} to the power {n} does not fit {dtype}; the largest n that fits is {largest}")
