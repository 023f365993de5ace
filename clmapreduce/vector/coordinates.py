"""Coordinates of vectors: picking, spreading, and putting vectors one behind the other.

`Select` picks coordinates by place, Elem, Extract and their transposes are cases of it; `Concat` joins. Places that a
Select leaves empty are structural zeros: they absorb what they are multiplied with.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from clmapreduce.errors import ShapeError
from clmapreduce.formula.node import Literal, Node
from clmapreduce.vector.node import (
    Constant,
    Gradients,
    Operand,
    Operation,
    Params,
    Vector,
    as_vector,
    check_dim,
    integer,
    make,
)
from clmapreduce.vector.operation import SUM_T, ZERO, sum_t, zero
from clmapreduce.vector.registry import named


class _Select(Operation):
    """Coordinates of one vector by their places; -1 gives 0. No place occurs twice."""

    name = "Select"

    def dim(self, args: tuple[Vector, ...], params: Params) -> int:
        return len(params)

    def scalars(self, args: Sequence[Sequence[Node]], params: Params) -> list[Node]:
        return [args[0][k] if k >= 0 else Literal(0, args[0][0].dtype) for k in params if isinstance(k, int)]

    def gradient(self, node: Vector, g: Vector) -> Gradients:
        back = [-1] * node.args[0].dim
        for place, k in enumerate(coordinates_of(node)):
            if k >= 0:
                back[k] = place
        return (selected(g, tuple(back)),)


class _Concat(Operation):
    name = "Concat"

    def dim(self, args: tuple[Vector, ...], params: Params) -> int:
        return sum(arg.dim for arg in args)

    def scalars(self, args: Sequence[Sequence[Node]], params: Params) -> list[Node]:
        return [part for arg in args for part in arg]

    def gradient(self, node: Vector, g: Vector) -> Gradients:
        parts, start = [], 0
        for arg in node.args:
            parts.append(extract(g, start, arg.dim))
            start += arg.dim
        return tuple(parts)


SELECT, CONCAT = _Select(), _Concat()


def coordinates_of(select: Vector) -> tuple[int, ...]:
    """Where a Select takes its coordinates from."""
    return tuple(k for k in select.params if isinstance(k, int))


def selected(x: Vector, places: tuple[int, ...]) -> Vector:
    """The simplest vector of the coordinates at `places`, 0 for -1."""
    while x.operation is SELECT:
        inner = coordinates_of(x)
        places, x = tuple(inner[k] if k >= 0 else -1 for k in places), x.args[0]
    used = [k for k in places if k >= 0]
    if not used or x.operation is ZERO:
        return zero(len(places))
    if places == tuple(range(x.dim)):
        return x
    if len(used) == len(places):
        if x.operation is SUM_T:
            return sum_t(x.args[0], len(places))
        if isinstance(x, Constant):
            return Constant([x.values[k] for k in places])
    if x.operation is CONCAT:
        start = 0
        for arg in x.args:
            if start <= min(used) and max(used) < start + arg.dim:
                return selected(arg, tuple(k - start if k >= 0 else -1 for k in places))
            start += arg.dim
    return make(SELECT, (x,), places)


@named("Select")
def select(x: Operand, *at: int) -> Vector:
    """The coordinates at these places, none twice; -1 stands for 0. Raises ShapeError."""
    x = as_vector(x)
    places = tuple(integer(k, "Select: a place") for k in at)
    used = [k for k in places if k != -1]
    if not places or len(set(used)) != len(used) or any(not 0 <= k < x.dim for k in used):
        raise ShapeError(
            f"Select: places {places} of a vector of dimension {x.dim}; give each of 0 … {x.dim - 1} at most once"
        )
    return selected(x, places)


@named("Elem")
def elem(x: Operand, place: int) -> Vector:
    """One coordinate. Raises ShapeError."""
    x, place = as_vector(x), integer(place, "Elem: the place")
    if not 0 <= place < x.dim:
        raise ShapeError(f"Elem: coordinate {place} of a vector of dimension {x.dim}; give 0 … {x.dim - 1}")
    return selected(x, (place,))


@named("ElemT")
def elem_t(x: Operand, dim: int, place: int) -> Vector:
    """A vector of `dim` zeros but for x, of dimension 1, at `place`. Raises ShapeError."""
    x, dim, place = as_vector(x), integer(dim, "ElemT: the dimension"), integer(place, "ElemT: the place")
    if x.dim != 1 or not 0 <= place < check_dim(dim, "ElemT"):
        raise ShapeError(f"ElemT: a vector of dimension {x.dim} at place {place} of {dim}; give one of 1 within")
    return extract_t(x, place, dim)


@named("Extract")
def extract(x: Operand, start: int, dim: int) -> Vector:
    """The `dim` coordinates from `start` on. Raises ShapeError."""
    x, start, dim = as_vector(x), integer(start, "Extract: the start"), integer(dim, "Extract: the dimension")
    if start < 0 or dim < 1 or start + dim > x.dim:
        raise ShapeError(f"Extract: coordinates {start} … {start + dim - 1} of a vector of dimension {x.dim}")
    return selected(x, tuple(range(start, start + dim)))


@named("ExtractT")
def extract_t(x: Operand, start: int, dim: int) -> Vector:
    """A vector of `dim` zeros but for x from `start` on. Raises ShapeError."""
    x, start, dim = as_vector(x), integer(start, "ExtractT: the start"), integer(dim, "ExtractT: the dimension")
    if start < 0 or start + x.dim > check_dim(dim, "ExtractT"):
        raise ShapeError(f"ExtractT: {x.dim} coordinates from {start} on do not fit into {dim}")
    return selected(x, (-1,) * start + tuple(range(x.dim)) + (-1,) * (dim - start - x.dim))


@named("Concat")
def concat(*parts: Operand) -> Vector:
    """The vectors one behind the other."""
    if not parts:
        raise ShapeError("Concat: give at least one vector")
    vectors: list[Vector] = []
    for part in map(as_vector, parts):
        vectors += part.args if part.operation is CONCAT else (part,)
    if all(vector.operation is ZERO for vector in vectors):
        return zero(sum(vector.dim for vector in vectors))
    return vectors[0] if len(vectors) == 1 else make(CONCAT, tuple(vectors))


def spread_join(a: Vector, b: Vector) -> Vector | None:
    """a + b for Selects that fill different places, else None."""
    if a.operation is not SELECT or b.operation is not SELECT or a.dim != b.dim:
        return None
    of_a, of_b = coordinates_of(a), coordinates_of(b)
    if any(k >= 0 and m >= 0 for k, m in zip(of_a, of_b, strict=True)):
        return None
    width = a.args[0].dim
    joined = tuple(k if m < 0 else m + width for k, m in zip(of_a, of_b, strict=True))
    return selected(concat(a.args[0], b.args[0]), joined)


def filled(spread: Vector) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of a Select: the places that it fills, and for each place which of those it is (-1: none)."""
    where = tuple(place for place, k in enumerate(spread.params) if k != -1)
    ranks = {place: rank for rank, place in enumerate(where)}
    return where, tuple(ranks.get(place, -1) for place in range(spread.dim))


def split_at_long(x: Vector, beyond: int) -> tuple[Vector, ...]:
    """The parts of a concatenation that has some longer than `beyond`: each of these alone, with what lies between two
    of them in one; x itself where there are none.
    """
    if x.operation is not CONCAT or all(arg.dim <= beyond for arg in x.args):
        return (x,)
    pieces: list[Vector] = []
    for is_long, args in groupby(x.args, lambda arg: arg.dim > beyond):
        some = list(args)
        pieces += some if is_long else [concat(*some)]
    return tuple(pieces)
