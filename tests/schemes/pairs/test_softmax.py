"""Softmax sums of floats of 16 bits in one walk over the columns, as a device with matrix units computes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.pair_plans import form_of
from support.plans import FACTS, PARALLEL

import clmapreduce as cm
from clmapreduce.domain.dense import Pairwise
from clmapreduce.plan import Plan
from clmapreduce.planning import passes
from clmapreduce.planning.pair_request import passes_of
from clmapreduce.planning.passes import Setting
from clmapreduce.schemes.common.join_plans import shared_scratch
from clmapreduce.schemes.pairs.softmax import plan as softmax

pytestmark = pytest.mark.drawn(seldom="pocl")

HALF, BFLOAT = np.dtype("f2"), np.dtype(ml_dtypes.bfloat16)
ROUNDING = {HALF: 2.0**-11, BFLOAT: 2.0**-8}
"""What rounding to a dtype is off by at most, relative to a number of usual size."""


@dataclass
class Chosen:
    """A context in which no problem is too small. usual: whether any plan was the usual one. looked: whether any weights
    might be for one walk.
    """

    context: cm.Context
    usual: bool = False
    looked: bool = False


@pytest.fixture
def everywhere(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> Chosen:
    """A context of its own, since others keep plans, as if the device had matrix units."""
    chosen = Chosen(cm.Context(context.device))
    suited: Callable[..., softmax.Softmax | None] = softmax.suited_softmax

    def with_units(*problem: Any) -> softmax.Softmax | None:
        *before, facts = problem
        found = suited(*before, replace(facts, matrix_units=True))
        chosen.usual |= found is None
        chosen.looked = True
        return found

    monkeypatch.setattr(passes, "suited_softmax", with_units)
    monkeypatch.setattr(softmax, "LEAST_PAIRS", 0)
    return chosen


@pytest.fixture
def alone(everywhere: Chosen, monkeypatch: pytest.MonkeyPatch) -> Chosen:
    """The same, and nothing else computes results."""
    monkeypatch.setattr(softmax, "gated", lambda stages, gate, array: [])
    return everywhere


def arrays(rng: np.random.Generator, dtype: Any, *shapes: tuple[int, ...]) -> list[Any]:
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def exponents(x: Any, y: Any, scale: float) -> Any:
    return x.astype("f8") @ y.astype("f8").swapaxes(-1, -2) * scale


def expected(exponent: Any, weights: Any) -> tuple[Any, Any]:
    """In float64: the results, and the same of the weights' magnitudes."""
    top = exponent.max(axis=-1, keepdims=True, initial=np.finfo("f8").min)
    powers = np.exp(exponent - top)
    total = powers.sum(axis=-1, keepdims=True)
    total[total == 0] = 1
    wide = weights.astype("f8")
    return powers @ wide / total, powers @ np.abs(wide) / total


def attention(chosen: Chosen, x: Any, y: Any, weights: Any, scale: float, bias: Any = None, **options: Any) -> Any:
    """softmax(x yᵀ scale + bias) weights. bias: (columns, 1)."""
    i, j, w = (cm.LazyTensor(array) for array in (x[..., :, None, :], y[..., None, :, :], weights[..., None, :, :]))
    exponent = (i | j) * scale
    if bias is not None:
        exponent = exponent + cm.LazyTensor(bias[None, :, :])
    options = {"mode": "parallel", **options}
    return exponent.sumsoftmaxweight(w, axis=x.ndim - 1, context=chosen.context, **options)


def assert_close(result: Any, exponent: Any, weights: Any) -> None:
    """Exponentials round once to the dtype, and results; a quarter of that is left for exponents and sums."""
    right, size = expected(exponent, weights)
    dtype = np.dtype(result.dtype)
    assert dtype == weights.dtype
    off = np.abs(result.astype("f8") - right)
    assert np.all(off <= 2.25 * ROUNDING[dtype] * size + 2.0**-25), np.max(off / (size + 1e-30)) / ROUNDING[dtype]


@pytest.mark.parametrize("dtype", [HALF, BFLOAT], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("size, numbers", [(17, 17), (32, 64), (50, 33), (64, 20), (128, 100), (100, 128), (17, 1), (64, 3), (33, 8), (64, 16)])
def test_vectors_of_any_length(alone: Chosen, rng: np.random.Generator, dtype: Any, size: int, numbers: int) -> None:
    rows, columns = (int(n) for n in rng.integers(2, 300, size=2))
    x, y, w = arrays(rng, dtype, (rows, size), (columns, size), (columns, numbers))
    result = attention(alone, x, y, w, size**-0.5)
    assert not alone.usual
    assert_close(result, exponents(x, y, size**-0.5), w)


def test_batches_share_arrays(alone: Chosen, rng: np.random.Generator) -> None:
    x, y, w = arrays(rng, HALF, (3, 2, 40, 20), (2, 70, 20), (3, 1, 70, 24))
    result = attention(alone, x, y[None], w, 0.25)
    assert not alone.usual
    assert_close(result, exponents(x, y, 0.25), w)


@pytest.mark.parametrize("slope", [-3.0, 0.0, 3.0])
def test_marks_rise_as_columns_come(alone: Chosen, rng: np.random.Generator, slope: float) -> None:
    """Exponents up to 900, in order; with equal ones every column counts."""
    x, y, w = np.ones((20, 20), HALF), np.zeros((300, 20), HALF), rng.normal(size=(300, 20)).astype(HALF)
    y[:, 0] = slope * np.arange(300)
    result = attention(alone, x, y, w, 1.0)
    assert_close(result, exponents(x, y, 1.0), w)


def test_small_exponentials_are_counted(alone: Chosen) -> None:
    """4,000 exponentials of 2^-17, each of which float16 would round by a share of itself beside 1."""
    x, y = np.zeros((3, 20), HALF), np.zeros((4001, 20), HALF)
    x[:, 0], y[1:, 0] = 1, -11.78125
    w = np.ones((4001, 20), HALF)
    w[0] = 0
    assert_close(attention(alone, x, y, w, 1.0), exponents(x, y, 1.0), w)


def test_shares_of_the_columns(alone: Chosen, rng: np.random.Generator) -> None:
    """Few rows share the device; the last launch merges what was left of every share."""
    x, y, w = arrays(rng, BFLOAT, (5, 20), (20_000, 20), (20_000, 30))
    result = attention(alone, x, y, w, 0.3)
    assert not alone.usual
    assert_close(result, exponents(x, y, 0.3), w)


def test_columns_may_be_left_out(alone: Chosen, rng: np.random.Generator) -> None:
    """An exponent of -inf leaves a column out; rows without any are 0."""
    x, y, w = arrays(rng, HALF, (40, 20), (90, 20), (90, 20))
    bias = np.where(rng.random((90, 1)) < 0.5, 0, -np.inf).astype(HALF)
    result = attention(alone, x, y, w, 0.3, bias)
    assert not alone.usual
    assert_close(result, exponents(x, y, 0.3) + bias[:, 0].astype("f8"), w)
    nothing = attention(alone, x, y, w, 0.3, np.full((90, 1), -np.inf, HALF))
    np.testing.assert_array_equal(nothing, np.zeros((40, 20), HALF))


@pytest.mark.parametrize("place, value", [(0, np.inf), (0, np.nan), (1, -np.inf), (2, np.inf), (2, np.nan)])
def test_what_is_not_finite_is_computed_as_ever(
    everywhere: Chosen, context: cm.Context, rng: np.random.Generator, place: int, value: float
) -> None:
    shapes = (40, 20), (90, 20), (90, 20)
    values = arrays(rng, HALF, *shapes)
    values[place][7, 3] = value
    result = attention(everywhere, *values, 0.3)
    assert not everywhere.usual
    usual = attention(Chosen(cm.Context(context.device)), *values, 0.3, precision="exact")
    np.testing.assert_array_equal(np.isnan(result), np.isnan(usual))
    there = np.isfinite(usual)
    np.testing.assert_array_equal(result[~there & ~np.isnan(usual)], usual[~there & ~np.isnan(usual)])
    np.testing.assert_allclose(result[there].astype("f8"), usual[there].astype("f8"), atol=2.0**-9)


def test_an_infinite_weight_counts_however_small_its_share(everywhere: Chosen) -> None:
    """exp(-40) is 0 in float16 beside 1, and 0 times infinity is no number: the two passes give infinity."""
    x, y, w = np.zeros((5, 20), HALF), np.zeros((9, 20), HALF), np.ones((9, 20), HALF)
    x[:, 0], y[4, 0], w[4, 2] = 1, -40, np.inf
    result = attention(everywhere, x, y, w, 1.0)
    assert not everywhere.usual
    assert np.all(np.isposinf(result[:, 2]))
    np.testing.assert_array_equal(np.delete(result, 2, axis=1), np.ones((5, 19), HALF))


def test_exact_sums_are_computed_in_float32(everywhere: Chosen, rng: np.random.Generator) -> None:
    """Asked for precision, exponentials do not round to 16 bits: only the results do."""
    x, y, w = arrays(rng, HALF, (40, 20), (90, 20), (90, 20))
    result = attention(everywhere, x, y, w, 0.3, precision="exact")
    right, size = expected(exponents(x, y, 0.3), w)
    assert np.all(np.abs(result.astype("f8") - right) <= 2.0**-11 * np.abs(right) + 2.0**-20 * size + 2.0**-25)


@pytest.mark.parametrize("scale", [1.0, 0.3, -1.0])
def test_value_gradient_and_logarithm(alone: Chosen, rng: np.random.Generator, scale: float) -> None:
    """Of one walk: arrays side by side, of which one is multiplied by a number."""
    x, y, w = arrays(rng, HALF, (3, 50, 40), (3, 200, 40), (3, 200, 21))
    i, j, weights = (cm.LazyTensor(a) for a in (x[:, :, None], y[:, None], w[:, None]))
    inner = (i | j) * scale
    both = weights.concat(-j if scale < 0 else j * scale)
    result, logarithm = inner.sumsoftmaxweight_logsumexp(both, axis=2, context=alone.context, mode="parallel")
    assert alone.looked and not alone.usual
    right = exponents(x, y, scale)
    assert_close(result[..., :21], right, w)
    means, size = expected(right, y)
    assert np.all(np.abs(result[..., 21:] - scale * means) <= abs(scale) * 2.25 * ROUNDING[HALF] * size + 2.0**-25)
    assert logarithm.shape == (3, 50, 1) and logarithm.dtype == HALF
    total = np.log(np.exp(right).sum(-1, keepdims=True))
    assert np.all(np.abs(logarithm - total) <= 2.0**-11 * np.abs(total) + 2.0**-12)


def test_the_gradient_of_the_logarithm_is_a_weight(alone: Chosen, rng: np.random.Generator) -> None:
    """By the derivative that the formula has: its factor is the number that the exponents have."""
    x, y, w = arrays(rng, HALF, (50, 40), (200, 40), (200, 21))
    i, j = cm.Vi(x), cm.Vj(y)
    inner = (i | j) / cm.Pm(np.array([8], HALF))
    both = cm.Vj(w).concat(inner.grad(i, 1.0))
    result, _ = inner.sumsoftmaxweight_logsumexp(both, axis=1, context=alone.context, mode="parallel")
    assert alone.looked and not alone.usual
    assert_close(result[:, 21:] * 8, exponents(x, y, 0.125), y)


def test_a_number_of_no_exponent(alone: Chosen, rng: np.random.Generator) -> None:
    x, y, w = arrays(rng, HALF, (50, 40), (200, 40), (200, 21))
    i, j, weights = cm.Vi(x), cm.Vj(y), cm.Vj(w)
    both = (-3 * weights).concat(j / 2).concat(weights * 0.5)
    result = (i | j).sumsoftmaxweight(both, axis=1, context=alone.context, mode="parallel")
    assert alone.looked and not alone.usual
    right = exponents(x, y, 1.0)
    numbers = [-3 * w.astype("f4"), y.astype("f4") / 2, w.astype("f4") / 2]
    assert_close(result, right, np.hstack(numbers).astype(HALF))


def planned(text: str, weight: str, code: str, rows: int, columns: int) -> Plan:
    request = passes_of(form_of(text, "SumSoftMaxWeight", weight, code=code))
    domain = Pairwise(rows, columns, 1, 10**7)
    return request.plan(Setting(domain, PARALLEL, FACTS["nvidia"]), (np.dtype(code),))


def test_which_sums_take_one_walk() -> None:
    """Those of arrays of one dtype of 16 bits, which registers hold, and enough of them."""
    inner, weight = "(Vi(0,{0})|Vj(1,{0}))/Pm(2,1)", "Vj(3,{})"
    cases = [
        (inner.format(64), weight.format(64), "f2", 50_000, True),
        (inner.format(128), weight.format(128), "f2", 50_000, True),
        (inner.format(64), weight.format(64), "f2", 1000, False),  # too few
        (inner.format(64), weight.format(64), "f4", 50_000, False),
        (inner.format(64), weight.format(129), "f2", 50_000, False),
        (inner.format(129), weight.format(64), "f2", 50_000, False),
        (inner.format(64), "Concat(Vj(3,64),Vj(1,64))", "f2", 50_000, True),
        (inner.format(64), "Concat(Vj(3,30),Vj(1,64)*Pm(2,1))", "f2", 50_000, True),
        (inner.format(64), "Concat(Vj(3,30),Inv(Pm(2,1))*Vj(1,64))", "f2", 50_000, True),
        (inner.format(64), "Concat(-Vj(3,30),Vj(1,64)*0.5)", "f2", 50_000, True),
        (inner.format(64), "Concat(Vj(3,30)/(-2),Inv(-Pm(2,1))*Vj(1,64))", "f2", 50_000, True),
        (inner.format(64), "Vj(3,64)*Abs(Pm(2,1))", "f2", 50_000, False),
        (inner.format(64), "Concat(Vj(3,30),Vj(1,64)*Vi(4,1))", "f2", 50_000, False),
        (inner.format(64), "Concat(Vj(3,65),Vj(1,64))", "f2", 50_000, False),
        (inner.format(64), "Concat(Vj(3,64),Vi(0,64))", "f2", 50_000, False),
        (inner.format(64), "Square(Vj(3,64))", "f2", 50_000, False),
        ("-SqDist(Vi(0,64),Vj(1,64))", weight.format(64), "f2", 50_000, False),
        ("(Vi(0,64)*Pm(2,64)|Vj(1,64))", weight.format(64), "f2", 50_000, False),
        ("Square((Vi(0,64)|Vj(1,64)))", weight.format(64), "f2", 50_000, False),
    ]  # fmt: skip
    for text, weights, code, points, walks_once in cases:
        kernels = [stage.spec.kernel for stage in planned(text, weights, code, points, points).stages]
        assert ("cmr_pairwise_softmax" in kernels) is walks_once, (text, weights, code, points)


def test_both_ways_have_room_in_the_arrays_that_they_share() -> None:
    """Launches that run one after the other may give their arrays the same names."""
    assert shared_scratch({"marks": 8, "sums": 40}, {"marks": 16, "sums": 4, "flags": 4}) == {
        "marks": 16, "sums": 40, "flags": 4,
    }  # fmt: skip
    plan = planned("(Vi(0,20)|Vj(1,20))/Pm(2,1)", "Vj(3,20)", "f2", 50_000, 50_000)
    named = {name for stage in plan.stages for name in (*stage.reads, *stage.writes)}
    assert {name for name in named if not name.startswith(("in", "out"))} == set(plan.scratch)
