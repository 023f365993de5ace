"""Numbers in several floats from texts, decimals, fractions, integers and mpmath's numbers, and back."""

from __future__ import annotations

import pickle
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.extended import DTYPES, numbers, unit, worst

import clmapreduce as cm

pytestmark = pytest.mark.drawn


@pytest.mark.parametrize("dtype", DTYPES.values())
def test_each_value_becomes_the_nearest_words(dtype: Any, rng: np.random.Generator) -> None:
    """The first is the value rounded, the next what is left rounded: each leaves a factor of u."""
    for value in [Fraction(1, 10), *(Fraction(int(n), 3**20) for n in rng.integers(-(2**62), 2**62, 99))]:
        words, rest = cm.extended(value, dtype), value
        assert abs(cm.exact(words) - value) <= unit(dtype) ** len(dtype) * abs(value)
        for word in words.item():
            assert abs(rest - Fraction(word)) <= unit(dtype) * abs(rest)
            rest -= Fraction(word)


@pytest.mark.parametrize(("dtype", "digits"), [("df", 14), ("dd", 31), ("qf", 28), ("qd", 60)])
def test_single_numbers_print_all_of_their_digits(
    dtype: str, digits: int, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    """As Decimals do, whatever made the number, and from arrays whose dtype has the same fields alone."""
    kind = DTYPES[dtype]
    x = numbers(rng, 33, kind)
    total = cm.Reduce("sum")(x, context=context, mode=mode)
    plain = x.astype([(name, kind[0]) for name in kind.names])
    assert type(plain[0]) is np.void
    same = cm.Reduce("sum")(plain, context=context, mode=mode)
    scanned = cm.Scan("sum")(plain, context=context, mode=mode)[-1]
    for number in (x[0], total, same, scanned, cm.array(plain, context).to_numpy()[5], pickle.loads(pickle.dumps(total))):
        exact = cm.exact(number, Decimal)
        assert str(number) == str(Context(prec=digits).create_decimal(exact)) == cm.exact(number, str, digits=digits)
        assert repr(number) == f"<cm.{dtype} {number}>" and f"{number}" == str(number)
        assert f"{number:+.70f}" == f"{exact:+.70f}"
        assert float(number) == float(exact) and int(number) == int(exact)
    assert [str(v) for v in cm.extended(["inf", "nan", "-0", 5], kind)] == ["Infinity", "NaN", "-0", "5"]
    assert str(cm.extended("0.1", cm.qd)) == "0." + "1".ljust(60, "0")


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
    with pytest.raises(cm.DTypeError, match=r"cm.exact cannot make .*list"):
        cm.exact(tenth, list)


@pytest.mark.parametrize("dtype", [cm.dd, cm.qd])
def test_exact_values_and_back(rng: np.random.Generator, dtype: Any) -> None:
    """What is converted to exact values and back has the same value."""
    x = numbers(rng, 257, dtype, powers=300)
    for kind in (Fraction, Decimal, str):
        values = cm.exact(x, kind)
        assert values.shape == (257,) and type(values[0]) is kind
        back = cm.extended(values, dtype)
        assert list(cm.exact(back)) == list(cm.exact(x)), kind


def test_texts_and_what_no_fraction_is() -> None:
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


@pytest.mark.parametrize("target", DTYPES.values())
@pytest.mark.parametrize("source", DTYPES.values())
def test_from_one_dtype_to_another(
    context: cm.Context, mode: str, rng: np.random.Generator, source: Any, target: Any
) -> None:
    """Exact where the target has as many digits and words as great, else within a factor 2 of its last digit."""
    x = numbers(rng, 499, source, powers=4)
    result = cm.Map(lambda a: a.astype(target))(x, context=context, mode=mode)
    assert result.dtype == target
    exact = source[0] == target[0] and len(source) <= len(target)
    worst(result, cm.exact(x), Fraction(0) if exact else 2 * unit(target) ** len(target))


@pytest.mark.parametrize("dtype", DTYPES.values())
def test_from_and_to_plain_numbers(context: cm.Context, mode: str, rng: np.random.Generator, dtype: Any) -> None:
    x = numbers(rng, 499, dtype, powers=4)
    floats = cm.Map(lambda a: a.astype(dtype[0]))(x, context=context, mode=mode)
    np.testing.assert_array_equal(floats, x[dtype.names[0]])
    wide = cm.Map(lambda a: a.astype("float64"))(x, context=context, mode=mode)
    assert all(abs(Fraction(w) - v) <= unit(cm.dd) * abs(v) * 2 for w, v in zip(wide.tolist(), cm.exact(x), strict=True))
    floats = rng.standard_normal(499)
    result = cm.Map(lambda x: x.astype(dtype))(floats, context=context, mode=mode)
    worst(result, map(Fraction, floats.tolist()), Fraction(0) if dtype != cm.df else 2 * unit(cm.df) ** 2)
    for code in ("i4", "u2", "u8", "i8", "?"):
        if dtype != cm.df or code not in ("u8", "i8"):
            k = rng.integers(0, 2, 499) > 0 if code == "?" else np.frombuffer(rng.bytes(499 * int(code[1])), code)
            result = cm.Map(lambda k: k.astype(dtype))(k, context=context, mode=mode)
            assert cm.exact(result).tolist() == k.tolist(), code


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
