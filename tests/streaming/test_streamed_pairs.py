"""Reductions over pairs whose arrays have no room in device memory, against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracles import assert_same
from support.streamed import floats

import clmapreduce as cm
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS

ROWS, COLUMNS = 150_011, 29
ALIASES = ["x = Vi(3)", "y = Vj(3)"]


@pytest.fixture(scope="module")
def tight(context: cm.Context) -> cm.Context:
    """A context of the device with one mebibyte."""
    return cm.Context(context.device, memory_limit="1M")


def points(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return floats(rng, 3 * ROWS).reshape(ROWS, 3), floats(rng, 3 * COLUMNS).reshape(COLUMNS, 3)


def distances(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return ((x[:, None].astype("f8") - y[None]) ** 2).sum(-1)


def test_tiles_of_rows(tight: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y = points(rng)
    weights = floats(rng, 2 * COLUMNS).reshape(COLUMNS, 2)
    call = cm.Genred("Exp(-SqDist(x, y) * g) * b", [*ALIASES, "b = Vj(2)", "g = Pm(1)"], "Sum", axis=1)
    out = np.full((ROWS, 2), np.nan, "f4")
    assert call(x, y, weights, 0.5, out=out, mode=mode, context=tight) is out
    expected = np.exp(-0.5 * distances(x, y)) @ weights.astype("f8")
    np.testing.assert_allclose(out, expected, atol=2e-5 * np.abs(weights).sum())
    assert " × 1 tiles of " in call.explain(x, y, weights, 0.5, mode=mode, context=tight)
    assert tight.queue.arena.peak_bytes <= tight.queue.arena.limit  # type: ignore[operator]
    assert_same(call(x, y, weights, 0.5, mode=mode, context=tight), out)


def test_several_results_of_rows(tight: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y = points(rng)
    call = cm.Genred("SqDist(x, y)", ALIASES, "KMin_ArgKMin", axis=1, opt_arg=2)
    least, places = call(x, y, mode=mode, context=tight)
    expected = np.sort(distances(x, y), axis=1)[:, :2]
    np.testing.assert_allclose(least.reshape(ROWS, 2), expected, rtol=1e-5, atol=1e-6)
    nearest = np.take_along_axis(distances(x, y), places.reshape(ROWS, 2), 1)
    np.testing.assert_allclose(nearest, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["Sum", "Min", "Max", "ArgMin", "ArgMax", "Min_ArgMin", "Max_ArgMax", "LogSumExp"])
def test_tiles_of_columns(name: str, tight: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """The long side is reduced: parts of it are merged."""
    x, y = points(rng)
    call = cm.Genred("SqDist(x, y)", ALIASES, name, axis=0)
    result: Any = call(x, y, mode=mode, context=tight)
    assert "streamed: 1 × " in call.explain(x, y, mode=mode, context=tight)
    squares = distances(x, y)
    place = squares.argmin(0) if "Min" in name else squares.argmax(0)
    best = squares.min(0) if "Min" in name else squares.max(0)
    if "Arg" in name:
        values, places = result if isinstance(result, tuple) else (best[:, None], result)
        np.testing.assert_allclose(squares[places[:, 0], np.arange(COLUMNS)], best, rtol=1e-5, atol=1e-9)
        np.testing.assert_allclose(values[:, 0], best, rtol=1e-5, atol=1e-9)
        assert (places[:, 0] == place).mean() > 0.8, "rounding may choose among near ones"
        return
    expected = {"Sum": squares.sum(0), "LogSumExp": np.logaddexp.reduce(squares, 0)}.get(name, best)
    np.testing.assert_allclose(result[:, 0], expected, rtol=2e-5, atol=1e-9)
    assert tight.queue.arena.peak_bytes <= tight.queue.arena.limit  # type: ignore[operator]


def test_both_sides_in_tiles(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    if context.device.kind != "cpu":
        pytest.skip("a GPU splits the columns, and its partial results take more than this budget")
    own = cm.Context(context.device, memory_limit="600K")
    x, y = floats(rng, 30_011).reshape(-1, 1), floats(rng, 60_013).reshape(-1, 1)
    call = cm.Genred("x * y", ["x = Vi(1)", "y = Vj(1)"], "Sum", axis=1)
    x = np.tile(x, (4, 1))
    assert call.explain(x, y, mode=mode, context=own).startswith("streamed: ")
    expected = x[:, 0].astype("f8") * y.astype("f8").sum()
    limit = 1e-5 * np.abs(x[:, 0]) * np.abs(y).sum()
    assert (np.abs(call(x, y, mode=mode, context=own)[:, 0] - expected) <= limit).all()


def close_rows(result: Any, expected: Any) -> None:
    """Rows of numbers, or of places, of which rounding may exchange near ones."""
    if np.issubdtype(np.asarray(expected).dtype, np.integer):
        assert (np.asarray(result) == expected).mean() > 0.8
    else:
        scale = np.abs(expected).max()
        np.testing.assert_allclose(result, expected, rtol=3e-5, atol=3e-6 * scale)


@pytest.mark.drawn
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", PAIR_REDUCTIONS)
def test_every_reduction_merges_parts(
    name: str, dtype: str, tight: cm.Context, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    """As the whole call gives, whose arrays have room."""
    x, y, w = (rng.uniform(0.1, 1, (n, 3)).astype(dtype) for n in (ROWS, COLUMNS, ROWS))
    aliases, arrays = list(ALIASES), [x, y]
    options: dict[str, Any] = {}
    formula = "SqDist(x, y)" if name not in ("Any", "All") else "Step(SqDist(x, y) - 0.5)"
    if PAIR_REDUCTIONS[name].weighted:
        aliases, arrays, options = [*aliases, "w = Vi(3)"], [*arrays, w], {"formula2": "w"}
    if name.startswith(("KMin", "ArgKMin")):
        options["opt_arg"] = 3
    call = cm.Genred(formula, aliases, name, axis=0, **options)
    assert "streamed: 1 × " in call.explain(*arrays, mode=mode, context=tight)
    streamed, whole = (call(*arrays, mode=mode, context=each) for each in (tight, context))
    for one, other in zip(*(r if isinstance(r, tuple) else (r,) for r in (streamed, whole)), strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        close_rows(one, other)
    assert tight.queue.arena.peak_bytes <= tight.queue.arena.limit  # type: ignore[operator]


def test_own_operators_merge_parts(tight: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y = points(rng)
    largest = cm.Operator(lambda a, b: cm.where(a > b, a, b), -np.inf)
    result = cm.Genred("SqDist(x, y)", ALIASES, largest, axis=0)(x, y, mode=mode, context=tight)
    np.testing.assert_allclose(result[:, 0], distances(x, y).max(0), rtol=1e-5)


def test_blocks_whose_columns_must_be_cut(tight: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y = points(rng)
    ranges = cm.Ranges.band(ROWS, COLUMNS, (ROWS, 3), block=7)
    with pytest.raises(cm.DeviceMemoryError, match=r"Var: .* merged without ranges"):
        cm.Genred("SqDist(x, y)", ALIASES, "Var", axis=0)(x, y, ranges=ranges, mode=mode, context=tight)


def test_errors_of_arguments_come_first(tight: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y = points(rng)
    call = cm.Genred("SqDist(x, y)", ALIASES, "Sum", axis=1)
    with pytest.raises(cm.ShapeError):
        call(x[:, :2], y, mode=mode, context=tight)
    with pytest.raises(cm.ShapeError, match="out has shape"):
        call(x, y, out=np.zeros((3, 1), "f4"), mode=mode, context=tight)


def test_blocks_of_pairs_go_by_rows(tight: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y = points(rng)
    ranges = cm.Ranges.band(ROWS, COLUMNS, (ROWS, 3), block=7)
    call = cm.Genred("SqDist(x, y)", ALIASES, axis=1)
    result = call(x, y, ranges=ranges, mode=mode, context=tight)
    first = np.arange(ROWS) // 7 * 7
    mask = np.arange(COLUMNS) <= (first + 6 + 3)[:, None]
    np.testing.assert_allclose(result, np.where(mask, distances(x, y), 0).sum(1)[:, None], rtol=1e-5, atol=1e-5)
    assert tight.queue.arena.peak_bytes <= tight.queue.arena.limit  # type: ignore[operator]


def test_blocks_whose_columns_have_no_room(tight: cm.Context, rng: np.random.Generator) -> None:
    x, y = points(rng)
    ranges = cm.Ranges.band(COLUMNS, ROWS, ROWS)
    call = cm.Genred("SqDist(x, y)", ALIASES, axis=1)
    with pytest.raises(cm.DeviceMemoryError, match="without ranges="):
        call(y, x, ranges=ranges, context=tight)
