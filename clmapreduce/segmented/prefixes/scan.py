"""segmented_scan and scan_by_key: every prefix's reduction within its segment, or within its run of equal keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.calls.chunked import is_chunked
from clmapreduce.calls.frames import arrays_of, framed
from clmapreduce.calls.options import Options
from clmapreduce.checks import switch
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.dtypes import INT32, DType
from clmapreduce.errors import ArgumentError, ShapeError
from clmapreduce.formula.functions import apply, as_node
from clmapreduce.formula.node import Node, Record
from clmapreduce.host_room import needs_host_room
from clmapreduce.primitives.pipeline import Pipeline, fuse
from clmapreduce.program.build import bound_to, scanned
from clmapreduce.program.tracing import current_tracing
from clmapreduce.reductions import ReductionOp, operator
from clmapreduce.reductions.around.restarted import placed_value, restarted
from clmapreduce.reductions.names import Op
from clmapreduce.segmented.check import settled
from clmapreduce.segmented.geometry import expanded, geometry
from clmapreduce.segmented.inputs import Gathered, gathered
from clmapreduce.segmented.keys import run_lengths
from clmapreduce.segmented.runs import Equal
from clmapreduce.sorting.codes import codes_of


@needs_host_room
def segmented_scan(
    values: Any, offsets: Any, op: Op = "sum", *, exclusive: bool = False, mode: str = "auto",
    context: Context | None = None, wait_for: Sequence[Any] = (), out: Any = None,
) -> Any:  # fmt: skip
    """Prefix reductions that begin again with every segment: result i combines the values of its segment up to i, or
    before i when `exclusive` (a segment's first one is the identity). Shape (n,), of the dtypes of `cm.Scan`.

    values: (n,) numbers. offsets: (S + 1,) as for `cm.segmented_reduce`; segments may be empty. op: as for `cm.Reduce`;
    argmin and argmax count from the start of the segment. The result is a DeviceArray if an argument is one; the call
    waits for the check of offsets. Raises ShapeError naming the first wrong offset, DTypeError, ModeError.
    """
    inputs = _gathered([offsets, values], context, ("offsets", "values"))
    options = Options(mode, inputs.context, wait_for)
    offsets, data = inputs.arrays
    shape = geometry(offsets, len(data), None, False, True, options)
    settled(shape.check)
    return _scanned(data, shape.offsets, shape.segments, operator(op).held, exclusive, replace(options, out=out))


@needs_host_room
def scan_by_key(
    keys: Any, values: Any, op: Op = "sum", *, exclusive: bool = False, equal: Equal | None = None,
    mode: str = "auto", context: Context | None = None, wait_for: Sequence[Any] = (), out: Any = None,
) -> Any:  # fmt: skip
    """As `segmented_scan`, for runs of equal neighbours among the keys (n,); `equal` compares them as for
    `cm.reduce_by_key`. If values is a pandas Series, the result is a Series with its index. The call waits for the
    number of runs.
    """
    frame, coded = framed(keys, values), codes_of(keys)
    if frame is not None or coded is not None:
        own_keys = np.asarray(keys) if coded is None else coded.numbers
        result = scan_by_key(
            own_keys, values if frame is None else arrays_of(values), op, exclusive=exclusive, equal=equal, mode=mode,
            context=context, wait_for=wait_for, out=out,
        )  # fmt: skip
        return result if frame is None else frame.alike(result)
    inputs = _gathered([keys, values], context, ("keys", "values"))
    own, data = inputs.arrays
    if len(own) != len(data):
        raise ShapeError(f"values has length {len(data)}, keys has {len(own)}; they must agree")
    starts = np.asarray(run_lengths(own, equal=equal, mode=mode, context=inputs.context, wait_for=wait_for)[2])
    options = Options(mode, inputs.context, wait_for, out)
    return _scanned(data, np.append(starts, len(own)), len(starts), operator(op).held, exclusive, options)


def _gathered(arrays: Sequence[Any], context: Context | None, names: Sequence[str]) -> Gathered:
    if any(map(is_chunked, arrays)):
        raise ArgumentError("Dask arrays are not scanned by segments; scan x.compute()")
    inputs = gathered(arrays, context, names)
    shape = inputs.arrays[1].shape
    if len(shape) != 1:
        raise ShapeError(f"values has shape {shape}; a scan of segments has one dimension")
    return inputs


def _scanned(data: Any, begins: Any, segments: int, op: ReductionOp, exclusive: Any, options: Options) -> Any:
    """The scan of segments that begin at some offsets."""
    context, length = options.context, len(data)
    assert context is not None
    if not segments:
        begins, segments = np.zeros(2, INT32), 1
    nowhere = array(np.zeros(segments, INT32), context)
    places = expanded(array(begins, context), nowhere, length, length, replace(options, out=None))
    function = _scan(op, switch(exclusive, "exclusive"))
    result = function(data, places, mode=options.mode, context=context, wait_for=options.wait_for, out=options.out)
    on_host = isinstance(data, np.ndarray) and isinstance(begins, np.ndarray) and options.out is None
    return result.to_numpy() if on_host else result


@lru_cache(maxsize=256)
def _scan(op: ReductionOp, exclusive: bool) -> Pipeline:
    """The fused function of values, and of their places in their segments."""

    def prefixes(x: Any, place: Node) -> Any:
        result: Any = scanned(restarted(op), placed_value(x, place), exclusive, op.name)
        return apply("where", place == 0, _identity(op, x.dtype), result) if exclusive else result

    prefixes.__name__ = f"{op.name} of segments"
    pipeline: Pipeline = fuse(prefixes)
    return pipeline


def _identity(op: ReductionOp, dtype: DType) -> Any:
    """What an operator makes of no values, as a formula."""
    tracing = current_tracing()
    assert tracing is not None
    bound = bound_to(op, dtype, "auto", tracing.fp64)
    return bound.finish(Record({c.name: as_node(c.identity, c.dtype) for c in bound.components}))
