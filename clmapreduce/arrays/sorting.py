"""Sorts of arrays on a device, by NumPy's names and those of the array API standard."""

from __future__ import annotations

from typing import Any, NamedTuple

from clmapreduce.arrays.operands import on_device
from clmapreduce.arrays.standard.search import searchsorted as searchsorted_of
from clmapreduce.device.array import DeviceArray
from clmapreduce.errors import ArgumentError
from clmapreduce.sorting.arrays import argsort as argsort_of
from clmapreduce.sorting.arrays import sort as sort_of
from clmapreduce.sorting.unique import unique as unique_of

KINDS = (None, "stable", "mergesort", "quicksort", "heapsort")
"""NumPy's words for how to sort: every sort here is stable."""


def sort(
    x: Any, /, *, axis: int | None = -1, descending: bool = False, stable: bool = True, kind: str | None = None
) -> DeviceArray:
    """The values in order along an axis, of all elements as one line if None, as `cm.sort`."""
    _check_kind(kind)
    result: DeviceArray = sort_of(on_device(x), axis=axis, descending=descending)
    return result


def argsort(
    x: Any, /, *, axis: int | None = -1, descending: bool = False, stable: bool = True, kind: str | None = None
) -> DeviceArray:
    """The places of the values in order along an axis, as `cm.argsort`."""
    _check_kind(kind)
    result: DeviceArray = argsort_of(on_device(x), axis=axis, descending=descending)
    return result


def searchsorted(x1: Any, x2: Any, /, side: str = "left", sorter: Any = None) -> DeviceArray:
    """The places in x1 where the values x2 would be inserted, as `cm.searchsorted`."""
    result: DeviceArray = searchsorted_of(on_device(x1), x2, side=side, sorter=sorter)
    return result


def unique(
    x: Any, /, *, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    equal_nan: bool = True,
) -> Any:  # fmt: skip
    """The sorted distinct values, and optional results, as `cm.unique`."""
    return unique_of(
        on_device(x), return_index=return_index, return_inverse=return_inverse, return_counts=return_counts,
        equal_nan=equal_nan,
    )  # fmt: skip


class UniqueCounts(NamedTuple):
    """Distinct values, and how many elements have each."""

    values: DeviceArray
    counts: DeviceArray


class UniqueInverse(NamedTuple):
    """Distinct values, and the number of the value of each element."""

    values: DeviceArray
    inverse_indices: DeviceArray


class UniqueAll(NamedTuple):
    """Distinct values, the first place of each, the index of the value of each element, and the count of each."""

    values: DeviceArray
    indices: DeviceArray
    inverse_indices: DeviceArray
    counts: DeviceArray


def unique_values(x: Any, /) -> DeviceArray:
    """The distinct values in order; every NaN is one of its own, as the standard says."""
    values: DeviceArray = unique(x, equal_nan=False)
    return values


def unique_counts(x: Any, /) -> UniqueCounts:
    """Distinct values and their counts, as `unique_values`."""
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Any, /) -> UniqueInverse:
    """Distinct values and which one each element is, as `unique_values`."""
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False))


def unique_all(x: Any, /) -> UniqueAll:
    """All that `unique` tells, as `unique_values`."""
    return UniqueAll(*unique(x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False))


def _check_kind(kind: Any) -> None:
    if kind not in KINDS:
        raise ArgumentError(f"kind is {kind!r}; every sort here is stable, leave it out")
