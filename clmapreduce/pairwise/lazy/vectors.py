"""Operations of LazyTensors on their vectors: norms, coordinates, concatenation, small matrices and tensors."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from clmapreduce.checks import is_whole, quoted
from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.pairwise.lazy.functions import Functions

V = TypeVar("V", bound="Vectors[Any]")


class Vectors(Functions[V]):
    """Operations that see whole vectors. Matrices and tensors are vectors, row by row. Raises ShapeError for dimensions
    that do not fit.
    """

    __slots__ = ()

    # ----------------------------------------------------------------------------------------------------------- norms
    def sqnorm2(self) -> V:
        """|x|²."""
        return self._real_unary("SqNorm2")

    def norm2(self) -> V:
        """|x|, of derivative 0 at 0."""
        return self._real_unary("Norm2")

    def norm(self, dim: int) -> V:
        """|x|; dim: the last axis, by its number or -1."""
        self._check_last(dim, "norm")
        return self.norm2()

    def normalize(self) -> V:
        """x / |x|, and 0 at 0."""
        return self._real_unary("Normalize")

    def sqdist(self, other: Any) -> V:
        """|x - other|²."""
        return self._real_binary("SqDist", other)

    def weightedsqnorm(self, other: Any) -> V:
        """The squared norm with weights: one number, one per coordinate, or a symmetric matrix of D · D."""
        return self._real_operation("WeightedSqNorm", [other, self])

    def weightedsqdist(self, g: Any, s: Any) -> V:
        """(x - g).weightedsqnorm(s)."""
        difference: Vectors[V] = self - self._lift(g)
        return difference.weightedsqnorm(s)

    def difference_matrix(self, other: Any) -> V:
        """All differences of coordinates, x's by rows."""
        return self._real_binary("DifferenceMatrix", other)

    def softdtw_sqdist(self, other: Any, gamma: Any) -> V:
        """The soft-DTW distance of two sequences by squared distances, smoothed by gamma > 0."""
        return self._real_operation("SoftDTW_SqDist", [self, other, gamma])

    # ----------------------------------------------------------------------------------------------------- coordinates
    def elem(self, i: int) -> V:
        """Coordinate i."""
        return self._unary("Elem", i)

    def extract(self, i: int, d: int) -> V:
        """The d coordinates from i on."""
        return self._unary("Extract", i, d)

    def one_hot(self, D: int) -> V:
        """The vector of dimension D with 1 at the place nearest to x, a scalar; all 0 for a place outside."""
        return self._real_unary("OneHot", D)

    def concat(self, other: Any) -> V:
        """x's coordinates, then other's."""
        return self._real_binary("Concat", other)

    @classmethod
    def concatenate(cls, tuple_of_lt: Sequence[V], axis: int = -1) -> V:
        """Several vectors one behind the other; axis: the last one."""
        if not isinstance(tuple_of_lt, (tuple, list)) or not tuple_of_lt:
            raise ShapeError(f"concatenate takes a tuple of LazyTensors, not {tuple_of_lt!r}")
        first: V = cls._lift(tuple_of_lt[0])
        first._check_last(axis, "concatenate")
        for other in tuple_of_lt[1:]:
            first = first.concat(other)
        return first

    @staticmethod
    def cat(tuple_of_lt: Sequence[V], dim: int = -1) -> V:
        """As `concatenate`."""
        return Vectors.concatenate(tuple_of_lt, dim)

    def bspline(self, x: Any, k: int = 0) -> V:
        """The B-spline functions of order k at x, a scalar, for the knots in self: D - k - 1 of them."""
        return self._real_operation("BSpline", [self, x], k)

    # ------------------------------------------------------------------------------------------------- small matrices
    def matvecmult(self, other: Any) -> V:
        """The A × B matrix in self times a vector of B."""
        return self._real_binary("MatVecMult", other)

    def vecmatmult(self, other: Any) -> V:
        """A vector of A times the A × B matrix in other."""
        return self._real_binary("VecMatMult", other)

    def tensorprod(self, other: Any) -> V:
        """All products of coordinates, an A × B matrix."""
        return self._real_binary("TensorProd", other)

    def keops_tensordot(self, other: Any, dimfa: Any, dimfb: Any, contfa: Any, contfb: Any, *args: Any) -> V:
        """The tensors of shapes dimfa and dimfb contracted along their axes contfa and contfb. args: a permutation that
        says where each axis of the result goes.
        """
        params = [_integers(values) for values in (dimfa, dimfb, contfa, contfb, *args)]
        return self._real_operation("TensorDot", [self, other], *params)

    def keops_kron(self, other: Any, dimfself: Any, dimfother: Any) -> V:
        """The Kronecker product of tensors of shapes dimfself and dimfother, of as many axes each."""
        return self._real_operation("Kron", [self, other], _integers(dimfself), _integers(dimfother))

    def _check_last(self, axis: int, what: str) -> None:
        if not is_whole(axis) or axis not in (-1, self.dim() - 1):
            raise ShapeError(f"{what} works along the last axis, -1 or {self.dim() - 1}; not along {quoted(axis)}")


def _integers(values: Any) -> tuple[int, ...]:
    """A shape or list of axes as a tuple."""
    try:
        return (values,) if isinstance(values, int) else tuple(operator.index(v) for v in values)
    except (TypeError, np.ma.MaskError):
        raise FormulaError(f"{quoted(values)} is no list of integers") from None
