"""Arrays that others still write, that share memory, or lie where NumPy alone would read them; numbers and functions that
compare equal and are not the same.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest
import scipy.sparse

import clmapreduce as cm

pytestmark = pytest.mark.drawn
COPY = cm.Map(lambda number: number)


class Late:
    """An array of another queue, written some time after its creation. event: that of the write."""

    def __init__(self, context: cm.Context, before: Any, behind: Any) -> None:
        queue = cl.CommandQueue(context.queue.context)
        self.array = cla.to_device(queue, np.array(before))
        queue.finish()
        self._behind = np.array(behind)
        start = cl.UserEvent(context.queue.context)
        self.event = cl.enqueue_copy(
            queue, self.array.base_data, self._behind, wait_for=[start], is_blocking=False
        )  # fmt: skip
        queue.flush()
        threading.Timer(0.2, lambda: start.set_status(cl.command_execution_status.COMPLETE)).start()


def test_offsets_are_read_behind_what_a_call_waits_for(context: cm.Context) -> None:
    """Right ones that were wrong before, and the other way round."""
    x = np.arange(4.0)
    late = Late(context, [0, 0, 0], [0, 2, 4])
    result = cm.segmented_reduce(cm.array(x, context), late.array, wait_for=[late.event], context=context)
    np.testing.assert_array_equal(result, [1, 5])
    late = Late(context, [0, 2, 4], [0, 9, 4])
    with pytest.raises(cm.ShapeError, match=r"offsets\[1\] is 9"):
        cm.segmented_reduce(cm.array(x, context), late.array, wait_for=[late.event], context=context)
    late = Late(context, [0, 0, 0], [0, 2, 4])
    how = {"sources": cm.array(np.array([2, 0]), context), "wait_for": [late.event], "context": context}
    result = cm.segmented_reduce(cm.array(x, context), late.array, **how)
    np.testing.assert_array_equal(result, [5, 1])
    late = Late(context, np.zeros(3, "i2"), np.array([0, 2, 4], "i2"))
    result = cm.segmented_reduce(cm.array(x, context), late.array, wait_for=[late.event], context=context)
    np.testing.assert_array_equal(result, [1, 5])


def test_one_key_is_read_behind_what_a_call_waits_for(context: cm.Context) -> None:
    late = Late(context, [7], [8])
    keys, _, _ = cm.run_lengths(late.array, wait_for=[late.event], context=context)
    np.testing.assert_array_equal(keys, [8])


@pytest.mark.parametrize("dtype", ["c16", "c8", "f8"])
def test_numbers_anywhere_in_host_memory(dtype: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """NumPy takes complex numbers where one half of them is aligned; kernels read both at once."""
    if dtype != "c8" and not context.facts.fp64:
        pytest.skip("no float64 here")
    size = np.dtype(dtype).itemsize
    for shift in range(0, 17, 4):
        raw = np.zeros(4000 * size + 64, np.uint8)
        at = -raw.ctypes.data % 64 + shift
        x, out = (raw[begin : begin + 1000 * size].view(dtype) for begin in (at, at + 2000 * size))
        x[:] = 1 + rng.integers(2, size=1000)
        expected = np.add.reduceat(x, [0, 10, 500])
        how: dict[str, Any] = {"context": context, "mode": mode}
        np.testing.assert_allclose(cm.segmented_reduce(x, [0, 10, 500, 1000], **how), expected)
        np.testing.assert_allclose(cm.Reduce("product")(x[:20], **how), np.prod(x[:20]))
        assert cm.Map(lambda a: a + 1)(x, out=out, **how) is out
        np.testing.assert_array_equal(out, x + 1)


def test_keys_may_be_written_over_values(context: cm.Context, mode: str) -> None:
    """Values are read before: on the host and on the device."""
    keys, values = np.array([1, 1, 2, 2, 3, 3]), np.array([10, 20, 30, 40, 50, 60])
    buffer = values.copy()
    results = cm.reduce_by_key(keys, buffer, out=(buffer[:3], np.zeros(3, int)), context=context, mode=mode)
    np.testing.assert_array_equal(np.stack(results), [[1, 2, 3], [30, 70, 110]])
    own, device_values = cm.array(np.arange(6), context), cm.array(values, context)
    out = device_values, cm.array(np.zeros(6, int), context)
    keys_of_runs, sums = cm.reduce_by_key(own, device_values, out=out, mode=mode)
    np.testing.assert_array_equal(keys_of_runs, np.arange(6))
    np.testing.assert_array_equal(sums, values)


def test_keys_and_reductions_need_arrays_of_their_own(context: cm.Context) -> None:
    for wrap in (np.array, lambda array: cm.array(np.array(array), context)):
        out = wrap(np.full(3, -7))
        with pytest.raises(cm.ShapeError, match="share memory"):
            cm.reduce_by_key(wrap([1, 1, 2, 3]), wrap([10, 20, 30, 40]), out=(out, out), context=context)
        np.testing.assert_array_equal(out, -7)


def test_a_wrong_init_leaves_keys_as_they_were(context: cm.Context) -> None:
    keys, keys_out, sums = (cm.array(array, context) for array in (np.arange(6), np.full(6, -7), np.full(6, -7)))
    for init in (3.5, "abc"):
        with pytest.raises(cm.DTypeError, match="init"):
            cm.reduce_by_key(keys, keys, init=init, out=(keys_out, sums))
    np.testing.assert_array_equal(np.stack([keys_out, sums]), -7)


def test_a_zero_has_a_sign(context: cm.Context) -> None:
    """Cached calls distinguish 0 from -0, in plans and alone."""
    x, offsets = cm.array(np.ones(4, "f4"), context), cm.array(np.array([0, 0, 4]), context)
    plan = cm.SegmentPlan([0, 0, 4], 4, context=context)
    for call in (plan.reduce, lambda values, empty: cm.segmented_reduce(values, offsets, empty=empty)):
        for empty in (0.0, -0.0, 0.0):
            assert np.signbit(np.asarray(call(x, empty=empty))[0]) == np.signbit(empty)


def test_a_number_on_the_device_is_read_in_every_call(context: cm.Context) -> None:
    x, offsets, init = (cm.array(np.array(array), context) for array in ([1.0, 1, 1, 1], [0, 2, 4], 10.0))
    plan = cm.SegmentPlan([0, 2, 4], 4, context=context)
    for number in (10.0, 20.0, 30.0):
        COPY(cm.array(np.array(number), context), out=init)
        np.testing.assert_array_equal(plan.reduce(x, init=init), 2 + number)
        np.testing.assert_array_equal(cm.segmented_reduce(x, offsets, init=init), 2 + number)


@dataclass(frozen=True)
class Times:
    """Equal to another one whose factor is, even of another dtype."""

    factor: Any

    def __call__(self, number: Any) -> Any:
        return number * self.factor


@dataclass
class Unhashable:
    """The same, but that it has no hash."""

    factor: Any

    def __call__(self, number: Any) -> Any:
        return number * self.factor


def test_functions_that_compare_equal_or_have_no_hash(context: cm.Context) -> None:
    x = np.ones(4, int)
    device, plan = cm.array(x, context), cm.SegmentPlan([0, 2, 4], 4, context=context)
    for factor, kind in ((2, "i8"), (2.0, "f8")):
        for make in (Times, Unhashable):
            for result in (
                cm.segmented_reduce(x, [0, 2, 4], map=make(factor), context=context),
                plan.reduce(device, map=make(factor)),
            ):
                assert result.dtype == kind
                np.testing.assert_array_equal(result, 4)


@pytest.mark.parametrize("answer", [True, False, np.True_])
def test_an_equality_that_is_one_for_all_keys(answer: Any, context: cm.Context) -> None:
    keys, sums = cm.reduce_by_key(np.array([1, 1, 2, 3]), np.ones(4), equal=lambda a, b: answer, context=context)
    np.testing.assert_array_equal(keys, [1] if answer else [1, 1, 2, 3])
    np.testing.assert_array_equal(sums, [4] if answer else np.ones(4))


@pytest.mark.parametrize("dtype", ["i8", "u8"])
def test_a_mean_of_integers_that_no_sum_holds(dtype: str, context: cm.Context, mode: str) -> None:
    if not context.facts.fp64:
        pytest.skip("no float64 here")
    x = np.full(3000, np.iinfo(dtype).max // 2 + 1, dtype)
    result = cm.segmented_reduce(x, [0, 3, 3000], "mean", context=context, mode=mode)
    np.testing.assert_allclose(result, x[0].astype("f8"), rtol=1e-12)


PLUS_INDEX = cm.Operator(lambda a, b: a + b + cm.index, 0)


def test_what_is_no_array_function_or_operator(context: cm.Context) -> None:
    """Errors of the library, which show the argument."""
    x, at = np.ones(3), [0, 3]
    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda: cm.segmented_reduce(None, at, context=context), cm.DTypeError, "values is None"),
        (lambda: cm.segmented_reduce(x, None, context=context), cm.DTypeError, "offsets is None"),
        (lambda: cm.SegmentPlan(None, 3, context=context), cm.DTypeError, "offsets is None"),
        (lambda: cm.reduce_by_key(None, x, context=context), cm.DTypeError, "keys is None"),
        (lambda: cm.KeyPlan(None, context=context), cm.DTypeError, "keys is None"),
        (lambda: cm.spmv((at, None, x), x, context=context), cm.DTypeError, "indices is None"),
        (lambda: cm.spmv((at, [0, 1, 2], x), None, context=context), cm.DTypeError, "x is None"),
        (lambda: cm.reduce_by_key(x, x, equal="a == b", context=context), cm.FormulaError, "equal takes a function"),
        (lambda: cm.segmented_reduce(x, at, np.hypot, context=context), cm.ModeError, "without an identity"),
        (lambda: cm.segmented_reduce(x.astype("f4"), at, init=1e300, context=context), cm.DTypeError, "does not fit"),
        (lambda: cm.segmented_reduce(x, at, x, context=context), cm.ModeError, "mean, var, std"),  # type: ignore[arg-type]
        (lambda: cm.segmented_reduce(x, at, map=np.sin, context=context), cm.FormulaError, "numpy.sin"),
        (lambda: cm.segmented_reduce(x, at, PLUS_INDEX, context=context), cm.FormulaError, "no index"),
        (lambda: cm.Reduce(PLUS_INDEX)(x, context=context), cm.FormulaError, "no index"),
        (lambda: cm.segmented_reduce(x, at, context="cpu"), cm.DeviceError, "context is 'cpu'"),  # type: ignore[arg-type]
        (lambda: cm.array(x, context.device), cm.DeviceError, "pass a cm.Context"),  # type: ignore[arg-type]
        (lambda: cm.Reduce("sum")(x, context=context, wait_for=3), TypeError, "wait_for is 3"),  # type: ignore[arg-type]
        (lambda: cm.spmv(scipy.sparse.coo_array(x), x, context=context), cm.ShapeError, "two dimensions"),
    ]
    half = x.astype(ml_dtypes.bfloat16)
    wrong += [
        (lambda: cm.segmented_reduce(half, at, context=context), cm.DTypeError, "values has dtype bfloat16"),
        (lambda: cm.spmv((at, [0, 1, 2], half), x, context=context), cm.DTypeError, "data has dtype bfloat16"),
    ]
    for call, kind, message in wrong:
        with pytest.raises(kind, match=message):
            call()
    record = np.dtype([("x", "i4")])
    op = cm.Operator(lambda a, b: {"x": a["x"] + b["x"]}, np.zeros((), record)[()], dtype=record)
    with pytest.raises(cm.DTypeError, match=r"field .x.: 5\.5 does not fit int32"):
        cm.segmented_reduce(np.zeros(3, record), at, op, init=(5.5,), context=context)
