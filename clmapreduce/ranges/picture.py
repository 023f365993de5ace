"""Pictures of masks: how full each pixel is, from the corners of the blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.checks import quoted, whole
from clmapreduce.domain.blocks import Blocks
from clmapreduce.errors import ArgumentError
from clmapreduce.notebook import facts, shades

PIXELS = 48
"""Of the longer side of a picture in a notebook."""


def picture(blocks: Blocks, height: int, width: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(height, width): the share of active pairs in each pixel, row 0 on top.

    The area of a corner's quadrant, counted up to a pixel's far corner, is bilinear between pixels' corners. So each
    block adds its four corners, shared among the nearest four pixels' corners, and two running sums do the rest.
    """
    rows = np.repeat(blocks.clusters, blocks.counts, axis=0) * (height / max(1, blocks.rows))
    columns = blocks.intervals * (width / max(1, blocks.columns))
    sums = np.zeros((height + 2) * (width + 2))
    for row in (0, 1):
        for column in (0, 1):
            i, y = _split(rows[:, row])
            j, x = _split(columns[:, column])
            sign = 1 if row == column else -1
            for down, high in ((0, 1 - y), (1, y)):
                for right, wide in ((0, 1 - x), (1, x)):
                    places = (i + down) * (width + 2) + j + right
                    sums += np.bincount(places, weights=sign * high * wide, minlength=len(sums))
    shades: np.ndarray[Any, np.dtype[np.float64]] = (
        sums.reshape(height + 2, width + 2).cumsum(axis=0).cumsum(axis=1)[:height, :width]
    )
    shades.clip(0, 1, out=shades)
    return shades


def _split(places: Any) -> tuple[Any, Any]:
    whole = np.floor(places).astype(np.int64)
    return whole, places - whole


def draw(blocks: Blocks, axes: Any, pixels: int) -> Any:
    """Draws on matplotlib axes, new ones for None, and returns them. Raises ImportError where matplotlib is missing."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError('plot() needs matplotlib: pip install "clmapreduce[plot]"') from None
    pixels = whole(pixels, "pixels", 1)
    if axes is not None and not hasattr(axes, "imshow"):
        raise ArgumentError(f"axes is {quoted(axes)}; give axes of matplotlib, or None for new ones")
    if axes is None:
        _, axes = pyplot.subplots(layout="constrained")
    image = picture(blocks, max(1, min(pixels, blocks.rows)), max(1, min(pixels, blocks.columns)))
    axes.imshow(
        image, cmap="Greys", vmin=0, vmax=1, interpolation="nearest", aspect="auto",
        extent=(0, blocks.columns, blocks.rows, 0),
    )  # fmt: skip
    axes.set(xlabel="column", ylabel="row", title=f"{blocks.density:.2%} of the pairs")
    return axes


def shown(blocks: Blocks) -> str:
    """The mask and its facts in HTML, for notebooks."""
    scale = PIXELS / max(1, blocks.rows, blocks.columns)
    height, width = (min(n, max(1, round(n * scale))) for n in (blocks.rows, blocks.columns))
    image = picture(blocks, height, width)
    rows = {
        "shape": f"{blocks.rows:,} x {blocks.columns:,}",
        "clusters": f"{len(blocks.clusters):,}",
        "intervals": f"{int(blocks.offsets[-1]):,}",
        "density": f"{blocks.density:.3g}",
        "balance": f"{blocks.balance:.3g}",
    }
    return facts("Ranges", rows, shades(image) if image.size else "")
