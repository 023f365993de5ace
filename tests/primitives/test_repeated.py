"""Calls made again and again on device arrays: the results of the first one, whatever changed in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.calls.repeat import ready

SIZES = (1, 31, 1000, 20_001)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls that only bound and submitted."""
    calls: list[Any] = []
    plain = ready.ReadyCall.__call__

    def counting(self: ready.ReadyCall, *args: Any) -> Any:
        calls.append(self)
        return plain(self, *args)

    monkeypatch.setattr(ready.ReadyCall, "__call__", counting)
    return calls


def cases() -> dict[str, tuple[Callable[..., Any], Callable[..., Any]]]:
    """Primitives, and NumPy's results in float64."""
    return {
        "map": (cm.Map(lambda a, b: a * b + 1), lambda a, b: a * b + 1),
        "reduce": (cm.Reduce("sum"), lambda a, b: a.sum()),
        "scan": (cm.Scan("sum"), lambda a, b: np.cumsum(a)),
        "exclusive": (cm.Scan("maximum", exclusive=True), None),
        "pipeline": (cm.Map(lambda a, b: a * b) >> cm.Reduce("sum"), lambda a, b: (a * b).sum()),
        "fuse": (cm.fuse(lambda a, b: (a - cm.Reduce("maximum")(a), b + a)), lambda a, b: (a - a.max(), b + a)),
    }


@pytest.mark.drawn
@pytest.mark.parametrize("name", [name for name, (_, exact) in cases().items() if exact is not None])
@pytest.mark.parametrize("size", SIZES)
def test_later_calls_give_what_the_first_gives(
    name: str, size: int, context: cm.Context, mode: str, rng: np.random.Generator, counted: list[Any]
) -> None:
    """On new arrays each time, whose memory was poisoned."""
    function, exact = cases()[name]
    context = cm.Context(context.device)  # others keep the plans of such calls
    for turn in range(5):
        hosts = [rng.standard_normal(size).astype(np.float32) for _ in range(2)]
        poison = cm.array(np.full(size, np.nan, np.float32), context)
        arrays = [cm.array(host, context) for host in hosts]
        del poison
        arrays = arrays[:1] if name in ("reduce", "scan") else arrays
        results = function(*arrays, mode=mode)
        expected = exact(*(host.astype(np.float64) for host in hosts))
        for result, one in zip(*((v if isinstance(v, tuple) else (v,)) for v in (results, expected)), strict=True):
            assert isinstance(result, cm.DeviceArray) and result.dtype == np.float32
            np.testing.assert_allclose(result.to_numpy(), one, rtol=0, atol=1e-6 * size * max(1, np.abs(hosts).max() ** 2))
        assert len(counted) == max(0, turn - 1)


@pytest.mark.drawn
@pytest.mark.parametrize("name", [name for name, (_, exact) in cases().items() if exact is not None])
@pytest.mark.parametrize("size", (1, 33, 4000, 20_001))
def test_later_calls_on_arrays_of_the_host(
    name: str, size: int, context: cm.Context, mode: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New arrays, arrays whose values changed, arrays that are not contiguous, of either byte order."""
    planned: list[int] = []
    plain = cm.Context.executable
    monkeypatch.setattr(cm.Context, "executable", lambda self, *args: (planned.append(1), plain(self, *args))[1])
    function, exact = cases()[name]
    context = cm.Context(context.device)  # others keep the plans of such calls
    inputs = [rng.standard_normal(size).astype(np.float32) for _ in range(2)]
    for turn in range(7):
        if turn == 4:
            hosts = [rng.standard_normal(2 * size).astype(np.float32)[::2] for _ in range(2)]
        elif turn == 5:
            hosts = [rng.standard_normal(size).astype(">f4") for _ in range(2)]
        elif turn % 2:
            hosts = [rng.standard_normal(size).astype(np.float32) for _ in range(2)]
        else:
            hosts = inputs
            for host in hosts:
                host[:] = rng.standard_normal(size)
        before = [host.copy() for host in hosts]
        results = function(*(hosts[:1] if name in ("reduce", "scan") else hosts), mode=mode, context=context)
        expected = exact(*(host.astype(np.float64) for host in hosts))
        for result, one in zip(*((v if isinstance(v, tuple) else (v,)) for v in (results, expected)), strict=True):
            assert isinstance(result, (np.ndarray, np.float32)) and result.dtype == np.float32
            np.testing.assert_allclose(result, one, rtol=0, atol=1e-6 * size * 25)
        for host, value in zip(hosts, before, strict=True):
            np.testing.assert_array_equal(host, value)
    short = 4 * size <= 1 << 16
    assert len(planned) == (3 + (size > 1) if short else 7), "turns 0, 1, 5, and 4 unless contiguous; or all"


def test_results_in_arrays_of_the_caller(context: cm.Context, rng: np.random.Generator, counted: list[Any]) -> None:
    """Also in one of the arguments, in a part of memory, in host memory, in an array of another dtype."""
    double = cm.Map(lambda a: a + a)
    host = rng.standard_normal(1000).astype(np.float32)
    x = cm.array(host, context)
    for _ in range(4):
        out = cm.zeros(1000, np.float32, context=context)
        assert double(x, out=out) is out
        np.testing.assert_array_equal(out.to_numpy(), 2 * host)
    y = cm.array(host, context)
    assert double(y, out=y) is y
    np.testing.assert_array_equal(y.to_numpy(), 2 * host)
    before = len(counted)
    assert before
    whole = cm.zeros(2000, np.float32, context=context)
    double(x, out=whole[500:1500])
    np.testing.assert_array_equal(whole.to_numpy()[500:1500], 2 * host)
    assert not whole.to_numpy()[:500].any() and not whole.to_numpy()[1500:].any()
    there = np.zeros(1000, np.float32)
    assert double(x, out=there) is there
    np.testing.assert_array_equal(there, 2 * host)
    assert len(counted) == before
    with pytest.raises(cm.DTypeError, match="out has dtype float64"):
        double(x, out=cm.zeros(1000, np.float64, context=context))
    with pytest.raises(cm.ShapeError, match="out has shape"):
        double(x, out=cm.zeros(999, np.float32, context=context))


def test_keywords_and_arrays_tell_calls_apart(context: cm.Context, rng: np.random.Generator) -> None:
    host = rng.standard_normal((30, 40)).astype(np.float32)
    x, whole = cm.array(host, context), cm.array(np.arange(1200, dtype=np.int32).reshape(30, 40), context)
    total = cm.Reduce("sum")
    for _ in range(3):
        assert total(x).shape == ()
        assert total(x, axis=0).shape == (40,) and total(x, axis=1).shape == (30,)
        assert total(x, axis=1, keepdims=True).shape == (30, 1)
        assert float(total(x, initial=1000.0)) == pytest.approx(1000 + float(host.sum(dtype=np.float64)), abs=1e-3)
        assert int(total(whole)) == 1199 * 600
        assert total(x, dtype=np.dtype(np.float64)).dtype == np.float64
        assert total(x, accumulate="fast").dtype == np.float32
        assert total(x.reshape(-1)[1:]).to_numpy() == pytest.approx(host.reshape(-1)[1:].sum(dtype=np.float64), abs=1e-3)
        with pytest.raises(cm.ModeError):
            total(x, accumulate="slow")
        with pytest.raises(cm.ModeError):
            total(x, mode="fastest")
    np.testing.assert_array_equal(cm.Scan("sum", exclusive=True)(whole.reshape(-1)).to_numpy()[1:], cm.Scan("sum")(whole.reshape(-1)).to_numpy()[:-1])


@pytest.mark.parametrize(("shape", "axis"), [((2, 70_000), 1), ((3, 70_000), 1), ((70_000, 2), 0), ((9, 500), 0)], ids=str)
def test_lines_along_axes_each_time(shape: tuple[int, int], axis: int, context: cm.Context, rng: np.random.Generator) -> None:
    """Also few long ones, which are calls of their own."""
    for _ in range(4):
        host = rng.integers(-99, 99, shape).astype(np.int32)
        x = cm.array(host, context)
        np.testing.assert_array_equal(cm.Reduce("sum")(x, axis=axis).to_numpy(), host.sum(axis=axis))
        np.testing.assert_array_equal(cm.Scan("sum")(x, axis=axis).to_numpy(), host.cumsum(axis=axis))


def test_equal_reductions_share_a_ready_call(context: cm.Context, counted: list[Any]) -> None:
    x = cm.array(np.arange(777, dtype=np.int32), context)
    assert [int(cm.Reduce("sum")(x)) for _ in range(4)] == [777 * 388] * 4
    assert len(counted) >= 2


def test_an_array_of_another_context_is_refused_each_time(context: cm.Context) -> None:
    other = cm.Context(context.device)
    x, total = cm.array(np.ones(100, np.float32), context), cm.Reduce("sum")
    for _ in range(4):
        assert float(total(x)) == 100
        with pytest.raises(cm.DeviceError, match="share a context"):
            total(x, context=other)


def test_calls_wait_for_events(context: cm.Context) -> None:
    total, x = cm.Reduce("sum"), cm.array(np.ones(5000, np.float32), context)
    for _ in range(4):
        y = cm.Map(lambda a: a + 1)(x)
        assert float(total(x, wait_for=[y])) == 5000


def test_guarded_maps_keep_the_rest_each_time(context: cm.Context) -> None:
    guarded = cm.Map(lambda a: cm.guard(a > 0, a))
    x = cm.array(np.array([-1, 2, -3, 4], np.float32), context)
    for _ in range(4):
        out = cm.array(np.full(4, 7, np.float32), context)
        guarded(x, out=out)
        assert out.to_numpy().tolist() == [7, 2, 7, 4]


def test_calls_of_many_threads(context: cm.Context, rng: np.random.Generator) -> None:
    from concurrent.futures import ThreadPoolExecutor

    total = cm.Map(lambda a: a * 2) >> cm.Reduce("sum")
    hosts = [rng.integers(-99, 99, 3000).astype(np.int32) for _ in range(8)]
    arrays = [cm.array(host, context) for host in hosts]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(10):
            assert [int(r) for r in pool.map(total, arrays)] == [2 * int(host.sum()) for host in hosts]
