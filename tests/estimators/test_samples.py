"""Nearest neighbours and densities beside scikit-learn's, in float64."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.device.context import shared_context, spelled_device

pytest.importorskip("sklearn")

from scipy.integrate import quad
from scipy.special import gamma
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge as ExactRidge
from sklearn.neighbors import KernelDensity as ExactDensity
from sklearn.neighbors import NearestNeighbors as ExactNeighbors

from clmapreduce.sklearn import KernelDensity, KernelRidge, NearestNeighbors

pytestmark = pytest.mark.drawn

METRICS: dict[str, dict[str, Any]] = {
    "default": {}, "euclidean": {"metric": "euclidean"}, "sqeuclidean": {"metric": "sqeuclidean"}, "l1": {"metric": "l1"},
    "chebyshev": {"metric": "chebyshev"}, "cosine": {"metric": "cosine"}, "p = 1": {"p": 1}, "p = 3": {"p": 3},
}  # fmt: skip
KERNELS = ["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"]
TOLERANCE = 1e-12


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize(("count", "features"), [(2, 1), (33, 3), (257, 20)])
def test_neighbours(name: str, count: int, features: int, home: cm.Context, rng: np.random.Generator) -> None:
    x, queries = rng.standard_normal((count, features)), rng.standard_normal((31, features))
    k = min(5, count - 1)
    ours = NearestNeighbors(n_neighbors=k, **METRICS[name]).fit(x)
    exact = ExactNeighbors(n_neighbors=k, algorithm="brute", **METRICS[name]).fit(x)
    for points in (queries, None):
        (distances, places), expected = ours.kneighbors(points), exact.kneighbors(points)
        np.testing.assert_array_equal(places, expected[1])
        np.testing.assert_allclose(distances, expected[0], rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(ours.kneighbors(points, k, return_distance=False), places)
        for mode in ("connectivity", "distance"):
            graph, other = ours.kneighbors_graph(points, mode=mode), exact.kneighbors_graph(points, mode=mode)
            np.testing.assert_allclose(graph.toarray(), other.toarray(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", METRICS)
def test_neighbours_within_a_radius(name: str, home: cm.Context, rng: np.random.Generator) -> None:
    x, queries = rng.standard_normal((57, 2)), rng.standard_normal((31, 2))
    ours, exact = (
        m.fit(x) for m in (NearestNeighbors(radius=0.8, **METRICS[name]), ExactNeighbors(radius=0.8, algorithm="brute", **METRICS[name]))
    )
    for points in (queries, None):
        result, expected = (m.radius_neighbors(points, sort_results=True) for m in (ours, exact))
        for row in range(len(expected[0])):
            np.testing.assert_array_equal(result[1][row], expected[1][row])
            np.testing.assert_allclose(result[0][row], expected[0][row], rtol=1e-9, atol=1e-9)
        unsorted = ours.radius_neighbors(points, return_distance=False)
        assert all(np.array_equal(a, np.sort(b)) for a, b in zip(unsorted, expected[1], strict=True))


def test_rows_of_distances_come_in_tiles(home: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clmapreduce.sklearn.neighbors.tile_rows", lambda columns, itemsize: 4)
    x = rng.standard_normal((33, 2))
    result = NearestNeighbors(radius=0.7).fit(x).radius_neighbors(return_distance=False)
    exact = ExactNeighbors(radius=0.7, algorithm="brute").fit(x).radius_neighbors(return_distance=False)
    assert all(np.array_equal(a, b) for a, b in zip(result, exact, strict=True))


def test_equal_samples_are_neighbours_of_each_other(home: cm.Context) -> None:
    x = np.zeros((7, 2))
    distances, places = NearestNeighbors(n_neighbors=3).fit(x).kneighbors()
    assert places.shape == (7, 3) and (distances == 0).all()
    assert (places[:4] != np.arange(4)[:, None]).all() and all(len(set(row)) == 3 for row in places)


def exactly(kernel: str, x: Any, queries: Any, h: float, weights: Any) -> Any:
    """Densities by NumPy, whose kernels are integrated by quadrature."""
    shape = {
        "gaussian": lambda r: np.exp(-r * r / 2), "exponential": lambda r: np.exp(-r), "tophat": lambda r: 1.0 * (r < 1),
        "epanechnikov": lambda r: np.maximum(1 - r * r, 0), "linear": lambda r: np.maximum(1 - r, 0),
        "cosine": lambda r: np.where(r < 1, np.cos(np.pi / 2 * r), 0),
    }[kernel]  # fmt: skip
    d, end = x.shape[1], np.inf if kernel in ("gaussian", "exponential") else 1
    integral = 2 * np.pi ** (d / 2) / gamma(d / 2) * quad(lambda r: float(shape(r)) * r ** (d - 1), 0, end)[0]
    values = shape(np.sqrt(np.square(queries[:, None] - x).sum(-1)) / h)
    return np.average(values, axis=1, weights=weights) / integral / h**d


def test_cosines_of_zero_vectors_are_0(home: cm.Context, rng: np.random.Generator) -> None:
    x = rng.standard_normal((9, 3))
    x[::4] = 0
    result, exact = (kind(metric="cosine", **how).fit(x).kneighbors(x, 9)[0] for kind, how in (
        (NearestNeighbors, {}), (ExactNeighbors, {"algorithm": "brute"})))  # fmt: skip
    np.testing.assert_allclose(result[x.any(1)], exact[x.any(1)], rtol=1e-12, atol=1e-12)
    assert (result[::4] == 1).all()
    with_zeros = KernelRidge(kernel="cosine").fit(x, x[:, 0]).predict(x)
    np.testing.assert_allclose(with_zeros, ExactRidge(kernel="cosine").fit(x, x[:, 0]).predict(x), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("count", "features"), [(1, 1), (2, 2), (33, 3), (257, 7)])
@pytest.mark.parametrize("weighted", [False, True])
def test_densities(kernel: str, count: int, features: int, weighted: bool, home: cm.Context, rng: np.random.Generator) -> None:
    x, queries = rng.standard_normal((count, features)), rng.standard_normal((31, features))
    weights = rng.uniform(0, 3, count) if weighted else None
    how = {"kernel": kernel, "bandwidth": float(rng.uniform(0.7, 2))}
    ours, theirs = (m.fit(x, sample_weight=weights) for m in (KernelDensity(**how), ExactDensity(**how, algorithm="ball_tree")))
    result, exact = ours.score_samples(queries), exactly(kernel, x, queries, how["bandwidth"], weights)
    np.testing.assert_allclose(np.exp(result), exact, rtol=1e-8, atol=1e-12)
    assert ours.score(queries[:1]) == pytest.approx(result[0])
    if kernel != "cosine" or features % 2:  # scikit-learn's integral of that one is off in even dimensions
        inside = exact > 1e-6  # where the density is 0, its trees may leave 1e-16
        np.testing.assert_allclose(result[inside], theirs.score_samples(queries)[inside], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_densities_are_normalised(kernel: str, home: cm.Context) -> None:
    """In the plane, by sums over a grid."""
    axis = np.linspace(-12, 12, 601)
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    density = KernelDensity(kernel=kernel, bandwidth=0.9).fit([[0.1, 0.2], [1.0, 1.0]])
    total = np.exp(density.score_samples(grid)).sum() * (axis[1] - axis[0]) ** 2
    assert total == pytest.approx(1, abs=5e-3)


@pytest.mark.parametrize("rule", ["scott", "silverman"])
def test_bandwidths_follow_from_the_samples(rule: str, home: cm.Context, rng: np.random.Generator) -> None:
    x = rng.standard_normal((33, 3))
    ours, exact = KernelDensity(bandwidth=rule).fit(x), ExactDensity(bandwidth=rule).fit(x)
    assert ours.bandwidth_ == pytest.approx(exact.bandwidth_)
    np.testing.assert_allclose(ours.score_samples(x), exact.score_samples(x), rtol=1e-10)


def test_densities_far_away_are_not_zero(home: cm.Context) -> None:
    """exp(-5000) is, its logarithm is not."""
    density = KernelDensity().fit(np.zeros((4, 1)))
    np.testing.assert_allclose(density.score_samples([[100.0]]), -5000 - 0.5 * np.log(2 * np.pi), rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_drawn_points(weighted: bool, home: cm.Context, rng: np.random.Generator) -> None:
    x = np.array([[0.0, 0.0], [50.0, 0.0]])
    weights, seed = np.array([3.0, 1.0]) if weighted else None, int(rng.integers(2**31))
    share = 0.25 if weighted else 0.5
    ball = KernelDensity(kernel="tophat", bandwidth=2.0).fit(x, sample_weight=weights).sample(4000, seed)
    radii = np.linalg.norm(ball - x[(ball[:, 0] > 25).astype(int)], axis=1)
    assert ball.shape == (4000, 2) and radii.max() <= 2
    assert abs((radii < 1).mean() - 0.25) < 0.05 and abs((ball[:, 0] > 25).mean() - share) < 0.06  # 7 standard errors
    cloud = KernelDensity(bandwidth=2.0).fit(x, sample_weight=weights).sample(4000, seed)
    assert abs(cloud[:, 1].std() - 2) < 0.17
    np.testing.assert_array_equal(cloud, KernelDensity(bandwidth=2.0).fit(x, sample_weight=weights).sample(4000, seed))


def test_float32_is_kept(home: cm.Context, rng: np.random.Generator) -> None:
    x = rng.standard_normal((33, 3)).astype(np.float32)
    distances, _ = NearestNeighbors().fit(x).kneighbors(x)
    densities = KernelDensity().fit(x).score_samples(x)
    assert distances.dtype == densities.dtype == np.float32
    np.testing.assert_allclose(densities, ExactDensity().fit(x).score_samples(x), rtol=1e-5)


def test_a_device_is_named_by_a_text(context: cm.Context) -> None:
    """Estimators are cloned and pickled, and run there then."""
    x, plans = np.eye(29, dtype=np.float32), shared_context(context.device).caches().plans
    estimator = NearestNeighbors(n_neighbors=1, metric="chebyshev", device=spelled_device(context.device))
    copied = pickle.loads(pickle.dumps(clone(estimator).fit(x)))
    before = plans.values()
    np.testing.assert_array_equal(copied.kneighbors(x, return_distance=False)[:, 0], np.arange(29))
    assert len([plan for plan in plans.values() if plan not in before]) == 1
    with pytest.raises(cm.DeviceError, match="give a text"):
        estimator.set_params(device=context.device).fit(x).kneighbors()


def test_what_is_refused(home: cm.Context, rng: np.random.Generator) -> None:
    x = rng.standard_normal((5, 2))
    for call, error, words in [
        (lambda: NearestNeighbors(metric="hamming").fit(x).kneighbors(x), cm.ModeError, "metric='hamming'"),
        (lambda: NearestNeighbors(p=0).fit(x).kneighbors(x), cm.ArgumentError, "positive"),
        (lambda: NearestNeighbors(n_neighbors=6).fit(x).kneighbors(x), cm.ShapeError, "n_neighbors = 6"),
        (lambda: NearestNeighbors(n_neighbors=5).fit(x).kneighbors(), cm.ShapeError, "4 samples"),
        (lambda: NearestNeighbors(n_neighbors=0).fit(x).kneighbors(x), cm.ShapeError, "n_neighbors"),
        (lambda: NearestNeighbors().fit(x).kneighbors_graph(x, mode="both"), cm.ModeError, "mode='both'"),
        (lambda: KernelDensity(kernel="box").fit(x), cm.ModeError, "kernel='box'"),
        (lambda: KernelDensity(bandwidth=0).fit(x), cm.ArgumentError, "positive"),
        (lambda: KernelDensity(bandwidth="best").fit(x), cm.ModeError, "bandwidth='best'"),
        (lambda: KernelDensity(kernel="linear").fit(x).sample(), cm.ModeError, "'gaussian' or 'tophat'"),
    ]:  # fmt: skip
        with pytest.raises(error, match=words):
            call()
