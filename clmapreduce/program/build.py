"""Adds steps to a program that is being traced: checks the input of a step, binds its operator, gives the symbol of its
result.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.dtypes import INT64, DType
from clmapreduce.errors import DTypeError, FormulaError, ModeError, ShapeError
from clmapreduce.formula.formula import value_dtype
from clmapreduce.formula.functions import apply, as_node, cast
from clmapreduce.formula.node import Index, Node, Record, Symbol, Value, components, index, postorder
from clmapreduce.formula.trace import as_value
from clmapreduce.modes import ASKS, ELEMENTWISE, WHOLE, names_of
from clmapreduce.program.program import varies
from clmapreduce.program.step import Kind, Result, Step
from clmapreduce.program.tracing import Tracing, current_tracing
from clmapreduce.reductions import Bound, ReductionOp
from clmapreduce.reductions.around.masked import masked, masked_value
from clmapreduce.reductions.base import Accumulate


def reduced(op: ReductionOp, value: Any, name: str, keep: Any = None, initial: Any = None) -> Value:
    """The reduction of a vector: one value for the line. keep: whether each value counts. initial: one more value.
    Raises ModeError for operators that take none.
    """
    if keep is None:
        result = _reduced(op, value, name)
    else:
        result = _reduced(masked(op), masked_value(as_value(value, name), as_value(keep, name)), name)
    return result if initial is None else _with_initial(op, result, as_value(initial, name), name)


def _reduced(op: ReductionOp, value: Any, name: str) -> Value:
    operand, bound = _operand(op, value, name, Kind.REDUCE)
    return Step(Kind.REDUCE, bound, operand, name, bound.result).result


def _with_initial(op: ReductionOp, result: Value, initial: Value, name: str) -> Value:
    """The operator of one value and a result."""
    dtype = value_dtype(result)
    if not bound_to(op, dtype, "fast", _tracing().fp64).closed:
        raise ModeError(f"{name}: initial= is one more value to combine with; {op.name} gives no value of that kind")
    bound = bound_to(op, dtype, "auto", _tracing().fp64)
    first = initial if isinstance(initial, Record) else cast(initial, dtype)
    nowhere = as_node(0, INT64)
    both = bound.finish(bound.merge(bound.single(first, nowhere), bound.single(result, nowhere)))
    return both if isinstance(both, Record) else cast(both, dtype)


def scanned(op: ReductionOp, value: Any, exclusive: bool, name: str) -> Value:
    """Every prefix's reduction of a vector."""
    operand, wide = _operand(op, value, name, Kind.SCAN)
    if exclusive and not wide.has_identity:
        raise ShapeError(f"{name}: an exclusive scan starts with the identity, which {op.name} does not have")
    narrow = bound_to(op, value_dtype(operand), "fast", _tracing().fp64)
    if [c.name for c in narrow.components] != [c.name for c in wide.components]:
        wide = narrow  # without float64 the wide sum is a double-word, which a scan does not carry
    return Step(Kind.SCAN, wide, operand, name, wide.result, exclusive, narrow).result


def partials_step(op: ReductionOp, value: Any, name: str) -> Step:
    """The partials of a vector: what a program may end with."""
    operand, bound = _operand(op, value, name, Kind.PARTIALS)
    return Step(Kind.PARTIALS, bound, operand, name, bound.layout)


def unfolded(op: ReductionOp, base: Any, name: str) -> Value:
    """base, base∘base, … along the line; a formula of the index where there is a closed form."""
    operand = as_value(base, name)
    if not _is_one_value(operand):
        raise ModeError(
            f"{name} starts from one value and asks for {names_of(ASKS['unfold'])}; it is given a vector, "
            f"which offers {names_of(ELEMENTWISE)}: put a Reduce in front"
        )
    dtype = value_dtype(operand)
    bound = bound_to(op, dtype, "auto", _tracing().fp64)
    check_unfolds(bound, dtype, name)
    closed = closed_form(bound, operand, dtype)
    if closed is None:
        return Step(Kind.UNFOLD, bound, operand, name, dtype).result
    # the base itself, at every index, is a vector too
    return closed if closed.varies else apply("where", index == index, closed, closed)


def closed_form(bound: Bound, base: Value, dtype: DType) -> Node | None:
    """base ∘ … ∘ base as a formula of the index, where the operator has one."""
    if isinstance(base, Record):
        return None
    value = bound.unfolded(base, index + 1)
    return None if value is None else cast(value, dtype)


def check_unfolds(bound: Bound, dtype: DType, name: str) -> None:
    """Raises DTypeError for an operator that does not stay in the base's dtype."""
    if bound.locates or (bound.result != dtype and bound.result.kind not in "iub"):
        raise DTypeError(
            f"{name} gives {bound.result} from a {dtype} base; an unfold needs an operator that stays in its dtype"
        )


def line_length(length: Any, name: str) -> None:
    """Notes the length that an unfold names. Raises ShapeError when another one was named before."""
    if isinstance(length, bool) or not isinstance(length, (int, np.integer)) or length < 0:
        text = "a traced value, which is known too late" if isinstance(length, Node) else repr(length)
        raise ShapeError(f"{name}: length is {text}; it must be a whole number, 0 or more")
    tracing = _tracing()
    if tracing.length not in (None, length):
        raise ShapeError(f"{name}: length is {length}, another unfold of this line has {tracing.length}")
    tracing.length = int(length)


@lru_cache(maxsize=1024)
def bound_to(op: ReductionOp, dtype: DType, accumulate: Accumulate, fp64: bool) -> Bound:
    """The operator for a dtype; the same object every time, so that equal steps compare equal."""
    return op.bind(dtype, accumulate, fp64)


def _operand(op: ReductionOp, value: Any, name: str, kind: Kind) -> tuple[Value, Bound]:
    if isinstance(value, tuple):
        raise ShapeError(f"{name} takes one value per index, {len(value)} are given")
    operand = as_value(value, name)
    if not is_vector(operand):
        raise ModeError(
            f"{name} takes its input element by element ({names_of(ASKS[kind.value])}); it is given one value, which "
            f"offers {names_of(WHOLE)} only: there is no vector between, put a Map that also uses the vector in front"
        )
    tracing = _tracing()
    accumulate: Accumulate = tracing.accumulate if kind is Kind.REDUCE else "auto"
    bound = bound_to(op, value_dtype(operand), accumulate, tracing.fp64)
    plain = components(operand)
    if "" in plain and bound.value.names is None:
        operand = cast(plain[""], bound.value)
    return operand, bound


def is_vector(value: Value) -> bool:
    """Whether a value has one number per index; on a line of one element arguments do, and what is made of them."""
    nodes = postorder(list(components(value).values()))
    return varies(value) or (
        _tracing().single and any(isinstance(n, Symbol) and not isinstance(n, Result) for n in nodes)
    )


def _is_one_value(value: Value) -> bool:
    """Whether a value is one for the line; on a line of one element vectors given as arguments are, too."""
    nodes = postorder(list(components(value).values()))
    return not varies(value) or (
        _tracing().single and not any(n.varies for n in nodes if isinstance(n, (Index, Result)))
    )


def _tracing() -> Tracing:
    tracing = current_tracing()
    if tracing is None:
        raise FormulaError("steps are only added while a function is traced; see cm.fuse")
    return tracing
