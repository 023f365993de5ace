"""Wrong ranges: an error that names the first offending entry and what would work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import clmapreduce as cm

R = cm.Ranges
ROWS, SLICES, LISTS = [[0, 4], [4, 4], [4, 9]], [1, 1, 3], [[0, 2], [5, 9], [2, 3]]
KEEP = np.ones((3, 3), bool)
X = np.arange(18.0).reshape(9, 2)

WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: R((ROWS, SLICES)), cm.ShapeError, r"ranges is 2 of them; give the six arrays"),
    (lambda: R(np.zeros((6, 2))), cm.ShapeError, r"ranges is ndarray"),
    (lambda: R((np.ones((2, 3), int), [1, 1], LISTS)), cm.ShapeError, r"ranges_i has shape \(2, 3\); give an array of shape \(n, 2\)"),
    (lambda: R((np.ones((2, 2)), [1, 1], LISTS)), cm.DTypeError, r"ranges_i has dtype float64"),
    (lambda: R(([[0, 4], [3, 9]], [1, 3], LISTS)), cm.ShapeError, r"ranges_i\[1\] is \(3, 9\), but ranges_i\[0\] ends at 4; clusters must not overlap"),
    (lambda: R(([[4, 9], [0, 4]], [1, 3], LISTS)), cm.ShapeError, r"ranges_i\[1\] is \(0, 4\), but ranges_i\[0\] ends at 9; .* come in order"),
    (lambda: R(([[0, 4], [9, 5]], [1, 3], LISTS)), cm.ShapeError, r"ranges_i\[1\] is \(9, 5\), which ends before it begins"),
    (lambda: R((ROWS, SLICES, [[0, 2], [-1, 9], [3, 2]])), cm.ShapeError, r"redranges_j\[1\] is \(-1, 9\), which begins below 0"),
    (lambda: R((ROWS, SLICES, [[0, 2], [3, 2], [-1, 9]])), cm.ShapeError, r"redranges_j\[1\] is \(3, 2\), which ends before"),
    (lambda: R((ROWS, [1, 3], LISTS)), cm.ShapeError, r"slices_i has length 2, ranges_i has 3"),
    (lambda: R((ROWS, [1, 0, 3], LISTS)), cm.ShapeError, r"slices_i\[1\] is 0, less than slices_i\[0\] = 1"),
    (lambda: R((ROWS, [-1, 0, 3], LISTS)), cm.ShapeError, r"slices_i\[0\] is -1, less than 0"),
    (lambda: R((ROWS, [1, 4, 4], LISTS)), cm.ShapeError, r"slices_i\[1\] is 4, but redranges_j has 3 intervals"),
    (lambda: R((ROWS, [1, 2, 2], LISTS)), cm.ShapeError, r"slices_i\[2\] is 2, but redranges_j has 3 intervals; slices end with 3"),
    (lambda: R(([], [], LISTS)), cm.ShapeError, r"slices_i is empty, but redranges_j has 3"),
    (lambda: R((ROWS, SLICES, LISTS, [[0, 9]], [2], [[0, 9]])), cm.ShapeError, r"slices_j\[0\] is 2, but redranges_i has 1"),
    (lambda: R((ROWS, SLICES, LISTS)).half(1, 8, 9), cm.ShapeError, r"ranges_i\[2\] is \(4, 9\), but there are 8 rows"),
    (lambda: R((ROWS, SLICES, LISTS)).half(0, 9, 8), cm.ShapeError, r"redranges_j\[1\] is \(5, 9\), but there are 8 columns"),
    (lambda: R((ROWS, SLICES, LISTS)).T.half(1, 8, 9), cm.ShapeError, r"redranges_j\[1\] is \(5, 9\), but there are 8 rows"),
    (lambda: R((ROWS, SLICES, LISTS)).half(2, 9, 9), cm.ShapeError, r"axis is 2"),
    (lambda: R((ROWS, SLICES, LISTS, [[0, 10]], [1], [[0, 9]])).half(1, 9, 9), cm.ShapeError, r"ranges_j\[0\] is \(0, 10\), but there are 9 columns"),
    (lambda: R.from_matrix(ROWS, ROWS, KEEP[:2]), cm.ShapeError, r"keep has shape \(2, 3\); give shape \(3, 3\)"),
    (lambda: R.from_matrix(ROWS, ROWS, sparse.csr_array(KEEP[:2])), cm.ShapeError, r"keep has shape \(2, 3\)"),
    (lambda: R.from_matrix(ROWS, ROWS, KEEP.astype(int)), cm.DTypeError, r"keep has dtype int64; give booleans, such as keep != 0"),
    (lambda: R.from_matrix(ROWS, [[0, 5], [4, 6], [7, 8]], KEEP), cm.ShapeError, r"ranges_j\[1\] is \(4, 6\), but ranges_j\[0\] ends at 5"),
    (lambda: R.from_matrix(ROWS, ROWS, KEEP).half(0, 9, 7), cm.ShapeError, r"ranges_j\[2\] is \(4, 9\), but there are 7 columns"),
    (lambda: R.from_mask(np.ones(5, bool)), cm.ShapeError, r"mask has shape \(5,\); give a matrix"),
    (lambda: R.from_mask(np.ones((5, 5))), cm.DTypeError, r"mask has dtype float64; give booleans, such as mask != 0"),
    (lambda: R.from_mask(KEEP).half(1, 3, 4), cm.ShapeError, r"the ranges are of 3 rows and 3 columns, there are 3 and 4"),
    (lambda: R.from_mask(KEEP[:2]).T.half(1, 2, 3), cm.ShapeError, r"the ranges are of 3 rows and 2 columns, there are 2 and 3"),
    (lambda: R.from_clusters([0, 2, 1]), cm.ShapeError, r"labels_i\[2\] is 1, less than labels_i\[1\] = 2; sort the points"),
    (lambda: R.from_clusters([-1, 0]), cm.ShapeError, r"labels_i\[0\] is -1; labels count from 0"),
    (lambda: R.from_clusters([0.0, 1.0]), cm.DTypeError, r"labels_i has dtype float64"),
    (lambda: R.from_clusters([0, 1, 3], [0], KEEP), cm.ShapeError, r"labels_i\[2\] is 3, but keep has 3 rows"),
    (lambda: R.from_clusters([0, 1], [0, 3, 4], KEEP), cm.ShapeError, r"labels_j\[1\] is 3, but keep has 3 columns"),
    (lambda: R.from_clusters([0, 2**40]), cm.ShapeError, r"labels_i\[1\] is 1099511627776, but there are 2 points"),
    (lambda: R.from_mask(np.ma.masked_array(KEEP, mask=KEEP)), cm.DTypeError, r"^mask is a masked array, .*x.filled\(value\)"),
    (lambda: R.from_matrix(ROWS, ROWS, np.ma.masked_array(KEEP, mask=KEEP)), cm.DTypeError, r"^keep is a masked array"),
    (lambda: R.from_clusters(np.ma.masked_array([0, 1], mask=[0, 1])), cm.DTypeError, r"^labels_i is a masked array"),
    (lambda: R((np.ma.masked_array(ROWS), SLICES, LISTS)), cm.DTypeError, r"^ranges_i is a masked array"),
    (lambda: R.radius(np.ma.masked_array(X, mask=X > 5), None, 1.0, ROWS), cm.DTypeError, r"^x is a masked array"),
    (lambda: R.band(5, 5, 2).plot(pixels=True), cm.DTypeError, r"pixels is True; give a whole number"),
    (lambda: R.band(5, 5, 2).plot(pixels=1.5), cm.DTypeError, r"pixels is 1.5; give a whole number"),  # type: ignore[arg-type]
    (lambda: R.band(5, 5, 2).plot(pixels=-1), cm.ShapeError, r"pixels is -1"),
    (lambda: R.band(5, 5, 2).plot(pixels=0), cm.ShapeError, r"pixels is 0; give at least 1"),
    (lambda: R.band(5, -1, 2), cm.ShapeError, r"N is -1"),
    (lambda: R.band(5, 5, -2), cm.ShapeError, r"width is -2"),
    (lambda: R.band(5, 5, (1, 2, 3)), cm.ShapeError, r"width is \(1, 2, 3\); give a whole number, or two"),  # type: ignore[arg-type]
    (lambda: R.band(5, 5, 1.5), cm.DTypeError, r"width is 1.5; give a whole number"),  # type: ignore[arg-type]
    (lambda: R.band(5, 5, 1, block=0), cm.ShapeError, r"block is 0"),
    (lambda: R.band(10**30, 5, 1, block=7), cm.DeviceMemoryError, r"a band of 10{30} × 5 in blocks of 7 has no room in host memory; give a larger block"),
    (lambda: R.lower_triangular(5.0, 5), cm.DTypeError, r"M is 5.0"),  # type: ignore[arg-type]
    (lambda: R.radius(X, X[:, :1], 1.0, ROWS, ROWS), cm.ShapeError, r"x has points of 2 coordinates, y of 1"),
    (lambda: R.radius(X, X, 1.0, ROWS), cm.ShapeError, r"y is given without ranges_j"),
    (lambda: R.radius(X, None, 1.0, ROWS, ROWS), cm.ShapeError, r"ranges_j is given without y"),
    (lambda: R.radius(X, None, -1.0, ROWS), cm.ShapeError, r"distance is -1.0; give 0 or more"),
    (lambda: R.radius(X, None, "1", ROWS), cm.DTypeError, r"distance is '1'; give a number"),  # type: ignore[arg-type]
    (lambda: R.radius(X, None, [1.0], ROWS), cm.DTypeError, r"distance is \[1.0\]; give a number"),  # type: ignore[arg-type]
    (lambda: R.radius(X, None, np.nan, ROWS), cm.ShapeError, r"distance is nan"),
    (lambda: R.radius(X, None, 1.0, [[0, 10]]), cm.ShapeError, r"ranges_i\[0\] is \(0, 10\), but there are 9 points in x"),
    (lambda: R.radius(np.where(X == 5, np.nan, X), None, 1.0, ROWS), cm.ShapeError, r"x\[2\] is \[4.0, nan\]; coordinates must be finite"),
    (lambda: R.radius(X * 1j, None, 1.0, ROWS), cm.DTypeError, r"x has dtype complex128"),
    (lambda: R.radius(X[None], None, 1.0, ROWS), cm.ShapeError, r"x has shape \(1, 9, 2\); give points as \(n, D\)"),
    (lambda: R.radius(X, None, 1.0, ROWS, between="edges"), cm.ModeError, r"between='edges' is unknown; use one of boxes, centroids"),  # type: ignore[arg-type]
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), WRONG, ids=[message[:50] for *_, message in WRONG])
def test_the_first_offending_entry_is_named(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
