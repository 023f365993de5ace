"""KeOps' four shorthands for Genred, of tensors."""

from __future__ import annotations

from clmapreduce.pairwise.generic import Shorthands
from clmapreduce.torch.genred import Genred

_shorthands = Shorthands(Genred)
generic_sum, generic_logsumexp = _shorthands.generic_sum, _shorthands.generic_logsumexp
generic_argmin, generic_argkmin = _shorthands.generic_argmin, _shorthands.generic_argkmin
