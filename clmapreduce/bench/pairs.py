"""Rows over all pairs of points: a Gaussian sum, and the nearest points."""

from __future__ import annotations

from typing import Any

import numpy as np

import clmapreduce as cm
from clmapreduce.bench.libraries import Libraries, as_numpy
from clmapreduce.bench.lines import LIMIT
from clmapreduce.bench.race import Call, Case

CHECKED, NEAREST, ROWS = 64, 10, 256
"""Rows that are checked; nearest points; rows that NumPy computes at a time."""


def pair_cases(m: int, context: cm.Context, libraries: Libraries, rng: np.random.Generator) -> list[Case]:
    """The rows for m by m points in three dimensions, float32."""
    x, y, b = (rng.random((m, width), np.float32) for width in (3, 3, 1))
    dx, dy, db = (cm.array(a, context) for a in (x, y, b))
    rows = rng.choice(m, min(CHECKED, m), replace=False)
    distances = np.square(x[rows, None].astype(np.float64) - y[None]).sum(-1)
    kernel, terms = np.exp(-distances) @ b.astype(np.float64), np.exp(-distances) @ np.abs(b)
    gaussian = cm.Genred("Exp(-SqDist(x, y)) * b", ["x = Vi(3)", "y = Vj(3)", "b = Vj(1)"], "Sum", 1)
    nearest = cm.Genred("SqDist(x, y)", ["x = Vi(3)", "y = Vj(3)"], "ArgKMin", 1, opt_arg=NEAREST)
    size = f"{m:,} × {m:,} points, D = 3, float32"

    def farther(result: Any) -> float:
        """How much farther the points found are than the nearest ones, beside those."""
        chosen = as_numpy(result)[rows].astype(np.int64)
        ours = np.sort(np.take_along_axis(distances, chosen, 1), 1)
        return float(np.abs(ours / np.partition(distances, range(NEAREST), 1)[:, :NEAREST] - 1).max())

    keops = _keops(x, y, b, libraries)
    return [
        Case("gaussian", lambda: gaussian(dx, dy, db), 0,
             {"NumPy": lambda: _numpy_sum(x, y, b), **keops.get("gaussian", {})},
             lambda r: float((np.abs(as_numpy(r)[rows] - kernel) / terms).max()), LIMIT,
             "Gaussian sums over all pairs", size),
        Case("nearest", lambda: nearest(dx, dy), 0, {"NumPy": lambda: _numpy_nearest(x, y), **keops.get("nearest", {})},
             farther, 1e-3, f"the {NEAREST} nearest of all points", size),
    ]  # fmt: skip


def _squares(x: Any, y: Any) -> Any:
    """Squared distances by a matrix product, as NumPy's users write them."""
    return np.square(x).sum(1)[:, None] + np.square(y).sum(1) - 2 * (x @ y.T)


def _numpy_sum(x: Any, y: Any, b: Any) -> Any:
    return np.concatenate([np.exp(-_squares(x[i : i + ROWS], y)) @ b for i in range(0, len(x), ROWS)])


def _numpy_nearest(x: Any, y: Any) -> Any:
    parts = (_squares(x[i : i + ROWS], y) for i in range(0, len(x), ROWS))
    return np.concatenate([np.argpartition(part, NEAREST, 1)[:, :NEAREST] for part in parts])


def _keops(x: Any, y: Any, b: Any, libraries: Libraries) -> dict[str, dict[str, Call]]:
    """PyKeOps' lazy formulas: through PyTorch on a GPU, else through NumPy. Made again for every call, as ours."""
    torch = libraries.module("torch") if libraries.on_gpu else None
    on_cuda = torch is not None and torch.cuda.is_available()
    keops = libraries.module("pykeops.torch" if on_cuda else "pykeops.numpy")
    if keops is None or (libraries.on_gpu and not on_cuda):
        return {}
    x, y, b = (torch.from_numpy(a).cuda() for a in (x, y, b)) if torch is not None else (x, y, b)
    wait = torch.cuda.synchronize if torch is not None else lambda: None

    def squares() -> Any:
        return ((keops.Vi(x) - keops.Vj(y)) ** 2).sum(-1)

    def gaussian() -> Any:
        result = ((-squares()).exp() * keops.Vj(b)).sum(axis=1)
        wait()
        return result

    def nearest() -> Any:
        result = squares().argKmin(NEAREST, axis=1)
        wait()
        return result

    return {"gaussian": {"PyKeOps": gaussian}, "nearest": {"PyKeOps": nearest}}
