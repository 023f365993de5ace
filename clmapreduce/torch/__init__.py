"""Pairwise reductions of PyTorch tensors, with gradients, under the names of `pykeops.torch`.

Nothing else imports this package, so that clmapreduce does without PyTorch: `import clmapreduce.torch as ct`.
"""

from clmapreduce.torch.generic import generic_argkmin, generic_argmin, generic_logsumexp, generic_sum
from clmapreduce.torch.genred import Genred, KernelSolve
from clmapreduce.torch.lazy import ComplexLazyTensor, LazyTensor, Pm, Var, Vi, Vj

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
