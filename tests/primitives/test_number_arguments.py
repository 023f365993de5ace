"""Repeated calls with numbers among their arguments: each call has its own, and the dtypes that NumPy gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.calls.repeat import ready, staged

AXPY = cm.Map(lambda a, x, y: a * x + y)


CALLS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "map": (AXPY, lambda a, x, y: a * x + y),
    "chain": (AXPY >> cm.Reduce("sum"), lambda a, x, y: (a * x + y).sum()),
    "chain of maps": (AXPY >> cm.Map("2 * z"), lambda a, x, y: 2 * (a * x + y)),
    "fused": (cm.fuse(lambda a, x, y: (x - a) / (y + a).sum()), lambda a, x, y: (x - a) / (y + a).sum()),
}


@pytest.mark.parametrize("where", ["device", "host"])
@pytest.mark.parametrize("name", CALLS)
def test_every_call_has_its_own_number(
    name: str, where: str, context: cm.Context, mode: str, rng: np.random.Generator, prepared: list[Any]
) -> None:
    call, exact = CALLS[name]
    context = cm.Context(context.device)
    for turn, a in enumerate([2.5, -0.25, 1e-3, 7.0, 2.5, 1e4]):
        x, y = rng.random((2, 300), np.float32)
        values = [cm.array(v, context) for v in (x, y)] if where == "device" else [x, y]
        result = np.asarray(call(a, *values, mode=mode, context=None if where == "device" else context))
        expected = exact(np.float64(np.float32(a)), x.astype("f8"), y.astype("f8"))
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, expected, rtol=2e-5, atol=1e-6 * (1 + abs(a)))
        if turn == 1:
            del prepared[:]
    assert not prepared


NUMBERS = [
    2.0, 3, 0, 127, True, np.float32(2.5), np.float64(2.5), np.int8(3), np.int64(3), np.uint8(3), np.bool_(True), -3, 128, 1 << 20,
    2.5 + 1j, -0.0, math.inf, math.nan,
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "i8", "f4", "f2"])
def test_dtypes_are_those_of_a_first_call(context: cm.Context, dtype: str) -> None:
    """All kinds of numbers by turns, with the arrays of one dtype; what is refused is refused each time."""
    again = cm.Context(context.device)
    x = np.arange(1, 50).astype(dtype)
    there, add = cm.array(x, again), cm.Map(lambda a, x: a + x)
    for _ in range(4):
        for number in NUMBERS:
            first, error = None, None
            try:
                first = cm.Map(lambda a, x, unshared=[]: a + x)(number, cm.array(x, context))
            except cm.ClMapReduceError as refused:
                error = type(refused)
            if error is not None:
                with pytest.raises(error):
                    add(number, there)
                continue
            result = add(number, there)
            assert first is not None and result.dtype == first.dtype, number
            np.testing.assert_array_equal(result.to_numpy(), first.to_numpy(), str(number))


def test_the_short_way_takes_numbers(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """On arrays of the device by ready calls, on short ones of the host by staged calls where memory is shared."""
    context = cm.Context(context.device)
    counts = {"ready": 0, "staged": 0}
    for kind, name in ((ready.ReadyCall, "ready"), (staged.StagedCall, "staged")):
        plain = kind.__call__

        def counting(self: Any, *args: Any, _plain: Any = plain, _name: str = name) -> Any:
            counts[_name] += 1
            return _plain(self, *args)

        monkeypatch.setattr(kind, "__call__", counting)
    x = np.ones(100, np.float32)
    there = cm.array(x, context)
    for k in range(6):
        AXPY(float(k), there, there)
        AXPY(float(k), x, x, context=context)
    assert counts["ready"] == 4
    assert counts["staged"] == (4 if context.queue.facts.host_pointers else 0)


def test_targets_and_numbers(context: cm.Context) -> None:
    """An argument may be the target; a target of another dtype is refused."""
    context = cm.Context(context.device)
    x = cm.array(np.ones(100, np.float32), context)
    out = cm.zeros(100, np.float32, context=context)
    for k in range(6):
        assert AXPY(float(k), x, x, out=out) is out
        np.testing.assert_array_equal(out.to_numpy(), np.full(100, k + 1, np.float32))
    for k in range(4):
        before = x.to_numpy().copy()
        AXPY(2.0, x, x, out=x)
        np.testing.assert_array_equal(x.to_numpy(), 3 * before)
        with pytest.raises(cm.DTypeError):
            AXPY(float(k), x, x, out=cm.zeros(100, np.float64 if context.device.fp64 else np.int32, context=context))


def test_numbers_of_keywords(context: cm.Context, prepared: list[Any]) -> None:
    """Each number of `initial` has calls of its own; zeros have signs."""
    context = cm.Context(context.device)
    x, total, top = cm.array(np.ones(100, np.float32), context), cm.Reduce("sum"), cm.Reduce("maximum")
    low = cm.array(np.full(10, -np.inf, np.float32), context)
    recurrence = cm.Recurrence()
    for turn in range(5):
        for initial in (0.5, 2.0, 0, 7):
            assert float(total(x, initial=initial)) == 100 + initial
            assert float(recurrence(x, x, initial=initial).to_numpy()[-1]) == initial + 100
        for zero in (0.0, -0.0):
            assert math.copysign(1, float(top(low, initial=zero))) == math.copysign(1, zero)
        assert math.isnan(float(total(x, initial=math.nan)))
        if turn == 1:
            del prepared[:]
    assert not [request for request in prepared if "nan" not in repr(request)]


@pytest.mark.parametrize("kind", ["linear", "max-plus"])
def test_recurrences_of_numbers_and_vectors(kind: str, context: cm.Context, rng: np.random.Generator) -> None:
    context = cm.Context(context.device)
    recurrence = cm.Recurrence(kind=kind)
    for a in (0.5, -0.25, 0.125, 0, 1):
        b = rng.integers(-4, 5, 200).astype(np.float32)
        there = cm.array(b, context)
        for initial in (0.0, 3.0, 0.0):
            y, expected = initial, []
            for one in b:
                y = a * y + one if kind == "linear" else max(a + y, one)
                expected.append(y)
            np.testing.assert_allclose(recurrence(a, there, initial=initial).to_numpy(), expected, rtol=1e-5, atol=1e-5)
