"""Vectors: what is computed for one pair (i, j), as an immutable graph of vector-valued operations.

A vector is interned: two equal formulas are the same object, so that `is` tells formulas apart, what is common is
shared by construction and caches key on the object. Vectors have no dtype; it arrives with the arrays.
"""

from __future__ import annotations

import enum
import numbers
import operator
import struct
import threading
import weakref
from collections.abc import Callable, Container, Hashable, Iterator, Sequence
from typing import Any, ClassVar, TypeAlias

from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.formula.node import Node
from clmapreduce.vector.registry import OPERATIONS, named

Operand: TypeAlias = "Vector | int | float"
Params: TypeAlias = "tuple[Hashable, ...]"
Gradients: TypeAlias = "tuple[Vector | None, ...]"
MAX_DIM = 1 << 18
"""Coordinates of a vector at most: a formula's steps are written out per coordinate."""


class Category(enum.IntEnum):
    """Which index a variable follows: the rows', the columns', or none."""

    I = 0  # noqa: E741  # the letter that formulas use
    J = 1
    PARAMETER = 2


_INTERNED: weakref.WeakValueDictionary[Hashable, Vector] = weakref.WeakValueDictionary()
_KINDS: list[Operation] = []
"""Every operation; all are made when their files are imported."""
_LOCK = threading.RLock()  # a garbage collection inside may intern as well


class Operation:
    """One kind of step, one object a name. Subclasses say its dimension, its lowering and its derivative."""

    elementwise: ClassVar[bool] = False
    name: str

    def __new__(cls, *args: Any) -> Operation:
        operation = object.__new__(cls)
        _KINDS.append(operation)
        return operation

    def __reduce__(self) -> Any:
        return _operation, (self.name,)

    def dim(self, args: tuple[Vector, ...], params: Params) -> int:
        """The result's dimension. Raises ShapeError naming the dimensions that do not fit."""
        raise NotImplementedError

    def scalars(self, args: Sequence[Sequence[Node]], params: Params) -> list[Node]:
        """The result's coordinates, one node each, from those of the arguments."""
        raise NotImplementedError

    def gradient(self, node: Vector, g: Vector) -> Gradients:
        """What `g`, of the node's dimension, gives back to each argument: a vector of its dimension, None for zero.

        Raises FormulaError for what has no derivative.
        """
        raise FormulaError(f"{self.name} cannot be differentiated")

    def __repr__(self) -> str:
        return self.name


class Leaf(Operation):
    """A variable, constant or zero: whoever lowers a formula brings its nodes."""

    def __init__(self, name: str) -> None:
        self.name = name

    def dim(self, args: tuple[Vector, ...], params: Params) -> int:
        (dim,) = params
        assert isinstance(dim, int)
        return dim

    def scalars(self, args: Sequence[Sequence[Node]], params: Params) -> list[Node]:
        raise FormulaError(f"{self.name} is a leaf; its nodes are given by the lowering")

    def gradient(self, node: Vector, g: Vector) -> Gradients:
        return ()


VARIABLE, CONSTANT = Leaf("Var"), Leaf("Constant")


class Vector:
    """One step of a formula: `operation` of `args` with `params`, `dim` numbers long. Made by `make`, never changed."""

    __array_ufunc__ = None  # numpy_scalar + vector must reach __radd__
    __slots__ = ("__weakref__", "_variables", "args", "dim", "operation", "params")
    operation: Operation
    args: tuple[Vector, ...]
    params: Params
    dim: int
    _variables: tuple[Variable, ...]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables it depends on, each once, in the order in which they appear."""
        return self._variables

    def __copy__(self) -> Vector:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Vector:
        return self

    def __reduce__(self) -> Any:
        """As a list of steps, because a formula may be thousands of steps deep."""
        places = {vector: place for place, vector in enumerate(postorder([self]))}
        steps = [(v.operation, tuple(places[arg] for arg in v.args), v.params) for v in places]
        return _from_steps, (steps,)

    def __repr__(self) -> str:
        return text(self, 400)

    def sum(self) -> Vector:
        """The sum of the coordinates."""
        return _build("Sum", self)

    def __add__(self, other: Operand) -> Vector:
        return _build("Add", self, other)

    def __radd__(self, other: Operand) -> Vector:
        return _build("Add", other, self)

    def __sub__(self, other: Operand) -> Vector:
        return _build("Subtract", self, other)

    def __rsub__(self, other: Operand) -> Vector:
        return _build("Subtract", other, self)

    def __mul__(self, other: Operand) -> Vector:
        return _build("Mult", self, other)

    def __rmul__(self, other: Operand) -> Vector:
        return _build("Mult", other, self)

    def __truediv__(self, other: Operand) -> Vector:
        return _build("Divide", self, other)

    def __rtruediv__(self, other: Operand) -> Vector:
        return _build("Divide", other, self)

    def __pow__(self, other: Operand) -> Vector:
        return _build("Power", self, other)

    def __rpow__(self, other: Operand) -> Vector:
        return _build("Power", other, self)

    def __or__(self, other: Operand) -> Vector:
        return _build("Scalprod", self, other)

    def __ror__(self, other: Operand) -> Vector:
        return _build("Scalprod", other, self)

    def __neg__(self) -> Vector:
        return _build("Minus", self)

    def __pos__(self) -> Vector:
        return self

    def __abs__(self) -> Vector:
        return _build("Abs", self)

    def __lt__(self, other: Operand) -> Vector:
        return _build("LessThan", self, other)

    def __le__(self, other: Operand) -> Vector:
        return _build("LessOrEqual", self, other)

    def __gt__(self, other: Operand) -> Vector:
        return _build("LessThan", other, self)

    def __ge__(self, other: Operand) -> Vector:
        return _build("LessOrEqual", other, self)

    def __bool__(self) -> bool:
        raise FormulaError("a formula has no truth value; use IfElse(condition, a, b) and identity (`is`)")

    def __iter__(self) -> Any:
        raise FormulaError("a formula cannot be iterated; take coordinates with Elem or Extract")


@named("Var")
class Variable(Vector):
    """The `position`-th argument of a formula, `dim` numbers per index. Gradient inputs have negative positions."""

    __slots__ = ("category", "position")
    position: int
    category: Category

    def __new__(cls, position: int, dim: int, category: Category | int) -> Variable:
        position, dim = integer(position, "a variable's position"), integer(dim, "a variable's dimension")
        check_dim(dim, f"variable {position}")
        try:
            category = Category(category)
        except ValueError:
            raise FormulaError(f"variable {position} has category {category!r}; use 0 (i), 1 (j) or 2") from None

        def create() -> Variable:
            node = object.__new__(cls)
            node.operation, node.args, node.params, node.dim = VARIABLE, (), (position, dim, category), dim
            node.position, node.category = position, category
            return node

        node = _interned((VARIABLE, position, dim, category), create)
        assert isinstance(node, Variable)
        return node

    @property
    def variables(self) -> tuple[Variable, ...]:
        return (self,)


class Constant(Vector):
    """Fixed numbers, one per coordinate; kernels may take them as arguments."""

    __slots__ = ("values",)
    values: tuple[float, ...]

    def __new__(cls, values: Sequence[float]) -> Constant:
        values = tuple(map(float, values))
        if not values:
            raise ShapeError("a constant needs at least one number")

        def create() -> Constant:
            node = object.__new__(cls)
            node.operation, node.args, node.params, node.dim, node._variables = CONSTANT, (), values, len(values), ()
            node.values = values
            return node

        # the bits, because 0.0 equals -0.0 and a NaN does not equal itself
        node = _interned((CONSTANT, struct.pack(f"{len(values)}d", *values)), create)
        assert isinstance(node, Constant)
        return node


def make(operation: Operation, args: tuple[Vector, ...], params: Params = ()) -> Vector:
    """The one vector `operation(*args; params)`. Raises what `operation.dim` raises."""
    key = (operation, args, params)
    node = _INTERNED.get(key)
    if node is not None:
        return node
    dim = check_dim(operation.dim(args, params), operation.name)

    def create() -> Vector:
        node = object.__new__(Vector)
        node.operation, node.args, node.params, node.dim = operation, args, params, dim
        node._variables = _union(args)
        return node

    return _interned(key, create)


def _operation(name: str) -> Operation:
    """The operation of a name."""
    return next(operation for operation in _KINDS if operation.name == name)


def _from_steps(steps: Sequence[tuple[Operation, tuple[int, ...], Any]]) -> Vector:
    """The vector of the last of some steps: operation, places of its arguments among the steps, parameters."""
    vectors: list[Vector] = []
    for operation, places, params in steps:
        if operation is VARIABLE:
            vectors.append(Variable(*params))
        elif operation is CONSTANT:
            vectors.append(Constant(params))
        else:
            vectors.append(make(operation, tuple(vectors[place] for place in places), params))
    return vectors[-1]


def as_vector(operand: Operand) -> Vector:
    """The operand as a vector; a number is a constant of dimension 1. Raises FormulaError."""
    if isinstance(operand, Vector):
        return operand
    if isinstance(operand, bool) or not isinstance(operand, numbers.Real):
        raise FormulaError(f"{operand!r} is neither a formula nor a real number")
    try:
        return Constant((float(operand),))
    except OverflowError:
        raise FormulaError("a whole number of more than 1024 bits is no floating-point number") from None


def integer(value: Any, what: str) -> int:
    """The value as a plain int. Raises FormulaError naming `what`."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return int(operator.index(value))
    except TypeError:
        raise FormulaError(f"{what} must be an integer, not {value!r}") from None


def check_dim(dim: int, what: str) -> int:
    """The dimension, before anything as long as it is made. Raises ShapeError for more than MAX_DIM, or less than 1."""
    if not 1 <= dim <= MAX_DIM:
        raise ShapeError(f"{what} has dimension {dim}; a vector has 1 to {MAX_DIM} coordinates")
    return dim


def postorder(roots: Sequence[Vector], known: Container[Vector] = ()) -> Iterator[Vector]:
    """Every vector of `roots` once, arguments before what uses them; `known` ones are left out, with what is below.

    A loop, because a formula may be thousands of steps deep.
    """
    visited: set[Vector] = set()
    todo = [(vector, False) for vector in reversed(roots)]
    while todo:
        vector, ready = todo.pop()
        if ready:
            yield vector
        elif vector not in visited and vector not in known:
            visited.add(vector)
            todo.append((vector, True))
            todo += [(arg, False) for arg in reversed(vector.args)]


def text(vector: Vector, limit: int | None = None) -> str:
    """The formula string; parts longer than `limit` characters are cut to …"""
    lines: dict[Vector, str] = {}
    for part in postorder([vector]):
        line = _line_of(part, lines)
        lines[part] = line if limit is None or len(line) <= limit else line[: limit - 1] + "…"
    return lines[vector]


def _line_of(part: Vector, lines: dict[Vector, str]) -> str:
    if isinstance(part, Constant):
        return f"Cst({', '.join(map(repr, part.values))})"
    if isinstance(part, Variable):
        return f"Var({part.position},{part.dim},{int(part.category)})"
    return f"{part.operation.name}({', '.join([*(lines[arg] for arg in part.args), *map(_number, part.params)])})"


def _number(param: object) -> str:
    return f"Ind({', '.join(map(str, param))})" if isinstance(param, tuple) else str(param)


def _interned(key: Hashable, create: Callable[[], Vector]) -> Vector:
    node = _INTERNED.get(key)
    if node is None:
        with _LOCK:
            node = _INTERNED.get(key)
            if node is None:
                node = _INTERNED[key] = create()
    return node


def _union(args: tuple[Vector, ...]) -> tuple[Variable, ...]:
    """All the arguments' variables, sharing a tuple that already holds them."""
    union: tuple[Variable, ...] = ()
    for arg in args:
        variables = arg.variables
        if variables is not union and variables:
            union = variables if not union else _joined(union, variables)
    return union


def _joined(first: tuple[Variable, ...], second: tuple[Variable, ...]) -> tuple[Variable, ...]:
    new = tuple(variable for variable in second if variable not in first)
    return first + new if new else first


def _build(name: str, *operands: Operand) -> Vector:
    vector: Vector = OPERATIONS[name](*operands)
    return vector
