"""Rows over one long line: sum, map, scan, softmax, sort."""

from __future__ import annotations

from typing import Any

import numpy as np

import clmapreduce as cm
from clmapreduce.bench.libraries import Libraries, as_numpy
from clmapreduce.bench.race import Call, Case

LIMIT = 2e-6
"""The largest error that passes, beside the magnitudes that a result is made of."""


def worst(result: Any, expected: Any) -> float:
    """The largest error of a result, beside the largest magnitude of what is expected."""
    return float(np.abs(as_numpy(result) - expected).max() / np.abs(expected).max())


def line_cases(n: int, context: cm.Context, libraries: Libraries, rng: np.random.Generator) -> list[Case]:
    """The rows for n float32."""
    x, y, out = rng.random(n, np.float32), rng.random(n, np.float32), np.zeros(n, np.float32)
    dx, dy, dout = (cm.array(a, context) for a in (x, y, out))
    wide = x.astype(np.float64)
    total, line, scan = cm.Reduce("sum"), cm.Map(lambda a, b: a * b + 1), cm.Scan("sum")
    softmax = cm.fuse(_softmax)
    prefixes, weights = np.cumsum(wide), np.exp(wide - wide.max())
    weights /= weights.sum()
    loops = _loops(x, y, out, libraries)
    size = f"{n:,} float32"
    return [
        Case("sum", lambda: total(dx), 4 * n,
             {"NumPy": x.sum, **loops.get("sum", {}), **libraries.on_arrays(lambda m, a: a[0].sum(), (x,))},
             lambda r: worst(r, wide.sum()), LIMIT, "sum of an array", size),
        Case("map", lambda: line(dx, dy, out=dout), 12 * n,
             {"NumPy": lambda: np.add(np.multiply(x, y, out=out), 1, out=out), **loops.get("map", {}),
              **libraries.on_arrays(lambda m, a: a[0] * a[1] + 1, (x, y))},
             lambda r: worst(r, wide * y + 1), LIMIT, "a·b + 1 of two arrays", size),
        Case("scan", lambda: scan(dx, out=dout), 8 * n,
             {"NumPy": lambda: np.cumsum(x, out=out), **libraries.on_arrays(lambda m, a: m.cumsum(a[0], 0), (x,))},
             lambda r: worst(r, prefixes), LIMIT, "running sums of an array", size),
        Case("softmax", lambda: softmax(dx), 16 * n,
             {"NumPy": lambda: _numpy_softmax(x), **_scipy_softmax(x, libraries),
              **libraries.on_arrays(lambda m, a: _softmax_of(m, a[0]), (x,))},
             lambda r: worst(r, weights), LIMIT, "softmax of an array", size),
        Case("sort", lambda: cm.sort(dx), 8 * n,
             {"NumPy": lambda: np.sort(x), **libraries.on_arrays(lambda m, a: _first(m.sort(a[0])), (x,))},
             lambda r: worst(r, np.sort(x)), 0.0, "an array in order", size),
    ]  # fmt: skip


def _softmax(x: Any) -> Any:
    weights = cm.math.exp(x - cm.Reduce("maximum")(x))
    return weights / cm.Reduce("sum")(weights)


def _numpy_softmax(x: Any) -> Any:
    weights = np.exp(x - x.max())
    return weights / weights.sum()


def _softmax_of(module: Any, x: Any) -> Any:
    """Of PyTorch, which has one, or of CuPy."""
    if hasattr(module, "softmax"):
        return module.softmax(x, 0)
    weights = module.exp(x - x.max())
    return weights / weights.sum()


def _scipy_softmax(x: Any, libraries: Libraries) -> dict[str, Call]:
    special = libraries.module("scipy.special")
    return {} if special is None else {"SciPy": lambda: special.softmax(x)}


def _first(result: Any) -> Any:
    """The sorted values: PyTorch gives places, too."""
    return result[0] if isinstance(result, tuple) else result


def _loops(x: Any, y: Any, out: Any, libraries: Libraries) -> dict[str, dict[str, Call]]:
    """numba's parallel loops, where numba is installed."""
    numba = libraries.module("numba")
    if numba is None:
        return {}

    def total(a):  # type: ignore[no-untyped-def]
        s = np.float32(0)
        for i in numba.prange(a.size):
            s += a[i]
        return s

    def line(a, b, c):  # type: ignore[no-untyped-def]
        for i in numba.prange(a.size):
            c[i] = a[i] * b[i] + np.float32(1)
        return c

    parallel = numba.njit(parallel=True, fastmath=True)
    sums, lines = parallel(total), parallel(line)
    return {"sum": {"numba": lambda: sums(x)}, "map": {"numba": lambda: lines(x, y, out)}}
