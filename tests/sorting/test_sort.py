"""sort, argsort and sort_by_key beside NumPy: every dtype, sizes around lines and tiles, NaN and zeros of both signs."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.oracles import PLAIN, assert_same, values

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.modes import ComputeMode
from clmapreduce.schemes.line.sorting import radix_boxes, radix_sort
from clmapreduce.schemes.line.sorting.line_sort import plan_sort
from clmapreduce.schemes.line.sorting.radix_keys import RadixKeys
from clmapreduce.schemes.line.sorting.sort_problem import SortProblem
from clmapreduce.sorting import arrays, line

pytestmark = pytest.mark.drawn

SIZES = (1, 2, 31, 33, 1000, 4095, 4097, 100_003)
DTYPES = [dtype for dtype in (*PLAIN, np.dtype("f2")) if dtype.kind != "c"]


# The oracle is the stable sort: NumPy 2.4.6 left a -inf behind a larger float16 in its other one (AVX-512, 2026-11-26).
def keys(rng: np.random.Generator, dtype: np.dtype, shape: Any) -> np.ndarray:
    """Random keys: of floats zeros of both signs, infinities, subnormal numbers and NaN of both signs too; sometimes few distinct ones."""
    x = np.asarray(values(rng, dtype, shape))
    if dtype.kind == "f":
        odd = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, float(np.finfo(dtype).smallest_subnormal), 1.0]
        chosen = rng.random(shape) < 0.3
        x = np.where(chosen, rng.choice(odd, shape), x).astype(dtype)
    elif dtype.kind in "iu" and rng.integers(2):
        x = (x % 5).astype(dtype)
    return x


def same_bits(a: Any, b: np.ndarray, case: object) -> None:
    a = np.asarray(a)
    assert a.dtype == b.dtype and a.shape == b.shape, case
    assert a.tobytes() == b.tobytes(), case


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_lines_are_sorted_as_by_numpy(dtype: np.dtype, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in SIZES:
        x = keys(rng, dtype, length)
        order = np.argsort(x, kind="stable")
        for array in (x, cm.array(x, context)):
            options: dict[str, Any] = {"context": context, "mode": mode}
            ordered, places = cm.sort(array, **options), cm.argsort(array, **options)
            assert isinstance(ordered, cm.DeviceArray) == isinstance(places, cm.DeviceArray) == isinstance(array, cm.DeviceArray)
            assert_same(ordered, np.sort(x, kind="stable"), length)
            assert np.array_equal(np.sort(np.asarray(ordered).view(f"u{dtype.itemsize}")), np.sort(x.view(f"u{dtype.itemsize}"))), "bits are kept"
            assert_same(places, order, length)
        assert_same(np.asarray(cm.sort(array, descending=True, **options)), np.sort(x, kind="stable")[::-1], length)
        down = np.asarray(cm.argsort(array, descending=True, **options))
        ranks = np.unique(x, return_inverse=True)[1]
        assert_same(down, np.argsort(-ranks, kind="stable"), "equal values stay in order")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_values_go_with_their_keys(dtype: np.dtype, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (1, 33, 4097, 20_011):
        x = keys(rng, dtype, length)
        order = np.argsort(x, kind="stable")
        kind = rng.choice(["u1", "f2", "i4", "f8", "c8"])
        carried = np.asarray(values(rng, kind, length))
        for k, v in itertools.product((x, cm.array(x, context)), (carried, cm.array(carried, context))):
            ordered, others = cm.sort_by_key(k, v, context=context, mode=mode)
            same_bits(ordered, x[order], (length, kind))
            same_bits(others, carried[order], (length, kind))


def test_values_of_any_kind_are_fetched(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.integers(0, 50, 1003).astype("u2")
    order = np.argsort(x, kind="stable")
    records = np.zeros(1003, [("a", "f4"), ("b", "i8")])
    records["a"], records["b"] = rng.random(1003), rng.integers(0, 99, 1003)
    rows, wide = rng.random((1003, 3)), values(rng, "c16", 1003)
    ordered, others = cm.sort_by_key(x, (records, rows, wide), context=context, mode=mode)
    same_bits(ordered, x[order], "keys")
    assert isinstance(others, tuple) and len(others) == 3
    for result, original in zip(others, (records, rows, wide), strict=True):
        assert (result == original[order]).all()
    down = np.argsort(-x.astype(int), kind="stable")
    same_bits(cm.sort_by_key(cm.array(x, context), rows[:, 0], descending=True, mode=mode)[1], rows[down, 0], "descending")


@pytest.mark.parametrize("shape", [(3, 5), (5, 1), (1, 7), (4, 1, 6), (2, 3, 4, 5), (300, 9), (7, 2003), (), (0,), (0, 3), (3, 0)], ids=str)
def test_any_axis_is_sorted(shape: tuple[int, ...], context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = keys(rng, DTYPES[rng.integers(len(DTYPES))], shape)
    for axis in (None, *range(-len(shape), len(shape))):
        for array in (x, cm.array(x, context)):
            assert_same(np.asarray(cm.sort(array, axis=axis, context=context, mode=mode)), np.sort(x, axis=axis, kind="stable"), (x.dtype, axis))
            places = np.asarray(cm.argsort(array, axis=axis, context=context, mode=mode))
            assert_same(places, np.argsort(x, axis=axis, kind="stable"), (x.dtype, axis))


def test_few_long_lines_are_sorted_one_by_one(context: cm.Context, rng: np.random.Generator) -> None:
    x = rng.integers(-(2**31), 2**31, (2, arrays.LONG)).astype("i4")
    for array in (x, np.ascontiguousarray(x.T)):
        axis = 1 if array is x else 0
        assert_same(cm.sort(cm.array(array, context), axis=axis).to_numpy(), np.sort(array, axis=axis))
        assert_same(cm.argsort(array, axis=axis, context=context), np.argsort(array, axis=axis, kind="stable"))


def test_numpys_names_and_methods(context: cm.Context, rng: np.random.Generator) -> None:
    x = keys(rng, np.dtype("f4"), (6, 50))
    d = cm.array(x, context)
    assert_same(np.sort(d).to_numpy(), np.sort(x, kind="stable"))
    assert_same(np.sort(d, axis=0, kind="stable").to_numpy(), np.sort(x, axis=0, kind="stable"))
    assert_same(np.argsort(d, axis=None, kind="mergesort").to_numpy(), np.argsort(x, axis=None, kind="stable"))
    assert_same(d.argsort(axis=0).to_numpy(), x.argsort(axis=0, kind="stable"))
    part = d[2:4]
    part.sort()
    x[2:4].sort(kind="stable")
    assert_same(d.to_numpy(), x)
    assert_same(d[1].argsort().to_numpy(), x[1].argsort(kind="stable"), "of a part that begins further on")
    assert_same(d.__array_namespace__().sort(d, axis=0, descending=True).to_numpy(), np.sort(x, axis=0, kind="stable")[::-1])


def test_bfloat16_is_sorted_by_its_bits(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    wide = keys(rng, np.dtype("f4"), 3001)
    x = wide.astype(ml_dtypes.bfloat16)
    order = np.argsort(x.astype("f4"), kind="stable")
    for array in (x, cm.array(x, context)):
        assert_same(np.asarray(cm.sort(array, context=context, mode=mode)).astype("f4"), x[order].astype("f4"))
        assert_same(np.asarray(cm.argsort(array, context=context, mode=mode)), order)
    assert_same(cm.unique(x, context=context, mode=mode).astype("f4"), np.unique(x.astype("f4")))


@pytest.mark.parametrize(("bits", "gathers_from"), [(1, 0), (3, 1), (5, 1), (8, 1), (8, 0), (11, 1)])
def test_every_box_sorts(
    bits: int, gathers_from: int, context: cm.Context, mode: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Digits of few and many bits, an odd and an even number of passes, lines of a cache from the first key on: on CPUs,
    where an item has memory for them.
    """
    length = 30_011 + bits + 100 * gathers_from  # of its own: plans are cached
    x, box = keys(rng, np.dtype("f4"), length), radix_boxes.radix_box

    def smaller(*arguments: Any) -> radix_boxes.RadixBox:
        usual = box(*arguments)
        least = gathers_from if context.facts.kind == "cpu" else usual.gathers_from
        return replace(usual, bits=bits if mode == "sequential" else min(bits, usual.bits), gathers_from=least)

    monkeypatch.setattr(radix_sort, "radix_box", smaller)
    order = np.argsort(x, kind="stable")
    device, places = cm.array(x, context), cm.array(np.arange(length, dtype="u4"), context)
    prepared = line.sort_pairs(device, places, False, Options(mode, context))
    assert mode == "parallel" or f"{-(-32 // bits)} passes" in prepared.executable.plan.why
    ordered, carried = prepared.run()
    same_bits(ordered, x[order], bits)
    same_bits(carried, order.astype("u4"), bits)
    assert_same(cm.sort(device, mode=mode).to_numpy(), np.sort(x, kind="stable"))
    assert_same(cm.argsort(device, mode=mode).to_numpy(), order)


def test_items_of_gpus_have_no_lines_of_a_cache(context: cm.Context) -> None:
    """An item's private memory is short there, and no cache."""
    problem = SortProblem(RadixKeys(np.dtype("u4")), 10**8, True, np.dtype("u4"))
    facts = replace(context.facts, kind="gpu")
    walks: list[Any] = [stage.spec for stage in plan_sort(problem, ComputeMode.SEQUENTIAL, facts).stages]
    assert max(array.nbytes for spec in walks for array in spec.arrays) <= 16 << 10


def test_boxes_fit_devices_without_registers_to_exchange(context: cm.Context) -> None:
    facts = replace(context.facts, kind="gpu", exchange_width=1, local_memory=32 << 10, max_group_size=256)
    for itemsize in (1, 4, 8, 16):
        problem = SortProblem(RadixKeys(np.dtype(f"u{min(itemsize, 8)}")), 10**6, True, np.dtype("u8") if itemsize == 16 else None)
        plan = plan_sort(problem, ComputeMode.PARALLEL, facts)
        assert max(stage.spec.local_bytes for stage in plan.stages) <= facts.local_memory


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda c: cm.sort(np.ones(3, "c8"), context=c), cm.DTypeError, "complex64, which is not sorted"),
        (lambda c: cm.argsort(np.zeros(3, [("a", "f4")]), context=c), cm.DTypeError, "not sorted"),
        (lambda c: cm.sort(np.array(["a", "b"]), context=c), cm.DTypeError, "<U1"),
        (lambda c: cm.sort(np.ones((2, 3)), axis=2, context=c), cm.PlaceError, "2 axes"),
        (lambda c: cm.sort(np.ones(3), descending=1, context=c), cm.ArgumentError, "descending"),
        (lambda c: cm.argsort(np.ones(3), stable="no", context=c), cm.ArgumentError, "stable"),
        (lambda c: cm.sort_by_key(np.ones(3), np.ones(4), context=c), cm.ShapeError, r"keys has shape \(3,\), values \(4,\)"),
        (lambda c: cm.sort_by_key(np.ones((3, 1)), np.ones(3), context=c), cm.ShapeError, "keys are one line"),
        (lambda c: cm.sort_by_key(np.ones(3, "c8"), np.ones(3), context=c), cm.DTypeError, "keys has dtype complex64"),
        (lambda c: np.sort(cm.array(np.ones(3), c), kind="fast"), cm.ArgumentError, "kind"),
        (lambda c: cm.sort(np.ones(3), mode="fast", context=c), cm.ModeError, "fast"),
    ],
)
def test_wrong_input(call: Any, error: type[Exception], words: str, context: cm.Context) -> None:
    with pytest.raises(error, match=words):
        call(context)


def test_dask_arrays_are_refused() -> None:
    da = pytest.importorskip("dask.array")
    for call in (cm.sort, cm.argsort, cm.unique):
        with pytest.raises(cm.ArgumentError, match=r"x\.compute\(\)"):
            call(da.ones(10, chunks=3))
