"""Ranges hold the pairs of their mask, from either side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from support.masks import check_promises, mask_of_blocks, mask_of_half, random_clusters, random_half

import clmapreduce as cm

Array = np.ndarray[Any, Any]


def check_pairs(ranges: cm.Ranges, mask: Array) -> None:
    """Asserts both halves, those of the transposed ranges, and their facts."""
    rows, columns = mask.shape
    for axis, pairs in ((1, mask), (0, mask.T)):
        half = ranges.half(axis, rows, columns)
        check_promises(half)
        assert (mask_of_blocks(half) == pairs).all()
        assert (mask_of_blocks(ranges.T.half(1 - axis, columns, rows)) == pairs).all()
        assert ranges.half(axis, rows, columns) is half
    assert ranges.pairs == mask.sum()
    assert ranges.T.T is ranges and ranges.swap_axes() is ranges.T
    arrays = ranges.arrays()
    assert (mask_of_half(arrays[:3], rows, columns) == mask).all()
    assert (mask_of_half(arrays[3:], columns, rows) == mask.T).all()


@pytest.mark.parametrize("repeat", range(10))
def test_three_arrays_determine_the_other_three(repeat: int, rng: np.random.Generator) -> None:
    rows, columns = (int(n) for n in rng.integers(0, 30, 2))
    half = random_half(rng, rows, columns)
    check_pairs(cm.Ranges(half), mask_of_half(half, rows, columns))


def test_six_arrays_are_taken_as_they_are(rng: np.random.Generator) -> None:
    first, second = random_half(rng, 20, 30), random_half(rng, 30, 20)
    ranges = cm.Ranges([*first, *second])
    assert (mask_of_blocks(ranges.half(1, 20, 30)) == mask_of_half(first, 20, 30)).all()
    assert (mask_of_blocks(ranges.half(0, 20, 30)) == mask_of_half(second, 30, 20)).all()


def test_arguments_may_change_afterwards(rng: np.random.Generator) -> None:
    half = random_half(rng, 20, 30)
    mask = mask_of_half(half, 20, 30)
    ranges = cm.Ranges(half)
    for array in half:
        array[...] = 0
    check_pairs(ranges, mask)


@pytest.mark.parametrize("kind", ["dense", "csr", "csc", "coo"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("density", [0.0, 0.3, 0.8, 1.0])
def test_a_coarse_matrix_keeps_whole_clusters(density: float, gaps: bool, kind: str, rng: np.random.Generator) -> None:
    rows, columns = random_clusters(rng, 6, 25, gaps), random_clusters(rng, 9, 40, gaps)
    keep = rng.random((6, 9)) < density
    mask = np.zeros((25, 40), bool)
    for k, n in zip(*np.nonzero(keep), strict=True):
        mask[slice(*rows[k]), slice(*columns[n])] = True
    matrix = keep if kind == "dense" else sparse.csr_array(keep).asformat(kind)
    check_pairs(cm.Ranges.from_matrix(rows, columns, matrix), mask)
    check_pairs(cm.Ranges(cm.cluster.from_matrix(rows, columns, matrix)), mask)


@pytest.mark.parametrize("kind", ["dense", "csr", "coo"])
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1), (12, 31), (40, 3)])
def test_a_mask_is_its_pairs(shape: tuple[int, int], kind: str, rng: np.random.Generator) -> None:
    mask = np.repeat(rng.random(shape) < 0.5, rng.integers(1, 4, shape[0]), axis=0)
    matrix = mask if kind == "dense" else sparse.coo_array(mask.astype(np.int8)).asformat(kind)
    check_pairs(cm.Ranges.from_mask(matrix), mask)


def test_neighbouring_rows_alike_are_a_cluster() -> None:
    mask = np.zeros((9, 8), bool)
    mask[1:4, 2:5] = mask[4:6, 2:6] = mask[6, [0, 3]] = mask[7, [0, 3]] = mask[8, [0, 4]] = True
    half = cm.Ranges.from_mask(mask).half(1, 9, 8)
    assert half.clusters.tolist() == [[1, 4], [4, 6], [6, 8], [8, 9]]
    assert half.offsets.tolist() == [0, 1, 2, 4, 6]


def test_entries_that_cancel_or_are_zero() -> None:
    """A sparse mask holds the places of stored entries that are not zero, even where duplicates add up to zero."""
    matrix = sparse.coo_array(([2, -2, 0, 5], ([0, 0, 1, 2], [1, 1, 0, 3])), shape=(3, 4))
    mask = np.zeros((3, 4), bool)
    mask[0, 1] = mask[2, 3] = True
    check_pairs(cm.Ranges.from_mask(matrix), mask)


def test_entries_out_of_order_or_twice() -> None:
    matrix = sparse.csr_array((np.ones(5, bool), np.array([3, 1, 2, 0, 0]), np.array([0, 3, 5])), shape=(2, 4))
    indices_before = matrix.indices.copy()
    check_pairs(cm.Ranges.from_mask(matrix), np.array([[False, True, True, True], [True, False, False, False]]))
    assert (matrix.indices == indices_before).all()


def test_labels_choose_among_a_coarse_matrix(rng: np.random.Generator) -> None:
    first, second = np.sort(rng.integers(0, 6, 30)), np.sort(rng.integers(0, 4, 20))
    keep = rng.random((7, 5)) < 0.5
    check_pairs(cm.Ranges.from_clusters(first, second, keep), keep[first[:, None], second])
    check_pairs(cm.Ranges.from_clusters(first, second, sparse.csr_matrix(keep)), keep[first[:, None], second])
    check_pairs(cm.Ranges.from_clusters(first, second), first[:, None] == second)
    check_pairs(cm.Ranges.from_clusters(first), first[:, None] == first)
    check_pairs(cm.Ranges.from_clusters([], second), np.zeros((0, 20), bool))
    check_pairs(cm.Ranges.from_clusters([], []), np.zeros((0, 0), bool))


@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (0, 3), (1, 1), (7, 7), (5, 12), (12, 5)])
@pytest.mark.parametrize("width", [0, 2, 50, (3, 0), (0, 4), 10**30])
def test_bands(rows: int, columns: int, width: int | tuple[int, int]) -> None:
    below, above = width if isinstance(width, tuple) else (width, width)
    apart = np.arange(columns) - np.arange(rows)[:, None]
    band = (apart >= -below) & (apart <= above)
    check_pairs(cm.Ranges.band(rows, columns, width), band)
    for block in (3, 100):
        wide = np.array([band[i // block * block :][:block].any(axis=0) for i in range(rows)]).reshape(band.shape)
        check_pairs(cm.Ranges.band(rows, columns, width, block=block), wide)
    check_pairs(cm.Ranges.lower_triangular(rows, columns), np.tri(rows, columns, dtype=bool))


@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize("between", ["boxes", "centroids"])
def test_clusters_within_a_distance(dimension: int, between: Any, rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(300, dimension)).astype("f4"), rng.normal(size=(500, dimension))
    rows, columns = random_clusters(rng, 150, 300, False), random_clusters(rng, 200, 500, True)
    distance = float(rng.random())
    mask = np.zeros((300, 500), bool)
    for first, last in rows:
        for low, high in columns:
            if first == last or low == high:
                continue
            some, other = x[first:last].astype(float), y[low:high]
            gap = np.maximum(0, np.maximum(other.min(0) - some.max(0), some.min(0) - other.max(0)))
            if between == "centroids":
                gap = some.mean(0) - other.mean(0)
            mask[first:last, low:high] = np.sqrt((gap**2).sum()) <= distance
    check_pairs(cm.Ranges.radius(x, y, distance, rows, columns, between=between), mask)


def test_no_near_pair_is_missed(rng: np.random.Generator) -> None:
    """Among boxes of one set of points: distances on a grid, where many are just as far as allowed."""
    x = rng.integers(0, 6, (200, 2)) / 8
    x, lab = cm.cluster.sort_clusters(x, cm.cluster.grid_cluster(x, 0.25))
    ranges = cm.Ranges.radius(x, None, 0.375, cm.cluster.cluster_ranges(lab))
    mask = mask_of_blocks(ranges.half(1, 200, 200))
    near = ((x[:, None] - x) ** 2).sum(-1) <= 0.375**2
    assert mask[near].all() and (mask == mask.T).all() and not mask.all()


@pytest.mark.parametrize("count", [0, 1])
def test_radius_of_nothing(count: int) -> None:
    x = np.ones((count, 2))
    ranges = cm.Ranges.radius(x, None, 1.0, [[0, 0], [0, count]])
    check_pairs(ranges, np.ones((count, count), bool))
    check_pairs(cm.Ranges.radius(x, np.ones((3, 2)), 1.0, [[0, 0]], np.zeros((0, 2))), np.zeros((count, 3), bool))


# ----------------------------------------------------------------------------------------------------------- what it is
def test_ranges_equal_only_themselves() -> None:
    one, other = cm.Ranges.band(4, 4, 1), cm.Ranges.band(4, 4, 1)
    assert one != other and len({one, other, one}) == 2


def test_arrays_reach_as_far_as_the_whole_needs(rng: np.random.Generator) -> None:
    ranges = cm.Ranges.from_matrix([[0, 4], [4, 6]], [[2, 5]], np.ones((2, 1), bool))
    assert ranges.shape == (6, 5) and ranges.T.shape == (5, 6)
    small, large = ranges.half(1, 6, 5), ranges.half(1, 9, 8)
    assert (small.rows, small.columns, large.rows, large.columns) == (6, 5, 9, 8)
    assert large.pairs == small.pairs == 18 and large.density == 18 / 72
    assert ranges.half(1, 6, 5) is small


def test_a_repr_shows_density_and_balance() -> None:
    mask = np.zeros((10, 8), bool)
    mask[:5, :4] = mask[5:, 2:4] = True
    ranges = cm.Ranges.from_mask(mask)
    assert (ranges.density, ranges.balance) == (30 / 80, 30 / 40)
    assert repr(ranges) == "Ranges(10 x 8: 2 clusters, 2 intervals, density 0.375, balance 0.75)"


def test_pictures_show_how_full_each_pixel_is(rng: np.random.Generator) -> None:
    from clmapreduce.ranges.picture import picture

    mask = np.repeat(rng.random((12, 60)) < 0.4, 5, axis=0)
    blocks = cm.Ranges.from_mask(mask).half(1, 60, 60)
    np.testing.assert_allclose(picture(blocks, 60, 60), mask, atol=1e-12)
    np.testing.assert_allclose(picture(blocks, 4, 6), mask.reshape(4, 15, 6, 10).mean(axis=(1, 3)), atol=1e-12)
    fine = np.repeat(np.repeat(mask, 7, axis=0), 7, axis=1)  # pixels that cut rows and columns
    np.testing.assert_allclose(picture(blocks, 7, 7), fine.reshape(7, 60, 7, 60).mean(axis=(1, 3)), atol=1e-12)
    assert picture(cm.Ranges.from_mask(np.zeros((0, 0), bool)).half(1, 0, 0), 1, 1).tolist() == [[0]]


def test_plot_draws_on_the_axes_of_the_caller() -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.add_subplot()
    assert cm.Ranges.band(50, 60, 5).plot(axes) is axes
    assert axes.images[0].get_array().shape == (50, 60)
    assert "%" in axes.get_title()


def test_plot_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"clmapreduce\[plot\]"):
        cm.Ranges.band(5, 6, 1).plot()
