"""Formulas over a line whose inputs may be read some elements ahead: what neighbours have to do with each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.arguments import Arguments, Given, Signature
from clmapreduce.array import DeviceArray
from clmapreduce.choose import choose_mode
from clmapreduce.domain.line import Line
from clmapreduce.formula.formula import Access, Formula, value_dtype
from clmapreduce.formula.trace import trace
from clmapreduce.plan import Layout
from clmapreduce.primitives.base import Options, check_device, prepare
from clmapreduce.reductions import Bound, operator
from clmapreduce.schemes.map import plan_map
from clmapreduce.schemes.reduce import box_name, plan_reduce


@dataclass(frozen=True)
class Row:
    """An array of which every index sees the element so many places ahead; or a number, which may be on the device."""

    value: Any
    ahead: int = 0

    @property
    def given(self) -> Given:
        if isinstance(self.value, (bool, int, np.generic)):
            kept = np.asarray(self.value)[()]
            return Given(kept, Signature(kept.dtype, Access.ARGUMENT))
        if not self.value.shape:
            return Given(self.value, Signature(self.value.dtype, Access.SINGLE))
        access = Access.GATHERED if self.ahead else Access.VECTOR
        return Given(self.value, Signature(self.value.dtype, access, varies=True))


@lru_cache(maxsize=256)
def traced(function: Callable[..., Any], kinds: tuple[tuple[Signature, int], ...]) -> Formula:
    """The formula for inputs of these kinds, (signature, how far ahead); equal ones share it."""
    inputs = [replace(signature.input(i), ahead=ahead) for i, (signature, ahead) in enumerate(kinds)]
    return trace(function, inputs, "the keys' equality")


@lru_cache(maxsize=64)
def _bound(op: str, formula: Formula) -> Bound:
    return operator(op).bind(value_dtype(formula.outputs[0]), "auto", True)


def formula_of(function: Callable[..., Any], rows: Sequence[Row]) -> tuple[Formula, tuple[Given, ...]]:
    """The formula for some rows, and what a call gives to it."""
    given = tuple(row.given for row in rows)
    return traced(function, tuple((g.signature, row.ahead) for g, row in zip(given, rows, strict=True))), given


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
    formula, given = formula_of(function, rows)
    bound, line = _bound(op, formula), Line(length)
    mode = choose_mode(options.mode, context.facts)
    box = options.box(box_name(bound, formula), mode, context)
    layout = Layout(formula, (bound.result,))
    key = ("reduce", formula, bound, length, mode, box, False)
    executable = context.executable(key, lambda: plan_reduce(layout, bound, line, mode, context.facts, box))
    arguments = Arguments(context, given, (length,), True)
    made = prepare(arguments, executable, [((), bound.result)], Options(wait_for=options.wait_for))
    found: DeviceArray = made.run()[0]
    return found


def mapped(
    function: Callable[..., Any], rows: Sequence[Row], length: int, options: Options, on_device: bool
) -> list[Any]:
    """The function's values at every index of the line, one array per output."""
    context = options.context
    assert context is not None
    formula, given = formula_of(function, rows)
    check_device(formula.dtypes, context)
    outputs = [((length,), value_dtype(value)) for value in formula.outputs]
    mode = choose_mode(options.mode, context.facts)
    box = options.box("map", mode, context)
    layout = Layout(formula, tuple(dtype for _, dtype in outputs), streaming=False)
    key = ("map", formula, length, mode, box, False)
    executable = context.executable(key, lambda: plan_map(layout, Line(length), mode, context.facts, box))
    arguments = Arguments(context, given, (length,), on_device)
    return prepare(arguments, executable, outputs, Options(wait_for=options.wait_for, out=options.out)).run()
