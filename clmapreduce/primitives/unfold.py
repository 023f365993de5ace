"""Unfold: a sequence from one value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from clmapreduce.calls.arguments import Arguments, gather
from clmapreduce.calls.empty import empty_results
from clmapreduce.calls.options import Options, streams_past_caches
from clmapreduce.calls.prepared import Prepared, prepare
from clmapreduce.calls.progress import followed
from clmapreduce.calls.windows import line_of
from clmapreduce.checks import dtype_of, takes, whole
from clmapreduce.device.context import Context
from clmapreduce.dtypes import DType, check_constant, check_supported
from clmapreduce.errors import FormulaError, ModeError, ShapeError
from clmapreduce.formula.formula import Formula
from clmapreduce.formula.functions import cast
from clmapreduce.formula.node import index
from clmapreduce.formula.trace import name_of
from clmapreduce.functions.portable import Portable, rebuilt
from clmapreduce.planning.lines import UnfoldRequest
from clmapreduce.planning.mode import choose_mode
from clmapreduce.primitives.base import Primitive
from clmapreduce.primitives.operand import operand
from clmapreduce.primitives.recurrences.iterate import Iterated
from clmapreduce.primitives.recurrences.starts import based
from clmapreduce.program.build import check_unfolds, closed_form, line_length, unfolded
from clmapreduce.program.tracing import is_traced
from clmapreduce.reductions import Bound, ReductionOp, spec_of
from clmapreduce.reductions.laws.check import NotAssociative
from clmapreduce.reductions.names import Op
from clmapreduce.reductions.semigroup import Semigroup


class Unfold(Primitive):
    """A sequence: base, base∘base, base∘base∘base, … for an associative operator; 0, 1, 2, … for "index"; and base,
    f(base), f(f(base)), … for a function f of one argument.

    op: "index", "sum", "product", "minimum", "maximum", "any", "all", a `cm.Operator`, or a function. Sequences with a
    closed form (sum, minimum, …) are maps over the index. Other operators use doubling inside a tile, and then one
    combine per element. A function of two arguments is an operator without an identity. A function of one argument is
    iterated step by step; `cm.index` inside it is the index of its argument.
    """

    def __init__(self, op: Op | Literal["index"], _first_power: int = 1) -> None:
        self._index = isinstance(op, str) and op == "index"
        self._function = None if isinstance(op, (str, ReductionOp)) or not callable(op) else op
        self._iterated = Iterated(self._function) if self._function is not None and takes(self._function, 1) else None
        if self._iterated is None and self._function is not None:
            if not takes(self._function, 2):
                name = name_of(self._function)
                raise FormulaError(f"cm.Unfold takes a function of one value, or of two; {name} takes neither")
            op = Semigroup(self._function)
        self._operand = operand("sum" if self._index or self._iterated is not None else op)
        self._first_power = _first_power
        self._closed: dict[Any, Formula | None] = {}

    def __repr__(self) -> str:
        if self._iterated is not None:
            return f"Unfold({self._iterated.name})"
        return f"Unfold({'index' if self._index else self._operand.op.name!r})"

    def __reduce__(self) -> Any:
        op = Portable(self._function) if self._function is not None else spec_of(self._operand.op)
        return rebuilt, (Unfold, "index" if self._index else op, self._first_power)

    @followed
    def __call__(
        self, *values: Any, mode: str = "auto", context: Context | None = None, wait_for: Sequence[Any] = (),
        out: Any = None, dtype: Any = None, tiles: int | None = None, progress: Any = None,
    ) -> Any:  # fmt: skip
        """`(base, length)`: `length` elements from `base`, a number, 0-d array or 0-d DeviceArray; `(length)` for
        "index". A function of one argument also takes an array of starts.

        dtype: of the base and the result; the default is the dtype of `base` (float64 for a Python float, int64 for an
        int). The result has the shape (length,), or (length, *shape) for starts of any shape: row k holds the values
        after k applications of the function. It is a DeviceArray if `base` is one. Raises ShapeError for a length that
        is not an integer ≥ 0 or a base that is not a scalar, DTypeError for an operator or a function whose result does
        not have the dtype of the base, FormulaError for an operator that is not associative.
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
        if self._iterated is not None:
            raise ModeError(f"{self!r} iterates a function, which is no step of a fused function; call it on its own")
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
        if self._iterated is not None:
            return self._iterated.prepared(base, length, more.get("dtype"), options)
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
        try:
            formula, bound = self._operand.bind(arguments)
        except NotAssociative as error:
            hint = "to iterate a function give one of one argument: cm.Unfold(lambda a: ...)"
            raise FormulaError(f"{error}; {hint}") from None
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
