"""Reduce: all values combined to one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, get_args

import numpy as np

import clmapreduce.reductions as reductions
from clmapreduce.calls.arguments import Arguments, gather
from clmapreduce.calls.call import check_out
from clmapreduce.calls.chunked import takes_chunks
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared, prepare
from clmapreduce.calls.progress import followed
from clmapreduce.calls.tracing import Traced, check_device, check_numbers, identity
from clmapreduce.calls.windows import line_of
from clmapreduce.checks import choice
from clmapreduce.device.array import DeviceArray, write
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.device.runtime import Executable
from clmapreduce.dtypes import DType, number_of
from clmapreduce.errors import DTypeError, ShapeError
from clmapreduce.formula.formula import Formula, value_dtype
from clmapreduce.formula.functions import cast
from clmapreduce.formula.node import Extended, Record, Value
from clmapreduce.formula.trace import as_value
from clmapreduce.planning.lines import ReduceRequest
from clmapreduce.planning.mode import choose_mode
from clmapreduce.primitives.base import Primitive
from clmapreduce.primitives.host import finished, merged
from clmapreduce.program.build import reduced
from clmapreduce.program.tracing import is_traced
from clmapreduce.reductions import Bound, ReductionOp
from clmapreduce.reductions.base import Accumulate
from clmapreduce.schemes.line.reduce import box_name

ACCUMULATE = get_args(Accumulate)
FINISH = ("auto", "device", "host")


class Operand:
    """An operator and what it reduces, bound once per signature."""

    def __init__(self, op: ReductionOp) -> None:
        self.op = op
        self._traced = Traced(identity, f"the operand of {op.name}")
        self._bound: dict[Any, tuple[Formula, Bound]] = {}

    def bind(
        self, arguments: Arguments, accumulate: str = "auto", dtype: DType | None = None
    ) -> tuple[Formula, Bound]:
        """(formula, bound operator) for these arguments; the formula gives values of the operator's dtype. dtype: to
        which values are converted first.

        Raises as the API page says.
        """
        context = arguments.context
        key = (arguments.signature, accumulate, dtype, context.facts.fp64, context.device.fp16)
        entry = self._bound.get(key)
        if entry is None:
            formula = self._traced.formula(arguments.signature, context)
            if len(formula.outputs) != 1:
                raise ShapeError(f"{self.op.name} reduces one value per index, {len(formula.outputs)} are given")
            if dtype is not None:
                formula = Formula(formula.inputs, (converted(formula.outputs[0], dtype),))
            bound = self.op.bind(value_dtype(formula.outputs[0]), accumulate, context.facts.fp64)  # type: ignore[arg-type]
            entry = (fitted(formula, bound), bound)
            check_device((*entry[0].dtypes, *(c.dtype for c in bound.components)), context)
            self._bound[key] = entry
        formula, bound = entry
        check_numbers(formula, arguments)
        return formula, bound


def in_dtype(value: Any, dtype: DType | None, name: str) -> Any:
    """A traced value in the dtype of a number, where one is named."""
    return value if dtype is None else converted(as_value(value, name), dtype)


def converted(value: Value, dtype: DType) -> Value:
    """A value in the dtype of a number. Raises DTypeError for a record that is none."""
    if isinstance(value, Record) and not isinstance(value, Extended):
        raise DTypeError(f"dtype={dtype}: records are no numbers; convert their fields by a map in front")
    return cast(value, dtype)  # type: ignore[arg-type]  # an extended number converts as a node does


def fitted(formula: Formula, bound: Bound) -> Formula:
    """The formula with its output converted to the operator's value dtype, where the operator asks for another one."""
    value = formula.outputs[0]
    if isinstance(value, Record) or value.dtype == bound.value or bound.value.names is not None:
        return formula
    return Formula(formula.inputs, (cast(value, bound.value),))


def operand(op: str | ReductionOp) -> Operand:
    """The operand for an operator; equal ones are shared, so that kernels are found again."""
    return _cached_operand(reductions.operator(op))


@lru_cache(maxsize=256)
def _cached_operand(op: ReductionOp) -> Operand:
    return Operand(op)


class Reduce(Primitive):
    """All values combined to one.

    op: "sum" "product" "minimum" "maximum" "any" "all" "argmin" "argmax" "logsumexp", or a `cm.Operator`. Raises
    ModeError for another name.
    """

    def __init__(self, op: str | ReductionOp) -> None:
        self._operand = operand(op)

    @property
    def op(self) -> ReductionOp:
        return self._operand.op

    def __repr__(self) -> str:
        return f"Reduce({self.op.name!r})"

    def __reduce__(self) -> Any:
        return Reduce, (reductions.spec_of(self.op),)

    @takes_chunks
    @followed
    def __call__(
        self, *values: Any, mode: str = "auto", context: Context | None = None, wait_for: Sequence[Any] = (),
        out: Any = None, tiles: int | None = None, accumulate: Accumulate = "auto", finish: str = "auto",
        dtype: Any = None, progress: Any = None,
    ) -> Any:  # fmt: skip
        """The reduction of all values, a 0-d result.

        values: one array of any shape, read in C order. An empty input gives the identity; an operator without one
        (argmin, argmax) raises ShapeError. Small integers and bools accumulate in 64 bits; NaN propagates as in NumPy.
        accumulate: "double" (float64), "compensated" (TwoSum), "fast" (the values' own dtype); "auto" is the best the
        device has. finish: where the last level runs, "device" or "host"; "auto" is the device: one more launch costs
        less than a copy and NumPy. dtype: to which values are converted before they are combined, such as `cm.dd`.
        """
        options = Options(mode, context, wait_for, out, tiles)
        number = None if dtype is None else number_of(dtype)
        if is_traced(values):
            options.refuse_inside(repr(self), accumulate=accumulate, finish=finish, progress=progress)
            return reduced(self.op, in_dtype(identity(*values), number, repr(self)), repr(self))
        return self._run(values, options, accumulate=accumulate, finish=finish, dtype=number)[0]

    def _prepare(self, values: Sequence[Any], options: Options, **more: Any) -> Prepared | list[Any]:
        accumulate, finish = more.get("accumulate", "auto"), more.get("finish", "auto")
        choice(accumulate, "accumulate", ACCUMULATE)
        choice(finish, "finish", FINISH)
        arguments = gather(values, options.context)
        context = arguments.context
        formula, bound = self._operand.bind(arguments, accumulate, more.get("dtype"))
        if accumulate == "double" and not context.facts.fp64:
            raise DTypeError(f"accumulate='double': {context.device.name} has no float64; use 'compensated'")
        outputs = [((), bound.result)]
        if arguments.length == 0:
            return [identity_result(bound, arguments, options, self.op.name)]
        mode = choose_mode(options.mode, context.facts)
        box = options.box(box_name(bound, formula), mode, context)
        line = line_of(arguments, outputs, options, shares=True)
        request = ReduceRequest(formula, line, mode, box, bound, finish == "host")
        executable = context.executable(request)
        if executable.plan.finish_on_host:
            return self._finish_on_host(bound, arguments, executable, options)
        return prepare(arguments, executable, outputs, options)

    def _finish_on_host(self, bound: Bound, arguments: Arguments, executable: Executable, options: Options) -> Prepared:
        target = check_out(options.out, [((), bound.result)], arguments.context)[0]
        count = executable.plan.stages[0].groups
        host = replace(arguments, on_device=False)
        prepared = prepare(host, executable, [((count,), bound.layout)], Options(wait_for=options.wait_for))
        prepared.then = lambda results: [
            delivered(finished(bound, merged(bound, results[0])), bound.result, arguments, target)
        ]
        return prepared


def identity_result(bound: Bound, arguments: Arguments, options: Options, name: str) -> Any:
    """The result of reducing nothing. Raises ShapeError for an operator without an identity."""
    if not bound.has_identity:
        raise ShapeError(f"{name} of an empty input has no value: it has no identity; give at least one element")
    target = check_out(options.out, [((), bound.result)], arguments.context)[0]
    accumulator = np.array([tuple(c.identity for c in bound.components)], dtype=bound.layout)
    return delivered(finished(bound, accumulator), bound.result, arguments, target)


def delivered(result: Any, dtype: DType, arguments: Arguments, target: Any) -> Any:
    """A 0-d host result as the caller wants it: in `target`, on the device, or as a NumPy scalar."""
    value = np.asarray(result, dtype=dtype).reshape(())
    if isinstance(target, DeviceArray):
        write(target, value)
        return target
    if target is not None:
        target[...] = value
        return target
    return array(value, arguments.context) if arguments.on_device else value[()]
