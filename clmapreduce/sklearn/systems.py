"""Systems of kernels, (K + alpha Id) a = b: by a factor of the whole matrix where that is small, else by conjugate
gradients, which never hold it.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import scipy.linalg

from clmapreduce.checks import choice, finite
from clmapreduce.device.array import NumpyArray
from clmapreduce.device.context import Context
from clmapreduce.errors import ArgumentError
from clmapreduce.pairwise import LazyTensor

SOLVERS = ("auto", "direct", "cg")


def is_direct(solver: Any, rows: int, most: int) -> bool:
    """Whether a system of so many rows is solved by a factor: "auto" does up to `most`. Raises ModeError for an unknown
    solver.
    """
    name = choice(solver, "solver", SOLVERS)
    return name == "direct" or (name == "auto" and rows <= most)


def ridge(alpha: Any) -> float:
    """alpha as a number of 0 or more. Raises ArgumentError."""
    number = finite(alpha, "alpha")
    if number < 0:
        raise ArgumentError(f"alpha is {alpha!r}; give 0 or more")
    return number


def stored(kernel: LazyTensor, ridge: float, context: Context) -> NumpyArray:
    """K + ridge Id as an array (N, N)."""
    matrix = np.asarray(kernel.dense(context=context))
    matrix.flat[:: len(matrix) + 1] += ridge
    return matrix


def by_factor(matrix: NumpyArray, b: NumpyArray) -> NumpyArray:
    """The solution for a symmetric matrix (N, N) and b (N, D). Where the matrix is not positive definite it is that of
    least squares, with a warning.
    """
    try:
        factor = scipy.linalg.cho_factor(matrix, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        warnings.warn("the kernel's matrix is not positive definite; its system is solved by least squares. "
                      "A larger alpha helps", RuntimeWarning, stacklevel=3)  # fmt: skip
        return np.asarray(scipy.linalg.lstsq(matrix, b)[0])
    return np.asarray(scipy.linalg.cho_solve(factor, b, check_finite=False))


def by_gradients(
    kernel: LazyTensor, b: NumpyArray, alpha: float, tol: Any, max_iter: int | None, context: Context
) -> tuple[NumpyArray, int]:
    """The solution and its number of iterations: b - (K + alpha Id) a is at most tol times b, as root mean squares of
    columns. Warns (RuntimeWarning) where it is not. Raises ArgumentError for a wrong tol.
    """
    tolerance = finite(tol, "tol")
    if tolerance <= 0:
        raise ArgumentError(f"tol is {tol!r}; give a positive number, such as 1e-6")
    sizes = np.sqrt(np.mean(np.square(b.astype(np.float64)), axis=0))
    scale = np.where(sizes > 0, sizes, 1.0)
    solver = kernel.solve(
        np.ascontiguousarray(b / scale.astype(b.dtype)), call=False, alpha=alpha, eps=tolerance,
        max_iterations=max_iter, context=context,
    )  # fmt: skip
    solution = solver()
    iterations = 0 if solver.status is None else int(solver.status.iterations)
    return np.asarray(solution * scale.astype(b.dtype)), iterations


def tile_rows(columns: int, itemsize: int) -> int:
    """How many rows of a matrix with so many columns take 64 MiB."""
    return max(1, math.floor((64 << 20) / max(1, columns * itemsize)))
