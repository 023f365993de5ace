"""cm.cluster: cells, order, ranges and centroids agree with loops over points."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

C = cm.cluster


def cells_of(x: Any, size: Any) -> list[tuple[int, ...]]:
    """The cell of every point, exactly."""
    return [tuple(int(q) for q in np.floor(point / size)) for point in x]


def check_labels(labels: Any, cells: list[tuple[int, ...]]) -> None:
    """Equal labels for equal cells, counted from 0 in the order of cells."""
    ranks = {cell: rank for rank, cell in enumerate(sorted(set(cells)))}
    assert labels.dtype == np.int64 and labels.tolist() == [ranks[cell] for cell in cells]


# ------------------------------------------------------------------------------------------------------------------ grid
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4"])
@pytest.mark.parametrize("dimension", [1, 2, 3, 5, 40])
def test_labels_number_the_cells(dimension: int, dtype: str, rng: np.random.Generator) -> None:
    x = (rng.normal(size=(300, dimension)) * 3).astype(dtype)
    check_labels(C.grid_cluster(x, 2), cells_of(x, 2))
    edges = rng.uniform(1, 4, dimension)
    check_labels(C.grid_cluster(x, edges), cells_of(x, edges))


@pytest.mark.parametrize("far", [1024, 2**20, 2**40, 2**51, 1e18, 1e300])
def test_no_two_cells_share_a_label(far: float) -> None:
    """Grids far too large for one number per cell; PyKeOps gives (0, 1024) and (1, 0) the same label."""
    x = np.array([*product((-far, 0.0, 1.0, far), repeat=7)])
    assert C.grid_cluster(np.array([[0.0, 1024], [1, 0], [5, 5]]), 1).tolist() == [0, 1, 2]
    labels = C.grid_cluster(x, 1.0)
    order = sorted(range(len(x)), key=lambda i: tuple(x[i]))
    assert labels[order].tolist() == list(range(len(x)))


def test_points_far_from_zero_keep_their_cells() -> None:
    """Between float32 cells on both sides of zero, differences need more digits than float32 has."""
    x = np.array([[-(2.0**24)], [2], [3], [4], [5], [2.0**24]], "f4")
    assert C.grid_cluster(x, 1).tolist() == [0, 1, 2, 3, 4, 5]


def test_points_on_a_line_and_no_points() -> None:
    assert C.grid_cluster([0.5, -3.0, 0.7, 9.0], 1.0).tolist() == [1, 0, 1, 2]
    assert C.grid_cluster(np.zeros((0, 3)), 1.0).shape == (0,)
    assert C.grid_cluster(np.zeros(0), 1.0).dtype == np.int64


# ------------------------------------------------------------------------------------------------------------------ sort
@pytest.mark.parametrize("largest", [0, 1, 300, 2**16 - 1, 2**16, 2**33])
def test_sorting_keeps_the_order_within_a_cluster(largest: int, rng: np.random.Generator) -> None:
    lab = rng.choice(rng.integers(0, largest + 1, 50), 1000)
    lab[rng.integers(1000)] = largest
    place = np.arange(1000)
    expected = sorted(range(1000), key=lambda i: lab[i])
    (where, squares), labels = C.sort_clusters((place, np.stack([place, place**2], axis=1)), lab)
    assert where.tolist() == expected and (labels == lab[expected]).all()
    assert (squares[:, 1] == where**2).all()


def test_containers_and_dtypes_come_back() -> None:
    lab = np.array([1, 0, 1], np.int16)
    x, labels = C.sort_clusters(np.float32([3, 4, 5]), lab)
    assert (x.tolist(), x.dtype, labels.dtype) == ([4, 3, 5], np.float32, np.int16)
    assert isinstance(C.sort_clusters([x, x], lab)[0], list) and isinstance(C.sort_clusters((x,), lab)[0], tuple)
    assert C.sort_clusters(np.zeros((0, 3)), np.zeros(0, int))[0].shape == (0, 3)


# ------------------------------------------------------------------------------------------------------------- summaries
def test_ranges_count_labels_in_any_order(rng: np.random.Generator) -> None:
    lab = rng.choice([0, 2, 3, 7], 100)
    ranges = C.cluster_ranges(lab, 9)
    ends = [int((lab <= c).sum()) for c in range(9)]
    assert ranges.dtype == np.int64 and ranges.tolist() == [[a, b] for a, b in zip([0, *ends], ends, strict=False)]
    assert (C.cluster_ranges(lab, np.bincount(lab, minlength=9).astype(float)) == ranges).all()
    assert (C.cluster_ranges(np.append(lab, 7)) == C.cluster_ranges(np.append(7, lab))).all()
    assert C.cluster_ranges(np.zeros(0, int)).shape == (0, 2)
    assert C.cluster_ranges([], 2).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("with_weights", [False, True])
@pytest.mark.parametrize("in_order", [False, True])
def test_centroids_are_means(in_order: bool, with_weights: bool, dtype: str, rng: np.random.Generator) -> None:
    """Of labels in any order, or sorted, one of them without points: its range is empty, its centroid NaN, its weight
    0.
    """
    lab = rng.choice([0, 1, 3, 4], 500)
    lab[:4] = [0, 1, 3, 4]
    if in_order:
        lab.sort()
    x = (rng.normal(size=(500, 3)) * 100).astype(dtype)
    weights = rng.random(500).astype("f4") if with_weights else None
    totals = np.array([(np.ones(500) if weights is None else weights)[lab == c].sum(dtype=float) for c in range(5)])
    means = np.full((5, 3), np.nan)
    for c in (0, 1, 3, 4):
        means[c] = np.average(x[lab == c].astype(float), axis=0, weights=None if weights is None else weights[lab == c])
    ranges, centroids, sums = C.cluster_ranges_centroids(x, lab, weights)
    assert centroids.dtype == (np.float64 if dtype == "i4" else x.dtype) and sums.dtype == np.float64
    tolerance = 100 * (1e-6 if dtype == "f4" else 1e-14)
    np.testing.assert_allclose(centroids, means, atol=tolerance)
    np.testing.assert_allclose(sums, totals, rtol=1e-12)
    assert (ranges == C.cluster_ranges(lab)).all() and ranges[2, 0] == ranges[2, 1]
    assert np.array_equal(C.cluster_centroids(x, lab, weights=weights), centroids, equal_nan=True)
    if weights is not None:
        both_weights = C.cluster_centroids(x, lab, weights=weights[:, None], weights_c=2 * sums[:, None])
        np.testing.assert_allclose(both_weights, means / 2, atol=tolerance)
    assert np.isnan(C.cluster_centroids(x, lab, 7, weights)[5:]).all()


def test_points_on_a_line_have_centroids() -> None:
    assert C.cluster_centroids([1.0, 2.0, 6.0], [1, 0, 1]).tolist() == [[2.0], [3.5]]
    assert np.isnan(C.cluster_centroids([1.0, 3.0], [0, 0], weights=[0.0, 0.0])).all()


# ---------------------------------------------------------------------------------------------------------------- matrix
def test_the_six_arrays_name_kept_clusters_one_by_one(rng: np.random.Generator) -> None:
    rows, columns = [[0, 3], [3, 3], [3, 9]], [[0, 2], [2, 5]]
    keep = np.array([[True, True], [False, True], [False, False]])
    arrays = C.from_matrix(rows, columns, keep)
    by_rows, by_columns = [[0, 2], [2, 5], [2, 5]], [[0, 3], [0, 3], [3, 3]]
    assert [a.tolist() for a in arrays] == [rows, [2, 3, 3], by_rows, columns, [1, 3], by_columns]
    assert all(a.dtype == np.int64 for a in arrays)
    assert C.from_matrix(np.zeros((0, 2), int), columns, np.zeros((0, 2), bool))[4].tolist() == [0, 0]


def test_axes_swap() -> None:
    assert C.swap_axes(None) is None
    assert C.swap_axes((1, 2, 3, 4, 5, 6)) == (4, 5, 6, 1, 2, 3)
    ranges = cm.Ranges.band(3, 4, 1)
    assert C.swap_axes(ranges) is ranges.T


# ---------------------------------------------------------------------------------------------------------------- device
def test_device_arrays_give_device_arrays(context: cm.Context, rng: np.random.Generator) -> None:
    x, weights = rng.normal(size=(400, 3)).astype("f4"), rng.random(400).astype("f4")
    points, factors = cm.array(x, context), cm.array(weights, context)
    lab = C.grid_cluster(points, 1.0)
    assert isinstance(lab, cm.DeviceArray) and lab.context is context
    assert (lab.to_numpy() == C.grid_cluster(x, 1.0)).all()
    (points, factors), lab = C.sort_clusters((points, factors), lab)
    (x, weights), labels = C.sort_clusters((x, weights), C.grid_cluster(x, 1.0))
    assert (lab.to_numpy() == labels).all() and (points.to_numpy() == x).all()
    for factors_on_device, on_host in ((None, None), (factors, weights), (weights, weights)):
        ranges, centroids, sums = C.cluster_ranges_centroids(points, lab, factors_on_device)
        expected = C.cluster_ranges_centroids(x, labels, on_host)
        assert isinstance(centroids, cm.DeviceArray) and centroids.dtype == np.float32
        np.testing.assert_allclose(centroids.to_numpy(), expected[1], atol=1e-5)
        assert (ranges == expected[0]).all() and (sums == expected[2]).all()
    in_other_order = C.cluster_centroids(points, labels[::-1])
    np.testing.assert_allclose(in_other_order.to_numpy(), C.cluster_centroids(x, labels[::-1]), atol=1e-5)
    assert np.isnan(C.cluster_centroids(points, lab, labels.max() + 2).to_numpy()[-1]).all()
