"""The work of tasks of reductions over pairs on a worker."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from clmapreduce.calls.options import Options
from clmapreduce.dask.carried import Carried
from clmapreduce.dask.home import home
from clmapreduce.dask.work.copies import near
from clmapreduce.device.array import DeviceArray
from clmapreduce.dtypes import DType
from clmapreduce.pairwise.accumulators import Accumulators
from clmapreduce.pairwise.call import PairCall
from clmapreduce.pairwise.tiles.streamed import reduced
from clmapreduce.vector.node import Category, Variable


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

