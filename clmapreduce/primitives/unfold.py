"""Unfold: a sequence from one value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clmapreduce.arguments import Arguments, gather
from clmapreduce.choose import choose_mode
from clmapreduce.context import Context
from clmapreduce.domain.line import Line
from clmapreduce.dtypes import DType, check_constant, check_supported
from clmapreduce.errors import DTypeError, ModeError, ShapeError
from clmapreduce.formula.formula import Formula
from clmapreduce.formula.functions import cast
from clmapreduce.formula.node import Node, components, index
from clmapreduce.plan import Layout, Plan
from clmapreduce.primitives.base import Options, Prepared, Primitive, identity, prepare, streams_past_caches
from clmapreduce.primitives.empty import empty_results
from clmapreduce.primitives.reduce import operand
from clmapreduce.reductions import Bound, ReductionOp
from clmapreduce.reductions.user import fields
from clmapreduce.schemes.map import plan_map
from clmapreduce.schemes.unfold import plan_unfold


class Unfold(Primitive):
    """A sequence: base, base∘base, base∘base∘base, … for an associative operator; 0, 1, 2, … for "index".

    op: "index", "sum", "product", "minimum", "maximum", "any", "all", or a `cm.Operator`. Sequences with a closed form
    (sum, minimum, …) are maps over the index; others double inside a tile, then take one combine per element.
    """

    def __init__(self, op: str | ReductionOp, _first_power: int = 1) -> None:
        self._index = op == "index"
        self._operand = operand("sum" if self._index else op, identity)
        self._first_power = _first_power
        self._closed: dict[Any, Formula | None] = {}

    def __repr__(self) -> str:
        return f"Unfold({'index' if self._index else self._operand.op.name!r})"

    def __call__(
        self, *values: Any, mode: str = "auto", context: Context | None = None, wait_for: Sequence[Any] = (),
        out: Any = None, dtype: Any = None, tiles: int | None = None,
    ) -> Any:  # fmt: skip
        """`(base, length)`: `length` elements from `base`, a number, 0-d array or 0-d DeviceArray; `(length)` for
        "index".

        dtype: of the base and the result; default that of `base` (float64 for a Python float, int64 for an int). The
        result is (length,); it is a DeviceArray when `base` is one. Raises ShapeError for a length that is not a whole
        number ≥ 0 or a base that is not a scalar, DTypeError for an operator that gives another dtype than the base's.
        """
        return self._run(values, Options(mode, context, wait_for, out, tiles), dtype=dtype)[0]

    def _prepare(self, values: Sequence[Any], options: Options, **more: Any) -> Prepared | list[Any]:
        base, length = self._split(values)
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
        key = (scheme, formula, bound, self._first_power, length, mode, box, streaming)

        def plan() -> Plan:
            layout = Layout(formula, (dtype,), streaming=streaming)
            if bound is None:
                return plan_map(layout, Line(length), mode, context.facts, box)
            return plan_unfold(layout, bound, self._first_power, Line(length), mode, context.facts, box)

        return prepare(arguments, context.executable(key, plan), outputs, options)

    def _split(self, values: Sequence[Any]) -> tuple[Any, int]:
        if len(values) != (1 if self._index else 2):
            raise ModeError(
                f"{self!r} takes {'(length)' if self._index else '(base, length)'}, {len(values)} argument(s) given"
            )
        length = values[-1]
        if isinstance(length, bool) or not isinstance(length, (int, np.integer)) or length < 0:
            raise ShapeError(f"length is {length!r}; it must be a whole number, 0 or more")
        return (0 if self._index else values[0]), int(length)

    def _arguments(self, base: Any, length: int, dtype: Any, options: Options) -> Arguments:
        wanted = None if dtype is None else check_supported(np.dtype(dtype), "dtype")
        if isinstance(base, (bool, int, float, complex)) or (wanted is not None and not hasattr(base, "context")):
            base = based(base, wanted)
        arguments = gather([base], options.context)
        if arguments.length != 1:
            raise ShapeError(f"the base of an unfold is one value, its shape is {arguments.shape}")
        return Arguments(arguments.context, arguments.given, (length,), arguments.on_device)

    def _bind(self, arguments: Arguments) -> tuple[Formula, Bound | None, DType]:
        """(formula, operator, result dtype); the operator is None where the formula is a closed form over the index."""
        formula, bound = self._operand.bind(arguments)
        if self._index:
            bound = self._operand.bind(arguments, "fast")[1]
        dtype = formula.outputs[0].dtype if not bound.value.names else bound.value  # type: ignore[union-attr]
        if bound.locates or (bound.result != dtype and bound.result.kind not in "iub"):
            raise DTypeError(
                f"{self!r} gives {bound.result} from a {dtype} base; "
                "an unfold needs an operator that stays in its dtype"
            )
        key = (arguments.signature, arguments.context.facts.fp64)
        if key not in self._closed:
            self._closed[key] = self._closed_form(formula, bound, dtype)
        closed = self._closed[key]
        return (closed, None, dtype) if closed is not None else (formula, bound, dtype)

    def _closed_form(self, formula: Formula, bound: Bound, dtype: DType) -> Formula | None:
        if bound.value.names is not None:
            return None
        base = components(formula.outputs[0])[""]
        value: Node | None = (
            index if self._index else bound.unfolded(base, index + 1) if self._first_power == 1 else None
        )
        return None if value is None else Formula(() if self._index else formula.inputs, (cast(value, dtype),))


def based(base: Any, dtype: DType | None) -> Any:
    """A base given as a number, or as a tuple of fields, as a NumPy scalar of the dtype.

    Raises DTypeError when it does not fit.
    """
    if dtype is not None and dtype.names is not None:
        return fields(base, dtype, "the base")
    given = np.asarray(base)
    wanted = given.dtype if dtype is None else dtype
    if given.size != 1 or wanted.names is not None:
        return given.astype(wanted)
    given = given.reshape(())
    if (given.dtype.kind == "c" and wanted.kind != "c") or (given.dtype.kind == "f" and wanted.kind in "iub"):
        raise DTypeError(f"the base {base!r} does not fit {wanted} without loss; use a floating dtype")
    if wanted.kind in "iu" and not np.iinfo(wanted).min <= int(given) <= np.iinfo(wanted).max:
        raise DTypeError(f"the base {base!r} is out of range for {wanted}")
    return given.astype(wanted)[()]
