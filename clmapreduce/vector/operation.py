"""Parts of all operations: the structural zero, repetition, and functions of single coordinates.

To add an operation, make an `Elementwise` (one scalar function and its partial derivatives) or a subclass of
`Operation`, and give its builder a name in `OPERATIONS`. What can be said with others is a builder alone: its lowering
and its derivative come with its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from clmapreduce.errors import ShapeError
from clmapreduce.formula.node import Node
from clmapreduce.vector.node import Constant, Gradients, Leaf, Operation, Params, Vector, as_vector, integer, make
from clmapreduce.vector.registry import OPERATIONS, named

ZERO = Leaf("Zero")
ONE = Constant((1.0,))
MINUS_ONE = Constant((-1.0,))


@named("Zero")
def zero(dim: int = 1) -> Vector:
    """The structural zero: whatever it is multiplied with gives zero, infinities and NaN as well."""
    return make(ZERO, (), (integer(dim, "Zero: the dimension"),))


def common_dim(name: str, args: Sequence[Vector]) -> int:
    """The dimension of arguments that broadcast: all equal, or 1. Raises ShapeError."""
    dim = 1
    for arg in args:
        if arg.dim != dim and arg.dim != 1:
            if dim != 1:
                dims = ", ".join(str(a.dim) for a in args)
                raise ShapeError(f"{name}: dimensions {dims} do not fit; they must be equal, or 1")
            dim = arg.dim
    return dim


class _SumT(Operation):
    name = "SumT"

    def dim(self, args: tuple[Vector, ...], params: Params) -> int:
        (dim,) = params
        assert isinstance(dim, int)
        return dim

    def scalars(self, args: Sequence[Sequence[Node]], params: Params) -> list[Node]:
        return [args[0][0]] * self.dim((), params)

    def gradient(self, node: Vector, g: Vector) -> Gradients:
        return (OPERATIONS["Sum"](g),)


SUM_T = _SumT()


@named("SumT")
def sum_t(x: Vector | float, dim: int) -> Vector:
    """A vector of dimension 1 repeated `dim` times, the transpose of Sum. Raises ShapeError."""
    x, dim = as_vector(x), integer(dim, "SumT: the dimension")
    if x.dim == dim:
        return x
    if x.dim != 1 or dim < 1:
        raise ShapeError(f"SumT: a vector of dimension {x.dim} cannot be repeated to {dim}; it must have dimension 1")
    return zero(dim) if x.operation is ZERO else make(SUM_T, (x,), (dim,))


class Elementwise(Operation):
    """A function of one coordinate of every argument; arguments of dimension 1 broadcast.

    `scalar(*nodes, *params)` gives one coordinate; `partials(node, *args)` the derivative by each argument (None: zero)
    as vectors; `fold(*numbers, *params)`, where given, computes it for constants.
    """

    elementwise: ClassVar[bool] = True

    def __init__(
        self,
        name: str,
        scalar: Callable[..., Node],
        partials: Callable[..., Gradients],
        fold: Callable[..., float] | None = None,
    ) -> None:
        self.name, self.scalar, self.partials, self.fold = name, scalar, partials, fold

    def __call__(self, args: tuple[Vector, ...], params: Params = ()) -> Vector:
        """The simplest vector that is this function: constants folded, repetition (SumT) moved outside."""
        if self.fold is not None and all(type(arg) is Constant for arg in args):
            folded = self._folded(args, params)
            if folded is not None:
                return folded
        for arg in args:
            if arg.operation is SUM_T:
                return self._unrepeated(args, params)
        return make(self, args, params)

    def dim(self, args: tuple[Vector, ...], params: Params) -> int:
        return common_dim(self.name, args)

    def scalars(self, args: Sequence[Sequence[Node]], params: Params) -> list[Node]:
        dim = max(map(len, args))
        columns = [arg if len(arg) == dim else list(arg) * dim for arg in args]
        return [self.scalar(*nodes, *params) for nodes in zip(*columns, strict=True)]

    def gradient(self, node: Vector, g: Vector) -> Gradients:
        partials = self.partials(node, *node.args)
        return tuple(
            None if partial is None else _collected(g, partial, arg.dim, node.dim)
            for partial, arg in zip(partials, node.args, strict=True)
        )

    def _folded(self, args: tuple[Vector, ...], params: Params) -> Vector | None:
        assert self.fold is not None
        dim = common_dim(self.name, args)
        columns = [arg.params if arg.dim == dim else arg.params * dim for arg in args]
        try:
            return Constant([self.fold(*numbers, *params) for numbers in zip(*columns, strict=True)])
        except (ArithmeticError, ValueError):  # what only a device says: infinities and NaN
            return None

    def _unrepeated(self, args: tuple[Vector, ...], params: Params) -> Vector:
        dim = common_dim(self.name, args)
        simpler = tuple(arg.args[0] if arg.operation is SUM_T else arg for arg in args)
        return sum_t(OPERATIONS[self.name](*simpler, *params), dim)  # the builder: what is bare may be simpler


def _collected(g: Vector, partial: Vector, arg_dim: int, dim: int) -> Vector:
    """g · partial, summed where the argument was broadcast."""
    multiply = OPERATIONS["Mult"]
    if partial.operation.name == "Mult" and type(partial.args[0]) is Constant:  # a constant times g, where g is shorter
        g, partial = multiply(partial.args[0], g), partial.args[1]
    term = multiply(g, partial)
    if arg_dim == dim:
        return sum_t(term, dim)
    return OPERATIONS["Sum"](sum_t(term, dim))  # type: ignore[no-any-return]
