"""Reduce of NaN, infinities, zeros of both signs and equal values, and logsumexp of values far apart, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from support.named_reduce import COMBINATIONS, FLOATS, reduce_by_name
from support.oracles import (
    PRIME,
    SIZES,
    assert_near,
    assert_same,
    check_reduced,
    logsumexp,
    logsumexp_tolerance,
    unit,
)

import clmapreduce as cm

pytestmark = pytest.mark.drawn


@pytest.mark.parametrize(("name", "dtype"), [pair for pair in COMBINATIONS if pair[1] in FLOATS])
def test_nan_anywhere_propagates_as_in_numpy(
    name: str, dtype: str, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    for length in (1, 2, 17, 65, 1025, PRIME):
        places = {0, length // 2, length - 1, *rng.integers(0, length, 6).tolist()}
        for at in sorted(places):
            x = rng.uniform(0.5, 2, length).astype(dtype)
            x[at] = np.nan
            x[rng.integers(at, length)] = np.nan  # the first one counts
            result = reduce_by_name(name, x, context, mode)
            if name in ("argmin", "argmax"):
                assert result == at, (length, at)
            elif name in ("any", "all"):
                assert result, (length, at)
            else:
                assert np.isnan(result), (length, at, result)


def test_a_nan_is_found_beside_infinities_and_identities(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for name, dtype, identity in (("argmin", "f4", np.inf), ("argmax", "f8", -np.inf)):
        for length in (1, 16, 17, 1025, PRIME):
            at = int(rng.integers(length))
            x = np.full(length, identity, dtype)
            x[at] = np.nan
            assert reduce_by_name(name, x, context, mode) == at
            x[at:] = np.nan
            assert reduce_by_name(name, x, context, mode) == at
            x[:at] = -identity
            assert reduce_by_name(name, x, context, mode) == at


@pytest.mark.parametrize("length", [1, 2, 16, 17, 257, 1025, PRIME])
def test_logsumexp_of_infinities(length: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for dtype in FLOATS:
        x = np.full(length, -np.inf, dtype)
        assert reduce_by_name("logsumexp", x, context, mode) == -np.inf
        x[rng.integers(length)] = 3.5
        assert_near(reduce_by_name("logsumexp", x, context, mode), 3.5, 4 * unit(dtype) * 3.5, "one finite value")
        x[rng.integers(length)] = np.inf
        assert reduce_by_name("logsumexp", x, context, mode) == np.inf
        x[rng.integers(length)] = np.nan
        assert np.isnan(reduce_by_name("logsumexp", x, context, mode))
        x[:] = np.inf
        assert reduce_by_name("logsumexp", x, context, mode) == np.inf
        x[:] = np.finfo(dtype).min
        assert reduce_by_name("logsumexp", x, context, mode) == np.finfo(dtype).min, "the lowest finite number"


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", ["ascending", "descending", "offset", "one giant", "equal", "tiny steps", "far apart"])
def test_logsumexp_keeps_its_digits(
    shape: str, dtype: str, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    x = {
        "ascending": np.sort(rng.uniform(-30, 30, PRIME)),
        "descending": np.sort(rng.uniform(-30, 30, PRIME))[::-1],
        "offset": rng.standard_normal(PRIME) + 5000,
        "one giant": np.append(rng.standard_normal(PRIME), 400.0),
        "equal": np.full(PRIME, -77.25),
        "tiny steps": np.linspace(0, 1, PRIME),
        "far apart": rng.uniform(-1e4, 1e4, PRIME),
    }[shape].astype(dtype)
    check_reduced("logsumexp", x, reduce_by_name("logsumexp", x, context, mode))
    if mode == "sequential":  # one chain of additions
        exact, chain = logsumexp(x), len(x) * unit("f8" if context.facts.fp64 else dtype)
        alone = reduce_by_name("logsumexp", x, context, mode, tiles=1)
        assert_near(alone, exact, logsumexp_tolerance(dtype, exact, len(x)) + chain, "one item")


def test_infinite_sums_and_products(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (2, 17, 1025, PRIME):
        x = np.ones(length, np.float32)
        first, second = rng.choice(length, 2, replace=False)
        x[first] = np.inf
        assert reduce_by_name("sum", x, context, mode) == np.inf
        assert reduce_by_name("product", x, context, mode) == np.inf
        assert reduce_by_name("maximum", x.astype(np.float64), context, mode) == np.inf
        assert reduce_by_name("minimum", -x, context, mode) == -np.inf
        x[second] = -np.inf
        assert np.isnan(reduce_by_name("sum", x, context, mode))
        assert reduce_by_name("product", x, context, mode) == -np.inf
        x[second] = 0
        assert np.isnan(reduce_by_name("product", x, context, mode))


def test_a_sum_beyond_float32_overflows_only_at_the_end(context: cm.Context, mode: str) -> None:
    if not context.facts.fp64:
        pytest.skip("sums of float32 accumulate in float32 here")
    x = np.tile(np.array([3e38, 3e38, -3e38, -3e38], np.float32), 1000)
    assert_same(reduce_by_name("sum", x, context, mode), np.float32(0))
    assert_same(reduce_by_name("sum", x[:-2], context, mode), np.float32(np.inf))


@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_ties_go_to_the_lowest_index(name: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for dtype in (code for other, code in COMBINATIONS if other == name):
        for length in SIZES:
            x = rng.integers(0, 3, length).astype(dtype)
            expected = int(getattr(np, name)(x))
            assert reduce_by_name(name, x, context, mode) == expected, (dtype, length)
            assert reduce_by_name(name, np.full(length, 7, dtype), context, mode) == 0, (dtype, length)
            late = np.full(length, 1, dtype)
            at = int(rng.integers(length))
            late[at:] = 0 if name == "argmin" else 2
            assert reduce_by_name(name, late, context, mode) == at, (dtype, length)


def test_values_equal_to_the_identity_are_found(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Nothing beats the accumulator's first value here, so its place must come from the search."""
    worst = {("argmin", "f4"): np.inf, ("argmin", "i4"): 2**31 - 1, ("argmax", "f8"): -np.inf, ("argmax", "u2"): 0}
    for (name, dtype), value in worst.items():
        for length in SIZES:
            x = np.full(length, value, dtype)
            assert reduce_by_name(name, x, context, mode) == 0, (name, dtype, length)
            at = int(rng.integers(length))
            x[at] = 5
            assert reduce_by_name(name, x, context, mode) == at, (name, dtype, length)


def test_zeros_of_both_signs_are_equal(context: cm.Context, mode: str) -> None:
    assert reduce_by_name("argmin", np.array([0.0, -0.0, 0.0], np.float32), context, mode) == 0
    assert reduce_by_name("argmax", np.array([-0.0, 0.0], np.float64), context, mode) == 0
    assert reduce_by_name("minimum", np.array([0.0, -0.0], np.float32), context, mode) == 0
    assert not reduce_by_name("any", np.full(65, -0.0, np.float32), context, mode)
    product = reduce_by_name("product", np.array([-0.0, 2.0, 3.0], np.float32), context, mode)
    assert product == 0
    assert np.signbit(product)
