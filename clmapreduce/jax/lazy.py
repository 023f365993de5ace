"""LazyTensors of JAX arrays: NumPy's class, with another kind of array and of reduction."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from clmapreduce import pairwise
from clmapreduce.jax.arrays import array_of
from clmapreduce.jax.reduction import JaxReduced
from clmapreduce.jax.solve import JaxSolver
from clmapreduce.pairwise.lazy.variables import Variables
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

_variables = Variables(LazyTensor)
Var, Vi, Vj, Pm = _variables.Var, _variables.Vi, _variables.Vj, _variables.Pm
