"""The arrays in local memory that schemes have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from clmapreduce.dtypes import c_name
from clmapreduce.plan import LocalArray
from clmapreduce.reductions.base import Bound

PADDING = 128
"""Bytes of local memory that compilers may put between a kernel's arrays, at most."""

def accumulators(bound: Bound, count: int, name: str = "scratch") -> tuple[LocalArray, ...]:
    """`count` accumulators, an array per component."""
    return tuple(LocalArray(f"{name}_{c.name}", c_name(c.dtype), count) for c in bound.components)


def bytes_of(arrays: Sequence[LocalArray]) -> int:
    """What arrays take."""
    return sum(array.nbytes for array in arrays)


class _Sized(Protocol):
    """A problem, cut by a launch box."""

    @property
    def arrays(self) -> tuple[LocalArray, ...]: ...


B = TypeVar("B")
S = TypeVar("S", bound=_Sized)


def shrink_to_fit(
    box: B, build: Callable[[B], S], smaller: Callable[[B], B | None], memory: int
) -> tuple[B, S]:  # fmt: skip
    """The box, or a smaller one whose arrays fit so many bytes with the room between them, and what is built for it.
    smaller: gives the next box; None for the last one, which is taken whatever it needs.
    """
    candidate = build(box)
    while bytes_of(candidate.arrays) > memory - PADDING and (less := smaller(box)) is not None:
        box, candidate = less, build(less)
    return box, candidate
