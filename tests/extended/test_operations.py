"""Operations on numbers in several floats beside exact fractions: every error is within the bound that docs/guides/precision.md
states.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.extended import DTYPES, numbers, opposed, unit, worst

import clmapreduce as cm

pytestmark = pytest.mark.drawn(whole=["name", "dtype"])

POWERS = 8
"""Of two: magnitudes such that products of the least words of four float32 are normal numbers."""

Exact = Callable[..., Fraction]
EXACT: dict[str, tuple[str, Exact]] = {
    "abs": ("abs(a)", lambda a, b: abs(a)),
    "negative": ("-a", lambda a, b: -a),
    "minimum": ("minimum(a, b)", min),
    "maximum": ("maximum(a, b)", max),
}
ROUNDED: dict[str, tuple[str, Exact]] = {
    "add": ("a + b", lambda a, b: a + b),
    "subtract": ("a - b", lambda a, b: a - b),
    "multiply": ("a * b", lambda a, b: a * b),
    "divide": ("a / b", lambda a, b: a / b),
}
Bound = Callable[[Fraction], Fraction]
BOUNDS: dict[int, dict[str, Bound]] = {
    2: {
        "add": lambda u: 3 * u**2 + 13 * u**3,
        "subtract": lambda u: 3 * u**2 + 13 * u**3,
        "multiply": lambda u: 7 * u**2,
        "divide": lambda u: 15 * u**2 + 56 * u**3,
        "sqrt": lambda u: Fraction(25, 8) * u**2,
    },
    4: {
        "add": lambda u: 8 * u**4,
        "subtract": lambda u: 8 * u**4,
        "multiply": lambda u: 32 * u**4,
        "divide": lambda u: 64 * u**4,
        "sqrt": lambda u: 64 * u**4,
    },
}
WITH_A_FLOAT: dict[int, dict[str, Bound]] = {
    2: {
        "add": lambda u: 2 * u**2,
        "subtract": lambda u: 2 * u**2,
        "multiply": lambda u: Fraction(3, 2) * u**2 + 4 * u**3,
        "divide": lambda u: 15 * u**2 + 56 * u**3,
    },
    4: BOUNDS[4],
}


def relative_to(name: str, a: Any, b: Any) -> list[Fraction] | None:
    """What the error of a sum of numbers in four floats is relative to, where digits cancel: |a| + |b|."""
    if len(a.dtype) == 2 or name not in ("add", "subtract"):
        return None
    second = cm.exact(b) if b.dtype.names else list(map(Fraction, b.tolist()))
    return [abs(x) + abs(y) for x, y in zip(cm.exact(a), second, strict=True)]


def call(text: str, a: Any, b: Any, **options: Any) -> Any:
    """A formula of a, or of a and b."""
    return cm.Map(text)(*([a, b] if "b" in text.replace("abs", "") else [a]), **options)


@pytest.fixture(params=DTYPES)
def dtype(request: pytest.FixtureRequest) -> Any:
    return DTYPES[request.param]


@pytest.mark.parametrize("name", ROUNDED)
def test_operations_are_within_their_bounds(
    context: cm.Context, mode: str, rng: np.random.Generator, name: str, dtype: Any
) -> None:
    """Also where almost all of the digits cancel."""
    text, exact = ROUNDED[name]
    a = numbers(rng, 1031, dtype, powers=POWERS)
    b = opposed(rng, a)
    result = call(text, a, b, context=context, mode=mode)
    assert result.dtype == dtype
    bound = BOUNDS[len(dtype)][name](unit(dtype))
    worst(result, map(exact, cm.exact(a), cm.exact(b)), bound, relative_to(name, a, b))


@pytest.mark.parametrize("name", EXACT)
def test_exact_operations(context: cm.Context, mode: str, rng: np.random.Generator, name: str, dtype: Any) -> None:
    text, exact = EXACT[name]
    a = numbers(rng, 1031, dtype)
    b = opposed(rng, a)
    *same, last = dtype.names
    for word in same:
        b[word][::7] = a[word][::7]
    b[last][::7] = a[last][::7] * 0.5
    result = call(text, a, b, context=context, mode=mode)
    assert list(cm.exact(result)) == list(map(exact, cm.exact(a), cm.exact(b)))


@pytest.mark.parametrize("name", ROUNDED)
def test_plain_floats_take_part(context: cm.Context, mode: str, rng: np.random.Generator, name: str, dtype: Any) -> None:
    exact = ROUNDED[name][1]
    a, b = numbers(rng, 501, dtype, powers=POWERS), rng.standard_normal(501).astype(dtype[0])
    floats = list(map(Fraction, b.tolist()))
    bound, sizes = WITH_A_FLOAT[len(dtype)][name](unit(dtype)), relative_to(name, a, b)
    worst(cm.Map(ROUNDED[name][0])(a, b, context=context, mode=mode), map(exact, cm.exact(a), floats), bound, sizes)
    number = Fraction(float(b[0]))
    result = cm.Map(ROUNDED[name][0])(a, float(b[0]), context=context, mode=mode)
    worst(result, [exact(v, number) for v in cm.exact(a)], bound, relative_to(name, a, np.full_like(b, b[0])))


def test_single_numbers_are_constants_of_formulas(
    context: cm.Context, mode: str, rng: np.random.Generator, dtype: Any
) -> None:
    """Elements of arrays, and arrays without axes, on either side; beside numbers and beside floats."""
    a, b = numbers(rng, 65, dtype, powers=POWERS), numbers(rng, 3, dtype, powers=POWERS)
    row, value = np.full(65, b[1]), cm.exact(b[1])
    for constant in (b[1], b[1:2].reshape(())):
        for name, left, right in (
            ("multiply", lambda x, c=constant: x * c, lambda x, c=constant: c * x),
            ("add", lambda x, c=constant: x + c, lambda x, c=constant: c + x),
        ):
            bound = BOUNDS[len(dtype)][name](unit(dtype))
            true = [x * value if name == "multiply" else x + value for x in cm.exact(a)]
            for formula in (left, right):
                worst(cm.Map(formula)(a, context=context, mode=mode), true, bound, relative_to(name, a, row))
        least = cm.Map(lambda x, c=constant: cm.where(c > x, x, c))
        assert list(cm.exact(least(a, context=context, mode=mode))) == [min(x, value) for x in cm.exact(a)]
        floats = a[dtype.names[0]].copy()
        exact = [min(Fraction(x), value) for x in floats.tolist()]
        assert list(cm.exact(least(floats, context=context, mode=mode))) == exact


def test_long_integers_are_exact_constants(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    big = 2**90 + 1
    result = cm.Map(lambda a: a * 0 + big)(numbers(rng, 65), context=context, mode=mode)
    assert set(cm.exact(result)) == {Fraction(big)}


def test_roots_are_within_their_bound(context: cm.Context, mode: str, rng: np.random.Generator, dtype: Any) -> None:
    """(1 ± bound)² around the square; the root itself is no fraction."""
    a = cm.Map("abs(a)")(numbers(rng, 501, dtype, powers=POWERS), context=context)
    bound = BOUNDS[len(dtype)]["sqrt"](unit(dtype))
    for root, value in zip(cm.exact(cm.Map("sqrt(a)")(a, context=context, mode=mode)), cm.exact(a), strict=True):
        assert (root / (1 + bound)) ** 2 <= value <= (root / (1 - bound)) ** 2


def test_powers_are_repeated_products(context: cm.Context, mode: str, rng: np.random.Generator, dtype: Any) -> None:
    """Errors of products add up: one in x², two in x³, 2 · 1 + 1 in x⁴, and so on."""
    a = numbers(rng, 257, dtype, powers=1)
    a, product = a[np.abs(a[dtype.names[0]]) > 0.5], BOUNDS[len(dtype)]["multiply"](unit(dtype))
    for n, products in ((2, 1), (3, 2), (7, 6)):
        result = cm.Map(lambda a, n=n: a**n)(a, context=context, mode=mode)
        worst(result, [v**n for v in cm.exact(a)], products * product * (1 + 2 * unit(dtype)))


def test_comparisons_look_at_all_words(
    context: cm.Context, mode: str, rng: np.random.Generator, dtype: Any
) -> None:
    a = numbers(rng, 501, dtype)
    b = opposed(rng, a)
    b[::3] = a[::3]
    b[dtype.names[-1]][::6] *= 0.75
    pairs = list(zip(cm.exact(a), cm.exact(b), strict=True))
    for text, true in (
        ("a < b", lambda a, b: a < b), ("a <= b", lambda a, b: a <= b), ("a > b", lambda a, b: a > b),
        ("a >= b", lambda a, b: a >= b), ("a == b", lambda a, b: a == b), ("a != b", lambda a, b: a != b),
    ):  # fmt: skip
        result = cm.Map(text)(a, b, context=context, mode=mode)
        np.testing.assert_array_equal(result, [true(*pair) for pair in pairs], err_msg=text)


def test_special_values_are_those_of_floats(context: cm.Context, mode: str, dtype: Any) -> None:
    """Infinities, NaN, zeros with their signs and the largest numbers: the first word is what a float has."""
    word = np.finfo(dtype[0])
    least, most = word.smallest_subnormal, word.max / 1.05
    if dtype[0] == np.float32:
        least = word.smallest_normal  # what is below, devices may take for 0
    plain = np.array([0.0, -0.0, 1.0, -1.0, least, -least, np.inf, -np.inf, np.nan, most, -most], dtype[0])
    x, y = (v.ravel() for v in np.meshgrid(plain, plain))
    a, b = cm.extended(x, dtype), cm.extended(y, dtype)
    with np.errstate(all="ignore"):
        for text, true in (
            ("a + b", x + y), ("a - b", x - y), ("a * b", x * y), ("a / b", x / y), ("sqrt(a)", np.sqrt(x)),
            ("minimum(a, b)", np.minimum(x, y)), ("maximum(a, b)", np.maximum(x, y)), ("abs(a)", np.abs(x)), ("-a", -x),
            ("copysign(a, b)", np.copysign(x, y)),
        ):  # fmt: skip
            result = call(text, a, b, context=context, mode=mode)
            first, *others = dtype.names
            np.testing.assert_allclose(result[first], true, rtol=2 * word.eps, err_msg=text)
            assert all(np.isfinite(result[name]).all() for name in others), text
            if "imum" not in text:  # of two zeros NumPy's extrema have either
                zero = true == 0
                np.testing.assert_array_equal(np.signbit(result[first][zero]), np.signbit(true[zero]), err_msg=text)
    np.testing.assert_array_equal(cm.Map("signbit(a)")(a, context=context, mode=mode), np.signbit(x))


def test_products_near_the_end_of_the_range_lose_a_few_of_the_least_numbers(
    context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    """Sums stay within their bound down to the least number; products are off by 4 of these beside their bound."""
    a, b = numbers(rng, 601), numbers(rng, 601)
    for word in ("hi", "lo"):
        a[word] *= 2.0**-500
        b[word] *= 2.0**-500
    least, u = Fraction(5e-324), unit(cm.dd)
    exact = [x * y for x, y in zip(cm.exact(a), cm.exact(b), strict=True)]
    for result, true in zip(cm.exact(cm.Map("a * b")(a, b, context=context, mode=mode)), exact, strict=True):
        assert abs(result - true) <= 7 * u**2 * abs(true) + 4 * least
    small = cm.extended(rng.integers(1, 1 << 20, 99) * 5e-324)
    total = cm.Map("a + b - b")(small, small[::-1].copy(), context=context, mode=mode)
    assert list(cm.exact(total)) == list(cm.exact(small))


def test_products_and_sums_are_not_contracted(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """x y + z in two words is exact where the sum of exact words is: a fused product would break it."""
    x, y = rng.standard_normal(4099), rng.standard_normal(4099)
    result = cm.Map(lambda x, y: x.astype(cm.dd) * y)(x, y, context=context, mode=mode)
    exact = [Fraction(a) * Fraction(b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    assert list(cm.exact(result)) == exact
    z = -(x * y)
    result = cm.Map(lambda x, y, z: z.astype(cm.dd) + x * y)(x, y, z, context=context, mode=mode)
    assert not result["hi"].any() and not result["lo"].any()
    source = cm.Map("a + b").source(cm.extended(x), cm.extended(y), context=context, mode=mode)
    assert "FP_CONTRACT OFF" in source and "FP_CONTRACT" not in cm.Map("a + b").source(x, y, context=context, mode=mode)


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 127, (1 << 18) + 3])
def test_arrays_of_any_length_are_stored_whole(
    context: cm.Context, mode: str, rng: np.random.Generator, dtype: Any, length: int
) -> None:
    """Long ones past the caches; into the caller's array, from its begin or from further on."""
    x = np.zeros(length, dtype)
    for word in dtype.names:
        x[word] = rng.standard_normal(length)
    first, second, *_ = dtype.names
    swap = cm.Map(lambda a: cm.where(a[first] < a[second], -a, a))
    true = np.where(x[first] < x[second], -1, 1)
    space = np.zeros(length + 2, dtype)
    for result in (
        swap(x, context=context, mode=mode),
        swap(x, out=space[1:-1], context=context, mode=mode),
        swap(cm.array(x, context), mode=mode).to_numpy(),
    ):
        for word in dtype.names:
            np.testing.assert_array_equal(result[word], true * x[word])
    assert not any(space[word][[0, -1]].any() for word in dtype.names)


def test_guards_store_both_words_or_none(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = numbers(rng, 1031)
    for length in (1031, 64):
        out = np.full(length, np.array((7.0, 0.25), cm.dd))
        part = x[:length].copy()
        cm.Map(lambda a: cm.guard(a > 0, -a))(part, out=out, context=context, mode=mode)
        positive = part["hi"] > 0
        for word, before in (("hi", 7.0), ("lo", 0.25)):
            np.testing.assert_array_equal(out[word], np.where(positive, -part[word], before))
        fused = np.full(length, np.array((7.0, 0.25), cm.dd))
        centred = cm.fuse(lambda a: cm.guard(a > 0, a - a + cm.Reduce("maximum")(a)))
        centred(part, out=fused, context=context, mode=mode)
        most = max(cm.exact(part))
        exact = [most if keep else Fraction(29, 4) for keep in positive]
        assert list(cm.exact(fused)) == exact


def test_what_is_not_offered_is_refused(context: cm.Context) -> None:
    a = cm.extended([1.0])
    with pytest.raises(cm.DTypeError, match="exp is not offered"):
        cm.Map("exp(a)")(a, context=context)
    with pytest.raises(cm.DTypeError, match="imag"):
        cm.Map("a + b")(a, np.array([1j]), context=context)
    with pytest.raises(cm.DTypeError, match="two extended dtypes"):
        cm.Map("a + b")(a, cm.extended([1.0], cm.df), context=context)
    with pytest.raises(cm.DTypeError, match="whole exponents"):
        cm.Map("a ** 0.5")(a, context=context)
