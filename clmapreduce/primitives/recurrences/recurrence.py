"""Recurrence: every number of a sequence from the one before it and from coefficients."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Arguments, gather
from clmapreduce.calls.call import check_out
from clmapreduce.calls.chunked import is_chunked
from clmapreduce.calls.empty import empty_results
from clmapreduce.calls.options import Options, streams_past_caches
from clmapreduce.calls.prepared import Prepared, prepare
from clmapreduce.calls.progress import followed
from clmapreduce.calls.repeat.quick import quickly_repeated
from clmapreduce.calls.tracing import Traced, check_device, check_numbers
from clmapreduce.calls.windows import line_of
from clmapreduce.checks import choice, dtype_of, is_whole, numpy_array, quoted
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.dtypes import DType, dtype_name
from clmapreduce.errors import ArgumentError, DTypeError, ModeError, ShapeError
from clmapreduce.formula.formula import Formula, value_dtype
from clmapreduce.formula.functions import cast
from clmapreduce.formula.node import Node
from clmapreduce.modes import ComputeMode
from clmapreduce.planning.lines import RecurrenceRequest
from clmapreduce.planning.mode import choose_mode
from clmapreduce.primitives.base import Primitive
from clmapreduce.program.tracing import is_traced
from clmapreduce.reductions.base import wide_integer
from clmapreduce.reductions.recurrences.base import Recurrent
from clmapreduce.reductions.recurrences.linear import BoundLinear
from clmapreduce.reductions.recurrences.moebius import BoundMoebius
from clmapreduce.reductions.recurrences.tropical import BoundTropical

MOST_ORDER = 4
"""The highest order: its maps have 20 numbers, each step of a scan 84 products."""
FIELDS = {"linear": ("a", "b"), "max-plus": ("a", "b"), "min-plus": ("a", "b"), "moebius": ("a", "b", "c", "d")}
"""The coefficients of each kind, in the order of a call."""


class Recurrence(Primitive):
    """A recurrence: every number is computed from the one before it. y₋₁ is `initial`, and for k from 0 on

    kind "linear": yₖ = aₖ yₖ₋₁ + bₖ; of an order m up to 4: yₖ = a¹ₖ yₖ₋₁ + … + aᵐₖ yₖ₋ₘ + bₖ
    kind "max-plus", "min-plus": yₖ = max(aₖ + yₖ₋₁, bₖ), or the minimum
    kind "moebius": yₖ = (aₖ yₖ₋₁ + bₖ) / (cₖ yₖ₋₁ + dₖ)

    Raises ModeError for another kind, and for an order that the kind does not have.
    """

    def __init__(self, order: int = 1, kind: str = "linear") -> None:
        self.kind = choice(kind, "kind", FIELDS)
        if not is_whole(order) or not 1 <= order <= (MOST_ORDER if kind == "linear" else 1):
            limit = f"1 to {MOST_ORDER}" if kind == "linear" else f"1; kind={kind!r} has no other"
            raise ModeError(f"order is {quoted(order)}; use {limit}")
        self.order = int(order)
        self._traced: dict[DType | None, Traced] = {}
        self._bound: dict[Any, Recurrent] = {}

    def key(self) -> Hashable | None:
        return (Recurrence, self.order, self.kind) if type(self) is Recurrence else None

    def snapshot(self) -> Recurrence:
        return Recurrence(self.order, self.kind)

    def __repr__(self) -> str:
        return f"Recurrence(order={self.order}{'' if self.kind == 'linear' else f', kind={self.kind!r}'})"

    def __reduce__(self) -> Any:
        return Recurrence, (self.order, self.kind)

    @quickly_repeated
    @followed
    def __call__(
        self, *coefficients: Any, initial: Any = 0, mode: str = "auto", context: Context | None = None,
        wait_for: Sequence[Any] = (), out: Any = None, tiles: int | None = None, length: int | None = None,
        dtype: Any = None, progress: Any = None,
    ) -> Any:  # fmt: skip
        """The sequence (L,) for `(a, b)`, or `(a, b, c, d)` for kind "moebius"; each is a number or a vector (L,).

        a: for an order m of 2 or more, (m,), one number per index back, or (m, L), one row per index back. initial:
        y₋₁; for order m one number for all of y₋₁ … y₋ₘ, or (m,). length: L, if all arguments are numbers. dtype: of
        the result and all steps, float32, float64, complex64, complex128, int64 or uint64 (integers wrap); the default
        is NumPy's promotion of the arguments, with small integers in 64 bits. Kinds other than linear compute in
        floats. `mode="sequential", tiles=1` computes one step after the other; every other run composes maps of parts
        of the line. Raises ShapeError, DTypeError or ArgumentError before anything is launched.
        """
        if is_traced((*coefficients, initial)):
            raise ModeError(f"{self!r} is no step of a fused function; call it on arrays")
        options = Options(mode, context, wait_for, out, tiles)
        return self._run(coefficients, options, initial=initial, length=length, dtype=dtype)[0]

    def _prepare(self, values: Sequence[Any], options: Options, **more: Any) -> Prepared | list[Any]:
        number = None if more.get("dtype") is None else _number(dtype_of(more["dtype"]), self)
        arguments = self._arguments(values, more.get("initial", 0), more.get("length"), options)
        context = arguments.context
        mode = choose_mode(options.mode, context.facts)
        formula = self._formula(arguments, number)
        outputs = [(arguments.shape, value_dtype(formula.outputs[0])["b"])]
        if arguments.length == 0:
            return empty_results(arguments, outputs, options)
        check_out(options.out, outputs, context)
        line = line_of(arguments, outputs, options)
        walked = mode is ComputeMode.SEQUENTIAL and line.window is None
        steady = not any(argument.signature.varies for argument in arguments.inputs[: self.order])
        bound = self._bind(formula, steady)
        box = options.box("recurrence" if walked else "scan", mode, context)
        maps = options.box("maps", mode, context)
        streaming = streams_past_caches(options, outputs)
        request = RecurrenceRequest(formula, line, mode, box, bound, maps, streaming)
        return prepare(arguments, context.executable(request), outputs, options)

    def _arguments(self, values: Sequence[Any], initial: Any, length: int | None, options: Options) -> Arguments:
        names = FIELDS[self.kind]
        if any(map(is_chunked, (*values, initial))):
            raise ArgumentError(f"{self!r} takes no Dask arrays: every number follows from all before; compute() them")
        if len(values) != len(names):
            raise ArgumentError(f"{self!r} takes ({', '.join(names)}), {len(values)} coefficient(s) given")
        first, *others = values
        spread = [*self._parts(first, "a"), *others]
        states = self._parts(initial, "initial")
        for state in states:
            if np.size(state) != 1:
                expected = "one number" if self.order == 1 else f"one number, or {self.order} of them"
                raise ShapeError(f"initial has an entry of shape {np.shape(state)}; give {expected}")
        arguments = gather([*spread, *states], options.context, length)
        if len(arguments.shape) != 1:
            text = "coefficients are numbers: give length=" if not arguments.shape else "it runs over one dimension"
            raise ShapeError(f"{self!r}: the result would have shape {arguments.shape}; {text}")
        return arguments

    def _parts(self, value: Any, name: str) -> list[Any]:
        """One coefficient, or one number, per index back."""
        if self.order == 1:
            return [_only(value)]
        if isinstance(value, (bool, int, float, complex)) and name == "initial":
            return [value] * self.order
        if not isinstance(value, (list, tuple, DeviceArray)):
            value = numpy_array(value, name)
        if not isinstance(value, (list, tuple)) and not value.ndim:
            raise ShapeError(f"{name} is {quoted(value)}; give {self.order} numbers, or {self.order} vectors as rows")
        if len(value) != self.order:
            raise ShapeError(f"{name} has {len(value)} entries along its first axis; {self!r} takes {self.order}")
        return [*value]

    def _formula(self, arguments: Arguments, number: DType | None) -> Formula:
        """The coefficients and the numbers before the line, in the dtype of the result."""
        traced = self._traced.get(number)
        if traced is None:
            traced = self._traced[number] = Traced(self._front(number), f"the coefficients of {self!r}")
        formula = traced.formula(arguments.signature, arguments.context)
        check_numbers(formula, arguments)
        check_device([value_dtype(formula.outputs[0])["b"]], arguments.context)
        return formula

    def _front(self, number: DType | None) -> Callable[..., Any]:
        states = [f"s{i + 1}" for i in range(self.order)]
        steps = [f"a{i + 1}" for i in range(self.order)] if self.kind == "linear" else ["a"]
        names = [*steps, *FIELDS[self.kind][1:], *states]

        def front(*values: Any) -> dict[str, Node]:
            if any(not isinstance(value, Node) for value in values):
                raise DTypeError(f"{self!r} takes numbers, no records; give float32 or float64")
            total = values[0]
            for value in values[1:]:
                total = total + value
            target = number if number is not None else self._default(total.dtype)
            for value in values:
                if target.kind != "c" and value.dtype.kind == "c":
                    raise DTypeError(f"{self!r}: complex coefficients do not fit {target}; use dtype='complex128'")
            return {name: cast(value, target) for name, value in zip(names, values, strict=True)}

        return front

    def _default(self, dtype: DType) -> DType:
        if dtype.kind in "biu":
            return wide_integer(dtype) if self.kind == "linear" else np.dtype(np.float64)
        return _number(dtype, self)

    def _bind(self, formula: Formula, steady: bool) -> Recurrent:
        value = value_dtype(formula.outputs[0])
        key = (value, steady)
        if key not in self._bound:
            self._bound[key] = self._bound_of(value, value["b"], steady)
        return self._bound[key]

    def _bound_of(self, value: DType, number: DType, steady: bool) -> Recurrent:
        if self.kind == "linear":
            return BoundLinear(self.order, value, number, steady)
        if self.kind == "moebius":
            return BoundMoebius(value, number)
        return BoundTropical("maximum" if self.kind == "max-plus" else "minimum", value, number)


def _only(value: Any) -> Any:
    """A coefficient of order 1 that is passed as a single row."""
    return value[0] if isinstance(value, (np.ndarray, DeviceArray)) and value.ndim == 2 and len(value) == 1 else value


def _number(dtype: DType, recurrence: Recurrence) -> DType:
    """A dtype to compute in. Raises DTypeError."""
    kinds = ("f4", "f8", "c8", "c16", "i8", "u8") if recurrence.kind == "linear" else ("f4", "f8")
    if dtype.str[1:] not in kinds:
        names = ", ".join(str(np.dtype(kind)) for kind in kinds)
        raise DTypeError(f"{recurrence!r} computes in {names}, not in {dtype_name(dtype)}; give dtype=, or convert")
    return dtype.newbyteorder("=")
