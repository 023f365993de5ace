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
DIRECT_ROWS = 2000
"""A factor takes the same time for every matrix: 0.2 to 0.8 s for 2,000 rows on two cores. Gradients took 0.1 s for an
alpha of 1 and 1.4 s for 0.01; from 4,000 rows on they win where the matrix is well conditioned, and save its memory.
"""


def is_direct(solver: Any, rows: int) -> bool:
    """Whether a system of so many rows is solved by a factor. Raises ModeError for an unknown solver."""
    name = choice(solver, "solver", SOLVERS)
    return name == "direct" or (name == "auto" and rows <= DIRECT_ROWS)


def ridge(alpha: Any) -> float:
    """alpha as a number of 0 or more. Raises ArgumentError."""
    number = finite(alpha, "alpha")
    if number < 0:
        raise ArgumentError(f"alpha is {alpha!r}; give 0 or more")
    return number


def by_factor(matrix: NumpyArray, b: NumpyArray) -> NumpyArray:
    """The solution for a symmetric matrix (N, N), which is overwritten, and b (N, D); that of least squares, with a
    warning, where the matrix is not positive definite.
    """
    try:
        factor = scipy.linalg.cho_factor(matrix, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        warnings.warn("the kernel's matrix is not positive definite; its system is solved by least squares. "
                      "A larger alpha helps", RuntimeWarning, stacklevel=3)  # fmt: skip
        whole = np.tril(matrix) + np.tril(matrix, -1).T
        return np.asarray(scipy.linalg.lstsq(whole, b)[0])
    return np.asarray(scipy.linalg.cho_solve(factor, b, check_finite=False))


def by_gradients(
    kernel: LazyTensor, b: NumpyArray, alpha: float, tol: Any, max_iter: int | None, context: Context
) -> tuple[NumpyArray, int]:
    """The solution and its number of iterations: b - (K + alpha Id) a is at most tol times b, as root mean squares of
    columns. Warns (RuntimeWarning) where it is not. Raises ArgumentError for a tol that is none.
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
