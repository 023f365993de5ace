"""Reduce: all values combined to one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

import clmapreduce.reductions as reductions
from clmapreduce.calls.arguments import Arguments, gather
from clmapreduce.calls.call import check_out
from clmapreduce.calls.chunked import takes_chunks
from clmapreduce.calls.options import CallOptions, Options
from clmapreduce.calls.prepared import Prepared, prepare
from clmapreduce.calls.progress import followed
from clmapreduce.calls.repeat.quick import quickly_repeated
from clmapreduce.calls.tracing import identity
from clmapreduce.calls.windows import line_of
from clmapreduce.checks import choice
from clmapreduce.device.array import DeviceArray, write
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.device.plans.executable import Executable
from clmapreduce.dtypes import DType, number_of
from clmapreduce.errors import DTypeError, ModeError, ShapeError
from clmapreduce.planning.lines import ReduceRequest
from clmapreduce.planning.mode import choose_mode
from clmapreduce.planning.request import accumulators_on
from clmapreduce.primitives.along import Along, prepare_reduction
from clmapreduce.primitives.base import Primitive
from clmapreduce.primitives.host import finished, merged
from clmapreduce.primitives.operand import ACCUMULATE, in_dtype, operand
from clmapreduce.program.build import reduced
from clmapreduce.program.tracing import is_traced
from clmapreduce.reductions import Bound, ReductionOp
from clmapreduce.reductions.base import Accumulate
from clmapreduce.reductions.names import Op
from clmapreduce.schemes.line.reduce import box_name

if TYPE_CHECKING:
    from typing_extensions import Unpack

FINISH = ("auto", "device", "host")


class ReduceOptions(CallOptions, total=False):
    """The keywords of a reduction, for type checkers."""

    tiles: int | None
    accumulate: Accumulate
    finish: str
    dtype: Any
    axis: Any
    keepdims: bool
    initial: Any
    where: Any


class Reduce(Primitive):
    """A reduction: all values combined to one.

    op: "sum", "product", "minimum", "maximum", "any", "all", "argmin", "argmax", "logsumexp", "mean", "var", "std",
    "norm", or a `cm.Operator`. Some have other names too: "add", "prod", "min", "max", "logaddexp", NumPy's ufuncs
    (`np.add`) and Python's functions (`max`). var and std are NumPy's with ddof=0. Raises ModeError for anything else.
    """

    def __init__(self, op: Op) -> None:
        self._operand = operand(op)

    @property
    def op(self) -> ReductionOp:
        return self._operand.op

    def key(self) -> Hashable | None:
        key = self._operand.op.key()
        return None if key is None or type(self) is not Reduce else (Reduce, key)

    def snapshot(self) -> Reduce:
        return Reduce(self._operand.op.snapshot())

    def _new_representative(self) -> Any:
        snapshot = super()._new_representative()
        return snapshot if snapshot is not self else self._operand.first(type(self), self)

    def __repr__(self) -> str:
        return f"Reduce({self.op.name!r})"

    def __reduce__(self) -> Any:
        return Reduce, (reductions.spec_of(self.op),)

    @overload
    def __call__(
        self, value: DeviceArray, /, *, out: DeviceArray | None = None, **options: Unpack[ReduceOptions]
    ) -> DeviceArray: ...  # fmt: skip
    @overload
    def __call__(self, *values: Any, out: Any = None, **options: Unpack[ReduceOptions]) -> Any: ...
    @quickly_repeated
    @takes_chunks
    @followed
    def __call__(
        self, *values: Any, mode: str = "auto", context: Context | None = None, wait_for: Sequence[Any] = (),
        out: Any = None, tiles: int | None = None, accumulate: Accumulate = "auto", finish: str = "auto",
        dtype: Any = None, progress: Any = None, axis: Any = None, keepdims: bool = False, initial: Any = None,
        where: Any = None,
    ) -> Any:  # fmt: skip
        """The reduction of all values, a 0-d result, or of every line along some axes.

        values: one array of any shape, read in C order. axis: an integer or a tuple of integers (one integer for argmin
        and argmax); None for all axes. keepdims: the reduced axes stay, with length 1. initial: one more value before
        all others. where: bools that broadcast; only values where it is True count. An empty input gives the identity;
        an operator without an identity (argmin, argmax) raises ShapeError. Small integers and bools accumulate in 64
        bits; NaN propagates as in NumPy. accumulate: "double" (float64), "compensated" (TwoSum), "fast" (the values'
        own dtype), or "auto", the most precise that the device has. finish: where the last level runs, "device" or
        "host"; "auto" is the device, because one more launch costs less than a copy and NumPy. dtype: values are
        converted to it before they are combined, such as `cm.dd`.
        """
        options = Options(mode, context, wait_for, out, tiles)
        number = None if dtype is None else number_of(dtype)
        if is_traced(values):
            keep = None if keepdims is False else keepdims
            options.refuse_inside(
                repr(self), accumulate=accumulate, finish=finish, progress=progress, axis=axis, keepdims=keep
            )
            value = in_dtype(identity(*values), number, repr(self))
            return reduced(self.op, value, repr(self), None if where is True else where, initial)
        more = {"axis": axis, "keepdims": keepdims, "initial": initial, "where": where}
        return self._run(values, options, accumulate=accumulate, finish=finish, dtype=number, **more)[0]

    def _prepare(self, values: Sequence[Any], options: Options, **more: Any) -> Prepared | list[Any]:
        accumulate, finish = more.get("accumulate", "auto"), more.get("finish", "auto")
        choice(accumulate, "accumulate", ACCUMULATE)
        choice(finish, "finish", FINISH)
        along = Along(**{name: more[name] for name in ("axis", "keepdims", "initial", "where") if name in more})
        if along:
            if finish == "host":
                raise ModeError(f"{self!r}: finish='host' is for all values of an array; leave it out")
            return prepare_reduction(self.op, values, along, options, accumulate, more.get("dtype"))
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
        layout = accumulators_on(bound, arguments.context.facts)
        prepared = prepare(host, executable, [((count,), layout)], Options(wait_for=options.wait_for))
        prepared.then = lambda results: [
            delivered(finished(bound, merged(bound, results[0].astype(bound.layout))), bound.result, arguments, target)
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
