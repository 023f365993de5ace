"""reduce_by_key, run_lengths and KeyPlan on every device and in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.oracles import assert_same, values
from support.random_segments import RANDOM, check_segments, check_sums

import clmapreduce as cm

POINT = np.dtype([("x", "f4"), ("n", "i2"), ("at", "i8", (2,))], align=True)
SHAPES: dict[str, list[int]] = {
    "none": [],
    "one": [1],
    "two alike": [2],
    "two": [1, 1],
    "ones": [1] * 5003,
    "one run": [20_011],
    "long and short": [1, 4000, 1, 1, 5000, 2, 3, 1],
    "fives": [5] * 2003,
    "around stretches": [15, 16, 17, 511, 512, 513, 1, 31, 32, 33] * 9,
}
"""Runs' lengths."""


def keys_of(lengths: Any, dtype: Any = "i4") -> np.ndarray:
    """Keys with runs of these lengths, neighbours unequal, some keys coming back."""
    return np.repeat(np.arange(len(lengths)) * 7 % 5 + np.arange(len(lengths)) % 2 * 5, lengths).astype(dtype)


def offsets(keys: np.ndarray) -> np.ndarray:
    """Where runs begin, and the number of keys."""
    if not keys.size:
        return np.zeros(1, np.int64)
    return np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1, [keys.size]]).astype(np.int64)


@pytest.mark.drawn
@pytest.mark.parametrize("name", SHAPES)
def test_runs_of_every_shape(name: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    keys = keys_of(SHAPES[name])
    x, ends = values(rng, "f4", len(keys)), offsets(keys)
    how: dict[str, Any] = {"context": context, "mode": mode}
    for key, at in (("first", ends[:-1]), ("last", ends[1:] - 1)):
        firsts, sums = cm.reduce_by_key(keys, x, key=key, **how)
        assert_same(firsts, keys[at])
        check_sums(x, ends, sums)
        device = cm.reduce_by_key(cm.array(keys, context), x, key=key, mode=mode)
        assert all(isinstance(v, cm.DeviceArray) for v in device)
        assert_same(device[0], firsts)
        assert_same(device[1], sums)
    for array in (keys, cm.array(keys, context)):
        keys_of_runs, counts, starts = cm.run_lengths(array, **how)
        assert_same(keys_of_runs, keys[ends[:-1]])
        assert_same(counts, np.diff(ends))
        assert_same(starts, ends[:-1])


@RANDOM
@given(lengths=st.lists(st.integers(1, 40) | st.sampled_from([63, 64, 65, 511, 512, 2049]), max_size=300), key=st.sampled_from(["first", "last"]))
def test_random_runs(context: cm.Context, mode: str, lengths: list[int], key: str) -> None:
    keys = keys_of(lengths)
    ends = offsets(keys)
    x = np.arange(len(keys))
    keys_of_runs, sums = cm.reduce_by_key(keys, x, key=key, context=context, mode=mode)
    assert_same(keys_of_runs, keys[ends[:-1]])
    check_sums(x, ends, sums)


@pytest.mark.drawn
@pytest.mark.parametrize("name", SHAPES)
def test_the_count_may_stay_on_the_device(name: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    keys = keys_of(SHAPES[name], "i8")
    x, ends = rng.integers(-9, 9, len(keys)), offsets(keys)
    for key, at in (("first", ends[:-1]), ("last", ends[1:] - 1)):
        keys_of_runs, sums, count = cm.reduce_by_key(cm.array(keys, context), cm.array(x, context), count="device", key=key, mode=mode)
        assert isinstance(count, cm.DeviceArray) and count.shape == () and keys_of_runs.shape == sums.shape == keys.shape
        runs = int(count)
        assert runs == len(ends) - 1
        assert_same(keys_of_runs.to_numpy()[:runs], keys[at])
        check_sums(x, ends, sums.to_numpy()[:runs])
    from_host = cm.reduce_by_key(keys, x, count="device", context=context, mode=mode)
    assert int(from_host[2]) == runs and isinstance(from_host[0], np.ndarray)


@pytest.mark.drawn
@pytest.mark.parametrize("dtype", [*map(np.dtype, ("?", "i1", "u2", "f4", "u8", "f8", "c8")), POINT], ids=str)
def test_keys_of_every_dtype(dtype: np.dtype, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    if dtype == np.dtype("f8") and not context.device.fp64:
        pytest.skip("no float64")
    kinds = values(rng, dtype, 3)
    keys = kinds[np.repeat(rng.integers(0, 3, 300), rng.integers(1, 9, 300))]
    same = np.array([a.tobytes() == b.tobytes() or bool(np.all(a == b)) for a, b in zip(keys[1:], keys[:-1], strict=True)])
    ends = np.concatenate([[0], np.flatnonzero(~same) + 1, [len(keys)]])
    x = rng.integers(0, 9, len(keys))
    for key, at in (("first", ends[:-1]), ("last", ends[1:] - 1)):
        keys_of_runs, sums = cm.reduce_by_key(keys, x, key=key, context=context, mode=mode)
        assert_same(keys_of_runs, keys[at])
        check_sums(x, ends, sums)


def test_nan_keys_are_unequal_and_zeros_are_equal(context: cm.Context, mode: str) -> None:
    keys = np.array([np.nan, np.nan, 0.0, -0.0, 1, np.inf, np.inf], "f4")
    keys_of_runs, sums = cm.reduce_by_key(keys, np.arange(7), context=context, mode=mode)
    assert_same(keys_of_runs, np.array([np.nan, np.nan, 0, 1, np.inf], "f4"))
    assert_same(sums, np.array([0, 1, 5, 4, 11]))


@pytest.mark.drawn
def test_equality_of_ones_own(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    keys = np.sort(rng.integers(0, 4000, 5000)).astype("i4")
    ends = offsets(keys // 100)
    x = rng.integers(0, 9, len(keys))
    for key, at in (("first", ends[:-1]), ("last", ends[1:] - 1)):
        keys_of_runs, sums = cm.reduce_by_key(keys, x, equal=lambda a, b: a // 100 == b // 100, key=key, context=context, mode=mode)
        assert_same(keys_of_runs, keys[at])
        check_sums(x, ends, sums)
    points = np.zeros(len(keys), POINT)
    points["x"], points["at"][:, 1] = rng.random(len(keys)), keys
    keys_of_runs, counts, _ = cm.run_lengths(points, equal=lambda a, b: a["at"][1] == b["at"][1], context=context, mode=mode)
    assert_same(keys_of_runs, points[offsets(keys)[:-1]])
    assert_same(counts, np.diff(offsets(keys)))


@pytest.mark.drawn
@pytest.mark.parametrize("op", ["argmax", "mean", "logsumexp", "std", "maximum", "last"])
def test_operators(op: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    keys = keys_of(rng.integers(1, 30, 200))
    ends, x = offsets(keys), rng.standard_normal((keys.size, 3)).astype("f4")
    how: dict[str, Any] = {"context": context, "mode": mode}
    if op == "maximum":
        assert_same(cm.reduce_by_key(keys, x, op, **how)[1], np.maximum.reduceat(x, ends[:-1]))
        assert_same(cm.reduce_by_key(keys, x, op, init=9, **how)[1], np.full((len(ends) - 1, 3), 9, "f4"))
    elif op == "last":
        last = cm.Operator(lambda a, b: b + 0 * a, 0, dtype="i8", commutative=False, check=False)
        assert_same(cm.reduce_by_key(keys, np.arange(keys.size), last, **how)[1], ends[1:] - 1)
    else:
        check_segments(op, x[:, 0], ends, cm.reduce_by_key(keys, x[:, 0], op, **how)[1])


@pytest.mark.drawn
def test_a_map_in_front(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    keys = keys_of(rng.integers(1, 30, 200))
    ends = offsets(keys)
    pairs = cm.reduce_by_key(keys, (keys, ends[-1] - keys), map="a + b", context=context, mode=mode)[1]
    check_sums(np.full(keys.size, ends[-1]), ends, pairs)


@pytest.mark.drawn
def test_plans_give_the_bits_of_one_call(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    keys = keys_of(rng.integers(1, 60, 300), "u2")
    x = values(rng, "f4", (keys.size, 2))
    plan = cm.KeyPlan(keys, key="last", context=context)
    assert repr(plan).startswith(f"KeyPlan({plan.runs} runs of {keys.size} uint16 keys; ") and plan.runs == 300
    for array in (x, cm.array(x, context)):
        for op in ("sum", "var"):
            expected = cm.reduce_by_key(keys, array, op, key="last", context=context, mode=mode)
            for result, oracle in zip(plan.reduce(array, op, mode=mode), expected, strict=True):
                assert type(result) is type(oracle)
                assert_same(result, oracle)
    assert_same(plan.keys, keys[offsets(keys)[1:] - 1])
    assert isinstance(cm.KeyPlan(cm.array(keys, context)).keys, cm.DeviceArray)
    out = np.empty((300, 2), "f4")
    assert plan.reduce(x, mode=mode, out=out)[1] is out
    assert_same(out, cm.reduce_by_key(keys, x, context=context, mode=mode)[1])


def test_results_into_out(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    keys = keys_of(rng.integers(1, 9, 500))
    x = rng.integers(0, 9, keys.size)
    expected = cm.reduce_by_key(keys, x, context=context, mode=mode)
    outs = np.full(500, -1, "i4"), np.full(500, -1.0)
    assert cm.reduce_by_key(keys, x, context=context, mode=mode, out=outs)[1] is outs[1]
    assert_same(outs[0], expected[0])
    np.testing.assert_array_equal(outs[1], expected[1])
    device_outs = cm.array(np.zeros(500, "i4"), context), cm.array(np.zeros(500, "i8"), context)
    cm.reduce_by_key(cm.array(keys, context), x, mode=mode, out=device_outs)
    for result, oracle in zip(device_outs, expected, strict=True):
        assert_same(result, oracle)


def test_keys_may_be_written_over_the_input(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    keys, x = np.arange(5000, dtype="i4"), rng.integers(0, 9, 5000)
    device_keys, sums = cm.array(keys, context), cm.array(np.zeros(5000, "i8"), context)
    results = cm.reduce_by_key(device_keys, x, equal=lambda a, b: a + 5 == b, mode=mode, key="last", out=(device_keys, sums))
    assert results[0] is device_keys
    assert_same(device_keys, keys)
    assert_same(sums, x)


def test_wrong_results_leave_device_arrays_alone(context: cm.Context, mode: str) -> None:
    keys, x = cm.array(keys_of([3, 4]), context), np.ones(7, "f4")
    for wrong in (cm.array(np.zeros(3, "f4"), context), cm.array(np.zeros(2, "i4"), context)):
        device_array = cm.array(np.full(2, -1, "i4"), context)
        with pytest.raises((cm.ShapeError, cm.DTypeError), match="out has"):
            cm.reduce_by_key(keys, x, mode=mode, out=(device_array, wrong))
        assert_same(device_array, np.full(2, -1, "i4"))


def test_repeats_give_one_bit_pattern(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    keys = keys_of(rng.integers(1, 90, 100))
    x = values(rng, "f4", keys.size)
    assert len({b"".join(v.tobytes() for v in cm.reduce_by_key(keys, x, context=context, mode=mode)) for _ in range(200)}) == 1


X = np.zeros(5, "f4")
WRONG: list[tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    ((np.zeros(4), X), {}, cm.ShapeError, "values has length 5, keys has 4; they must agree"),
    ((np.zeros((5, 1)), X), {}, cm.ShapeError, r"keys has shape \(5, 1\); it must have one dimension"),
    ((np.float32(1), X), {}, cm.ShapeError, r"keys has shape \(\)"),
    ((X, X), {"key": "middle"}, cm.ModeError, "key='middle' is unknown; use one of first, last"),
    ((X, X), {"count": "both"}, cm.ModeError, "count='both' is unknown"),
    ((X, X), {"equal": lambda a, b: a - b}, cm.FormulaError, "a bool; it gives float32"),
    ((X, X), {"equal": lambda a, b: (a == b, a)}, cm.FormulaError, "equal must tell"),
    ((X, X), {"equal": lambda a: a == 1}, cm.FormulaError, "2 argument"),
    ((X, X), {"out": X}, cm.ShapeError, "out must be a tuple of two arrays"),
    ((X, X), {"out": (np.zeros(3, "f4"), np.zeros(1, "f4"))}, cm.ShapeError, r"out has shape \(3,\), the result has \(1,\)"),
    ((X, X), {"out": (np.zeros(1, "f4"), np.zeros(2, "f4"))}, cm.ShapeError, r"out has shape \(2,\), the result has \(1,\)"),
    ((X, X, "total"), {}, cm.ModeError, "operator 'total' is unknown"),
    ((np.zeros(5, "V3"), X), {}, cm.DTypeError, "keys|the array"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "more", "error", "message"), WRONG, ids=[message[:30] for *_, message in WRONG])
def test_wrong_calls(arguments: tuple[Any, ...], more: dict[str, Any], error: type[Exception], message: str, context: cm.Context) -> None:
    with pytest.raises(error, match=message):
        cm.reduce_by_key(*arguments, context=context, **more)
    assert all((out == 0).all() for out in more.get("out", ()))
