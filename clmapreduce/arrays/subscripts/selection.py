"""The selection of a subscript: a step per axis for slices, integers and new axes; and arrays of places or bools."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clmapreduce.arrays.operands import operand
from clmapreduce.arrays.subscripts.masks import nonzero
from clmapreduce.arrays.subscripts.steps import contiguous_steps
from clmapreduce.calls.arguments import Shape
from clmapreduce.checks import quoted
from clmapreduce.device.array import DeviceArray
from clmapreduce.dtypes import BOOL
from clmapreduce.errors import PlaceError

EVERYTHING = slice(None)


@dataclass
class Axis:
    """One axis of what is selected: its length, and how many elements of memory lie from one place to the next."""

    length: int
    step: int


@dataclass
class Lookup:
    """An array of places along an axis of `length`, each of which is so many elements of memory from the next. inside:
    whether no place can be outside of the axis.
    """

    places: Any
    length: int
    step: int
    inside: bool = False


@dataclass
class Selection:
    """What a subscript selects of an array's memory: from element `first` on. axes: from slices and new axes, in order.
    lookups: arrays of places; their axes come at `at` among the others.
    """

    first: int
    axes: list[Axis] = field(default_factory=list)
    lookups: list[Lookup] = field(default_factory=list)
    at: int = 0

    @property
    def looked_up(self) -> Shape:
        """The shape to which the arrays of places broadcast. Raises PlaceError."""
        shapes = [lookup.places.shape for lookup in self.lookups]
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError:
            text = " and ".join(map(str, shapes))
            raise PlaceError(f"arrays of places of shapes {text} do not broadcast; give them one shape") from None

    @property
    def shape(self) -> Shape:
        """The shape of what is selected."""
        lengths = [axis.length for axis in self.axes]
        return (*lengths[: self.at], *self.looked_up, *lengths[self.at :])

    @property
    def steps(self) -> tuple[int, ...]:
        """The step of each axis of `shape`; 0 of those that arrays of places lead along."""
        steps = [axis.step for axis in self.axes]
        return (*steps[: self.at], *(0,) * len(self.looked_up), *steps[self.at :])


def select(shape: Shape, first: int, key: Any) -> Selection:
    """What a subscript selects of a C-contiguous array that begins at element `first` of its memory.

    Raises PlaceError for too many indices, for one outside of its axis, and for an object that is not an index.
    """
    keys = _whole(key, shape)
    steps = contiguous_steps(shape)
    selection, axis, where = Selection(first), 0, []
    for part in keys:
        if part is Ellipsis:
            continue
        if part is None:
            selection.axes.append(Axis(1, 0))
        elif isinstance(part, bool):
            selection.axes.append(Axis(int(part), 0))
        elif isinstance(part, slice):
            start, stop, step = _bounds(part, shape[axis])
            selection.first += start * steps[axis]
            selection.axes.append(Axis(len(range(start, stop, step)), step * steps[axis]))
            axis += 1
        elif isinstance(part, int):
            selection.first += _place(part, shape[axis], axis) * steps[axis]
            where.append(len(selection.axes))
            axis += 1
        else:
            places = nonzero(part) if part.dtype == BOOL else [part]
            if part.dtype == BOOL and part.shape != shape[axis : axis + part.ndim]:
                raise PlaceError(f"a mask of shape {part.shape} does not fit the axes {axis} on of shape {shape}")
            lengths, strides = shape[axis:], steps[axis:]
            inside = part.dtype == BOOL
            selection.lookups += [Lookup(*each, inside) for each in zip(places, lengths, strides, strict=False)]
            where.append(len(selection.axes))
            axis += len(places)
    together = len(set(where)) == 1 and _side_by_side(keys)
    selection.at = where[0] if selection.lookups and together else 0
    return selection


def with_new_axes(shape: Shape, key: Any) -> Shape | None:
    """The shape of x[:, None, :] and the like, which leave out nothing; None for other subscripts, and where there are
    no elements.
    """
    if type(key) is not tuple or 0 in shape:
        return None
    new, axis = [], 0
    for part in key:
        if part is None:
            new.append(1)
        elif type(part) is slice and axis < len(shape) and part == EVERYTHING:
            new.append(shape[axis])
            axis += 1
        else:
            return None
    return (*new, *shape[axis:])


def _side_by_side(keys: list[Any]) -> bool:
    """Whether integers and arrays of places stand side by side: their axes then stay where they are."""
    kinds = [_is_looked_up(part) for part in keys]
    first, last = kinds.index(True), len(kinds) - kinds[::-1].index(True)
    return all(kinds[first:last])


def _whole(key: Any, shape: Shape) -> list[Any]:
    """A subscript as a list with an entry per axis, slices for the axes that it leaves out. An ellipsis that stands for
    no axis stays: it keeps arrays of places apart, as in NumPy.
    """
    keys = [_part(part) for part in (key if isinstance(key, tuple) else (key,))]
    if any(isinstance(part, bool) for part in keys) and any(_is_looked_up(part) for part in keys):
        raise PlaceError("a single bool stands beside no integers and arrays; use None, or an empty slice for False")
    ellipses = [i for i, part in enumerate(keys) if part is Ellipsis]
    if len(ellipses) > 1:
        raise PlaceError("a subscript has one ellipsis ('...') at most")
    used = sum(_axes_of(part) for part in keys)
    if used > len(shape):
        raise PlaceError(f"{used} indices for an array of shape {shape}; give {len(shape)} at most")
    place = ellipses[0] if ellipses else len(keys)
    rest: list[Any] = [slice(None)] * (len(shape) - used) or [Ellipsis] * len(ellipses)
    return [*keys[:place], *rest, *keys[place + 1 :]]


def _is_looked_up(part: Any) -> bool:
    """Whether an entry of a subscript is an integer, or an array of places or bools."""
    return part is not None and part is not Ellipsis and not isinstance(part, (slice, bool))


def _axes_of(part: Any) -> int:
    """How many axes an entry of a subscript is for."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return part.ndim if not isinstance(part, (slice, int)) and part.dtype == BOOL else 1


def _part(part: Any) -> Any:
    """One entry of a subscript: None, an ellipsis, a slice, an int, a bool (a new axis of length 1 or 0), or an array
    of integers or bools.
    """
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    if isinstance(part, (DeviceArray, np.ndarray, list, tuple)):
        array = operand(np.zeros(0, np.int64) if isinstance(part, (list, tuple)) and not len(part) else part)
        if array.dtype.kind not in "iub":
            raise PlaceError(f"{quoted(array)} is no array of places; give integers, or bools of the axes' lengths")
        if not array.shape:
            return bool(array) if array.dtype == BOOL else int(array)
        return array
    if isinstance(part, (bool, np.bool_)):
        return bool(part)
    try:
        return operator.index(part)
    except TypeError:
        raise PlaceError(
            f"{quoted(part)} is no index; give integers, slices, None, '...', or arrays of integers or bools"
        ) from None


def _bounds(part: slice, length: int) -> tuple[int, int, int]:
    try:
        return part.indices(length)
    except (TypeError, ValueError) as error:
        raise PlaceError(f"{part}: {error}") from None


def _place(place: int, length: int, axis: int) -> int:
    if not -length <= place < length:
        raise PlaceError(f"index {place} is outside of axis {axis}, which has {length} element(s)")
    return place + length if place < 0 else place
