"""Calls with Dask arrays among their arguments, by the name of what was called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from clmapreduce.dask.graph import as_chunked
from clmapreduce.dask.keys import by_key, lengths
from clmapreduce.dask.lines import lines
from clmapreduce.dask.matrices import matrix_times
from clmapreduce.dask.pairs import ChunkedArray
from clmapreduce.dask.partials import ChunkedPartials, nothing
from clmapreduce.dask.segments import segments
from clmapreduce.errors import ModeError, ShapeError
from clmapreduce.primitives.map import Map
from clmapreduce.primitives.partials import Partials
from clmapreduce.primitives.parts import Parts
from clmapreduce.primitives.pipeline import Pipeline
from clmapreduce.primitives.scan import Scan

HERE = {
    "context": "tasks run on the device that CLMR_DEVICE names on their worker; see cm.dask.to_devices",
    "wait_for": "tasks wait for what they take",
    "out": "take the Dask array that the call gives, and store it by its to_zarr, or da.store",
    "tiles": "chunks are the tiles",
    "progress": "use dask.diagnostics.ProgressBar, or distributed.progress",
    "finish": "accumulators of chunks are merged on the host",
    "length": "give a Dask array of that length, such as da.arange",
}
"""Keywords that calls on Dask arrays do not take, and what to do."""
DEFAULTS = {"wait_for": (), "finish": "auto", "keepdims": False}
LINES = {
    "axis": "move the axis to the end (da.moveaxis) and call cm.fuse(…, batch=True)",
    "keepdims": "add the axes of length 1 to the Dask array that the call gives",
    "initial": "combine it with the Dask array that the call gives",
    "where": "choose by cm.where in a cm.Map in front",
}
"""The same of reductions and scans alone."""


def is_left_out(value: Any, default: Any) -> bool:
    """Whether a keyword is as if it were not there."""
    return value is default or (type(value) is type(default) and bool(value == default))


def refuse(what: str, keywords: Mapping[str, Any], refused: Mapping[str, str] = HERE) -> dict[str, Any]:
    """The keywords that a call on Dask arrays takes. Raises ModeError for others."""
    for name, advice in refused.items():
        if name in keywords and not is_left_out(keywords[name], DEFAULTS.get(name)):
            raise ModeError(f"{what}: {name}= is not offered for Dask arrays: {advice}")
    return {name: value for name, value in keywords.items() if name not in refused}


def lazily(name: str, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """What a call gives: Dask arrays. name: of the function that was called."""
    return CALLS[name](*args, **refuse(name.removesuffix(".__call__"), keywords))


def _pipeline(
    primitive: Any, *values: Any, mode: str = "auto", batch: bool | None = None, accumulate: Any = "auto", **named: Any
) -> Any:
    """A primitive on Dask arrays, as a pipeline of its own."""
    if isinstance(primitive, Map):
        values = tuple(primitive.ordered(values, named))
    pipeline = primitive if isinstance(primitive, Pipeline) else Pipeline(Parts([primitive]))
    results = lines(pipeline, values, mode, batch, accumulate)
    return results[0] if len(results) == 1 else tuple(results)


def _over_line(primitive: Any, *values: Any, **keywords: Any) -> Any:
    """A reduction or a scan on Dask arrays."""
    return _pipeline(primitive, *values, **refuse(type(primitive).__name__, keywords, LINES))


def _partials(primitive: Partials, *values: Any, mode: str = "auto") -> ChunkedPartials:
    if len(values) == 1 and getattr(values[0], "ndim", 1) != 1:
        raise ShapeError(f"partials are kept over one dimension, the input has shape {values[0].shape}")
    (scanned,) = lines(Pipeline(Parts([Scan(primitive.op)])), values, mode, False, "auto")
    return ChunkedPartials(scanned, nothing(primitive.op, values[0].dtype))


CALLS: dict[str, Callable[..., Any]] = {
    "Map.__call__": _pipeline,
    "Reduce.__call__": _over_line,
    "Scan.__call__": _over_line,
    "Pipeline.__call__": _pipeline,
    "Partials.__call__": _partials,
    "segmented_reduce": segments,
    "reduce_by_key": by_key,
    "run_lengths": lengths,
    "spmv": matrix_times,
}
"""By the qualified name of what was called."""


def guest(x: Any, what: str) -> ChunkedArray:
    """A Dask array as formulas of pairs hold it. Raises as `as_chunked`."""
    return ChunkedArray(as_chunked(x, what))


def example(x: Any) -> Any:
    """Zeros of the shape of a Dask array's first chunk. Raises as `as_chunked`."""
    x = as_chunked(x, "the array")
    return np.zeros(tuple(chunks[0] for chunks in x.chunks), x.dtype)
