"""Stores at places: maps whose results go to computed places of an array's memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.arrays.elementwise import by_rows
from clmapreduce.arrays.subscripts.steps import Merged, axis_numbers, memory_of, place_of_index
from clmapreduce.calls.arguments import Shape, gather
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.device.array import DeviceArray
from clmapreduce.formula.guard import placed
from clmapreduce.formula.node import Node
from clmapreduce.primitives.map import Map

_AT_PLACES = Map(lambda value, place: placed(place, value))


def stored(function: Map, values: Sequence[Any], shape: Shape, target: DeviceArray) -> None:
    """Runs a map of which the one output is placed in a target's memory, once per index of a shape. No value lies in
    that memory.
    """
    memory = memory_of(target)
    context = target.context
    arguments = replace(by_rows(gather(values, context, shape=shape)), reach=memory.size)
    prepared = function.prepared(arguments, Options(context=context, out=memory), into=memory.shape)
    if isinstance(prepared, Prepared):
        prepared.run()


def store_at_places(target: DeviceArray, places: DeviceArray, value: Any) -> None:
    """Stores values, of the target's dtype and broadcast to the places' shape, at places of the target's memory. Of
    values with one place some one is stored.
    """
    stored(_AT_PLACES, [value, places], places.shape, target)


def store_in_steps(target: DeviceArray, value: Any, shape: Shape, first: int, axes: Merged) -> None:
    """Stores values, of the target's dtype and broadcast to a shape, in the target's memory: from element `first` on,
    and by steps.
    """
    numbers = [np.int64(first), *axis_numbers(axes)]
    stored(_in_steps(len(axes)), [value, *numbers], shape, target)


@lru_cache(maxsize=64)
def _in_steps(rank: int) -> Map:
    def store(value: Node, first: Node, *numbers: Node) -> Any:
        return placed(place_of_index(first, numbers), value)

    return Map(store)
