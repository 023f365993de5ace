"""The operand of a reduction: an operator bound to the formula of its values, once per kind of arguments."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import Any, get_args

import clmapreduce.reductions as reductions
from clmapreduce.calls.arguments import Arguments
from clmapreduce.calls.tracing import Traced, check_device, check_numbers, identity
from clmapreduce.dtypes import DType
from clmapreduce.errors import DTypeError, ShapeError
from clmapreduce.formula.formula import Formula, value_dtype
from clmapreduce.formula.functions import cast
from clmapreduce.formula.node import Extended, Record, Value
from clmapreduce.formula.trace import as_value
from clmapreduce.reductions import Bound, ReductionOp
from clmapreduce.reductions.base import Accumulate

ACCUMULATE = get_args(Accumulate)


class Operand:
    """An operator and what it reduces, bound once per signature."""

    def __init__(self, op: ReductionOp) -> None:
        self.op = op
        self._traced = Traced(identity, f"the operand of {op.name}")
        self._bound: dict[Any, tuple[Formula, Bound]] = {}
        self._first: dict[Hashable, Any] = {}

    def first(self, kind: Hashable, primitive: Any) -> Any:
        """The first primitive of a kind that was used with this operand, where its operator has no key."""
        return self._first.setdefault(kind, primitive)

    def bind(
        self, arguments: Arguments, accumulate: str = "auto", dtype: DType | None = None
    ) -> tuple[Formula, Bound]:
        """(formula, bound operator) for these arguments; the formula gives values of the operator's dtype. dtype: to
        which values are converted first.

        Raises as the API page says.
        """
        context = arguments.context
        key = (arguments.signature, accumulate, dtype, context.facts.fp64)
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
    """A value in the dtype of a number. Raises DTypeError for a record of another kind."""
    if isinstance(value, Record) and not isinstance(value, Extended):
        raise DTypeError(f"dtype={dtype}: records are no numbers; convert their fields by a map in front")
    return cast(value, dtype)  # type: ignore[arg-type]  # an extended number converts as a node does


def fitted(formula: Formula, bound: Bound) -> Formula:
    """The formula with its output converted to the operator's value dtype, where the operator asks for another one."""
    value = formula.outputs[0]
    if isinstance(value, Record) or value.dtype == bound.value or bound.value.names is not None:
        return formula
    return Formula(formula.inputs, (cast(value, bound.value),))


def operand(op: Any) -> Operand:
    """The operand for an operator; equal ones are shared, so that kernels are reused."""
    return _cached_operand(reductions.operator(op))


@lru_cache(maxsize=256)
def _cached_operand(op: ReductionOp) -> Operand:
    return Operand(op)
