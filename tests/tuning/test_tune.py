"""Launch boxes chosen by measurement: cm.tune finds and stores them, later plans use them, and results stay right. The
tests, not a clock, say which box is faster.
"""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.child_processes import with_library
from support.pair_plans import vector
from support.random_blocks import Halves, drawn_blocks

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.repeat import ready
from clmapreduce.modes import ComputeMode
from clmapreduce.pairwise.call import PairCall, explain_pairs, reduce_pairs
from clmapreduce.plan import KernelSpec
from clmapreduce.planning import boxes
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS
from clmapreduce.schemes.pairs import registry
from clmapreduce.schemes.pairs.long_values import LongValues
from clmapreduce.schemes.pairs.rows import Rows
from clmapreduce.tuning import measured, search, tune
from clmapreduce.vector import Variable

X, Y, B = Variable(0, 2, 0), Variable(1, 2, 1), Variable(2, 1, 1)
TEXT = "Exp(-SqDist(Vi(0,2),Vj(1,2)))*Vj(2,1)"
CALL = PairCall(vector(TEXT), PAIR_REDUCTIONS["Sum"], 1)
REASON = "box measured on this device"
Arrays = dict[Variable, Any]


def random_arrays(rng: np.random.Generator, rows: int = 19, columns: int = 1100) -> Arrays:
    arrays = {X: rng.normal(size=(rows, 2)), Y: rng.normal(size=(columns, 2)), B: rng.normal(size=(columns, 1))}
    return {variable: array.astype("f4") for variable, array in arrays.items()}


def dense(arrays: Arrays, mask: Any = 1.0, axis: int = 1) -> Any:
    x, y, b = (arrays[v].astype(float) for v in (X, Y, B))
    terms = np.exp(-((x[:, None] - y) ** 2).sum(-1)) * b[:, 0] * mask
    return terms.sum(axis)[:, None]


def close(result: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-4, atol=1e-4)


def explain(context: cm.Context, arrays: Arrays, mode: str, call: PairCall = CALL, ranges: Any = None) -> str:
    return explain_pairs(call, arrays, Options(mode, context), ranges)


def results_of_tune(context: cm.Context, call: Callable[[], Any]) -> list[cm.Tuned]:
    return cm.tune(call, context=context)


@pytest.fixture
def fresh(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> cm.Context:
    """A context of its own, tables that hold nothing, and one number of a box to vary, once up and once down; without
    the schemes of matrix units.
    """
    monkeypatch.setattr(registry, "SCHEMES", registry.PORTABLE)
    monkeypatch.setattr(measured, "__version__", secrets.token_hex(8))
    monkeypatch.setattr(measured, "TABLE", measured.BoxStore())
    tile = tile_of("parallel", context)
    limits = {ComputeMode.SEQUENTIAL: {"tile": (256, 1024)}, ComputeMode.PARALLEL: {"tile": (tile // 4, tile)}}
    monkeypatch.setattr(Rows, "limits", limits)
    return cm.Context(context.device)


@pytest.fixture
def longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever box has the longer tile is called the faster one."""

    def compare(champion: Any, challenger: Any) -> tuple[float, float]:
        return 1.0, champion.box.tile / challenger.box.tile

    monkeypatch.setattr(search, "compared", compare)


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be measured."""

    def compare(champion: Any, challenger: Any) -> tuple[float, float]:
        raise AssertionError("measured")

    monkeypatch.setattr(search, "compared", compare)


def tile_of(mode: str, context: cm.Context) -> int:
    """The longest tile that the search may try, twice the static one."""
    return 1024 if mode == "sequential" else 128 if context.facts.kind == "cpu" else 256


def test_later_plans_use_the_measured_box(
    fresh: cm.Context, mode: str, rng: np.random.Generator, longer: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cached calls too, in this process and in others, for sizes of the same power of two."""
    inputs = random_arrays(rng)
    arrays = {variable: cm.array(array, fresh) for variable, array in inputs.items()}
    for _ in range(2):
        close(reduce_pairs(CALL, arrays, Options(mode)), dense(inputs))
    assert REASON not in explain(fresh, inputs, mode)
    (result,) = results_of_tune(fresh, lambda: reduce_pairs(CALL, inputs, Options(mode)))
    assert result.box_after == replace(result.box_before, tile=tile_of(mode, fresh)) != result.box_before
    assert (result.ms_before, result.ms_after) == (1e3, 1e3 * result.box_before.tile / result.box_after.tile)
    assert repr(result) == (
        f"{result.what}: 1000 ms with PairBox(tile={result.box_before.tile}), 500 ms with PairBox(tile={result.box_after.tile})"
    )
    assert result.what.startswith("Sum over j of ") and result.what.endswith(", 19 x 1100")

    long, plain = [], ready.ReadyCall.__init__
    monkeypatch.setattr(ready.ReadyCall, "__init__", lambda self, *args: (long.append(args), plain(self, *args))[1])
    for _ in range(3):
        close(reduce_pairs(CALL, arrays, Options(mode)), dense(inputs))
    assert len(long) == 1, "the call kept from before is not used, and the new one is kept"
    assert REASON in long[0][0].executable.plan.why

    for table, context in ((measured.TABLE, fresh), (measured.BoxStore(), cm.Context(fresh.device))):
        monkeypatch.setattr(measured, "TABLE", table)
        explanation = explain(context, inputs, mode)
        assert f"{tile_of(mode, fresh)} columns a tile; {REASON}" in explanation
        close(reduce_pairs(CALL, inputs, Options(mode, context)), dense(inputs))
        assert REASON in explain(context, random_arrays(rng, 31, 2000), mode)
        assert REASON not in explain(context, random_arrays(rng, 33, 1100), mode)
        assert REASON not in explain(context, inputs, mode, replace(CALL, backend="2D"))
    again = results_of_tune(fresh, lambda: reduce_pairs(CALL, inputs, Options(mode)))
    assert [one.box_before for one in again] == [result.box_after] and "none is faster" in repr(again[0])


@pytest.mark.drawn
@pytest.mark.parametrize("axis", [0, 1])
def test_axes_and_ranges(axis: int, fresh: cm.Context, mode: str, rng: np.random.Generator, longer: None) -> None:
    rows, columns = (300, 450)[:: 1 if axis else -1]
    arrays, request = random_arrays(rng, 300, 450), replace(CALL, axis=axis)
    blocks = drawn_blocks(rng, rows, columns)
    mask = np.zeros((rows, columns))
    for (begin, end), low, high in zip(blocks.clusters, blocks.offsets[:-1], blocks.offsets[1:], strict=True):
        for first, last in blocks.intervals[low:high]:
            mask[begin:end, first:last] = 1
    expected = dense(arrays, mask if axis else mask.T, axis)
    ranges: Any = Halves(axis, blocks)

    def call() -> Any:
        return reduce_pairs(request, arrays, Options(mode, fresh), ranges=ranges)

    result = cm.tune(lambda: close(call(), expected))
    assert all(one.box_after.tile == tile_of(mode, fresh) for one in result)
    close(call(), expected)
    assert (REASON in explain(fresh, arrays, mode, request, ranges)) == bool(result)


@pytest.mark.drawn
def test_both_passes_of_long_weights(
    fresh: cm.Context, mode: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each pass has a box of its own; a box that is not faster changes nothing."""
    monkeypatch.setattr(search, "compared", lambda champion, challenger: (1.0, 1.0))
    stages = (4, 8) if fresh.facts.kind == "cpu" else (16, 32)
    limits = {ComputeMode.SEQUENTIAL: {"stage": (64, 128)}, ComputeMode.PARALLEL: {"stage": stages}}
    monkeypatch.setattr(LongValues, "limits", limits)
    x, y, w = (Variable(k, dim, min(k, 1)) for k, dim in enumerate((2, 2, 20)))
    text, weight = "-SqDist(Vi(0,2),Vj(1,2))", vector("Vj(2,20)")
    call = PairCall(vector(text), PAIR_REDUCTIONS["SumSoftMaxWeight"], 1, weight)
    arrays: Arrays = {x: rng.normal(size=(9, 2)), y: rng.normal(size=(50, 2)), w: rng.normal(size=(50, 20))}
    arrays = {variable: array.astype("f4") for variable, array in arrays.items()}
    result = results_of_tune(fresh, lambda: reduce_pairs(call, arrays, Options(mode)))
    assert [one.what.rpartition(", ")[2] for one in result] == ["pass 1 of 2", "pass 2 of 2"]
    assert [type(one.box_after).__name__ for one in result] == ["PairBox", "WideBox"]
    assert all(one.box_after == one.box_before for one in result)
    explanation = explain(fresh, arrays, mode, call)
    assert explanation.count(REASON) == 2
    terms = np.exp(-((arrays[x].astype(float)[:, None] - arrays[y]) ** 2).sum(-1))
    expected = terms @ arrays[w] / terms.sum(1, keepdims=True)
    close(reduce_pairs(call, arrays, Options(mode, fresh)), expected)


def test_without_a_cache_on_disk(
    fresh: cm.Context, rng: np.random.Generator, longer: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A measured box lasts as long as the process."""
    monkeypatch.setenv("CLMR_NO_CACHE", "1")
    arrays = random_arrays(rng)
    assert results_of_tune(fresh, lambda: reduce_pairs(CALL, arrays, Options("sequential")))
    assert REASON in explain(fresh, arrays, "sequential")
    monkeypatch.delenv("CLMR_NO_CACHE")
    monkeypatch.setattr(measured, "TABLE", measured.BoxStore())
    assert REASON not in explain(cm.Context(fresh.device), arrays, "sequential")


def test_another_process_finds_it(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kernels have the same text, for any seed of hashes and any order of events."""
    version = secrets.token_hex(8)
    monkeypatch.setattr(measured, "__version__", version)
    monkeypatch.setattr(measured, "TABLE", measured.BoxStore())
    monkeypatch.setattr(Rows, "limits", {ComputeMode.SEQUENTIAL: {"tile": (256, 256)}})
    monkeypatch.setattr(search, "compared", lambda champion, challenger: (1.0, 0.5))
    context = cm.Context(cm.devices()[0])
    assert results_of_tune(context, lambda: reduce_pairs(CALL, random_arrays(rng), Options("sequential", context)))
    other = f"""
import numpy as np, clmapreduce as cm
from clmapreduce.tuning import measured
measured.__version__ = {version!r}
x, y = np.zeros((5, 3)), np.zeros((7, 3))
cm.Genred("Sqrt(SqDist(x, y))", ["x = Vi(3)", "y = Vj(3)"], "Max", axis=1).source(x, y)
x, y, b = (np.zeros((n, d), "f4") for n, d in ((19, 2), (1100, 2), (1100, 1)))
call = cm.Genred({TEXT!r}, [], "Sum", axis=1)
print(call.explain(x, y, b, mode="sequential", context=cm.Context(cm.devices()[0])))
"""
    environment = with_library(PYTHONHASHSEED="7")
    run = [sys.executable, "-c", other]
    output = subprocess.run(run, env=environment, check=True, capture_output=True, text=True).stdout
    assert f"256 columns a tile; {REASON}" in output


@pytest.mark.parametrize("kind", ["damaged", "foreign", "illegal"])
def test_odd_entries_count_as_absent(
    kind: str, fresh: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays, entries = random_arrays(rng), []
    monkeypatch.setattr(search, "compared", lambda champion, challenger: (1.0, 1.0))
    monkeypatch.setattr(tune, "keep", lambda context, key, box: entries.append((key, box)))
    results_of_tune(fresh, lambda: reduce_pairs(CALL, arrays, Options("parallel")))
    ((key, box),) = entries
    good = boxes.to_json(replace(box, tile=2 * box.tile))
    odd = {
        "damaged": good[:-2],
        "foreign": good.replace(b"PairBox", b"TileBox"),
        "illegal": boxes.to_json(replace(box, merge_block=64)),
    }[kind]
    for data in (odd, good):
        measured.remember(b"{}", "launch boxes", *measured.device_of(fresh))
        measured.remember(data, "launch box", *key)
        monkeypatch.setattr(measured, "TABLE", measured.BoxStore())
        context = cm.Context(fresh.device)
        assert (REASON in explain(context, arrays, "parallel")) == (data is good)


def test_wrong_input_raises_before_anything_is_measured(
    fresh: cm.Context, rng: np.random.Generator, nothing: None
) -> None:
    arrays = random_arrays(rng)
    with pytest.raises(cm.FormulaError, match="takes a function"):
        cm.tune(arrays)  # type: ignore[arg-type]
    for seconds in (-1.0, float("nan"), "60", True):
        with pytest.raises(cm.ModeError, match="seconds="):
            cm.tune(lambda: None, seconds=seconds)  # type: ignore[arg-type]
    with pytest.raises(cm.ShapeError, match="variable 1"):
        results_of_tune(fresh, lambda: reduce_pairs(CALL, {**arrays, Y: arrays[Y][:, :1]}))
    with pytest.raises(cm.ShapeError, match="out has shape"):
        results_of_tune(fresh, lambda: reduce_pairs(CALL, arrays, Options(out=np.zeros((3, 1), "f4"))))
    assert cm.tune(lambda: None) == []
    assert results_of_tune(fresh, lambda: reduce_pairs(CALL, {**arrays, X: arrays[X][:0]})) == []
    close(reduce_pairs(CALL, arrays, Options(context=fresh)), dense(arrays))


def test_no_time_leaves_everything_as_it_is(fresh: cm.Context, rng: np.random.Generator, nothing: None) -> None:
    arrays, results = random_arrays(rng), []
    assert cm.tune(lambda: results.append(reduce_pairs(CALL, arrays)), context=fresh, seconds=0) == []
    close(results[0], dense(arrays))
    assert REASON not in explain(fresh, arrays, "auto")


@pytest.mark.drawn
@pytest.mark.parametrize("wrong", ["results", "build", "local memory"])
def test_wrong_candidates_are_left_out(
    wrong: str, fresh: cm.Context, mode: str, rng: np.random.Generator, nothing: None, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    arrays = random_arrays(rng)
    tile = tile_of(mode, fresh) // 2
    plain = search.Candidate.values

    def values(self: search.Candidate) -> list[Any]:
        if wrong == "build" and self.box.tile != tile:  # type: ignore[union-attr]
            raise cm.BuildError("no such kernel")
        return [v + np.float32(self.box.tile != tile) for v in plain(self)]  # type: ignore[union-attr]

    monkeypatch.setattr(search.Candidate, "values", values)
    if wrong == "local memory":
        monkeypatch.setattr(KernelSpec, "local_bytes", property(lambda spec: 1 << 40))
    with caplog.at_level("INFO", "clmapreduce"):
        assert results_of_tune(fresh, lambda: reduce_pairs(CALL, arrays, Options(mode))) == []
    assert ("its results are not those of" in caplog.text) == (wrong == "results")
    assert ("no such kernel" in caplog.text) == (wrong == "build")
    close(reduce_pairs(CALL, arrays, Options(mode, fresh)), dense(arrays))


def test_every_kernel_is_looked_at_once(
    fresh: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all callers: lazy tensors, Genred, solvers; on the arrays of the first call, on the device."""
    problems: list[search.Problem] = []
    monkeypatch.setattr(tune, "search", lambda problem, deadline, after_box: problems.append(problem))
    arrays = random_arrays(rng, 40, 40)
    x, y, b = (arrays[v] for v in (X, Y, B))

    def work() -> None:
        lazy = (-cm.LazyTensor(x[:, None]).sqdist(cm.LazyTensor(y[None]))).exp()
        for _ in range(3):
            close((lazy @ b), dense(arrays))
        close(cm.Genred(TEXT, [], "Sum", axis=1)(x, y, b), dense(arrays))
        own = (-cm.LazyTensor(x[:, None]).sqdist(cm.LazyTensor(x[None]))).exp()
        own.solve(b, alpha=1.0)

    assert results_of_tune(fresh, work) == []
    keys = {measured.key_of(fresh, _static(p), p.layout, p.domain) for p in problems}
    assert 0 < len(problems) == len(keys) <= 3
    assert all(isinstance(a, cm.DeviceArray) and a.context is fresh for p in problems for a in p.call.arrays.values())


def _static(problem: search.Problem) -> Any:
    return measured.plan_boxed(problem.starts[0], problem.layout, problem.domain, problem.mode, problem.facts)


class Script:
    """A candidate whose calls take what a script says, by turns of the machine."""

    def __init__(self, machine: list[float], share: float) -> None:
        self.machine, self.share, self.turns = machine, share, 0

    def seconds(self, count: int = 1) -> float:
        self.turns += 1
        return self.share * self.machine[self.turns % len(self.machine)]


@pytest.mark.parametrize("scale", [1e-5, 1e-2, 1.0])
def test_boxes_are_compared_by_turns(scale: float) -> None:
    """However busy the machine is in between; hopeless ones shortly."""
    machine = [scale * load for load in (1, 3, 1.2, 2.5, 1, 9, 1.1)]

    def ratio(share: float) -> tuple[float, int]:
        one, other = Script(machine, 1.0), Script(machine, share)
        old, new = search.compared(one, other)  # type: ignore[arg-type]
        assert scale <= old <= 9 * scale and one.turns == other.turns
        return new / old, one.turns

    for share in (0.5, 0.97, 1.0):
        assert ratio(share)[0] == pytest.approx(share) and ratio(share)[1] >= 5
    assert ratio(1.5) == (pytest.approx(1.5), 5)
    assert ratio(4.0) == (pytest.approx(4.0), 2)
