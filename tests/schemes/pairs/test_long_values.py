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


def close(found: Any, wanted: Any, terms: Any, dtype: str) -> bool:
    """Within a few roundings of the sum of the terms' sizes."""
    assert found.shape == wanted.shape
    return bool(np.all(np.abs(found - wanted) <= (2e-6 if dtype == "float32" else 1e-14) * terms))


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
        given = {x: points(rng, rows, dim, dtype), y: points(rng, columns, dim, dtype)}
        given[b] = rng.normal(size=(columns, size)).astype(dtype)
        call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, SUM, 1)
        found = reduce_pairs(call, given, Options(mode, context))
        kernel = gaussian(given[x], given[y])
        assert close(found, kernel @ given[b].astype("f8"), kernel @ np.abs(given[b]), dtype)


def test_batches_axes_and_parameters(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """i is reduced; the vector is made of a column's, a parameter's and scalars of both; a mean."""
    x, y = Variable(0, 2, 0), Variable(1, 2, 1)
    v, p, s = Variable(2, 20, 0), Variable(3, 20, 2), Variable(4, 1, 0)
    xs, ys = points(rng, 3 * 41, 2, "float32").reshape(3, 41, 2), points(rng, 2 * 70, 2, "float32")
    given = {x: xs, y: ys.reshape(2, 1, 70, 2), v: rng.normal(size=(41, 20)).astype("float32")}
    given |= {p: rng.random((3, 20)).astype("float32"), s: rng.random((3, 41, 1)).astype("float32")}
    formula = -F["Exp"](-F["SqDist"](x, y)) * (F["Sin"](v) * p + s) / 3
    for name in ("Sum", "Mean"):
        found = reduce_pairs(PairCall(formula, PAIR_REDUCTIONS[name], 0), given, Options(mode, context))
        assert found.shape == (2, 3, 70, 20)
        for i in range(2):
            for j in range(3):
                kernel = gaussian(given[y][i, 0], xs[j])
                long = np.sin(given[v].astype("f8")) * given[p][j] + given[s][j]
                scale = 41 if name == "Mean" else 1
                wanted, terms = -(kernel @ long) / 3 / scale, kernel @ np.abs(long) / scale
                assert close(found[i, j], wanted, terms, "float32")


def test_other_options_and_formulas_still_work(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """What depends on the row at every coordinate, or is not summed plainly."""
    x, y, b = Variable(0, 18, 0), Variable(1, 18, 1), Variable(2, 18, 1)
    given = {x: points(rng, 30, 18, "float32"), y: points(rng, 50, 18, "float32")}
    given[b] = rng.normal(size=(50, 18)).astype("float32")
    kernel = gaussian(given[x], given[y])
    moving = PairCall(F["Exp"](-F["SqDist"](x, y)) * (x - y), SUM, 1)
    apart = given[x].astype("f8")[:, None] - given[y].astype("f8")[None]
    found = reduce_pairs(moving, {x: given[x], y: given[y]}, Options(mode, context))
    wanted, terms = (np.einsum("ij,ijd->id", kernel, z) for z in (apart, np.abs(apart)))
    assert close(found, wanted, terms, "float32")
    for options in (PairOptions(scheme="kahan_scheme"), PairOptions(accumulate=np.dtype("f8"))):
        if options.accumulate is not None and not context.facts.fp64:
            continue
        call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, SUM, 1, options=options)
        found = reduce_pairs(call, given, Options(mode, context))
        assert close(found, kernel @ given[b].astype("f8"), kernel @ np.abs(given[b]), "float32")


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
    given = {v: (1000 + rng.random((n, dim))).astype(dtype) for v, n in ((x, rows), (y, columns))}
    given[b] = rng.normal(size=(columns, 1)).astype(dtype)
    formula = F["Exp"](-F["SqDist"](x, y) / dim) * b
    wide = {v: a.astype("f8") for v, a in given.items()}
    apart = wide[x][:, None] - wide[y]
    kernel = np.exp(-np.square(apart).sum(-1) / dim) * wide[b].T
    terms = -2 / dim * kernel[..., None] * apart
    for axis, v, sign in ((1, x, 1), (0, y, -1)):
        call = PairCall(gradient(formula, v, 1.0), SUM, axis)
        found = reduce_pairs(call, given, Options(mode, context))
        wanted, size = sign * terms.sum(axis), np.abs(terms).sum(axis)
        assert close(found, wanted, size, dtype)


MIXED: dict[str, tuple[Any, Any]] = {
    "two products": (lambda x, y, b, p: F["Exp"](-F["SqDist"](x, y)) * (x - y) + F["Sin"](F["SqDist"](x, y)) * b * p,
                     lambda x, y, b, p, d: np.exp(-d) * (x - y) + np.sin(d) * b * p),
    "no scalar": (lambda x, y, b, p: F["Exp"](-F["Square"](x - y * p)), lambda x, y, b, p, d: np.exp(-((x - y * p) ** 2))),
    "a condition": (lambda x, y, b, p: F["Abs"](x - y) * F["Step"](x - b), lambda x, y, b, p, d: np.abs(x - y) * (x >= b)),
    "a row alone": (lambda x, y, b, p: F["Sin"](x) * F["SqDist"](x, y), lambda x, y, b, p, d: np.sin(x) * d + 0 * y),
    "logarithms": (lambda x, y, b, p: F["Log"](F["Square"](b)) + F["SqNorm2"](x) * x, lambda x, y, b, p, d: np.log(b * b) + (x * x).sum(-1, keepdims=True) * x),
}  # fmt: skip


@pytest.mark.parametrize("name", MIXED)
def test_long_values_of_rows_and_columns(context: cm.Context, mode: str, rng: np.random.Generator, name: str) -> None:
    """Several scalars, several numbers of a row and of a column at each coordinate, in a batch."""
    build, dense = MIXED[name]
    x, y, b, p = Variable(0, 21, 0), Variable(1, 21, 1), Variable(2, 21, 1), Variable(3, 21, 2)
    shapes = {x: (2, 37, 21), y: (70, 21), b: (2, 70, 21), p: (2, 21)}
    given = {v: (rng.normal(size=shape) / 6).astype("f4") for v, shape in shapes.items()}
    formula = build(x, y, b, p)
    used = {v: a for v, a in given.items() if v in formula.variables} | {y: given[y]}
    found = reduce_pairs(PairCall(formula, SUM, 1), used, Options(mode, context))
    for k in range(2):
        one = [given[v].astype("f8") for v in (x, y, b, p)]
        xs, ys, bs, ps = one[0][k][:, None], one[1][None], one[2][k][None], one[3][k]
        terms = np.broadcast_to(dense(xs, ys, bs, ps, np.square(xs - ys).sum(-1, keepdims=True)), (37, 70, 21))
        found_one = found[k] if found.ndim == 3 else found
        assert close(found_one, terms.sum(1), np.abs(terms).sum(1) + 1e-3, "float32")


def test_infinities_stay_in_their_row_and_coordinate(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Rows, columns and coordinates beyond the end of a tile bring no NaN."""
    x, y, s = Variable(0, 20, 0), Variable(1, 20, 1), Variable(2, 1, 1)
    given = {x: rng.normal(size=(37, 20)).astype("f4"), y: rng.normal(size=(70, 20)).astype("f4")}
    given[s] = rng.random((70, 1)).astype("f4")
    given[x][5, 7], given[x][11, 19], given[x][36, 0] = np.inf, np.nan, -np.inf
    found = reduce_pairs(PairCall(s * (x - y), SUM, 1), given, Options(mode, context))
    wide = {v: a.astype("f8") for v, a in given.items()}
    terms = wide[s] * (wide[x][:, None] - wide[y])
    usual = np.isfinite(wide[x])
    np.testing.assert_array_equal(found[~usual], given[x][~usual])
    assert close(found[usual], terms.sum(1)[usual], np.abs(terms).sum(1)[usual], "float32")


BOXES = [WideBox(32, 4, 8, stage=4), WideBox(64, 4, 8, stage=16, unroll=2, loads=2), WideBox(256, 8, 8, stage=32)]


@pytest.mark.drawn
@pytest.mark.parametrize("box", BOXES, ids=str)
def test_every_box(context: cm.Context, rng: np.random.Generator, box: WideBox) -> None:
    """The shapes that other devices take, in the parallel mode."""
    if box.block > context.facts.max_group_size:
        pytest.skip("groups are smaller here")
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 70, 1)
    given = {x: points(rng, 300, 3, "float32"), y: points(rng, 210, 3, "float32")}
    given[b] = rng.normal(size=(210, 70)).astype("float32")
    prepared = prepare_pairs(
        PairCall(F["Exp"](-F["SqDist"](x, y)) * b, SUM, 1), given, Options("parallel", context), box
    )
    assert isinstance(prepared, Prepared)
    kernel = gaussian(given[x], given[y])
    assert close(prepared.run()[0], kernel @ given[b].astype("f8"), kernel @ np.abs(given[b]), "float32")
    x, y = Variable(0, 70, 0), Variable(1, 70, 1)
    given = {x: points(rng, 300, 70, "float32"), y: points(rng, 210, 70, "float32")}
    asked = PairCall(F["Exp"](-F["SqDist"](x, y)) * (x - y), SUM, 1)
    prepared = prepare_pairs(asked, given, Options("parallel", context), box)
    assert isinstance(prepared, Prepared)
    terms = gaussian(given[x], given[y])[..., None] * (given[x].astype("f8")[:, None] - given[y].astype("f8"))
    assert close(prepared.run()[0], terms.sum(1), np.abs(terms).sum(1), "float32")


def test_no_columns_give_zeros(context: cm.Context, mode: str) -> None:
    x, y, b = Variable(0, 30, 0), Variable(1, 30, 1), Variable(2, 20, 1)
    given = {x: np.ones((5, 30), "f4"), y: np.ones((0, 30), "f4"), b: np.ones((0, 20), "f4")}
    found = reduce_pairs(PairCall(F["SqDist"](x, y) * b, SUM, 1), given, Options(mode, context))
    assert found.shape == (5, 20)
    assert not found.any()


@pytest.mark.drawn(seldom="pocl")
def test_float16_arrays_and_many_terms_of_a_column(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Arrays of half precision; and columns whose terms alone would fill local memory with the usual stage."""
    x, y, b = Variable(0, 33, 0), Variable(1, 33, 1), Variable(2, 20, 1)
    given = {x: points(rng, 40, 33, "float16"), y: points(rng, 60, 33, "float16")}
    given[b] = rng.normal(size=(60, 20)).astype("float16")
    kernel = gaussian(given[x], given[y])
    found = reduce_pairs(PairCall(F["Exp"](-F["SqDist"](x, y)) * b, SUM, 1), given, Options(mode, context))
    wanted = kernel @ given[b].astype("f8")
    np.testing.assert_allclose(found, wanted, atol=2e-3 * float((kernel @ np.abs(given[b])).max()))
    x, y = (Variable(k, 16 * 16, k) for k in (0, 1))
    given = {x: points(rng, 40, 256, "float32"), y: points(rng, 60, 256, "float32"), b: given[b].astype("float32")}
    parts = [F["SqDist"](F["Extract"](x, 16 * k, 16), F["Extract"](y, 16 * k, 16)) for k in range(16)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    found = reduce_pairs(PairCall(F["Exp"](-total) * b, SUM, 1), given, Options(mode, context))
    kernel = gaussian(given[x], given[y])
    assert close(found, kernel @ given[b].astype("f8"), kernel @ np.abs(given[b]), "float32")
