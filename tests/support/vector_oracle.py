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
        cotangents = rng.standard_normal((*leading, f.dim))
        actual = evaluate(gradient(f, v, g), {**arrays, g: cotangents})
        close(actual, np.einsum("...k,...kl->...l", cotangents, matrix), tolerance)
        u = fresh(v.dim, f)
        along = rng.standard_normal((*leading, v.dim))
        actual = evaluate(directional(f, v, u), {**arrays, u: along})
        close(actual, np.einsum("...kl,...l->...k", matrix, along), tolerance)


def close(actual: np.ndarray, expected: np.ndarray, tolerance: float = 1e-12) -> None:
    """Equal up to `tolerance` of the largest expected number, shapes up to broadcasting of leading axes."""
    actual, expected = np.broadcast_arrays(actual, expected)
    finite = expected[np.isfinite(expected)]
    scale = max(1.0, float(np.abs(finite).max(initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale)
