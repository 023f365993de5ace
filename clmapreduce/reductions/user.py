"""A user's monoid: traced `combine` on two accumulators that look like the values, with its identity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from clmapreduce.dtypes import BOOL, DType, check_supported, is_complex, is_float
from clmapreduce.errors import DTypeError, FormulaError
from clmapreduce.formula.functions import as_node, cast
from clmapreduce.formula.node import Literal, Node, Record, Value, components, rebuild
from clmapreduce.formula.trace import as_value, call, check_arity
from clmapreduce.reductions.base import Accumulate, Bound, Component, ReductionOp


class BoundUser(Bound):
    """The accumulator is a value: one component for a plain number, one per field of a record.

    Components have names of their own, because a field's may be any text and kernels spell components as variables.
    """

    def __init__(self, name: str, combine: Callable[..., Any], identity: Any, value: DType, commutative: bool) -> None:
        self.value = self.result = value
        self.commutative = commutative
        self._name, self._combine = f"operator {name}", combine
        what = f"{self._name}: identity"
        if value.names is None:
            self._parts = {"value": ""}
            self.components = (_component("value", value, number(identity, value, what)),)
        else:
            self._parts = {f"f{i}": part for i, part in enumerate(value.names)}
            given = fields(identity, value, what)
            self.components = tuple(_component(c, value[part], given[part][()]) for c, part in self._parts.items())

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        for value in values:
            acc = self.merge(acc, self._accumulator(value))
        return acc

    def _accumulator(self, value: Value) -> Record:
        parts = components(value)
        return Record({c.name: cast(parts[self._parts[c.name]], c.dtype) for c in self.components})

    def merge(self, a: Record, b: Record) -> Record:
        operands = [self._as_value(a), self._as_value(b)]
        parts = components(as_value(call(self._combine, operands, self._name), self._name))
        if set(parts) != set(self._parts.values()):
            raise DTypeError(f"{self._name} gives {_told(parts)}; its values are {_told(self._parts.values())}")
        return Record({c.name: self._fitted(parts[self._parts[c.name]], c) for c in self.components})

    def _fitted(self, part: Node, component: Component) -> Node:
        what = f"{self._name}: {_told([self._parts[component.name]])}"
        if isinstance(part, Literal):
            return Literal(number(part.value, component.dtype, what), component.dtype)
        if part.dtype == BOOL or np.can_cast(part.dtype, component.dtype, "same_kind"):
            return cast(part, component.dtype)
        raise DTypeError(f"{what} comes out as {part.dtype}, which {component.dtype} cannot hold without loss")

    def _as_value(self, acc: Record) -> Value:
        dtypes = {part: self.value[part] if part else self.value for part in self._parts.values()}
        return rebuild({part: cast(acc[component], dtypes[part]) for component, part in self._parts.items()})

    def finish(self, acc: Record) -> Value:
        return self._as_value(acc)


def _component(name: str, dtype: DType, identity: Any) -> Component:
    acc = np.dtype(np.uint8) if dtype == BOOL else dtype
    return Component(name, acc, int(identity) if dtype == BOOL else identity)


def _told(parts: Iterable[str]) -> str:
    return ", ".join(repr(part) if part else "a plain number" for part in parts)


def number(value: Any, dtype: DType, what: str) -> Any:
    """`value` as a number of `dtype`; raises DTypeError when it does not survive the conversion."""
    given = np.asarray(value)
    if given.ndim or given.dtype.kind not in "biufc":
        raise DTypeError(f"{what} {value!r} is not a number")
    with np.errstate(all="ignore"):
        kept = given.astype(dtype) if is_complex(dtype) else given.real.astype(dtype)
    exact = is_complex(dtype) or (given.imag == 0 and (is_float(dtype) or kept == given))
    if not exact:
        raise DTypeError(f"{what} {value!r} does not fit {dtype} values")
    return kept[()]


def fields(identity: Any, dtype: DType, what: str) -> Any:
    """The identity as a scalar of a structured dtype; raises DTypeError when it is none."""
    try:
        given = np.asarray(identity, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise DTypeError(f"{what} {identity!r} is no {dtype}: {error}") from None
    if given.ndim:
        raise DTypeError(f"{what} {identity!r} is not one value but {given.shape}")
    return given


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
        check_arity(combine, 2, "combine")
        self.combine, self.identity, self.commutative = combine, identity, commutative
        self.dtype = None if dtype is None else check_supported(np.dtype(dtype), "the operator")
        self.name = name or getattr(combine, "__name__", "operator").replace("<lambda>", "operator")

    def bind(self, value: DType, accumulate: Accumulate, fp64: bool) -> Bound:
        wanted = self.dtype if self.dtype is not None else value
        if wanted.names != value.names:
            raise DTypeError(f"operator {self.name} is for {wanted}; values have {value}")
        parts = [(value[n], wanted[n]) for n in wanted.names] if wanted.names else [(value, wanted)]
        if not all(np.can_cast(given, kept, "same_kind") for given, kept in parts):
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
