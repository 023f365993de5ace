"""The block-sparse examples against NumPy in float64: what their masks leave out, and what stands for it."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.oracles import assert_near, assert_same, unit

import clmapreduce as cm

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "geometry"
BARNES_HUT = SimpleNamespace(**runpy.run_path(str(EXAMPLES / "barnes_hut.py")))
SINKHORN = SimpleNamespace(**runpy.run_path(str(EXAMPLES / "sinkhorn_multiscale.py")))


def mask_of_ranges(ranges: cm.Ranges, shape: tuple[int, int]) -> np.ndarray:
    """The pairs of a mask, as booleans."""
    rows, ends, intervals, *_ = ranges.arrays()
    mask = np.zeros(shape, bool)
    for cluster, (start, end) in enumerate(rows):
        for left, right in intervals[ends[cluster - 1] if cluster else 0 : ends[cluster]]:
            mask[start:end, left:right] = True
    return mask


def attraction(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(M, N, 2): what a mass of 1 at each y does at each x."""
    way = y.astype(np.float64) - x[:, None]
    pull: np.ndarray = way * ((way**2).sum(-1, keepdims=True) + BARNES_HUT.SOFT**2) ** -1.5
    return pull


@pytest.mark.parametrize("cells", [0.0, 1.2, 3.0, np.inf])
def test_each_cluster_pulls_once_by_its_points_or_its_centroid(
    cells: float, context: cm.Context, rng: np.random.Generator
) -> None:
    x, masses = BARNES_HUT.galaxy(int(rng.integers(100, 300)), rng)
    (x, masses), lab = cm.cluster.sort_clusters((x, masses), cm.cluster.grid_cluster(x, BARNES_HUT.CELL))
    rows, centroids, weights = cm.cluster.cluster_ranges_centroids(x, lab, masses[:, 0])
    near, far = BARNES_HUT.masks(rows, centroids, cells * BARNES_HUT.CELL)
    expected = np.array([[np.hypot(*(a - b)) < cells * BARNES_HUT.CELL for b in centroids] for a in centroids])
    assert_same(mask_of_ranges(near, (len(x), len(x))), expected[np.ix_(lab, lab)])
    assert_same(mask_of_ranges(far, (len(x), len(rows))), ~expected[lab])

    with context:
        result = BARNES_HUT.pull(x, x, masses, near)
        result = result + BARNES_HUT.pull(x, centroids, weights[:, None].astype(np.float32), far)
    terms = np.concatenate([attraction(x, x) * masses, attraction(x, centroids) * weights[:, None]], axis=1)
    terms *= np.concatenate([expected[np.ix_(lab, lab)], ~expected[lab]], axis=1)[..., None]
    assert_near(result, terms.sum(1), (32 + len(x)) * unit(np.float32) * np.abs(terms).sum(1))


def test_what_the_coarse_potentials_leave_out_is_negligible(context: cm.Context, rng: np.random.Generator) -> None:
    source, target = (SINKHORN.Cloud(cloud) for cloud in SINKHORN.shapes(500, rng))
    with context:
        f, g, ranges = SINKHORN.multiscale(source, target)
    assert 0 < ranges.density < 0.5

    x, y, eps = source.points.astype(np.float64), target.points.astype(np.float64), SINKHORN.BLUR**2
    cost = ((x[:, None] - y) ** 2).sum(-1) / 2
    dense_g = g.astype(np.float64)  # a fixed point is one from any start: go on with all pairs
    for _ in range(200):
        dense_f = -eps * np.log((target.weights * np.exp((dense_g.T - cost) / eps).T).sum(0))[:, None]
        dense_g = -eps * np.log((source.weights * np.exp((dense_f - cost) / eps)).sum(0))[:, None]
    plan = np.exp((dense_f + dense_g.T - cost) / eps) / cost.size
    assert abs(plan.sum() - 1) < 1e-6
    assert plan[~mask_of_ranges(ranges, plan.shape)].sum() < 1e-5
    exact = dense_f.mean() + dense_g.mean()
    assert abs(f.mean(dtype=np.float64) + g.mean(dtype=np.float64) - exact) < 1e-3 * exact
