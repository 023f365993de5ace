"""A traced formula: typed inputs, output nodes, and how each input is reached from an index.

`Access` says how an input is read: a whole vector in step with the index, one value for all indices (a kernel argument,
or the only element of a buffer), or broadcast by strides. In a batch, whose rows are lines of their own, it may also be
one line for all rows, or one value per row, or lie across memory: rows side by side, as the columns of a matrix. Under
segments it may be gathered: read where other inputs, arrays of places, say. A kernel's own array is read as a vector,
from private memory. A table is read at the places that the formula computes.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from clmapreduce.dtypes import (
    DType,
    check_supported,
    is_complex,
    is_pair,
    leaves,
    record,
)
from clmapreduce.formula.content import HasContent
from clmapreduce.formula.node import Apply, Extended, Index, Node, Record, Symbol, Value, components, postorder, rebuild


class Access(Enum):
    """How an input's elements are reached from the index."""

    VECTOR = "vector"
    ARGUMENT = "argument"
    SINGLE = "single"
    STRIDED = "strided"
    LINE = "line"
    ROW = "row"
    ACROSS = "across"
    GATHERED = "gathered"
    PRIVATE = "private"
    TABLE = "table"


@dataclass(frozen=True)
class Place:
    """Where a formula is computed, as C text: the index (the first one of several lanes), and in a batch `begin`, the
    element at which the row begins, and `row`, its number. `pitch`: with several lanes, one row per lane, the elements
    from one row to the next. `column`: under segments, which of an element's `columns` numbers, the first one of
    several lanes. Of an array that holds elements from some place on only, `begin` is that place, negative.
    """

    index: str
    begin: str = ""
    row: str = "0"
    pitch: str = ""
    column: str = ""

    @property
    def element(self) -> str:
        """The place of the index among all elements."""
        return f"({self.begin} + {self.index})" if self.begin else f"({self.index})"


@dataclass(frozen=True, eq=False)
class Input:
    """One input: its name in plans and kernels, its dtype (scalar or record), the value that stands for it in the
    formula, how it is read, and, when STRIDED, over how many collapsed dimensions. through: when GATHERED, the inputs
    that lead to its elements: the place in each is what the one before holds. every, ahead: when GATHERED, the place is
    so many times the index, and so far ahead. trailing: an element is several numbers, of which the formula sees one.
    placed: other inputs read it at places that memory holds. windowed: the array holds a window of a vector, and the
    kernel takes the index of its first element. shifted: its first element lies further on in memory, where a number
    among the kernel's arguments says. together: when STRIDED, several lanes are read at once where they lie in one row
    of the last dimension.
    """

    name: str
    dtype: DType
    value: Value
    access: Access = Access.VECTOR
    rank: int = 0
    through: tuple[str, ...] = ()
    ahead: int = 0
    every: int = 1
    trailing: bool = False
    placed: bool = False
    windowed: bool = False
    shifted: bool = False
    together: bool = False

    @property
    def in_words(self) -> bool:
        """Whether its elements are numbers in two floats that several lanes may read: side by side, or one for all."""
        return is_pair(self.dtype) and not self.shifted and self.access in (Access.VECTOR, Access.SINGLE)

    @property
    def limited(self) -> bool:
        """Whether it is read at places that memory holds. Kernels then take the last place there is."""
        return bool(self.through) or self.placed


def symbol(name: str, dtype: DType, varies: bool = False) -> Value:
    """The value that stands for an input of this dtype: a symbol, or a record of symbols, one per leaf."""
    if dtype.names is None:
        return Symbol(name, dtype, varies=varies)
    parts = leaves(dtype).items()
    return rebuild({leaf: Symbol(f"{name}.{leaf}", part, varies=varies) for leaf, (part, _) in parts})


def value_dtype(value: Value) -> DType:
    """The NumPy dtype of a value; a record's is an aligned structured dtype."""
    if not isinstance(value, Record):
        return np.dtype(value.dtype)
    elements = {leaf[0] if isinstance(leaf, tuple) else leaf: node.dtype for leaf, node in components(value).items()}
    fields = {name: np.dtype((elements[name], shape)) for name, shape in value.shapes.items()}
    return check_supported(record(fields), "a record made by a formula")


@dataclass(frozen=True, eq=False)
class Formula(HasContent):
    """Inputs and outputs of one traced function. Compared by identity: primitives keep one per signature."""

    inputs: tuple[Input, ...]
    outputs: tuple[Value, ...]
    nodes: tuple[Node, ...] = field(init=False)

    def __post_init__(self) -> None:
        roots = [node for value in self.outputs for node in components(value).values()]
        object.__setattr__(self, "nodes", tuple(postorder(roots)))

    @property
    def operations(self) -> int:
        """What one element costs, roughly: a load or an operation each."""
        return len(self.nodes) + len(self.inputs)

    @property
    def uses_index(self) -> bool:
        return any(isinstance(node, Index) for node in self.nodes)

    @property
    def vectorisable(self) -> bool:
        """Whether the formula has a form of several lanes: no complex numbers, no records."""
        records = any(isinstance(value, Record) and not isinstance(value, Extended) for value in self.outputs)
        return not records and self.spreads

    @property
    def spreads(self) -> bool:
        """Whether all that is read and computed has a form of several lanes; outputs may be records of that."""
        parts = [i.dtype for i in self.inputs if not i.in_words] + [node.dtype for node in self.nodes]
        return all(d.names is None and not is_complex(d) for d in parts)

    @property
    def widest(self) -> int:
        """Bytes of the widest number computed with: what decides how many lanes fill a vector register."""
        return max((d.itemsize for d in self.dtypes), default=1)

    @property
    def dtypes(self) -> tuple[DType, ...]:
        """Every scalar dtype met on the way, the index's int64 left out."""
        every = [node.dtype for node in self.nodes if not isinstance(node, Index)]
        for operand in self.inputs:
            every += [part for part, _ in leaves(operand.dtype).values()]
        return tuple(dict.fromkeys(every))

    def windowed(self, names: Container[str]) -> Formula:
        """The same formula where the arrays of some names hold windows."""
        inputs = (replace(operand, windowed=True) if operand.name in names else operand for operand in self.inputs)
        return Formula(tuple(inputs), self.outputs)

    def uses(self, operand: Input) -> bool:
        """Whether any output depends on an input."""
        own = {id(node) for node in self.nodes}
        return any(id(node) in own for node in components(operand.value).values())

    def instance(self) -> Formula:
        """A copy with symbols and indices of its own, so that one kernel text can hold it at several places."""
        unused = [node for operand in self.inputs for node in components(operand.value).values()]
        copies: dict[int, Node] = {}
        for node in [*self.nodes, *unused]:
            if id(node) not in copies:
                copies[id(node)] = _copy(node, copies)

        def copied(value: Value) -> Value:
            return rebuild({name: copies[id(node)] for name, node in components(value).items()})

        inputs = tuple(replace(operand, value=copied(operand.value)) for operand in self.inputs)
        return Formula(inputs, tuple(copied(value) for value in self.outputs))


def _copy(node: Node, copies: dict[int, Node]) -> Node:
    if isinstance(node, Symbol):
        return node.twin()
    if isinstance(node, Index):
        return Index()
    if isinstance(node, Apply):
        return Apply(node.function, tuple(copies[id(arg)] for arg in node.args), node.dtype, node.weak)
    return node
