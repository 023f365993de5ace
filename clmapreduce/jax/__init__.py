"""Pairwise reductions of JAX arrays, with gradients, under the names of `clmapreduce` and of `pykeops`.

Nothing else imports this package, so that clmapreduce does without JAX: `import clmapreduce.jax as cj`.
"""

from clmapreduce.jax.generic import generic_argkmin, generic_argmin, generic_logsumexp, generic_sum
from clmapreduce.jax.genred import Genred, KernelSolve
from clmapreduce.jax.lazy import ComplexLazyTensor, LazyTensor, Pm, Var, Vi, Vj

__all__ = [
    "ComplexLazyTensor",
    "Genred",
    "KernelSolve",
    "LazyTensor",
    "Pm",
    "Var",
    "Vi",
    "Vj",
    "generic_argkmin",
    "generic_argmin",
    "generic_logsumexp",
    "generic_sum",
]
