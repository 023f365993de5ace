"""Long right-hand sides: sums against dense NumPy in float64, on every device and in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.pairwise.call import PairCall, prepare_pairs, reduce_pairs
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS, PairOptions
from clmapreduce.schemes.pairs.boxes import WideBox
from clmapreduce.schemes.pairs.long_values import CHAIN, WideText
from clmapreduce.vector import OPERATIONS, Variable
from clmapreduce.vector.derivative import gradient

pytestmark = pytest.mark.drawn

F = OPERATIONS
SUM = PAIR_REDUCTIONS["Sum"]
SHAPES = [(1, 1), (1, 193), (31, 1), (31, 193), (193, 31), (193, 1000)]


def points(rng: np.random.Generator, rows: int, dim: int, dtype: str) -> Any:
    return (rng.normal(size=(rows, dim)) / (2 * dim) ** 0.5).astype(dtype)


def gaussian(x: Any, y: Any) -> Any:
    return np.exp(-np.square(x.astype("f8")[:, None, :] - y.astype("f8")[None, :, :]).sum(-1))


def close(result: Any, expected: Any, terms: Any, dtype: str) -> bool:
    """Within a few roundings of the sum of the terms' sizes."""
    assert result.shape == expected.shape
    return bool(np.all(np.abs(result - expected) <= (2e-6 if dtype == "float32" else 1e-14) * terms))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [17, 64, 65, 300])
def test_kernel_matrix_times_matrix(
    context: cm.Context, mode: str, rng: np.random.Generator, size: int, dtype: str
) -> None:
    """Few and many coordinates, around every tile; a few of all combinations in each run."""
    if dtype == "float64" and not context.facts.fp64:
        pytest.skip("no float64 here")
    for dim in (3, int(rng.choice([17, 33, 50]))):
        rows, columns = SHAPES[rng.integers(len(SHAPES))]
        x, y, b = Variable(0, dim, 0), Variable(1, dim, 1), Variable(2, size, 1)
        arrays = {x: points(rng, rows, dim, dtype), y: points(rng, columns, dim, dtype)}
        arrays[b] = rng.normal(size=(columns, size)).astype(dtype)
        call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, SUM, 1)
        result = reduce_pairs(call, arrays, Options(mode, context))
        kernel = gaussian(arrays[x], arrays[y])
        assert close(result, kernel @ arrays[b].astype("f8"), kernel @ np.abs(arrays[b]), dtype)


def test_batches_axes_and_parameters(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Sums over i, of vectors of columns and parameters times scalars of both; a mean."""
    x, y = Variable(0, 2, 0), Variable(1, 2, 1)
    v, p, s = Variable(2, 20, 0), Variable(3, 20, 2), Variable(4, 1, 0)
    xs, ys = points(rng, 3 * 41, 2, "float32").reshape(3, 41, 2), points(rng, 2 * 70, 2, "float32")
    arrays = {x: xs, y: ys.reshape(2, 1, 70, 2), v: rng.normal(size=(41, 20)).astype("float32")}
    arrays |= {p: rng.random((3, 20)).astype("float32"), s: rng.random((3, 41, 1)).astype("float32")}
    formula = -F["Exp"](-F["SqDist"](x, y)) * (F["Sin"](v) * p + s) / 3
    for name in ("Sum", "Mean"):
        result = reduce_pairs(PairCall(formula, PAIR_REDUCTIONS[name], 0), arrays, Options(mode, context))
        assert result.shape == (2, 3, 70, 20)
        for i in range(2):
            for j in range(3):
                kernel = gaussian(arrays[y][i, 0], xs[j])
                long = np.sin(arrays[v].astype("f8")) * arrays[p][j] + arrays[s][j]
                scale = 41 if name == "Mean" else 1
                expected, terms = -(kernel @ long) / 3 / scale, kernel @ np.abs(long) / scale
                assert close(result[i, j], expected, terms, "float32")


def test_other_options_and_formulas_still_work(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """What depends on the row at every coordinate, or is not summed plainly."""
    x, y, b = Variable(0, 18, 0), Variable(1, 18, 1), Variable(2, 18, 1)
    arrays = {x: points(rng, 30, 18, "float32"), y: points(rng, 50, 18, "float32")}
    arrays[b] = rng.normal(size=(50, 18)).astype("float32")
    kernel = gaussian(arrays[x], arrays[y])
    moving = PairCall(F["Exp"](-F["SqDist"](x, y)) * (x - y), SUM, 1)
    apart = arrays[x].astype("f8")[:, None] - arrays[y].astype("f8")[None]
    result = reduce_pairs(moving, {x: arrays[x], y: arrays[y]}, Options(mode, context))
    expected, terms = (np.einsum("ij,ijd->id", kernel, z) for z in (apart, np.abs(apart)))
    assert close(result, expected, terms, "float32")
    for options in (PairOptions(scheme="kahan_scheme"), PairOptions(accumulate=np.dtype("f8"))):
        if options.accumulate is not None and not context.facts.fp64:
            continue
        call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, SUM, 1, options=options)
        result = reduce_pairs(call, arrays, Options(mode, context))
        assert close(result, kernel @ arrays[b].astype("f8"), kernel @ np.abs(arrays[b]), "float32")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dim", [17, 64, 65, 300])
def test_gradients_of_long_vectors(
    context: cm.Context, mode: str, rng: np.random.Generator, dim: int, dtype: str
) -> None:
    """x − y at every coordinate, far from the origin as well; both axes."""
    if dtype == "float64" and not context.facts.fp64:
        pytest.skip("no float64 here")
    rows, columns = SHAPES[rng.integers(len(SHAPES))]
    x, y, b = Variable(0, dim, 0), Variable(1, dim, 1), Variable(2, 1, 1)
    arrays = {v: (1000 + rng.random((n, dim))).astype(dtype) for v, n in ((x, rows), (y, columns))}
    arrays[b] = rng.normal(size=(columns, 1)).astype(dtype)
    formula = F["Exp"](-F["SqDist"](x, y) / dim) * b
    wide = {v: a.astype("f8") for v, a in arrays.items()}
    apart = wide[x][:, None] - wide[y]
    kernel = np.exp(-np.square(apart).sum(-1) / dim) * wide[b].T
    terms = -2 / dim * kernel[..., None] * apart
    for axis, v, sign in ((1, x, 1), (0, y, -1)):
        call = PairCall(gradient(formula, v, 1.0), SUM, axis)
        result = reduce_pairs(call, arrays, Options(mode, context))
        expected, size = sign * terms.sum(axis), np.abs(terms).sum(axis)
        assert close(result, expected, size, dtype)


MIXTURES: dict[str, tuple[Any, Any]] = {
    "two products": (lambda x, y, b, p: F["Exp"](-F["SqDist"](x, y)) * (x - y) + F["Sin"](F["SqDist"](x, y)) * b * p,
                     lambda x, y, b, p, d: np.exp(-d) * (x - y) + np.sin(d) * b * p),
    "no scalar": (lambda x, y, b, p: F["Exp"](-F["Square"](x - y * p)), lambda x, y, b, p, d: np.exp(-((x - y * p) ** 2))),
    "a condition": (lambda x, y, b, p: F["Abs"](x - y) * F["Step"](x - b), lambda x, y, b, p, d: np.abs(x - y) * (x >= b)),
    "a row alone": (lambda x, y, b, p: F["Sin"](x) * F["SqDist"](x, y), lambda x, y, b, p, d: np.sin(x) * d + 0 * y),
    "logarithms": (lambda x, y, b, p: F["Log"](F["Square"](b)) + F["SqNorm2"](x) * x, lambda x, y, b, p, d: np.log(b * b) + (x * x).sum(-1, keepdims=True) * x),
}  # fmt: skip


@pytest.mark.parametrize("name", MIXTURES)
def test_long_values_of_rows_and_columns(context: cm.Context, mode: str, rng: np.random.Generator, name: str) -> None:
    """Several scalars, several numbers of a row and of a column at each coordinate, in a batch."""
    build, dense = MIXTURES[name]
    x, y, b, p = Variable(0, 21, 0), Variable(1, 21, 1), Variable(2, 21, 1), Variable(3, 21, 2)
    shapes = {x: (2, 37, 21), y: (70, 21), b: (2, 70, 21), p: (2, 21)}
    arrays = {v: (rng.normal(size=shape) / 6).astype("f4") for v, shape in shapes.items()}
    formula = build(x, y, b, p)
    arrays_of_formula = {v: a for v, a in arrays.items() if v in formula.variables} | {y: arrays[y]}
    result = reduce_pairs(PairCall(formula, SUM, 1), arrays_of_formula, Options(mode, context))
    for k in range(2):
        one = [arrays[v].astype("f8") for v in (x, y, b, p)]
        xs, ys, bs, ps = one[0][k][:, None], one[1][None], one[2][k][None], one[3][k]
        terms = np.broadcast_to(dense(xs, ys, bs, ps, np.square(xs - ys).sum(-1, keepdims=True)), (37, 70, 21))
        own_result = result[k] if result.ndim == 3 else result
        assert close(own_result, terms.sum(1), np.abs(terms).sum(1) + 1e-3, "float32")


def test_infinities_stay_in_their_row_and_coordinate(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Rows, columns and coordinates beyond the end of a tile bring no NaN."""
    x, y, s = Variable(0, 20, 0), Variable(1, 20, 1), Variable(2, 1, 1)
    arrays = {x: rng.normal(size=(37, 20)).astype("f4"), y: rng.normal(size=(70, 20)).astype("f4")}
    arrays[s] = rng.random((70, 1)).astype("f4")
    arrays[x][5, 7], arrays[x][11, 19], arrays[x][36, 0] = np.inf, np.nan, -np.inf
    result = reduce_pairs(PairCall(s * (x - y), SUM, 1), arrays, Options(mode, context))
    wide = {v: a.astype("f8") for v, a in arrays.items()}
    terms = wide[s] * (wide[x][:, None] - wide[y])
    usual = np.isfinite(wide[x])
    np.testing.assert_array_equal(result[~usual], arrays[x][~usual])
    assert close(result[usual], terms.sum(1)[usual], np.abs(terms).sum(1)[usual], "float32")


BOXES = [WideBox(32, 4, 8, stage=4), WideBox(64, 4, 8, stage=16, unroll=2, loads=2), WideBox(256, 8, 8, stage=32)]


@pytest.mark.parametrize(("backend", "splits"), [("GPU_1D", 1), ("GPU_2D", 2)])
def test_sums_are_stored_and_begin_again(
    context: cm.Context, rng: np.random.Generator, backend: str, splits: int
) -> None:
    """A group has more columns than one sum adds up, as results or as parts of them."""
    rows, columns, box = 200, 2 * CHAIN * splits + 177, WideBox(64, 4, 8, stage=16, groups=1)
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 40, 1)
    arrays = {x: points(rng, rows, 3, "float32"), y: points(rng, columns, 3, "float32")}
    arrays[b] = np.abs(rng.normal(size=(columns, 40))).astype("float32")
    call, options = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, SUM, 1, backend=backend), Options("parallel", context)
    prepared = prepare_pairs(call, arrays, options, box)
    assert isinstance(prepared, Prepared)
    (stage, *_) = prepared.executable.plan.stages
    assert isinstance(stage.spec, WideText) and stage.spec.chain == CHAIN // 16
    assert stage.spec.partial is (splits > 1)
    kernel = gaussian(arrays[x], arrays[y])
    assert close(prepared.run()[0], kernel @ arrays[b].astype("f8"), kernel @ arrays[b], "float32")


@pytest.mark.drawn
@pytest.mark.parametrize("box", BOXES, ids=str)
def test_every_box(context: cm.Context, rng: np.random.Generator, box: WideBox) -> None:
    """The shapes that other devices take, in the parallel mode."""
    if box.block > context.facts.max_group_size:
        pytest.skip("groups are smaller here")
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 70, 1)
    arrays = {x: points(rng, 300, 3, "float32"), y: points(rng, 210, 3, "float32")}
    arrays[b] = rng.normal(size=(210, 70)).astype("float32")
    prepared = prepare_pairs(
        PairCall(F["Exp"](-F["SqDist"](x, y)) * b, SUM, 1), arrays, Options("parallel", context), box
    )
    assert isinstance(prepared, Prepared)
    kernel = gaussian(arrays[x], arrays[y])
    assert close(prepared.run()[0], kernel @ arrays[b].astype("f8"), kernel @ np.abs(arrays[b]), "float32")
    x, y = Variable(0, 70, 0), Variable(1, 70, 1)
    arrays = {x: points(rng, 300, 70, "float32"), y: points(rng, 210, 70, "float32")}
    call = PairCall(F["Exp"](-F["SqDist"](x, y)) * (x - y), SUM, 1)
    prepared = prepare_pairs(call, arrays, Options("parallel", context), box)
    assert isinstance(prepared, Prepared)
    terms = gaussian(arrays[x], arrays[y])[..., None] * (arrays[x].astype("f8")[:, None] - arrays[y].astype("f8"))
    assert close(prepared.run()[0], terms.sum(1), np.abs(terms).sum(1), "float32")


def test_no_columns_give_zeros(context: cm.Context, mode: str) -> None:
    x, y, b = Variable(0, 30, 0), Variable(1, 30, 1), Variable(2, 20, 1)
    arrays = {x: np.ones((5, 30), "f4"), y: np.ones((0, 30), "f4"), b: np.ones((0, 20), "f4")}
    result = reduce_pairs(PairCall(F["SqDist"](x, y) * b, SUM, 1), arrays, Options(mode, context))
    assert result.shape == (5, 20)
    assert not result.any()


@pytest.mark.drawn(seldom="pocl")
def test_float16_arrays_and_many_terms_of_a_column(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Arrays of half precision; and columns whose terms alone would fill local memory with the usual stage."""
    x, y, b = Variable(0, 33, 0), Variable(1, 33, 1), Variable(2, 20, 1)
    arrays = {x: points(rng, 40, 33, "float16"), y: points(rng, 60, 33, "float16")}
    arrays[b] = rng.normal(size=(60, 20)).astype("float16")
    kernel = gaussian(arrays[x], arrays[y])
    result = reduce_pairs(PairCall(F["Exp"](-F["SqDist"](x, y)) * b, SUM, 1), arrays, Options(mode, context))
    expected = kernel @ arrays[b].astype("f8")
    np.testing.assert_allclose(result, expected, atol=2e-3 * float((kernel @ np.abs(arrays[b])).max()))
    x, y = (Variable(k, 16 * 16, k) for k in (0, 1))
    arrays = {x: points(rng, 40, 256, "float32"), y: points(rng, 60, 256, "float32"), b: arrays[b].astype("float32")}
    parts = [F["SqDist"](F["Extract"](x, 16 * k, 16), F["Extract"](y, 16 * k, 16)) for k in range(16)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    result = reduce_pairs(PairCall(F["Exp"](-total) * b, SUM, 1), arrays, Options(mode, context))
    kernel = gaussian(arrays[x], arrays[y])
    assert close(result, kernel @ arrays[b].astype("f8"), kernel @ np.abs(arrays[b]), "float32")
