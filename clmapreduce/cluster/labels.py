"""Labels of points: checked, counted, and the stable order that sorts them."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from clmapreduce.checks import numpy_array
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.convert import array
from clmapreduce.domain.integers import Integers
from clmapreduce.errors import DTypeError, ShapeError
from clmapreduce.host_room import needs_host_room
from clmapreduce.ranges.check import MOST_EMPTY, check_labels

Arrays = TypeVar("Arrays")
DIGIT = 16
"""Bits that NumPy sorts by counting."""


@needs_host_room
def sort_clusters(x: Arrays, lab: Any) -> tuple[Arrays, Any]:
    """(x sorted, lab sorted): the points of a cluster are contiguous, in their original order.

    x: an array with M rows, or a tuple or list of such, which gives a tuple or list of sorted arrays. lab (M,):
    integers from 0 on, as `grid_cluster` gives them. Arrays on a device are sorted on the host and copied back. Raises
    ShapeError if lengths differ, or for the first negative label.
    """
    labels = labels_of(lab)
    several = isinstance(x, (tuple, list))
    for i, one in enumerate(x if isinstance(x, (tuple, list)) else [x]):
        name = f"x[{i}]" if several else "x"
        one = one if isinstance(one, DeviceArray) else numpy_array(one, name)
        rows = one.shape[:1]
        if rows != (len(labels),):
            raise ShapeError(
                f"{name} has shape {one.shape}, lab has length {len(labels)}; there is a label per row"
            )
    order = stable_order(labels)
    points: Any = type(x)(reordered(one, order) for one in x) if isinstance(x, (tuple, list)) else reordered(x, order)
    return points, reordered(lab, order)


def reordered(x: Any, order: Integers) -> Any:
    """Some rows of an array, on the device if it lives there."""
    if isinstance(x, DeviceArray):
        return array(np.take(x.to_numpy(), order, axis=0), x.context)
    return np.take(numpy_array(x, "x"), order, axis=0)


def labels_of(value: Any, count: int | None = None) -> Integers:
    """(M,) int64 labels from 0 to count - 1, a copy. Raises DTypeError, or ShapeError naming the first out of range."""
    array = numpy_array(value, "lab")
    if array.size and array.dtype.kind not in "iu":
        raise DTypeError(f"lab has dtype {array.dtype}; give an array of integers")
    if array.ndim != 1:
        raise ShapeError(f"lab has shape {array.shape}; give an array of shape (M,)")
    labels: Integers = array.astype(np.int64)  # a copy: what is checked here is what places are made of
    if len(labels) and (labels.min() < 0 or (count is not None and labels.max() >= count)):
        at = int(((labels < 0) | (labels >= (np.inf if count is None else count))).argmax())
        why = "labels count from 0" if labels[at] < 0 else f"there are {count} labels"
        raise ShapeError(f"lab[{at}] is {labels[at]}; {why}")
    return labels


def counts_of(labels: Integers, count: int = 0) -> Integers:
    """How many points have each label: as many labels as there are, at least `count`. labels: none negative.

    Raises ShapeError where many more labels than points would be counted.
    """
    check_labels(labels, "lab")
    if count > len(labels) + MOST_EMPTY:
        raise ShapeError(f"Nlab is {count}, of {len(labels)} points; at most {MOST_EMPTY} labels may have no point")
    return np.bincount(labels, minlength=count).astype(np.int64, copy=False)


def stable_order(labels: Integers) -> Integers:
    """The places of all labels, lowest label first, equal ones in order: digit by digit, from the lowest on."""
    largest = int(labels.max(initial=0))
    order: Integers = np.argsort(labels.astype(np.uint16), kind="stable")
    for shift in range(DIGIT, largest.bit_length(), DIGIT):
        digit = (labels >> shift).astype(np.uint16)
        order = order[np.argsort(digit[order], kind="stable")]
    return order
