"""A traced formula: typed inputs, output nodes, and how each input is reached from an index.

`Access` says how an input is read: a whole vector in step with the index, one value for all indices (a kernel argument,
or the only element of a buffer), or broadcast by strides.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from clmapreduce.dtypes import BOOL, DType, Leaf, broadcast_text, c_name, is_complex, leaves
from clmapreduce.formula.emit import Text
from clmapreduce.formula.node import Apply, Index, Node, Record, Symbol, Value, components, postorder, rebuild


class Access(Enum):
    """How an input's elements are reached from the index."""

    VECTOR = "vector"
    ARGUMENT = "argument"
    SINGLE = "single"
    STRIDED = "strided"


@dataclass(frozen=True, eq=False)
class Input:
    """One input: its dtype (scalar or record), the value that stands for it in the formula, how it is read, and, when
    STRIDED, over how many collapsed dimensions."""

    name: str
    dtype: DType
    value: Value
    access: Access = Access.VECTOR
    rank: int = 0


def symbol(name: str, dtype: DType) -> Value:
    """The value that stands for an input of this dtype: a symbol, or a record of symbols, one per leaf."""
    if dtype.names is None:
        return Symbol(name, dtype)
    return rebuild({leaf: Symbol(f"{name}.{leaf}", part) for leaf, (part, _) in leaves(dtype).items()})


@dataclass(frozen=True, eq=False)
class Formula:
    """Inputs and outputs of one traced function. Compared by identity: primitives keep one per signature."""

    inputs: tuple[Input, ...]
    outputs: tuple[Value, ...]
    nodes: tuple[Node, ...] = field(init=False)

    def __post_init__(self) -> None:
        roots = [node for value in self.outputs for node in components(value).values()]
        object.__setattr__(self, "nodes", tuple(postorder(roots)))

    @property
    def uses_index(self) -> bool:
        return any(isinstance(node, Index) for node in self.nodes)

    @property
    def vectorisable(self) -> bool:
        """Whether the formula has a form of several lanes: no complex numbers, no records."""
        parts = [i.dtype for i in self.inputs] + [node.dtype for node in self.nodes]
        records = any(isinstance(value, Record) for value in self.outputs)
        return not records and all(d.names is None and not is_complex(d) for d in parts)

    @property
    def widest(self) -> int:
        """Bytes of the widest number computed with: what decides how many lanes fill a vector register."""
        return max((d.itemsize for d in self.dtypes), default=1)

    @property
    def dtypes(self) -> tuple[DType, ...]:
        """Every scalar dtype met on the way, the index's int64 left out."""
        met = [node.dtype for node in self.nodes if not isinstance(node, Index)]
        for given in self.inputs:
            met += [part for part, _ in leaves(given.dtype).values()]
        return tuple(dict.fromkeys(met))

    def parameters(self) -> list[str]:
        """The kernel's parameters for the inputs, in order, as C declarations."""
        return [text for i, given in enumerate(self.inputs) for text in _parameters(i, given)]

    def instance(self) -> Formula:
        """A copy with symbols and indices of its own, so that one kernel text can hold it at several places."""
        unused = [node for given in self.inputs for node in components(given.value).values()]
        copies: dict[int, Node] = {}
        for node in [*self.nodes, *unused]:
            if id(node) not in copies:
                copies[id(node)] = _copy(node, copies)

        def copied(value: Value) -> Value:
            return rebuild({name: copies[id(node)] for name, node in components(value).items()})

        inputs = tuple(replace(given, value=copied(given.value)) for given in self.inputs)
        return Formula(inputs, tuple(copied(value) for value in self.outputs))


def _copy(node: Node, copies: dict[int, Node]) -> Node:
    if isinstance(node, Symbol):
        return Symbol(node.name, node.dtype, node.weak)
    if isinstance(node, Index):
        return Index()
    if isinstance(node, Apply):
        return Apply(node.function, tuple(copies[id(arg)] for arg in node.args), node.dtype, node.weak)
    return node


def _parameters(i: int, given: Input) -> list[str]:
    if given.access is Access.ARGUMENT:
        return [f"const {c_name(given.dtype)} in{i}"]
    kind = "uchar" if given.dtype.names else c_name(given.dtype)
    strides = [f"const idx in{i}_size{d}, const idx in{i}_stride{d}" for d in range(given.rank)]
    return [f"__global const {kind} *restrict in{i}", *strides]


def load(i: int, given: Input, at: str, lanes: int, prefix: str) -> tuple[list[str], dict[Node, Text]]:
    """Statements that read input `i` at the indices `at` … `at`+lanes−1, and the text of each of its symbols."""
    lines: list[str] = []
    known: dict[Node, Text] = {}
    for part, (leaf, node) in enumerate(components(given.value).items()):
        variable = f"{prefix}in{i}_{part}"  # a field's name may be any text, so it never enters the kernel
        lines.append(f"const {c_name(node.dtype, lanes)} {variable} = {_element(i, given, leaf, at, lanes)};")
        known[node] = _as_bool(variable, node.dtype, lanes, lines) if node.dtype == BOOL else Text(variable)
    return lines, known


def _as_bool(variable: str, dtype: DType, lanes: int, lines: list[str]) -> Text:
    mask = f"{variable}_mask"
    if lanes == 1:
        lines.append(f"const int {mask} = {variable} != 0;")
        return Text(mask)
    lines.append(f"const char{lanes} {mask} = {variable} != ({c_name(dtype, lanes)})(0);")
    return Text(mask, 8)


def _element(i: int, given: Input, leaf: Leaf, at: str, lanes: int) -> str:
    if given.access is Access.ARGUMENT:
        return broadcast_text(given.dtype, f"in{i}", lanes)
    if given.access is Access.SINGLE:
        return broadcast_text(given.dtype, _one(i, given, leaf, "0"), lanes)
    if given.access is Access.STRIDED:
        each = [_one(i, given, leaf, _strided_index(i, given.rank, f"({at} + {lane})")) for lane in range(lanes)]
        return each[0] if lanes == 1 else f"({c_name(given.dtype, lanes)})({', '.join(each)})"
    if lanes > 1:
        return f"CMR_LOAD({c_name(given.dtype, lanes)}, in{i} + ({at}))"
    return _one(i, given, leaf, f"({at})")


def _one(i: int, given: Input, leaf: Leaf, at: str) -> str:
    if given.dtype.fields is None:
        return f"in{i}[{at}]"
    part, offset = leaves(given.dtype)[leaf]
    return field_text(f"in{i}", at, given.dtype.itemsize, part, offset, const=True)


def field_text(base: str, at: str, itemsize: int, part: DType, offset: int, const: bool = False) -> str:
    """C lvalue of a record's field in a byte buffer: element `at`, `offset` bytes in."""
    qualifier = "const " if const else ""
    return f"(*(__global {qualifier}{c_name(part)} *)({base} + (size_t)({at}) * {itemsize} + {offset}))"


def _strided_index(i: int, rank: int, at: str) -> str:
    """The element's place: digits of the index in the collapsed dimensions, last one fastest, times their strides."""
    terms, rest = [], at
    for d in reversed(range(rank)):
        digit = f"({rest}) % in{i}_size{d}" if d else rest
        terms.append(f"({digit}) * in{i}_stride{d}")
        rest = f"({rest}) / in{i}_size{d}"
    return " + ".join(terms)
