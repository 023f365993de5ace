"""reduce_by_key and run_lengths: runs of equal neighbours; KeyPlan: the same for many arrays of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from clmapreduce.calls.call import Output, check_out
from clmapreduce.calls.chunked import takes_chunks
from clmapreduce.calls.frames import arrays_of, framed
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.calls.progress import followed
from clmapreduce.checks import switch
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.dtypes import DType
from clmapreduce.errors import ModeError, ShapeError
from clmapreduce.formula.functions import cast
from clmapreduce.formula.node import Node
from clmapreduce.host_room import needs_host_room
from clmapreduce.primitives.map import Map
from clmapreduce.reductions.base import Accumulate
from clmapreduce.reductions.names import Op
from clmapreduce.segmented.call import SegmentCall
from clmapreduce.segmented.geometry import Geometry
from clmapreduce.segmented.inputs import Columns, Gathered, columns, gathered
from clmapreduce.segmented.lines import Row, mapped
from clmapreduce.segmented.plan_calls import PlanCalls
from clmapreduce.segmented.reduce import Mapped, column_result, front_of, prepare_columns, segment_call
from clmapreduce.segmented.run_ends import (
    KeyedCall,
    find_marks,
    keyed_request,
    marked_layout,
    marks_box,
    prepare_marked,
)
from clmapreduce.segmented.runs import Equal, Runs, check_words, find_runs, keys_on_device
from clmapreduce.segmented.streamed.keys import StreamedKeys, streamed_keys
from clmapreduce.sorting.arrays import same, sorted_with
from clmapreduce.sorting.codes import codes_of
from clmapreduce.sorting.line import check_keys

COPY = Map(lambda key: key)


@takes_chunks
@followed
def reduce_by_key(
    keys: Any, values: Any, op: Op = "sum", *, equal: Equal | None = None, key: str = "first",
    init: Any = None, map: Mapped = None, accumulate: Accumulate = "auto", count: str = "host", mode: str = "auto",
    context: Context | None = None, wait_for: Sequence[Any] = (), out: Any = None, progress: Any = None,
    sort: bool = False,
) -> Any:  # fmt: skip
    """(keys, reduced): for every run of equal neighbours among the keys, its key and the reduction of its values.

    keys: (n,) of any dtype, also records, sorted or not; a key that occurs again later begins another run. equal: a
    traced function of two neighbouring keys that says whether they belong to one run; the default is ==, so that every
    NaN is a separate run. key: which key of a run is returned, its "first" or "last". sort: keys are first sorted,
    stably, together with the values, so that every key has one run; all NaN are then one key. Keys to be sorted are
    bools, integers or floats; texts, dates and other Python objects are numbered by `numpy.unique`, and their keys come
    back as NumPy arrays. For columns of pandas, numbered by `pandas.factorize`, the keys come back as an Index of their
    dtype, a missing key as the last; reductions of a Series as a Series with that index, of a DataFrame as a DataFrame.
    values: (n, *trailing). values, `op`, `init`, `map` and `accumulate`: as for `cm.segmented_reduce`. count: "host"
    waits for the number of runs R and returns arrays of that length. "device" does not wait and returns (keys, reduced,
    R): arrays of length n, undefined from entry R on, and an int64 of shape (). out: a tuple of arrays for keys and
    reductions, of these lengths.

    Raises ShapeError if the lengths differ, else as `cm.segmented_reduce`.
    """
    frame, coded = framed(keys, values), codes_of(keys)
    if frame is not None or coded is not None:
        if count == "device" or out is not None:
            raise ModeError("texts, dates, objects and pandas' columns stay on the host: leave count and out= away")
        each, reduced = reduce_by_key(
            np.asarray(keys) if coded is None else coded.numbers, values if frame is None else arrays_of(values), op,
            equal=equal, key=key, init=init, map=map, accumulate=accumulate, mode=mode, context=context,
            wait_for=wait_for, sort=sort,
        )  # fmt: skip
        each = each if coded is None else coded.named(each)
        return (each, reduced) if frame is None else frame.keyed(each, reduced)
    arrays, front = front_of(values, map)
    inputs = gathered([keys, *arrays], context, ("keys", *["values"] * len(arrays)))
    options = Options(mode, inputs.context, wait_for, out)
    data = columns(inputs.arrays[1:])
    if inputs.arrays[0].ndim == 1 and len(inputs.arrays[0]) != data.length:
        raise ShapeError(f"values has length {data.length}, keys has {len(inputs.arrays[0])}; they must agree")
    call = segment_call(op, front, accumulate, init, None)
    check_words(count, key)
    if switch(sort, "sort"):
        inputs, equal = sorted_inputs(inputs, options), same if equal is None else equal
        data = columns(inputs.arrays[1:])
    streamed = streamed_keys(inputs, data, call, options) if count == "host" else None
    if streamed is not None:
        return _in_tiles(streamed, data, column_result(data, call, inputs.context), equal, key, options)
    box = marks_box(options)
    layout = None if box is None else marked_layout(call, data, inputs.context)
    if box is None or layout is None:
        return _by_places(inputs, data, call, equal, key, count, options)
    request = keyed_request(layout, data.length, inputs.arrays[0].dtype, key == "last", box, count == "device")
    planned: Any = inputs.context.measured(request).boxed
    inputs = keys_on_device(inputs)
    marking = partial(find_marks, inputs, equal, key, True, options=options)
    marks = marking(box=planned.box)
    rows = data.length if count == "device" else int(marks.count.to_numpy())
    keys_out, reduced_out = _targets(out, [((rows,), inputs.arrays[0].dtype)], inputs.context)
    targets = None if out is None else (reduced_out, keys_out)
    last = Options(mode, inputs.context, wait_for, targets)
    prepared = prepare_marked(request, call, data, marks, rows, last, inputs.on_device)
    reduced, each = KeyedCall(**vars(prepared), marking=lambda box: marking(box=box)).run()
    return (each, reduced) if count == "host" else (each, reduced, _delivered(marks.count, None, inputs.on_device))


def sorted_inputs(inputs: Gathered, options: Options) -> Gathered:
    """The same in the stable order of the keys, `inputs.arrays[0]`. Raises ShapeError, DTypeError."""
    keys, *values = inputs.arrays
    if keys.ndim != 1:
        raise ShapeError(f"keys has shape {keys.shape}; sorted keys have one dimension")
    check_keys(keys.dtype, "keys")
    ordered, others = sorted_with(keys, values, False, replace(options, out=None))
    return replace(inputs, arrays=(ordered, *others))


def _in_tiles(
    streamed: StreamedKeys, data: Columns, result: DType, equal: Equal | None, key: str, options: Options
) -> Any:
    """reduce_by_key for host arrays that have no room on the device."""
    each = streamed.find(equal, key, options)
    rows = len(each)
    outputs = [((rows,), each.dtype), ((rows, *data.trailing), result)]
    keys_out, reduced_out = _targets(options.out, outputs, streamed.context)
    reduced = streamed.reduced(Options(options.mode, streamed.context, options.wait_for, reduced_out))
    if keys_out is not None:
        np.copyto(keys_out, each)
    return (each if keys_out is None else keys_out), reduced


def _by_places(
    inputs: Gathered, data: Columns, call: SegmentCall, equal: Equal | None, key: str, count: str, options: Options
) -> Any:
    """reduce_by_key in two steps: the places of runs first; then runs are segments."""
    result = column_result(data, call, inputs.context)
    read = [v.memory for v in data.arrays if isinstance(v, DeviceArray)]

    def outputs(rows: int, dtype: DType) -> tuple[Output, ...]:
        return ((rows,), dtype), ((rows, *data.trailing), result)

    def target(rows: int, dtype: DType) -> DeviceArray | None:
        keys_out, _ = _targets(options.out, outputs(rows, dtype), inputs.context)
        if not isinstance(keys_out, DeviceArray) or keys_out.first:
            return None
        return keys_out if all(keys_out.memory is not memory for memory in read) else None

    runs = find_runs(inputs, equal, key, options, count, target)
    keys_out, reduced_out = _targets(options.out, outputs(runs.rows, runs.keys.dtype), inputs.context)
    prepared = prepare_columns(
        _geometry(runs, inputs.context), data, call,
        Options(options.mode, inputs.context, options.wait_for, reduced_out), inputs.on_device,
    )  # fmt: skip
    reduced = (prepared.run() if isinstance(prepared, Prepared) else prepared)[0]
    each = keys_out if runs.keys is keys_out else _delivered(runs.keys, keys_out, inputs.on_device)
    return (each, reduced) if count == "host" else (each, reduced, _delivered(runs.count, None, inputs.on_device))


def _geometry(runs: Runs, context: Context) -> Geometry:
    return Geometry(context, runs.begins, runs.rows, runs.length, runs.length)


def _targets(out: Any, outputs: Sequence[Output], context: Context) -> tuple[Any, Any]:
    """(for keys, for reductions) of a call's `out`. outputs: the first of these, or both, to check."""
    if out is None:
        return None, None
    if not isinstance(out, tuple) or len(out) != 2:
        raise ShapeError("out must be a tuple of two arrays, for keys and reductions")
    check_out(out[: len(outputs)], outputs, context)
    return out


def _delivered(array: DeviceArray, target: Any, on_device: bool) -> Any:
    """An array on the device as the caller wants it."""
    if isinstance(target, DeviceArray):
        return COPY(array, out=target) if array.size else target
    if target is not None:
        np.copyto(target, array.to_numpy())
        return target
    return array if on_device else array.to_numpy()[()]


@takes_chunks
@followed
def run_lengths(
    keys: Any, *, equal: Equal | None = None, key: str = "first", mode: str = "auto", context: Context | None = None,
    wait_for: Sequence[Any] = (), progress: Any = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """(keys, counts, starts) of the runs of equal neighbours among the keys: each (R,), the latter two int64.

    Arguments as for `cm.reduce_by_key`. A DeviceArray gives DeviceArrays; the call waits for the number of runs.
    """
    inputs = gathered([keys], context, ("keys",))
    runs = find_runs(inputs, equal, key, Options(mode, inputs.context, wait_for))
    counts, starts = _lengths(runs, inputs.context, mode, inputs.on_device)
    return _delivered(runs.keys, None, inputs.on_device), counts, starts


def _lengths(runs: Runs, context: Context, mode: str, on_device: bool) -> list[Any]:
    if not runs.rows:
        none = np.zeros(0, np.int64)
        return [array(none, context) if on_device else none.copy() for _ in range(2)]
    rows = [Row(runs.begins), Row(runs.begins, ahead=1)]
    return mapped(_counts, rows, runs.rows, Options(mode, context), on_device)


def _counts(begin: Node, end: Node) -> tuple[Node, Node]:
    wide = np.dtype(np.int64)
    return cast(end - begin, wide), cast(begin, wide)


class KeyPlan:
    """The runs of equal neighbours among keys, computed once for many reductions.

    keys, equal, key: as for `cm.reduce_by_key`. The plan stores the start and the key of each run on the device.
    """

    @needs_host_room
    def __init__(
        self, keys: Any, *, equal: Equal | None = None, key: str = "first", mode: str = "auto",
        context: Context | None = None,
    ) -> None:  # fmt: skip
        inputs = gathered([keys], context, ("keys",))
        self.context = inputs.context
        self._on_device = inputs.on_device
        own, options = keys_on_device(inputs), Options(mode, inputs.context)
        self._runs = find_runs(own, equal, key, options)
        box = marks_box(Options("parallel", inputs.context)) if self._runs.length else None  # whatever mode comes later
        self._marks = None if box is None else find_marks(own, equal, key, False, box, options)
        self._geometry = _geometry(self._runs, self.context)
        self._calls = PlanCalls(own.context, self)

    def __reduce__(self) -> Any:
        """Unpickled, it lives on the context of the thread."""
        begins = self._runs.begins.to_numpy()[: self.runs + 1]
        return _unpickled, (begins, self._runs.length, self._runs.keys.to_numpy(), self._on_device)

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return self._runs.rows

    @property
    def keys(self) -> Any:
        """(R,) a key of every run: a NumPy array; the plan's own, read only, where its keys were a DeviceArray."""
        return _delivered(self._runs.keys, None, self._on_device)

    def __repr__(self) -> str:
        nbytes = self._runs.begins.nbytes + self._runs.keys.nbytes
        if self._marks is not None:
            nbytes += self._marks.words.nbytes + self._marks.bases.nbytes
        return (
            f"KeyPlan({self.runs} runs of {self._runs.length} {self._runs.keys.dtype} keys; "
            f"{nbytes:,} bytes kept on {self.context.device.name})"
        )

    @followed
    def reduce(
        self, values: Any, op: Op = "sum", *, init: Any = None, map: Mapped = None,
        accumulate: Accumulate = "auto", mode: str = "auto", wait_for: Sequence[Any] = (), out: Any = None,
        progress: Any = None,
    ) -> Any:  # fmt: skip
        """(keys, reduced), with the same bits as `cm.reduce_by_key` in its default launch box; the keys are `keys`.
        out: for the reductions.
        """
        arrays, front = front_of(values, map)
        options = Options(mode, self.context, wait_for, out)

        def prepare() -> Prepared | list[Any]:
            inputs = gathered(arrays, self.context, ["values"] * len(arrays))
            call, data = segment_call(op, front, accumulate, init, None), columns(inputs.arrays)
            layout = None
            if self._marks is not None and marks_box(options) is not None:
                layout = marked_layout(call, data, self.context)
            if self._marks is None or layout is None:
                return prepare_columns(self._geometry, data, call, options, inputs.on_device)
            request = keyed_request(layout, data.length, None, self._marks.last, self._marks.box, fixed=True)
            return prepare_marked(request, call, data, self._marks, self.runs, options, inputs.on_device)

        reduced = self._calls.run((op, map, init, accumulate), dict(enumerate(arrays, 1)), options, prepare)
        return _delivered(self._runs.keys, None, isinstance(reduced, DeviceArray)), reduced


def _unpickled(begins: Any, length: int, keys: Any, on_device: bool) -> KeyPlan:
    """The plan of runs that begin there: of their numbers as keys, under their own keys."""
    numbers = np.repeat(np.arange(len(keys)), np.diff(np.append(begins[: len(keys)], length)))
    plan = KeyPlan(numbers)
    plan._runs = replace(plan._runs, keys=array(keys, plan.context))
    plan._on_device = on_device
    return plan
