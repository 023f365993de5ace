"""Reductions over pairs that several devices share by rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracles import assert_same

import clmapreduce as cm
from clmapreduce.pairwise.tiles import streamed
from clmapreduce.tuning import rates

from .conftest import LIMIT, Several

ROWS, COLUMNS = 1300, 701


def squared_distances(x: Any, y: Any) -> np.ndarray:
    differences = x[:, None].astype("f8") - y[None].astype("f8")
    return (differences**2).sum(-1)


def lazy(x: Any, y: Any) -> Any:
    return ((cm.LazyTensor(x[:, None]) - cm.LazyTensor(y[None])) ** 2).sum(-1)


CALLS: dict[str, tuple[Any, Any]] = {
    "sum": (lambda d, b: (-d).exp() @ b, lambda d, b: np.exp(-d) @ b),
    "logsumexp": (lambda d, b: d.logsumexp(axis=1), lambda d, b: np.log(np.exp(d).sum(1))[:, None]),
    "nearest": (lambda d, b: d.argKmin(3, axis=1), lambda d, b: np.argsort(d, axis=1, kind="stable")[:, :3]),
    "min of columns": (lambda d, b: d.min(axis=0), lambda d, b: d.min(0)[:, None]),
    "argmax": (lambda d, b: d.argmax(axis=1), lambda d, b: d.argmax(1)[:, None]),
}


@pytest.mark.drawn
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", CALLS)
def test_rows_are_shared(name: str, dtype: str, mode: str, several: Several, rng: np.random.Generator) -> None:
    x, y, b = (rng.random(shape).astype(dtype) for shape in ((ROWS, 3), (COLUMNS, 3), (COLUMNS, 2)))
    call, oracle = CALLS[name]
    results = []
    for count in (1, 2, 3):
        with several(count):
            results.append(np.asarray(call(lazy(x, y), b)))
    exact = oracle(squared_distances(x, y), b.astype("f8"))
    if name in ("nearest", "argmax"):  # the distances of what is named are those of the best ones
        chosen = np.take_along_axis(squared_distances(x, y), results[0], 1)
        best = np.take_along_axis(squared_distances(x, y), exact, 1)
        np.testing.assert_allclose(chosen, best, atol=20 * np.finfo(dtype).eps)
    else:
        bound = 2e-6 if dtype == "f4" else 1e-13
        np.testing.assert_allclose(results[0], exact, rtol=0, atol=bound * max(1, abs(exact).max()))
    for result in results[1:]:
        assert_same(result, results[0])


def test_genred_with_a_parameter_and_out(several: Several, rng: np.random.Generator) -> None:
    x, y, p = rng.random((ROWS, 2)), rng.random((COLUMNS, 2)), np.array([0.7])
    formula = cm.Genred("Exp(-p * SqDist(x, y))", ["x = Vi(2)", "y = Vj(2)", "p = Pm(1)"], axis=1)
    exact = np.exp(-0.7 * squared_distances(x, y)).sum(1)[:, None]
    with several(2):
        out = np.full((ROWS, 1), np.nan)
        result = formula(x, y, p, out=out)
        assert result is out
        np.testing.assert_allclose(out, exact, rtol=1e-13)


@pytest.mark.parametrize("axis", [0, 1])
def test_blocks_of_pairs(axis: int, mode: str, several: Several, rng: np.random.Generator) -> None:
    """Clusters that a border of blocks cuts, rows that meet nothing, and a list that is empty."""
    x, y = rng.random((ROWS, 2)), rng.random((COLUMNS, 2))
    mask = np.repeat(np.repeat(rng.random((20, 12)) < 0.4, 65, axis=0), 59, axis=1)[:ROWS, :COLUMNS]
    mask[300:420] = False
    mask[:, 100:200] = False
    formula = cm.Genred("SqDist(x, y)", ["x = Vi(2)", "y = Vj(2)"], axis=axis)
    exact = np.where(mask, squared_distances(x, y), 0).sum(axis)[:, None]
    results = []
    for count in (1, 2):
        ranges = cm.Ranges.from_mask(mask)
        with several(count):
            results += [formula(x, y, ranges=ranges, mode=mode) for _ in range(2)]
            assert "tiles of" in formula.explain(x, y, ranges=ranges, mode=mode)
    np.testing.assert_allclose(results[0], exact, rtol=1e-12, atol=1e-12)
    for result in results[1:]:
        assert_same(result, results[0])


def test_it_is_explained(several: Several, rng: np.random.Generator) -> None:
    x, y = rng.random((ROWS, 2)), rng.random((COLUMNS, 2))
    formula = cm.Genred("SqDist(x, y)", ["x = Vi(2)", "y = Vj(2)"], axis=1)
    with several(2):
        text = formula.explain(x, y)
    assert "on 2 devices, each of which has all columns" in text and "rows" in text


@pytest.mark.parametrize(("dim", "blocks"), [(3, 16), (50, 8)])
def test_long_vectors_have_fewer_blocks(dim: int, blocks: int, several: Several, rng: np.random.Generator) -> None:
    """Every block prepares all columns, which takes longer the longer they are."""
    x, y = rng.random((2**18, dim), "f4"), rng.random((64, dim), "f4")
    formula = cm.Genred("SqDist(x, y)", [f"x = Vi({dim})", f"y = Vj({dim})"], axis=1)
    with several(2):
        assert f": {blocks} × 1 tiles of {2**18 // blocks:,} rows" in formula.explain(x, y)


def test_a_short_call_is_not_shared(several: Several, rng: np.random.Generator) -> None:
    """Its results are those of a context of the first device alone."""
    x, y = rng.random((60, 2)), rng.random((50, 2))
    with several(2):
        two = lazy(x, y).sum(axis=1)
    with cm.Context(several(2).device):
        one = lazy(x, y).sum(axis=1)
    assert_same(two, one)


def test_columns_without_room_are_cut_as_well(context: cm.Context, rng: np.random.Generator) -> None:
    """Each device holds at most memory_limit bytes."""
    team = cm.Context([context.device] * 2, memory_limit="3M")
    x, y = rng.random((300, 3)), rng.random((150_000, 3))
    with team:
        result = (-lazy(x, y)).exp().sum(axis=1)
    parts = [np.exp(-squared_distances(x, y[first : first + 5000])).sum(1) for first in range(0, len(y), 5000)]
    np.testing.assert_allclose(result[:, 0], sum(parts), rtol=1e-12)
    assert all(each.queue.arena.peak_bytes <= 3 << 20 for each in (team, *team.members))


def test_rates_of_different_devices_last(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """A context that meets a call for the first time finds the rates that an earlier one noted on disk."""
    monkeypatch.setenv("CLMR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cm.Context, "is_of_one_kind", property(lambda self: False))
    x, y = rng.random((ROWS, 3)), rng.random((COLUMNS, 3))
    probed: list[Any] = []
    measured = streamed._Run._measured
    monkeypatch.setattr(streamed._Run, "_measured", lambda run, worker: probed.append(worker) or measured(run, worker))
    for expected in (1, 0):  # both members are one device, which the first one's measure serves
        probed.clear()
        with cm.Context([context.device] * 2, memory_limit=LIMIT):
            lazy(x, y).min(axis=1)
        assert (len(probed) > 0) == expected


@pytest.mark.parametrize("text", [b"nonsense", b"-3", b"nan", b"inf", b""])
def test_nonsense_on_disk_is_no_rate(
    text: bytes, context: cm.Context, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("CLMR_CACHE_DIR", str(tmp_path))
    assert rates.known_rate(context, "a call") is None
    rates.remember(text, "rate", *rates.key_of_device(context.device), "a call")
    assert rates.known_rate(context, "a call") is None
    rates.note_rate(2e9, context, "a call")
    assert rates.known_rate(context, "a call") == 2e9
    rates.note_rate(2.1e9, context, "a call")
    assert rates.known_rate(context, "a call") == 2e9, "close enough"


def test_a_device_that_takes_no_block_costs_nothing(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first device runs the whole call where each of the others, of other kinds, takes longer for one block."""
    monkeypatch.setattr(cm.Context, "is_of_one_kind", False)
    x, y = rng.random((ROWS, 3)), rng.random((COLUMNS, 3))
    exact = squared_distances(x, y).sum(1)[:, None]
    team = cm.Context([context.device] * 2, memory_limit=LIMIT)
    patient = cm.Context([context.device] * 2, memory_limit=LIMIT, on_failure="redo")
    for each in (team, patient):
        with each:
            reduction = lazy(x, y).sum(axis=1, call=False)
            np.testing.assert_allclose(reduction(), exact)
            (rates_of_call,) = each.rates.values()
            rates_of_call.update(dict.fromkeys(each.workers, 1.0))  # what was measured depends on the machine's load
            assert "tiles of" in str(reduction.explain())
            rates_of_call.update(zip(each.workers, (1e15, 1.0), strict=True))
            np.testing.assert_allclose(reduction(), exact)
            assert ("tiles of" in str(reduction.explain())) == (each is patient)
