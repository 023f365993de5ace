"""Dask arrays made of tasks, and the blocks of those that a call takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from clmapreduce.device.array import DeviceArray
from clmapreduce.dtypes import DType, check_stored
from clmapreduce.errors import ArgumentError, DeviceError, ShapeError

Place: TypeAlias = "tuple[int, ...]"
Chunks: TypeAlias = "tuple[tuple[int, ...], ...]"
Output: TypeAlias = "tuple[Chunks, DType]"
FAN_IN = 8
"""How many accumulators meet in one task."""


class Graph:
    """The tasks of one call. label: what Dask's task stream shows, letters only. Equal parts give equal names."""

    def __init__(self, label: str, parts: Sequence[Any], dependencies: Sequence[Any]) -> None:
        self._label = "-".join(re.findall("[A-Za-z]+", label)) or "call"
        self._token = tokenize(*parts, *(d.name for d in dependencies))
        self._dependencies = list(dependencies)
        self._tasks: dict[Any, Any] = {}

    def name(self, what: str) -> str:
        """A name of this call's tasks."""
        return f"{self._label}-{what}-{self._token}"

    def add(self, what: str, place: Place, task: tuple[Any, ...]) -> Any:
        """A task; what it takes are keys, values, and lists of them. Returns its key."""
        key = (self.name(what), *place)
        self._tasks[key] = task
        return key

    def tree(self, what: str, keys: Sequence[Any], merge: Callable[..., Any], *first: Any, place: Place = ()) -> Any:
        """The key of what `merge(*first, list)` makes of all keys, in order, FAN_IN at a time. place: of the tree."""
        level = 0
        while len(keys) > 1 or not level:
            groups = [list(keys[k : k + FAN_IN]) for k in range(0, len(keys), FAN_IN)]
            keys = [self.add(what, (*place, level, k), (merge, *first, group)) for k, group in enumerate(groups)]
            level += 1
        return keys[0]

    def arrays(self, what: str, tasks: Mapping[Place, tuple[Any, ...]], outputs: Sequence[Output]) -> list[Any]:
        """The arrays of tasks by place. They give a block, or, where there are several outputs, a tuple of them. The
        block of an output of fewer axes lies at the first ones of the place.
        """
        if len(outputs) == 1:
            for place, task in tasks.items():
                self.add(what, place[: len(outputs[0][0])], task)
            return [self.array(what, *outputs[0])]
        keys = {place: self.add(what, place, task) for place, task in tasks.items()}
        names = [f"{what}-output-{word(k)}" for k in range(len(outputs))]
        for k, (name, (chunks, _)) in enumerate(zip(names, outputs, strict=True)):
            for place, key in keys.items():
                self.add(name, place[: len(chunks)], (_part, key, k))
        return [self.array(name, *output) for name, output in zip(names, outputs, strict=True)]

    def array(self, what: str, chunks: Chunks, dtype: DType) -> Any:
        """The array whose blocks are the tasks of this name."""
        name = self.name(what)
        graph = HighLevelGraph.from_collections(name, dict(self._tasks), dependencies=self._dependencies)
        return da.Array(graph, name, chunks, dtype=dtype)


def word(number: int) -> str:
    """A number from 0 as letters, of which names of tasks are made."""
    return "i" * (number + 1)


def _part(results: Sequence[Any], k: int) -> Any:
    return results[k]


def as_chunked(x: Any, what: str) -> Any:
    """A Dask array whose lengths are known; NumPy's arrays are one chunk. Raises ArgumentError for other collections,
    ShapeError for unknown chunks, DeviceError for arrays on a device, DTypeError for what no kernel can hold.
    """
    if isinstance(x, DeviceArray):
        raise DeviceError(f"{what} lives on {x.context!r}, another one is a Dask array; pass x.to_numpy()")
    if isinstance(x, np.ndarray):
        return da.from_array(x, chunks=-1)
    if not isinstance(x, da.Array):
        raise ArgumentError(
            f"{what} is a {type(x).__name__} of {type(x).__module__.partition('.')[0]}; give a dask.array: of a "
            "dataframe's column column.to_dask_array().compute_chunk_sizes(), of a delayed value da.from_delayed"
        )
    if any(np.isnan(extent) for extent in x.shape):
        raise ShapeError(
            f"{what} is a Dask array of chunks {x.chunks}, whose lengths are not known; call x.compute_chunk_sizes()"
        )
    dtype = check_stored(x.dtype, what)
    return x if dtype == x.dtype else x.astype(dtype)


def block(x: Any, place: Sequence[int]) -> tuple[Any, ...]:
    """What a task takes for the block of a Dask array at a place: the block, whose shape is checked in this task."""
    return (checked, (x.name, *place), *(int(chunks[k]) for chunks, k in zip(x.chunks, place, strict=True)))


def checked(values: Any, *shape: int) -> Any:
    """A block of this shape. Raises ShapeError for another one, such as a read that was short: results of a part are
    not those of the whole.
    """
    own = tuple(values.shape) if hasattr(values, "shape") else np.shape(values)
    if own != shape:
        raise ShapeError(
            f"a block has shape {own} where its Dask array says {shape}: a read was short, or chunks are declared "
            "wrongly; nothing of the result counts"
        )
    return values


def without_empty_chunks(x: Any) -> Any:
    """The same array in chunks of one element at least, or in one chunk where it has none."""
    if not x.size:
        return x.rechunk(x.shape)
    if all(all(chunks) for chunks in x.chunks):
        return x
    return x.rechunk(tuple(tuple(c for c in chunks if c) for chunks in x.chunks))


def places_of(chunks: Chunks) -> Iterator[Place]:
    """The places of all blocks, in C order."""
    return product(*(range(len(each)) for each in chunks))
