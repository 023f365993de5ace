"""Genred and KernelSolve of JAX arrays."""

from __future__ import annotations

from typing import ClassVar

from clmapreduce import pairwise
from clmapreduce.jax.reduction import JaxReduced
from clmapreduce.jax.solve import JaxSolver
from clmapreduce.pairwise.reduction import Reduced


class Genred(pairwise.Genred):
    """As `cm.Genred`, for JAX arrays: it gives arrays of their dtype, with gradients."""

    reducing: ClassVar[type[Reduced]] = JaxReduced


class KernelSolve(pairwise.KernelSolve):
    """As `cm.KernelSolve`, for JAX arrays. A gradient costs one more solve, and a reduction."""

    solving: ClassVar[type[pairwise.Solver]] = JaxSolver
