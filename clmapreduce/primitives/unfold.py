"""Unfold: a sequence from one value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Arguments, gather
from clmapreduce.calls.empty import empty_results
from clmapreduce.calls.options import Options, streams_past_caches
from clmapreduce.calls.prepared import Prepared, prepare
from clmapreduce.calls.progress import followed
from clmapreduce.calls.windows import line_of
from clmapreduce.checks import dtype_of, numpy_array, quoted, whole
from clmapreduce.device.context import Context
from clmapreduce.dtypes import DType, check_constant, check_supported, is_extended
from clmapreduce.errors import DTypeError, ModeError, ShapeError
from clmapreduce.extended.convert import extended
from clmapreduce.formula.formula import Formula
from clmapreduce.formula.functions import cast
from clmapreduce.formula.node import index
from clmapreduce.planning.lines import UnfoldRequest
from clmapreduce.planning.mode import choose_mode
from clmapreduce.primitives.base import Primitive
from clmapreduce.primitives.operand import operand
from clmapreduce.program.build import check_unfolds, closed_form, line_length, unfolded
from clmapreduce.program.tracing import is_traced
from clmapreduce.reductions import Bound, ReductionOp, spec_of
from clmapreduce.reductions.user import fields


class Unfold(Primitive):
    """A sequence: base, base∘base, base∘base∘base, … for an associative operator; 0, 1, 2, … for "index".

    op: "index", "sum", "product", "minimum", "maximum", "any", "all", or a `cm.Operator`. Sequences with a closed form
    (sum, minimum, …) are maps over the index; others double inside a tile, then take one combine per element.
    """

    def __init__(self, op: str | ReductionOp, _first_power: int = 1) -> None:
        self._index = isinstance(op, str) and op == "index"
        self._operand = operand("sum" if self._index else op)
        self._first_power = _first_power
        self._closed: dict[Any, Formula | None] = {}

    def __repr__(self) -> str:
        return f"Unfold({'index' if self._index else self._operand.op.name!r})"

    def __reduce__(self) -> Any:
        return Unfold, ("index" if self._index else spec_of(self._operand.op), self._first_power)

    @followed
    def __call__(
        self, *values: Any, mode: str = "auto", context: Context | None = None, wait_for: Sequence[Any] = (),
        out: Any = None, dtype: Any = None, tiles: int | None = None, progress: Any = None,
    ) -> Any:  # fmt: skip
        """`(base, length)`: `length` elements from `base`, a number, 0-d array or 0-d DeviceArray; `(length)` for
        "index".

        dtype: of the base and the result; default that of `base` (float64 for a Python float, int64 for an int). The
        result is (length,); it is a DeviceArray when `base` is one. Raises ShapeError for a length that is not a whole
        number ≥ 0 or a base that is not a scalar, DTypeError for an operator that gives another dtype than the base's.
        """
        options = Options(mode, context, wait_for, out, tiles)
        if is_traced(values):
            options.refuse_inside(repr(self), dtype=dtype, progress=progress)
            return self.traced(*values)
        return self._run(values, options, dtype=dtype)[0]

    @property
    def counts(self) -> bool:
        """Whether this is the sequence 0, 1, 2, …"""
        return self._index

    def traced(self, *values: Any) -> Any:
        """As a step of a fused function: `(base)` along the line, or `(base, length)`, which names its length."""
        arguments = list(values)
        if len(arguments) > (0 if self._index else 1):
            line_length(arguments.pop(), repr(self))
        if self._index:
            return index
        if len(arguments) != 1 or self._first_power != 1:
            raise ModeError(f"{self!r} takes (base) or (base, length) here, {len(values)} argument(s) given")
        return unfolded(self._operand.op, arguments[0], repr(self))

    def _prepare(self, values: Sequence[Any], options: Options, **more: Any) -> Prepared | list[Any]:
        base, length = self.split(values)
        arguments = self._arguments(base, length, more.get("dtype"), options)
        context = arguments.context
        formula, bound, dtype = self._bind(arguments)
        if self._index and length:
            check_constant(length - 1, dtype)
        outputs = [((length,), dtype)]
        if length == 0:
            return empty_results(arguments, outputs, options)
        mode = choose_mode(options.mode, context.facts)
        scheme = "unfold" if bound is not None else "map"
        box = options.box(scheme, mode, context)
        streaming = streams_past_caches(options, outputs)
        line = line_of(arguments, outputs, options)
        request = UnfoldRequest(formula, line, mode, box, bound, dtype, self._first_power, streaming)
        executable = context.executable(request)
        return prepare(arguments, executable, outputs, options)

    def split(self, values: Sequence[Any]) -> tuple[Any, int]:
        """(base, length) of a call."""
        if len(values) != (1 if self._index else 2):
            raise ModeError(
                f"{self!r} takes {'(length)' if self._index else '(base, length)'}, {len(values)} argument(s) given"
            )
        return (0 if self._index else values[0]), whole(values[-1], "length")

    def _arguments(self, base: Any, length: int, dtype: Any, options: Options) -> Arguments:
        target = None if dtype is None else check_supported(dtype_of(dtype), "dtype")
        if isinstance(base, (bool, int, float, complex)) or (target is not None and not hasattr(base, "context")):
            base = based(base, target)
        arguments = gather([base], options.context)
        if arguments.length != 1:
            raise ShapeError(f"the base of an unfold is one value, its shape is {arguments.shape}")
        return Arguments(arguments.context, arguments.inputs, (length,), arguments.on_device)

    def _bind(self, arguments: Arguments) -> tuple[Formula, Bound | None, DType]:
        """(formula, operator, result dtype); the operator is None where the formula is a closed form over the index."""
        formula, bound = self._operand.bind(arguments)
        if self._index:
            bound = self._operand.bind(arguments, "fast")[1]
        dtype = formula.outputs[0].dtype if not bound.value.names else bound.value  # type: ignore[union-attr]
        check_unfolds(bound, dtype, repr(self))
        key = (arguments.signature, arguments.context.facts.fp64)
        if key not in self._closed:
            self._closed[key] = self._closed_form(formula, bound, dtype)
        closed = self._closed[key]
        return (closed, None, dtype) if closed is not None else (formula, bound, dtype)

    def _closed_form(self, formula: Formula, bound: Bound, dtype: DType) -> Formula | None:
        if self._index:
            return Formula((), (cast(index, dtype),))
        value = closed_form(bound, formula.outputs[0], dtype) if self._first_power == 1 else None
        return None if value is None else Formula(formula.inputs, (value,))


def based(base: Any, dtype: DType | None) -> Any:
    """A base given as a number, or as a tuple of fields, as a NumPy scalar of the dtype.

    Raises DTypeError when it does not fit.
    """
    if dtype is not None and is_extended(dtype):
        return extended(base, dtype)
    if dtype is not None and dtype.names is not None:
        return fields(base, dtype, "the base")
    number = numpy_array(base, "the base")
    target = number.dtype if dtype is None else dtype
    if number.dtype.kind not in "biufc" and dtype is not None:
        raise DTypeError(f"the base {quoted(base)} is no number; use one that {dtype} holds")
    if number.size != 1 or target.names is not None:
        return number.astype(target)
    number = number.reshape(())
    if (number.dtype.kind == "c" and target.kind != "c") or (number.dtype.kind == "f" and target.kind in "iub"):
        raise DTypeError(f"the base {base!r} does not fit {target} without loss; use a floating dtype")
    if target.kind in "iu" and not np.iinfo(target).min <= int(number) <= np.iinfo(target).max:
        raise DTypeError(f"the base {base!r} is out of range for {target}")
    return number.astype(target)[()]
