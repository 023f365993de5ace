"""Exponentials with long weights: two passes over the pairs, against dense NumPy in float64 and the one pass that other
options take.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.pair_plans import DISTANCE, form_of
from support.plans import FACTS, PARALLEL, SEQUENTIAL

import clmapreduce as cm
from clmapreduce import LazyTensor
from clmapreduce.calls.options import Options
from clmapreduce.domain.dense import Pairwise
from clmapreduce.pairwise.call import PairCall, explain_pairs, reduce_pairs
from clmapreduce.planning.pair_request import SHORTEST, passes_of
from clmapreduce.planning.passes import OneOrTwoPasses, OnePass, Setting, TwoPasses
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS, PairOptions
from clmapreduce.vector import OPERATIONS, Variable

pytestmark = pytest.mark.drawn

F = OPERATIONS
NAMES = ["SumSoftMaxWeight", "LogSumExpWeight", "Max_SumShiftExpWeight"]
SHAPES = [(1, 1), (1, 193), (31, 1), (31, 193), (193, 31), (3, 5000), (70, 1000)]


def dense(name: str, f: Any, w: Any) -> tuple[Any, Any]:
    """What f (M, N) and w (M or 1, N, E) give, and how far rounding may lead in units of eps."""
    top = f.max(1, keepdims=True)
    powers = np.exp(f - top)[..., None]
    total, sums, sizes = powers.sum(1), (powers * w).sum(1), (powers * np.abs(w)).sum(1)
    unit = 32 * (1 + np.abs(f).max())
    if name == "SumSoftMaxWeight":
        return sums / total, unit * sizes / total
    if name == "LogSumExpWeight":
        return top + np.log(sums), unit * (1 + np.abs(np.log(sums)))
    return np.concatenate([top, sums], 1), unit * np.concatenate([np.ones_like(top), sizes], 1)


def close(result: Any, expected: Any, units: Any, dtype: str) -> bool:
    assert result.shape == expected.shape and result.dtype == dtype
    eps = np.finfo("f4" if dtype == "float16" else dtype).eps
    own = np.finfo(dtype).eps * np.abs(expected) if dtype == "float16" else 0
    return bool(np.all(np.abs(result - expected) <= units * eps + own))


@pytest.mark.drawn
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("size", [17, 64, 300])
@pytest.mark.parametrize("name", NAMES)
def test_long_weights(
    context: cm.Context, mode: str, rng: np.random.Generator, name: str, size: int, dtype: str
) -> None:
    """Around every tile, with few rows and many, split or not; exponents far from 0."""
    if dtype == "float64" and not context.facts.fp64:
        pytest.skip("no float64 here")
    rows, columns = SHAPES[rng.integers(len(SHAPES))]
    x, y, w = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, size, 1)
    arrays = {x: rng.normal(size=(rows, 3)).astype(dtype), y: rng.normal(size=(columns, 3)).astype(dtype)}
    arrays[w] = (
        rng.random((columns, size)) + 0.1 if name == "LogSumExpWeight" else rng.normal(size=(columns, size))
    ).astype(dtype)
    backend = str(rng.choice(["auto", "1D", "2D"]))
    call = PairCall(-F["SqDist"](x, y) * 3, PAIR_REDUCTIONS[name], 1, w, backend=backend)
    result = reduce_pairs(call, arrays, Options(mode, context))
    xs, ys, ws = (arrays[v].astype("f8") for v in (x, y, w))
    assert close(result, *dense(name, -3 * np.square(xs[:, None] - ys).sum(-1), ws[None]), dtype)


def test_batches_axes_and_weights_of_rows(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """i is reduced, in a batch; the weights depend on both sides and on a scalar of the pair."""
    x, y, b = Variable(0, 20, 0), Variable(1, 20, 1), Variable(2, 20, 0)
    shapes = {x: (3, 41, 20), y: (2, 1, 70, 20), b: (41, 20)}
    arrays = {v: (rng.normal(size=shape) / 5).astype("f4") for v, shape in shapes.items()}
    weight = F["Exp"](-F["SqDist"](x, y)) * (x - y) + b
    for name in ("SumSoftMaxWeight", "Max_SumShiftExpWeight"):
        call = PairCall(F["Scalprod"](x, y) * 2, PAIR_REDUCTIONS[name], 0, weight)
        result = reduce_pairs(call, arrays, Options(mode, context))
        assert result.shape[:3] == (2, 3, 70)
        for i in range(2):
            for j in range(3):
                xs, ys, bs = (a.astype("f8") for a in (arrays[x][j], arrays[y][i, 0], arrays[b]))
                apart = xs[None] - ys[:, None]
                w = np.exp(-np.square(apart).sum(-1, keepdims=True)) * apart + bs[None]
                assert close(result[i, j], *dense(name, 2 * ys @ xs.T, w), "float32")


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_are_not_finite(context: cm.Context, mode: str, rng: np.random.Generator, name: str) -> None:
    """As in one pass: rows of -inf, NaN and +inf, and weights that are not finite where nothing is."""
    x, y, w = Variable(0, 1, 0), Variable(1, 1, 1), Variable(2, 19, 1)
    inputs = {x: rng.normal(size=(9, 1)).astype("f4"), y: rng.normal(size=(40, 1)).astype("f4")}
    inputs[w] = rng.random((40, 19)).astype("f4")
    inputs[x][:4, 0] = [-np.inf, np.nan, np.inf, 3e38]
    special = {v: a.copy() for v, a in inputs.items()}
    special[y][7], special[w][5, 3], special[w][6, 4] = -np.inf, np.inf, np.nan
    for arrays in (inputs, special):
        one, two = (
            reduce_pairs(PairCall(x + y, PAIR_REDUCTIONS[name], 1, w, options), arrays, Options(mode, context))
            for options in (PairOptions(scheme="direct_sum"), PairOptions())
        )
        np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-5)
        assert not np.isnan(two[4:, 6:]).any()


@pytest.mark.parametrize("name", [*NAMES, "SumSoftMaxWeight_LogSumExp"])
def test_weights_side_by_side(context: cm.Context, mode: str, rng: np.random.Generator, name: str) -> None:
    """Long ones are sums of their own, and short ones between them; the logarithm comes once."""
    x, y, w, v = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 20, 1), Variable(3, 2, 1)
    shapes = {x: (70, 3), y: (130, 3), w: (130, 20), v: (130, 2)}
    arrays = {variable: (rng.random(shape) + 0.1).astype("f4") for variable, shape in shapes.items()}
    weight = F["Concat"](w, v, F["Square"](y), F["Square"](w))
    call = PairCall(-F["SqDist"](x, y) * 3, PAIR_REDUCTIONS[name], 1, weight)
    results = reduce_pairs(call, arrays, Options(mode, context))
    xs, ys, ws, vs = (array.astype("f8") for array in arrays.values())
    exponents, weights = -3 * np.square(xs[:, None] - ys).sum(-1), np.hstack([ws, vs, ys**2, ws**2])
    if name in NAMES:
        assert close(results, *dense(name, exponents, weights), "float32")
        return
    assert close(results[0], *dense("SumSoftMaxWeight", exponents, weights), "float32")
    assert close(results[1], *dense("LogSumExpWeight", exponents, np.ones((130, 1))), "float32")


def test_all_of_a_row_below_everything(context: cm.Context, mode: str) -> None:
    x, y, w = Variable(0, 1, 0), Variable(1, 1, 1), Variable(2, 20, 1)
    inputs = {x: np.full((3, 1), -np.inf, "f4"), y: np.zeros((50, 1), "f4"), w: np.ones((50, 20), "f4")}
    expected = {
        "SumSoftMaxWeight": [0.0] * 20,
        "LogSumExpWeight": [-np.inf] * 20,
        "Max_SumShiftExpWeight": [-np.inf] + [0.0] * 20,
    }
    empty = {**inputs, y: np.zeros((0, 1), "f4"), w: np.ones((0, 20), "f4")}
    for name in NAMES:
        for arrays in (inputs, empty):
            result = reduce_pairs(PairCall(x + y, PAIR_REDUCTIONS[name], 1, w), arrays, Options(mode, context))
            np.testing.assert_array_equal(result, [expected[name]] * 3)


def test_it_is_one_submission_and_explained(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Nothing but the three launches and merges; arrays on the device stay there, and repeated calls are cached."""
    x, y, w = Variable(0, 2, 0), Variable(1, 2, 1), Variable(2, 33, 1)
    arrays = {x: rng.normal(size=(90, 2)), y: rng.normal(size=(130, 2)), w: rng.normal(size=(130, 33))}
    arrays = {v: a.astype("f4") for v, a in arrays.items()}
    call = PairCall(-F["SqDist"](x, y), PAIR_REDUCTIONS["SumSoftMaxWeight"], 1, w)
    text = explain_pairs(call, arrays, Options(mode, context))
    assert "two passes, for weights of 33 numbers" in text and "cmr_pairwise_last" in text
    device_arrays = {v: cm.array(a, context) for v, a in arrays.items()}
    results = [reduce_pairs(call, device_arrays, Options(mode)) for _ in range(3)]
    xs, ys, ws = (arrays[v].astype("f8") for v in (x, y, w))
    expected, units = dense("SumSoftMaxWeight", -np.square(xs[:, None] - ys).sum(-1), ws[None])
    assert all(close(np.asarray(result), expected, units, "float32") for result in results)


def test_lazy_tensors_take_it(rng: np.random.Generator) -> None:
    x, y, w = (rng.normal(size=shape).astype("f4") for shape in ((30, 1, 3), (1, 50, 3), (1, 50, 64)))
    f = -((LazyTensor(x) - LazyTensor(y)) ** 2).sum(-1)
    expected, units = dense("SumSoftMaxWeight", -np.square(x.astype("f8") - y).sum(-1), w.astype("f8"))
    assert close(f.sumsoftmaxweight(LazyTensor(w), axis=1), expected, units, "float32")


def test_what_still_takes_one_pass() -> None:
    """Few weights, sums in another dtype or added one by one, and weights that mix coordinates."""
    long, mixed = "Vj(2,40)", "Extract(Vj(2,40),3,20)"
    assert isinstance(passes_of(form_of(DISTANCE, "SumSoftMaxWeight", long)), TwoPasses)
    others = [({}, "Vj(2,3)"), ({"accumulate": np.dtype("f8")}, long), ({"scheme": "direct_sum"}, long), ({}, mixed)]
    for options, weight in others:
        assert isinstance(passes_of(form_of(DISTANCE, "SumSoftMaxWeight", weight, **options)), OnePass)


@pytest.mark.parametrize("name", [*NAMES, "SumSoftMaxWeight_LogSumExp"])
def test_short_weights_in_two_passes(
    context: cm.Context, mode: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """As where matrix instructions compute both; in a batch, of which each element has marks of its own."""
    monkeypatch.setattr(OneOrTwoPasses, "_pays", lambda passes, setting: True)
    size, dim = int(rng.integers(SHORTEST, 17)), int(rng.integers(1, 20))
    x, y, w = Variable(0, dim, 0), Variable(1, dim, 1), Variable(2, size, 1)
    scales = np.array([1, 0.1])[:, None, None]
    arrays = {x: rng.normal(size=(130, dim)), y: scales * rng.normal(size=(171, dim)), w: rng.random((171, size)) + 0.1}
    arrays = {variable: array.astype("f4") for variable, array in arrays.items()}
    call = PairCall(-F["SqDist"](x, y), PAIR_REDUCTIONS[name], 1, w)
    fresh = Options(mode, cm.Context(context.device))
    assert "two passes" in explain_pairs(call, arrays, fresh)
    results = reduce_pairs(call, arrays, fresh)
    first, *others = results if isinstance(results, tuple) else (results,)
    xs, both, ws = (array.astype("f8") for array in arrays.values())
    for k, ys in enumerate(both):
        exponents = -np.square(xs[:, None] - ys).sum(-1)
        assert close(first[k], *dense(name if name in NAMES else "SumSoftMaxWeight", exponents, ws[None]), "float32")
        for other in others:
            assert close(other[k], *dense("LogSumExpWeight", exponents, np.ones((1, 171, 1))), "float32")


@pytest.mark.parametrize(
    ("dim", "size", "count", "twice"),
    [
        (3, 12, 100_000, False), (3, 13, 100_000, True), (8, 8, 100_000, False), (12, 8, 100_000, False), (12, 10, 100_000, True),
        (16, 6, 100_000, False), (16, 8, 100_000, True), (16, 16, 10_000, True), (3, 16, 10_000, False),
        (16, 16, 5_000, False),
    ],
)  # fmt: skip
def test_what_takes_one_pass_or_two(dim: int, size: int, count: int, twice: bool) -> None:
    """Where matrix instructions compute both, by the numbers of a vector, weights, and points; elsewhere one."""
    passes = passes_of(form_of(f"SqDist(Vi(0,{dim}),Vj(1,{dim}))", "SumSoftMaxWeight", f"Vj(2,{size})"))
    domain = Pairwise(count, count, 1, count * 16)
    for facts, expected in ((FACTS["nvidia"], twice), (FACTS["amd"], False)):
        plan = passes.plan(Setting(domain, PARALLEL, facts), (np.dtype("f4"),))
        assert ("two passes" in plan.why) == expected
    assert "two passes" not in passes.plan(Setting(domain, SEQUENTIAL, FACTS["nvidia"]), (np.dtype("f4"),)).why


@pytest.mark.parametrize(
    ("size", "code", "why"),
    [(8, "f4", "split"), (9, "f4", "two passes"), (16, "f8", "split"), (1, "f2", "one walk"), (16, "f2", "one walk")],
)
def test_what_long_vectors_take(size: int, code: str, why: str) -> None:
    """By the weights, and by the arrays' dtype."""
    passes = passes_of(form_of("Vi(0,64)|Vj(1,64)", "SumSoftMaxWeight", f"Vj(2,{size})", code))
    domain = Pairwise(100_000, 100_000, 1, 6_400_000)
    assert passes.plan(Setting(domain, PARALLEL, FACTS["nvidia"]), (np.dtype(code),)).why.startswith(why)
