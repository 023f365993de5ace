"""Tables read at LazyTensors."""

from __future__ import annotations

import math
from typing import Any, TypeVar

from clmapreduce.errors import ShapeError
from clmapreduce.pairwise.inputs import variable_of
from clmapreduce.pairwise.lazy.base import joined
from clmapreduce.pairwise.lazy.vectors import Vectors
from clmapreduce.pairwise.user_arrays import as_array, as_real, reshaped
from clmapreduce.vector import OPERATIONS
from clmapreduce.vector.node import MAX_DIM, Category, Vector
from clmapreduce.vector.tables import inside

T = TypeVar("T", bound="Lookups[Any]")


class Lookups(Vectors[T]):
    """What `cm.Table(array)[i, j]` becomes."""

    __slots__ = ()

    def looked_up(self, values: Any, places: tuple[Any, ...], checked: bool) -> T:
        """The vectors of an array at places, one an axis: LazyTensors of one number, this one among them, or numbers.

        Places are rounded to the nearest whole number. Axes without a place make the vector. Raises ShapeError for too
        many places or elements, and for places that are vectors; DTypeError for arrays that formulas cannot hold.
        """
        shape = tuple(values.shape)
        if len(places) > len(shape):
            raise ShapeError(f"a table of shape {shape} is read at {len(places)} places; it has {len(shape)} axes")
        lazy = [self._lift(place) for place in places]
        for place in lazy:
            place._refuse_complex("a place in a table")
            if place.ndim != 1:
                raise ShapeError(f"a place in a table is one number, not a vector of {place.ndim}; give one an axis")
        array = as_array(self.array_of(values), "the table")
        is_complex = array.dtype.kind == "c"
        array = as_real(reshaped(array, (math.prod(shape),)))
        if array.shape[0] > MAX_DIM:
            raise ShapeError(f"a table of shape {shape}: formulas of pairs read tables of {MAX_DIM} numbers at most")
        table = self._new(*variable_of(array, Category.PARAMETER))
        (variable, *at), inputs, choices = joined([table, *lazy])
        sizes = shape[: len(at)]
        element = _flat(at, sizes)
        if checked:
            element = OPERATIONS["Checked"](element, *at, *sizes)
        dim = array.shape[0] // math.prod(sizes)
        return self._new(OPERATIONS["Take"](variable, element, dim, 1), inputs, choices, is_complex)


def _flat(places: list[Vector], sizes: tuple[int, ...]) -> Vector:
    """The number of an element in C order."""
    total, *rest = (inside(place, size) for place, size in zip(places, sizes, strict=True))
    for place, size in zip(rest, sizes[1:], strict=True):
        total = total * size + place
    return total
