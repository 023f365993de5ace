"""LazyTensors of tensors: NumPy's class, with another kind of array and of reduction."""

from __future__ import annotations

from typing import Any, ClassVar

from clmapreduce import pairwise
from clmapreduce.pairwise.reduction import Reduced
from clmapreduce.torch.reduction import TensorReduced
from clmapreduce.torch.solve import TensorSolver
from clmapreduce.torch.tensors import array_of


class LazyTensor(pairwise.LazyTensor):
    """As `cm.LazyTensor`, for tensors: reductions give tensors of their dtype and device, with gradients."""

    __slots__ = ()
    kinds: ClassVar[dict[bool, type[Any]]] = {}
    reducing: ClassVar[type[Reduced]] = TensorReduced
    solving: ClassVar[type[pairwise.Solver]] = TensorSolver
    array_of = staticmethod(array_of)

    def to_numpy(self, **kwargs: Any) -> Any:
        """All numbers, as a NumPy array of `shape`, without gradients."""
        return self.dense(**kwargs).detach().cpu().numpy()


class ComplexLazyTensor(LazyTensor, pairwise.ComplexLazyTensor):
    """As `cm.ComplexLazyTensor`, for tensors."""

    __slots__ = ()
    is_complex = True


LazyTensor.kinds |= {False: LazyTensor, True: ComplexLazyTensor}


def Var(x_or_ind: Any, dim: int | None = None, cat: int | None = None) -> LazyTensor:
    """A variable of category cat (0: i, 1: j, 2: a parameter) for a tensor, or the placeholder (index, dim, cat)."""
    return LazyTensor(x_or_ind, cat) if dim is None else LazyTensor((x_or_ind, dim, cat))


def Vi(x_or_ind: Any, dim: int | None = None) -> LazyTensor:
    """A variable indexed by i: Vi(x) for a tensor (M, D), Vi(index, D) for a placeholder."""
    return Var(x_or_ind, dim, 0)


def Vj(x_or_ind: Any, dim: int | None = None) -> LazyTensor:
    """A variable indexed by j: Vj(y) for a tensor (N, D), Vj(index, D) for a placeholder."""
    return Var(x_or_ind, dim, 1)


def Pm(x_or_ind: Any, dim: int | None = None) -> LazyTensor:
    """A parameter: Pm(p) for a number, a list or a tensor (.., D), Pm(index, D) for a placeholder."""
    return Var(x_or_ind, dim, 2)
