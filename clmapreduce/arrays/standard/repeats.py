"""Elements again, or further on: repeats, tiles, rolls; and arrays as their parts along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.arrays.joining import concatenate
from clmapreduce.arrays.operands import on_device
from clmapreduce.arrays.shapes import broadcast_to, moveaxis
from clmapreduce.calls.axes import axis_of
from clmapreduce.checks import LARGEST_SIZE, is_whole, quoted, whole
from clmapreduce.device.array import DeviceArray
from clmapreduce.errors import ShapeError


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> DeviceArray:
    """Each element several times, one after the other, along an axis; of all elements in C order if None. repeats: an
    integer, or one per element of the axis, which the host reads.
    """
    x = on_device(x)
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis_of(axis, x.ndim))
    length = x.shape[axis]
    if is_whole(repeats):
        count = whole(repeats, "repeats")
        shape = (*x.shape[: axis + 1], count, *x.shape[axis + 1 :])
        own = (*x.shape[: axis + 1], 1, *x.shape[axis + 1 :])
        return broadcast_to(x.reshape(own), shape).reshape((*x.shape[:axis], length * count, *x.shape[axis + 1 :]))
    counts = np.asarray(repeats)
    if counts.dtype.kind not in "iu" or counts.shape not in ((1,), (length,)) or (counts < 0).any():
        raise ShapeError(f"repeats is {quoted(repeats)}; give one integer, or {length} of them, none below 0")
    places = np.repeat(np.arange(length), counts)
    repeated: DeviceArray = x[(slice(None),) * axis + (places,)]
    return repeated


def tile(x: Any, repetitions: Any, /) -> DeviceArray:
    """The array several times along each axis. repetitions: an integer for the last axis, or one per axis."""
    x = on_device(x)
    several = repetitions if isinstance(repetitions, (tuple, list)) else (repetitions,)
    counts = tuple(whole(count, "a repetition") for count in several)
    rank = max(x.ndim, len(counts))
    own = (1,) * (rank - x.ndim) + x.shape
    counts = (1,) * (rank - len(counts)) + counts
    parted = x.reshape(tuple(extent for length in own for extent in (1, length)))
    shape = tuple(extent for count, length in zip(counts, own, strict=True) for extent in (count, length))
    return broadcast_to(parted, shape).reshape(tuple(c * n for c, n in zip(counts, own, strict=True)))


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> DeviceArray:
    """The elements further on by `shift` places along an axis, those beyond its end at its beginning; of all elements
    in C order if axis is None. Several axes have a shift each, or one for all.
    """
    x = on_device(x)
    if axis is None:
        if isinstance(shift, (tuple, list)):
            raise ShapeError(f"shift is {quoted(shift)} without axis; give one integer, or an axis for each")
        return roll(x.reshape(-1), shift, axis=0).reshape(x.shape)
    axes = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    shifts = list(shift) if isinstance(shift, (tuple, list)) else [shift] * len(axes)
    if len(shifts) != len(axes):
        raise ShapeError(f"shift is {quoted(shift)} and axis {quoted(axis)}; give as many of both")
    result: DeviceArray = x
    for one, by in zip(axes, shifts, strict=True):
        result = _rolled(result, axis_of(one, x.ndim), whole(by, "shift", -LARGEST_SIZE))
    return result.__copy__() if result is x else result


def unstack(x: Any, /, *, axis: int = 0) -> tuple[DeviceArray, ...]:
    """The parts of an array along an axis, without that axis; views of it where the axis is the first."""
    x = on_device(x)
    if not x.ndim:
        raise ShapeError("a 0-d array has no axis along which it comes apart")
    moved = moveaxis(x, axis_of(axis, x.ndim), 0)
    return tuple(moved[place] for place in range(moved.shape[0]))


def _rolled(x: DeviceArray, axis: int, shift: int) -> DeviceArray:
    length = x.shape[axis]
    cut = -shift % length if length else 0
    if not cut:
        return x
    before = (slice(None),) * axis
    return concatenate([x[(*before, slice(cut, None))], x[(*before, slice(None, cut))]], axis=axis)
