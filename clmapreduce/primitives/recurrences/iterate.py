"""Iterations: a start, f of it, f of that, …; what `Unfold` of a function of one argument is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Arguments, gather
from clmapreduce.calls.call import check_out
from clmapreduce.calls.empty import empty_results
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared, prepare
from clmapreduce.calls.tracing import Traced, check_device
from clmapreduce.checks import dtype_of
from clmapreduce.device.context import Context
from clmapreduce.domain.line import Line
from clmapreduce.dtypes import BOOL, DType, aligned, check_supported
from clmapreduce.errors import DTypeError
from clmapreduce.formula.formula import Formula, symbol, value_dtype
from clmapreduce.formula.functions import cast
from clmapreduce.formula.node import Literal, Node, Value, components, rebuild
from clmapreduce.formula.trace import as_value, call, name_of
from clmapreduce.planning.lines import IterateRequest
from clmapreduce.planning.mode import choose_mode
from clmapreduce.primitives.recurrences.starts import based
from clmapreduce.reductions.recurrences.iteration import Iteration
from clmapreduce.reductions.user import number


class Iterated:
    """A function of one value, which gives one of the same dtype."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = name_of(function)
        self._steps: dict[DType, tuple[Formula, tuple[Node, ...]]] = {}
        self._starts = Traced(lambda start: start, "the start")

    def prepared(self, start: Any, length: int, dtype: Any, options: Options) -> Prepared | list[Any]:
        """A call: `length` iterates of every start, rows of the shape of `start`. dtype: of the starts."""
        arguments = _gathered(start, dtype, options.context)
        context = arguments.context
        mode = choose_mode(options.mode, context.facts)
        formula = self._starts.formula(arguments.signature, context)
        kind = aligned(arguments.inputs[0].signature.dtype)
        step, before = self._step(kind, context)
        outputs = [((length, *arguments.shape), kind)]
        if not length or not arguments.length:
            return empty_results(arguments, outputs, options)
        check_out(options.out, outputs, context)
        iteration = Iteration(length, kind, step, before)
        box = options.box("iterate", mode, context)
        request = IterateRequest(formula, Line(arguments.length), mode, box, iteration)
        return prepare(arguments, context.executable(request), outputs, options, in_step=False)

    def _step(self, dtype: DType, context: Context) -> tuple[Formula, tuple[Node, ...]]:
        """(the formula of an iterate, the nodes that stand for the one before it)."""
        entry = self._steps.get(dtype)
        if entry is None:
            value = symbol("before", dtype)
            after = as_value(call(self.function, [value], self._what), self._what)
            entry = (Formula((), (self._fitted(after, value, dtype),)), tuple(components(value).values()))
            self._steps[dtype] = entry
        check_device(entry[0].dtypes, context)
        return entry

    @property
    def _what(self) -> str:
        return f"the iterated function {self.name}"

    def _fitted(self, after: Value, before: Value, dtype: DType) -> Value:
        """An iterate in the dtypes of the one before it. Raises DTypeError for one that does not fit."""
        parts, expected = components(after), components(before)
        if list(parts) != list(expected) and set(parts) != set(expected):
            raise DTypeError(f"{self._what} gives {value_dtype(after)} from {dtype}; it must give that dtype")
        return rebuild({leaf: self._cast(parts[leaf], node.dtype) for leaf, node in expected.items()})

    def _cast(self, part: Node, dtype: DType) -> Node:
        if isinstance(part, Literal):
            return Literal(number(part.value, dtype, self._what), dtype)
        if part.dtype != BOOL and not np.can_cast(part.dtype, dtype, "same_kind"):
            raise DTypeError(
                f"{self._what} gives {part.dtype} from {dtype}, which cannot hold it without loss; start from a number "
                f"of that dtype, or give dtype={str(part.dtype)!r}"
            )
        return cast(part, dtype)


def _gathered(start: Any, dtype: Any, context: Context | None) -> Arguments:
    """The starts as the only argument of a call, in a dtype where one is named."""
    target = None if dtype is None else check_supported(dtype_of(dtype), "dtype")
    on_device = hasattr(start, "context")
    if not on_device and (target is not None or isinstance(start, (bool, int, float, complex))):
        start = based(start, target)
    arguments = gather([start], context)
    kind = arguments.inputs[0].signature.dtype
    if target is not None and kind != target:
        raise DTypeError(f"the starts are {kind}, dtype={target}; convert them with x.astype(...)")
    return arguments
