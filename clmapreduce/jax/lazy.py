"""LazyTensors of JAX arrays: NumPy's class, with another kind of array and of reduction."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from clmapreduce import pairwise
from clmapreduce.jax.arrays import array_of
from clmapreduce.jax.reduction import JaxReduced
from clmapreduce.jax.solve import JaxSolver
from clmapreduce.pairwise.reduction import Reduced


class LazyTensor(pairwise.LazyTensor):
    """As `cm.LazyTensor`, for JAX arrays: reductions give arrays of their dtype, with gradients."""

    __slots__ = ()
    kinds: ClassVar[dict[bool, type[Any]]] = {}
    reducing: ClassVar[type[Reduced]] = JaxReduced
    solving: ClassVar[type[pairwise.Solver]] = JaxSolver
    array_of = staticmethod(array_of)

    def to_numpy(self, **kwargs: Any) -> Any:
        """All numbers, as a NumPy array of `shape`."""
        return np.asarray(self.dense(**kwargs))


class ComplexLazyTensor(LazyTensor, pairwise.ComplexLazyTensor):
    """As `cm.ComplexLazyTensor`, for JAX arrays."""

    __slots__ = ()
    is_complex = True


LazyTensor.kinds |= {False: LazyTensor, True: ComplexLazyTensor}


def Var(x_or_ind: Any, dim: int | None = None, cat: int | None = None) -> LazyTensor:
    """A variable of category cat (0: i, 1: j, 2: a parameter) for an array, or the placeholder (index, dim, cat)."""
    return LazyTensor(x_or_ind, cat) if dim is None else LazyTensor((x_or_ind, dim, cat))


def Vi(x_or_ind: Any, dim: int | None = None) -> LazyTensor:
    """A variable indexed by i: Vi(x) for an array (M, D), Vi(index, D) for a placeholder."""
    return Var(x_or_ind, dim, 0)


def Vj(x_or_ind: Any, dim: int | None = None) -> LazyTensor:
    """A variable indexed by j: Vj(y) for an array (N, D), Vj(index, D) for a placeholder."""
    return Var(x_or_ind, dim, 1)


def Pm(x_or_ind: Any, dim: int | None = None) -> LazyTensor:
    """A parameter: Pm(p) for a number, a list or an array (.., D), Pm(index, D) for a placeholder."""
    return Var(x_or_ind, dim, 2)
