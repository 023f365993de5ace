"""cm.cluster and cm.Ranges beside masks spelled out."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
from fuzz.case import Case, Shape
from fuzz.inputs import in_some_form, on_host
from support.masks import check_promises, mask_of_blocks, mask_of_half, random_clusters, random_half
from support.oracles import assert_near, assert_same, unit

import clmapreduce as cm

HOST = ("plain", "strided", "reversed", "offset", "readonly", "swapped")


def native(x: Any) -> Any:
    """In host memory, and in this machine's byte order: sorting keeps the caller's."""
    array = on_host(x)
    return array.astype(array.dtype.newbyteorder("="))


def clusters(case: Case) -> Shape:
    """Labels, orders, ranges and means."""
    dtype, dim = np.dtype(case.one(["f4", "f8", "i4"])), case.one([1, 2, 3])
    if not case.home.fp64 and dtype == np.float64:
        dtype = np.dtype("f4")

    def run(case: Case) -> None:
        length = case.length(4000)
        x = case.rng.normal(size=(length, dim)) * case.one([1, 10])
        x = x.round().astype(dtype) if dtype.kind == "i" else x.astype(dtype)
        size = case.one([0.5, 1.0, 3.0])
        argument = in_some_form(case, x)
        case.note(f"cm.cluster of {length} points, cells of {size}")
        labels = on_host(cm.cluster.grid_cluster(argument, size))
        cells = np.floor(x / size)
        expected = np.unique(cells, axis=0, return_inverse=True)[1].reshape(-1) if length else np.zeros(0, int)
        assert_same(labels, expected.astype(np.int64))
        order = np.argsort(labels, kind="stable")
        points, lab = cm.cluster.sort_clusters((argument, np.arange(length)), labels)
        assert_same(native(points[0]), x[order])
        assert_same(on_host(points[1]), order)
        assert_same(on_host(lab), labels[order])
        count = int(labels.max(initial=-1)) + 1 + case.one([0, 0, 2])
        ends = cm.cluster.cluster_ranges(labels, count)
        sizes = np.bincount(labels, minlength=count)
        assert_same(ends, np.stack([np.cumsum(sizes) - sizes, np.cumsum(sizes)], 1).astype(np.int64))
        weights = case.rng.uniform(0.5, 2, length).astype("f4") if case.chance(0.5) else None
        which, marks = (points[0], lab) if case.chance(0.5) else (argument, labels)
        factors = None if weights is None else weights[order] if which is points[0] else weights
        means = native(cm.cluster.cluster_centroids(which, marks, count, factors))
        kind = dtype if dtype.kind == "f" else np.dtype("f8")
        one = np.ones(length) if weights is None else weights.astype("f8")
        total = np.bincount(labels, one, count)
        with np.errstate(all="ignore"):
            exact = np.stack([np.bincount(labels, x[:, d].astype("f8") * one, count) / total for d in range(dim)], 1)
            far = np.stack([np.bincount(labels, np.abs(x[:, d].astype("f8")) * one, count) / total for d in range(dim)], 1)
        assert means.dtype == kind
        assert_near(means, exact, np.nan_to_num(8 * unit(kind) * far + length * 2.0**-52 * far))

    return run


def masks(case: Case) -> Shape:
    """Every way to say which pairs count."""
    form = case.one(["keops", "matrix", "clusters", "mask", "sparse mask", "band", "triangle", "radius"])

    def run(case: Case) -> None:
        rng, m, n = case.rng, case.below(120), case.below(120)
        case.note(f"cm.Ranges by {form}, {m} x {n}")
        if form == "keops":
            half = random_half(rng, m, n)
            ranges, expected = cm.Ranges(half), mask_of_half(half, m, n)
        elif form == "matrix":
            rows, columns = (random_clusters(rng, case.below(6, 1), k, case.chance(0.5)) for k in (m, n))
            keep = rng.random((len(rows), len(columns))) < rng.random()
            ranges = cm.Ranges.from_matrix(in_some_form(case, rows, forms=HOST), columns, sparse.csr_array(keep) if case.chance(0.3) else keep)
            expected = np.zeros((m, n), bool)
            for i, j in np.argwhere(keep):
                expected[slice(*rows[i]), slice(*columns[j])] = True
        elif form == "clusters":
            first, second = (np.sort(rng.integers(0, 6, k)) for k in (m, n))
            keep = rng.random((6, 6)) < 0.4
            ranges, expected = cm.Ranges.from_clusters(first, second, keep), keep[first[:, None], second[None]]
        elif form in ("mask", "sparse mask"):
            expected = rng.random((m, n)) < rng.random() if case.chance(0.5) else np.repeat(rng.random((m, (n + 6) // 7)) < 0.5, 7, 1)[:, :n]
            ranges = cm.Ranges.from_mask(sparse.csr_array(expected) if form[0] == "s" else in_some_form(case, expected, forms=HOST))
        elif form == "band":
            below, above = case.below(20), case.below(20)
            apart = np.arange(n)[None] - np.arange(m)[:, None]
            ranges, expected = cm.Ranges.band(m, n, (below, above)), (apart >= -below) & (apart <= above)
        elif form == "triangle":
            ranges, expected = cm.Ranges.lower_triangular(m, n), np.arange(n)[None] <= np.arange(m)[:, None]
        else:
            x, y = rng.uniform(size=(m, 2)), rng.uniform(size=(n, 2))
            rows, columns = (random_clusters(rng, case.below(5, 1), k, False) for k in (m, n))
            reach = case.one([0.0, 0.1, 0.4, 2.0])
            ranges, expected = cm.Ranges.radius(x, y, reach, rows, columns), np.zeros((m, n), bool)
            for i in rows:
                for j in columns:
                    if i[1] > i[0] and j[1] > j[0]:
                        a, b = x[slice(*i)], y[slice(*j)]
                        gap = np.maximum(0, np.maximum(b.min(0) - a.max(0), a.min(0) - b.max(0)))
                        expected[slice(*i), slice(*j)] = (gap**2).sum() <= reach**2
        _check(ranges, expected)
        _check(ranges.T, expected.T)
        assert ranges.pairs == int(expected.sum())

    return run


def _check(ranges: Any, expected: Any) -> None:
    for axis in (1, 0):
        blocks = ranges.half(axis, *expected.shape)
        check_promises(blocks)
        assert_same(mask_of_blocks(blocks), np.ascontiguousarray(expected if axis == 1 else expected.T))


FAMILIES = {"clusters": clusters, "masks": masks}
