"""segmented_reduce: one result per segment of an array; SegmentPlan: the same for many arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from clmapreduce.calls.chunked import takes_chunks
from clmapreduce.calls.explain import Explanation, explained, no_launch
from clmapreduce.calls.options import CallOptions, Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.calls.progress import followed
from clmapreduce.calls.tracing import identity
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.runtime import source_of
from clmapreduce.dtypes import INT32, DType
from clmapreduce.errors import DeviceError, DTypeError, FormulaError, ShapeError
from clmapreduce.formula.trace import check_arity, own
from clmapreduce.host_room import needs_host_room
from clmapreduce.primitives.map import Map
from clmapreduce.reductions.base import Accumulate
from clmapreduce.reductions.names import Op
from clmapreduce.reductions.segment import segment_operator
from clmapreduce.segmented.call import (
    Element,
    SegmentCall,
    SegmentOperands,
    check_numbers,
    layout_of,
    prepare_segments,
)
from clmapreduce.segmented.check import settled
from clmapreduce.segmented.geometry import Geometry, geometry
from clmapreduce.segmented.inputs import Columns, columns, gathered
from clmapreduce.segmented.plan_calls import PlanCalls
from clmapreduce.segmented.shares.segments import segment_shares
from clmapreduce.segmented.single_call import reduce_once

if TYPE_CHECKING:
    from typing_extensions import Unpack

Mapped = Callable[..., Any] | str | Map | None


class SegmentOptions(CallOptions, total=False):
    """The keywords of reductions of segments, for type checkers."""

    sources: Any
    init: Any
    empty: Any
    map: Mapped
    accumulate: Accumulate
    starts: bool
    validate: bool


@overload
def segmented_reduce(
    values: DeviceArray, offsets: Any, op: Op = "sum", *, out: DeviceArray | None = None,
    **options: Unpack[SegmentOptions],
) -> DeviceArray: ...  # fmt: skip
@overload
def segmented_reduce(
    values: Any, offsets: Any, op: Op = "sum", *, out: Any = None, **options: Unpack[SegmentOptions]
) -> Any: ...  # fmt: skip
@takes_chunks
@followed
def segmented_reduce(
    values: Any, offsets: Any, op: Op = "sum", *, sources: Any = None, init: Any = None,
    empty: Any = None, map: Mapped = None, accumulate: Accumulate = "auto", starts: bool = False, validate: bool = True,
    mode: str = "auto", context: Context | None = None, wait_for: Sequence[Any] = (), out: Any = None,
    progress: Any = None,
) -> Any:  # fmt: skip
    """The reduction of every segment of `values`, an array of shape (S, *trailing).

    values: (n, *trailing) of any dtype that the operator takes; trailing axes are separate. With `map`, a function
    traced as by `cm.Map` or an expression string, values is a tuple of such arrays (some may have no trailing axes).
    `cm.index` in the function is the index of the element, counted through all segments. A function is traced once for
    each set of dtypes, with the values that globals have then.
    offsets: (S + 1,) int32 or int64 (others are converted), the first one 0, never decreasing, the last one n: segment
    i holds values[offsets[i]:offsets[i + 1]], or nothing. `starts=True`: (S,) of them, the last segment ends with the
    values.
    op: an operator's name ("sum" … "logsumexp", also "mean" "var" "std"), or a `cm.Operator`; an operator that does not
    commute gets the elements in order. argmin and argmax count from the start of the segment.
    sources: (S,) integers: segment i holds values[sources[i] + k] for k below its length; segments may overlap. init: a
    value before the first element of every segment, of the values' dtype. empty: the result of an empty segment, of the
    result's dtype; the default is the identity combined with `init`, -1 for argmin and argmax, NaN for mean, var and
    std. validate=False: offsets and sources are not checked. Wrong ones give wrong results, as do arrays that another
    thread writes during the call; kernels stay inside the arrays in any case.

    If one of the arrays is a DeviceArray, the result is a DeviceArray and the call does not wait for it. It waits for
    the check of offsets that are on the device: one number is read back. Raises ShapeError naming the first wrong
    position, DTypeError, ModeError, FormulaError or DeviceError; wrong offsets are not used to read or write.
    """
    arrays, front = front_of(values, map)
    inputs = gathered([offsets, sources, *arrays], context, ("offsets", "sources?", *["values"] * len(arrays)))
    offsets, sources, *arrays = inputs.arrays
    options = Options(mode, inputs.context, wait_for, out)
    data = columns(arrays)
    call = segment_call(op, front, accumulate, init, empty)
    shape = geometry(offsets, data.length, sources, starts, validate, options)
    return reduce_once(call, operands_of(shape, data, inputs.on_device), options, shape.check)


def front_of(values: Any, mapped: Mapped) -> tuple[list[Any], Callable[..., Any]]:
    """The arrays, and the function that makes an element of them."""
    arrays = list(values) if isinstance(values, tuple) else [values]
    if mapped is None:
        if len(arrays) != 1:
            raise FormulaError(f"values is a tuple of {len(arrays)} arrays; say by map= what an element is made of")
        return arrays, identity
    front = _expression(mapped) if isinstance(mapped, str) else mapped
    function = front.function if isinstance(front, Map) else front
    if not callable(function):
        raise FormulaError(f"map takes a function or an expression string, not {mapped!r}")
    check_arity(function, len(arrays), "the mapped function")
    return arrays, own(function)


@lru_cache(maxsize=256)
def _expression(text: str) -> Map:
    return Map(text)


def segment_call(
    op: Op, front: Callable[..., Any], accumulate: Accumulate, init: Any, empty: Any
) -> SegmentCall:
    name, operator = segment_operator(op)
    return SegmentCall(name, operator, front, accumulate, _read(init), _read(empty))


def _read(number: Any) -> Any:
    """A number as the host has it."""
    return number.to_numpy()[()] if isinstance(number, DeviceArray) else number


def operands_of(shape: Geometry, data: Columns, on_device: bool) -> SegmentOperands:
    """Arrays over a geometry. Raises ShapeError where they differ in length."""
    if data.length != shape.count:
        raise ShapeError(f"values has length {data.length}, the segments are made for {shape.count}")
    places = shape.places
    through = () if places is None else (len(data.arrays),)
    elements = [Element(v, through, bool(v.shape[1:])) for v in data.arrays]
    if places is not None:
        elements.append(Element(places, is_value=False))
    return SegmentOperands(
        shape.context, elements, shape.offsets, shape.length, data.trailing, shape.segments, on_device
    )


def prepare_columns(
    shape: Geometry, data: Columns, call: SegmentCall, options: Options, on_device: bool
) -> Prepared | list[Any]:
    """Everything up to the launch for arrays over a geometry. Raises ShapeError where the lengths differ."""
    return prepare_segments(call, operands_of(shape, data, on_device), options)


def column_result(data: Columns, call: SegmentCall, context: Context) -> DType:
    """The dtype of what arrays reduce to. Raises as `layout_of`, and DTypeError for numbers that do not fit."""
    elements = [Element(v, (), bool(v.shape[1:])) for v in data.arrays]
    layout = layout_of(call, elements, INT32, True, context)
    check_numbers(layout, call)
    return layout.op.result


class SegmentPlan:
    """Segments, checked and brought to the device once, for many reductions.

    offsets, sources, starts, validate: as for `cm.segmented_reduce`. count: the length of the values in later calls.
    The plan stores offsets on the device, and with sources the place of every element. NumPy arrays are copied. Arrays
    on the device are read in place, and must not change while the plan is in use.
    """

    @needs_host_room
    def __init__(
        self, offsets: Any, count: int, sources: Any = None, *, starts: bool = False, validate: bool = True,
        mode: str = "auto", context: Context | None = None,
    ) -> None:  # fmt: skip
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)):
            raise DTypeError(f"count is {count!r}; give the number of values")
        if count < 0:
            raise ShapeError(f"count is {count}; give the number of values, 0 or more")
        inputs = gathered([offsets, sources], context, ("offsets", "sources?"))
        options = Options(mode, inputs.context)
        shape = geometry(inputs.arrays[0], int(count), inputs.arrays[1], starts, validate, options)
        self._set(shape)

    def _set(self, shape: Geometry) -> None:
        self.context = shape.context
        settled(shape.check)
        self._shares = segment_shares(shape, SegmentPlan)
        self._shape = shape.on_device() if self._shares is None else replace(shape, offsets=shape.offsets.copy())
        self._calls = PlanCalls(self.context, self)

    def __reduce__(self) -> Any:
        """Unpickled, it lives on the context of the thread."""
        return _unpickled, (self._shape,)

    @cached_property
    def _geometry(self) -> Geometry:
        """The segments on the device; of shares, on the first one, once a call needs them."""
        return self._shape.on_device()

    @property
    def segments(self) -> int:
        """How many segments there are."""
        return self._shape.segments

    @property
    def count(self) -> int:
        """The length of the values."""
        return self._shape.count

    def __repr__(self) -> str:
        shape = self._shape
        through = f", {shape.length} elements through sources" if shape.places is not None else ""
        nbytes = shape.offsets.nbytes + (shape.places.nbytes if shape.places is not None else 0)
        return (
            f"SegmentPlan({shape.segments} segments of {shape.count} values{through}; "
            f"{nbytes:,} bytes kept on {self.context.device.name})"
        )

    @followed
    def reduce(
        self, values: Any, op: Op = "sum", *, init: Any = None, empty: Any = None, map: Mapped = None,
        accumulate: Accumulate = "auto", mode: str = "auto", wait_for: Sequence[Any] = (), out: Any = None,
        progress: Any = None,
    ) -> Any:  # fmt: skip
        """The reduction of every segment of `values`, with the same bits as `cm.segmented_reduce`. Only the values are
        checked. If they are a DeviceArray, the result is one and the call does not wait.
        """
        options = Options(mode, None, wait_for, out)
        arrays = values if isinstance(values, tuple) else (values,)
        if self._shares is not None and self._is_shared(values, op, init, empty, map, accumulate, mode):
            keywords = {"op": op, "init": init, "empty": empty, "map": map, "accumulate": accumulate, "mode": mode}
            return self._shares.reduce(arrays, isinstance(values, tuple), segmented_reduce, keywords, options)
        return self._calls.run(
            (op, init, empty, map, accumulate), dict(enumerate(arrays, 1)), options,
            lambda: self._prepare(values, op, init, empty, map, accumulate, options),
        )  # fmt: skip

    def _is_shared(
        self, values: Any, op: Any, init: Any, empty: Any, mapped: Mapped, accumulate: Accumulate, mode: str
    ) -> bool:  # fmt: skip
        """Whether every device reduces the values that lie on it. Raises what the call would."""
        assert self._shares is not None
        arrays, front = front_of(values, mapped)
        inputs = gathered(arrays, self.context, ["values"] * len(arrays))
        if inputs.context is not self.context or not self._shares.takes(inputs.arrays):
            return False
        data = columns(inputs.arrays)
        if data.length != self.count:
            return False
        call = segment_call(op, front, accumulate, init, empty)
        layout = layout_of(call, operands_of(self._shape, data, True).elements, INT32, True, self.context)
        check_numbers(layout, call)
        return not layout.formula.uses_index

    def explain(
        self, values: Any, op: Op = "sum", *, init: Any = None, empty: Any = None, map: Mapped = None,
        accumulate: Accumulate = "auto", mode: str = "auto",
    ) -> Explanation:  # fmt: skip
        """How `reduce` with these arguments would run. Nothing is launched."""
        prepared = self._prepare(values, op, init, empty, map, accumulate, Options(mode))
        if not isinstance(prepared, Prepared):
            return no_launch("there are no segments")
        return explained(prepared.executable.plan, prepared.sizes).headed(repr(self))

    def source(
        self, values: Any, op: Op = "sum", *, init: Any = None, empty: Any = None, map: Mapped = None,
        accumulate: Accumulate = "auto", mode: str = "auto",
    ) -> str:  # fmt: skip
        """The OpenCL C that `reduce` with these arguments would run."""
        prepared = self._prepare(values, op, init, empty, map, accumulate, Options(mode))
        stages = prepared.executable.plan.stages if isinstance(prepared, Prepared) else ()
        return "\n".join(source_of(stage.spec) for stage in stages)

    def _prepare(
        self, values: Any, op: Op, init: Any, empty: Any, mapped: Mapped, accumulate: Accumulate,
        options: Options,
    ) -> Prepared | list[Any]:  # fmt: skip
        arrays, front = front_of(values, mapped)
        inputs = gathered(arrays, self.context, ["values"] * len(arrays))
        if inputs.context is not self.context:
            raise DeviceError(f"the values live on {inputs.context!r}, the plan on {self.context!r}")
        call = segment_call(op, front, accumulate, init, empty)
        options = Options(options.mode, self.context, options.wait_for, options.out)
        return prepare_columns(self._geometry, columns(inputs.arrays), call, options, inputs.on_device)


def _unpickled(shape: Geometry) -> SegmentPlan:
    plan = SegmentPlan.__new__(SegmentPlan)
    plan._set(shape)
    return plan
