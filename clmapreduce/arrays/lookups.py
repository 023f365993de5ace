"""`cm.take`: elements of a table at places, in formulas and of arrays; and the gradient by the table."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from clmapreduce.arrays.creation import zeros
from clmapreduce.calls.tables import Table
from clmapreduce.checks import choice
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.dtypes import INT64
from clmapreduce.errors import DTypeError, ShapeError
from clmapreduce.formula.functions import apply, is_traced
from clmapreduce.formula.node import Node
from clmapreduce.formula.tables.symbol import MODES
from clmapreduce.formula.tables.take import element_at, is_table
from clmapreduce.primitives.map import Map
from clmapreduce.segmented import reduce_by_key
from clmapreduce.sorting.arrays import sort_by_key


def take(table: Any, place: Any, *, mode: str | None = None, context: Context | None = None) -> Any:
    """The table's elements at places.

    In a traced function (`cm.Map`, `cm.fuse`): table is an argument of the function, for which the call passes
    `cm.Table(array)`; place is a traced integer, or a tuple with one for each axis. Elsewhere: table is an array of any
    dtype, or a cm.Table; place is an array of integers, or a tuple of such arrays, which broadcast to the shape of the
    result. mode: "clamp" reads the nearest place for a place outside, "check" raises PlaceError; None is the table's
    own mode, and "clamp" for an array. The result is a DeviceArray if an argument is one.

    Raises FormulaError if table is not a table, ShapeError if the number of places is not that of the axes, DTypeError
    for places that are not integers, ModeError for another mode, and in a traced function for one that is not the
    table's: its places are checked before the call, as the mode of the argument says.
    """
    places = place if isinstance(place, tuple) else (place,)
    if is_table(table) or any(map(is_traced, places)):
        return element_at(table, place, mode if mode is None else choice(mode, "mode", MODES))
    if not isinstance(table, Table):
        table = Table(table, "clamp" if mode is None else mode)
    elif mode is not None:
        table = Table(table.values, mode)
    return _reading(len(places))(table, *places, context=context)


@lru_cache(maxsize=16)
def _reading(axes: int) -> Map:
    return Map(lambda table, *places: element_at(table, places))


def take_gradient(table: Any, place: Any, gradient: Any, *, context: Context | None = None) -> Any:
    """The gradient, with respect to the table, of a function of `take(table, place)`: an array of the table's shape.

    gradient: the function's gradient with respect to the elements that were read, with the shape to which the places
    broadcast; float32 or float64. Element k of the result is the sum of the gradients at all places that read element
    k. A place outside counts for the nearest place, which was read. Elements that were not read get 0. The result is a
    DeviceArray if an argument is one. Method: sort_by_key and reduce_by_key, so that every run gives the same bits.

    Raises ShapeError for shapes that do not fit, DTypeError for other dtypes.
    """
    table = table if isinstance(table, Table) else Table(table)
    places = place if isinstance(place, tuple) else (place,)
    on_device = table.on_device or any(isinstance(x, DeviceArray) for x in (gradient, *places))
    gradients = array(gradient, context)
    if gradients.dtype.kind != "f":
        raise DTypeError(f"the gradient has dtype {gradients.dtype}; use float32 or float64")
    if len(places) != len(table.shape):
        raise ShapeError(f"a table of shape {table.shape} is read at {len(table.shape)} place(s), {len(places)} given")
    flat = _flat(len(places))(*places, *table.shape, length=None, context=gradients.context)
    flat = array(flat, gradients.context)
    if flat.shape != gradients.shape:
        raise ShapeError(f"the gradient has shape {gradients.shape}, what was taken has {flat.shape}")
    total = zeros(table.shape, gradients.dtype, context=gradients.context)
    if gradients.size:
        keys, values = sort_by_key(flat.reshape(-1), gradients.reshape(-1))
        elements, sums = reduce_by_key(keys, values)
        total.reshape(-1)[elements] = sums.astype(gradients.dtype)
    return total if on_device else total.to_numpy()


@lru_cache(maxsize=16)
def _flat(axes: int) -> Map:
    """From places and the extents of a table to the numbers of its elements in C order."""

    def number(*values: Any) -> Node:
        total: Any = 0
        for at, extent in zip(values[:axes], values[axes:], strict=True):
            if at.dtype.kind not in "iu":
                raise DTypeError(f"places in tables are integers, not {at.dtype}")
            size = extent.astype(INT64)
            inside = apply("where", at < 0, 0, apply("where", at < size, at.astype(INT64), size - 1))
            total = total * size + inside
        node: Node = total
        return node

    return Map(number)


