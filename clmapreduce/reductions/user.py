"""A user's monoid: traced `combine` on two accumulators that look like the values, with its identity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clmapreduce.dtypes import BOOL, DType, is_complex
from clmapreduce.errors import DTypeError, FormulaError
from clmapreduce.formula.functions import as_node, cast
from clmapreduce.formula.node import Literal, Node, Record, Value, components
from clmapreduce.formula.trace import as_value, call
from clmapreduce.reductions.base import Accumulate, Bound, Component, ReductionOp


class BoundUser(Bound):
    """The accumulator is a value; plain numbers are one component named "value"."""

    def __init__(self, name: str, combine: Callable[..., Any], identity: Any, value: DType, commutative: bool) -> None:
        self.value = self.result = value
        self.commutative = commutative
        self._name, self._combine = name, combine
        names = value.names
        if names is None:
            acc = np.dtype(np.uint8) if value == BOOL else value
            self.components = (Component("value", acc, number(identity, acc, name)),)
        else:
            parts = np.asarray(identity, dtype=value)
            self.components = tuple(_component(n, value[n], parts[n][()]) for n in names)

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        for value in values:
            acc = self.merge(acc, self._accumulator(value))
        return acc

    def _accumulator(self, value: Value) -> Record:
        parts = components(value)
        if self.value.names is None:
            parts = {"value": parts[""]}
        return Record({c.name: cast(parts[c.name], c.dtype) for c in self.components})

    def merge(self, a: Record, b: Record) -> Record:
        operands = [self._as_value(a), self._as_value(b)]
        parts = components(as_value(call(self._combine, operands, f"operator {self._name}"), f"operator {self._name}"))
        if self.value.names is None:
            parts = {"value": parts[""]} if "" in parts else parts
        wanted = {c.name for c in self.components}
        if set(parts) != wanted:
            raise DTypeError(
                f"operator {self._name} gives {', '.join(map(repr, sorted(parts)))} "
                f"for values with {', '.join(map(repr, sorted(wanted)))}"
            )
        return Record({c.name: self._fitted(parts[c.name], c) for c in self.components})

    def _fitted(self, part: Node, component: Component) -> Node:
        if isinstance(part, Literal) or part.dtype == BOOL or np.can_cast(part.dtype, component.dtype, "same_kind"):
            return cast(part, component.dtype)
        raise DTypeError(
            f"operator {self._name}: {component.name!r} comes out as {part.dtype}, "
            f"which {component.dtype} cannot hold without loss"
        )

    def _as_value(self, acc: Record) -> Value:
        if self.value.names is not None:
            return Record({n: cast(acc[n], self.value[n]) for n in self.value.names})
        return cast(acc["value"], self.value)

    def finish(self, acc: Record) -> Value:
        return self._as_value(acc)


def _component(name: str, dtype: DType, identity: Any) -> Component:
    acc = np.dtype(np.uint8) if dtype == BOOL else dtype
    return Component(name, acc, int(identity) if dtype == BOOL else identity)


def number(identity: Any, dtype: DType, name: str) -> Any:
    """The identity as a number of `dtype`; raises DTypeError when it does not survive the conversion."""
    given = np.asarray(identity)
    if given.ndim or given.dtype.kind not in "biufc":
        raise DTypeError(f"operator {name}: identity {identity!r} is not a number")
    if is_complex(given.dtype) and not is_complex(dtype):
        raise DTypeError(f"operator {name}: the complex identity {identity!r} does not fit {dtype} values")
    with np.errstate(all="ignore"):
        kept = given.astype(dtype)
    exact = dtype.kind in "fc" or kept == given
    if not exact:
        raise DTypeError(f"operator {name}: identity {identity!r} does not fit {dtype} values")
    return kept[()]


class Operator(ReductionOp):
    """A user's monoid.

    combine: traced on two values (`lambda a, b: a + b`); for a structured dtype its arguments have fields by subscript
    and it returns a dict of fields. identity: a number, or a scalar of the structured dtype. dtype: the dtype values
    are converted to; None keeps the input's. commutative=False keeps the order of values everywhere. Raises
    FormulaError when `combine` cannot be called with two values.
    """

    def __init__(
        self,
        combine: Callable[..., Any],
        identity: Any,
        dtype: Any = None,
        commutative: bool = True,
        name: str | None = None,
    ) -> None:
        if not callable(combine):
            raise FormulaError(f"combine must be a function of two values, not {combine!r}")
        self.combine, self.identity, self.commutative = combine, identity, commutative
        self.dtype = None if dtype is None else np.dtype(dtype)
        self.name = name or getattr(combine, "__name__", "operator").replace("<lambda>", "operator")

    def bind(self, value: DType, accumulate: Accumulate, fp64: bool) -> Bound:
        wanted = self.dtype if self.dtype is not None else value
        if wanted.names != value.names:
            raise DTypeError(f"operator {self.name} is for {wanted}; values have {value}")
        if wanted.names is None and not np.can_cast(value, wanted, "same_kind"):
            raise DTypeError(
                f"operator {self.name}: values of dtype {value} cannot become {wanted} without loss; cast them first"
            )
        if accumulate in ("compensated", "double"):
            raise DTypeError(
                f"accumulate={accumulate!r} is for sums; operator {self.name} accumulates in the values' own dtype"
            )
        bound = BoundUser(self.name, self.combine, self.identity, wanted, self.commutative)
        sample = Record({c.name: as_node(c.identity, c.dtype) for c in bound.components})
        bound.merge(sample, sample)  # tells at once when combine misses a field
        return bound
