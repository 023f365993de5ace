"""Operators, functions and reductions of DeviceArrays of numbers in several floats."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.extended import DTYPES, numbers, opposed, unit, worst

import clmapreduce as cm

pytestmark = pytest.mark.drawn
EXACT: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "negative": (lambda a, b: -a, lambda a, b: -a),
    "abs": (lambda a, b: abs(b), lambda a, b: abs(b)),
    "minimum": (np.minimum, min),
    "maximum": (np.maximum, max),
    "where": (lambda a, b: cm.where(a < b, a, b), min),
    "where with a number": (lambda a, b: cm.where(a < 0, 3, a), lambda a, b: 3 if a < 0 else a),
    "comparison": (lambda a, b: a >= b, lambda a, b: a >= b),
    "comparison with a number": (lambda a, b: a > 0.5, lambda a, b: a > 0.5),
}
ROUNDED: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (lambda a, b: a + b, lambda a, b: a + b),
    "subtract": (lambda a, b: a - b, lambda a, b: a - b),
    "multiply": (lambda a, b: a * b, lambda a, b: a * b),
    "divide": (lambda a, b: a / b, lambda a, b: a / b),
    "square": (lambda a, b: a**2, lambda a, b: a * a),
    "with an integer": (lambda a, b: (2**62 + 1) - a, lambda a, b: 2**62 + 1 - a),
    "with a float": (lambda a, b: 0.1 * a, lambda a, b: Fraction(0.1) * a),
}


@pytest.fixture(params=["dd", "qd"])
def dtype(request: pytest.FixtureRequest) -> Any:
    return DTYPES[request.param]


def test_single_numbers_on_a_device(context: cm.Context) -> None:
    """They print and convert as those in host memory; messages and texts call the dtype by its name."""
    number = cm.array(cm.extended(["0.1", "2.5"]), context)
    total = number.sum()
    assert float(total) == 2.6 and int(total) == 2 and f"{total:.30f}" == "2.600000000000000000000000000000"
    assert repr(total).startswith("DeviceArray(2.600000000000000000000000000000, dtype=cm.dd, device=")
    assert "dtype=cm.dd" in repr(number) and "cm.dd" in number._repr_html_()
    with pytest.raises(cm.DTypeError, match=r"dtype cm\.dd is no number"):
        total.item()
    with pytest.raises(cm.DTypeError, match="no int"):
        int(cm.array(cm.extended("inf"), context))


@pytest.mark.parametrize("name", EXACT)
def test_exact_operations(context: cm.Context, rng: np.random.Generator, dtype: Any, name: str) -> None:
    a = numbers(rng, 257, dtype, powers=8)
    b = opposed(rng, a)
    b[::3] = a[::3]
    function, exact = EXACT[name]
    result = function(cm.array(a, context), cm.array(b, context))
    true = list(map(exact, cm.exact(a), cm.exact(b)))
    assert isinstance(result, cm.DeviceArray) and result.dtype == (bool if "comparison" in name else dtype)
    assert list(result.to_numpy() if "comparison" in name else cm.exact(result.to_numpy())) == true


@pytest.mark.parametrize("name", ROUNDED)
def test_rounded_operations(context: cm.Context, rng: np.random.Generator, dtype: Any, name: str) -> None:
    """The greatest of the bounds of maps; sums are compared with what is added."""
    a = numbers(rng, 257, dtype, powers=8)
    b = opposed(rng, a)
    function, exact = ROUNDED[name]
    result = function(cm.array(a, context), cm.array(b, context))
    assert isinstance(result, cm.DeviceArray) and result.dtype == dtype
    bound = {2: 16, 4: 64}[len(dtype)] * unit(dtype) ** len(dtype)
    sizes = [abs(x) + abs(y) for x, y in zip(cm.exact(a), cm.exact(b), strict=True)]
    worst(result.to_numpy(), map(exact, cm.exact(a), cm.exact(b)), bound, sizes if name in ("add", "subtract") else None)


def test_reductions_of_arrays(context: cm.Context, rng: np.random.Generator, dtype: Any) -> None:
    x = numbers(rng, 5 * 67, dtype, powers=8).reshape(5, 67)
    array, exact = cm.array(x, context), cm.exact(x)
    bound, size = (8 * x.size + 500) * unit(dtype) ** len(dtype), sum(map(abs, exact.ravel()))

    def check(result: Any, true: Any) -> None:
        values = list(np.ravel(true))
        assert isinstance(result, cm.DeviceArray) and result.dtype == dtype
        worst(result.to_numpy(), values, bound, [size] * len(values))

    for axis in (None, 0, 1):
        check(array.sum(axis=axis), exact.sum(axis=axis))
        check(array.mean(axis=axis), exact.mean(axis=axis))
        assert np.array_equal(cm.exact(array.max(axis=axis).to_numpy()), exact.max(axis=axis))
        assert np.array_equal(cm.exact(array.min(axis=axis).to_numpy()), exact.min(axis=axis))
    check(array[1:, ::2].sum(), exact[1:, ::2].sum())
    check(array.reshape(-1).cumsum(), np.cumsum(exact))
    floats = x[dtype.names[0]].copy()
    size *= 2
    check(cm.array(floats, context).sum(dtype=dtype), sum(map(Fraction, floats.ravel().tolist())))


def test_conversions_of_arrays(context: cm.Context, rng: np.random.Generator, dtype: Any) -> None:
    x = numbers(rng, 99, dtype, powers=8)
    array = cm.array(x, context)
    assert np.array_equal(array.astype("f8").to_numpy(), x[dtype.names[0]])
    assert list(cm.exact(array.astype(cm.qd).to_numpy())) == list(cm.exact(x))
    floats = x[dtype.names[0]].copy()
    assert list(cm.exact(cm.array(floats, context).astype(dtype).to_numpy())) == list(map(Fraction, floats.tolist()))
    both = cm.concatenate([array, cm.array(floats, context)])
    assert list(cm.exact(both.to_numpy())) == [*cm.exact(x), *map(Fraction, floats.tolist())]


def test_what_arrays_refuse(context: cm.Context) -> None:
    a, q = cm.array(cm.extended([1, 2]), context), cm.array(cm.extended([1, 2], cm.qd), context)
    for call in (lambda: a + q, lambda: cm.where(a > 0, a, q)):
        with pytest.raises(cm.DTypeError, match="two extended dtypes"):
            call()
    with pytest.raises(cm.DTypeError, match=r"real and \.imag"):
        a + 1j
    with pytest.raises(cm.DTypeError, match="exp is not offered"):
        np.exp(a)
    with pytest.raises(cm.DTypeError, match="variance"):
        a.var()


def test_arrays_print_all_of_their_digits(context: cm.Context) -> None:
    thirds = cm.array(np.arange(1, 3.0), context).astype(cm.dd) / 3
    digits = "[0.3333333333333333333333333333333 0.6666666666666666666666666666667]"
    assert str(thirds) == f"{thirds}" == digits
    assert repr(thirds).startswith(f"DeviceArray({digits}, dtype=cm.dd") and digits in thirds._repr_html_()
    assert str(thirds.reshape(2, 1)) == digits.replace(" ", "]\n [").replace("[0.3", "[[0.3") + "]"
    assert "..." in str(cm.zeros((40, 30), "f8", context=context).astype(cm.dd)), "long ones are cut"
    assert str(cm.zeros((0, 3), "f8", context=context).astype(cm.qd)) == "[]"
