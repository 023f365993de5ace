"""Reductions over pairs of chunked points: a task per chunk of rows and of columns; those of one row's are merged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dask.array as da
import numpy as np

from clmapreduce.checks import quoted
from clmapreduce.dask.carried import carried
from clmapreduce.dask.graph import Graph, as_chunked, block, without_empty_chunks
from clmapreduce.dask.work import pairs as pair_work
from clmapreduce.dask.work.pairs import PairWork
from clmapreduce.dtypes import DType
from clmapreduce.errors import ModeError, ShapeError
from clmapreduce.pairwise.call import PairCall
from clmapreduce.pairwise.guest import GuestArray
from clmapreduce.vector.node import Category, Variable

REFUSED = ("out", "ranges", "context", "progress", "wait_for")


def pairs(call: PairCall, arrays: Mapping[Variable, Any], settings: Mapping[str, Any]) -> Any:
    """The results, Dask arrays in the chunks of rows. arrays: by variable, Dask arrays in a formula, or NumPy's.

    Raises ShapeError for batch axes and unknown chunks, ModeError for keywords that are not offered.
    """
    for name in REFUSED:
        setting = settings[name]
        if setting is not None and not (isinstance(setting, tuple) and not setting):
            raise ModeError(f"{call.reduction.name}: {name}={quoted(setting)} is not offered for Dask arrays")
    values = {v: _whole_vectors(v, x) for v, x in arrays.items()}
    reduced = Category.J if call.axis == 1 else Category.I
    outer = Category.I if call.axis == 1 else Category.J
    rows, values = _aligned(values, outer)
    columns, values = _aligned(values, reduced)
    dtype = next(iter(values.values())).dtype
    work = PairWork(call, list(values), dtype, settings["mode"])
    outputs = [((rows, *((n,) for n in shape)), result) for shape, result in work.parts.outputs]
    task = carried(work, f"{call.reduction.name} of {call.formula!r}")
    graph = Graph(call.reduction.name, (task.__dask_tokenize__(),), list(values.values()))

    def at(row: int, column: int) -> list[Any]:
        place = {outer: row, reduced: column, Category.PARAMETER: 0}
        return [block(x, (place[v.category], *((0,) if x.ndim > 1 else ()))) for v, x in values.items()]

    tasks: dict[tuple[int, ...], tuple[Any, ...]] = {}
    ends = [sum(columns[:k]) for k in range(len(columns))]
    for row in range(len(rows)):
        if len(columns) == 1:
            tasks[(row,)] = (pair_work.whole, task, at(row, 0))
            continue
        parts = [
            graph.add("part", (row, k), (pair_work.part, task, first, at(row, k))) for k, first in enumerate(ends)
        ]
        last = graph.tree("merge", parts, pair_work.merge, task, place=(row,))
        tasks[(row,)] = (pair_work.finish, task, sum(columns), last)
    padded = {(*place, *(0,) * (max(len(chunks) for chunks, _ in outputs) - 1)): t for place, t in tasks.items()}
    results = graph.arrays("rows", padded, outputs)
    return results[0] if len(results) == 1 else tuple(results)


def _whole_vectors(variable: Variable, x: Any) -> Any:
    """A variable's array in chunks of whole vectors."""
    name = f"variable {variable.position}"
    x = as_chunked(getattr(x, "chunked", x) if isinstance(x, GuestArray) else x, name)
    axes = 1 if variable.category is Category.PARAMETER else 2
    if x.ndim != axes:
        raise ShapeError(
            f"{name} has shape {x.shape}, with batch axes, which are not offered for Dask arrays; call it per batch"
        )
    x = without_empty_chunks(x)
    return x.rechunk(-1) if axes == 1 else x.rechunk({1: -1})


def _aligned(values: Mapping[Variable, Any], category: Category) -> tuple[tuple[int, ...], dict[Variable, Any]]:
    """The chunks of a category, and its arrays cut alike."""
    own = [v for v in values if v.category is category]
    if not own:
        return (1,), dict(values)
    pairs = [part for k, v in enumerate(own) for part in (values[v], (0, k + 1))]
    chunks, cut = da.core.unify_chunks(*pairs)
    return chunks[0], {**values, **dict(zip(own, cut, strict=True))}


class ChunkedArray(GuestArray):
    """A Dask array in a formula."""

    def __init__(self, chunked: Any) -> None:
        self.chunked = chunked
        self.shape, self.dtype = tuple(int(extent) for extent in chunked.shape), chunked.dtype
        self.key = (chunked.name, self.shape, self.dtype)

    def example(self) -> np.ndarray[Any, Any]:
        """Of one chunk of whole vectors."""
        return np.zeros((*(chunks[0] for chunks in self.chunked.chunks[:-1]), self.shape[-1]), self.dtype)

    def reduced(self, call: Any, arrays: Mapping[Any, Any], settings: Mapping[str, Any]) -> Any:
        return pairs(call, arrays, settings)

    def reshape(self, shape: tuple[int, ...]) -> ChunkedArray:
        """The same numbers in another shape."""
        return ChunkedArray(self.chunked.reshape(shape))

    def view(self, dtype: DType | None) -> ChunkedArray:
        """Complex numbers as alternating real and imaginary parts, or the reverse."""
        return ChunkedArray(self.chunked.rechunk({-1: -1}).view(dtype))

    def __getitem__(self, key: Any) -> ChunkedArray:
        """As of a NumPy array."""
        return ChunkedArray(self.chunked[key])

    def __repr__(self) -> str:
        return f"a Dask array of shape {self.shape}"
