"""Chunks that several tasks take, on a worker's device: copied there once."""

from __future__ import annotations

import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np

from clmapreduce.device.array import DeviceArray, NumpyArray, upload
from clmapreduce.device.context import Context
from clmapreduce.device.tiles import room_of
from clmapreduce.vector.node import Category, Variable

OF_ROOM = 4
"""A chunk is copied where it takes this fraction of the device's free memory at most, and so do a call's arrays."""


class Copies:
    """Copies of chunks on a worker's device. Dask's data never changes, so that a copy is right as long as the chunk
    lives; then it is dropped, and before that where others need its room.
    """

    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[int, Context], tuple[weakref.ref[NumpyArray], DeviceArray]] = OrderedDict()
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._entries)

    def of(self, values: NumpyArray, context: Context) -> NumpyArray | DeviceArray:
        """A chunk on a device; the chunk itself where it has no room."""
        key = (id(values), context)
        with self._lock:
            source, copy = self._entries.pop(key, (None, None))
            if copy is None or source is None or source() is not values:
                if not self._has_room(OF_ROOM * values.nbytes, context):
                    return values
                copy = upload(values, context)
                source = weakref.ref(values, lambda _: self._entries.pop(key, None))
            self._entries[key] = source, copy
            return copy

    def clear(self) -> None:
        """Drops all copies."""
        with self._lock:
            self._entries.clear()

    def _has_room(self, nbytes: int, context: Context) -> bool:
        """Whether a device has so many bytes left; drops the copies that were not used for longest if that helps."""
        while self._entries and nbytes > room_of(context)[1]:
            self._entries.popitem(last=False)
        return nbytes <= room_of(context)[1]


COPIES = Copies()
"""Those of this process."""


def is_worker() -> bool:
    """Whether a Dask worker runs this task, so that its chunks are Dask's own."""
    distributed = sys.modules.get("distributed")
    try:
        return distributed is not None and distributed.get_worker() is not None
    except ValueError:
        return False


def near(arrays: Mapping[Variable, NumpyArray], shared: Category, context: Context) -> dict[Variable, Any]:
    """Arrays as a call takes them: on a worker with a device that has memory of its own, those that other tasks take
    too are on the device. shared: the category of these.
    """
    in_place = context.facts.lends_memory and context.queue.arena.least_limit is None
    on_host = all(isinstance(values, np.ndarray) for values in arrays.values())
    if in_place or not on_host or not is_worker():
        return dict(arrays)
    if OF_ROOM * sum(values.nbytes for values in arrays.values()) > room_of(context)[1]:  # it may be streamed
        COPIES.clear()
        return dict(arrays)
    return {v: COPIES.of(values, context) if v.category is shared else values for v, values in arrays.items()}
