"""Nodes: what is computed for one index, as an immutable graph of typed scalars.

Every node knows its NumPy dtype. Operators on nodes build `Apply` nodes with NumPy's promotion rules; Python numbers
stay weak. Nodes are compared by identity, so that `==` can mean "a node that compares"; use `is` to tell nodes apart.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias, Union, cast

import numpy as np

from clmapreduce.checks import quoted
from clmapreduce.dtypes import INT64, DType, Leaf, check_constant, is_extended, number_of
from clmapreduce.errors import FormulaError
from clmapreduce.formula.array import NodeArray
from clmapreduce.formula.registry import BUILDERS, Function, Whole
from clmapreduce.no_arithmetic import without_arithmetic

Number: TypeAlias = Union[bool, int, float, complex, "np.generic[Any]"]
Operand: TypeAlias = "Node | Number"


def _apply(name: str, *operands: Any) -> Node:
    node: Node = BUILDERS[name](*operands)
    return node


class Arithmetic:
    """The operators of numbers, each a call of the elementwise function of that name."""

    __slots__ = ()
    __array_ufunc__ = None  # numpy_scalar + node must reach __radd__

    def __add__(self, other: Operand) -> Node:
        return _apply("add", self, other)

    def __radd__(self, other: Operand) -> Node:
        return _apply("add", other, self)

    def __sub__(self, other: Operand) -> Node:
        return _apply("subtract", self, other)

    def __rsub__(self, other: Operand) -> Node:
        return _apply("subtract", other, self)

    def __mul__(self, other: Operand) -> Node:
        return _apply("multiply", self, other)

    def __rmul__(self, other: Operand) -> Node:
        return _apply("multiply", other, self)

    def __truediv__(self, other: Operand) -> Node:
        return _apply("divide", self, other)

    def __rtruediv__(self, other: Operand) -> Node:
        return _apply("divide", other, self)

    def __floordiv__(self, other: Operand) -> Node:
        return _apply("floor_divide", self, other)

    def __rfloordiv__(self, other: Operand) -> Node:
        return _apply("floor_divide", other, self)

    def __mod__(self, other: Operand) -> Node:
        return _apply("mod", self, other)

    def __rmod__(self, other: Operand) -> Node:
        return _apply("mod", other, self)

    def __pow__(self, other: Operand) -> Node:
        return _apply("power", self, other)

    def __rpow__(self, other: Operand) -> Node:
        return _apply("power", other, self)

    def __neg__(self) -> Node:
        return _apply("negative", self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Node:
        return _apply("abs", self)

    def __invert__(self) -> Node:
        return _apply("invert", self)

    def __and__(self, other: Operand) -> Node:
        return _apply("bitwise_and", self, other)

    def __rand__(self, other: Operand) -> Node:
        return _apply("bitwise_and", other, self)

    def __or__(self, other: Operand) -> Node:
        return _apply("bitwise_or", self, other)

    def __ror__(self, other: Operand) -> Node:
        return _apply("bitwise_or", other, self)

    def __xor__(self, other: Operand) -> Node:
        return _apply("bitwise_xor", self, other)

    def __rxor__(self, other: Operand) -> Node:
        return _apply("bitwise_xor", other, self)

    def __lshift__(self, other: Operand) -> Node:
        return _apply("left_shift", self, other)

    def __rlshift__(self, other: Operand) -> Node:
        return _apply("left_shift", other, self)

    def __rshift__(self, other: Operand) -> Node:
        return _apply("right_shift", self, other)

    def __rrshift__(self, other: Operand) -> Node:
        return _apply("right_shift", other, self)

    def __lt__(self, other: Operand) -> Node:
        return _apply("less", self, other)

    def __le__(self, other: Operand) -> Node:
        return _apply("less_equal", self, other)

    def __gt__(self, other: Operand) -> Node:
        return _apply("greater", self, other)

    def __ge__(self, other: Operand) -> Node:
        return _apply("greater_equal", self, other)

    def __eq__(self, other: object) -> Node:  # type: ignore[override]  # a comparison is a formula, as in NumPy
        return _apply("equal", self, other)

    def __ne__(self, other: object) -> Node:  # type: ignore[override]
        return _apply("not_equal", self, other)

    def astype(self, dtype: Any) -> Node:
        """This value converted to the dtype of a number."""
        node: Node = BUILDERS["cast"](self, number_of(dtype))
        return node


class Node(Arithmetic, Whole):
    """One typed scalar of a formula. `dtype` is a scalar NumPy dtype.

    `weak`: None, or for what comes from plain Python numbers alone a number of their Python type; it takes the dtype of
    what it meets, as such numbers do in NumPy. `varies`: whether it may differ from index to index.

    It has a length and no subscripts (`trace.call` tells of them): NumPy would take it for a list in `np.array([x])`.
    """

    __slots__ = ("dtype", "varies", "weak")
    __hash__ = object.__hash__

    def __init__(self, dtype: DType, weak: Number | None = None, varies: bool = False) -> None:
        self.dtype = dtype
        self.weak = weak
        self.varies = varies

    def __bool__(self) -> bool:
        raise FormulaError(
            "a traced value has no truth value: `if`, `and`, `or`, `not` and chained comparisons cannot be traced; "
            "use cm.where(condition, a, b) and the operators & | ~"
        )

    def __iter__(self) -> Any:
        raise FormulaError("a traced value is one scalar, it cannot be iterated")

    def _no_number(self, *_: Any) -> NoReturn:
        raise FormulaError(
            "a traced value has no number yet: int, float, round, range and @ cannot be traced; "
            "use x.astype(dtype), cm.math.rint, and arithmetic"
        )

    __int__ = __float__ = __complex__ = __index__ = __round__ = __matmul__ = __rmatmul__ = _no_number

    def __format__(self, spec: str) -> str:
        return repr(self) if not spec else self._no_number()

    @property
    def real(self) -> Node:
        return _apply("real", self)

    @property
    def imag(self) -> Node:
        return _apply("imag", self)


class Literal(Node):
    """A constant. Raises DTypeError when the dtype cannot hold it."""

    __slots__ = ("value",)

    def __init__(self, value: Any, dtype: DType) -> None:
        check_constant(value, dtype)
        super().__init__(dtype)
        self.value = value


class Index(Node):
    """The index of the element being computed, an int64 from 0."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(INT64, varies=True)


class Symbol(Node):
    """A named input, or a named component of an accumulator."""

    __slots__ = ("name",)

    def __init__(self, name: str, dtype: DType, weak: Number | None = None, varies: bool = False) -> None:
        super().__init__(dtype, weak, varies)
        self.name = name

    def twin(self) -> Symbol:
        """Another symbol that says the same."""
        return Symbol(self.name, self.dtype, self.weak, self.varies)


class Apply(Node):
    """A function of other nodes; the arguments already have the dtype the function computes in."""

    __slots__ = ("args", "function")

    def __init__(self, function: Function, args: tuple[Node, ...], dtype: DType, weak: Number | None = None) -> None:
        super().__init__(dtype, weak, any(arg.varies for arg in args))
        self.function = function
        self.args = args


@without_arithmetic("combine its fields, such as r['a']", FormulaError)
class Record(dict[str, Node]):
    """A structured value: its fields by subscript, of a field that is an array a `NodeArray` to keep."""

    __slots__ = ()

    def __getitem__(self, name: str) -> Node:
        if not isinstance(name, str):
            raise FormulaError(f"{quoted(name)} is no field; the value has {', '.join(map(repr, self))}")
        part: Any = super().__getitem__(name)
        return cast("Node", part.copy() if isinstance(part, np.ndarray) else part)

    def __missing__(self, name: str) -> Node:
        raise FormulaError(f"no field {name!r}; the value has {', '.join(map(repr, self))}")

    def __or__(self, other: Any) -> NoReturn:
        raise FormulaError("a record has no arithmetic of its own; combine its fields")

    __ror__ = __ior__ = __or__

    def __repr__(self) -> str:
        return f"a record of {', '.join(map(repr, self))}"

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every field, () for a single number."""
        return {name: part.shape if isinstance(part, np.ndarray) else () for name, part in self.items()}


class Extended(Arithmetic, Record):  # type: ignore[misc]  # its operators are not those of a dict
    """A number in several floats, of which it is the sum: a record of them, with arithmetic."""

    __slots__ = ()

    @property
    def dtype(self) -> DType:
        """The structured dtype of its parts."""
        return _packed(self)

    def __bool__(self) -> bool:
        raise FormulaError("a traced value has no truth value; use cm.where(condition, a, b) and the operators & | ~")


Value: TypeAlias = "Node | Record"


def components(value: Value) -> dict[Leaf, Node]:
    """A value's single numbers by name (see Leaf); a plain scalar is one named ""."""
    if not isinstance(value, Record):
        return {"": value}
    parts: dict[Leaf, Node] = {}
    for name, part in value.items():
        if isinstance(part, np.ndarray):
            parts.update({(name, place): part[place] for place in np.ndindex(part.shape)})
        else:
            parts[name] = part
    return parts


def rebuild(parts: Mapping[Leaf, Node]) -> Value:
    """The value whose `components` are these."""
    if set(parts) == {""}:
        return parts[""]
    fields: dict[str, Any] = {}
    for leaf, node in parts.items():
        if isinstance(leaf, tuple):
            fields.setdefault(leaf[0], {})[leaf[1]] = node
        else:
            fields[leaf] = node
    record = Record({name: _array(part) if isinstance(part, dict) else part for name, part in fields.items()})
    numbers = all(isinstance(part, Node) for part in record.values())
    return Extended(record) if numbers and is_extended(_packed(record)) else record


def _packed(record: Record) -> DType:
    return np.dtype([(name, part.dtype) for name, part in record.items()])


def _array(elements: Mapping[tuple[int, ...], Node]) -> Any:
    """The array of nodes with these elements, given in C order; read-only, because others hold it too."""
    shape = tuple(extent + 1 for extent in list(elements)[-1])
    array = np.empty(shape, object).view(NodeArray)
    for place, node in elements.items():
        array[place] = node
    array.flags.writeable = False
    return array


def postorder(roots: Sequence[Node], known: Container[int] = ()) -> Iterator[Node]:
    """Every node of `roots` once, arguments before what uses them; ids in `known` are left out, with what is below.

    A loop, because a formula may be thousands of steps deep.
    """
    visited: set[int] = set()
    todo = [(node, False) for node in reversed(roots)]
    while todo:
        node, ready = todo.pop()
        if ready:
            yield node
        elif id(node) not in visited and id(node) not in known:
            visited.add(id(node))
            todo.append((node, True))
            if isinstance(node, Apply):
                todo += [(arg, False) for arg in reversed(node.args)]


index = Index()
"""The index symbol, `cm.index`."""
