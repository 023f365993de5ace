"""Series: powers, factorials and power series from unfold, map, reduce and kept partials, as the third seed tells."""

from __future__ import annotations

import math as pymath
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clmapreduce.array import DeviceArray, array, host_array
from clmapreduce.choose import choose_mode
from clmapreduce.context import Context, current_context
from clmapreduce.domain.line import Line
from clmapreduce.dtypes import FLOAT32, FLOAT64, DType
from clmapreduce.errors import DTypeError, ShapeError
from clmapreduce.formula.formula import Access
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Node, index
from clmapreduce.plan import Plan
from clmapreduce.arguments import Arguments, Given, Signature
from clmapreduce.primitives.base import Options, check_device, prepare
from clmapreduce.primitives.empty import empty_results
from clmapreduce.primitives.map import Map
from clmapreduce.primitives.partials import Partials
from clmapreduce.primitives.reduce import Reduce
from clmapreduce.primitives.unfold import Unfold, based
from clmapreduce.schemes.power_series import plan_power_series

_POWERS = Unfold("product", _first_power=0)
_TERMS = Map(lambda coefficient, power: coefficient * power) >> Reduce("sum")


def powers(
    base: Any,
    n: int,
    *,
    dtype: Any = None,
    mode: str = "auto",
    context: Context | None = None,
    wait_for: Sequence[Any] = (),
    out: Any = None,
) -> Any:
    """base⁰, base¹, …, baseⁿ: (n+1,) of the base's dtype, or `dtype`. 0⁰ is 1.

    Raises ShapeError for n < 0, DTypeError naming the largest n that fits when an integer power leaves the range of its
    dtype.
    """
    _check_order(n, "n")
    number = base if isinstance(base, DeviceArray) else based(base, None if dtype is None else np.dtype(dtype))
    if isinstance(number, np.generic) and number.dtype.kind in "iu":
        _check_integer_power(int(number), n, number.dtype)
    return _POWERS(number, n + 1, dtype=dtype, mode=mode, context=context, wait_for=wait_for, out=out)


def factorials(
    n: int,
    *,
    dtype: Any = None,
    mode: str = "auto",
    context: Context | None = None,
    wait_for: Sequence[Any] = (),
    out: Any = None,
) -> Any:
    """0!, 1!, …, n!: (n+1,) of `dtype` (default float64, float32 on a device without it).

    The integers 1 … n are a map over the index; a reduce by products keeps its partials; each factorial is the product
    of the partials that the bits of its number name. Raises DTypeError naming the largest n that fits: 12 for int32, 20
    for int64, 34 for float32, 170 for float64.
    """
    _check_order(n, "n")
    home = context or current_context()
    wanted = _default_dtype(home) if dtype is None else np.dtype(dtype)
    check_device([wanted], home)
    largest = largest_factorial(wanted)
    if n > largest:
        raise DTypeError(f"{n}! does not fit {wanted}; the largest n that fits is {largest}")
    kept = (Map(_counting(wanted)) >> Partials("product"))(length=n, mode=mode, context=home, wait_for=wait_for)
    products = kept.prefix(mode=mode)
    if out is None and products.dtype == wanted:
        return products
    return Map(_conversion(wanted))(products, mode=mode, context=home, out=out)


def power_series(
    derivatives: Any, x: Any, center: Any = 0.0, *, dtype: Any = None, mode: str = "auto",
    context: Context | None = None, wait_for: Sequence[Any] = (), out: Any = None,
) -> Any:  # fmt: skip
    """Σ f⁽ᵏ⁾(center) (x − center)ᵏ / k! over the derivatives given, (terms,): one value per x, a scalar for a scalar x.

    dtype: of the computation; default that of the arrays given, else float64 (float32 on a device without it). A scalar
    x runs unfold → map → reduce; an array of x runs all points in one launch, each walking its terms in order.
    """
    home = x.context if isinstance(x, DeviceArray) else context or current_context()
    orders = derivatives.to_numpy() if isinstance(derivatives, DeviceArray) else np.asarray(derivatives)
    if orders.ndim != 1:
        raise ShapeError(f"derivatives must be a vector of f(c), f'(c), f''(c), …; its shape is {orders.shape}")
    wanted = _working_dtype(dtype, [x, derivatives], home)
    coefficients = np.array([_over_factorial(d, k) for k, d in enumerate(orders.tolist())], dtype=np.float64)
    points = x if _is_zero(center) else Map(lambda t, c: t - c)(x, center, context=home)
    return _summed(coefficients, points, wanted, mode, home, wait_for, out)


def _over_factorial(derivative: float, k: int) -> float:
    """derivative / k!, without overflow where k! leaves float64."""
    if k <= 170:
        return float(derivative) / pymath.factorial(k)
    sign = pymath.copysign(1.0, derivative)
    return 0.0 if derivative == 0 else sign * pymath.exp(pymath.log(abs(derivative)) - pymath.lgamma(k + 1))


def _summed(
    coefficients: Any, x: Any, dtype: DType, mode: str, home: Context, wait_for: Sequence[Any], out: Any
) -> Any:
    """Σ coefficient[k] xᵏ in `dtype`, for a scalar or an array of x."""
    if isinstance(x, DeviceArray):
        points: Any = x if x.dtype == dtype else Map(_conversion(dtype))(x, context=home)
    else:
        points = np.asarray(host_array(x), dtype=dtype)
    terms = np.asarray(coefficients, dtype=dtype)
    if points.shape == () and terms.size:
        sequence = _POWERS(points, terms.size, mode=mode, context=home, wait_for=wait_for)
        return Map(_conversion(dtype))(
            _TERMS(terms, sequence, mode=mode, context=home), mode=mode, context=home, out=out
        )
    given = (Given(points, Signature(dtype, Access.VECTOR)), Given(array(terms, home), Signature(dtype, Access.SINGLE)))
    arguments = Arguments(home, given, points.shape, isinstance(points, DeviceArray))
    options = Options(mode, home, wait_for, out)
    outputs = [(points.shape, dtype)]
    if points.size == 0:
        return empty_results(arguments, outputs, options)[0]
    chosen = choose_mode(mode, home.facts)
    box = options.box("power_series", chosen, home)
    length, count = points.size, terms.size

    def plan() -> Plan:
        return plan_power_series(dtype, count, Line(length), chosen, home.facts, box)

    executable = home.executable(("power_series", dtype, count, length, chosen, box), plan)
    return prepare(arguments, executable, outputs, options).run()[0]


def _series(name: str, formula: str, coefficient: Callable[[int], float], domain: str) -> Callable[..., Any]:
    def series(
        x: Any,
        terms: int,
        *,
        dtype: Any = None,
        mode: str = "auto",
        context: Context | None = None,
        wait_for: Sequence[Any] = (),
        out: Any = None,
    ) -> Any:
        _check_order(terms, "terms")
        home = x.context if isinstance(x, DeviceArray) else context or current_context()
        wanted = _working_dtype(dtype, [x], home)
        coefficients = np.array([coefficient(k) for k in range(terms)], dtype=np.float64)
        return _summed(coefficients, x, wanted, mode, home, wait_for, out)

    series.__name__ = series.__qualname__ = name
    series.__doc__ = f"""{formula}, the terms x⁰ … xᵗᵉʳᵐˢ⁻¹ of the power series about 0, which converges for {domain}.

    x: a scalar or an array; returns the same shape. dtype: of the computation; default that of x, else float64.
    Raises ShapeError for terms < 0.
    """
    return series


def _inverse_factorial(k: int) -> float:
    return _over_factorial(1.0, k)


exp = _series("exp", "Σ xᵏ/k!", _inverse_factorial, "every x")
sin = _series("sin", "Σ (−1)ᵏ x²ᵏ⁺¹/(2k+1)!", lambda k: (0.0, 1.0, 0.0, -1.0)[k % 4] * _inverse_factorial(k), "every x")
cos = _series("cos", "Σ (−1)ᵏ x²ᵏ/(2k)!", lambda k: (1.0, 0.0, -1.0, 0.0)[k % 4] * _inverse_factorial(k), "every x")
sinh = _series("sinh", "Σ x²ᵏ⁺¹/(2k+1)!", lambda k: (k % 2) * _inverse_factorial(k), "every x")
cosh = _series("cosh", "Σ x²ᵏ/(2k)!", lambda k: (1 - k % 2) * _inverse_factorial(k), "every x")
log1p = _series("log1p", "Σ (−1)ᵏ⁺¹ xᵏ/k", lambda k: (-1.0) ** (k + 1) / k if k else 0.0, "−1 < x ≤ 1")
atan = _series("atan", "Σ (−1)ᵏ x²ᵏ⁺¹/(2k+1)", lambda k: (0.0, 1.0, 0.0, -1.0)[k % 4] / max(k, 1), "|x| ≤ 1")
geometric = _series("geometric", "Σ xᵏ", lambda k: 1.0, "|x| < 1")


def largest_factorial(dtype: DType) -> int:
    """The largest n whose factorial `dtype` holds as a finite number."""
    if dtype.kind not in "iufc":
        raise DTypeError(f"factorials need a numeric dtype, not {dtype}")
    limit = int(np.iinfo(dtype).max) if dtype.kind in "iu" else int(np.finfo(dtype).max)
    n, value = 0, 1
    while value * (n + 1) <= limit:
        n += 1
        value *= n
    return n


def _check_order(n: Any, name: str) -> None:
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise ShapeError(f"{name} is {n!r}; it must be a whole number, 0 or more")


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


def _default_dtype(context: Context) -> DType:
    return FLOAT64 if context.facts.fp64 else FLOAT32


def _working_dtype(dtype: Any, given: Sequence[Any], context: Context) -> DType:
    """The dtype asked for, else that of the arrays given (integers compute in the default), else the default."""
    if dtype is not None:
        wanted = np.dtype(dtype)
    else:
        floats = [g.dtype for g in given if isinstance(getattr(g, "dtype", None), np.dtype) and g.dtype.kind == "f"]
        wanted = np.result_type(*floats) if floats else _default_dtype(context)
    if wanted not in (FLOAT32, FLOAT64):
        raise DTypeError(f"power series compute in float32 or float64, not {wanted}")
    check_device([wanted], context)
    return wanted


def _is_zero(center: Any) -> bool:
    return isinstance(center, (int, float)) and center == 0


_counters: dict[DType, Callable[[], Node]] = {}
_conversions: dict[DType, Callable[[Node], Node]] = {}


def _counting(dtype: DType) -> Callable[[], Node]:
    """The map that gives 1, 2, 3, … in a dtype; one per dtype, so that its kernel is found again."""
    return _counters.setdefault(dtype, lambda: cast(apply("maximum", index + 1, 1), dtype))


def _conversion(dtype: DType) -> Callable[[Node], Node]:
    """The map that converts to a dtype."""
    return _conversions.setdefault(dtype, lambda x: cast(x, dtype))
