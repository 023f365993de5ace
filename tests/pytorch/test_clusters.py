"""Clusters of tensors: what NumPy's give, as tensors; block-sparse reductions by them, with gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

torch = pytest.importorskip("torch")
ct = pytest.importorskip("clmapreduce.torch")
cluster = pytest.importorskip("clmapreduce.torch.cluster")

pytestmark = pytest.mark.drawn


@pytest.mark.parametrize("count", [1, 2, 31, 1000])
def test_clusters_are_numpys(count: int, rng: np.random.Generator) -> None:
    points = rng.standard_normal((count, 2))
    x, weights = torch.from_numpy(points), torch.from_numpy(rng.uniform(0.5, 1, count))
    labels = cluster.grid_cluster(x, 0.5)
    expected = cm.cluster.grid_cluster(points, 0.5)
    assert labels.dtype is torch.int64 and np.array_equal(labels, expected)
    assert np.array_equal(cluster.cluster_ranges(labels), cm.cluster.cluster_ranges(expected))
    for ours, exact in (
        (cluster.cluster_ranges_centroids(x, labels, weights=weights), cm.cluster.cluster_ranges_centroids(points, expected, weights.numpy())),
        ((cluster.cluster_centroids(x, labels),), (cm.cluster.cluster_centroids(points, expected),)),
    ):
        assert all(isinstance(one, torch.Tensor) for one in ours)
        assert all(np.array_equal(one, other) for one, other in zip(ours, exact, strict=True))
    (sorted_points, sorted_weights), sorted_labels = cluster.sort_clusters((x, weights), labels)
    order = np.argsort(expected, kind="stable")
    assert np.array_equal(sorted_points, points[order]) and np.array_equal(sorted_weights, weights[order])
    assert np.array_equal(sorted_labels, expected[order])


def test_reductions_over_clusters_have_gradients(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    if not context.device.fp64:
        pytest.skip("gradients are compared in float64")
    first, second = (torch.from_numpy(rng.uniform(0, 1, (n, 2))).requires_grad_() for n in (150, 120))
    (x, i), (y, j) = (cluster.sort_clusters(points, cluster.grid_cluster(points, 0.25)) for points in (first, second))
    (rows, a, _), (columns, b, _) = cluster.cluster_ranges_centroids(x, i), cluster.cluster_ranges_centroids(y, j)
    keep = (a[:, None] - b).square().sum(-1) < 0.2
    assert keep.any() and not keep.all()
    K = (-ct.Vi(x).sqdist(ct.Vj(y))).exp()
    K.ranges = cluster.from_matrix(rows, columns, keep)
    ours = K.sum(1, context=context, mode=mode)
    exact = (torch.exp(-(x[:, None] - y).square().sum(-1)) * keep[i][:, j]).sum(1, keepdim=True)
    weights = torch.from_numpy(rng.standard_normal((150, 1)))
    gradients = [torch.autograd.grad(value, (first, second), weights, retain_graph=True) for value in (ours, exact)]
    torch.testing.assert_close((ours, *gradients[0]), (exact, *gradients[1]), rtol=1e-11, atol=1e-11)  # 150 terms of 1
    transposed = ct.Vj(x).sqdist(ct.Vi(y)).sum(1, ranges=cluster.swap_axes(K.ranges), context=context, mode=mode)
    dense = ((x[:, None] - y).square().sum(-1) * keep[i][:, j]).sum(0)[:, None]
    torch.testing.assert_close(transposed, dense, rtol=1e-11, atol=1e-11)


def test_what_does_not_fit_is_refused(rng: np.random.Generator) -> None:
    x: Any = torch.from_numpy(rng.standard_normal((6, 2)))
    with pytest.raises(cm.ShapeError, match=r"x has shape \(5, 2\), lab has length 6"):
        cluster.sort_clusters([x[:5]], torch.zeros(6, dtype=torch.int64))
    with pytest.raises(cm.ShapeError, match="labels count from 0"):
        cluster.cluster_ranges(torch.tensor([0, -1]))
    with pytest.raises(cm.DTypeError, match="integers"):
        cluster.sort_clusters(x, x[:, 0])
    assert cluster.swap_axes(None) is None
