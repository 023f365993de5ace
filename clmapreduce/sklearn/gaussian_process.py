"""Gaussian process regression whose covariances of many samples are never stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.gaussian_process import GaussianProcessRegressor as Reference
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from clmapreduce.checks import switch, whole
from clmapreduce.device.array import NumpyArray
from clmapreduce.errors import ArgumentError, ModeError
from clmapreduce.pairwise import LazyTensor
from clmapreduce.sklearn.gp_kernels import covariance, noise
from clmapreduce.sklearn.places import context_for
from clmapreduce.sklearn.systems import by_gradients, is_direct, ridge, stored

MOST_DIRECT = 8000
"""Deviations take a factor, or a solve for each point; that of 8,000 rows holds 512 MB."""

COLUMNS = 16
"""Of covariances that are solved for together, where there is no factor."""


class GaussianProcessRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """As `sklearn.gaussian_process.GaussianProcessRegressor`: a posterior of functions, in float64.

    kernel: an object of sklearn.gaussian_process.kernels; None for 1.0 * RBF(1.0), both fixed. alpha: the variance of
    noise, a number. optimizer, n_restarts_optimizer: how scikit-learn's regressor optimizes the hyperparameters, from
    at most `optimizer_samples` random samples; optimizer=None leaves them unchanged. normalize_y, random_state: as in
    scikit-learn. solver: "direct" factors the matrix of the samples, "cg" never stores it, "auto" is direct up to 8,000
    samples. tol: for "cg", the final residual relative to its right-hand side. device: None for the thread's device,
    else a text such as "gpu".

    Attributes: kernel_, X_train_, y_train_, alpha_ (n_samples,) or (n_samples, n_targets), n_iter_ (1 if direct), L_
    (n_samples, n_samples) and log_marginal_likelihood_value_ (both None if not direct), n_features_in_.
    """

    def __init__(
        self, kernel: Any = None, *, alpha: float = 1e-10, optimizer: Any = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0, optimizer_samples: int = 1000, normalize_y: bool = False,
        random_state: Any = None, solver: str = "auto", tol: float = 1e-8, device: Any = None,
    ) -> None:  # fmt: skip
        self.kernel, self.alpha, self.optimizer, self.normalize_y = kernel, alpha, optimizer, normalize_y
        self.n_restarts_optimizer, self.optimizer_samples = n_restarts_optimizer, optimizer_samples
        self.random_state, self.solver, self.tol, self.device = random_state, solver, tol, device

    def fit(self, X: Any, y: Any) -> GaussianProcessRegressor:
        """Fits X (n_samples, n_features) to y (n_samples,) or (n_samples, n_targets)."""
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
        y = np.asarray(y, np.float64)
        self._mean, self._scale = np.zeros(y.shape[1:]), np.ones(y.shape[1:])
        if switch(self.normalize_y, "normalize_y"):
            deviation = y.std(0)
            self._mean, self._scale = y.mean(0), np.where(deviation > 0, deviation, 1.0)
        self.X_train_, self.y_train_ = X, (y - self._mean) / self._scale
        self.kernel_ = self._kernel_found()
        self._ridge = ridge(self.alpha) + noise(self.kernel_)
        self.L_: NumpyArray | None = None
        self.log_marginal_likelihood_value_: float | None = None
        targets = self.y_train_.reshape(len(X), -1)
        direct = is_direct(self.solver, len(X), MOST_DIRECT)
        solution, self.n_iter_ = self._factored(targets) if direct else self._solved(targets)
        self.alpha_ = solution.reshape(y.shape)
        return self

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """The mean at X (n_samples, n_features), (n_samples,) or (n_samples, n_targets); with return_std=True (mean,
        standard deviation), with return_cov=True (mean, covariance): (n_samples, n_samples), or with n_targets behind.
        """
        check_is_fitted(self)
        if return_std and return_cov:
            raise ModeError("return_std=True and return_cov=True are both given; ask for one at a time")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        to_samples = covariance(self.kernel_, X, self.X_train_)
        coefficients = self.alpha_.reshape(len(self.X_train_), -1)
        mean = to_samples.__matmul__(coefficients, context=context_for(self.device)).reshape(-1, *self.alpha_.shape[1:])
        mean = np.asarray(mean) * self._scale + self._mean
        if not (return_std or return_cov):
            return mean
        known = self._known(to_samples, diagonal=not return_cov)
        if return_std:
            variances = np.maximum(self.kernel_.diag(X) - known, 0)
            return mean, np.sqrt(np.multiply.outer(variances, self._scale**2))
        own = stored(covariance(self.kernel_, X, X), noise(self.kernel_), context_for(self.device))
        return mean, np.multiply.outer(own - known, self._scale**2)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> NumpyArray:
        """Random functions of the posterior at X: (n_points, n_samples), or (n_points, n_targets, n_samples)."""
        mean, cov = self.predict(X, return_cov=True)
        rng, count = check_random_state(random_state), whole(n_samples, "n_samples", 1)
        if mean.ndim == 1:
            return np.asarray(rng.multivariate_normal(mean, cov, count).T)
        draws = [rng.multivariate_normal(mean[:, k], cov[..., k], count).T for k in range(mean.shape[1])]
        return np.stack(draws, axis=1)

    def _kernel_found(self) -> Any:
        """The kernel with hyperparameters that make the samples likely."""
        kernel = ConstantKernel(1.0, "fixed") * RBF(1.0, "fixed") if self.kernel is None else self.kernel
        covariance(kernel, self.X_train_, self.X_train_), noise(kernel)  # raise for what has no formula
        kernel = clone(kernel)
        if self.optimizer is None or not kernel.n_dims:
            return kernel
        rng, X, y = check_random_state(self.random_state), self.X_train_, self.y_train_
        most = whole(self.optimizer_samples, "optimizer_samples", 1)
        if len(X) > most:
            chosen = rng.choice(len(X), most, replace=False)
            X, y = X[chosen], y[chosen]
        search = {"optimizer": self.optimizer, "n_restarts_optimizer": self.n_restarts_optimizer, "random_state": rng}
        return Reference(kernel, alpha=ridge(self.alpha), **search).fit(X, y).kernel_

    def _matrix(self) -> LazyTensor:
        return covariance(self.kernel_, self.X_train_, self.X_train_)

    def _factored(self, targets: NumpyArray) -> tuple[NumpyArray, int]:
        """The solution by a factor, which is stored, with the likelihood. Raises ArgumentError where there is none."""
        matrix = stored(self._matrix(), self._ridge, context_for(self.device))
        try:  # in place: the transposed matrix is the same one, in LAPACK's order
            factor = np.asarray(scipy.linalg.cholesky(matrix.T, lower=True, overwrite_a=True, check_finite=False))
        except np.linalg.LinAlgError:
            raise ArgumentError(
                f"the covariance of the samples is not positive definite with alpha={self.alpha!r}; give a larger alpha"
            ) from None
        solution = scipy.linalg.cho_solve((factor, True), targets, check_finite=False)
        logarithms = np.log(np.diag(factor)).sum() + len(targets) / 2 * np.log(2 * np.pi)
        self.log_marginal_likelihood_value_ = float((-0.5 * (targets * solution).sum(0) - logarithms).sum())
        self.L_ = factor
        return solution, 1

    def _solved(self, b: NumpyArray) -> tuple[NumpyArray, int]:
        return by_gradients(self._matrix(), b, self._ridge, self.tol, None, context_for(self.device))

    def _known(self, to_samples: LazyTensor, diagonal: bool) -> NumpyArray:
        """What the samples tell of points, k(X, samples) (K + ridge)⁻¹ k(samples, X), or its diagonal alone."""
        across = np.asarray(to_samples.dense(context=context_for(self.device)))
        if self.L_ is not None:
            half = scipy.linalg.solve_triangular(self.L_, across.T, lower=True, check_finite=False)
            return np.asarray(np.square(half).sum(0) if diagonal else half.T @ half)
        starts = range(0, len(across), COLUMNS)
        parts = [self._solved(np.ascontiguousarray(across[k : k + COLUMNS].T))[0] for k in starts]
        solved = np.concatenate(parts, axis=1)
        return np.asarray(np.einsum("ij,ji->i", across, solved) if diagonal else across @ solved)
