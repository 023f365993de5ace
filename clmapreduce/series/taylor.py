"""Power series: Σ coefficient[k] · xᵏ, by unfold → map → reduce for one x, all terms in one item for each of many."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import factorial
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Argument, Arguments, Signature, gather
from clmapreduce.calls.call import check_out
from clmapreduce.calls.empty import empty_results
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import prepare
from clmapreduce.calls.progress import followed
from clmapreduce.calls.tracing import check_device
from clmapreduce.checks import dtype_of, switch
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.dtypes import FLOAT32, FLOAT64, DType, is_extended
from clmapreduce.errors import DTypeError, ShapeError
from clmapreduce.formula.formula import Access
from clmapreduce.formula.functions import cast
from clmapreduce.math import where
from clmapreduce.planning.lines import PowerSeriesRequest
from clmapreduce.planning.mode import choose_mode
from clmapreduce.primitives.map import Map
from clmapreduce.primitives.reduce import Reduce, delivered
from clmapreduce.series.functions.sums import power_sum
from clmapreduce.series.sequences import POWERS, conversion, default_dtype, factorials, largest_factorial

_TERMS = Map(lambda coefficient, power: where(coefficient == 0, 0, coefficient * power)) >> Reduce("sum")
_QUOTIENT = Map(lambda derivative, factorial: derivative / factorial)


@lru_cache(maxsize=8)
def _shift(dtype: DType, wide: DType) -> Map:
    """x − center, rounded once."""
    return Map(lambda x, center: cast(cast(x, wide) - cast(center, wide), dtype))


@followed
def power_series(
    derivatives: Any,
    x: Any,
    center: Any = 0.0,
    *,
    dtype: Any = None,
    digits: Any = None,
    return_error: bool = False,
    mode: str = "auto",
    context: Context | None = None,
    wait_for: Sequence[Any] = (),
    out: Any = None,
    progress: Any = None,
) -> Any:
    """Σ f⁽ᵏ⁾(center) (x − center)ᵏ / k! over `derivatives` (terms,): one value per x, a scalar for a scalar x.

    dtype: of the computation, float32 or float64; the default is the dtype of the arrays, else float64 (float32 on a
    device without it). A scalar x runs unfold → map → reduce; an array of x runs all points in one launch, each with
    its terms in order. Raises ShapeError for derivatives that are not a vector, DTypeError for more derivatives than
    the device's widest float has factorials (171 in float64).

    Sums are computed in more words than the result has if dtype or an argument is `cm.dd`, `cm.qd`, `cm.df` or `cm.qf`,
    and with `digits` or `return_error`. digits: the number of right digits, which chooses the dtype. A LostDigits
    warning says if terms cancel so much that fewer digits are right; for this check the call waits for results on a
    device. return_error: also returns an error estimate for each sum, in float64 or float32: the magnitude of the last
    term that is not 0, plus a bound on rounding.
    """
    with_error = switch(return_error, "return_error")
    if with_error or digits is not None or is_many([dtype, derivatives, x, center]):
        values = [x, center, derivatives]
        total, error = power_sum(inverse_factorial, None, values, digits, dtype, Options(mode, context, wait_for, out))
        return (total, error) if with_error else total
    arguments, home, working = checked([x, center], derivatives, dtype, mode, context, out)
    orders = gather([derivatives], home).inputs[0].value
    if np.ndim(orders) != 1:
        raise ShapeError(f"derivatives must be a vector of f(c), f'(c), f''(c), …; its shape is {np.shape(orders)}")
    table = array(orders, home)
    if orders.size:
        divisors = array(factorials(orders.size - 1, dtype=default_dtype(home), context=home), home)
        table = in_dtype(_QUOTIENT(table, divisors, wait_for=wait_for), working)
    points = arguments.inputs[0].value
    if not (isinstance(center, (int, float)) and center == 0):
        points = _shift(working, default_dtype(home))(x, center, context=home, wait_for=wait_for)
    on_device = arguments.on_device or isinstance(orders, DeviceArray)
    return summed(table, points, working, Options(mode, home, wait_for, out), on_device)


def inverse_factorial(k: int) -> Fraction:
    """1 / k!"""
    return Fraction(1, factorial(k))


def is_many(values: Sequence[Any]) -> bool:
    """Whether a dtype or an array's is one of numbers in several floats."""
    dtypes = [getattr(value, "dtype", value) for value in values]
    return any(isinstance(dtype, np.dtype) and is_extended(dtype) for dtype in dtypes)


def checked(
    points: Sequence[Any], derivatives: Any, dtype: Any, mode: str, context: Context | None, out: Any
) -> tuple[Arguments, Context, DType]:
    """The points, their home and the dtype of the computation, after every check that can be made before a launch."""
    arrays = gather(points, context)
    table = gather([derivatives], arrays.context if arrays.on_device else context)
    home = table.context if table.on_device else arrays.context
    if home is not arrays.context:
        arrays = gather(points, home)
    for argument in (*arrays.inputs, *table.inputs):
        if argument.signature.dtype.kind not in "biuf":
            raise DTypeError(f"power series take real numbers, not {argument.signature.dtype}")
    working = working_dtype(dtype, [points[0], derivatives], home)
    choose_mode(mode, home.facts)
    check_out(out, [(arrays.shape, working)], home)
    return arrays, home, working


def summed(table: DeviceArray, x: Any, dtype: DType, options: Options, on_device: bool) -> Any:
    """Σ table[k] xᵏ in `dtype`, (terms,) of that dtype on the device, for a scalar or an array of x.

    A coefficient 0 adds nothing, also where the power has left the dtype's range.
    """
    home = options.context
    assert home is not None
    points = in_dtype(x, dtype) if isinstance(x, DeviceArray) else np.asarray(x, dtype=dtype)
    if points.shape == () and table.size:
        return _one_point(table, points, dtype, options, on_device)
    pair = (Argument(points, Signature(dtype, Access.VECTOR)), Argument(table, Signature(dtype, Access.SINGLE)))
    arguments = Arguments(home, pair, points.shape, on_device)
    outputs = [(points.shape, dtype)]
    if arguments.length == 0:
        return empty_results(arguments, outputs, options)[0]
    mode = choose_mode(options.mode, home.facts)
    box = options.box("power_series", mode, home)
    request = PowerSeriesRequest(dtype, table.size, arguments.length, mode, box)
    executable = home.executable(request)
    return prepare(arguments, executable, outputs, options).run()[0]


def _one_point(table: DeviceArray, x: Any, dtype: DType, options: Options, on_device: bool) -> Any:
    """Unfold, then map and reduce in one pass; nothing leaves the device in between."""
    home = options.context
    point = array(x, home)
    powers = POWERS(point, table.size, mode=options.mode, wait_for=options.wait_for)
    total = _TERMS(table, powers, mode=options.mode, out=options.out if isinstance(options.out, DeviceArray) else None)
    if isinstance(options.out, DeviceArray) or (on_device and options.out is None):
        return total
    arguments = Arguments(total.context, (), (), False)
    return delivered(total.to_numpy(), dtype, arguments, options.out)


def in_dtype(x: DeviceArray, dtype: DType) -> DeviceArray:
    """`x` itself, or converted."""
    converted: DeviceArray = x if x.dtype == dtype else conversion(dtype)(x)
    return converted


def working_dtype(dtype: Any, values: Sequence[Any], context: Context) -> DType:
    """The dtype that was passed, else that of the arrays (integers compute in the default), else the default."""
    floats = [g.dtype for g in values if isinstance(getattr(g, "dtype", None), np.dtype) and g.dtype.kind == "f"]
    working: DType = default_dtype(context)
    if dtype is not None:
        working = dtype_of(dtype)
    elif floats:
        working = np.result_type(*floats)
    if working not in (FLOAT32, FLOAT64):
        raise DTypeError(f"power series compute in float32 or float64, not {working}")
    check_device([working], context)
    return working


def most_terms(context: Context) -> int:
    """How many coefficients 1/k! the device's widest float tells from 0."""
    return largest_factorial(default_dtype(context)) + 1
