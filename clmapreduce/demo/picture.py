"""The demonstration's picture: convergence, precisions, and both modes over the length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clmapreduce.demo.crossover import LENGTHS, crossover

LEAST = 1e-70
"""Errors below are drawn here."""


def draw(
    path: Path, errors: Mapping[str, NDArray[np.float64]], eps: float, precisions: Mapping[str, Sequence[float]],
    times: Mapping[str, Sequence[float]],
) -> str:  # fmt: skip
    """Saves the picture and says where. errors: of e^x by number of terms, a curve per label, drawn at eps where they
    are below. precisions: errors of e by number of terms. times: milliseconds by mode over LENGTHS.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return 'No picture: matplotlib is missing (pip install "clmapreduce[plot]").'
    figure = Figure(figsize=(16, 4.5), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for label, column in errors.items():
        left.semilogy(range(1, len(column) + 1), np.maximum(column, eps), marker=".", label=label)
    left.axhline(eps, color="grey", linestyle="--", label="rounding")
    _labelled(left, "number of terms", "relative error", "The power series of $e^x$ converges")
    for label, curve in precisions.items():
        middle.semilogy(range(1, len(curve) + 1), np.maximum(curve, LEAST), marker=".", label=label)
    _labelled(middle, "number of terms", "relative error", "e in every precision")
    for mode, milliseconds in times.items():
        right.loglog(LENGTHS, milliseconds, marker=".", label=mode)
    at = crossover(LENGTHS, times["sequential"], times["parallel"]) if len(times) > 1 else None
    if at is not None:
        right.axvline(at, color="grey", linestyle="--", label=f"parallel is faster from {at:,.0f} on")
    _labelled(right, "numbers", "ms", "A scan in both modes")
    figure.savefig(path, dpi=150)
    return f"Picture of the convergence: {path.resolve()}"


def _labelled(axes: Any, x: str, y: str, title: str) -> None:
    axes.set(xlabel=x, ylabel=y, title=title)
    axes.grid(alpha=0.3)
    axes.legend()
