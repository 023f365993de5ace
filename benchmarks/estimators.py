"""Estimators beside scikit-learn's, in one run, on NumPy arrays.

    python benchmarks/estimators.py --device intel
    python benchmarks/estimators.py --device nvidia --rounds 3 --only neighbours

Both take turns, after a call that builds kernels; × is the median over rounds of scikit-learn's time over ours. The
difference is the largest of the results, relative to the largest result. scikit-learn may use all cores (n_jobs=-1).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import sklearn
from report import head, row, title
from sklearn.gaussian_process import GaussianProcessRegressor as ExactProcess
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.kernel_ridge import KernelRidge as ExactRidge
from sklearn.neighbors import KernelDensity as ExactDensity
from sklearn.neighbors import NearestNeighbors as ExactNeighbors

import clmapreduce as cm
from clmapreduce.sklearn import GaussianProcessRegressor, KernelDensity, KernelRidge, NearestNeighbors

Case = tuple[str, Callable[[], Any], Callable[[], Any]]


def points(count: int, features: int, dtype: str = "float32") -> tuple[Any, Any, Any]:
    """Samples, values and queries."""
    rng = np.random.default_rng(0)
    x, new = rng.standard_normal((2, count, features)).astype(dtype)
    return x, (np.sin(x[:, 0]) + 0.1 * rng.standard_normal(count)).astype(dtype), new


def fitted(estimator: Any, x: Any, y: Any) -> Any:
    """The coefficients of a fit."""
    estimator.fit(x, y)
    return estimator.dual_coef_ if hasattr(estimator, "dual_coef_") else estimator.alpha_


def distances(estimator: Any, new: Any) -> Any:
    return estimator.kneighbors(new)[0]


def density(estimator: Any, new: Any) -> Any:
    return np.exp(estimator.score_samples(new))


def deviations(estimator: Any, new: Any) -> Any:
    return estimator.predict(new, return_std=True)[1]


def ridges() -> Iterator[Case]:
    for count, dtype in ((2_000, "float64"), (8_000, "float32"), (8_000, "float64")):
        x, y, new = points(count, 10, dtype)
        how = {"alpha": 1.0, "kernel": "rbf", "gamma": 0.1}
        ours, theirs = KernelRidge(**how), ExactRidge(**how)
        name = f"KernelRidge, {count:,} × 10, {dtype}"
        yield f"{name}: fit", partial(fitted, ours, x, y), partial(fitted, theirs, x, y)
        yield f"{name}: predict", partial(ours.predict, new), partial(theirs.predict, new)


def neighbours() -> Iterator[Case]:
    for count, features, algorithm in (
        (20_000, 3, "auto"), (100_000, 3, "auto"), (20_000, 10, "auto"), (20_000, 10, "brute"), (20_000, 50, "brute"),
    ):  # fmt: skip
        x, _, new = points(count, features)
        ours, theirs = NearestNeighbors().fit(x), ExactNeighbors(algorithm=algorithm, n_jobs=-1).fit(x)
        name = f"NearestNeighbors, {count:,} × {features}, 5 each, {algorithm}"
        yield name, partial(distances, ours, new), partial(distances, theirs, new)


def densities() -> Iterator[Case]:
    for kernel, features in (("gaussian", 3), ("gaussian", 10), ("epanechnikov", 3)):
        x, _, new = points(10_000, features)
        ours, theirs = (kind(kernel=kernel, bandwidth=0.5).fit(x) for kind in (KernelDensity, ExactDensity))
        name = f"KernelDensity, 10,000 × {features}, {kernel}"
        yield name, partial(density, ours, new), partial(density, theirs, new)


def processes() -> Iterator[Case]:
    for count in (2_000, 5_000):
        x, y, new = points(count, 5, "float64")
        how = {"kernel": RBF(1.0) + WhiteKernel(0.1), "optimizer": None}
        ours, theirs = GaussianProcessRegressor(**how), ExactProcess(**how)
        name = f"GaussianProcessRegressor, {count:,} × 5"
        yield f"{name}: fit", partial(fitted, ours, x, y), partial(fitted, theirs, x, y)
        yield f"{name}: mean", partial(ours.predict, new), partial(theirs.predict, new)
        yield f"{name}: 200 deviations", partial(deviations, ours, new[:200]), partial(deviations, theirs, new[:200])


GROUPS = {"ridges": ridges, "neighbours": neighbours, "densities": densities, "processes": processes}


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = call()
    return time.perf_counter() - begin, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device")
    parser.add_argument("--only", choices=list(GROUPS))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with cm.Context(options.device) as context:
        title(context.device, f"scikit-learn {sklearn.__version__}")
        head("call", "ours", "scikit-learn", "×", "difference")
        for name, group in GROUPS.items():
            if options.only in (None, name):
                for label, ours, theirs in group():
                    results = [np.asarray(call(), np.float64) for call in (ours, theirs)]
                    rounds = [(seconds(ours)[0], seconds(theirs)[0]) for _ in range(options.rounds)]
                    own, other = (statistics.median(column) for column in zip(*rounds, strict=True))
                    ratio = statistics.median(b / a for a, b in rounds)
                    difference = np.abs(results[0] - results[1]).max() / np.abs(results[1]).max()
                    row(label, f"{1e3 * own:.0f} ms", f"{1e3 * other:.0f} ms", f"{ratio:.2g}", f"{difference:.0e}")


if __name__ == "__main__":
    main()
