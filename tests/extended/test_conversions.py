"""Numbers in two floats from texts, decimals, fractions, integers and mpmath's numbers, and back."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.extended import numbers, unit

import clmapreduce as cm


@pytest.mark.parametrize("dtype", [cm.dd, cm.df])
def test_each_value_becomes_the_nearest_words(dtype: Any, rng: np.random.Generator) -> None:
    """The first is the value rounded, the second what is left rounded: off by u² at most."""
    for value in [Fraction(1, 10), *(Fraction(int(n), 3**20) for n in rng.integers(-(2**62), 2**62, 99))]:
        words = cm.extended(value, dtype)
        assert words["hi"] == dtype[0].type(float(value)) and abs(cm.exact(words) - value) <= unit(dtype) ** 2 * abs(value)


def test_kinds_of_values() -> None:
    tenth = cm.extended("0.1")
    assert tenth.dtype == cm.dd and tenth.shape == ()
    assert (cm.extended([Decimal("0.1"), Fraction(1, 10), " 1e-1 "]) == tenth).all()
    assert cm.exact(cm.extended(2**100 + 3)) == 2**100 + 3
    assert cm.exact(cm.extended([[0.5, -2.0]])).tolist() == [[Fraction(1, 2), Fraction(-2)]]
    assert np.isnan(cm.extended("nan")["hi"]) and cm.extended("-inf")["hi"] == -np.inf
    assert np.signbit(cm.extended(["-0.0", "-0"])["hi"]).all()
    assert cm.exact(cm.extended(np.longdouble(1) / 3)) == Fraction(*(np.longdouble(1) / 3).as_integer_ratio())
    assert cm.extended(tenth, cm.df)["hi"] == np.float32(0.1)


def test_exact_values_and_back(rng: np.random.Generator) -> None:
    """What is converted to exact values and back has the same words."""
    x = numbers(rng, 257, powers=300)
    for kind in (Fraction, Decimal, str):
        values = cm.exact(x, kind)
        assert values.shape == (257,) and type(values[0]) is kind
        back = cm.extended(values)
        assert list(cm.exact(back)) == list(cm.exact(x)), kind
    assert cm.exact(cm.extended("0.1"), str, digits=20) == "0.10000000000000000000"
    assert cm.exact(cm.extended(["inf", "nan", "-0.0"]), str).tolist() == ["Infinity", "NaN", "-0"]
    infinite, undefined = cm.exact(cm.extended([-np.inf, np.nan]))
    assert infinite == -np.inf and np.isnan(undefined)


def test_numbers_of_mpmath(rng: np.random.Generator) -> None:
    mpmath = pytest.importorskip("mpmath")
    x = numbers(rng, 99)
    with mpmath.workprec(400):
        values = cm.exact(x, mpmath.mpf)
        assert (cm.extended(values) == x).all()
        assert all(mpmath.mpf(v.numerator) / v.denominator == w for v, w in zip(cm.exact(x), values, strict=True))
        words = cm.exact(cm.extended(mpmath.pi + 0), mpmath.mpf)
        assert abs(words - mpmath.pi) <= mpmath.mpf(2) ** -105
    assert cm.extended(mpmath.mpf("-inf"))["hi"] == -np.inf


def test_casts_in_formulas(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = numbers(rng, 999)
    floats = cm.Map(lambda a: a.astype("float64"))(x, context=context, mode=mode)
    assert floats.tolist() == x["hi"].tolist()
    shorter = cm.Map(lambda a: a.astype(cm.df))(x, context=context, mode=mode)
    for value, true in zip(cm.exact(shorter), cm.exact(x), strict=True):
        assert abs(value - true) <= 2 * unit(cm.df) ** 2 * abs(true)
    longer = cm.Map(lambda a: a.astype(cm.dd))(shorter, context=context, mode=mode)
    assert list(cm.exact(longer)) == list(cm.exact(shorter))
    k = rng.integers(-(2**63), 2**63, 999)
    assert cm.exact(cm.Map(lambda k: k.astype(cm.dd))(k, context=context, mode=mode)).tolist() == k.tolist()


@pytest.mark.parametrize("wrong", ["abc", "", "-", "1.2.3", None, 1j, object()])
def test_what_is_no_number_is_refused_by_name(wrong: Any) -> None:
    with pytest.raises(cm.DTypeError, match="is no number"):
        cm.extended(wrong)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(cm.DTypeError, match="not float64"):
        cm.extended(1.0, "float64")
    with pytest.raises(cm.DTypeError, match="different lengths"):
        cm.extended([np.zeros((2, 2)), np.zeros((2, 3))])
    with pytest.raises(cm.DTypeError, match="not of float64"):
        cm.exact(1.0)
    with pytest.raises(cm.ArgumentError, match="precision of its own"):
        cm.exact(cm.extended(1), digits=3)
    with pytest.raises(cm.ShapeError, match="digits is 0"):
        cm.exact(cm.extended(1), str, digits=0)
