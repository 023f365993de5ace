"""The arrays in local memory that schemes have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from clmapreduce.dtypes import c_name
from clmapreduce.plan import LocalArray
from clmapreduce.reductions.base import Bound

Arrays: TypeAlias = "Callable[[], tuple[LocalArray, ...]]"
"""The arrays of a kernel: asked for when its text is written, or its bytes are counted."""


def accumulators(bound: Bound, count: int, name: str = "scratch") -> tuple[LocalArray, ...]:
    """`count` accumulators, an array per component."""
    return tuple(LocalArray(f"{name}_{c.name}", c_name(c.dtype), count) for c in bound.components)
