"""What cm.series' functions refuse, before a launch and with the limit in the message."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

S = cm.series
OUTSIDE: dict[str, Any] = {
    "log": -1e-300, "log1p": -1.5, "asin": 1.0000001, "acos": [0.5, -2.0], "atanh": 2, "acosh": 0.5, "sqrt": [[4.0], [-4.0]],
    "gamma": -3,
}  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_points_outside_the_domain(name: str, context: cm.Context) -> None:
    x = OUTSIDE[name]
    worst = min(np.ravel(x)) if name != "asin" else x
    with pytest.raises(cm.ArgumentError, match=rf"{name}\({float(worst)!r}\) is outside the domain".replace("+", r"\+")):
        getattr(S, name)(x, context=context)


def test_lower_words_decide_where_first_ones_are_on_the_edge(context: cm.Context) -> None:
    if not context.device.fp64:
        pytest.skip("needs float64")
    edge = np.zeros(1, cm.dd)
    edge["hi"], edge["lo"] = 1, 1e-20
    with pytest.raises(cm.ArgumentError, match="outside"):
        S.acos(edge, context=context)
    edge["lo"] = -1e-20
    assert cm.exact(S.acos(edge, context=context), float)[0] == pytest.approx(np.sqrt(2e-20), rel=1e-9)


def test_negative_numbers_have_whole_powers_only(context: cm.Context) -> None:
    with pytest.raises(cm.ArgumentError, match=r"power\(-2.0, 0.5\).*y whole"):
        S.power([1.0, -2.0], 0.5, context=context)
    assert S.power(-2.0, 3, context=context) == -8


@pytest.mark.parametrize("digits", [0, 61, -3, 2.5, "30", True])
def test_digits(digits: Any, context: cm.Context) -> None:
    for call in (S.exp, S.zeta, S.pi, lambda x, **how: S.power_series([1.0], x, **how)):
        with pytest.raises(cm.ArgumentError, match=r"digits is .* from 1 to 60"):
            call(*([] if call is S.pi else [2.0]), digits=digits, context=context)


@pytest.mark.parametrize(("dtype", "most"), [("f4", 7), ("f8", 16), (cm.df, 14), (cm.dd, 31), (cm.qf, 28)])
def test_dtypes_without_the_digits(dtype: Any, most: int, context: cm.Context) -> None:
    if np.dtype(dtype).itemsize // len(np.dtype(dtype).names or "x") == 8 and not context.device.fp64:
        pytest.skip("needs float64")
    assert S.exp(1.0, digits=most, dtype=dtype, context=context).dtype == dtype
    with pytest.raises(cm.DTypeError, match=rf"holds {most} digits, not {most + 1}"):
        S.exp(1.0, digits=most + 1, dtype=dtype, context=context)


def test_dtypes_that_are_none(context: cm.Context) -> None:
    for dtype in ("i4", "f2", "c8", [("a", "f4")]):
        with pytest.raises(cm.DTypeError, match="compute in float32"):
            S.log(1.0, dtype=dtype, context=context)
    for x in ("x", None, np.array(["a"]), [1, "x"], np.zeros(2, [("a", "f4")])):
        with pytest.raises((cm.DTypeError, cm.ShapeError)):
            S.log(x, context=context)
    for name in ("erf", "gamma", "zeta", "bessel_j0", "asin", "cbrt", "expm1"):
        with pytest.raises(cm.DTypeError, match="takes real numbers; complex ones are for exp"):
            getattr(S, name)(1j, context=context)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda how: S.exp(1.0, 10, digits=15, **how), "terms=10 cannot reach 15 digits at x = 1.0, which takes 17"),
        (lambda how: S.sin([0.5, -3.0], 4, digits=10, **how), "terms=4 cannot reach 10 digits at x = -3.0"),
        (lambda how: S.log1p(1.5, 10, digits=8, **how), "no number of terms reaches 8 digits at x = 1.5"),
        (lambda how: S.geometric(-2.0, 10, digits=8, **how), "no number of terms reaches"),
    ],
)
def test_terms_that_cannot_reach_the_digits(call: Callable[[Any], Any], words: str, context: cm.Context) -> None:
    with pytest.raises(cm.ArgumentError, match=words):
        call({"context": context})
    with pytest.raises(cm.ArgumentError, match="host memory"):
        S.exp(cm.array(np.float32([1]), context), 30, digits=7)


def test_the_number_of_terms_in_a_message_is_enough(context: cm.Context) -> None:
    if not context.device.fp64:
        pytest.skip("needs float64")
    with pytest.raises(cm.ArgumentError, match="takes 28;"):
        S.exp(1.0, 27, digits=30, context=context)
    e = Fraction("2.718281828459045235360287471352662497757")
    assert abs(cm.exact(S.exp(1.0, 28, digits=30, context=context)) - e) < Fraction(1, 10**29)


def test_decimals_beyond_the_range_of_float64(context: cm.Context) -> None:
    """They would be infinite or 0, and logarithms with them. Infinities and zeros themselves are arguments."""
    if not context.device.fp64:
        pytest.skip("needs float64")
    for x in (10**400, "1e400", Decimal("-1e-400"), Fraction(1, 10**350), [1, 10**400], ["1", "1e-400"], "1e-5000"):
        for digits in (None, 40):
            with pytest.raises(cm.DTypeError, match=r"beyond the range of float64, 4.94e-324 to 1.8e\+308; scale"):
                S.atan(x, digits=digits, context=context)
    assert S.atan(["inf", "-0", "0.0", 0, "1e308"], context=context).tolist() == [np.pi / 2, 0, 0, 0, np.pi / 2]


def test_integers_of_any_length_in_lists(context: cm.Context) -> None:
    if not context.device.fp64:
        pytest.skip("needs float64")
    for x in ([2**100, 1], np.array([2**100, 1], object), np.array([[2**100, 1]], object)):
        np.testing.assert_array_equal(np.ravel(S.sqrt(x, context=context)), [2.0**50, 1])
    small = S.sqrt(np.array([4, 9.0, "16"], object), digits=20, context=context)
    assert small.dtype == cm.dd and cm.exact(small).tolist() == [2, 3, 4]
    with pytest.raises(cm.DTypeError, match="None is no number"):
        S.sqrt(np.array([4, None]), context=context)


def test_numbers_beyond_the_range_of_words_of_float32(context: cm.Context) -> None:
    for x in (1e39, [1.0, -1e300], 10**40, "1e39", 1e-39, "1e-60", [0.0, 1e-300]):
        with pytest.raises(cm.DTypeError, match="beyond the range of float32"):
            S.atan(x, dtype=cm.qf, context=context)
    assert np.isposinf(S.exp(200.0, dtype=cm.df, context=context)["hi"])
    assert np.isposinf(S.exp(np.inf, dtype=cm.df, context=context)["hi"])


@pytest.mark.parametrize("kind", [str, Decimal, Fraction])
def test_decimals_are_taken_exactly(kind: Any, context: cm.Context) -> None:
    """sqrt(1.44) is 1.2 to 60 digits of the decimal, to 17 of the float64."""
    if not context.device.fp64:
        pytest.skip("needs float64")
    result = S.sqrt(kind("1.44"), digits=60, context=context)
    assert abs(cm.exact(result) - Fraction("1.2")) < Fraction(1, 10**59)
    values = [kind("1.44"), kind("0.01")]
    many = S.sqrt(np.array(values, object) if kind is Decimal else values, digits=20, context=context)
    assert cm.exact(many, str, digits=19).tolist() == ["1.200000000000000000", "0.1000000000000000000"]
    assert S.sqrt(kind("1.44"), context=context) == 1.2
