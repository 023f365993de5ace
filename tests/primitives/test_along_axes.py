"""Reduce and Scan along axes, under masks and from initial values, beside NumPy; host arrays and arrays of a device."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.oracles import assert_near, assert_same, into_poison, values

import clmapreduce as cm
from clmapreduce.primitives import along

pytestmark = pytest.mark.drawn

SHAPES = ((1,), (2,), (31,), (33, 2), (2, 33), (5, 7, 3), (3, 1, 4, 2), (300, 9), (1, 1))
NUMPYS = {"sum": "sum", "product": "prod", "minimum": "min", "maximum": "max", "any": "any", "all": "all", "mean": "mean",
          "var": "var", "std": "std", "argmin": "argmin", "argmax": "argmax"}  # fmt: skip


def all_axes(rank: int, single: bool) -> list[Any]:
    """Every axis argument of an array of so many axes."""
    several = [axes for size in range(rank + 1) for axes in itertools.combinations(range(rank), size)]
    return [None, *range(-rank, rank), *([] if single else several)]


def numbers(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers whose sums, squares and products of a few float64 holds exactly, as integers or floats."""
    small = rng.integers(-3, 4, shape) if name != "product" else rng.choice([-1, 1, 2], shape, p=[0.49, 0.49, 0.02])
    return small.astype(rng.choice(["i2", "i8", "f4", "f8"]))


def check(result: Any, expected: Any, case: object) -> None:
    result, expected = np.asarray(result), np.asarray(expected)
    if expected.dtype.kind == "f":
        assert_near(result, expected, 1e-5 * np.abs(expected) + 1e-6, case)
    else:
        assert_same(result, expected, case)


@pytest.mark.parametrize("name", NUMPYS)
def test_every_axis_is_numpys(name: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for shape in SHAPES:
        x = numbers(rng, name, shape)
        axes = all_axes(len(shape), name.startswith("arg"))
        for axis in (axes[k] for k in rng.permutation(len(axes))[:4]):
            keepdims = bool(rng.integers(2))
            expected = getattr(np, NUMPYS[name])(x, axis=axis, keepdims=keepdims)
            if name in ("sum", "product", "minimum", "maximum"):
                expected = expected.astype(cm.Reduce(name)(x, context=context).dtype)
            for array in (x, cm.array(x, context)):
                result = cm.Reduce(name)(array, axis=axis, keepdims=keepdims, context=context, mode=mode)
                assert isinstance(result, cm.DeviceArray) == isinstance(array, cm.DeviceArray) or keepdims is axis is None
                check(result, expected, (name, x.dtype, shape, axis, keepdims))


@pytest.mark.parametrize("name", ["sum", "product", "minimum", "maximum", "any", "all", "mean", "var", "std", "norm", "logsumexp"])
def test_a_mask_leaves_values_out(name: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for shape in SHAPES:
        x = numbers(rng, name, shape)
        keep = rng.random(shape[-1:] if rng.integers(2) else shape) < 0.6
        whole = np.broadcast_to(keep, shape)
        axis = None if rng.integers(2) else int(rng.integers(len(shape)))
        results = cm.Reduce(name)(x, axis=axis, where=keep, context=context, mode=mode)
        results = np.asarray(results).reshape(-1)
        rows = [(x.reshape(-1), whole.reshape(-1))]
        if axis is not None:
            lines = [np.moveaxis(a, axis, -1).reshape(-1, shape[axis]) for a in (x, whole)]
            rows = list(zip(*lines, strict=True))
        for result, (row, mask) in zip(results, rows, strict=True):
            if mask.any():
                check(result, cm.Reduce(name)(row[mask], context=context, mode=mode), (name, x.dtype, shape, axis))
            elif name in ("mean", "var", "std"):
                assert np.isnan(result)
            else:
                check(result, cm.Reduce(name)(row[:0], context=context), (name, "nothing"))


def test_masks_and_arrays_may_live_anywhere(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, keep = values(rng, np.int32, (9, 70, 3)), rng.random((70, 1)) < 0.5
    expected = x.sum(axis=(0, 2), where=keep, initial=5)
    for a, b in itertools.product((x, cm.array(x, context)), (keep, cm.array(keep, context))):
        result = cm.Reduce("sum")(a, axis=(0, 2), where=b, initial=5, context=context, mode=mode)
        assert_same(np.asarray(result), expected)


@pytest.mark.parametrize(("name", "initial"), [("sum", -4), ("product", 3), ("minimum", -2), ("maximum", 1), ("any", True), ("all", False), ("logsumexp", 0.5)])
def test_an_initial_value_is_one_more(name: str, initial: Any, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for shape in SHAPES:
        x = numbers(rng, name, shape)
        for axis in (None, 0, -1):
            result = np.asarray(cm.Reduce(name)(x, axis=axis, initial=initial, context=context, mode=mode))
            before = np.asarray(cm.Reduce(name)(x, axis=axis, context=context, mode=mode))
            if name == "logsumexp":
                expected = np.logaddexp(before.astype("f8"), initial).astype(before.dtype)
            else:
                ufunc = {"sum": np.add, "product": np.multiply, "minimum": np.minimum, "maximum": np.maximum,
                         "any": np.logical_or, "all": np.logical_and}[name]  # fmt: skip
                expected = np.asarray(ufunc(before, before.dtype.type(initial)))
            assert result.dtype == before.dtype
            check(result, expected, (name, shape, axis))


def test_an_operator_of_ones_own_takes_masks_axes_and_initial_values(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """2×2 matrices whose product depends on the order, as a record; and a plain number under a mask."""
    affine = cm.Operator(lambda f, g: {"a": f["a"] * g["a"], "b": f["b"] * g["a"] + g["b"]}, (1, 0), [("a", "i8"), ("b", "i8")], commutative=False)
    x = np.zeros((3, 40, 2), [("a", "i8"), ("b", "i8")])
    x["a"], x["b"] = rng.choice([-1, 1], x.shape), rng.integers(-9, 9, x.shape)
    result = cm.Reduce(affine)(x, axis=1, context=context, mode=mode)
    for i, k in np.ndindex(3, 2):
        a, b = 1, 0
        for f in x[i, :, k]:
            a, b = a * int(f["a"]), b * int(f["a"]) + int(f["b"])
        assert (result[i, k]["a"], result[i, k]["b"]) == (a, b)
    first = np.array((1, 7), x.dtype)
    ahead = cm.Reduce(affine)(x[0, :, 0], initial=first, context=context, mode=mode)
    with_first = cm.Reduce(affine)(np.concatenate([[first], x[0, :, 0]]), context=context, mode=mode)
    assert_same(np.asarray(ahead), np.asarray(with_first))
    largest = cm.Operator(lambda a, b: cm.where(a > b, a, b), -100)
    y, keep = rng.integers(-50, 50, (6, 33)), rng.random((6, 33)) < 0.2
    assert_same(cm.Reduce(largest)(y, axis=1, where=keep, context=context, mode=mode), y.max(axis=1, where=keep, initial=-100))


@pytest.mark.parametrize("exclusive", [False, True])
def test_scans_run_along_any_axis(exclusive: bool, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for shape in SHAPES:
        x = values(rng, np.int32, shape)
        for axis in range(-len(shape), len(shape)):
            expected = np.cumsum(x, axis=axis, dtype=np.int64)
            expected = expected - x if exclusive else expected
            for array in (x, cm.array(x, context)):
                result = cm.Scan("sum", exclusive)(array, axis=axis, context=context, mode=mode)
                assert_same(np.asarray(result), expected, (shape, axis))


def test_out_is_written_completely(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = values(rng, np.int32, (5, 65, 3))
    for axis in (0, 1, 2, (0, 2)):
        shape, expected = x.sum(axis=axis).shape, x.sum(axis=axis, dtype=np.int64)
        result = into_poison(lambda out, axis=axis: cm.Reduce("sum")(x, axis=axis, out=out, context=context, mode=mode), shape, np.int64)
        assert_same(result, expected)
    for axis in (0, 1, 2):
        result = into_poison(lambda out, axis=axis: cm.Scan("sum")(x, axis=axis, out=out, context=context, mode=mode), x.shape, np.int64)
        assert_same(result, np.cumsum(x, axis=axis, dtype=np.int64))
        device = cm.empty(x.shape, np.int64, context=context)
        assert cm.Scan("sum")(cm.array(x, context), axis=axis, out=device, mode=mode) is device
        assert_same(device.to_numpy(), np.cumsum(x, axis=axis, dtype=np.int64))


@pytest.mark.parametrize("shape", [(2, 70_001), (70_001, 2), (2, 65_536, 2)], ids=str)
def test_few_long_lines_go_one_by_one(shape: tuple[int, ...], context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = values(rng, np.int32, shape)
    axis, keep = int(np.argmax(shape)), rng.random(shape) < 0.5
    expected = x.sum(axis=axis, dtype=np.int64)
    poisoned = np.full(expected.shape, -1, np.int64)
    assert cm.Reduce("sum")(x, axis=axis, out=poisoned, context=context, mode=mode) is poisoned
    assert_same(poisoned, expected)
    for a, b in ((x, keep), (cm.array(x, context), cm.array(keep, context))):
        masked = cm.Reduce("sum")(a, axis=axis, where=b, context=context, mode=mode)
        assert_same(np.asarray(masked), x.sum(axis=axis, where=keep, dtype=np.int64))
        assert_same(np.asarray(cm.Scan("sum")(a, axis=axis, context=context, mode=mode)), np.cumsum(x, axis=axis, dtype=np.int64))
    short = np.ones((40, 50), np.float32)
    assert "1 job" in cm.Reduce("sum").explain(short, axis=axis % 2, context=context, mode=mode)


def test_lines_of_nothing_and_no_lines(context: cm.Context, mode: str) -> None:
    for shape, axis in itertools.product(((0,), (0, 3), (3, 0), (2, 0, 3), (0, 0)), (0, -1)):
        x = np.zeros(shape, np.float32)
        for array in (x, cm.array(x, context)):
            assert_same(np.asarray(cm.Reduce("sum")(array, axis=axis, context=context, mode=mode)), x.sum(axis=axis))
            lowest = np.asarray(cm.Reduce("max")(array, axis=axis, context=context, mode=mode))
            assert_same(lowest, x.max(axis=axis, initial=-np.inf))
            means = np.asarray(cm.Reduce("mean")(array, axis=axis, context=context, mode=mode))
            assert means.shape == x.sum(axis=axis).shape and np.isnan(means).all()
            assert np.asarray(cm.Scan("sum")(array, axis=axis, context=context, mode=mode)).shape == shape


def test_the_room_decides_how_host_arrays_lie() -> None:
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    across, moved = along.lines_of(x, (1,)), along.lines_of(x, (1,), whole=False)
    assert (across.width, moved.width) == (4, 1) and moved.rows == across.rows == 8
    assert (moved.array.reshape(2, 4, 3) == x.transpose(0, 2, 1)).all()


REDUCE, X = cm.Reduce("sum"), np.ones((4, 3), np.float32)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda c: REDUCE(X, axis=2, context=c), cm.PlaceError, "an array of 2 axes"),
        (lambda c: REDUCE(X, axis=(0, 0), context=c), cm.ShapeError, "twice"),
        (lambda c: REDUCE(X, axis="rows", context=c), cm.PlaceError, "whole number"),
        (lambda c: REDUCE(X, X, axis=0, context=c), cm.ShapeError, "one array, 2 are given"),
        (lambda c: cm.Reduce("argmin")(X, axis=(0, 1), context=c), cm.PlaceError, "along one axis"),
        (lambda c: REDUCE(X, keepdims="yes", context=c), cm.ArgumentError, "keepdims"),
        (lambda c: REDUCE(X, where=X, context=c), cm.DTypeError, "where has dtype float32; give bools"),
        (lambda c: REDUCE(X, where=np.ones(4, bool), context=c), cm.ShapeError, r"where has shape \(4,\)"),
        (lambda c: cm.Reduce("argmax")(X, where=X > 0, context=c), cm.DTypeError, "leave where= out"),
        (lambda c: cm.Reduce("mean")(X, initial=1, context=c), cm.ModeError, "mean gives no value of that kind"),
        (lambda c: cm.Reduce("argmin")(X, initial=1, context=c), cm.ModeError, "initial="),
        (lambda c: REDUCE(X, initial=[1, 2], context=c), cm.ShapeError, "give one number"),
        (lambda c: REDUCE(X, axis=0, finish="host", context=c), cm.ModeError, "finish='host'"),
        (lambda c: REDUCE(X, axis=0, out=np.empty(4, np.float32), context=c), cm.ShapeError, "out has shape"),
        (lambda c: cm.Scan("sum")(X, context=c), cm.ShapeError, "name an axis"),
        (lambda c: cm.Scan("sum")(X, axis=5, context=c), cm.PlaceError, "2 axes"),
        (lambda c: cm.Reduce("argmin")(np.ones((3, 0)), axis=1, context=c), cm.ShapeError, "identity"),
        (lambda c: cm.fuse(lambda x: REDUCE(x, axis=0))(X[0], context=c), cm.FormulaError, "takes no axis"),
        (lambda c: REDUCE.explain(X, axes=0, context=c), cm.ArgumentError, "unknown keyword"),
    ],
)
def test_wrong_input(call: Any, error: type[Exception], words: str, context: cm.Context) -> None:
    with pytest.raises(error, match=words):
        call(context)


def test_masks_and_initial_values_work_in_fused_functions(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    @cm.fuse
    def centred(x: Any, keep: Any) -> Any:
        return x - cm.Reduce("mean")(x, where=keep), cm.Reduce("sum")(x, initial=10)

    for length in (1, 2, 33, 100_003):
        x, keep = rng.integers(-9, 9, length).astype("f4"), rng.random(length) < 0.5
        keep[0] = True
        away, total = centred(x, keep, context=context, mode=mode)
        assert_near(away, x - x.astype("f8").mean(where=keep), 4e-6)
        assert total == x.astype("f8").sum() + 10
