"""Reductions over a batch of pairs whose arrays have no room in device memory, against the whole call and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.streamed import floats

import clmapreduce as cm

SHAPES = {
    "many elements": ((400,), 300, 50, "tiles of "),
    "two axes": ((20, 30), 150, 40, "tiles of "),
    "long rows": ((6, 1), 20_000, 40, "first axis of 6, one element after the other"),
    "long columns": ((2, 3), 40, 35_000, "first axis of 2, one element after the other"),
    "one element": ((1, 5), 29_000, 20, "first axis of 1, one element after the other"),
}
"""The batch, rows, columns, and a part of what `explain` says."""


@pytest.fixture(scope="module")
def tight(context: cm.Context) -> cm.Context:
    """A context of the device with one mebibyte."""
    return cm.Context(context.device, memory_limit="1M")


def operands(rng: np.random.Generator, batch: tuple[int, ...], rows: int, columns: int) -> list[np.ndarray]:
    """Points with batch axes of their own, weights that all elements share, a parameter of each first index."""
    x = floats(rng, int(np.prod(batch)) * rows * 3).reshape(*batch, rows, 3)
    y = floats(rng, int(np.prod(batch)) * columns * 3).reshape(*batch, columns, 3)
    if len(batch) == 2:
        y = y[:, :1]
    scale = rng.uniform(0.2, 1, (batch[0], *(1 for _ in batch[1:]), 1)).astype("f4")
    return [x, y, floats(rng, 2 * columns).reshape(columns, 2), scale]


def kernels(x: np.ndarray, y: np.ndarray, weights: np.ndarray, scale: np.ndarray) -> cm.LazyTensor:
    x_i, y_j = cm.LazyTensor(x[..., :, None, :]), cm.LazyTensor(y[..., None, :, :])
    return (-((x_i - y_j) ** 2).sum(-1) * cm.LazyTensor(scale[..., None, None, :])).exp() * cm.LazyTensor(weights[None])


@pytest.mark.drawn
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("over", [0, 1])
def test_sums_of_batches(
    shape: str, over: int, tight: cm.Context, mode: str, rng: np.random.Generator
) -> None:  # fmt: skip
    batch, rows, columns, summary = SHAPES[shape]
    arrays = operands(rng, batch, rows, columns)
    K = kernels(*arrays)
    wide = [a.astype("f8") for a in arrays]
    squares = ((wide[0][..., :, None, :] - wide[1][..., None, :, :]) ** 2).sum(-1)
    values = np.exp(-squares * wide[3][..., None])[..., None] * wide[2]
    axis = len(batch) + over
    how: dict[str, Any] = {"context": tight, "mode": mode}
    result = K.sum(axis=axis, **how)
    expected = values.sum(axis)
    # An exponent t is off by some 4 units of t: e^-t by 3e-5 of itself up to t = 100, beyond it is less than 1e-43.
    limit = 3e-5 * np.abs(values).sum(axis) + 1e-30
    assert result.shape == expected.shape and (np.abs(result - expected) <= limit).all()
    assert summary in K.sum(axis=axis, call=False).explain(**how)
    assert tight.queue.arena.peak_bytes <= tight.queue.arena.limit  # type: ignore[operator]
    out = np.full((*expected.shape[:-1], 4), np.nan, "f4")[..., ::2]  # not contiguous
    assert K.sum(axis=axis, out=out, **how) is out
    np.testing.assert_array_equal(out, result)


def test_several_results_and_ranges(tight: cm.Context, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """As the whole call gives; all elements have the same mask."""
    x, y, *_ = operands(rng, (400,), 300, 50)
    distances = ((cm.LazyTensor(x[:, :, None]) - cm.LazyTensor(y[:, None])) ** 2).sum(-1)
    ranges = cm.Ranges.band(300, 50, (300, 0), block=10)
    for mask in (None, ranges):
        streamed, whole = (
            distances.min_argmin(axis=2, ranges=mask, context=each, mode=mode) for each in (tight, context)
        )
        for one, other in zip(streamed, whole, strict=True):
            assert one.dtype == other.dtype and one.shape == other.shape == (400, 300, 1)
        np.testing.assert_allclose(streamed[0], whole[0], rtol=1e-5)
        assert (streamed[1] == whole[1]).mean() > 0.999, "rounding may choose among near ones"


def test_wrong_targets_come_first(tight: cm.Context, rng: np.random.Generator) -> None:
    x, y, weights, scale = operands(rng, (400,), 300, 50)
    out = np.full((400, 299, 2), np.nan, "f4")
    with pytest.raises(cm.ShapeError):
        kernels(x, y, weights, scale).sum(axis=2, out=out, context=tight)
    assert np.isnan(out).all()
    with pytest.raises(cm.ShapeError, match="do not broadcast"):
        kernels(x, y[:399], weights, scale).sum(axis=2, context=tight)


def test_an_interrupt_ends_between_tiles(tight: cm.Context, rng: np.random.Generator) -> None:
    arrays = operands(rng, (400,), 300, 50)
    seen: list[tuple[float, float]] = []

    def progress(done: float, total: float) -> None:
        seen.append((done, total))
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kernels(*arrays).sum(axis=2, context=tight, progress=progress)
    result = kernels(*arrays).sum(axis=2, context=tight)
    assert np.isfinite(result).all()
