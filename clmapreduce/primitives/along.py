"""Reductions and scans along axes: of one line in the launches of the primitive, of many lines in one, wherever their
axes are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import (
    Argument,
    Arguments,
    Shape,
    array_argument,
    array_or_number,
    gather,
    home_of,
    product,
)
from clmapreduce.calls.axes import Lines, axes_of, axis_of, lines_of, reduced_shape
from clmapreduce.calls.call import check_out
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared, prepare
from clmapreduce.checks import quoted, switch
from clmapreduce.device.array import DeviceArray, Part, empty, write
from clmapreduce.device.context import Context
from clmapreduce.device.tiles import may_stream, room_of
from clmapreduce.domain.line import Columns
from clmapreduce.domain.line import Lines as Rows
from clmapreduce.dtypes import BOOL, DType
from clmapreduce.errors import DTypeError, ShapeError
from clmapreduce.formula.formula import Access
from clmapreduce.formula.guard import guarded
from clmapreduce.modes import ComputeMode
from clmapreduce.planning.columns import ColumnsRequest, LocatedRowsRequest
from clmapreduce.planning.mode import choose_mode
from clmapreduce.planning.request import PlanRequest
from clmapreduce.primitives.operand import in_dtype
from clmapreduce.primitives.pipeline import Pipeline, fuse
from clmapreduce.program.build import reduced, scanned
from clmapreduce.reductions import ReductionOp
from clmapreduce.reductions.base import Accumulate

FEW, LONG = 32, 1 << 16
"""Up to so many lines, each at least so long, are reduced one after the other, each by the whole device. On a CPU less
than two lines a core: with more of them, cores walk a line each. Sums of 16 lines of 10⁶ float32 took 4.1 ms one by one
and 2.4 side by side (Intel's runtime, 2 cores of a Zen 5, 2026-11-27).
"""

FEW_COLUMNS = 4
"""As FEW, of scans of lines that lie side by side, on a CPU: an item walks a vector of them."""

LEAST_ROWS, LEAST_ROWS_CPU, LEAST_MATRIX = 32, 8, 1 << 14
"""Rows, and numbers, of a matrix whose columns are reduced together. Columns of fewer are a batch of short lines."""

LEAST_ROW = 128
"""Numbers of a row, on CPUs, from which on places are found faster in vectors along it than in rows side by side."""


@dataclass(frozen=True)
class Along:
    """What a reduction is of, beside its values: axis, keepdims, initial and where as users give them."""

    axis: Any = None
    keepdims: Any = False
    initial: Any = None
    where: Any = None

    def __bool__(self) -> bool:
        """Whether anything but all values counts."""
        return self.axis is not None or self.initial is not None or self.where is not None or self.keepdims is not False


@dataclass
class LineByLine(Prepared):
    """A call for each of some lines, of which the first one tells what runs. whole: the array of all results."""

    whole: Any = None
    calls: Sequence[Prepared] = ()

    @property
    def is_plain(self) -> bool:
        """No: its plan is that of one line."""
        return False

    def run(self) -> list[Any]:
        for call in self.calls:
            call.run()
        return [self.whole] if self.then is None else self.then([self.whole])


def prepare_reduction(
    op: ReductionOp, values: Sequence[Any], along: Along, options: Options, accumulate: Accumulate, dtype: DType | None
) -> Prepared | list[Any]:  # fmt: skip
    """Everything up to the launch of a reduction along axes, under a mask, or from an initial value."""
    if len(values) != 1:
        raise ShapeError(f"{op.name} reduces one array, {len(values)} are given")
    x, context = _array(values[0], options.context), options.context
    where = None if along.where is True else along.where
    keep = None if where is None else _mask(array_or_number(where, context, "where"), x.shape)
    context = _home([x, keep], context)
    first = [] if along.initial is None else [array_or_number(along.initial, context)]
    if any(product(getattr(value, "shape", ())) != 1 for value in first):
        raise ShapeError(f"initial is {quoted(along.initial)}; give one number, which every result begins with")
    started = gather(first, context).inputs if first else ()
    axes = axes_of(along.axis, x.ndim, not _takes_axes(op))
    shape = reduced_shape(x.shape, axes, switch(along.keepdims, "keepdims"))
    arrays = [x] if keep is None else [x, keep]
    lines = [lines_of(array, axes, _has_room(arrays, context)) for array in arrays]
    on_device = any(isinstance(array, DeviceArray) for array in (*arrays, *first))
    batch = Batch(context, lines, started, shape, on_device)
    return prepare_lines(reduction_of_line(op, dtype, keep is not None, bool(first)), batch, options, accumulate)


def _takes_axes(op: ReductionOp) -> bool:
    """Whether an operator reduces several axes at once: places are along one."""
    return op.name not in ("argmin", "argmax")


@dataclass(frozen=True)
class Batch:
    """The lines of a call, of every array of its own. numbers: arguments that are the same for all lines. shape: of one
    value per line.
    """

    context: Context
    lines: Sequence[Lines]
    numbers: tuple[Argument, ...]
    shape: Shape
    on_device: bool

    @property
    def few(self) -> bool:
        """Whether each line has the whole device for itself, one after the other."""
        first = self.lines[0]
        facts, most = self.context.facts, FEW
        if facts.kind == "cpu":
            most = FEW_COLUMNS if first.width > 1 else min(FEW, 2 * facts.compute_units - 1)
        return 1 < first.rows <= most and first.length >= LONG

    @property
    def arguments(self) -> Arguments:
        """All lines, in one call."""
        inputs = (*(each.all() for each in self.lines), *self.numbers)
        return Arguments(self.context, inputs, (*self.shape, self.lines[0].length), self.on_device, self.shape)

    @property
    def vectors(self) -> Arguments:
        """All numbers of each array as one vector."""
        arrays = [each.array for each in self.lines]
        inputs = (*(array_argument(x, Access.VECTOR) for x in arrays), *self.numbers)
        return Arguments(self.context, inputs, arrays[0].shape, self.on_device)

    @property
    def columns(self) -> Columns | None:
        """All lines, if they lie side by side, and are long enough, and many enough numbers together, that groups read
        rows of them.
        """
        least = LEAST_ROWS_CPU if self.context.facts.kind == "cpu" else LEAST_ROWS
        first = self.lines[0]
        fits = first.width > 1 and first.length >= least and first.length * first.width >= LEAST_MATRIX
        return Columns(first.before, first.length, first.width) if fits else None

    def line(self, row: int) -> Arguments:
        """One line."""
        inputs = (*(each.line(row) for each in self.lines), *self.numbers)
        return Arguments(self.context, inputs, (self.lines[0].length,), self.on_device)


def prepare_lines(
    function: Pipeline, batch: Batch, options: Options, accumulate: Accumulate = "auto"
) -> Prepared | list[Any]:
    """Everything up to the launches of a fused function of every line, in one or line by line."""
    together = _prepare_together(function, batch, options, accumulate)
    if together is not None:
        return together
    if not batch.few or _shares(function, batch, options, accumulate):
        return function.prepared(batch.arguments, options, True, accumulate)
    single = replace(options, out=None)
    first = function.prepared(batch.line(0), single, False, accumulate)
    assert isinstance(first, Prepared)
    (own, dtype) = first.outputs[0]
    whole = _target(options.out, (*batch.shape, *own), dtype, batch)
    calls = []
    for row in range(batch.lines[0].rows):
        out = _row(whole, row, own)
        prepared = function.prepared(batch.line(row), replace(single, out=out), False, accumulate)
        assert isinstance(prepared, Prepared)
        calls.append(prepared)
    one = calls[0]
    return LineByLine(one.executable, one.call, one.outputs, one.targets, one.wait_for, None, whole, calls)


def _prepare_together(
    function: Pipeline, batch: Batch, options: Options, accumulate: Accumulate
) -> Prepared | None:
    """As `prepare_lines`, for a reduction of columns, and for places in rows on CPUs; None for other functions."""
    facts, columns, first = batch.context.facts, batch.columns, batch.lines[0]
    mode = choose_mode(options.mode, facts)
    rows = facts.kind == "cpu" and mode is ComputeMode.SEQUENTIAL and first.width == 1 and first.rows > 1
    if options.strict(mode) or not (columns or (rows and first.length >= LEAST_ROW and not batch.few)):
        return None
    traced = function.traced(batch.vectors, accumulate)
    link = traced.chain.reduction
    if link is None or any(guarded(traced.program.outputs)):
        return None
    assert link.layout is not None
    assert link.bound is not None
    request: PlanRequest
    if columns is not None:
        request = ColumnsRequest(link.layout, columns, mode, options.box("columns", mode, batch.context), link.bound)
    elif link.bound.locates and len(batch.lines) == 1:
        box = options.box("located_rows", mode, batch.context)
        request = LocatedRowsRequest(link.layout, Rows(first.rows, first.length), mode, box, link.bound)
    else:
        return None
    function.check(traced.program, batch.arguments, True, accumulate)
    outputs = [(batch.shape, traced.outputs[0])]
    return prepare(batch.vectors, batch.context.executable(request), outputs, options, in_step=False)


def _shares(function: Pipeline, batch: Batch, options: Options, accumulate: Accumulate) -> bool:
    """Whether groups share the lines of a batch, in one call."""
    facts, first = batch.context.facts, batch.lines[0]
    mode = choose_mode(options.mode, facts)
    traced = function.traced(batch.arguments, accumulate)
    return not options.strict(mode) and traced.shares(first.rows, first.length, mode, facts)


def _target(out: Any, shape: Shape, dtype: DType, batch: Batch) -> Any:
    """The array of all results: `out`, or a new one. Raises as `check_out`, and ShapeError for one with steps."""
    target = check_out(out, [(shape, dtype)], batch.context)[0]
    if isinstance(target, np.ndarray) and not target.flags.c_contiguous:
        raise ShapeError("out has steps between its elements; give a C-contiguous array")
    if target is not None:
        return target
    return empty(shape, dtype, batch.context) if batch.on_device else np.empty(shape, dtype)


def _row(whole: Any, row: int, shape: Shape) -> Any:
    """The results of one line."""
    size = product(shape)
    if isinstance(whole, np.ndarray):
        return whole.reshape(-1)[row * size : (row + 1) * size].reshape(shape)
    return Part(whole, shape, whole.dtype, whole.first + row * size)


@lru_cache(maxsize=512)
def reduction_of_line(op: ReductionOp, dtype: DType | None, masks: bool, starts: bool) -> Pipeline:
    """The fused function of a reduction: of a line, and of a mask and an initial value where there are any."""

    def line(x: Any, *more: Any) -> Any:
        keep, initial = more[0] if masks else None, more[-1] if starts else None
        return reduced(op, in_dtype(x, dtype, op.name), f"Reduce({op.name!r})", keep, initial)

    return _named(line, op.name)


@lru_cache(maxsize=256)
def scan_of_line(op: ReductionOp, exclusive: bool, dtype: DType | None) -> Pipeline:
    """The fused function of a scan."""

    def line(x: Any) -> Any:
        return scanned(op, in_dtype(x, dtype, op.name), exclusive, f"Scan({op.name!r})")

    return _named(line, op.name)


def _named(function: Callable[..., Any], name: str) -> Pipeline:
    function.__name__ = name
    pipeline: Pipeline = fuse(function)
    return pipeline


def prepare_scan(function: Pipeline, x: Any, axis: Any, options: Options) -> Prepared | list[Any]:
    """Everything up to the launches of a fused function that scans, of every line along an axis."""
    x = _array(x, options.context)
    context = _home([x], options.context)
    along = axis_of(axis, x.ndim)
    lines = lines_of(x, (along,), _has_room([x], context))
    last = lines.width == 1 and product(x.shape[along + 1 :]) == 1
    on_device = isinstance(x, DeviceArray)
    if last and along == x.ndim - 1:
        return prepare_lines(function, Batch(context, [lines], (), x.shape[:-1], on_device), options)
    others = (*x.shape[:along], *x.shape[along + 1 :])
    prepared = prepare_lines(function, Batch(context, [lines], (), others, on_device), replace(options, out=None))
    if not isinstance(prepared, Prepared):
        return [_moved(prepared[0], along, None)]
    target = check_out(options.out, [(x.shape, prepared.outputs[0][1])], context)[0]
    prepared.then = lambda results: [_moved(results[0], along, target)]
    return prepared


def _moved(results: Any, axis: int, target: Any) -> Any:
    """Results along the last axis, along another one; in `target` where there is one."""
    order = [*range(axis), results.ndim - 1, *range(axis, results.ndim - 1)]
    moved = results.transpose(order)
    if target is None:
        return np.ascontiguousarray(moved) if isinstance(moved, np.ndarray) else moved
    if isinstance(target, np.ndarray):
        target[...] = np.asarray(moved)
    elif isinstance(moved, np.ndarray):
        write(target, np.ascontiguousarray(moved))
    else:
        target[...] = moved
    return target


def _array(value: Any, context: Context | None) -> Any:
    x = array_or_number(value, context)
    return x if isinstance(x, DeviceArray) else np.asarray(x)


def _home(arrays: Sequence[Any], context: Context | None) -> Context:
    homes = {id(array.context): array.context for array in arrays if isinstance(array, DeviceArray)}
    return home_of(list(homes.values()), context)


def _has_room(arrays: Sequence[Any], context: Context) -> bool:
    """Whether device memory has room for some arrays of the host at once, or reads them in place."""
    if not may_stream(context, arrays, None):
        return True
    return bool(sum(array.nbytes for array in arrays) <= room_of(context)[1] // 2)


def _mask(where: Any, shape: Shape) -> Any:
    """The mask of every value. Raises DTypeError if it is not of bools, ShapeError if it does not broadcast."""
    keep = where if isinstance(where, DeviceArray) else np.asarray(where)
    if keep.dtype != BOOL:
        raise DTypeError(f"where has dtype {keep.dtype}; give bools, such as where=x > 0")
    own = keep.shape
    if len(own) > len(shape) or any(a not in (1, b) for a, b in zip(own[::-1], shape[::-1], strict=False)):
        raise ShapeError(f"where has shape {own}, which does not broadcast to the values' {shape}")
    if own == shape:
        return keep
    if isinstance(keep, np.ndarray):
        return np.broadcast_to(keep, shape)
    return keep.operations.call("broadcast_to", keep, shape)
