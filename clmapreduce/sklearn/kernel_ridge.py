"""Kernel ridge regression without the kernel's matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from clmapreduce.checks import numpy_array
from clmapreduce.device.array import NumpyArray
from clmapreduce.errors import ShapeError
from clmapreduce.pairwise import LazyTensor, Vi, Vj
from clmapreduce.sklearn.kernels import kernel_matrix, shape_of
from clmapreduce.sklearn.places import FLOATS, context_for
from clmapreduce.sklearn.systems import by_factor, by_gradients, is_direct, ridge, stored

MOST_DIRECT = 2000
"""A factor takes the same time for every matrix: 0.2 to 0.8 s for 2,000 rows on two cores. Gradients took 0.1 s for an
alpha of 1 and 1.4 s for 0.01; from 4,000 rows on they win where the matrix is well conditioned, and save its memory.
"""


class KernelRidge(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """As `sklearn.kernel_ridge.KernelRidge`: f(x) = Σ k(x, x_j) a_j with (K + alpha Id) a = y.

    alpha: the ridge, one number or one per target. kernel: "linear", "rbf", "laplacian", "poly", "polynomial",
    "sigmoid", "cosine", or a function of two LazyTensors. gamma, degree, coef0: as in scikit-learn. solver: "direct"
    stores and factors the matrix of the samples, "cg" iterates and never stores it, "auto" is direct up to 2,000
    samples. tol, max_iter: for "cg"; tol is the final residual relative to y. device: None for the thread's device,
    else a text such as "gpu".

    Attributes: dual_coef_ (n_samples,) or (n_samples, n_targets), X_fit_, n_iter_ (1 if direct), n_features_in_.
    float32 stays float32. Prediction does not store a matrix.
    """

    def __init__(
        self, alpha: Any = 1.0, *, kernel: Any = "linear", gamma: Any = None, degree: Any = 3, coef0: Any = 1,
        solver: str = "auto", tol: float = 1e-6, max_iter: int | None = None, device: Any = None,
    ) -> None:  # fmt: skip
        self.alpha, self.kernel, self.gamma, self.degree, self.coef0 = alpha, kernel, gamma, degree, coef0
        self.solver, self.tol, self.max_iter, self.device = solver, tol, max_iter, device

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidge:
        """Fits X (n_samples, n_features) to y (n_samples,) or (n_samples, n_targets). sample_weight: (n_samples,)."""
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=FLOATS)
        targets = np.asarray(y, X.dtype).reshape(len(X), -1)
        alphas = np.atleast_1d(numpy_array(self.alpha, "alpha", np.float64))
        if alphas.shape not in ((1,), (targets.shape[1],)):
            raise ShapeError(f"alpha has shape {alphas.shape}; give a number, or {targets.shape[1]}, one per target")
        kernel = self._kernel(X, X)
        if sample_weight is not None:
            roots = np.sqrt(_check_sample_weight(sample_weight, X, dtype=X.dtype, ensure_non_negative=True))[:, None]
            kernel, targets = Vi(roots) * kernel * Vj(roots), targets * roots
        solutions = np.empty_like(targets)
        self.n_iter_ = 1
        for alpha in np.unique(alphas):
            own = np.flatnonzero(np.broadcast_to(alphas == alpha, targets.shape[1]))
            solutions[:, own] = self._solved(kernel, targets[:, own], ridge(alpha))
        self.dual_coef_ = (solutions if sample_weight is None else solutions * roots).reshape(y.shape)
        self.X_fit_ = X
        return self

    def predict(self, X: Any) -> NumpyArray:
        """The values at X (n_samples, n_features): (n_samples,) or (n_samples, n_targets)."""
        check_is_fitted(self)
        X = np.asarray(validate_data(self, X, reset=False, dtype=FLOATS), self.X_fit_.dtype)
        coefficients = self.dual_coef_.reshape(len(self.X_fit_), -1)
        values = self._kernel(X, self.X_fit_).__matmul__(coefficients, context=context_for(self.device))
        return np.asarray(values).reshape(len(X), *self.dual_coef_.shape[1:])

    def _kernel(self, x: NumpyArray, y: NumpyArray) -> LazyTensor:
        return kernel_matrix(self.kernel, shape_of(self.gamma, self.degree, self.coef0, x.shape[1]), x, y)

    def _solved(self, kernel: LazyTensor, b: NumpyArray, alpha: float) -> NumpyArray:
        context = context_for(self.device)
        if not is_direct(self.solver, len(b), MOST_DIRECT):
            solution, iterations = by_gradients(kernel, b, alpha, self.tol, self.max_iter, context)
            self.n_iter_ = max(self.n_iter_, iterations)
            return solution
        return by_factor(stored(kernel, alpha, context), b)
