"""Reductions over pairs: by internal calls over every option, by Genred with arrays of every form, and random formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import test_random_formulas as random_formulas
from fuzz.case import Case, Shape
from fuzz.families.lines import plain
from fuzz.inputs import in_some_form, results
from support.dense_pairs import HALVES, NAMES, OPERATORS, K, compare
from support.dense_pairs import Case as Dense
from support.matrix_units import units_everywhere
from support.random_blocks import Halves, drawn_blocks, mask_of

import clmapreduce as cm

BATCHES = [((), ()), ((), ()), ((), ()), ((2,), ()), ((2, 1), (1, 3)), ((2,), (2,))]
ROWS = (0, 1, 2, 5, 31, 32, 33, 63, 65, 129)
COLUMNS = (1, 2, 7, 31, 33, 64, 193, 257, 513)


def drawn_dense(case: Case, codes: tuple[str, ...]) -> Dense:
    """A reduction, its dimension, dtype, axis, scheme and batches."""
    name = case.one(NAMES)
    code = case.one([c for c in codes if c != "f8" or case.home.fp64])
    dim = case.one([1, 3] if code == "f2" else [1, 2, 3, 3, 5, 20])
    special = case.one([0, 0, 0, 4]) if name in ("Sum", "Max", "ArgMin", "LogSumExp", "KMin_ArgKMin", "SumSoftMaxWeight", "Any") else 0
    return Dense(
        name, dim, code, case.below(2), case.one(["auto", "auto", "1D", "2D"]), ((), ()) if special else case.one(BATCHES), not_finite=special,
        sparse=case.chance(0.25),
    )  # fmt: skip


def sizes(case: Case) -> tuple[int, int]:
    rows, columns = case.one(ROWS), case.one(COLUMNS)
    if case.chance(0.03):
        rows, columns = case.one([(5, 4500), (1, 4097), (300, 700)])
    return (rows, columns) if case.chance(0.9) else (case.below(150, 1), case.below(400, 1))


def pairs(case: Case) -> Shape:
    """Into poisoned outputs, with every operator, batches, blocks of pairs, NaN and infinities."""
    dense = drawn_dense(case, ("f4", "f4", "f8", *HALVES))

    def run(case: Case) -> None:
        rows, columns = sizes(case)
        mode = case.one(case.home.modes[:2])
        case.note(f"{dense}.check(rng, context, {mode!r}, [({rows}, {columns})])")
        dense.check(case.rng, case.home.context, mode, [(max(rows, 1), columns)])

    return run


def genred(case: Case) -> Shape:
    """cm.Genred of NumPy and device arrays, `out`, and cm.Ranges of masks."""
    dense = drawn_dense(case, ("f4", "f4", "f8"))
    dim = dense.dim
    aliases = [f"x = Vi({dim})", f"y = Vj({dim})", "b = Vj(2)"]
    text = dense.formula.text.replace("D", str(dim)).replace(f"Sq{dim}ist", "SqDist")
    weight, read = dense.formula.weight, "b" in text or dense.formula.weight is not None
    operator = OPERATORS.get(dense.name, dense.name)
    call = cm.Genred(text, aliases if read else aliases[:2], operator, dense.axis, K if "KMin" in dense.name else None, weight)

    def run(case: Case) -> None:
        rows, columns = sizes(case)
        columns = max(columns, K) if "KMin" in dense.name else columns
        rows = max(rows, 1) if dense.not_finite else rows
        x, y, b = dense.arrays(case.rng, rows, columns)
        blocks = drawn_blocks(case.rng, rows, columns) if dense.sparse and rows else None
        ranges = None
        if blocks is not None:
            mask = mask_of(blocks)
            ranges = cm.Ranges.from_mask(mask if dense.axis == 1 else mask.T)
        expected, bounds = dense.expected(x, y, b, blocks) if rows else ([], [])
        arguments = [in_some_form(case, a, name) for a, name in zip((x, y, b), "xyb", strict=True)][: 3 if read else 2]
        how = {**case.how(), "backend": dense.backend, "ranges": ranges}
        case.note(f"cm.Genred({text!r}, {aliases}, {dense.name!r}, axis={dense.axis}, formula2={weight!r})(…, mode={how['mode']!r}, backend={dense.backend!r}), ranges: {ranges}")
        outputs = results(case, lambda **k: call(*arguments, **k), arguments, how)
        if not rows:
            assert all(one.shape[len(np.broadcast_shapes(*dense.batch))] == 0 for one in outputs)
        for one, exact, far in zip(outputs, expected, bounds, strict=False):
            compare(one.reshape(-1, *exact.shape[1:]), exact, far, "")

    return run


def formulas(case: Case) -> Shape:
    """Random formulas of vectors, gradients among them, in float32 beside float64 on the same device."""
    kind = case.one(random_formulas.KINDS)
    dim, width = case.one(random_formulas.DIMS), case.one(random_formulas.WIDTHS)
    formula = random_formulas.drawn_formula(case.rng, kind, dim, width)
    matrix = case.chance(0.6)
    rows_of, columns_of = case.one([(1, 30), (40, 70)]), case.one([(5, 40), (100, 300)])

    def run(case: Case) -> None:
        if not case.home.fp64:
            return
        rng = case.rng
        rows, columns = case.below(rows_of[1], rows_of[0]), case.below(columns_of[1], columns_of[0])
        arrays = random_formulas.arrays(rng, rows, columns, dim, width)
        if kind in ("gradients", "both"):
            arrays = {v: np.abs(array) if v.position in (3, 8) else array for v, array in arrays.items()}
        ranges = Halves(1, drawn_blocks(rng, rows, columns)) if case.chance(0.2) else None
        case.note(f"{formula}, {rows} x {columns}, dim {dim}, width {width}, blocks: {ranges is not None}, matrix units: {matrix}")
        with pytest.MonkeyPatch.context() as patch:
            if matrix:  # as on a device that has them, for problems of any size
                units_everywhere(patch)
            random_formulas.compare_formula(formula, kind, arrays, case.home.context, ranges, width, "")

    return run


def lazy(case: Case) -> Shape:
    """LazyTensor: operators, reductions along either axis, K @ v, K.T, batches, ranges."""
    dtype = np.dtype(case.one(["f4", "f4", "f8"] if case.home.fp64 else ["f4"]))
    dim, axis = case.one([1, 2, 3, 8]), case.below(2)
    what = case.one(["sum", "matmul", "transposed", "min", "argmax", "logsumexp", "mean", "gradient", "Kmin", "std"])
    with_batch = case.chance(0.2) and what not in ("matmul", "transposed")
    scale = case.one([1.0, 0.5, 3.0])

    def run(case: Case) -> None:
        m, n = case.one(ROWS[1:]), case.one(COLUMNS)
        m, n = (max(m, 3), max(n, 3)) if what == "Kmin" else (m, n)
        batch = (case.below(4, 1),) if with_batch else ()
        x, y = (case.rng.normal(size=(*batch, k, dim)).astype(dtype) for k in (m, n))
        v = plain(case, dtype, (n if what == "matmul" else m, case.one([1, 3])))
        arguments = [in_some_form(case, a, name) for a, name in ((x, "x"), (y, "y"), (v, "v"))]
        wide_x, wide_y = x.astype("f8")[..., :, None, :], y.astype("f8")[..., None, :, :]
        apart = ((wide_x - wide_y) ** 2).sum(-1) * scale
        own, other = apart.ndim - 2, apart.ndim - 1
        along = other if axis == 1 else own
        how = {"axis": along, **case.how()}
        case.note(f"K = (-((Vi(x) - Vj(y)) ** 2).sum(-1) * {scale}); {what}, axis={along}, batch {batch}, {m} x {n}, mode={how['mode']!r}")

        def variables() -> Any:
            return [cm.LazyTensor(a.reshape(*batch, *s)) for a, s in ((arguments[0], (m, 1, dim)), (arguments[1], (1, n, dim)))]

        def kernel(pair: Any = None) -> Any:
            first, second = pair or variables()
            return ((first - second) ** 2).sum(-1) * scale

        def slope(**k: Any) -> Any:
            pair = variables()
            return (-kernel(pair)).exp().grad(pair[0], 1.0).sum(**k)

        eps = float(np.finfo(dtype).eps) * 32
        weights = np.exp(-apart)
        if what in ("matmul", "transposed"):
            matrix = (-kernel()).exp()
            result = (matrix if what == "matmul" else matrix.T) @ arguments[2]
            host = result.to_numpy() if isinstance(result, cm.DeviceArray) else result
            exact = (weights if what == "matmul" else weights.T) @ v.astype("f8")
            far = eps * (1 + apart.max(initial=0)) * ((weights if what == "matmul" else weights.T) @ np.abs(v.astype("f8")))
            return compare(host, exact, far + 1e-30, what)
        calls: dict[str, Any] = {
            "sum": lambda **k: (-kernel()).exp().sum(**k), "min": lambda **k: kernel().min(**k), "argmax": lambda **k: kernel().argmax(**k),
            "logsumexp": lambda **k: (-kernel()).logsumexp(**k), "mean": lambda **k: kernel().mean(**k), "std": lambda **k: kernel().std(**k),
            "Kmin": lambda **k: kernel().Kmin(3, **k), "gradient": slope,
        }  # fmt: skip
        (result,) = results(case, calls[what], arguments[:2], how)
        unit = eps * (1 + apart.max(initial=0))
        values = apart if axis == 1 else np.swapaxes(apart, -1, -2)
        soft = weights if axis == 1 else np.swapaxes(weights, -1, -2)
        one = lambda a: a[..., None]  # noqa: E731
        if what == "argmax":
            places = result[..., 0]
            assert result.dtype == np.int64 and places.shape == values.shape[:-1]
            values_there = np.take_along_axis(values, one(places), -1)[..., 0]
            return compare(values_there, values.max(-1), unit * values.max(-1) + 1e-30, "the values at these places")
        if what == "gradient":
            slopes = -2 * scale * (wide_x - wide_y) * one(weights)
            exact, size = (np.swapaxes(s, -2, -3).sum(-2) if axis == 0 else s.sum(-2) for s in (slopes, np.abs(slopes)))
            return compare(result, exact, unit * (size + np.linalg.norm(size, axis=-1, keepdims=True)) + 1e-30, what)
        rows: dict[str, Any] = {
            "sum": lambda: (one(soft.sum(-1)), unit * one(soft.sum(-1)) + 1e-30), "min": lambda: (one(values.min(-1)), unit * one(values.min(-1)) + 1e-30),
            "logsumexp": lambda: (one(np.log(soft.sum(-1))), unit * 2), "mean": lambda: (one(values.mean(-1)), unit * one(values.mean(-1)) + 1e-30),
            "std": lambda: (one(values.std(-1)), np.minimum(unit**0.5 * one(values.max(-1)), unit * one(values.max(-1)) ** 2 / np.maximum(one(values.std(-1)), 1e-300)) + 1e-30),
            "Kmin": lambda: (np.sort(values, -1)[..., :3], unit * np.sort(values, -1)[..., :3] + 1e-30),
        }  # fmt: skip
        exact, far = rows[what]()
        if what == "logsumexp":  # exp(-apart) may leave float64 too: by its own top
            top = (-values).max(-1, keepdims=True)
            exact = top + np.log(np.exp(-values - top).sum(-1, keepdims=True))
        compare(result, exact, np.broadcast_to(far, exact.shape), what)

    return run


FAMILIES = {"pairs": pairs, "genred": genred, "formulas": formulas, "lazy": lazy}
