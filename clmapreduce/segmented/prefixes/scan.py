"""segmented_scan and scan_by_key: every prefix's reduction within its segment, or within its run of equal keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import gather
from clmapreduce.calls.chunked import is_chunked
from clmapreduce.calls.frames import arrays_of, framed
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.checks import switch
from clmapreduce.device.array import DeviceArray, empty
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.dtypes import INT32, DType
from clmapreduce.errors import ArgumentError, ShapeError
from clmapreduce.formula.functions import apply, as_node, cast
from clmapreduce.formula.guard import placed_where
from clmapreduce.formula.node import Node, Record
from clmapreduce.formula.trace import own
from clmapreduce.host_room import needs_host_room
from clmapreduce.primitives.map import Map
from clmapreduce.primitives.pipeline import Pipeline, fuse
from clmapreduce.program.build import bound_to, scanned
from clmapreduce.program.tracing import current_tracing
from clmapreduce.reductions import ReductionOp, operator
from clmapreduce.reductions.argument import Argument
from clmapreduce.reductions.around.restarted import FLAG, placed_value, restarted
from clmapreduce.reductions.names import Op
from clmapreduce.segmented.check import settled
from clmapreduce.segmented.geometry import expanded, geometry
from clmapreduce.segmented.inputs import Gathered, gathered
from clmapreduce.segmented.keys import run_lengths
from clmapreduce.segmented.lines import Row, mapped
from clmapreduce.segmented.runs import Equal, changes_between, difference, keys_on_device
from clmapreduce.sorting.codes import codes_of

FEW = 1 << 16
"""Elements up to which one launch that writes places takes no longer than two that write bytes."""


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
    reduction = operator(op).representative
    return _scanned(data, shape.offsets, shape.segments, reduction, exclusive, replace(options, out=out))


@needs_host_room
def scan_by_key(
    keys: Any, values: Any, op: Op = "sum", *, exclusive: bool = False, equal: Equal | None = None,
    mode: str = "auto", context: Context | None = None, wait_for: Sequence[Any] = (), out: Any = None,
) -> Any:  # fmt: skip
    """As `segmented_scan`, for runs of equal neighbours among the keys (n,); `equal` compares them as for
    `cm.reduce_by_key`. If values is a pandas Series, the result is a Series with its index. argmin and argmax wait for
    the number of runs.
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
    key_array, data = inputs.arrays
    if len(key_array) != len(data):
        raise ShapeError(f"values has length {len(data)}, keys has {len(key_array)}; they must agree")
    reduction, options = operator(op).representative, Options(mode, inputs.context, wait_for, out)
    if isinstance(reduction, Argument):  # whose values have places
        lengths = run_lengths(key_array, equal=equal, mode=mode, context=inputs.context, wait_for=wait_for)
        starts = np.asarray(lengths[2])
        return _scanned(data, np.append(starts, len(key_array)), len(starts), reduction, exclusive, options)
    places = _inside_runs(inputs, equal, options)
    return _prefixes(data, places, reduction, exclusive, options, inputs.on_device)


def _gathered(arrays: Sequence[Any], context: Context | None, names: Sequence[str]) -> Gathered:
    if any(map(is_chunked, arrays)):
        raise ArgumentError("Dask arrays are not scanned by segments; scan x.compute()")
    inputs = gathered(arrays, context, names)
    shape = inputs.arrays[1].shape
    if len(shape) != 1:
        raise ShapeError(f"values has shape {shape}; a scan of segments has one dimension")
    return inputs


def _inside_runs(inputs: Gathered, equal: Equal | None, options: Options) -> DeviceArray:
    """Whether a key goes on a run, for all keys but the first, whose number says nothing."""
    assert options.context is not None
    keys, context = keys_on_device(inputs).arrays[0], options.context
    changes_between(keys, context, equal, "first")
    places, count = empty((len(keys),), FLAG, context), len(keys)
    if count > 1:
        rows = [Row(keys), Row(keys, ahead=1)]
        inside = _goes_on(None if equal is None else own(equal))
        mapped(inside, rows, count - 1, replace(options, out=places[1:]), True)
    return places


@lru_cache(maxsize=256)
def _goes_on(equal: Equal | None) -> Callable[..., Any]:
    """The function that tells of two keys whether they are of one run, as a number."""
    changes = difference(equal)
    return lambda key, after: cast(apply("logical_not", changes(key, after)), FLAG)


def _inside_segments(begins: DeviceArray, segments: int, length: int, options: Options) -> DeviceArray:
    """1 for every element, and 0 where one of the segments begins; empty ones may begin behind the last element."""
    launch = replace(options, out=None)
    inside: DeviceArray = mapped(_one, [], length, launch, True)[0]
    if not length:
        return inside
    arguments = gather([begins[:segments], np.int64(length)], options.context, shape=(segments,))
    prepared = _BEGINS.prepared(replace(arguments, reach=length), replace(launch, out=inside), into=inside.shape)
    assert isinstance(prepared, Prepared)
    prepared.run()
    return inside


def _one() -> Node:
    return as_node(1, FLAG)


_BEGINS = Map(lambda begin, length: placed_where(begin < length, begin, as_node(0, FLAG)))


def _scanned(data: Any, begins: Any, segments: int, op: ReductionOp, exclusive: Any, options: Options) -> Any:
    """The scan of segments that begin at some offsets."""
    context, length = options.context, len(data)
    on_device = not (isinstance(data, np.ndarray) and isinstance(begins, np.ndarray))
    assert context is not None
    if not segments:
        begins, segments = np.zeros(2, INT32), 1
    begins = array(begins, context) if isinstance(begins, np.ndarray) else begins
    if isinstance(op, Argument) or length <= FEW:  # values have places, or to write them is one launch
        nowhere = array(np.zeros(segments, INT32), context)
        places = expanded(begins, nowhere, length, length, replace(options, out=None))
    else:
        places = _inside_segments(begins, segments, length, options)
    return _prefixes(data, places, op, exclusive, options, on_device)


def _prefixes(
    data: Any, places: DeviceArray, op: ReductionOp, exclusive: Any, options: Options, on_device: bool
) -> Any:
    """The scan that begins again at every place 0."""
    function = _scan(op, switch(exclusive, "exclusive"))
    result = function(
        data, places, mode=options.mode, context=options.context, wait_for=options.wait_for, out=options.out
    )
    return result if on_device or options.out is not None else result.to_numpy()


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
