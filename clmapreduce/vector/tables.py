"""Lookups: numbers of a parameter at places that a formula computes, and the mark of places that are to be checked."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache

from clmapreduce.dtypes import INT32, DType
from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Apply, Literal, Node
from clmapreduce.formula.tables.symbol import LOOKUP, TableSymbol
from clmapreduce.vector.elementwise import clamp, equal, floor, if_else
from clmapreduce.vector.node import (
    Category,
    Constant,
    Gradients,
    Operand,
    Operation,
    Params,
    Variable,
    Vector,
    as_vector,
    integer,
    make,
    postorder,
)
from clmapreduce.vector.registry import OPERATIONS, named


class Lookup(Operation):
    """`dim` numbers of a table from the nearest place on, of which there are so many."""

    name = "Take"

    def dim(self, args: tuple[Vector, ...], params: Params) -> int:
        dim, _ = params
        assert isinstance(dim, int)
        return dim

    def scalars(self, args: Sequence[Sequence[Node]], params: Params) -> list[Node]:
        """From all numbers of the table, one by one: for hosts, and for tables that are computed."""
        table, (place,) = args
        dim = self.dim((), params)
        at = nearest(place, len(table) // dim)
        numbers = list(table[:dim])
        for k in range(dim, len(table)):
            numbers[k % dim] = apply("where", apply("equal", at, k // dim), table[k], numbers[k % dim])
        return numbers

    def lookups(self, table: TableSymbol, count: int, place: Node, params: Params) -> list[Node]:
        """From a table of `count` numbers in memory."""
        dim, is_whole = self.dim((), params), params[1]
        at = _as_integer(place if is_whole else nearest(place, count // dim))
        first = at if dim == 1 else apply("multiply", at, Literal(dim, INT32))
        each = (apply("add", first, Literal(d, INT32)) if d else first for d in range(dim))
        return [Apply(LOOKUP, (table, at), table.dtype) for at in each]

    def gradient(self, node: Vector, g: Vector) -> Gradients:
        table, place = node.args
        count = table.dim // node.dim
        read = equal(inside(place, count), Constant(range(count)))
        return (g * read if node.dim == 1 else OPERATIONS["TensorProd"](read, g)), None


class _Checked(Operation):
    """Its first argument. The others are places, one an axis of a table: of as many elements as the parameters say."""

    name = "Checked"

    def dim(self, args: tuple[Vector, ...], params: Params) -> int:
        return args[0].dim

    def scalars(self, args: Sequence[Sequence[Node]], params: Params) -> list[Node]:
        return list(args[0])

    def gradient(self, node: Vector, g: Vector) -> Gradients:
        return (g, *[None] * (len(node.args) - 1))


TAKE, CHECKED = Lookup(), _Checked()


def _as_integer(place: Node) -> Node:
    """A sum of whole numbers as int32, each summand by itself: what one side alone gives is converted there."""
    if isinstance(place, Apply) and place.function.name in ("add", "multiply"):
        return apply(place.function.name, *map(_as_integer, place.args))
    if isinstance(place, Literal):
        return Literal(int(place.value), INT32)
    return cast(place, INT32)


def nearest(place: Node, count: int) -> Node:
    """The whole number nearest to a place, of 0 … count − 1; 0 for NaN."""
    dtype: DType = place.dtype
    above = apply("where", place > 0, place, Literal(0, dtype))
    inside = apply("where", above < count - 1, above, Literal(count - 1, dtype))
    return apply("floor", inside + 0.5)


@named("Take")
def take(table: Operand, place: Operand, dim: int = 1, is_whole: int = 0) -> Vector:
    """The `dim` numbers of a parameter from place · dim on; the place, of dimension 1, is rounded, and moved to the
    nearest one that there is. is_whole=1: it is one of these already, made of whole numbers by sums and products.
    Raises FormulaError, ShapeError.
    """
    dim, place = integer(dim, "Take: the dimension"), as_vector(place)
    is_whole = integer(is_whole, "Take: whether the place is whole")
    if not isinstance(table, Variable) or table.category is not Category.PARAMETER:
        raise FormulaError(f"Take reads a parameter, such as Pm(0, 12), not {table!r}")
    if place.dim != 1 or dim < 1 or table.dim % dim:
        raise ShapeError(
            f"Take: {dim} of {table.dim} numbers at a place of dimension {place.dim}; give one place, and a dimension "
            "that divides the parameter's"
        )
    return make(TAKE, (table, place), (dim, is_whole))


@named("Checked")
def checked(value: Operand, *places_and_sizes: Operand) -> Vector:
    """The value; before a reduction, every place is checked against the size of its axis. Raises FormulaError."""
    count = len(places_and_sizes) // 2
    places = tuple(as_vector(place) for place in places_and_sizes[:count])
    sizes = tuple(integer(size, "Checked: a size") for size in places_and_sizes[count:])
    if not count or len(sizes) != count or any(place.dim != 1 for place in places):
        raise FormulaError("Checked takes a value, some places of dimension 1, and the size of every place's axis")
    return make(CHECKED, (as_vector(value), *places), sizes)


def inside(place: Operand, count: int) -> Vector:
    """The whole number of 0 … count − 1 that is nearest to a place; 0 for NaN."""
    return floor(if_else(place, clamp(place, 0, count - 1), 0) + 0.5)


def tables_of(formulas: Iterable[Vector]) -> tuple[set[Vector], set[Vector]]:
    """The variables that are read as tables, and those that formulas use in any other way."""
    tables: set[Vector] = set()
    others: set[Vector] = set()
    for part in postorder(list(formulas)):
        others.update(part.args[1:] if part.operation is TAKE else part.args)
        if part.operation is TAKE:
            tables.add(part.args[0])
    return tables, {part for part in (*others, *formulas) if isinstance(part, Variable)}


@lru_cache(maxsize=256)
def questions(formulas: tuple[Vector | None, ...]) -> tuple[Vector, ...]:
    """For every place that is to be checked, a formula of dimension 1: 0 inside of the axis, 1 outside."""
    outside: dict[Hashable, Vector] = {}
    for part in postorder([formula for formula in formulas if formula is not None]):
        if part.operation is CHECKED:
            for place, size in zip(part.args[1:], part.params, strict=True):
                assert isinstance(size, int)
                within = OPERATIONS["LessOrEqual"](-0.5, place) * OPERATIONS["LessThan"](place, size - 0.5)
                outside[place, size] = 1 - within
    return tuple(outside.values())
