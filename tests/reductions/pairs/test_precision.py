"""Reductions over pairs where rounding adds up, cancels or overflows."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from support.operator_oracle import Walk, dense, reduce_numbers

from clmapreduce.formula.registry import FUNCTIONS
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS, PairBound, PairOptions

LONG = 40_000
F4 = np.dtype("f4")


def bind(name: str, weights: int = 0, **options: Any) -> PairBound:
    return PAIR_REDUCTIONS[name].bind(F4, 1, weights, np.dtype("i4"), PairOptions(**options))


def output_and_walk(operator: PairBound, numbers: Any, rng: Any, tile: int = 512, group: int = 8) -> tuple[Any, Walk]:
    """The first output, one number a row, and the walk that gave it."""
    walk = Walk(operator)
    acc = walk.columns(numbers, rng, tile=tile, group=group)
    return walk.finish(acc, numbers.shape[2])[0], walk


# ---------------------------------------------------------------------------------------------------------------- sums
def test_block_sums_lose_less_than_direct_ones_and_kahan_nothing(rng: Any) -> None:
    numbers = rng.random((1, 2, LONG)).astype("f4")
    exact = np.sum(numbers.astype(float), -1).T
    error = {
        scheme: np.max(np.abs(output_and_walk(bind("Sum", scheme=scheme), numbers, rng)[0] - exact) / exact)
        for scheme in ("direct_sum", "block_sum", "kahan_scheme")
    }
    assert error["kahan_scheme"] <= 1.001 * 2**-24
    assert error["block_sum"] <= 1e-6


@pytest.mark.parametrize("scheme", ["block_sum", "kahan_scheme"])
def test_a_sum_that_became_infinite_stays_it(scheme: str, rng: Any) -> None:
    row = np.array([1, 3e38, 3e38, 1, -5], "f4")
    for group in (1, 2, 4):
        assert reduce_numbers(bind("Sum", scheme=scheme), row[None, None], rng, splits=2, group=group)[0].item() == np.inf


# ----------------------------------------------------------------------------------------------------------- variance
@pytest.mark.parametrize(("mean", "std"), [(0, 1), (1e4, 1), (-1e4, 1), (1e20, 1e17)])
def test_variances_far_from_zero(mean: float, std: float, rng: Any) -> None:
    numbers = rng.normal(mean, std, (1, 3, 5000)).astype("f4")
    for splits, group in ((1, 8), (5, 3), (1, 1)):
        (result,) = reduce_numbers(bind("Std"), numbers, rng, splits=splits, group=group, tile=256)
        np.testing.assert_allclose(result, dense("Std", numbers, numbers)[0], rtol=1e-6)


@pytest.mark.parametrize("group", [1, 2, 8])
def test_an_outlier_in_front_is_no_pivot_for_long(group: int, rng: Any) -> None:
    numbers = rng.normal(0, 1, (1, 3, 5000)).astype("f4")
    numbers[:, :, 0] = 1e4
    (result,) = reduce_numbers(bind("Var"), numbers, rng, tile=512, group=group)
    np.testing.assert_allclose(result, dense("Var", numbers, numbers)[0], rtol=1e-5)


def test_tiny_splits_of_a_variance(rng: Any) -> None:
    numbers = rng.normal(100, 1, (1, 3, 30)).astype("f4")
    (result,) = reduce_numbers(bind("Var"), numbers, rng, splits=20, tile=2)
    np.testing.assert_allclose(result, dense("Var", numbers, numbers)[0], rtol=1e-5)


# ---------------------------------------------------------------------------------------------------------- exponents
def logsumexp(numbers: Any) -> Any:
    return np.logaddexp.reduce(numbers.astype(float), -1).T


@pytest.mark.parametrize("data", ["normal", "distances", "equal", "creeping", "falling", "stairs", "peak at the end"])
def test_long_rows_of_exponentials_keep_their_digits(data: str, rng: Any) -> None:
    """Absolute errors below 1e-6, and where exponents are large, below their own rounding."""
    j = np.arange(LONG)
    row = {
        "normal": rng.normal(size=LONG), "distances": -50 * rng.random(LONG) ** 2, "equal": np.zeros(LONG),
        "creeping": j * 1e-5, "falling": -j * 1e-3, "stairs": (j // 1000) * 0.75, "peak at the end": (j == LONG - 1) * 12.0,
    }[data]  # fmt: skip
    numbers = (row + 0.1 * rng.normal(size=(1, 2, LONG))).astype("f4")
    result, _ = output_and_walk(bind("LogSumExp"), numbers, rng)
    expected = logsumexp(numbers)
    np.testing.assert_array_less(np.abs(result - expected), 1e-6 + 2**-23 * (np.abs(expected) + np.max(numbers)))


def test_the_top_is_raised_only_out_of_reach(rng: Any) -> None:
    """Once for the first group, then for every 2^32 that exponents have grown."""
    creeping = np.linspace(0, 20, 2000, dtype="f4")[None, None]
    assert walk_of("LogSumExp", creeping, rng) == 1
    steep = np.linspace(0, 200, 2000, dtype="f4")[None, None]
    assert 2 <= walk_of("LogSumExp", steep, rng) <= 12
    assert walk_of("LogSumExp", -steep, rng) == 1
    np.testing.assert_allclose(output_and_walk(bind("LogSumExp"), steep, rng)[0], logsumexp(steep), rtol=1e-6)


def walk_of(name: str, numbers: Any, rng: Any) -> int:
    """How often the operator adjusts for a tile's columns."""
    walk = output_and_walk(bind(name), numbers, rng, tile=64)[1]
    return walk.own.adjusted


@pytest.mark.parametrize("far", [1e2, 1e4, 1e30, -1e2, -1e4, -1e30])
def test_exponents_far_from_zero_neither_overflow_nor_vanish(far: float, rng: Any) -> None:
    numbers = (far + rng.normal(size=(1, 3, 300))).astype("f4")
    (result,) = reduce_numbers(bind("LogSumExp"), numbers, rng, splits=3)
    np.testing.assert_allclose(result, logsumexp(numbers), rtol=3e-7, atol=1e-6)
    numbers = np.concatenate([numbers, rng.normal(size=(2, 3, 300)).astype("f4")])
    (soft,) = reduce_numbers(bind("SumSoftMaxWeight", 2), numbers, rng, splits=3)
    # the exponents' own rounding at this distance
    tolerance = 1e-5 + 2 * np.spacing(np.float32(abs(far)))
    np.testing.assert_allclose(soft, dense("SumSoftMaxWeight", numbers[:1], numbers[1:])[0], atol=tolerance)


def test_a_weight_of_zero_hides_no_overflow(rng: Any) -> None:
    """An exponential beyond float32 times 0 is NaN; it must not get into the sum before the top is raised."""
    numbers = np.array([[[0, 500, 1, 800, 2]], [[1, 0, 1, 0, 1]]], "f4")
    for group in (1, 2, 5):
        (result,) = reduce_numbers(bind("SumSoftMaxWeight", 1), numbers, rng, group=group)
        assert result.item() == 0
        (result,) = reduce_numbers(bind("LogSumExpWeight", 1), numbers, rng, group=group)
        assert result.item() == -np.inf


def test_negative_weights_and_masked_rows(rng: Any) -> None:
    numbers = np.array([[[0.0, 1, 2], [-np.inf] * 3], [[1, 1, -5]] * 2], "f4")
    (result,) = reduce_numbers(bind("LogSumExpWeight", 1), numbers, rng)
    np.testing.assert_array_equal(result, [[np.nan], [-np.inf]])
    (result,) = reduce_numbers(bind("SumSoftMaxWeight", 1), numbers, rng)
    np.testing.assert_allclose(result, [[(1 + np.e - 5 * np.e**2) / (1 + np.e + np.e**2)], [0]], rtol=1e-6)


@pytest.mark.parametrize("name", ["LogSumExp", "LogSumExpWeight", "SumSoftMaxWeight"])
def test_a_fast_exponential_may_end_at_the_smallest_normal_number(
    name: str, rng: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2^-126 instead of 0, and no more than 2^127 instead of inf, of finite exponents."""

    def clamp(x: Any) -> Any:
        return np.where(np.isposinf(x), x, np.exp2(np.clip(x, -126, 127)))

    monkeypatch.setitem(FUNCTIONS, "exp2", dataclasses.replace(FUNCTIONS["exp2"], numpy=clamp))
    rows = [[-np.inf] * 4, [0, -np.inf, 300, -300], [-1e38, 1e38, 0, 0], [1, np.nan, 2, 3], [1, np.inf, 2, 3]]
    numbers = np.array([rows] + [np.ones((5, 4))] * (name != "LogSumExp"), "f4")
    (result,) = reduce_numbers(bind(name, len(numbers) - 1), numbers, rng, splits=2, group=2)
    expected = dense(name, numbers[:1], numbers[1:])[0]
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-30)


# --------------------------------------------------------------------------------------------------- steps behind tests
@pytest.mark.parametrize("name", ["ArgMin", "KMin", "ArgKMin"])
def test_falling_values_are_rare_only_once(name: str, rng: Any) -> None:
    rising = np.arange(200, dtype="f4")[None, None]
    walk = output_and_walk(bind(name, k=3), rising, rng, tile=64, group=4)[1]
    assert walk.adjusted == (1 if name == "ArgMin" else 3)
