"""Where clusters begin and end, their centroids and their weights."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from clmapreduce.checks import is_whole, numpy_array, whole
from clmapreduce.cluster.labels import counts_of, labels_of
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.convert import array
from clmapreduce.domain.blocks import from_counts
from clmapreduce.domain.integers import Integers
from clmapreduce.errors import DTypeError, ShapeError
from clmapreduce.host_room import needs_host_room
from clmapreduce.reductions.base import Accumulate
from clmapreduce.segmented import segmented_reduce

Floats: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"


@needs_host_room
def cluster_ranges(lab: Any, Nlab: Any = None) -> Integers:
    """(C, 2) int64: first row and end of every cluster after the points are sorted. lab itself need not be sorted.

    lab (M,): integers from 0 on. Nlab: the number C of labels, or (C,) the number of points of each label; by default C
    is the largest label plus 1. A label without points gets an empty range. The result is in host memory, because masks
    are made there. Raises ShapeError naming the first label out of range.
    """
    ends = from_counts(_counts(lab, Nlab)[1])
    return np.stack([ends[:-1], ends[1:]], axis=1)


@needs_host_room
def cluster_centroids(x: Any, lab: Any, Nlab: Any = None, weights: Any = None, weights_c: Any = None) -> Any:
    """(C, D) means of the points of every label, in any order, in the dtype of x (float64 for integers).

    x (M, D); (M,) counts as (M, 1). lab, Nlab: as for `cluster_ranges`. weights (M,): the weights of the points in the
    means. weights_c (C,): the sums of these weights, if known. A label without points, or with weight 0, gets NaN. Sums
    are float64. A DeviceArray of points gives a DeviceArray; if the labels are sorted, the sums are computed on the
    device.
    """
    labels, counts = _counts(lab, Nlab)
    points, factors = _points(x, labels), _weights(weights, labels)
    sums: Any = None if weights_c is None else numpy_array(weights_c, "weights_c", np.float64).ravel()
    if sums is not None and len(sums) != len(counts):
        raise ShapeError(f"weights_c has length {len(sums)}, there are {len(counts)} labels")
    if factors is None:
        sums = counts.astype(np.float64)
    elif sums is None:
        sums = np.bincount(labels, weights=_host(factors), minlength=len(counts))
    return _centroids(points, labels, counts, factors, sums)


@needs_host_room
def cluster_ranges_centroids(x: Any, lab: Any, weights: Any = None) -> tuple[Integers, Any, Floats]:
    """(ranges (C, 2), centroids (C, D), weights (C,)) of all clusters: `cluster_ranges`, `cluster_centroids`, and the
    sums of the points' weights, or how many there are, as float64 in host memory.
    """
    labels, counts = _counts(lab, None)
    points, factors = _points(x, labels), _weights(weights, labels)
    totals: Any = counts.astype(np.float64)
    if factors is not None:
        totals = np.bincount(labels, weights=_host(factors), minlength=len(counts))
    ends = from_counts(counts)
    return np.stack([ends[:-1], ends[1:]], axis=1), _centroids(points, labels, counts, factors, totals), totals


def _counts(lab: Any, Nlab: Any) -> tuple[Integers, Integers]:
    """(labels, how many points have each), checked against `Nlab`."""
    if Nlab is None:
        labels = labels_of(lab)
        return labels, counts_of(labels)
    sizes = np.asarray(whole(Nlab, "Nlab")) if is_whole(Nlab) else numpy_array(Nlab, "Nlab")
    if sizes.ndim > 1 or sizes.dtype.kind not in ("iuf" if sizes.ndim else "iu"):
        text = f"shape {sizes.shape} and dtype {sizes.dtype}"
        raise ShapeError(f"Nlab has {text}; give the number of labels, or how many points have each (C,)")
    labels = labels_of(lab, len(sizes) if sizes.ndim else int(sizes))
    counts = counts_of(labels, len(sizes) if sizes.ndim else int(sizes))
    if sizes.ndim and (sizes != counts).any():
        at = int((sizes != counts).argmax())
        raise ShapeError(f"Nlab[{at}] is {sizes[at]:g}, but {counts[at]} points have label {at}")
    return labels, counts


def _points(x: Any, labels: Integers) -> Any:
    """(M, D) points, where they live."""
    points = x if isinstance(x, DeviceArray) else numpy_array(x, "x")
    if points.dtype.kind not in "biuf":
        raise DTypeError(f"x has dtype {points.dtype}; give real coordinates")
    if points.ndim not in (1, 2) or len(points) != len(labels):
        raise ShapeError(f"x has shape {points.shape}; give points as (M, D), with a label each: lab has {len(labels)}")
    return points.reshape(len(labels), 1) if points.ndim == 1 else points


def _weights(weights: Any, labels: Integers) -> Any:
    """(M,) weights, where they live, or None."""
    if weights is None:
        return None
    factors = weights if isinstance(weights, DeviceArray) else numpy_array(weights, "weights")
    if factors.size != len(labels) or factors.dtype.kind not in "biuf":
        text = f"shape {factors.shape} and dtype {factors.dtype}"
        raise ShapeError(f"weights has {text}; give a real number for each of the {len(labels)} points")
    return factors.reshape(len(labels))


def _host(x: Any) -> Any:
    return x.to_numpy() if isinstance(x, DeviceArray) else x


def _centroids(points: Any, labels: Integers, counts: Integers, factors: Any, totals: Floats) -> Any:
    """Sums over totals: over segments where labels are sorted, else by counting, which needs no order."""
    dtype = points.dtype if points.dtype.kind == "f" else np.dtype(np.float64)
    on_device = isinstance(points, DeviceArray)
    ordered = bool((labels[1:] >= labels[:-1]).all())
    if on_device and ordered:
        sums = _sums_there(points, counts, factors)
    else:
        sums = _sums(_host(points), labels, counts, _host(factors), ordered)
    with np.errstate(divide="ignore", invalid="ignore"):
        centroids = (sums / np.where(totals == 0, np.nan, totals)[:, None]).astype(dtype)
    return array(centroids, points.context) if on_device else centroids


def _sums(points: Any, labels: Integers, counts: Integers, factors: Any, ordered: bool) -> Floats:
    sums = np.zeros((len(counts), points.shape[1]))
    filled = np.flatnonzero(counts)
    begins = from_counts(counts)[filled]
    for d in range(points.shape[1]):
        column = points[:, d] if factors is None else points[:, d] * factors.astype(np.float64)
        if ordered:
            sums[filled, d] = np.add.reduceat(column, begins, dtype=np.float64)
        else:
            sums[:, d] = np.bincount(labels, weights=column, minlength=len(counts))
    return sums


def _sums_there(points: Any, counts: Integers, factors: Any) -> Floats:
    values, mapped = (points, None) if factors is None else ((points, factors), "x * w")
    accumulate: Accumulate = "double" if points.context.facts.fp64 else "auto"
    sums: Floats = segmented_reduce(values, from_counts(counts), map=mapped, accumulate=accumulate).to_numpy()
    return sums.astype(np.float64)
