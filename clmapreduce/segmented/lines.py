"""Formulas over a line whose inputs may be read some elements ahead, or one in so many: what neighbours have to do with
each other, and samples of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Argument, Arguments, Signature
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared, prepare
from clmapreduce.calls.repeat.ready import ReadyCall, is_repeatable
from clmapreduce.calls.repeat.request import CallRequest
from clmapreduce.calls.tracing import check_device
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.plans.cache import Cache
from clmapreduce.domain.line import Line
from clmapreduce.formula.formula import Access, Formula, value_dtype
from clmapreduce.formula.guard import check_guards
from clmapreduce.formula.trace import trace
from clmapreduce.planning.lines import MapRequest, ReduceRequest
from clmapreduce.planning.mode import choose_mode
from clmapreduce.reductions import Bound, operator
from clmapreduce.schemes.line.reduce import box_name


@dataclass(frozen=True)
class Row:
    """An array of which an index sees the element at `every` times itself, and so many places ahead; or a number, which
    may be on the device.
    """

    value: Any
    ahead: int = 0
    every: int = 1

    @property
    def key(self) -> Hashable:
        """All that a call depends on, but the numbers of an array on the device."""
        if isinstance(self.value, DeviceArray):
            return self.value.dtype, self.value.shape, self.ahead, self.every
        return type(self.value), self.value if isinstance(self.value, (bool, int, np.generic)) else None

    @property
    def argument(self) -> Argument:
        if isinstance(self.value, (bool, int, np.generic)):
            number = np.asarray(self.value)[()]
            return Argument(number, Signature(number.dtype, Access.ARGUMENT))
        if not self.value.shape:
            return Argument(self.value, Signature(self.value.dtype, Access.SINGLE))
        access = Access.GATHERED if self.ahead or self.every > 1 else Access.VECTOR
        return Argument(self.value, Signature(self.value.dtype, access, varies=True))


Kind = tuple[Signature, int, int]
"""Of a row: its signature, how far ahead it is read, and every how many elements."""


@lru_cache(maxsize=256)
def traced(function: Callable[..., Any], kinds: tuple[Kind, ...]) -> Formula:
    """The formula for inputs of these kinds; equal ones share it."""
    inputs = [replace(one.input(i), ahead=ahead, every=every) for i, (one, ahead, every) in enumerate(kinds)]
    formula = trace(function, inputs, "the keys' equality")
    check_guards(formula.nodes, (), "the keys' equality")
    return formula


@lru_cache(maxsize=64)
def _bound(op: str, formula: Formula) -> Bound:
    return operator(op).bind(value_dtype(formula.outputs[0]), "auto", True)


def formula_of(function: Callable[..., Any], rows: Sequence[Row]) -> tuple[Formula, tuple[Argument, ...]]:
    """The formula for some rows, and its arguments in a call."""
    arguments = tuple(row.argument for row in rows)
    kinds = tuple((g.signature, row.ahead, row.every) for g, row in zip(arguments, rows, strict=True))
    return traced(function, kinds), arguments


def holds_anywhere(condition: Callable[..., Any], rows: Sequence[Row], length: int, options: Options) -> DeviceArray:
    """Whether a condition holds at any index of the line: a bool on the device, not waited for."""
    return _reduced("any", condition, rows, length, options)


def count_where(condition: Callable[..., Any], rows: Sequence[Row], length: int, options: Options) -> int:
    """At how many indices of the line a condition holds."""
    return int(_reduced("sum", condition, rows, length, options))


def _reduced(op: str, function: Callable[..., Any], rows: Sequence[Row], length: int, options: Options) -> DeviceArray:
    """The function's values at every index of the line, reduced: a number on the device, not waited for."""
    context = options.context
    assert context is not None
    request = CallRequest((op, function, length, options.mode), tuple(row.key for row in rows))
    calls: Cache[ReadyCall] = context.caches().calls
    call = calls.get(request)
    if call is not None:
        return call(context, [row.value for row in rows if isinstance(row.value, DeviceArray)], options.wait_for)[0]
    prepared = _prepared(op, function, rows, length, options, context)
    if is_repeatable(prepared):
        calls.put(request, ReadyCall(prepared))
    result: DeviceArray = prepared.run()[0]
    return result


def _prepared(
    op: str, function: Callable[..., Any], rows: Sequence[Row], length: int, options: Options, context: Context
) -> Prepared:
    formula, inputs = formula_of(function, rows)
    bound = _bound(op, formula)
    mode = choose_mode(options.mode, context.facts)
    box = options.box(box_name(bound, formula), mode, context)
    executable = context.executable(ReduceRequest(formula, Line(length), mode, box, bound))
    arguments = Arguments(context, inputs, (length,), True)
    return prepare(arguments, executable, [((), bound.result)], Options(wait_for=options.wait_for))


def mapped(
    function: Callable[..., Any], rows: Sequence[Row], length: int, options: Options, on_device: bool
) -> list[Any]:
    """The function's values at every index of the line, one array per output."""
    context = options.context
    assert context is not None
    formula, inputs = formula_of(function, rows)
    check_device(formula.dtypes, context)
    outputs = [((length,), value_dtype(value)) for value in formula.outputs]
    mode = choose_mode(options.mode, context.facts)
    box = options.box("map", mode, context)
    executable = context.executable(MapRequest(formula, Line(length), mode, box))
    arguments = Arguments(context, inputs, (length,), on_device)
    return prepare(arguments, executable, outputs, Options(wait_for=options.wait_for, out=options.out)).run()
