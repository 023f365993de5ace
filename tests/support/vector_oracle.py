"""What vector formulas must be: evaluated in float64, and differentiated by central differences."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from clmapreduce.vector.derivative import directional, fresh, gradient
from clmapreduce.vector.evaluate import evaluate
from clmapreduce.vector.node import Variable, Vector

Arrays = Mapping[Variable, np.ndarray]


def jacobian(f: Vector, v: Variable, arrays: Arrays, step: float = 1e-5) -> np.ndarray:
    """∂f_k/∂v_l, shape (..., f.dim, v.dim), by fourth-order central differences of the evaluated formula."""
    columns = []
    for place in range(v.dim):
        unit = np.zeros(v.dim)
        unit[place] = step
        at = {n: evaluate(f, {**arrays, v: arrays[v] + n * unit}) for n in (-2, -1, 1, 2)}
        columns.append((8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * step))
    return np.stack(columns, axis=-1)


def check_derivatives(f: Vector, arrays: Arrays, rng: np.random.Generator, tolerance: float = 1e-6) -> None:
    """Reverse and forward derivatives by every variable against finite differences, with random cotangents."""
    for v in f.variables:
        matrix = jacobian(f, v, arrays)
        leading = matrix.shape[:-2]
        g = fresh(f.dim, f)
        given = rng.standard_normal((*leading, f.dim))
        found = evaluate(gradient(f, v, g), {**arrays, g: given})
        close(found, np.einsum("...k,...kl->...l", given, matrix), tolerance)
        u = fresh(v.dim, f)
        along = rng.standard_normal((*leading, v.dim))
        found = evaluate(directional(f, v, u), {**arrays, u: along})
        close(found, np.einsum("...kl,...l->...k", matrix, along), tolerance)


def close(found: np.ndarray, wanted: np.ndarray, tolerance: float = 1e-12) -> None:
    """Equal up to `tolerance` of the largest wanted number, shapes up to broadcasting of leading axes."""
    found, wanted = np.broadcast_arrays(found, wanted)
    finite = wanted[np.isfinite(wanted)]
    scale = max(1.0, float(np.abs(finite).max(initial=0.0)))
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * scale)
