"""A traced formula: typed inputs, output nodes, and how each input is reached from an index.

`Access` says how an input is read: a whole vector in step with the index, one value for all indices (a kernel argument,
or the only element of a buffer), or broadcast by strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from clmapreduce.dtypes import BOOL, DType, c_name, is_complex
from clmapreduce.formula.emit import Text
from clmapreduce.formula.node import Apply, Index, Node, Record, Symbol, Value, WeakSymbol, components, rebuild


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
    """The value that stands for an input of this dtype: a symbol, or a record of symbols, one per field."""
    if dtype.names is None:
        return Symbol(name, dtype)
    return Record({part: Symbol(f"{name}.{part}", dtype[part]) for part in dtype.names})


@dataclass(frozen=True, eq=False)
class Formula:
    """Inputs and outputs of one traced function. Compared by identity: primitives keep one per signature."""

    inputs: tuple[Input, ...]
    outputs: tuple[Value, ...]
    nodes: tuple[Node, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", tuple(_walk(self.outputs)))

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
            met += [given.dtype[name] for name in given.dtype.names] if given.dtype.names else [given.dtype]
        return tuple(dict.fromkeys(met))

    def parameters(self) -> list[str]:
        """The kernel's parameters for the inputs, in order, as C declarations."""
        return [text for i, given in enumerate(self.inputs) for text in _parameters(i, given)]

    def instance(self) -> Formula:
        """A copy with symbols and indices of its own, so that one kernel text can hold it at several places."""
        copies: dict[int, Node] = {}
        inputs = tuple(replace(given, value=_copied(given.value, copies)) for given in self.inputs)
        return Formula(inputs, tuple(_copied(value, copies) for value in self.outputs))


def _copied(value: Value, copies: dict[int, Node]) -> Value:
    return rebuild({name: _copy(node, copies) for name, node in components(value).items()})


def _copy(node: Node, copies: dict[int, Node]) -> Node:
    if id(node) not in copies:
        if isinstance(node, WeakSymbol):
            copies[id(node)] = WeakSymbol(node.name, node.dtype, node.sample)
        elif isinstance(node, Symbol):
            copies[id(node)] = Symbol(node.name, node.dtype)
        elif isinstance(node, Index):
            copies[id(node)] = Index()
        elif isinstance(node, Apply):
            copies[id(node)] = Apply(node.function, tuple(_copy(arg, copies) for arg in node.args), node.dtype)
        else:
            copies[id(node)] = node
    return copies[id(node)]


def _walk(outputs: Sequence[Value]) -> list[Node]:
    seen: dict[int, Node] = {}
    todo = [node for value in outputs for node in components(value).values()]
    while todo:
        node = todo.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            todo += node.args if isinstance(node, Apply) else ()
    return list(seen.values())


def _parameters(i: int, given: Input) -> list[str]:
    if given.access is Access.ARGUMENT:
        parts = components(given.value)
        return [f"const {c_name(node.dtype)} in{i}{'_' + name if name else ''}" for name, node in parts.items()]
    kind = "uchar" if given.dtype.names else c_name(given.dtype)
    strides = [f"const idx in{i}_size{d}, const idx in{i}_stride{d}" for d in range(given.rank)]
    return [f"__global const {kind} *restrict in{i}", *strides]


def load(i: int, given: Input, at: str, lanes: int, prefix: str) -> tuple[list[str], dict[Node, Text]]:
    """Statements that read input `i` at the indices `at` … `at`+lanes−1, and the text of each of its symbols."""
    lines: list[str] = []
    known: dict[Node, Text] = {}
    for name, node in components(given.value).items():
        variable = f"{prefix}in{i}{'_' + name if name else ''}"
        lines.append(f"const {c_name(node.dtype, lanes)} {variable} = {_element(i, given, name, at, lanes)};")
        known[node] = _as_bool(variable, node.dtype, lanes, lines) if node.dtype == BOOL else Text(variable)
    return lines, known


def _as_bool(variable: str, dtype: DType, lanes: int, lines: list[str]) -> Text:
    mask = f"{variable}_mask"
    if lanes == 1:
        lines.append(f"const int {mask} = {variable} != 0;")
        return Text(mask)
    lines.append(f"const char{lanes} {mask} = {variable} != ({c_name(dtype, lanes)})(0);")
    return Text(mask, 8)


def _element(i: int, given: Input, name: str, at: str, lanes: int) -> str:
    if given.access is Access.ARGUMENT:
        return _everywhere(f"in{i}{'_' + name if name else ''}", given, name, lanes)
    if given.access is Access.SINGLE:
        return _everywhere(_one(i, given, name, "0"), given, name, lanes)
    if given.access is Access.STRIDED:
        each = [_one(i, given, name, _strided_index(i, given.rank, f"({at} + {lane})")) for lane in range(lanes)]
        return each[0] if lanes == 1 else f"({c_name(given.dtype, lanes)})({', '.join(each)})"
    if lanes > 1:
        return f"CMR_LOAD({c_name(given.dtype, lanes)}, in{i} + ({at}))"
    return _one(i, given, name, f"({at})")


def _everywhere(text: str, given: Input, name: str, lanes: int) -> str:
    return f"({c_name(given.dtype, lanes)})({text})" if lanes > 1 else text


def _one(i: int, given: Input, name: str, at: str) -> str:
    if given.dtype.fields is None:
        return f"in{i}[{at}]"
    part, offset = given.dtype.fields[name][:2]
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
