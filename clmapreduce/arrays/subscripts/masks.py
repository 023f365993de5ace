"""Masks: the places of what is not zero, and what a mask leaves of an array."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.arrays.elementwise import converted
from clmapreduce.arrays.subscripts.placing import stored
from clmapreduce.arrays.subscripts.steps import bits_of, contiguous_steps, seen_as
from clmapreduce.device.array import DeviceArray, element, empty
from clmapreduce.dtypes import BOOL, INT64
from clmapreduce.errors import ShapeError
from clmapreduce.formula.guard import placed_where
from clmapreduce.formula.node import Node, index
from clmapreduce.primitives.map import Map
from clmapreduce.primitives.scan import Scan

_COUNT = Scan("sum")
_WRITE = Map(lambda mask, count: placed_where(mask, count - 1, index))
_KEEP = Map(lambda mask, count, value: placed_where(mask, count - 1, value))


def nonzero(x: Any, /) -> tuple[Any, ...]:
    """The places of what is not zero in C order, an int64 array per axis. Waits for their number.

    Launches: a scan counts, and a map writes each place where the count says; with several axes one more map.
    """
    if isinstance(x, np.ndarray):
        return np.nonzero(x)
    if not x.ndim:
        raise ShapeError("a 0-d array has no places; use x.reshape(1)")
    places = flat_nonzero(x)
    if x.ndim == 1:
        return (places,)
    numbers = [np.int64(n) for pair in zip(contiguous_steps(x.shape), x.shape, strict=True) for n in pair]
    split: Any = _split(x.ndim)(places, *numbers)  # a map of several results
    return tuple(split)


def flat_nonzero(x: DeviceArray) -> DeviceArray:
    """The places of what is not zero among all elements, int64 (K,)."""
    mask = converted(x, BOOL).reshape(-1) if x.dtype != BOOL else x.reshape(-1)
    if not mask.size:
        return empty((0,), INT64, x.context)
    counts = _COUNT(mask)
    places = empty((int(element(counts, -1)),), INT64, x.context)
    if places.size:
        stored(_WRITE, [mask, counts], mask.shape, places)
    return places


def is_mask_of(x: DeviceArray, key: Any) -> bool:
    """Whether a subscript is one mask, on the device or the host, of the array's shape; of no record."""
    masks = isinstance(key, (DeviceArray, np.ndarray)) and key.dtype == BOOL and key.shape == x.shape
    return masks and x.ndim > 0 and x.dtype.names is None


def compressed(x: DeviceArray, mask: DeviceArray) -> DeviceArray:
    """The elements of x where a mask of its shape is True, (K,) in C order. Waits for their number. x: of no records.

    Launches: a scan counts, and a map writes each element where the count says.
    """
    bits = bits_of(x.dtype)
    counts = _COUNT(mask.reshape(-1)) if mask.size else None
    result = empty((0 if counts is None else int(element(counts, -1)),), bits, x.context)
    if result.size:
        stored(_KEEP, [mask.reshape(-1), counts, seen_as(x, bits).reshape(-1)], (mask.size,), result)
    return seen_as(result, x.dtype)


@lru_cache(maxsize=64)
def _split(rank: int) -> Map:
    """The map from places among all elements to places along each axis."""

    def split(place: Node, *numbers: Node) -> tuple[Node, ...]:
        return tuple((place // numbers[2 * d]) % numbers[2 * d + 1] for d in range(rank))

    return Map(split)
