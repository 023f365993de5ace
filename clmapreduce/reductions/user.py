"""A user's monoid: traced `combine` on two accumulators that look like the values, with its identity."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from clmapreduce.checks import dtype_of, numpy_array, quoted, refuse_masked, switch
from clmapreduce.dtypes import BOOL, DType, Leaf, aligned, check_supported, is_complex, is_float, leaf_view, leaves
from clmapreduce.errors import ArgumentError, DTypeError, FormulaError
from clmapreduce.formula.functions import as_node, cast
from clmapreduce.formula.node import Index, Literal, Node, Record, Value, components, postorder, rebuild
from clmapreduce.formula.trace import as_value, call, check_arity
from clmapreduce.functions.keys import function_key, value_key
from clmapreduce.functions.portable import Portable
from clmapreduce.functions.snapshots import snapshot_of
from clmapreduce.reductions.base import Accumulate, Bound, Component, OneByOne, ReductionOp
from clmapreduce.reductions.laws.check import check_laws, wide


class BoundUser(OneByOne):
    """The accumulator is a value: one component for a plain number, one per leaf of a record.

    Components have names of their own, because a field's may be any text and kernels spell components as variables.
    `parts` is the leaf that each of them is.
    """

    def __init__(self, name: str, combine: Callable[..., Any], identity: Any, value: DType, commutative: bool) -> None:
        self.value = self.result = value
        self.commutative = commutative
        self._name, self._combine, self._itself = f"operator {name}", combine, object()
        what = f"{self._name}: identity"
        if value.names is None:
            self.parts: dict[str, Leaf] = {"value": ""}
            self.components = (_component("value", value, number(identity, value, what)),)
        else:
            self.parts = {f"f{i}": leaf for i, leaf in enumerate(leaves(value))}
            start = fields(identity, value, what)
            self.components = tuple(
                _component(c, leaves(value)[leaf][0], leaf_view(start, leaf)[()]) for c, leaf in self.parts.items()
            )

    @property
    def content_parts(self) -> tuple[Any, ...]:
        """`combine` is called for every kernel, and may give something else each time: equal to itself alone."""
        return (self._itself,)

    def single(self, value: Value, index: Node) -> Record:
        parts = components(value)
        return Record({c.name: cast(parts[self.parts[c.name]], c.dtype) for c in self.components})

    def merge(self, a: Record, b: Record) -> Record:
        operands = [self._as_value(a), self._as_value(b)]
        result = as_value(call(self._combine, operands, self._name), self._name)
        self._check_fields(result)
        parts = components(result)
        return Record({c.name: self._fitted(parts[self.parts[c.name]], c) for c in self.components})

    def _check_fields(self, result: Value) -> None:
        shapes = result.shapes if isinstance(result, Record) else {"": ()}
        expected = {name: self.value[name].shape for name in self.value.names} if self.value.names else {"": ()}
        if set(shapes) != set(expected):
            raise DTypeError(f"{self._name} gives {_names(shapes)}; its values are {_names(expected)}")
        for name, shape in expected.items():
            if shapes[name] != shape:
                texts = [f"an array of shape {s}" if s else "a single number" for s in (shapes[name], shape)]
                raise DTypeError(f"{self._name}: field {name!r} comes out as {texts[0]}; it must be {texts[1]}")

    def _fitted(self, part: Node, component: Component) -> Node:
        leaf = self.parts[component.name]
        what = f"{self._name}: {_names([leaf[0] if isinstance(leaf, tuple) else leaf])}"
        if isinstance(part, Literal):
            return Literal(number(part.value, component.dtype, what), component.dtype)
        if part.dtype == BOOL or np.can_cast(part.dtype, component.dtype, "same_kind"):
            return cast(part, component.dtype)
        raise DTypeError(f"{what} comes out as {part.dtype}, which {component.dtype} cannot hold without loss")

    def _as_value(self, acc: Record) -> Value:
        dtypes = leaves(self.value)
        return rebuild({leaf: cast(acc[component], dtypes[leaf][0]) for component, leaf in self.parts.items()})

    def finish(self, acc: Record) -> Value:
        return self._as_value(acc)


def _component(name: str, dtype: DType, identity: Any) -> Component:
    acc = np.dtype(np.uint8) if dtype == BOOL else dtype
    return Component(name, acc, int(identity) if dtype == BOOL else identity)


def _names(names: Iterable[str]) -> str:
    return ", ".join(repr(name) if name else "a plain number" for name in names)


def number(value: Any, dtype: DType, what: str) -> Any:
    """`value` as a number of `dtype`; raises DTypeError when it does not survive the conversion."""
    array = numpy_array(value, what)
    if array.ndim or array.dtype.kind not in "biufc":
        raise DTypeError(f"{what} {value!r} is not a number")
    with np.errstate(all="ignore"):
        number = array.astype(dtype) if is_complex(dtype) else array.real.astype(dtype)
    overflows = is_float(dtype) and np.isfinite(array.real) and not np.isfinite(number)
    exact = is_complex(dtype) or (array.imag == 0 and not overflows and (is_float(dtype) or number == array))
    if not exact:
        raise DTypeError(f"{what} {value!r} does not fit {dtype} values")
    return number[()]


def fields(identity: Any, dtype: DType, what: str) -> Any:
    """The identity as a scalar of a structured dtype; raises DTypeError when it is none."""
    refuse_masked(identity, what)
    try:
        with np.errstate(all="ignore"):
            array = np.asarray(identity, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise DTypeError(f"{what} {identity!r} is no {dtype}: {error}") from None
    if array.ndim:
        raise DTypeError(f"{what} {identity!r} is not one value but {array.shape}")
    untyped = np.asarray(identity, dtype=_untyped(dtype))
    for leaf, (part, _) in leaves(dtype).items():
        number(leaf_view(untyped, leaf)[()], part, f"{what}, field {leaf if isinstance(leaf, str) else leaf[0]!r}:")
    return array


def _untyped(dtype: DType) -> DType:
    """The same fields of whatever is put into them."""
    assert dtype.names is not None
    return np.dtype([(name, object, dtype[name].shape) for name in dtype.names])


class Operator(ReductionOp):
    """A user's monoid.

    combine: traced on two values (`lambda a, b: a + b`). For a structured dtype, subscripts of its arguments give
    fields, and it returns a dict of fields. A field that is an array is a NumPy object array of traced values, so
    indexing, arithmetic and `@` are NumPy's: `lambda a, b: {"m": a["m"] @ b["m"]}`. identity: a number, or a scalar of
    the structured dtype, or a tuple of its fields. dtype: values are converted to it; None for the dtype of the input.
    commutative=False preserves the order of values everywhere. Raises FormulaError if `combine` cannot be called with
    two values.

    The first call for each dtype checks the operator on small sample values (`laws`): `combine` must be associative,
    `identity` must be its identity, and it must commute unless commutative=False. FormulaError names the broken law and
    values that break it. check=False omits this, for operators that obey the laws on the values that occur, but not on
    all values (probabilities, sorted lists).
    """

    def __init__(
        self,
        combine: Callable[..., Any],
        identity: Any,
        dtype: Any = None,
        commutative: bool = True,
        name: str | None = None,
        check: bool = True,
    ) -> None:
        if not callable(combine):
            raise FormulaError(f"combine must be a function of two values, not {quoted(combine)}")
        if name is not None and not isinstance(name, str):
            raise ArgumentError(f"name is {quoted(name)}; give a text, or None")
        check_arity(combine, 2, "combine")
        self.combine, self.identity, self.commutative = combine, identity, switch(commutative, "commutative")
        self.check = switch(check, "check")
        self._checked: set[DType] = set()
        self.dtype = None if dtype is None else check_supported(dtype_of(dtype), "the operator")
        self.name = name or getattr(combine, "__name__", "operator").replace("<lambda>", "operator")

    def key(self) -> Hashable | None:
        combine, identity = function_key(self.combine), value_key(self.identity)
        if combine is None or identity is None or type(self) is not Operator:
            return None
        return Operator, combine, identity, self.dtype, self.commutative, self.check, self.name

    def snapshot(self) -> Operator:
        combine = snapshot_of(self.combine)
        return Operator(combine, self.identity, self.dtype, self.commutative, self.name, self.check)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "combine": Portable(self.combine)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, combine=state["combine"].function)

    def bind(self, value: DType, accumulate: Accumulate, fp64: bool) -> Bound:
        dtype = aligned(self.dtype if self.dtype is not None else value)
        parts, parts_of_value = leaves(dtype), leaves(value)
        if list(parts) != list(parts_of_value):
            raise DTypeError(f"operator {self.name} is for {dtype}; values have {value}")
        if not all(np.can_cast(parts_of_value[leaf][0], part, "same_kind") for leaf, (part, _) in parts.items()):
            raise DTypeError(
                f"operator {self.name}: values of dtype {value} cannot become {dtype} without loss; cast them first"
            )
        if accumulate in ("compensated", "double"):
            raise DTypeError(
                f"accumulate={accumulate!r} is for sums; operator {self.name} accumulates in the values' own dtype"
            )
        bound = BoundUser(self.name, self.combine, self.identity, dtype, self.commutative)
        sample = Record({c.name: as_node(c.identity, c.dtype) for c in bound.components})
        merged = bound.merge(sample, sample)  # tells at once when combine misses a field
        if any(isinstance(node, Index) for node in postorder(list(merged.values()))):
            raise FormulaError(f"operator {self.name}: values have no index; give it to them, by a map in front")
        if self.check and dtype not in self._checked:
            own = BoundUser(self.name, self.combine, self.identity, wide(dtype), self.commutative)
            check_laws(self.name, own, own.parts, dtype)
            self._checked.add(dtype)
        return bound
