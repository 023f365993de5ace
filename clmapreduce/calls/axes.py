"""Axes by number, and lines along them: what a reduction or a scan runs over."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Argument, Shape, array_argument
from clmapreduce.checks import quoted
from clmapreduce.device.array import DeviceArray, NumpyArray, Part, contiguous
from clmapreduce.errors import PlaceError, ShapeError
from clmapreduce.formula.formula import Access


def axis_of(axis: Any, rank: int) -> int:
    """The number of an axis, from 0 on; negative ones count from the end. Raises PlaceError."""
    try:
        number = operator.index(axis)
    except TypeError:
        raise PlaceError(f"axis is {quoted(axis)}; give a whole number, or a tuple of them") from None
    if isinstance(axis, bool) or not -rank <= number < rank:
        axes = f"{rank} axes has {-rank} … {rank - 1}" if rank else "shape () has no axis"
        raise PlaceError(f"axis is {axis!r}; an array of {axes}")
    return number % rank


def axes_of(axis: Any, rank: int, single: bool = False) -> tuple[int, ...]:
    """The axes of a reduction in order: all for None. single: one axis, or all. Raises PlaceError, ShapeError."""
    if axis is None:
        return tuple(range(rank))
    if single and isinstance(axis, (tuple, list)):
        raise PlaceError(f"axis is {quoted(axis)}; a place is along one axis, or among all elements for None")
    axes = sorted(axis_of(each, rank) for each in (axis if isinstance(axis, (tuple, list)) else (axis,)))
    if len(set(axes)) < len(axes):
        raise ShapeError(f"axis is {quoted(axis)}, which names an axis twice")
    return tuple(axes)


def reduced_shape(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """A shape without some axes; keepdims: these of length 1."""
    if keepdims:
        return tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


@dataclass(frozen=True)
class Lines:
    """An array as lines: `before` × `length` × `width`, of which the middle axis is the line. array: in that order, on
    the device or the host's.
    """

    array: DeviceArray | NumpyArray
    before: int
    length: int
    width: int

    @property
    def rows(self) -> int:
        """How many lines there are."""
        return self.before * self.width

    def line(self, row: int) -> Argument:
        """One line as the argument of a call."""
        x = self.array
        if isinstance(x, np.ndarray):
            cube = x.reshape(self.before, self.length, self.width)
            return array_argument(contiguous(cube[row // self.width, :, row % self.width]), Access.VECTOR)
        first = x.first + row // self.width * self.length * self.width + row % self.width
        line = Part(x, (self.length,), x.dtype, first)
        if self.width == 1:
            return array_argument(line, Access.VECTOR)
        reached = Part(x, ((self.length - 1) * self.width + 1,), x.dtype, first)
        return array_argument(reached, Access.STRIDED, ((self.length, self.width),))

    def all(self) -> Argument:
        """All lines as the argument of a call over a batch."""
        if self.rows == 1:
            return self.line(0)
        if self.width == 1:
            return array_argument(self.array, Access.VECTOR)
        return array_argument(self.array, Access.ACROSS, width=self.width)


def lines_of(x: DeviceArray | NumpyArray, axes: tuple[int, ...], whole: bool = True) -> Lines:
    """The lines along some axes, in C order. Where other axes lie between these, of a copy. whole: memory has room for
    all of a host array; else its lines become contiguous, too.
    """
    x = contiguous(x) if isinstance(x, np.ndarray) else x
    longer = [axis for axis in axes if x.shape[axis] != 1]
    others = [axis for axis in range(x.ndim) if axis not in axes]
    length = prod(x.shape[axis] for axis in axes)
    if not longer:
        return Lines(x, prod(x.shape[axis] for axis in others), length, 1)
    last = longer[-1] if whole else x.ndim
    between = [axis for axis in others if longer[0] < axis < last and x.shape[axis] != 1]
    if between and x.size:
        moved = x.transpose([*others, *axes])
        moved = contiguous(moved) if isinstance(moved, np.ndarray) else moved
        return Lines(moved, x.size // length, length, 1)
    before = prod(x.shape[axis] for axis in others if axis < longer[0])
    return Lines(x, before, length, prod(x.shape[axis] for axis in others if axis > longer[0]))
