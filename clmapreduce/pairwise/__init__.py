"""Pairwise map-reduce, a_i = reduction over j of F(x_i, y_j, p), under the names of `pykeops.numpy`."""

from clmapreduce.pairwise.generic import generic_argkmin, generic_argmin, generic_logsumexp, generic_sum
from clmapreduce.pairwise.genred import Genred
from clmapreduce.pairwise.kernelsolve import KernelSolve, Solver
from clmapreduce.pairwise.lazy.complex import ComplexLazyTensor
from clmapreduce.pairwise.lazy.lazytensor import LazyTensor, Pm, Var, Vi, Vj
from clmapreduce.pairwise.reduction import Reduced
from clmapreduce.pairwise.solve import SolveStatus

__all__ = [
    "ComplexLazyTensor",
    "Genred",
    "KernelSolve",
    "LazyTensor",
    "Pm",
    "Reduced",
    "SolveStatus",
    "Solver",
    "Var",
    "Vi",
    "Vj",
    "generic_argkmin",
    "generic_argmin",
    "generic_logsumexp",
    "generic_sum",
]
