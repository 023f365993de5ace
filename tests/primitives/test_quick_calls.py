"""Repeated calls on whole arrays of the device go straight to their ready call, and to no other one's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.calls.repeat import quick, repeated
from clmapreduce.calls.repeat.ready import ReadyCall


@cm.fuse
def softmax(x: Any) -> Any:
    weights = cm.math.exp(x - cm.Reduce("maximum")(x))
    return weights / cm.Reduce("sum")(weights)


@cm.fuse
def both(x: Any) -> Any:
    return x + 1, cm.Reduce("sum")(x)


CALLS: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "map": (cm.Map("2 * a + 1"), lambda x: 2 * x + 1),
    "two results": (cm.Map(lambda a: (a + 1, a * a)), lambda x: (x + 1, x * x)),
    "reduce": (cm.Reduce("sum"), np.sum),
    "argmax": (cm.Reduce("argmax"), np.argmax),
    "scan": (cm.Scan("sum"), np.cumsum),
    "chain": (cm.Map("a * a") >> cm.Reduce("sum"), lambda x: np.sum(x * x)),
    "fused": (softmax, lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum()),
    "two fused": (both, lambda x: (x + 1, x.sum())),
}


def close(result: Any, expected: Any) -> None:
    for one, other in zip(result, expected, strict=True) if isinstance(expected, tuple) else [(result, expected)]:
        np.testing.assert_allclose(one.to_numpy(), other, rtol=1e-5, atol=1e-5)


@pytest.fixture
def general(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is computed by calls that go the long way."""
    seen: list[Any] = []
    plain = repeated.run

    def noting(what: Any, *args: Any, **more: Any) -> Any:
        seen.append(what)
        return plain(what, *args, **more)

    monkeypatch.setattr(repeated, "run", noting)
    return seen


@pytest.mark.parametrize("name", CALLS)
def test_later_calls_take_the_short_way(
    name: str, context: cm.Context, mode: str, rng: np.random.Generator, general: list[Any]
) -> None:
    """With other numbers, and not with another shape or dtype."""
    call, expected = CALLS[name]
    context = cm.Context(context.device)  # whose cache is not full
    for shape, dtype in ((1000, "f4"), (999, "f4"), (1000, "f8"), (1000, "f4")):
        del general[:]
        for _ in range(6):
            x = rng.random(shape).astype(dtype)
            close(call(cm.array(x, context), mode=mode), expected(x))
        assert len(general) <= 3
    assert not general


def test_results_go_where_they_are_asked_for(context: cm.Context, rng: np.random.Generator, general: list[Any]) -> None:
    add, context = cm.Map("a + b"), cm.Context(context.device)
    x, y = (cm.array(rng.random(500, np.float32), context) for _ in range(2))
    expected = x.to_numpy() + y.to_numpy()
    for _ in range(4):
        add(x, y)
    del general[:]
    out = cm.array(np.full(500, np.nan, np.float32), context)
    assert add(x, y, out=out) is out
    np.testing.assert_array_equal(out.to_numpy(), expected)
    assert not general
    assert add(x, y, out=x) is x, "an argument is overwritten"
    np.testing.assert_array_equal(x.to_numpy(), expected)
    short = cm.array(np.zeros(499, np.float32), context)
    with pytest.raises(cm.ShapeError):
        add(x, y, out=short)
    host = np.zeros(500, np.float32)
    assert add(x, y, out=host) is host
    np.testing.assert_array_equal(host, x.to_numpy() + y.to_numpy())


OVER: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "map": (cm.Map("x + 2 * y"), lambda x, y: x + 2 * y),
    "map of places": (cm.Map(lambda x, y: x * (cm.index % 7).astype("float32") + y), lambda x, y: x * (np.arange(x.size) % 7) + y),
    "fused": (cm.fuse(lambda x, y: x - cm.Reduce("sum")(x * y) + y), lambda x, y: x - (x * y).sum() + y),
    "scan": (cm.fuse(lambda x, y: cm.Scan("sum")(x) + y), lambda x, y: np.cumsum(x) + y),
}


@pytest.mark.parametrize("name", OVER)
def test_results_over_arguments(
    name: str, context: cm.Context, mode: str, rng: np.random.Generator, general: list[Any]
) -> None:
    """Each argument may be the target: calls that read it in step with their results take the short way."""
    call, expected = OVER[name]
    context = cm.Context(context.device)
    for turn in range(6):
        for over in range(2):
            hosts = [rng.random(5000).astype("f4") for _ in range(2)]
            arrays = [cm.array(host, context) for host in hosts]
            out = arrays[over]
            assert call(*arrays, mode=mode, out=out) is out
            exact = expected(*(host.astype("f8") for host in hosts))
            np.testing.assert_allclose(out.to_numpy(), exact, rtol=1e-4, atol=1e-5 * np.abs(exact).max())
            np.testing.assert_array_equal(arrays[1 - over].to_numpy(), hosts[1 - over])
        if turn == 2:
            del general[:]
    assert not general or not name.startswith("map")


def test_results_over_arguments_that_are_read_elsewhere(context: cm.Context, rng: np.random.Generator) -> None:
    """Broadcast, or a part of the target: the argument is read to the end first."""
    context = cm.Context(context.device)
    add = cm.Map("x + y")
    for _ in range(5):
        square, line = rng.random((40, 40)).astype("f4"), rng.random(40).astype("f4")
        x, y = cm.array(square, context), cm.array(line, context)
        add(x, y, out=x)
        np.testing.assert_array_equal(x.to_numpy(), square + line)
        add(x, x[0], out=x)
        np.testing.assert_array_equal(x.to_numpy(), (square + line) + (square + line)[0])
        one, other = cm.array(line[:1], context), cm.array(line[:1] + 1, context)
        add(one, other, out=one)
        np.testing.assert_array_equal(one.to_numpy(), line[:1] + (line[:1] + 1))


def test_keywords_are_part_of_a_call(context: cm.Context, rng: np.random.Generator) -> None:
    x = rng.random((3, 5), np.float32)
    there, total = cm.array(x, context), cm.Reduce("sum")
    for _ in range(4):
        close(total(there, axis=1), x.sum(1))
        close(total(there, axis=0), x.sum(0))
        close(total(there), x.sum())
        close(total(there, axis=1, keepdims=True), x.sum(1, keepdims=True))
        close(total(there, initial=2.0), x.sum() + 2)
        close(total(there, dtype="float64"), x.sum(dtype="f8"))
        close(total(there, wait_for=[there]), x.sum())
        for axis in (2, True):
            with pytest.raises(cm.PlaceError):
                total(there, axis=axis)
        with pytest.raises(TypeError):
            total(there, axes=1)


def test_each_context_has_calls_of_its_own(context: cm.Context, rng: np.random.Generator) -> None:
    other, x = cm.Context(context.device), rng.random(300, np.float32)
    double = cm.Map("2 * a")
    arrays = [cm.array(x, home) for home in (context, other)]
    for _ in range(4):
        for home, array in zip((context, other), arrays, strict=True):
            result = double(array)
            assert result.context is home
            close(result, 2 * x)
    with pytest.raises(cm.DeviceError):
        cm.Map("a + b")(*arrays)


def test_parts_of_an_array(context: cm.Context, rng: np.random.Generator) -> None:
    """One that begins with its memory, and one that does not."""
    x, total = rng.random(600, np.float32), cm.Reduce("sum")
    there = cm.array(x, context)
    for _ in range(4):
        close(total(there[:300]), x[:300].sum())
        close(total(there[300:]), x[300:].sum())
        close(total(there.reshape(20, 30), axis=0), x.reshape(20, 30).sum(0))


def test_tuning_drops_them(context: cm.Context, rng: np.random.Generator) -> None:
    from clmapreduce.device.plans.cache import renew_calls

    context, total = cm.Context(context.device), cm.Reduce("sum")
    x = cm.array(rng.random(100, np.float32), context)
    for _ in range(4):
        total(x)
    key, _ = quick.request_of((total.representative, x))
    assert isinstance(context.caches().quick.get(key), ReadyCall)
    renew_calls()
    assert context.caches().quick.get(key) is None


def test_there_are_few_of_them(context: cm.Context) -> None:
    from clmapreduce.device.plans.cache import CALLS as MOST

    context, double = cm.Context(context.device), cm.Map("2 * a")
    for n in range(1, MOST + 20):
        x = np.arange(n, dtype=np.float32)
        for _ in range(4):
            close(double(cm.array(x, context)), 2 * x)
    assert 0 < len(context.caches().quick._entries) <= MOST
