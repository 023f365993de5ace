"""The work of tasks of reductions over pairs on a worker."""

from __future__ import annotations

import threading
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
from clmapreduce.vector.node import Variable

OF_ROOM = 4
"""Columns stay on a device where they take this fraction of its free memory at most, and so do rows."""


class Columns:
    """A chunk of columns that several tasks meet. A process copies it to its device once; the copies live as long as
    Dask holds the chunk.
    """

    def __init__(self, arrays: Mapping[Variable, NumpyArray]) -> None:
        self._arrays, self._lock = dict(arrays), threading.Lock()
        self._copies: dict[Variable, DeviceArray] | None = None
        self._home: Context | None = None

    def __reduce__(self) -> Any:
        return Columns, (self._arrays,)

    def __sizeof__(self) -> int:
        return sum(values.nbytes for values in self._arrays.values())

    def near(self, context: Context, rows: int) -> Mapping[Variable, Any]:
        """The arrays on the device; in host memory where the device reads that, or has no room. rows: bytes of the
        arrays that they meet.
        """
        if context.facts.lends_memory and context.queue.arena.least_limit is None:
            return self._arrays
        with self._lock:
            if self._home is not context:
                self._copies = None
            needed = rows if self._copies is not None else max(rows, self.__sizeof__())
            if OF_ROOM * needed > room_of(context)[1]:
                self._copies = None
                return self._arrays
            if self._copies is None:
                self._home = context
                self._copies = {variable: upload(values, context) for variable, values in self._arrays.items()}
            return self._copies


class PairWork:
    """What all tasks of a call share. outer, inner: the variables of rows with the parameters, and of columns. dtype:
    of the arrays.
    """

    def __init__(
        self, call: PairCall, outer: Sequence[Variable], inner: Sequence[Variable], dtype: DType, mode: str
    ) -> None:
        self.call, self.outer, self.inner, self.dtype, self.mode = call, tuple(outer), tuple(inner), dtype, mode

    def __reduce__(self) -> Any:
        return PairWork, (self.call, self.outer, self.inner, self.dtype, self.mode)

    @cached_property
    def parts(self) -> Accumulators:
        """What the call leaves of chunks of columns."""
        return Accumulators(self.call, self.dtype)

    def run(self, call: PairCall, rows: Sequence[Any], columns: Columns) -> list[Any]:
        """The results of a call on the arrays of a chunk of rows, with the parameters, and a chunk of columns."""
        context, arrays = home(), dict(zip(self.outer, rows, strict=True))
        near = columns.near(context, sum(values.nbytes for values in rows))
        results = reduced(call, {**arrays, **near}, Options(self.mode, context))
        parts = results if isinstance(results, tuple) else (results,)
        return [part.to_numpy() if isinstance(part, DeviceArray) else part for part in parts]


def columns_of(task: Carried, values: Sequence[Any]) -> Columns:
    """A chunk of columns."""
    work: PairWork = task.value
    return Columns(dict(zip(work.inner, values, strict=True)))


def whole(task: Carried, rows: Sequence[Any], columns: Columns) -> Any:
    """The call itself, for rows that meet all columns at once."""
    work: PairWork = task.value
    return _results(work.run(work.call, rows, columns))


def part(task: Carried, first: int, rows: Sequence[Any], columns: Columns) -> Any:
    """A chunk's accumulators."""
    work: PairWork = task.value
    return work.parts.of_part(work.run(work.parts.partial, rows, columns), first)


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

