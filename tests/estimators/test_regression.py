"""Kernel ridge regression and Gaussian processes beside scikit-learn's, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

pytest.importorskip("sklearn")

from sklearn.gaussian_process import GaussianProcessRegressor as ExactProcess
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge as ExactRidge

from clmapreduce.sklearn import GaussianProcessRegressor, KernelRidge

pytestmark = pytest.mark.drawn

TOLERANCE = 1e-8
"""Condition numbers reach 10^4 here, systems end at residuals of 1e-12 of their right-hand side."""
WIDE = {"solver": "cg", "tol": 1e-12}
SOLVERS = [{"solver": "direct"}, WIDE]
KERNELS = ["linear", "rbf", "laplacian", "poly", "sigmoid", "cosine"]
PROCESSES = {
    "rbf": gp.RBF(1.5), "lengths": 2.0 * gp.RBF([1.0, 2.0, 0.5]), "matern12": gp.Matern(1.2, nu=0.5),
    "matern32": gp.Matern([1.0, 2.0, 1.5], nu=1.5), "matern52": gp.Matern(1.2, nu=2.5) + gp.WhiteKernel(0.1),
    "matern": gp.Matern(1.2, nu=np.inf), "rational": gp.RationalQuadratic(1.2, 0.7), "noise": gp.RBF(1.2) + 2 * gp.WhiteKernel(0.05),
    "periodic": gp.ExpSineSquared(1.0, 3.0) * gp.RBF(2.0), "linear": gp.DotProduct(0.5) + gp.RBF(1.0), "power": gp.RBF(2.0) ** 2,
    "constant": gp.ConstantKernel(2.0),
}  # fmt: skip


def samples(rng: np.random.Generator, count: int, targets: tuple[int, ...] = ()) -> tuple[Any, Any, Any]:
    """X, y and new points."""
    x = rng.standard_normal((count, 3))
    return x, rng.standard_normal((count, *targets)) + 2, rng.standard_normal((33, 3))


def near(ours: Any, exact: Any, tolerance: float = TOLERANCE) -> None:
    assert ours.shape == np.shape(exact)
    np.testing.assert_allclose(ours, exact, rtol=tolerance, atol=tolerance * max(1.0, np.abs(exact).max(initial=0)))


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver["solver"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("count", "targets"), [(1, ()), (2, (1,)), (31, (2,)), (257, ())], ids=str)
def test_ridge(kernel: str, count: int, targets: Any, solver: Any, home: cm.Context, rng: np.random.Generator) -> None:
    if kernel == "sigmoid" and solver is WIDE:
        pytest.skip("it is not positive definite")
    x, y, new = samples(rng, count, targets)
    how = {"kernel": kernel, "alpha": 0.5, "gamma": 0.1, "degree": 2, "coef0": 0.3}
    exact, ours = ExactRidge(**how).fit(x, y), KernelRidge(**how, **solver).fit(x, y)
    near(ours.predict(new), exact.predict(new))
    near(ours.dual_coef_, exact.dual_coef_)
    assert ours.score(x, y) == pytest.approx(exact.score(x, y), abs=1e-6) if count > 1 else True
    assert (ours.n_iter_ > 1) <= (solver is WIDE)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver["solver"])
def test_weights_and_a_ridge_per_target(solver: Any, home: cm.Context, rng: np.random.Generator) -> None:
    x, y, new = samples(rng, 33, (3,))
    weights = rng.uniform(0, 2, 33)
    weights[:3] = 0
    how = {"kernel": "rbf", "alpha": [0.5, 2.0, 0.5]}
    exact, ours = (m.fit(x, y, weights) for m in (ExactRidge(**how), KernelRidge(**how, **solver)))
    near(ours.predict(new), exact.predict(new))


def test_a_kernel_may_be_a_formula(home: cm.Context, rng: np.random.Generator) -> None:
    x, y, new = samples(rng, 33)
    ours = KernelRidge(kernel=lambda x, y: 1 / (1 + x.sqdist(y))).fit(x, y)
    exact = ExactRidge(kernel=lambda x, y: 1 / (1 + np.square(x - y).sum())).fit(x, y)
    near(ours.predict(new), exact.predict(new))


@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_ridge_keeps_float32(solver: str, home: cm.Context, rng: np.random.Generator) -> None:
    x, y, new = samples(rng, 257)
    exact = ExactRidge(kernel="rbf", alpha=2.0).fit(x, y).predict(new)
    ours = KernelRidge(kernel="rbf", alpha=2.0, solver=solver).fit(x.astype("f4"), y.astype("f4"))
    prediction = ours.predict(new.astype("f4"))
    assert prediction.dtype == ours.dual_coef_.dtype == np.float32
    near(prediction, exact, 1e-4)  # 257 terms of rounding 6e-8, and a condition of about 100


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver["solver"])
@pytest.mark.parametrize("name", PROCESSES)
def test_process(name: str, solver: Any, home: cm.Context, rng: np.random.Generator) -> None:
    x, y, new = samples(rng, 40)
    if name == "periodic":  # of distances in space it is not positive definite
        x, new = x[:, :1], new[:, :1]
    how = {"kernel": PROCESSES[name], "alpha": 0.1, "optimizer": None, "normalize_y": True}
    exact, ours = ExactProcess(**how).fit(x, y), GaussianProcessRegressor(**how, **solver).fit(x, y)
    near(ours.predict(new), exact.predict(new))
    for one, other in zip(ours.predict(new, return_cov=True), exact.predict(new, return_cov=True), strict=True):
        near(one, other)
    for one, other in zip(ours.predict(new, return_std=True), exact.predict(new, return_std=True), strict=True):
        near(one, other)
    if solver is not WIDE:
        near(np.float64(ours.log_marginal_likelihood_value_), exact.log_marginal_likelihood_value_)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver["solver"])
def test_processes_of_several_targets(solver: Any, home: cm.Context, rng: np.random.Generator) -> None:
    x, y, new = samples(rng, 31, (2,))
    how = {"kernel": PROCESSES["rbf"], "alpha": 0.1, "optimizer": None, "normalize_y": True}
    exact, ours = ExactProcess(**how).fit(x, y), GaussianProcessRegressor(**how, **solver).fit(x, y)
    for keyword in ("return_std", "return_cov"):
        for one, other in zip(ours.predict(new, **{keyword: True}), exact.predict(new, **{keyword: True}), strict=True):
            near(one, other)
    assert ours.sample_y(new, 5).shape == exact.sample_y(new, 5).shape == (33, 2, 5)


def test_drawn_functions_have_the_posterior(home: cm.Context, rng: np.random.Generator) -> None:
    x, y, new = samples(rng, 20)
    process = GaussianProcessRegressor(PROCESSES["rbf"], alpha=0.1, optimizer=None).fit(x, y)
    draws = process.sample_y(new, 400, random_state=int(rng.integers(2**31)))
    mean, deviation = process.predict(new, return_std=True)
    assert draws.shape == (33, 400)
    assert (np.abs(draws.mean(1) - mean) < 7 * deviation / 20).all()  # 33 of 7 standard errors: less than 1e-10


def test_hyperparameters_are_scikit_learns(home: cm.Context, rng: np.random.Generator) -> None:
    x = rng.uniform(0, 3, (40, 1))
    y = np.sin(3 * x[:, 0]) + 0.1 * rng.standard_normal(40)
    kernel = 1.0 * gp.RBF(1.0) + gp.WhiteKernel(0.1)
    exact = ExactProcess(kernel, random_state=0).fit(x, y)
    ours = GaussianProcessRegressor(kernel, random_state=0).fit(x, y)
    np.testing.assert_array_equal(ours.kernel_.theta, exact.kernel_.theta)
    near(ours.predict(x[:5] + 0.1), exact.predict(x[:5] + 0.1), 1e-6)  # a condition of 10^6 perhaps
    part = GaussianProcessRegressor(kernel, random_state=0, optimizer_samples=20).fit(x, y)
    assert not np.array_equal(part.kernel_.theta, exact.kernel_.theta) and part.score(x, y) > 0.5


def test_a_second_fit_forgets_the_first(home: cm.Context, rng: np.random.Generator) -> None:
    x, y, new = samples(rng, 20)
    process = GaussianProcessRegressor(PROCESSES["rbf"], alpha=0.1, optimizer=None).fit(x, y)
    process.set_params(**WIDE).fit(x[:10], y[:10])
    exact = ExactProcess(PROCESSES["rbf"], alpha=0.1, optimizer=None).fit(x[:10], y[:10])
    near(process.predict(new, return_std=True)[1], exact.predict(new, return_std=True)[1])
    assert process.L_ is None and process.n_iter_ > 1


def test_what_regressions_refuse(home: cm.Context, rng: np.random.Generator) -> None:
    x, y, _ = samples(rng, 5)
    for wrong, error, words in [
        ({"kernel": "rbff"}, cm.ModeError, "kernel='rbff'"), ({"alpha": -1}, cm.ArgumentError, "0 or more"),
        ({"alpha": [1, 2]}, cm.ShapeError, "one per target"), ({"solver": "lu"}, cm.ModeError, "solver='lu'"),
        ({"solver": "cg", "tol": 0}, cm.ArgumentError, "tol"), ({"kernel": lambda x, y: x - y}, cm.ArgumentError, "one, a real"),
        ({"gamma": "auto"}, cm.ArgumentError, "gamma"), ({"device": "no such device"}, cm.DeviceError, "no such device"),
    ]:  # fmt: skip
        with pytest.raises(error, match=words):
            KernelRidge(**wrong).fit(x, y)
    for wrong, error, words in [
        ({"kernel": gp.WhiteKernel() * gp.RBF()}, cm.ArgumentError, "white noise"),
        ({"kernel": gp.WhiteKernel() ** 2}, cm.ArgumentError, "white noise"),
        ({"kernel": gp.Matern(nu=0.7)}, cm.ArgumentError, "nu=0.7"),
        ({"kernel": gp.RBF([1.0, 2.0])}, cm.ArgumentError, "2 length scales"),
        ({"kernel": gp.CompoundKernel([gp.RBF()])}, cm.ArgumentError, "no formula"),
        ({"kernel": "rbf"}, cm.ArgumentError, "no formula"), ({"alpha": [1, 2]}, cm.ArgumentError, "alpha"),
    ]:  # fmt: skip
        with pytest.raises(error, match=words):
            GaussianProcessRegressor(**{"optimizer": None, **wrong}).fit(x, y)
    doubled = np.repeat(x, 2, 0)
    with pytest.raises(cm.ArgumentError, match="not positive definite"):
        GaussianProcessRegressor(alpha=0).fit(np.concatenate([doubled] * 9), np.zeros(90))
    with pytest.raises(cm.ModeError, match="one at a time"):
        GaussianProcessRegressor().fit(x, y).predict(x, return_std=True, return_cov=True)
