"""Densities from samples, by one reduction over all of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.special import gammaln
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from clmapreduce.checks import choice, finite, whole
from clmapreduce.device.array import NumpyArray
from clmapreduce.errors import ArgumentError, ModeError
from clmapreduce.pairwise import LazyTensor, Vi, Vj
from clmapreduce.sklearn.places import FLOATS, context_for

LOGARITHMS: dict[str, Callable[[LazyTensor], LazyTensor]] = {
    "gaussian": lambda square: -0.5 * square,
    "exponential": lambda square: -square.sqrt(),
}
"""The logarithms of kernels that are never 0, of squared distances in bandwidths."""

BUMPS: dict[str, Callable[[LazyTensor], LazyTensor]] = {
    "tophat": lambda square: square < 1,
    "epanechnikov": lambda square: (1 - square).relu(),
    "linear": lambda square: (1 - square.sqrt()).relu(),
    "cosine": lambda square: (square < 1) * (math.pi / 2 * square.sqrt()).cos(),
}
"""Kernels that are 0 from one bandwidth on."""

RADIAL: dict[str, Callable[[int], float]] = {
    "gaussian": lambda d: (d / 2 - 1) * math.log(2) + float(gammaln(d / 2)),
    "exponential": lambda d: float(gammaln(d)),
    "tophat": lambda d: -math.log(d),
    "epanechnikov": lambda d: math.log(2 / (d * (d + 2))),
    "linear": lambda d: -math.log(d * (d + 1)),
    "cosine": lambda d: math.log(quad(lambda r: math.cos(math.pi / 2 * r) * r ** (d - 1), 0, 1)[0]),
}
"""log ∫ k(r) r^(d - 1) dr of every kernel, in d dimensions."""

RULES: dict[str, Callable[[int, int], float]] = {
    "scott": lambda n, d: n ** (-1 / (d + 4)),
    "silverman": lambda n, d: (n * (d + 2) / 4) ** (-1 / (d + 4)),
}
"""Bandwidths that follow from the numbers of samples and of features."""


class KernelDensity(BaseEstimator):
    """As `sklearn.neighbors.KernelDensity` with the Euclidean metric: Σ_j w_j k(|x - x_j| / h), normalised.

    bandwidth: h, or "scott" or "silverman". kernel: "gaussian", "tophat", "epanechnikov", "exponential", "linear" or
    "cosine". device: None for the thread's device, else a text such as "gpu". All samples are summed; there is no
    tolerance.
    float32 stays float32.

    Attributes: bandwidth_, n_features_in_.
    """

    def __init__(self, *, bandwidth: float | str = 1.0, kernel: str = "gaussian", device: Any = None) -> None:
        self.bandwidth, self.kernel, self.device = bandwidth, kernel, device

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelDensity:
        """Stores X (n_samples, n_features) and its weights (n_samples,); y is ignored."""
        X = validate_data(self, X, dtype=FLOATS)
        choice(self.kernel, "kernel", RADIAL)
        if isinstance(self.bandwidth, str):
            self.bandwidth_ = RULES[choice(self.bandwidth, "bandwidth", RULES)](*X.shape)
        else:
            self.bandwidth_ = finite(self.bandwidth, "bandwidth")
        if self.bandwidth_ <= 0:
            raise ArgumentError(f"bandwidth is {self.bandwidth!r}; give a positive number")
        self._weights = None
        if sample_weight is not None:
            self._weights = _check_sample_weight(sample_weight, X, dtype=X.dtype, ensure_non_negative=True)
        self._samples = X
        return self

    def score_samples(self, X: Any) -> NumpyArray:
        """The logarithm of the density at X (n_samples, n_features): (n_samples,); -inf where it is 0."""
        check_is_fitted(self)
        samples, h = self._samples, self.bandwidth_
        X = np.asarray(validate_data(self, X, reset=False, dtype=FLOATS), samples.dtype)
        square = ((Vi(X) - Vj(samples)) / h).square().sum()
        weights = None if self._weights is None else Vj(self._weights[:, None])
        context = context_for(self.device)
        if self.kernel in LOGARITHMS:
            values = LOGARITHMS[self.kernel](square).logsumexp(1, weight=weights, context=context)
        else:
            bump = BUMPS[self.kernel](square)
            with np.errstate(divide="ignore"):
                values = np.log((bump if weights is None else bump * weights).sum(1, context=context))
        features = samples.shape[1]
        sphere = math.log(2) + features / 2 * math.log(math.pi) - float(gammaln(features / 2))
        total = len(samples) if self._weights is None else float(self._weights.sum(dtype=np.float64))
        norm = sphere + RADIAL[self.kernel](features) + features * math.log(h) + math.log(total)
        return np.asarray(values.reshape(len(X)) - samples.dtype.type(norm))

    def score(self, X: Any, y: Any = None) -> float:
        """The logarithm of the likelihood of X: the sum of `score_samples`."""
        return float(self.score_samples(X).sum(dtype=np.float64))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> NumpyArray:
        """Random points (n_samples, n_features) of the density, for the kernels "gaussian" and "tophat"."""
        check_is_fitted(self)
        count, rng = whole(n_samples, "n_samples", 1), check_random_state(random_state)
        if self.kernel not in ("gaussian", "tophat"):
            raise ModeError(f"sample() is not offered for kernel={self.kernel!r}; use 'gaussian' or 'tophat'")
        chances = None if self._weights is None else self._weights / self._weights.sum()
        centers = self._samples[rng.choice(len(self._samples), count, p=chances)]
        steps = rng.normal(size=centers.shape)
        if self.kernel == "tophat":  # directions, to a radius that makes all of the ball equally likely
            radii = rng.uniform(size=(count, 1)) ** (1 / centers.shape[1])
            steps *= radii / np.linalg.norm(steps, axis=1, keepdims=True)
        return np.asarray(centers + self.bandwidth_ * steps)
