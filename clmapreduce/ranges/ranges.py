"""Ranges: the pairs of rows and columns that a reduction meets, given once and used many times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from clmapreduce.checks import choice, is_whole, numpy_array, quoted
from clmapreduce.domain.blocks import Blocks, blocks
from clmapreduce.domain.integers import Integers
from clmapreduce.domain.transposed import transposed
from clmapreduce.errors import DeviceMemoryError, DTypeError, ShapeError
from clmapreduce.host_room import needs_host_room
from clmapreduce.no_arithmetic import without_arithmetic
from clmapreduce.ranges import check
from clmapreduce.ranges.matrix import blocks_of_mask, blocks_of_matrix, boolean
from clmapreduce.ranges.near import boxes, centroids, coordinates, near
from clmapreduce.ranges.picture import draw, shown
from clmapreduce.ranges.stairs import staircase

Limits = tuple[tuple[str, Integers, int], ...]
"""Names of the arrays in the arguments, (n, 2) starts and ends, and the axis that must hold them: 0 rows, 1 columns."""


@without_arithmetic("combine masks before, as in cm.Ranges.from_mask(a | b)")
class Ranges:
    """The pairs of rows and columns of a block-sparse reduction. It never changes, and equals only itself: plans are
    stored with it.

    ranges: KeOps' six arrays of integers (ranges_i, slices_i, redranges_j, ranges_j, slices_j, redranges_i), or the
    first three, from which the others are computed. Rows ranges_i[k, 0] to ranges_i[k, 1] have the columns of all
    intervals redranges_j[l], l from slices_i[k - 1] (0 for the first) to slices_i[k]. The last three arrays describe
    the same pairs by columns, for reductions over rows. Intervals of one list may touch, overlap and come in any order:
    a pair counts once. The arrays are copied. It is not checked that both halves describe the same pairs.

    Raises ShapeError naming the first entry that is reversed, negative, out of order or does not fit, DTypeError for
    arrays that are not integers.
    """

    __slots__ = ("__weakref__", "_cache", "_halves", "_limits", "_parts", "_shape", "_swapped")

    @needs_host_room
    def __init__(self, ranges: Sequence[Any]) -> None:
        if not isinstance(ranges, (tuple, list)) or len(ranges) not in (3, 6):
            text = f"{len(ranges)} of them" if isinstance(ranges, (tuple, list)) else type(ranges).__name__
            raise ShapeError(
                f"ranges is {text}; give the six arrays (ranges_i, slices_i, redranges_j, ranges_j, slices_j, "
                "redranges_i), or the first three"
            )
        names = ("ranges_i", "slices_i", "redranges_j", "ranges_j", "slices_j", "redranges_i")
        first, limits = _half(ranges[:3], names[:3], (0, 1))
        second = None
        if len(ranges) == 6:
            second, more = _half(ranges[3:], names[3:], (1, 0))
            limits += more
        self._set({1: first, 0: second}, limits, None)

    def __reduce__(self) -> Any:
        return _unpickled, (self._halves, self._limits, self._shape)

    def _set(self, halves: dict[int, Blocks | None], limits: Limits, shape: tuple[int, int] | None) -> None:
        self._halves, self._limits, self._shape = halves, limits, shape
        self._cache: dict[tuple[int, int], dict[int, Blocks]] = {}
        self._parts: dict[tuple[int, ...], Ranges] = {}
        self._swapped: Ranges | None = None

    @classmethod
    def _of(cls, half: Blocks, limits: Limits = (), shape: tuple[int, int] | None = None) -> Ranges:
        ranges = cls.__new__(cls)
        ranges._set({1: half, 0: None}, limits, shape)
        return ranges

    # ------------------------------------------------------------------------------------------------------- makers
    @classmethod
    @needs_host_room
    def from_matrix(cls, ranges_i: Any, ranges_j: Any, keep: Any) -> Ranges:
        """The pairs of clusters that a coarse matrix keeps.

        ranges_i (R, 2), ranges_j (C, 2): first row and end of every cluster of rows, and of columns, in order and
        disjoint, as `cm.cluster.cluster_ranges` gives them. keep: (R, C) booleans, or a scipy.sparse matrix.
        """
        rows, columns = check.clusters(ranges_i, "ranges_i"), check.clusters(ranges_j, "ranges_j")
        half = blocks_of_matrix(rows, columns, boolean(keep, "keep", (len(rows), len(columns))))
        return cls._of(half, (("ranges_i", rows, 0), ("ranges_j", columns, 1)))

    @classmethod
    @needs_host_room
    def from_clusters(cls, labels_i: Any, labels_j: Any = None, keep: Any = None) -> Ranges:
        """The pairs whose labels a coarse matrix keeps: those with keep[labels_i[i], labels_j[j]].

        labels_i (M,), labels_j (N,): integers from 0 on that never decrease, as `cm.cluster.sort_clusters` gives them;
        labels_j is labels_i by default. keep: a matrix with a row for each label of rows and a column for each of
        columns, dense booleans or scipy.sparse; by default pairs of equal labels are kept.
        """
        first = _labels(labels_i, "labels_i")
        second = first if labels_j is None else _labels(labels_j, "labels_j")
        if keep is None:
            count = 1 + max((int(labels[-1]) for labels in (first, second) if len(labels)), default=-1)
            rows, columns = _clusters(first, count), _clusters(second, count)
            half = blocks(rows, np.arange(count + 1), columns, len(first), len(second))
            return cls._of(half, shape=(len(first), len(second)))
        matrix = boolean(keep, "keep")
        for labels, name, count, what in (
            (first, "labels_i", matrix.shape[0], "rows"),
            (second, "labels_i" if labels_j is None else "labels_j", matrix.shape[1], "columns"),
        ):
            if len(labels) and labels[-1] >= count:
                at = int(np.searchsorted(labels, count))
                raise ShapeError(f"{name}[{at}] is {labels[at]}, but keep has {count} {what}")
        half = blocks_of_matrix(_clusters(first, matrix.shape[0]), _clusters(second, matrix.shape[1]), matrix)
        return cls._of(half, shape=(len(first), len(second)))

    @classmethod
    @needs_host_room
    def from_mask(cls, mask: Any) -> Ranges:
        """The pairs (i, j) with mask[i, j]: (M, N) booleans, or a scipy.sparse matrix, whose entries count that are not
        zero. Neighbouring rows that meet the same columns become a cluster: sort rows and columns to make these large.
        """
        array = boolean(mask, "mask")
        half = blocks_of_mask(array)
        return cls._of(half, shape=(half.rows, half.columns))

    @classmethod
    def band(cls, M: int, N: int, width: int | tuple[int, int], *, block: int = 1) -> Ranges:
        """The pairs (i, j) of M rows and N columns with |i - j| <= width; -below <= j - i <= above for (below, above).

        block: so many rows make a cluster, which meets the columns that any of them would. Larger blocks are faster to
        walk, 1 is exact. Raises DeviceMemoryError where host memory has no room for the blocks.
        """
        rows, columns = check.count(M, "M"), check.count(N, "N")
        pair = width if isinstance(width, tuple) else (width, width)
        if len(pair) != 2:
            raise ShapeError(f"width is {width}; give a whole number, or two: (below, above)")
        below, above = (min(check.count(w, "width"), max(rows, columns)) for w in pair)
        if check.count(block, "block") == 0:
            raise ShapeError("block is 0; give at least 1 row")
        try:
            half = staircase(rows, columns, below, above, int(block))
        except (MemoryError, ValueError, OverflowError):  # NumPy's, for more rows than an array or an int64 holds
            raise DeviceMemoryError(
                f"a band of {rows} × {columns} in blocks of {block} has no room in host memory; give a larger block"
            ) from None
        return cls._of(half, shape=(rows, columns))

    @classmethod
    def lower_triangular(cls, M: int, N: int, *, block: int = 1) -> Ranges:
        """The pairs (i, j) of M rows and N columns with j <= i. block: as for `band`."""
        return cls.band(M, N, (check.count(M, "M"), 0), block=block)

    @classmethod
    @needs_host_room
    def radius(
        cls, x: Any, y: Any, distance: float, ranges_i: Any, ranges_j: Any = None, *,
        between: Literal["boxes", "centroids"] = "boxes",
    ) -> Ranges:  # fmt: skip
        """The pairs of clusters at most `distance` apart.

        x (M, D), y (N, D), or None for x again: points, sorted by clusters. ranges_i (R, 2), ranges_j (C, 2): where
        these are, as for `from_matrix`; ranges_j is ranges_i where y is None. between: "boxes" measures from box to
        box, so that no two points at most so far apart are missed; "centroids" from mean to mean.
        """
        first = coordinates(x, "x")
        second = first if y is None else coordinates(y, "y")
        if first.shape[1] != second.shape[1]:
            raise ShapeError(f"x has points of {first.shape[1]} coordinates, y of {second.shape[1]}; they must agree")
        if (ranges_j is None) != (y is None):
            present, missing = ("y", "ranges_j") if ranges_j is None else ("ranges_j", "y")
            raise ShapeError(f"{present} is given without {missing}; give both, or none to compare x with itself")
        choice(between, "between", ("boxes", "centroids"))
        given_distance = numpy_array(distance, "distance")
        if given_distance.ndim or given_distance.dtype.kind not in "iuf":
            raise DTypeError(f"distance is {quoted(distance)}; give a number")
        if not distance >= 0:
            raise ShapeError(f"distance is {distance}; give 0 or more")
        rows = check.clusters(ranges_i, "ranges_i")
        columns = rows if ranges_j is None else check.clusters(ranges_j, "ranges_j")
        check.within(rows, len(first), "ranges_i", "points in x")
        check.within(columns, len(second), "ranges_j", "points in y")
        rows, columns = rows[rows[:, 1] > rows[:, 0]], columns[columns[:, 1] > columns[:, 0]]
        around = boxes if between == "boxes" else centroids
        left = around(first, rows)
        right = left if second is first and ranges_j is None else around(second, columns)
        offsets, places = near(left, right, float(distance))
        half = blocks(rows, offsets, columns[places], len(first), len(second))
        return cls._of(half, shape=(len(first), len(second)))

    # --------------------------------------------------------------------------------------------------------- uses
    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns): of the mask, or as far as the clusters and intervals given reach."""
        if self._shape is not None:
            return self._shape
        reach = [0, 0]
        for _, pairs, axis in self._limits:
            reach[axis] = max(reach[axis], int(pairs[:, 1].max(initial=0)))
        return reach[0], reach[1]

    def half(self, axis: int, M: int, N: int) -> Blocks:
        """The blocks of a reduction over columns, whose results are rows (axis 1), or over rows (axis 0).

        M, N: rows and columns of the whole. Equal calls give the same object. Raises ShapeError where a mask has
        another shape, or an interval lies beyond.
        """
        M, N = check.count(M, "M"), check.count(N, "N")
        if not is_whole(axis) or axis not in (0, 1):
            raise ShapeError(f"axis is {quoted(axis)}; 1 reduces over columns, 0 over rows")
        by_axis = self._cache.get((M, N))
        if by_axis is None:
            self._check_shape(M, N)
            by_axis = self._cache[M, N] = {}
        if axis not in by_axis:
            own = self._own(axis)
            sizes = (M, N) if axis == 1 else (N, M)
            by_axis[axis] = own if (own.rows, own.columns) == sizes else replace(own, rows=sizes[0], columns=sizes[1])
        return by_axis[axis]

    def part(self, axis: int, M: int, N: int, first: int, end: int, remember: bool) -> Ranges:
        """The pairs of some results, from `first` to before `end`: rows where columns are reduced (axis 1), or columns.
        They count from 0. remember: equal calls give the same object, with its plans. M, N: as for `half`.
        """
        key = (axis, M, N, first, end)
        part = self._parts.get(key)
        if part is None:
            half = self.half(axis, M, N).part(first, end)
            part = type(self).__new__(type(self))
            shape = (end - first, N) if axis == 1 else (M, end - first)
            part._set({axis: half, 1 - axis: None}, (), shape)
            if remember:
                self._parts[key] = part
        return part

    def _check_shape(self, M: int, N: int) -> None:
        if self._shape is not None and self._shape != (M, N):
            raise ShapeError(
                f"the ranges are of {self._shape[0]} rows and {self._shape[1]} columns, there are {M} and {N}"
            )
        for name, pairs, axis in self._limits:
            check.within(pairs, (M, N)[axis], name, ("rows", "columns")[axis])

    def _own(self, axis: int) -> Blocks:
        """One half, whatever the shape; the other one's transposed where it was not given."""
        own = self._halves[axis]
        if own is None:
            other = self._halves[1 - axis]
            assert other is not None
            own = self._halves[axis] = transposed(other)
        return own

    @property
    def T(self) -> Ranges:
        """The same pairs with rows and columns swapped. Its own `T` is this one."""
        if self._swapped is None:
            ranges = type(self).__new__(type(self))
            limits = tuple((name, pairs, 1 - axis) for name, pairs, axis in self._limits)
            shape = None if self._shape is None else (self._shape[1], self._shape[0])
            ranges._set({1: self._own(0), 0: self._own(1)}, limits, shape)
            self._swapped, ranges._swapped = ranges, self
        return self._swapped

    def swap_axes(self) -> Ranges:
        """As `T`."""
        return self.T

    def arrays(self) -> tuple[Integers, Integers, Integers, Integers, Integers, Integers]:
        """KeOps' six arrays of these pairs, intervals joined: (ranges_i, slices_i, redranges_j, ranges_j, slices_j,
        redranges_i).
        """
        first, second = self._own(1), self._own(0)
        return (
            first.clusters.copy(), first.offsets[1:].copy(), first.intervals.astype(np.int64),
            second.clusters.copy(), second.offsets[1:].copy(), second.intervals.astype(np.int64),
        )  # fmt: skip

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return self._own(1).pairs

    @property
    def density(self) -> float:
        """The share of all pairs of `shape`."""
        return self._whole.density

    @property
    def balance(self) -> float:
        """Columns per row on average, over the most: 1 where all rows have the same work."""
        return self._whole.balance

    @property
    def _whole(self) -> Blocks:
        return self.half(1, *self.shape)

    def plot(self, axes: Any = None, *, pixels: int = 800) -> Any:
        """Draws the mask, active pairs dark, on matplotlib axes (new ones by default), and returns them.

        pixels: rows and columns of the picture, at most. Raises ImportError where matplotlib is missing.
        """
        if check.count(pixels, "pixels") == 0:
            raise ShapeError("pixels is 0; give at least 1")
        return draw(self._whole, axes, int(pixels))

    def _repr_html_(self) -> str:
        """What a notebook shows: the mask, active pairs dark, and its facts."""
        return shown(self._whole)

    def __repr__(self) -> str:
        whole = self._whole
        return (
            f"Ranges({whole.rows} x {whole.columns}: {len(whole.clusters)} clusters, {whole.offsets[-1]} intervals, "
            f"density {whole.density:.3g}, balance {whole.balance:.3g})"
        )


def _unpickled(halves: dict[int, Blocks | None], limits: Limits, shape: tuple[int, int] | None) -> Ranges:
    ranges = Ranges.__new__(Ranges)
    ranges._set(halves, limits, shape)
    return ranges


def as_ranges(value: Any) -> Ranges | None:
    """The argument `ranges=`: None, Ranges, or the arrays that `Ranges` takes."""
    return value if value is None or isinstance(value, Ranges) else Ranges(value)


def _half(arrays: Sequence[Any], names: Sequence[str], axes: tuple[int, int]) -> tuple[Blocks, Limits]:
    """Blocks that reach as far as three of KeOps' arrays do, and these arrays' limits. axes: of clusters, intervals."""
    clusters = check.clusters(arrays[0], names[0])
    intervals = check.intervals(arrays[2], names[2])
    offsets = check.slices(arrays[1], names[1], (names[0], len(clusters)), (names[2], len(intervals)))
    rows, columns = int(clusters[:, 1].max(initial=0)), int(intervals[:, 1].max(initial=0))
    limits = ((names[0], clusters, axes[0]), (names[2], intervals, axes[1]))
    return blocks(clusters, offsets, intervals, rows, columns), limits


def _labels(value: Any, name: str) -> Integers:
    """(n,) labels that never decrease. Raises ShapeError naming the first negative one, or the first that does."""
    labels = check.integers(value, name)
    if len(labels) and labels[0] < 0:
        raise ShapeError(f"{name}[0] is {labels[0]}; labels count from 0")
    wrong = labels[1:] < labels[:-1]
    if wrong.any():
        at = int(wrong.argmax()) + 1
        raise ShapeError(
            f"{name}[{at}] is {labels[at]}, less than {name}[{at - 1}] = {labels[at - 1]}; "
            "sort the points with cm.cluster.sort_clusters"
        )
    check.check_labels(labels, name)
    return labels


def _clusters(labels: Integers, count: int) -> Integers:
    """(count, 2): where each label begins and ends among sorted ones."""
    ends = np.cumsum(np.bincount(labels, minlength=count))
    return np.stack([np.concatenate([np.zeros(min(1, len(ends)), np.int64), ends[:-1]]), ends], axis=1)
