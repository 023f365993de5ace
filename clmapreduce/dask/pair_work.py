"""The work of tasks of reductions over pairs on a worker."""

from __future__ import annotations

import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from clmapreduce.calls.options import Options
from clmapreduce.dask.carried import Carried
from clmapreduce.dask.home import home
from clmapreduce.device.array import DeviceArray, NumpyArray, upload
from clmapreduce.device.context import Context
from clmapreduce.device.tiles import room_of
from clmapreduce.dtypes import DType
from clmapreduce.pairwise.accumulators import Accumulators
from clmapreduce.pairwise.call import PairCall
from clmapreduce.pairwise.tiles.streamed import reduced
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
    far = context.facts.lends_memory and context.queue.arena.least_limit is None
    if far or not is_worker():
        return dict(arrays)
    if OF_ROOM * sum(values.nbytes for values in arrays.values()) > room_of(context)[1]:  # it may be streamed
        COPIES.clear()
        return dict(arrays)
    return {v: COPIES.of(values, context) if v.category is shared else values for v, values in arrays.items()}


class PairWork:
    """What all tasks of a call share. dtype: of the arrays."""

    def __init__(self, call: PairCall, variables: Sequence[Variable], dtype: DType, mode: str) -> None:
        self.call, self.variables, self.dtype, self.mode = call, tuple(variables), dtype, mode

    def __reduce__(self) -> Any:
        return PairWork, (self.call, self.variables, self.dtype, self.mode)

    @cached_property
    def parts(self) -> Accumulators:
        """What the call leaves of chunks of columns."""
        return Accumulators(self.call, self.dtype)

    def run(self, call: PairCall, values: Sequence[Any]) -> list[Any]:
        """The results of a call on arrays of a chunk."""
        context, shared = home(), Category.J if call.axis == 1 else Category.I
        arrays = near(dict(zip(self.variables, values, strict=True)), shared, context)
        results = reduced(call, arrays, Options(self.mode, context))
        parts = results if isinstance(results, tuple) else (results,)
        return [part.to_numpy() if isinstance(part, DeviceArray) else part for part in parts]


def whole(task: Carried, values: Sequence[Any]) -> Any:
    """The call itself, for rows that meet all columns at once."""
    work: PairWork = task.value
    return _results(work.run(work.call, values))


def part(task: Carried, first: int, values: Sequence[Any]) -> Any:
    """A chunk's accumulators."""
    work: PairWork = task.value
    return work.parts.of_part(work.run(work.parts.partial, values), first)


def merge(task: Carried, parts: Sequence[Any]) -> Any:
    """Accumulators of neighbouring chunks of columns as one, in order."""
    work: PairWork = task.value
    return work.parts.merged(parts)


def finish(task: Carried, columns: int, accumulators: Any) -> Any:
    """The results of rows."""
    work: PairWork = task.value
    return _results(work.parts.finished(accumulators, columns))


def _results(results: list[Any]) -> Any:
    return tuple(results) if len(results) > 1 else results[0]

