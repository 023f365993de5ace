"""Points near and far, with which sums of exponentials by three pieces a number are tested."""

from __future__ import annotations

from typing import Any

import numpy as np


def clouds(rng: np.random.Generator, kind: str, dim: int) -> tuple[Any, Any]:
    """Rows and columns, a few of which are the same."""
    x, y = rng.standard_normal((140, dim)), rng.standard_normal((500, dim))
    if kind == "far from the origin":
        x, y = x + 700, y + 700
    elif kind == "some columns far away":
        y[::50] *= 30
    elif kind == "the last columns far away":
        y[490:] *= 30
    elif kind == "some rows far away":
        x[::60] *= 30
    elif kind == "rows the same":
        x[:] = x[0]
    elif kind == "all the same":
        x[:], y[:] = x[0], x[0]
    elif kind == "half of the groups near":
        x, y = np.where(np.arange(140)[:, None] < 70, 0.1, 1) * x, 0.1 * y
    elif kind == "too far for three pieces":
        x, y = 30 * x, 30 * y
    x, y = x.astype("f4"), y.astype("f4")
    y[:20] = x[:20]
    return x, y


CLOUDS = (
    "normal", "far from the origin", "some columns far away", "the last columns far away", "some rows far away",
    "rows the same", "all the same", "half of the groups near", "too far for three pieces",
)  # fmt: skip
