"""Wrong points, labels and weights: an error that names the first offending entry and what would work."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

C = cm.cluster
X, LAB = np.arange(8.0).reshape(4, 2), [0, 1, 1, 3]

WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: C.grid_cluster(X[None], 1), cm.ShapeError, r"x has shape \(1, 4, 2\); give points as \(n, D\)"),
    (lambda: C.grid_cluster(X[:, :0], 1), cm.ShapeError, r"x has shape \(4, 0\)"),
    (lambda: C.grid_cluster(X * 1j, 1), cm.DTypeError, r"x has dtype complex128; give real coordinates"),
    (lambda: C.grid_cluster(np.where(X == 5, np.inf, X), 1), cm.ShapeError, r"x\[2\] is \[4.0, inf\]; coordinates must be finite"),
    (lambda: C.grid_cluster(X, 0), cm.ShapeError, r"size is 0; cells need an edge of more than 0"),
    (lambda: C.grid_cluster(X, [1, -2]), cm.ShapeError, r"size\[1\] is -2"),
    (lambda: C.grid_cluster(X, [1, np.nan]), cm.ShapeError, r"size\[1\] is nan"),
    (lambda: C.grid_cluster(X, [1, 2, 3]), cm.ShapeError, r"size has shape \(3,\) .*one for each of the 2 coordinates"),
    (lambda: C.grid_cluster(X * 1e300, 1e-300), cm.ShapeError, r"x / size overflows; give larger cells"),
    (lambda: C.sort_clusters(X, [0, 1, -2, -3]), cm.ShapeError, r"lab\[2\] is -2; labels count from 0"),
    (lambda: C.sort_clusters(X, [0.0, 1, 1, 3]), cm.DTypeError, r"lab has dtype float64"),
    (lambda: C.sort_clusters(X, [LAB]), cm.ShapeError, r"lab has shape \(1, 4\); give an array of shape \(M,\)"),
    (lambda: C.sort_clusters(X[:3], LAB), cm.ShapeError, r"x has shape \(3, 2\), lab has length 4"),
    (lambda: C.sort_clusters((X, X[0]), LAB), cm.ShapeError, r"x\[1\] has shape \(2,\), lab has length 4"),
    (lambda: C.cluster_ranges(LAB, 3), cm.ShapeError, r"lab\[3\] is 3; there are 3 labels"),
    (lambda: C.cluster_ranges(LAB, [1, 2, 1]), cm.ShapeError, r"lab\[3\] is 3; there are 3 labels"),
    (lambda: C.cluster_ranges(LAB, [1, 2, 1, 1]), cm.ShapeError, r"Nlab\[2\] is 1, but 0 points have label 2"),
    (lambda: C.cluster_ranges(LAB, 4.0), cm.ShapeError, r"Nlab has shape \(\) and dtype float64"),
    (lambda: C.cluster_centroids(X[:3], LAB), cm.ShapeError, r"x has shape \(3, 2\).*lab has 4"),
    (lambda: C.cluster_centroids(X * 1j, LAB), cm.DTypeError, r"x has dtype complex128"),
    (lambda: C.cluster_centroids(X, LAB, weights=[1, 2, 3]), cm.ShapeError, r"weights has shape \(3,\) .*each of the 4 points"),
    (lambda: C.cluster_centroids(X, LAB, weights=[1] * 4, weights_c=[1, 2, 3]), cm.ShapeError, r"weights_c has length 3, there are 4 labels"),
    (lambda: C.cluster_ranges_centroids(X, [0, -1, 0, 0]), cm.ShapeError, r"lab\[1\] is -1"),
    (lambda: C.from_matrix([[0, 2], [1, 4]], [[0, 4]], np.ones((2, 1), bool)), cm.ShapeError, r"ranges_i\[1\] is \(1, 4\), but ranges_i\[0\] ends at 2"),
    (lambda: C.from_matrix([[0, 2]], [[4, 0]], np.ones((1, 1), bool)), cm.ShapeError, r"ranges_j\[0\] is \(4, 0\), which ends before it begins"),
    (lambda: C.from_matrix([[0, 2]], [[0, 4]], np.ones((1, 2), bool)), cm.ShapeError, r"keep has shape \(1, 2\); give shape \(1, 1\)"),
    (lambda: C.cluster_ranges([0, 2**40]), cm.ShapeError, r"lab\[1\] is 1099511627776, but there are 2 points; .*np.unique"),
    (lambda: C.cluster_ranges([5, 2**62, 0]), cm.ShapeError, r"lab\[1\] is 4611686018427387904, but there are 3 points"),
    (lambda: C.cluster_ranges(LAB, 2**40), cm.ShapeError, r"Nlab is 1099511627776, of 4 points"),
    (lambda: C.cluster_centroids(X, [0, 1, 1, 2**40]), cm.ShapeError, r"lab\[3\] is 1099511627776"),
    (lambda: C.cluster_ranges_centroids(X, [0, 1, 1, 2**33]), cm.ShapeError, r"lab\[3\] is 8589934592"),
    (lambda: C.swap_axes((1, 2, 3)), cm.ShapeError, r"ranges is 3 of them; give KeOps' six arrays, cm.Ranges or None"),
    (lambda: C.swap_axes("abcdef"), cm.ShapeError, r"ranges is str"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), WRONG, ids=[message[:50] for *_, message in WRONG])
def test_the_first_offending_entry_is_named(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def mask_first(values: Any) -> Any:
    """The values with the first one behind a mask."""
    array = np.ma.masked_array(np.asarray(values), mask=False, copy=True)
    array.flat[0] = np.ma.masked
    return array


WITH_MASK: dict[str, Callable[[], Any]] = {
    "x": lambda: C.grid_cluster(mask_first(X), 1.0), "size": lambda: C.grid_cluster(X, mask_first([1.0, 1.0])),
    "x of sort": lambda: C.sort_clusters(mask_first(X), LAB), "x[1]": lambda: C.sort_clusters((X, mask_first(X)), LAB),
    "lab": lambda: C.sort_clusters(X, mask_first(LAB)), "lab of ranges": lambda: C.cluster_ranges(mask_first(LAB)),
    "Nlab": lambda: C.cluster_ranges(LAB, mask_first([1, 2, 0, 1])), "x of centroids": lambda: C.cluster_centroids(mask_first(X), LAB),
    "weights": lambda: C.cluster_centroids(X, LAB, weights=mask_first([1.0] * 4)),
    "weights_c": lambda: C.cluster_centroids(X, LAB, weights=[1.0] * 4, weights_c=mask_first([1.0] * 4)),
    "x of both": lambda: C.cluster_ranges_centroids(mask_first(X), LAB),
    "ranges_i": lambda: C.from_matrix(mask_first([[0, 2]]), [[0, 4]], np.ones((1, 1), bool)),
    "keep": lambda: C.from_matrix([[0, 2]], [[0, 4]], mask_first(np.ones((1, 1), bool))),
}  # fmt: skip


@pytest.mark.parametrize("name", WITH_MASK)
def test_masked_arrays_are_refused(name: str) -> None:
    """Their masked values would count."""
    with pytest.raises(cm.DTypeError, match=f"^{re.escape(name.split(' ')[0])} is a masked array"):
        WITH_MASK[name]()
