"""LazyTensors of tensors: NumPy's class, with another kind of array and of reduction."""

from __future__ import annotations

from typing import Any, ClassVar

from clmapreduce import pairwise
from clmapreduce.pairwise.lazy.variables import Variables
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

_variables = Variables(LazyTensor)
Var, Vi, Vj, Pm = _variables.Var, _variables.Vi, _variables.Vj, _variables.Pm
