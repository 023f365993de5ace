"""Dask arrays made of tasks, and the blocks of those that a call takes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.layers import ArrayBlockwiseDep

from clmapreduce.device.array import DeviceArray
from clmapreduce.dtypes import DType, check_stored
from clmapreduce.errors import ArgumentError, DeviceError, ShapeError

Place: TypeAlias = "tuple[int, ...]"
Chunks: TypeAlias = "tuple[tuple[int, ...], ...]"
Output: TypeAlias = "tuple[Chunks, DType]"
FAN_IN = 8
"""How many accumulators meet in one task."""


@dataclass(frozen=True, slots=True)
class BlockInfo:
    """What a task knows of its block. number: of its place, in C order. first: the number of its first element, where
    elements are in order. shapes: of the block of each value; None where all places share the value.
    """

    number: int
    first: int
    shapes: tuple[tuple[int, ...] | None, ...]

    def blocks(self, values: Sequence[Any]) -> list[Any]:
        """The blocks of values. Raises as `checked`."""
        own = zip(map(unlisted, values), self.shapes, strict=True)
        return [value if shape is None else checked(value, *shape) for value, shape in own]


class BlockInfos(ArrayBlockwiseDep):  # type: ignore[misc]
    """The BlockInfo of each place, as Dask's layers take it. chunks: of the call. own: of each value, None where all
    places share it.
    """

    def __init__(self, chunks: Chunks, own: Sequence[Chunks | None]) -> None:
        super().__init__(chunks)
        self._own = own
        self._before = [np.cumsum([0, *each]).tolist() for each in chunks[:1]]
        self._row = math.prod(sum(each) for each in chunks[1:])

    def __getitem__(self, place: Place) -> BlockInfo:
        place = tuple(0 if isinstance(k, list) else k for k in place)  # an axis in one chunk that the output has not
        number = 0
        for k, count in zip(place, self.numblocks, strict=True):
            number = number * count + k
        first = self._before[0][place[0]] * self._row if place else 0
        shapes = tuple(None if chunks is None else self._shape(chunks, place) for chunks in self._own)
        return BlockInfo(number, first, shapes)

    def _shape(self, chunks: Chunks, place: Place) -> tuple[int, ...]:
        own = place[len(place) - len(chunks) :]
        return tuple(int(each[0 if len(each) == 1 else k]) for each, k in zip(chunks, own, strict=True))


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

    def layers(
        self, what: str, work: Callable[..., Any], shared: Sequence[Any], infos: BlockInfos, values: Sequence[Any],
        outputs: Sequence[Output],
    ) -> list[Any]:  # fmt: skip
        """The arrays of `work(*shared, info, *blocks)` at all places, in layers of Dask's own kind: Dask makes one
        task of such a layer and those before it. Outputs are as for `arrays`, values Dask arrays or what all share.
        """
        axes = tuple(range(len(infos.chunks)))
        parts: list[tuple[Any, Any]] = [*((value, None) for value in shared), (infos, axes)]
        parts += [(x, axes[len(axes) - x.ndim :] if isinstance(x, da.Array) else None) for x in values]
        if len(outputs) == 1:
            return [self._layer(what, work, parts, *outputs[0])]
        whole = self._layer(what, work, parts, infos.chunks, np.dtype(object))
        names = [f"{what}-output-{word(k)}" for k in range(len(outputs))]
        return [
            self._layer(name, _own_part, [(k, None), (whole, axes)], *output)
            for k, (name, output) in enumerate(zip(names, outputs, strict=True))
        ]

    def _layer(
        self, what: str, work: Callable[..., Any], parts: Sequence[tuple[Any, Any]], chunks: Chunks, dtype: DType
    ) -> Any:
        array = da.blockwise(
            work,
            tuple(range(len(chunks))),
            *(one for part in parts for one in part),
            name=self.name(what),
            dtype=dtype,
            meta=np.empty((0,) * len(chunks), dtype),
            align_arrays=False,
        )
        self._dependencies.append(array)
        return array

    def value(self, what: str, task: tuple[Any, ...]) -> Any:
        """What a task gives, for the layers of other tasks: a Delayed. Its key is a name alone, which `clone` needs."""
        key = self.name(what)
        self._tasks[key] = task
        value = Delayed(key, self._layer_of_tasks(key))
        self._tasks, self._dependencies = {}, [*self._dependencies, value]
        return value

    def array(self, what: str, chunks: Chunks, dtype: DType) -> Any:
        """The array whose blocks are the tasks of this name."""
        name = self.name(what)
        return da.Array(self._layer_of_tasks(name), name, chunks, dtype=dtype)

    def _layer_of_tasks(self, name: str) -> Any:
        """A layer of all tasks so far. It depends on what they take alone: Dask makes one task of two layers only if no
        third one depends on the first.
        """
        names = set(_names(list(self._tasks.values())))
        dependencies = [d for d in self._dependencies if (d.name if isinstance(d, da.Array) else d.key) in names]
        return HighLevelGraph.from_collections(name, dict(self._tasks), dependencies=dependencies)


def word(number: int) -> str:
    """A number from 0 as letters, of which names of tasks are made."""
    return "i" * (number + 1)


def _names(part: Any) -> Iterator[str]:
    """The names of the keys in tasks, and all else that may be one."""
    if isinstance(part, (tuple, list)):
        for each in part:
            yield from _names(each)
    elif isinstance(part, str):
        yield part


def _part(results: Sequence[Any], k: int) -> Any:
    return results[k]


def _own_part(k: int, results: Any) -> Any:
    return unlisted(results)[k]


def unlisted(block: Any) -> Any:
    """A block that Dask gives in a list for each of its axes that the output has not: all lie in one chunk."""
    while isinstance(block, list):
        (block,) = block
    return block


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
