"""Genred and KernelSolve of tensors."""

from __future__ import annotations

from typing import ClassVar

from clmapreduce import pairwise
from clmapreduce.pairwise.reduction import Reduced
from clmapreduce.torch.reduction import TensorReduced
from clmapreduce.torch.solve import TensorSolver


class Genred(pairwise.Genred):
    """As `cm.Genred`, for tensors: it gives tensors of their dtype and device, with gradients."""

    reducing: ClassVar[type[Reduced]] = TensorReduced


class KernelSolve(pairwise.KernelSolve):
    """As `cm.KernelSolve`, for tensors. A gradient costs one more solve, and a reduction."""

    solving: ClassVar[type[pairwise.Solver]] = TensorSolver
