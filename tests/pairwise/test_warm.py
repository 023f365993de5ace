"""Repeated calls: the same bits as the first one, with any arrays, from any thread."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from support.pair_plans import vector

import clmapreduce as cm
from clmapreduce import LazyTensor
from clmapreduce.calls.options import Options
from clmapreduce.calls.repeat import ready
from clmapreduce.device.plans.cache import CALLS
from clmapreduce.pairwise.call import PairCall, reduce_pairs
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS, PairOptions
from clmapreduce.vector import Variable

pytestmark = pytest.mark.drawn

X, Y, S = Variable(0, 2, 0), Variable(1, 2, 1), Variable(2, 1, 2)
CALL = PairCall(vector("Exp(-SqDist(Vi(0,2),Vj(1,2))*0.5*Pm(2,1))"), PAIR_REDUCTIONS["Sum"], 1)


def random_arrays(rng: np.random.Generator, rows: int = 19, columns: int = 23, dtype: str = "f4") -> dict[Variable, Any]:
    inputs = {X: rng.normal(size=(rows, 2)), Y: rng.normal(size=(columns, 2)), S: rng.uniform(0.5, 1, 1)}
    return {variable: array.astype(dtype) for variable, array in inputs.items()}


def on(context: cm.Context, inputs: dict[Variable, Any]) -> dict[Variable, Any]:
    return {variable: cm.array(array, context) for variable, array in inputs.items()}


def dense(inputs: dict[Variable, Any]) -> Any:
    x, y, s = (inputs[v].astype(float) for v in (X, Y, S))
    return np.exp(-((x[:, None] - y) ** 2).sum(-1) * 0.5 * s).sum(1)[:, None]


def close(result: Any, inputs: dict[Variable, Any]) -> None:
    np.testing.assert_allclose(np.asarray(result), dense(inputs), rtol=1e-5)


@pytest.fixture
def short_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for every call that went the short way."""
    calls: list[str] = []
    plain = ready.ReadyCall.__call__

    def counting(self: ready.ReadyCall, *args: Any) -> Any:
        calls.append("warm")
        return plain(self, *args)

    monkeypatch.setattr(ready.ReadyCall, "__call__", counting)
    return calls


def test_a_call_made_again_gives_the_same_bits(
    context: cm.Context, mode: str, rng: np.random.Generator, short_calls: list[str]
) -> None:
    inputs = random_arrays(rng)
    arrays = on(context, inputs)
    first = reduce_pairs(CALL, arrays, Options(mode))
    before = len(short_calls)
    again = [reduce_pairs(CALL, arrays, Options(mode)) for _ in range(3)]
    assert len(short_calls) == before + 3
    close(first.to_numpy(), inputs)
    for result in again:
        assert result is not first and result.to_numpy().tobytes() == first.to_numpy().tobytes()
    cold = reduce_pairs(CALL, inputs, Options(mode, context))
    assert isinstance(cold, np.ndarray) and cold.tobytes() == first.to_numpy().tobytes()
    assert len(short_calls) == before + 3, "NumPy arrays have to be brought over"


def test_it_reads_what_the_arrays_hold_now(context: cm.Context, rng: np.random.Generator, short_calls: list[str]) -> None:
    """Other arrays of the same shapes, and the same ones written again."""
    for _ in range(4):
        inputs = random_arrays(rng)
        close(reduce_pairs(CALL, on(context, inputs)).to_numpy(), inputs)
    assert len(short_calls) >= 3
    inputs = random_arrays(rng)
    arrays = on(context, inputs)
    reduce_pairs(CALL, arrays)
    cm.Map("x * 2")(arrays[X], out=arrays[X])
    close(reduce_pairs(CALL, arrays).to_numpy(), {**inputs, X: 2 * inputs[X]})


def test_results_of_calls_stay_distinct(context: cm.Context, rng: np.random.Generator) -> None:
    """Queued one behind the other, each waited for later."""
    several = [random_arrays(rng) for _ in range(5)]
    results = [reduce_pairs(CALL, on(context, inputs)) for inputs in several]
    for result, inputs in zip(results, several, strict=True):
        close(result.to_numpy(), inputs)


def test_a_result_may_be_the_next_calls_argument(context: cm.Context, rng: np.random.Generator) -> None:
    square = PairCall(vector("SqDist(Vi(0,1),Vj(1,1))"), PAIR_REDUCTIONS["Sum"], 1)
    x, y = Variable(0, 1, 0), Variable(1, 1, 1)
    values = rng.uniform(0, 0.2, (9, 1))
    current = cm.array(values, context)
    for _ in range(4):
        current = reduce_pairs(square, {x: current, y: current})
        values = ((values - values.T) ** 2).sum(1)[:, None]
    np.testing.assert_allclose(current.to_numpy(), values, rtol=1e-12)


@pytest.mark.parametrize("change", ["rows", "columns", "batch", "dtype", "number", "axis", "reduction", "mode"])
def test_another_form_is_planned_again(change: str, context: cm.Context, rng: np.random.Generator) -> None:
    if change == "dtype" and not context.facts.fp64:
        pytest.skip("no float64 here")
    inputs = random_arrays(rng)
    expected = dense(inputs)
    call, options = CALL, Options("sequential")
    for turn in range(2):
        close(reduce_pairs(CALL, on(context, inputs), Options("sequential")).to_numpy(), inputs)
        if change in ("rows", "columns", "dtype"):
            other = {"rows": {"rows": 1}, "columns": {"columns": 5000}, "dtype": {"dtype": "f8"}}[change]
            more = random_arrays(rng, **other)  # type: ignore[arg-type]
            close(reduce_pairs(CALL, on(context, more), options).to_numpy(), more)
            continue
        arrays = dict(inputs)
        if change == "batch":
            arrays[X] = np.stack([inputs[X], inputs[X][::-1]])
            expected = np.stack([dense(inputs), dense(inputs)[::-1]])
        if change == "number":
            call = PairCall(vector(f"Exp(-SqDist(Vi(0,2),Vj(1,2))*{0.25 + turn}*Pm(2,1))"), PAIR_REDUCTIONS["Sum"], 1)
            expected = dense({**inputs, S: inputs[S] * (0.5 + 2 * turn)})
        if change == "axis":
            call, expected = PairCall(CALL.formula, CALL.reduction, 0), dense({**inputs, X: inputs[Y], Y: inputs[X]})
        if change == "reduction":
            call = PairCall(CALL.formula, PAIR_REDUCTIONS["KMin"], 1, options=PairOptions(k=1 + turn))
            expected = np.sort(np.exp(-((inputs[X][:, None] - inputs[Y]) ** 2).sum(-1) * 0.5 * inputs[S]), 1)[:, : 1 + turn]
        if change == "mode":
            options = Options("parallel")
        result = reduce_pairs(call, on(context, arrays), options)
        np.testing.assert_allclose(result.to_numpy(), expected, rtol=1e-5)


def test_an_argument_out_and_an_array_of_numpy_go_the_long_way(
    context: cm.Context, rng: np.random.Generator, short_calls: list[str]
) -> None:
    inputs = random_arrays(rng)
    arrays = on(context, inputs)
    reduce_pairs(CALL, arrays)
    before = len(short_calls)
    out = cm.array(np.zeros((19, 1), "f4"), context)
    assert reduce_pairs(CALL, arrays, Options(out=out)) is out
    close(out.to_numpy(), inputs)
    close(reduce_pairs(CALL, {**arrays, S: inputs[S]}).to_numpy(), inputs)
    assert len(short_calls) == before


def test_wrong_arrays_are_refused_after_right_ones(context: cm.Context, rng: np.random.Generator) -> None:
    arrays = on(context, random_arrays(rng))
    reduce_pairs(CALL, arrays)
    with pytest.raises(cm.ShapeError, match="variable 1"):
        reduce_pairs(CALL, {**arrays, Y: cm.array(np.zeros((23, 3), "f4"), context)})
    with pytest.raises(cm.DeviceError):
        other = cm.Context(context.device)
        reduce_pairs(CALL, {**arrays, Y: cm.array(np.zeros((23, 2), "f4"), other)})


def test_only_so_many_calls_are_kept(rng: np.random.Generator) -> None:
    context = cm.Context(cm.devices()[0])
    for rows in range(1, CALLS + 12):
        reduce_pairs(CALL, on(context, random_arrays(rng, rows, 3)))
    assert len(context.caches().calls) == CALLS
    inputs = random_arrays(rng, 1, 3)
    close(reduce_pairs(CALL, on(context, inputs)).to_numpy(), inputs)
    context.wait()


def test_a_context_ends_with_its_calls() -> None:
    """Calls cached for a context do not keep it alive, and end with it."""

    def call_and_close() -> list[weakref.ref[Any]]:
        context = cm.Context(cm.devices()[0])
        for _ in range(2):
            result = reduce_pairs(CALL, on(context, random_arrays(np.random.default_rng(0))))
        result.to_numpy()
        (call,) = context.caches().calls.values()
        return [weakref.ref(context), weakref.ref(call)]

    references = call_and_close()
    gc.collect()
    assert [one() for one in references] == [None, None]


def test_threads_may_share_a_call(context: cm.Context) -> None:
    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for turn in range(6):
            inputs = random_arrays(rng, 19 + turn % 2)
            close(reduce_pairs(CALL, on(context, inputs)).to_numpy(), inputs)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def test_splits_share_scratch_without_mixing(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Two launches a call: the accumulators between them are this call's."""
    call = PairCall(CALL.formula, CALL.reduction, 1, backend="2D")
    several = [random_arrays(rng, 5, 3000) for _ in range(4)]
    results = [reduce_pairs(call, on(context, inputs), Options(mode)) for inputs in several]
    for result, inputs in zip(results, several, strict=True):
        close(result.to_numpy(), inputs)


def test_lazy_tensors_on_the_device_take_the_short_way(
    context: cm.Context, mode: str, rng: np.random.Generator, short_calls: list[str]
) -> None:
    """Their arrays are views of the arguments: (M, 1, D) as (M, D), (N,) as (N, 1)."""
    x, y, b = (rng.normal(size=shape).astype("f4") for shape in ((19, 1, 2), (1, 23, 2), (23,)))
    on_device = [cm.array(array, context) for array in (x, y, b)]
    kernel = np.exp(-((x.astype(float) - y) ** 2).sum(-1) / 2)
    for calls in range(3):
        x_i, y_j = LazyTensor(on_device[0]), LazyTensor(on_device[1])
        result = (-((x_i - y_j) ** 2).sum(-1) / 2).exp().__matmul__(on_device[2], mode=mode)
        assert len(short_calls) == calls
        np.testing.assert_allclose(np.asarray(result), kernel @ b, atol=1e-5 * kernel.sum(1).max())
