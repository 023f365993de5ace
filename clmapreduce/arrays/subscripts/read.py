"""Subscripts read: what is a range of memory is a view, everything else a copy in one launch or two."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.arrays.elementwise import COPY, by_rows, run
from clmapreduce.arrays.subscripts.masks import compressed, is_mask_of
from clmapreduce.arrays.subscripts.selection import Lookup, Selection, select, with_new_axes
from clmapreduce.arrays.subscripts.steps import (
    Merged,
    axis_numbers,
    bits_of,
    is_range,
    memory_of,
    merged,
    place_of_index,
    seen_as,
)
from clmapreduce.calls.arguments import Argument, Arguments, Shape, Signature
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared, prepare
from clmapreduce.checks import quoted
from clmapreduce.device.array import DeviceArray, Part, empty
from clmapreduce.domain.line import Line
from clmapreduce.dtypes import INT64, DType
from clmapreduce.errors import PlaceError
from clmapreduce.formula.formula import Access, Formula
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Node
from clmapreduce.planning.lines import MapRequest
from clmapreduce.planning.mode import choose_mode
from clmapreduce.primitives.map import Map
from clmapreduce.primitives.reduce import Reduce

_OUTSIDE = Map(lambda place, length: (place < -length) | (place >= length)) >> Reduce("any")


def selected(x: DeviceArray, key: Any) -> DeviceArray:
    """x[key]: a view of the same memory where that is a range of it, else a copy.

    Raises PlaceError for places outside of the array; arrays of places on a device are looked at before, and waited
    for.
    """
    if isinstance(key, str):
        return _field(x, key)
    spread = with_new_axes(x.shape, key)
    if spread is not None:
        return Part(x, spread, x.dtype, x.first)
    if isinstance(key, DeviceArray) and is_mask_of(x, key):
        return compressed(x, key)
    selection = select(x.shape, x.first, key)
    if selection.lookups:
        return gather(x, places_of(selection, x))
    return in_steps(x, selection.first, selection.shape, selection.steps)


def in_steps(x: DeviceArray, first: int, shape: Shape, steps: tuple[int, ...]) -> DeviceArray:
    """The array that lies in x's memory from an element on, by steps: a view where that is a range, else a copy, made
    in one launch.
    """
    axes = merged(shape, steps)
    if 0 in shape:
        return Part(x, shape, x.dtype, 0)
    if is_range(axes):
        return Part(x, shape, x.dtype, first)
    return strided_copy(x, first, shape, axes)


def strided_copy(x: DeviceArray, first: int, shape: Shape, axes: Merged, mode: str = "auto") -> DeviceArray:
    """As `in_steps`, always a copy; needs an element."""
    source = Part(seen_as(x, bits_of(x.dtype)), shape, bits_of(x.dtype), first)
    signature = Signature(source.dtype, Access.STRIDED, len(axes), varies=True, shifted=first != 0)
    strided = Arguments(x.context, (Argument(source, signature, axes),), shape, True, reach=x.first + x.size)
    arguments = by_rows(strided)
    prepared = COPY.prepared(arguments, Options(mode, x.context))
    results: list[DeviceArray] = prepared.run() if isinstance(prepared, Prepared) else prepared
    return seen_as(results[0], x.dtype)


def gather(x: DeviceArray, places: DeviceArray, mode: str = "auto") -> DeviceArray:
    """The elements at places of x's memory, in one launch."""
    context, bits = x.context, bits_of(x.dtype)
    if not places.size or not x.size:
        return empty(places.shape, x.dtype, context)
    memory = memory_of(seen_as(x, bits))
    formula = _taking(bits)
    inputs = (
        Argument(memory, Signature(bits, Access.GATHERED, varies=True), last=memory.size - 1),
        Argument(places, Signature(INT64, Access.VECTOR, varies=True)),
    )
    arguments = Arguments(context, inputs, places.shape, True)
    compute_mode = choose_mode(mode, context.facts)
    options = Options(mode, context)
    box = options.box("map", compute_mode, context)
    request = MapRequest(formula, Line(places.size, reach=memory.size), compute_mode, box)
    prepared = prepare(arguments, context.executable(request), [(places.shape, bits)], options)
    result: DeviceArray = prepared.run()[0]
    return seen_as(result, x.dtype)


@lru_cache(maxsize=64)
def _taking(dtype: DType) -> Formula:
    """Elements at the places that the second input holds."""
    source = replace(Signature(dtype, Access.GATHERED, varies=True).input(0), through=("in1",))
    return Formula((source, Signature(INT64, Access.VECTOR, varies=True).input(1)), (source.value,))


def check_places(selection: Selection) -> None:
    """Raises PlaceError where a place is outside of its axis, also where slices leave nothing of the others. Arrays of
    places that broadcast to no place are not looked at, as in NumPy.
    """
    if 0 not in selection.looked_up:
        for lookup in selection.lookups:
            _check(lookup)


def places_of(selection: Selection, x: DeviceArray) -> DeviceArray:
    """The places in x's memory of what arrays of places select, int64 of the selection's shape. Raises PlaceError."""
    check_places(selection)
    behind = (1,) * (len(selection.axes) - selection.at)
    arrays = [lookup.places.reshape(*lookup.places.shape, *behind) for lookup in selection.lookups]
    axes = merged(selection.shape, selection.steps)
    numbers = [np.int64(n) for lookup in selection.lookups for n in (lookup.length, lookup.step)]
    values = [*arrays, *numbers, np.int64(selection.first), *axis_numbers(axes)]
    return run(_lookup(len(arrays), len(axes)), values, None, selection.shape, context=x.context)[0]


@lru_cache(maxsize=64)
def _lookup(count: int, rank: int) -> Map:
    """The map from arrays of places, their axes' lengths and steps, and the steps of the other axes, to places."""

    def place(*values: Node) -> Node:
        arrays, rest = values[:count], values[count:]
        numbers, first, others = rest[: 2 * count], rest[2 * count], rest[2 * count + 1 :]
        at = place_of_index(first, others)
        for k, array in enumerate(arrays):
            length, step = numbers[2 * k], numbers[2 * k + 1]
            wide = array.astype(INT64)
            at = at + apply("where", wide < 0, wide + length, wide) * step
        return at

    return Map(place)


def _check(lookup: Lookup) -> None:
    """Raises PlaceError where a place is outside of its axis."""
    places, length = lookup.places, lookup.length
    if lookup.inside or not places.size:
        return
    if isinstance(places, np.ndarray):
        wrong = int(places.min()) < -length or int(places.max()) >= length
    elif places.dtype.kind == "u":
        wrong = bool((places >= length).any())
    else:
        wrong = bool(_OUTSIDE(places, np.int64(length)))
    if wrong:
        raise PlaceError(f"the array of places has some outside of an axis of {length} element(s)")


def _field(x: DeviceArray, name: str) -> DeviceArray:
    if x.dtype.names is None or name not in x.dtype.names:
        raise PlaceError(f"{quoted(name)} is no field of an array of dtype {x.dtype}")
    return run(_part_of_record(name), [x])[0]


@lru_cache(maxsize=64)
def _part_of_record(name: str) -> Map:
    return Map(lambda record: record[name])
