"""Numbers of one side that are computed before all pairs: norms of long vectors, against NumPy in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support.pair_plans import vector
from support.random_blocks import Halves, drawn_blocks, mask_of

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.pairwise.call import PairCall, explain_pairs, reduce_pairs
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS
from clmapreduce.vector import Variable

pytestmark = pytest.mark.drawn

DIM = 21
VARIABLES = (Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, DIM, 2), Variable(3, 1, 1))
NAMES = (f"x=Vi(0,{DIM})", f"y=Vj(1,{DIM})", f"p=Pm(2,{DIM})", "b=Vj(3,1)")
COSINE = "(x|y)/(Norm2(x)*Norm2(y)+(p|p))"


def call_of(text: str, name: str = "Sum", axis: int = 1, weight: str | None = None, backend: str = "auto") -> PairCall:
    weights = None if weight is None else vector(weight, *NAMES)
    return PairCall(vector(text, *NAMES), PAIR_REDUCTIONS[name], axis, weights, backend=backend)


def random_arrays(
    rng: np.random.Generator, rows: int, columns: int, code: str = "f4", batch: Sequence[tuple[int, ...]] = ((),) * 3
) -> list[Any]:
    """x, y, p and b."""
    shapes = ((*batch[0], rows, DIM), (*batch[1], columns, DIM), (*batch[2], DIM), (*batch[1], columns, 1))
    return [rng.normal(size=shape).astype(code) for shape in shapes]


def cosines(x: Any, y: Any, p: Any) -> Any:
    x, y, p = (a.astype("f8") for a in (x, y, p))
    norms = np.linalg.norm(x, axis=-1)[..., :, None] * np.linalg.norm(y, axis=-1)[..., None, :]
    return x @ np.swapaxes(y, -1, -2) / (norms + np.square(p).sum(-1)[..., None, None])


def run(call: PairCall, arrays: Sequence[Any], mode: str, context: cm.Context, ranges: Any = None) -> Any:
    variables = call.formula.variables + (call.weight.variables if call.weight is not None else ())
    inputs = {v: a for v, a in zip(VARIABLES, arrays, strict=True) if v in variables}
    return reduce_pairs(call, inputs, Options(mode, context), ranges=ranges)


@pytest.mark.parametrize("code", ["f2", "f4", "f8"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("sparse", [False, True])
def test_sums(
    context: cm.Context, mode: str, rng: np.random.Generator, sparse: bool, axis: int, code: str
) -> None:  # fmt: skip
    if code == "f8" and not context.facts.fp64:
        pytest.skip("no float64 here")
    for rows, columns in ((1, 1), (33, 170), (170, 33)):
        x, y, p, b = random_arrays(rng, rows, columns, code)
        terms = np.exp(cosines(x, y, p)) * b[:, 0].astype("f8")
        blocks = drawn_blocks(rng, *terms.shape[:: 1 if axis else -1]) if sparse else None
        if blocks is not None:
            mask = mask_of(blocks)
            terms = np.where(mask if axis else mask.T, terms, 0)
        ranges = None if blocks is None else Halves(axis, blocks)
        result = run(call_of(f"Exp({COSINE})*b", axis=axis), (x, y, p, b), mode, context, ranges)[:, 0]
        eps = np.finfo("f4" if code == "f2" else code).eps
        rounding = 1e-3 * np.abs(terms.sum(axis)) + 1e-6 if code == "f2" else 0
        assert np.all(np.abs(result - terms.sum(axis)) <= 64 * eps * np.abs(terms).sum(axis) + rounding)


@pytest.mark.parametrize("batch", [((3,), (), ()), ((), (2,), ()), ((), (), (2,)), ((2, 1), (3,), ())])
def test_batches(context: cm.Context, mode: str, rng: np.random.Generator, batch: Sequence[tuple[int, ...]]) -> None:
    """Numbers of a side have a batch of their own where its vectors have one."""
    x, y, p, b = random_arrays(rng, 40, 90, batch=batch)
    terms = np.exp(cosines(x, y, p)) * np.swapaxes(b, -1, -2)
    result = run(call_of(f"Exp({COSINE})*b"), (x, y, p, b), mode, context)
    assert result.shape == (*terms.shape[:-2], 40, 1)
    assert np.all(np.abs(result[..., 0] - terms.sum(-1)) <= 1e-5 * np.abs(terms).sum(-1))


@pytest.mark.parametrize("rows", [3, 70])
@pytest.mark.parametrize("backend", ["auto", "2D"])
@pytest.mark.parametrize("name", ["ArgKMin", "LogSumExp", "Max", "SumSoftMaxWeight"])
def test_reductions(
    context: cm.Context, mode: str, rng: np.random.Generator, name: str, backend: str, rows: int
) -> None:
    """A few rows as well, and weights whose sums take two passes."""
    x, y, p, b = random_arrays(rng, rows, 300)
    values = cosines(x, y, p)
    text = f"-{COSINE}" if "Min" in name else COSINE
    call = call_of(text, name, weight="y*Norm2(y)" if "Weight" in name else None, backend=backend)
    if name == "ArgKMin":
        call = PairCall(call.formula, call.reduction, 1, options=type(call.options)(k=2), backend=backend)
        result = run(call, (x, y, p, b), mode, context).astype(int).reshape(rows, 2)
        best = np.take_along_axis(values, result, 1)
        np.testing.assert_allclose(best, -np.sort(-values, axis=1)[:, :2], atol=1e-5)
        return
    result = run(call, (x, y, p, b), mode, context)
    if name == "SumSoftMaxWeight":
        share = np.exp(values) / np.exp(values).sum(1, keepdims=True)
        weights = y.astype("f8") * np.linalg.norm(y, axis=1, keepdims=True)
        assert np.all(np.abs(result - share @ weights) <= 1e-5 * (share @ np.abs(weights)))
        return
    expected = values.max(1) if name == "Max" else np.log(np.exp(values).sum(1))
    np.testing.assert_allclose(result[:, 0], expected, rtol=1e-5, atol=1e-5)


def test_what_needs_one_side_alone(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """A formula that is all aside, rows' and columns'; and what a long value is multiplied by."""
    x, y, p, b = random_arrays(rng, 5, 60)
    norms = [np.linalg.norm(a.astype("f8"), axis=1) for a in (x, y)]
    np.testing.assert_allclose(run(call_of("Norm2(y)"), (x, y, p, b), mode, context), [[norms[1].sum()]], rtol=1e-5)
    result = run(call_of("Norm2(x)*b", axis=0), (x, y, p, b), mode, context)
    np.testing.assert_allclose(result[:, 0], b[:, 0] * norms[0].sum(), rtol=1e-5)
    result = run(call_of("Norm2(x)*y"), (x, y, p, b), mode, context)
    terms = norms[0][:, None, None] * y.astype("f8")
    assert np.all(np.abs(result - terms.sum(1)) <= 1e-5 * np.abs(terms).sum(1))


def test_repeats_and_explanations(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """The same bits every time, on arrays that stay on the device as well."""
    call = call_of(f"Exp({COSINE})*b")
    arrays = {v: cm.array(a, context) for v, a in zip(VARIABLES, random_arrays(rng, 50, 400), strict=True)}
    assert "3 numbers of a side computed before" in explain_pairs(call, arrays, Options(mode, context))
    first = np.asarray(reduce_pairs(call, arrays, Options(mode)))
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(reduce_pairs(call, arrays, Options(mode))), first)
