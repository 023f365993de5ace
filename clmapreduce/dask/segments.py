"""Segments of Dask arrays: those inside a chunk are reduced there, and pieces of those across borders are merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np

from clmapreduce.calls.chunked import is_chunked
from clmapreduce.calls.options import Options
from clmapreduce.dask.carried import Carried, carried
from clmapreduce.dask.graph import Graph, Place, as_chunked, block, without_empty_chunks
from clmapreduce.dask.home import home
from clmapreduce.dask.work import segments as segment_work
from clmapreduce.dask.work.segments import SegmentWork
from clmapreduce.errors import ArgumentError, ModeError
from clmapreduce.segmented.check import settled
from clmapreduce.segmented.geometry import geometry
from clmapreduce.segmented.inputs import columns, gathered
from clmapreduce.segmented.streamed.cuts import clean


def segments(
    values: Any, offsets: Any, op: Any = "sum", *, sources: Any = None, starts: bool = False, validate: bool = True,
    mode: str = "auto", **how: Any,
) -> Any:  # fmt: skip
    """The reduction of every segment, a Dask array: a chunk holds the segments that begin in a chunk of values.

    offsets: a NumPy array, which says how long chunks of the result are. Raises as `cm.segmented_reduce`, ArgumentError
    for offsets that are a Dask array, ModeError for sources.
    """
    if is_chunked(offsets):
        raise ArgumentError("offsets is a Dask array, and tells how long the result is; pass offsets.compute()")
    if sources is not None:
        raise ModeError("sources= is not offered for Dask arrays; gather the values before")
    arrays = aligned(values)
    work = SegmentWork(len(arrays), op, mode, how)
    result, context = work.checked(arrays), home()
    own_offsets = gathered([offsets], context, ("offsets",)).arrays[0]
    shape = geometry(own_offsets, arrays[0].shape[0], None, starts, validate, Options(mode, context))
    settled(shape.check)
    ends = clean(shape.offsets, shape.segments, shape.length).astype(np.int64)
    trailing = tuple((n,) for n in columns(arrays).trailing)
    if not shape.segments:
        return da.zeros((0, *columns(arrays).trailing), dtype=result, chunks=-1)
    task = carried(work, "segmented_reduce")
    graph = Graph("segmented-reduce", (task.__dask_tokenize__(), ends), arrays)
    sizes = _add_chunks(graph, task, arrays, ends, (0,) * len(trailing))
    return graph.array("chunk", (sizes, *trailing), result)


def _add_chunks(graph: Graph, task: Carried, arrays: Sequence[Any], ends: Any, axes: Place) -> tuple[int, ...]:
    """Adds the tasks of all chunks of results; gives how many segments each has. axes: a zero per trailing axis."""
    bounds = np.concatenate([[0], np.cumsum(arrays[0].chunks[0])]).astype(np.int64)
    owner = np.clip(np.searchsorted(bounds, ends[:-1], "right") - 1, 0, len(bounds) - 2)
    examples = [np.empty((0, *x.shape[1:]), x.dtype) for x in arrays]
    sizes: list[int] = []
    for chunk in map(int, np.unique(owner)):
        first, last = np.searchsorted(owner, [chunk, chunk + 1])
        own = ends[first : last + 1]
        inside = own if own[-1] <= bounds[chunk + 1] else own[:-1]
        results = (segment_work.inner, task, inside - bounds[chunk], blocks(arrays, chunk))
        if len(inside) == len(own):
            graph.add("chunk", (len(sizes), *axes), results)
        else:
            last_one = int(own[-2]), int(own[-1])
            pieces = [
                graph.add("piece", (chunk, c), (segment_work.piece, task, *place, blocks(arrays, c)))
                for c, place in _across(*last_one, bounds, chunk)
            ]
            inner = graph.add("inner", (chunk,), results)
            whole = (segment_work.with_last, task, inner, np.array(last_one), pieces, examples)
            graph.add("chunk", (len(sizes), *axes), whole)
        sizes.append(int(last - first))
    return tuple(sizes)


def _across(begin: int, end: int, bounds: np.ndarray[Any, Any], chunk: int) -> list[tuple[int, tuple[int, int, int]]]:
    """The pieces of a segment across borders: the chunk, where they begin and end in it, what comes before it."""
    pieces = []
    while chunk < len(bounds) - 1 and bounds[chunk] < end:
        low, high = int(bounds[chunk]), int(bounds[chunk + 1])
        pieces.append((chunk, (max(begin, low) - low, min(end, high) - low, low)))
        chunk += 1
    return pieces


def aligned(values: Any) -> list[Any]:
    """Arrays of values in the same chunks, trailing axes whole. Raises ShapeError where lengths differ."""
    parts = values if isinstance(values, tuple) else (values,)
    arrays = [without_empty_chunks(as_chunked(x, "values")) for x in parts]
    columns(arrays)
    whole = [x.rechunk(dict.fromkeys(range(1, x.ndim), -1)) for x in arrays]
    pairs = [part for k, x in enumerate(whole) for part in (x, (0, *((k + 1, axis) for axis in range(1, x.ndim))))]
    return list(da.core.unify_chunks(*pairs)[1])


def blocks(arrays: Sequence[Any], chunk: int) -> list[Any]:
    """The blocks of arrays, for a task."""
    return [block(x, (int(chunk), *(0,) * (x.ndim - 1))) for x in arrays]
