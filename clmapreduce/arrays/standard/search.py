"""searchsorted: the places of values in a sorted line, by one binary search for each value, all in one launch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.arrays.lookups import take
from clmapreduce.arrays.ufuncs import UFUNCS
from clmapreduce.calls.tables import Table
from clmapreduce.checks import choice
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.dtypes import INT64, is_float
from clmapreduce.errors import ShapeError
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Node
from clmapreduce.formula.tables.take import element_at
from clmapreduce.host_room import needs_host_room
from clmapreduce.planning.mode import choose_mode
from clmapreduce.primitives.map import Map
from clmapreduce.sorting.arrays import checked, home_of_all
from clmapreduce.sorting.line import check_keys, index_dtype

SIDES = ("left", "right")


@needs_host_room
def searchsorted(
    a: Any, v: Any, /, *, side: str = "left", sorter: Any = None, mode: str = "auto", context: Context | None = None,
    wait_for: Sequence[Any] = (),
) -> Any:  # fmt: skip
    """The places in the sorted line `a` where the values `v` would be inserted so that it stays sorted, int64, in the
    shape of v: place p means in front of a[p], and len(a) behind the last one.

    a: (n,) bools, integers or floats up to 64 bits (bfloat16 is refused), in increasing order with NaN last, as
    `cm.sort` gives them; the order is not checked. v: the same dtypes, any shape. Values are compared exactly, or in
    NumPy's common dtype where one is a float. side: of equal elements, "left" gives the place in front of the first,
    "right" behind the last. sorter: (n,) integers, as `cm.argsort` gives them; then a[sorter] is the sorted line. The
    result is a DeviceArray if an argument is one. Cost: about log2(n) reads for each value.

    Raises ShapeError if a or sorter is not one line, DTypeError for other dtypes, ModeError for another side or
    mode, PlaceError for a place in sorter outside of a.
    """
    behind = choice(side, "side", SIDES) == "right"
    line, values = checked(a, context), checked(v, context)
    for each, name in ((line, "the sorted line"), (values, "the array of values")):
        check_keys(each.dtype, name)
    if line.ndim != 1:
        raise ShapeError(f"the sorted line has shape {line.shape}; give an array with one axis")
    order = None if sorter is None else checked(sorter, context)
    if order is not None and order.shape != line.shape:
        raise ShapeError(f"sorter has shape {order.shape}, the sorted line {line.shape}; give a place for each element")
    arrays = [each for each in (line, values, order) if each is not None]
    home = home_of_all(arrays, context)
    choose_mode(mode, home.facts)  # a wrong word is refused before anything is launched
    on_device = any(isinstance(each, DeviceArray) for each in arrays)
    if order is not None and line.size:
        home.wait_for(wait_for)  # take reads the line at once
        line = take(line, order, mode="check", context=home)
    there = array(values, home)
    if line.size and values.size:
        search = _search(_steps(line.size), index_dtype(line.size).itemsize == 8, behind)
        result = search(Table(line), there, np.int64(line.size), mode=mode, context=home, wait_for=wait_for)
    else:
        result = there.operations.call("zeros", values.shape, INT64, context=home)
    return result if on_device else result.to_numpy()


def _steps(length: int) -> int:
    """Steps that suffice for a line. One kernel serves many lengths: a step too many reads the last element again."""
    needed = length.bit_length()
    return needed if needed > 28 else -(-needed // 4) * 4


@lru_cache(maxsize=64)
def _search(steps: int, wide: bool, behind: bool) -> Map:
    """A search in a line of fewer than 2^steps elements. wide: whether places need 64 bits. behind: whether places are
    behind equal elements.
    """
    kind = np.dtype(np.int64 if wide else np.int32)

    def place(line: Any, value: Node, length: Node) -> Any:
        passed: Any = kind.type(0)  # how many elements are known to be in front of the place
        for step in reversed(range(steps)):
            further = passed + kind.type(1 << step)
            element: Any = element_at(line, further - kind.type(1))
            in_front = ~_before(value, element) if behind else _before(element, value)
            passed = apply("where", (further <= length.astype(kind)) & in_front, further, passed)
        return passed.astype(INT64)

    return Map(place)


def _before(a: Node, b: Node) -> Any:
    """Whether a number comes before another one in the order of sorts: NaN come last."""
    less = UFUNCS["less"](a, b)
    return less | ((b != b) & (a == a)) if is_float(b.dtype) else less
