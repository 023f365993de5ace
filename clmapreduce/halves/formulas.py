"""float16 on devices that do not compute with it: memory holds its bits as uint16, formulas compute in float32.

A traced formula of float16 numbers is rewritten: `Halves` opens the bits that inputs hold, every number of float16
becomes one of float32, and what is stored is rounded to the nearest float16, the even one of two. What only moves
numbers (an input that is an output, a lookup, a choice between two inputs) moves their bits, and changes none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from clmapreduce.dtypes import BOOL, FLOAT16, FLOAT32, FLOAT64, DType, leaves, record, widened
from clmapreduce.errors import FormulaError
from clmapreduce.formula.definitions import CAST, GUARD, PLACED
from clmapreduce.formula.formula import Formula, Input
from clmapreduce.formula.functions import cast, computes_halves_wide
from clmapreduce.formula.node import Apply, Literal, Node, Symbol, Value, components, postorder, rebuild
from clmapreduce.formula.registry import FUNCTIONS, Function
from clmapreduce.formula.tables.symbol import LOOKUP, TableSymbol

BITS = np.dtype(np.uint16)
_EXACT = (BOOL, np.dtype(np.int8), np.dtype(np.uint8))
"""Dtypes of which float16 holds every number."""


def _internal(*kinds: Any) -> NoReturn:
    raise FormulaError("the bits of float16 are no numbers of a formula; convert with x.astype('float32')")


def _numbers(bits: Any) -> Any:
    return np.asarray(bits, BITS).view(FLOAT16).astype(FLOAT32)


def _nearest(numbers: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.asarray(numbers).astype(FLOAT16).view(BITS)


FROM_HALF = Function("from_half", 1, _internal, lambda dtype: "cmr_from_half_{F}({0})", _numbers)
"""The float32 of a float16's bits."""
TO_HALF = Function("to_half", 1, _internal, lambda dtype: "cmr_to_half_{V}({0})", _nearest)
"""The bits of the float16 nearest to a float32 or a float64, the even one of two."""


def has_halves(dtypes: Iterable[DType]) -> bool:
    """Whether one of some dtypes is float16, or has a field of it."""
    return any(part == FLOAT16 for dtype in dtypes for part, _ in leaves(dtype).values())


def stored(dtype: DType) -> DType:
    """How kernels see a dtype in memory: uint16 for float16, also in fields, which stay where they are."""
    if dtype.fields is None or dtype.names is None:
        return BITS if dtype == FLOAT16 else dtype
    if not has_halves([dtype]):
        return dtype
    fields = [dtype.fields[name][:2] for name in dtype.names]
    formats = [np.dtype((stored(field.base), field.shape)) for field, _ in fields]
    offsets, itemsize = [offset for _, offset in fields], dtype.itemsize
    return np.dtype({"names": list(dtype.names), "formats": formats, "offsets": offsets, "itemsize": itemsize})


def computed(dtype: DType) -> DType:
    """What takes a dtype's place in formulas: float32 for float16, also in fields."""
    if not has_halves([dtype]):
        return dtype
    if dtype.names is None:
        return FLOAT32
    return record({name: np.dtype((widened(dtype[name].base), dtype[name].shape)) for name in dtype.names})


def number_of_bits(bits: Node) -> Node:
    """The float32 of a float16's bits."""
    return Apply(FROM_HALF, (bits,), FLOAT32)


def bits_of(node: Node) -> Node:
    """The bits of the float16 nearest to a number; those that it was opened from, where nothing was computed."""
    if isinstance(node, Literal):
        return Literal(int(_nearest(node.value)[()]), BITS)
    if isinstance(node, Apply) and node.function is FROM_HALF:
        return node.args[0]
    if isinstance(node, Apply) and node.function in (GUARD, PLACED):
        return Apply(node.function, (node.args[0], bits_of(node.args[1])), BITS)
    if isinstance(node, Apply) and node.function is FUNCTIONS["where"] and all(map(_is_opened, node.args[1:])):
        return Apply(node.function, (node.args[0], *map(bits_of, node.args[1:])), BITS)
    return Apply(TO_HALF, (node,), BITS)


def _is_opened(node: Node) -> bool:
    return isinstance(node, Literal) or (isinstance(node, Apply) and node.function is FROM_HALF)


def stored_value(value: Value, dtype: DType) -> Value:
    """What kernels store for a value of a result's dtype: bits where that is float16."""
    kinds = leaves(dtype)
    return rebuild(
        {leaf: bits_of(node) if kinds[leaf][0] == FLOAT16 else node for leaf, node in components(value).items()}
    )


def in_float32(formula: Formula, stores: bool = True) -> Formula:
    """A formula that reads bits of float16 and computes in float32. stores: its values are stored, as bits; else they
    are float32 numbers.
    """
    dtypes = [node.dtype for node in formula.nodes] + [operand.dtype for operand in formula.inputs]
    if not has_halves(dtypes):
        return formula
    halves = Halves()
    inputs = halves.inputs(formula.inputs)
    return Formula(inputs, tuple(halves.output(value, stores) for value in formula.outputs))


class Halves:
    """Rewrites nodes, each once."""

    def __init__(self) -> None:
        self._done: dict[int, Node] = {}
        self._alive: list[Node] = []

    def put(self, node: Node, instead: Node) -> None:
        """Says what takes a node's place."""
        self._done[id(node)] = instead
        self._alive.append(node)

    def inputs(self, inputs: Iterable[Input]) -> tuple[Input, ...]:
        """Inputs that hold bits where they held float16; what stands for them is opened from these."""
        return tuple(replace(i, dtype=stored(i.dtype), value=self.opened(i.value)) for i in inputs)

    def opened(self, value: Value) -> Value:
        """The symbols of bits for those of a value that holds float16."""
        return rebuild({leaf: self._opened(node) for leaf, node in components(value).items()})

    def _opened(self, node: Node) -> Node:
        if node.dtype != FLOAT16:
            return node
        assert isinstance(node, Symbol)
        if isinstance(node, TableSymbol):
            table = TableSymbol(node.name, BITS, node.rank, node.checked, node.text)
            self.put(node, table)
            return table
        bits = Symbol(node.name, BITS, varies=node.varies)
        self.put(node, number_of_bits(bits))
        return bits

    def standing_for(self, node: Node, dtype: DType) -> Node:
        """What code that was written for a dtype is given in place of a node: of float16 a symbol that stands for it.
        node: a number, or bits.
        """
        if dtype != FLOAT16:
            self.put(node, node)
            return node
        symbol = Symbol("half", FLOAT16, varies=node.varies)
        self.put(symbol, number_of_bits(node) if node.dtype == BITS else node)
        return symbol

    def value(self, value: Value) -> Value:
        """A value in float32 where it was float16."""
        return rebuild({leaf: self.node(node) for leaf, node in components(value).items()})

    def output(self, value: Value, stores: bool = True) -> Value:
        """As `value`; bits where it is stored."""
        parts = components(value)
        return rebuild({
            leaf: bits_of(self.node(node)) if stores and node.dtype == FLOAT16 else self.node(node)
            for leaf, node in parts.items()
        })  # fmt: skip

    def node(self, root: Node) -> Node:
        for node in postorder([root], self._done):
            self.put(node, self._rewritten(node))
        return self._done[id(root)]

    def _rewritten(self, node: Node) -> Node:
        if isinstance(node, Literal) and node.dtype == FLOAT16:
            return Literal(float(_numbers(_nearest(node.value))), FLOAT32)
        if not isinstance(node, Apply):
            return node
        args = tuple(self._done[id(arg)] for arg in node.args)
        if node.function is CAST and FLOAT16 in (node.dtype, node.args[0].dtype):
            return self._converted(node.args[0], args[0], node.dtype)
        if node.function is LOOKUP and node.dtype == FLOAT16:
            return number_of_bits(Apply(LOOKUP, args, BITS))
        if node.dtype != FLOAT16 and all(a is b for a, b in zip(args, node.args, strict=True)):
            return node
        return Apply(node.function, args, widened(node.dtype), node.weak)

    def _converted(self, source: Node, number: Node, dtype: DType) -> Node:
        """A conversion to or from float16. number: what took the source's place."""
        if dtype != FLOAT16:
            return cast(number, dtype)
        if source.dtype not in (FLOAT32, FLOAT64):
            number = cast(number, FLOAT32)
        if source.dtype in _EXACT or _is_widened(source):
            return number
        return number_of_bits(bits_of(number))


def _is_widened(node: Node) -> bool:
    """Whether a node computes in float32 what its operands, of float16, are to give in float16."""
    return (
        isinstance(node, Apply)
        and node.dtype == FLOAT32
        and computes_halves_wide(node.function)
        and all(isinstance(a, Apply) and a.function is CAST and a.args[0].dtype == FLOAT16 for a in node.args)
    )

