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
from typing import TYPE_CHECKING, Any, TypeAlias

from clmapreduce.errors import FormulaError, ShapeError

if TYPE_CHECKING:
    from clmapreduce.vector.operation import Operation

Operand: TypeAlias = "Vector | int | float"
Params: TypeAlias = "tuple[Hashable, ...]"
MAX_DIM = 1 << 18
"""Coordinates of a vector at most: a formula's steps are written out per coordinate."""


class Category(enum.IntEnum):
    """Which index a variable follows: the rows', the columns', or none."""

    I = 0  # noqa: E741  # the letter that formulas use
    J = 1
    PARAMETER = 2


_INTERNED: weakref.WeakValueDictionary[Hashable, Vector] = weakref.WeakValueDictionary()
_LOCK = threading.RLock()  # a garbage collection inside may intern as well


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

    def __repr__(self) -> str:
        from clmapreduce.vector.text import text

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


class Variable(Vector):
    """The `position`-th argument of a formula, `dim` numbers per index. Gradient inputs have negative positions."""

    __slots__ = ("category", "position")
    position: int
    category: Category

    def __new__(cls, position: int, dim: int, category: Category | int) -> Variable:
        from clmapreduce.vector.operation import VARIABLE

        position, dim = integer(position, "a variable's position"), integer(dim, "a variable's dimension")
        check_dim(dim, f"variable {position}")
        try:
            category = Category(category)
        except ValueError:
            raise FormulaError(f"variable {position} has category {category!r}; use 0 (i), 1 (j) or 2") from None

        def create() -> Variable:
            made = object.__new__(cls)
            made.operation, made.args, made.params, made.dim = VARIABLE, (), (position, dim, category), dim
            made.position, made.category = position, category
            return made

        made = _interned((VARIABLE, position, dim, category), create)
        assert isinstance(made, Variable)
        return made

    @property
    def variables(self) -> tuple[Variable, ...]:
        return (self,)


class Constant(Vector):
    """Fixed numbers, one per coordinate; kernels may take them as arguments."""

    __slots__ = ("values",)
    values: tuple[float, ...]

    def __new__(cls, values: Sequence[float]) -> Constant:
        from clmapreduce.vector.operation import CONSTANT

        values = tuple(map(float, values))
        if not values:
            raise ShapeError("a constant needs at least one number")

        def create() -> Constant:
            made = object.__new__(cls)
            made.operation, made.args, made.params, made.dim, made._variables = CONSTANT, (), values, len(values), ()
            made.values = values
            return made

        # the bits, because 0.0 equals -0.0 and a NaN does not equal itself
        made = _interned((CONSTANT, struct.pack(f"{len(values)}d", *values)), create)
        assert isinstance(made, Constant)
        return made


def make(operation: Operation, args: tuple[Vector, ...], params: Params = ()) -> Vector:
    """The one vector `operation(*args; params)`. Raises what `operation.dim` raises."""
    key = (operation, args, params)
    found = _INTERNED.get(key)
    if found is not None:
        return found
    dim = check_dim(operation.dim(args, params), operation.name)

    def create() -> Vector:
        made = object.__new__(Vector)
        made.operation, made.args, made.params, made.dim = operation, args, params, dim
        made._variables = _union(args)
        return made

    return _interned(key, create)


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
    seen: set[Vector] = set()
    todo = [(vector, False) for vector in reversed(roots)]
    while todo:
        vector, ready = todo.pop()
        if ready:
            yield vector
        elif vector not in seen and vector not in known:
            seen.add(vector)
            todo.append((vector, True))
            todo += [(arg, False) for arg in reversed(vector.args)]


def _interned(key: Hashable, create: Callable[[], Vector]) -> Vector:
    found = _INTERNED.get(key)
    if found is None:
        with _LOCK:
            found = _INTERNED.get(key)
            if found is None:
                found = _INTERNED[key] = create()
    return found


def _union(args: tuple[Vector, ...]) -> tuple[Variable, ...]:
    """All the arguments' variables, sharing a tuple that already holds them."""
    found: tuple[Variable, ...] = ()
    for arg in args:
        variables = arg.variables
        if variables is not found and variables:
            found = variables if not found else _joined(found, variables)
    return found


def _joined(first: tuple[Variable, ...], second: tuple[Variable, ...]) -> tuple[Variable, ...]:
    new = tuple(variable for variable in second if variable not in first)
    return first + new if new else first


def _build(name: str, *operands: Operand) -> Vector:
    from clmapreduce.vector.operation import OPERATIONS

    made: Vector = OPERATIONS[name](*operands)
    return made
