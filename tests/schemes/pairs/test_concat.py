"""Concatenations with long parts: values and gradients of long vectors from one call, against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.pair_plans import form_of
from support.random_blocks import Halves, drawn_blocks, mask_of

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.pairwise.call import PairCall, explain_pairs, prepare_pairs, reduce_pairs
from clmapreduce.planning.pair_request import passes_of
from clmapreduce.planning.passes import Concatenated, OnePass
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS
from clmapreduce.vector import OPERATIONS, Variable, Vector

pytestmark = pytest.mark.drawn

F = OPERATIONS
DIM = 21


def value_and_slope(axis: int = 1) -> tuple[Vector, tuple[Variable, ...]]:
    """exp(-|x - y|²) b, its gradient by what stays, and again the value: short and long parts by turns."""
    x, y = Variable(0, DIM, 0), Variable(1, DIM, 1)
    b = Variable(2, 1, axis)
    value = F["Exp"](-F["SqDist"](x, y)) * b
    slope = F["Grad"](value, x if axis == 1 else y, F["IntCst"](1))
    return F["Concat"](value, slope, value, value * 2), (x, y, b)


def dense(rows: Any, columns: Any, b: Any, keep: Any = True) -> tuple[Any, Any]:
    """The results, and what rounding may be relative to: for a coordinate of a gradient, the lengths of its terms
    (docs/guides/pairwise.md promises no more for a single pair whose points share the coordinate).
    """
    difference = rows.astype("f8")[:, None] - columns.astype("f8")
    values = np.where(keep, np.exp(-np.square(difference).sum(-1)) * b[:, 0].astype("f8"), 0)
    slopes = -2 * values[..., None] * difference
    results, sizes = [], []
    for part in (values[..., None], slopes, values[..., None], 2 * values[..., None]):
        results.append(part.sum(1))
        sizes.append(np.broadcast_to(np.linalg.norm(part, axis=-1, keepdims=True), part.shape).sum(1))
    return np.concatenate(results, 1), np.concatenate(sizes, 1)


def arrays_of(rng: np.random.Generator, rows: int, columns: int, code: str = "f4", axis: int = 1) -> Any:
    _, (x, y, b) = value_and_slope(axis)
    counts = (rows, columns) if axis == 1 else (columns, rows)
    near = [(rng.normal(size=(count, DIM)) / 7).astype(code) for count in counts]
    return {x: near[0], y: near[1], b: rng.normal(size=(columns, 1)).astype(code)}


@pytest.mark.parametrize("code", ["f2", "f4", "f8"])
@pytest.mark.parametrize("name", ["Sum", "Mean"])
@pytest.mark.parametrize("axis", [0, 1])
def test_values_and_gradients(
    context: cm.Context, mode: str, rng: np.random.Generator, axis: int, name: str, code: str
) -> None:
    if code == "f8" and not context.facts.fp64:
        pytest.skip("no float64 here")
    formula, (x, y, b) = value_and_slope(axis)
    for rows, columns in ((1, 1), (33, 70), (7, 1000)):
        arrays = arrays_of(rng, rows, columns, code, axis)
        result = reduce_pairs(PairCall(formula, PAIR_REDUCTIONS[name], axis), arrays, Options(mode, context))
        own, others = (arrays[x], arrays[y]) if axis == 1 else (arrays[y], arrays[x])
        expected, sizes = dense(own, others, arrays[b])
        scale = columns if name == "Mean" else 1
        eps = np.finfo("f4" if code == "f2" else code).eps
        rounding = np.finfo(code).eps * np.abs(expected) + 1e-6 if code == "f2" else 0
        assert result.shape == expected.shape == (rows, DIM + 3) and result.dtype == np.dtype(code)
        assert np.all(np.abs(result * scale - expected) <= 64 * eps * sizes + rounding * scale)


def test_batches_and_blocks(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Every part has tables of its own; splits too."""
    formula, (x, y, b) = value_and_slope()
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1, backend=str(rng.choice(["auto", "2D"])))
    arrays = arrays_of(rng, 70, 193)
    blocks = drawn_blocks(rng, 70, 193)
    batch = {x: np.stack([arrays[x], arrays[x][::-1]]), y: arrays[y], b: arrays[b]}
    prepared = prepare_pairs(call, batch, Options(mode, context), None, Halves(1, blocks))
    assert isinstance(prepared, Prepared)
    result = prepared.run()[0]
    for i in range(2):
        expected, sizes = dense(batch[x][i], arrays[y], arrays[b], mask_of(blocks))
        assert np.all(np.abs(result[i] - expected) <= 1e-5 * sizes)


def test_out_and_repeats(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """The same bits every time, into an array that is there as well."""
    formula, (_x, _y, _b) = value_and_slope()
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    arrays = {variable: cm.array(array, context) for variable, array in arrays_of(rng, 40, 300).items()}
    first = np.asarray(reduce_pairs(call, arrays, Options(mode)))
    out = cm.array(np.full((40, DIM + 3), np.nan, "f4"), context)
    for _ in range(3):
        reduce_pairs(call, arrays, Options(mode, out=out))
        np.testing.assert_array_equal(np.asarray(out), first)
        np.testing.assert_array_equal(np.asarray(reduce_pairs(call, arrays, Options(mode))), first)
    text = explain_pairs(call, arrays, Options(mode, context))
    assert "3 parts by themselves" in text


def test_what_is_taken_apart() -> None:
    """Long parts of sums alone; short ones between them stay together."""
    long, short = "Vi(0,40)*Vj(1,1)", "Vj(1,1)"
    parts = passes_of(form_of(f"Concat({short},{short},{long},{short})"))
    assert isinstance(parts, Concatenated)
    sizes = [part.outputs[0].shape for part in parts.parts]
    assert sizes == [(2,), (40,), (1,)]
    assert parts.outputs[0].shape == (43,)
    assert isinstance(passes_of(form_of(long)), OnePass)
    assert isinstance(passes_of(form_of(f"Concat({short},Vi(2,10))")), OnePass)
    assert isinstance(passes_of(form_of(f"Concat({short},{long})", "Max")), OnePass)
    assert isinstance(passes_of(form_of(f"Concat({short},{long})", "Sum", scheme="kahan_scheme")), OnePass)
