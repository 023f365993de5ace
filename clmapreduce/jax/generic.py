"""KeOps' four shorthands for Genred, of JAX arrays."""

from __future__ import annotations

from typing import Any

from clmapreduce.jax.genred import Genred
from clmapreduce.pairwise.generic import shorthand


def generic_sum(formula: str, output: str, *aliases: str, **kwargs: Any) -> Genred:
    """As `cm.generic_sum`."""
    return shorthand(Genred, "Sum", formula, output, aliases, kwargs)


def generic_logsumexp(formula: str, output: str, *aliases: str, **kwargs: Any) -> Genred:
    """As `cm.generic_logsumexp`."""
    return shorthand(Genred, "LogSumExp", formula, output, aliases, kwargs)


def generic_argmin(formula: str, output: str, *aliases: str, **kwargs: Any) -> Genred:
    """As `cm.generic_argmin`."""
    return shorthand(Genred, "ArgMin", formula, output, aliases, kwargs)


def generic_argkmin(formula: str, output: str, *aliases: str, **kwargs: Any) -> Genred:
    """As `cm.generic_argkmin`."""
    return shorthand(Genred, "ArgKMin", formula, output, aliases, kwargs)
