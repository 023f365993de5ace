"""One call over segments, from checked arrays to what is ready to run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Argument, Arguments, Shape, Signature, product
from clmapreduce.calls.call import Output
from clmapreduce.calls.empty import empty_results
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared, prepare
from clmapreduce.calls.repeat.request import number_key
from clmapreduce.calls.tracing import check_device
from clmapreduce.checks import choice
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.device.plans.executable import Executable
from clmapreduce.domain.line import NARROW_LIMIT
from clmapreduce.domain.segments import Segments
from clmapreduce.dtypes import DType, aligned
from clmapreduce.errors import DTypeError, ShapeError
from clmapreduce.formula.formula import Access, Formula, Input, value_dtype
from clmapreduce.formula.guard import check_guards
from clmapreduce.formula.trace import trace
from clmapreduce.planning.mode import choose_mode
from clmapreduce.planning.request import PlanRequest
from clmapreduce.planning.segments import SegmentsRequest
from clmapreduce.primitives.operand import ACCUMULATE, fitted
from clmapreduce.reductions.base import Accumulate, ReductionOp
from clmapreduce.reductions.segment import bind_segment
from clmapreduce.reductions.user import fields, number
from clmapreduce.schemes.segments.boxes import (
    SegmentBox,
    TeamBox,
)
from clmapreduce.schemes.segments.chunks import GATE
from clmapreduce.schemes.segments.registry import choose
from clmapreduce.schemes.segments.segment_kernel import SegmentLayout
from clmapreduce.segmented.chunk_starts import ChunkStarts, Cutting

Front = Callable[..., Any]


@dataclass(frozen=True)
class Element:
    """One array that elements are read from. through: which others lead to its elements (see Input), by position.
    trailing: its elements are several numbers. is_value: whether the front takes them; else they are places.
    """

    array: Any
    through: tuple[int, ...] = ()
    trailing: bool = False
    is_value: bool = True

    @property
    def signature(self) -> Signature:
        return Signature(self.array.dtype, Access.GATHERED if self.through else Access.VECTOR, varies=True)


@dataclass(frozen=True)
class SegmentOperands:
    """The arrays of a call, checked, and how elements lie in segments.

    length: elements of all segments. trailing: the shape of an element. on_device: whether the result stays there.
    near: elements are gathered from places that are near those of the next ones, but not next to them.
    """

    context: Context
    elements: Sequence[Element]
    offsets: Any
    length: int
    trailing: Shape
    segments: int
    on_device: bool
    near: bool = False


@dataclass(frozen=True)
class SegmentCall:
    """A reduction over segments, without its arrays. front: the element's value from its arrays' numbers. init, empty:
    as for `segmented_reduce`.
    """

    name: str
    op: ReductionOp
    front: Front
    accumulate: Accumulate = "auto"
    init: Any = None
    empty: Any = None

    @property
    def key(self) -> tuple[Hashable, ...]:
        """Its part of a request."""
        return self.name, self.op, self.front, self.accumulate, number_key(self.init), number_key(self.empty)


@dataclass
class Reduction(Prepared):
    """A reduction over segments that is ready to run. cuts: what its kernels read, if they do. request: for its plan,
    in the static box. looks: as for `prepare_segments`.
    """

    cuts: ChunkStarts | None = None
    request: SegmentsRequest | None = None
    looks: bool = False

    def fill(self) -> None:
        if self.cuts is not None:
            self.cuts.fill()

    def planned_as(self, request: PlanRequest, arguments: Arguments, owner: Any) -> Reduction:
        assert self.request is not None
        executable = arguments.context.executable(request, owner)
        inputs = arguments.inputs if self.cuts is None else arguments.inputs[:-1]
        return _in_its_box(self.request, executable, replace(arguments, inputs=inputs), self.outputs, Options())

    def stop_where(self, wrong: DeviceArray) -> None:
        """Lets it do nothing where that is true, on the device."""
        self.call.arrays[GATE] = wrong.buffer

    @property
    def sees_offsets(self) -> bool:
        """Whether it looks at all offsets itself, and may before they are checked: wrong ones spoil nothing but results
        that nobody has seen.
        """
        looks = self.looks and self.cuts is not None
        return looks and self.stays and all(target is None for target in self.targets)


@dataclass(frozen=True)
class _Form:
    """All that a kernel's text depends on, but sizes and launch box."""

    front: Front
    name: str
    op: ReductionOp
    accumulate: Accumulate
    fp64: bool
    elements: tuple[tuple[Signature, tuple[int, ...], bool, bool], ...]
    offsets: DType
    closed: bool
    init: bool
    empty: bool


@lru_cache(maxsize=256)
def _layout(form: _Form) -> SegmentLayout:
    """What is reduced; equal forms share it, so that kernels are reused."""
    inputs = []
    placed = {k for _, through, *_ in form.elements for k in through[1:]}
    for i, (signature, through, trailing, _) in enumerate(form.elements, 1):
        names = tuple(f"in{k + 1}" for k in through)
        inputs.append(replace(signature.input(i), through=names, trailing=trailing, placed=i - 1 in placed))
    values = [one for one, (*_, visible) in zip(inputs, form.elements, strict=True) if visible]
    formula = trace(form.front, values, "the mapped function")
    check_guards(formula.nodes, (), "the mapped function")
    if len(formula.outputs) != 1:
        raise ShapeError(f"a segment reduces one value per element, {len(formula.outputs)} are given")
    op = bind_segment(form.name, form.op, value_dtype(formula.outputs[0]), form.accumulate, form.fp64)
    formula = fitted(Formula(tuple(inputs), formula.outputs), op.whole)
    after = len(inputs) + 1
    init = _single(op.whole.value, after) if form.init else None
    empty = _single(op.result, after + form.init) if form.empty else None
    return SegmentLayout(formula, op, form.offsets, op.result, form.closed, init, empty)


def _single(dtype: DType, place: int) -> Input:
    return Signature(dtype, Access.ARGUMENT if dtype.names is None else Access.SINGLE).input(place)


def layout_of(
    call: SegmentCall, elements: Sequence[Element], offsets: DType, closed: bool, context: Context
) -> SegmentLayout:
    """What is reduced. Raises ModeError, DTypeError, ShapeError or FormulaError for what cannot be."""
    choice(call.accumulate, "accumulate", ACCUMULATE)
    if call.accumulate == "double" and not context.facts.fp64:
        raise DTypeError(f"accumulate='double': {context.device.name} has no float64; use 'compensated'")
    kinds = tuple((e.signature, e.through, e.trailing, e.is_value) for e in elements)
    form = _Form(
        call.front, call.name, call.op, call.accumulate, context.facts.fp64, kinds, offsets, closed,
        call.init is not None, call.empty is not None or call.op.name in ("argmin", "argmax"),
    )  # fmt: skip
    layout = _layout(form)
    check_device((*layout.formula.dtypes, *(c.dtype for c in layout.op.whole.components)), context)
    if layout.init is not None and not layout.op.takes_init:
        raise DTypeError(f"{layout.op.name} folds no init into its segments; leave it out")
    return layout


def check_numbers(layout: SegmentLayout, call: SegmentCall) -> None:
    """Raises DTypeError for numbers that the values' dtype, or the result's, does not hold."""
    inputs_of(layout, call, (), np.zeros(1, layout.offsets))


def inputs_of(layout: SegmentLayout, call: SegmentCall, elements: Sequence[Element], offsets: Any) -> list[Argument]:
    """The arguments for the inputs of a layout, the offsets first."""
    op = layout.op
    inputs = [Argument(offsets, Signature(offsets.dtype, Access.VECTOR))]
    for element, read in zip(elements, layout.formula.inputs, strict=bool(elements)):
        last = max(0, element.array.shape[0] - 1) if read.limited else None
        inputs.append(Argument(element.array, element.signature, last=last))
    if layout.init is not None:
        inputs.append(_number(call.init, op.whole.value, "init"))
    if layout.empty is not None:
        inputs.append(_number(op.empty if call.empty is None else call.empty, op.result, "empty"))
    return inputs


def prepare_segments(
    call: SegmentCall, operands: SegmentOperands, options: Options, box: SegmentBox | TeamBox | None = None,
    looks: bool = False,
) -> Reduction | list[Any]:  # fmt: skip
    """Everything up to the launch; the results themselves where there are no segments.

    box: instead of the chosen one. looks: offsets may be wrong; kernels that can tell do.
    """
    context, elements, offsets, segments = operands.context, operands.elements, operands.offsets, operands.segments
    layout = layout_of(call, elements, offsets.dtype, offsets.shape[0] > segments, context)
    inputs = inputs_of(layout, call, elements, offsets)
    outputs = [((segments, *operands.trailing), layout.op.result)]
    columns = product(operands.trailing)
    if segments * columns == 0:
        return empty_results(Arguments(context, tuple(inputs), (segments,), operands.on_device), outputs, options)
    read = zip(elements, layout.formula.inputs, strict=True)
    far = any(product(element.array.shape) >= NARROW_LIMIT for element, one in read if one.limited)
    domain, mode = Segments(operands.length, segments, columns, far), choose_mode(options.mode, context.facts)
    _, box = choose(layout, domain, mode, context.facts, operands.near, box)
    request = SegmentsRequest(layout, domain, mode, box, looks)
    arguments = Arguments(context, tuple(inputs), (segments,), operands.on_device)
    return _in_its_box(request, context.executable(request), arguments, outputs, options)


def _in_its_box(
    request: SegmentsRequest, executable: Executable, arguments: Arguments, outputs: Sequence[Output], options: Options
) -> Reduction:
    """What is ready to run by a built plan. request: for a plan in the static box. arguments: without the cuts of the
    plan's own box, which kernels may read.
    """
    context, domain, mode, inputs = arguments.context, request.domain, request.mode, [*arguments.inputs]
    planned: Any = executable.key
    box = planned.boxes(context.facts)["box"]
    tile = choose(request.layout, domain, mode, context.facts, box=box)[0].tile_of_cuts(box)
    cuts = None
    if tile is not None:
        offsets = array(inputs[0].value, context)
        cutting = Cutting(domain, request.layout.closed, box.share(domain.weight), tile, mode)
        cuts = cutting.of(offsets, options.wait_for)
        inputs[0] = replace(inputs[0], value=offsets)
        inputs.append(Argument(cuts.array, Signature(cuts.array.dtype, Access.VECTOR)))
    prepared = prepare(replace(arguments, inputs=tuple(inputs)), executable, outputs, options, in_step=False)
    return Reduction(**vars(prepared), cuts=cuts, request=request, looks=request.looks)


def _number(value: Any, dtype: DType, what: str) -> Argument:
    if dtype.names is None:
        converted = number(value, dtype, what)
        return Argument(np.asarray(converted, dtype)[()], Signature(dtype, Access.ARGUMENT))
    return Argument(np.asarray(fields(value, aligned(dtype), what)).reshape(1), Signature(dtype, Access.SINGLE))
