"""Numbers in two floats beside exact fractions: bounds on errors, special values, conversions, order, contraction."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.errors import DTypeError

U = Fraction(1, 2**53)
LENGTHS = (0, 1, 31, 33, 4099)


@pytest.fixture(autouse=True)
def needs_float64(context: cm.Context) -> None:
    if not context.device.fp64:
        pytest.skip("no float64 here")


def numbers(rng: np.random.Generator, count: int, powers: int = 40) -> Any:
    """Random numbers of all magnitudes whose second words are anything up to half a unit of the first."""
    x = np.zeros(count, cm.dd)
    x["hi"] = rng.standard_normal(count) * 2.0 ** rng.integers(-powers, powers + 1, count)
    x["lo"] = np.spacing(np.abs(x["hi"])) * rng.uniform(-0.49, 0.49, count)
    x["lo"][rng.random(count) < 0.2] = 0
    return x


def close(result: Any, exact: Any, bound: Fraction) -> None:
    """Every result within the relative error of its exact value."""
    for got, wanted in zip(cm.fractions(result).ravel(), exact, strict=True):
        assert abs(got - wanted) <= bound * abs(wanted), (got, wanted)


@pytest.mark.parametrize(
    ("text", "exact", "bound"),
    [
        ("a + b", lambda a, b: a + b, 3 * U**2 + 13 * U**3),
        ("a - b", lambda a, b: a - b, 3 * U**2 + 13 * U**3),
        ("a * b", lambda a, b: a * b, 7 * U**2),
        ("a / b", lambda a, b: a / b, 15 * U**2 + 56 * U**3),
        ("abs(a) + 0 * b", lambda a, b: abs(a), Fraction(0)),
        ("-a", lambda a, b: -a, Fraction(0)),
        ("minimum(a, b)", min, Fraction(0)),
        ("maximum(a, b)", max, Fraction(0)),
    ],
)
def test_operations_are_within_their_bounds(
    context: cm.Context, mode: str, rng: np.random.Generator, text: str, exact: Any, bound: Fraction
) -> None:
    """Also where almost all of the digits cancel: b is -a, a little off, in a part of the pairs."""
    a, b = numbers(rng, 4099), numbers(rng, 4099)
    near = rng.random(4099) < 0.3
    b["hi"][near], b["lo"][near] = -a["hi"][near], a["lo"][near] * 0.5
    far = near & (rng.random(4099) < 0.5)
    b["hi"][far] = -np.nextafter(a["hi"][far], np.inf)
    if text == "-a":
        result = cm.Map(lambda a, b: -a)(a, b, context=context, mode=mode)
    else:
        result = cm.Map(text)(a, b, context=context, mode=mode)
    assert result.dtype == cm.dd
    pairs = zip(cm.fractions(a), cm.fractions(b), strict=True)
    close(result, [exact(x, y) for x, y in pairs], bound)


def test_plain_numbers_take_part_exactly(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    a, x = numbers(rng, 1001), rng.standard_normal(1001)
    exact = list(zip(cm.fractions(a), map(Fraction, x.tolist()), strict=True))
    for f, wanted, bound in (
        ("a + x", lambda a, x: a + x, 2 * U**2), ("a * x", lambda a, x: a * x, Fraction(3, 2) * U**2 + 4 * U**3),
        ("a / x", lambda a, x: a / x, 15 * U**2 + 56 * U**3),
    ):  # fmt: skip
        close(cm.Map(f)(a, x, context=context, mode=mode), [wanted(*pair) for pair in exact], bound)
    close(cm.Map("a * b")(a, 0.1, context=context, mode=mode), [v * Fraction(0.1) for v, _ in exact], 2 * U**2)
    big = 2**90 + 1
    close(cm.Map(lambda a: a * 0 + big)(a, context=context, mode=mode), [Fraction(big)] * 1001, Fraction(0))


def test_roots_are_within_their_bound(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    a = numbers(rng, 1001)
    a["lo"] *= np.sign(a["hi"])
    a["hi"] = np.abs(a["hi"])
    roots = cm.fractions(cm.Map("sqrt(a)")(a, context=context, mode=mode))
    bound = Fraction(25, 8) * U**2
    for root, value in zip(roots, cm.fractions(a), strict=True):
        assert (root * (1 - bound)) ** 2 <= value * (1 + 3 * U**3) and value <= (root * (1 + bound)) ** 2 * (1 + 3 * U**3)


def test_comparisons_look_at_both_words(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    a = numbers(rng, 501)
    b = a.copy()
    b["lo"][::2] *= 0.75
    exact = list(zip(cm.fractions(a), cm.fractions(b), strict=True))
    for text, wanted in (
        ("a < b", lambda a, b: a < b), ("a <= b", lambda a, b: a <= b), ("a > b", lambda a, b: a > b),
        ("a >= b", lambda a, b: a >= b), ("a == b", lambda a, b: a == b), ("a != b", lambda a, b: a != b),
    ):  # fmt: skip
        made = cm.Map(text)(a, b, context=context, mode=mode)
        np.testing.assert_array_equal(made, [wanted(*pair) for pair in exact])


def test_special_values_are_those_of_float64(context: cm.Context, mode: str) -> None:
    """Infinities, NaN, zeros and the largest numbers: the first word is what float64 has (a zero's sign is open)."""
    plain = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1.7e308, -1.7e308])
    x, y = (v.ravel() for v in np.meshgrid(plain, plain))
    a, b = cm.extended(x), cm.extended(y)
    with np.errstate(all="ignore"):
        for text, wanted in (
            ("a + b", x + y), ("a - b", x - y), ("a * b", x * y), ("a / b", x / y), ("sqrt(a + 0 * abs(1))", np.sqrt(x)),
            ("minimum(a, b)", np.minimum(x, y)), ("maximum(a, b)", np.maximum(x, y)), ("abs(a)", np.abs(x)),
        ):  # fmt: skip
            names = {"b": b} if "b)" in text or " b" in text else {}
            names = {} if text.startswith(("sqrt", "abs")) else names
            made = cm.Map(text)(a, context=context, mode=mode, **names)
            np.testing.assert_allclose(made["hi"], wanted, rtol=2.0**-52, err_msg=text)
            assert np.isfinite(made["lo"]).all(), text


def test_products_near_the_end_of_the_range_lose_a_few_of_the_least_numbers(
    context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    """Sums stay within their bound down to the least number; products are off by 4 of these beside their bound."""
    a, b = numbers(rng, 601), numbers(rng, 601)
    for word in ("hi", "lo"):
        a[word] *= 2.0**-500
        b[word] *= 2.0**-500
    least = Fraction(5e-324)
    exact = [x * y for x, y in zip(cm.fractions(a), cm.fractions(b), strict=True)]
    made = cm.fractions(cm.Map("a * b")(a, b, context=context, mode=mode))
    for got, wanted in zip(made, exact, strict=True):
        assert abs(got - wanted) <= 7 * U**2 * abs(wanted) + 4 * least
    small = cm.extended(rng.integers(1, 1 << 20, 99) * 5e-324)
    total = cm.Map("a + b - b")(small, small[::-1].copy(), context=context, mode=mode)
    close(total, cm.fractions(small), Fraction(0))


@pytest.mark.parametrize("length", LENGTHS)
def test_reductions(context: cm.Context, mode: str, rng: np.random.Generator, length: int) -> None:
    """A sum's error grows with the additions, at most one for each value; order is exact."""
    a = numbers(rng, length)
    exact = cm.fractions(a)
    total = cm.fractions(cm.Reduce("sum")(a, context=context, mode=mode))
    assert abs(total - sum(exact)) <= (length + 64) * 4 * U**2 * sum(map(abs, exact))
    if length:
        assert cm.fractions(cm.Reduce("minimum")(a, context=context, mode=mode)) == min(exact)
        assert cm.fractions(cm.Reduce("maximum")(a, context=context, mode=mode)) == max(exact)
    near = cm.extended([1 + Fraction(v) / 2**40 for v in rng.standard_normal(length).tolist()])
    product = Fraction(1)
    for value in cm.fractions(near):
        product *= value
        product = Fraction(round(product * 2**200), 2**200)
    made = cm.fractions(cm.Reduce("product")(near, context=context, mode=mode))
    assert abs(made - product) <= (length + 64) * 8 * U**2 * abs(product)


def test_a_sum_of_floats_in_two_words(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Terms that cancel to the last digit; integers of 64 bits; a product that float64 would round."""
    x = rng.standard_normal(2053) * 10.0 ** rng.integers(-12, 12, 2053)
    x = np.concatenate([x, -x[::-1], [1e-9]])
    total = cm.Reduce("sum")(x, dtype=cm.dd, context=context, mode=mode)
    exact = sum(map(Fraction, x.tolist()))
    assert abs(cm.fractions(total) - exact) <= len(x) * 4 * U**2 * sum(abs(Fraction(v)) for v in x.tolist())
    k = rng.integers(-(2**63), 2**63, 1009)
    total = cm.Reduce("sum")(k, dtype=cm.dd, context=context, mode=mode)
    assert cm.fractions(total) == sum(k.tolist())
    unsigned = np.array([2**64 - 1, 1], np.uint64)
    assert cm.fractions(cm.Reduce("sum")(unsigned, dtype=cm.dd, context=context, mode=mode)) == 2**64


def test_scan_partials_and_fuse(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    a = numbers(rng, 1031, powers=8)
    exact = cm.fractions(a)
    sums = np.cumsum(exact)
    size = sum(map(abs, exact))
    made = cm.fractions(cm.Scan("sum")(a, context=context, mode=mode))
    assert all(abs(got - wanted) <= 1100 * 4 * U**2 * size for got, wanted in zip(made, sums, strict=True))

    def centred(x: Any) -> Any:
        return x - cm.Reduce("sum")(x) / 1031

    made = cm.fractions(cm.fuse(centred)(a, context=context, mode=mode))
    wanted = [value - sums[-1] / 1031 for value in exact]
    assert all(abs(got - w) <= 1200 * 4 * U**2 * size for got, w in zip(made, wanted, strict=True))


def test_products_and_sums_are_not_contracted(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """x y + z in two words is exact where the sum of exact words is: a fused product would break it."""
    x, y = rng.standard_normal(4099), rng.standard_normal(4099)
    made = cm.Map(lambda x, y: x.astype(cm.dd) * y)(x, y, context=context, mode=mode)
    close(made, [Fraction(a) * Fraction(b) for a, b in zip(x.tolist(), y.tolist(), strict=True)], Fraction(0))
    z = -(x * y)
    made = cm.Map(lambda x, y, z: z.astype(cm.dd) + x * y)(x, y, z, context=context, mode=mode)
    close(made, [Fraction(0)] * len(x), Fraction(0))
    source = cm.Map("a + b").source(cm.extended(x), cm.extended(y), context=context, mode=mode)
    assert "FP_CONTRACT OFF" in source and "FP_CONTRACT" not in cm.Map("a + b").source(x, y, context=context, mode=mode)


def test_conversions(context: cm.Context) -> None:
    tenth = cm.extended("0.1")
    assert tenth.dtype == cm.dd and abs(cm.fractions(tenth) - Fraction(1, 10)) <= U**2 / 10
    same = [Decimal("0.1"), Fraction(1, 10)]
    assert (cm.extended(same) == tenth).all()
    assert cm.fractions(cm.extended(2**100 + 3)) == 2**100 + 3
    assert cm.fractions(cm.extended([[0.5, -2.0]])).tolist() == [[Fraction(1, 2), Fraction(-2)]]
    assert np.isnan(cm.extended("nan")["hi"]) and cm.extended("-inf")["hi"] == -np.inf
    assert abs(cm.fractions(cm.extended("0.1", cm.df)) - Fraction(1, 10)) <= Fraction(1, 2**48) / 10
    made = cm.Map(lambda a: a.astype("float64"))(cm.extended(["0.1", "3"]), context=context)
    assert made.tolist() == [0.1, 3.0]


def test_numbers_of_mpmath(context: cm.Context) -> None:
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workprec(200):
        pi = cm.extended(mpmath.pi + 0)
        words = [mpmath.mpf(float(word)) for word in pi.item()]
        assert abs(words[0] + words[1] - mpmath.pi) <= mpmath.mpf(2) ** -105


@pytest.mark.parametrize("wrong", ["abc", "", "-", "1.2.3", None, 1j, object()])
def test_what_is_no_number_is_refused_by_name(context: cm.Context, wrong: Any) -> None:
    with pytest.raises(DTypeError, match="is no number"):
        cm.extended(wrong)


def test_what_is_not_offered_is_refused(context: cm.Context) -> None:
    a = cm.extended([1.0])
    with pytest.raises(DTypeError, match="exp is not offered"):
        cm.Map("exp(a)")(a, context=context)
    with pytest.raises(DTypeError, match="imag"):
        cm.Map("a + b")(a, np.array([1j]), context=context)
    with pytest.raises(DTypeError, match="two float32"):
        cm.Map("a + b")(a, cm.extended([1.0], cm.df), context=context)
