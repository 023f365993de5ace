"""How a column's terms lie in a tile in local memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clmapreduce.dtypes import DType, c_name
from clmapreduce.formula.node import Node

WIDEST = 16
"""Bytes that one load brings."""


class ColumnPack(NamedTuple):
    """Terms of columns that lie side by side, `width` numbers, which one load brings. terms: which terms they are."""

    dtype: DType
    width: int
    terms: Sequence[int]

    @property
    def bytes(self) -> int:
        return self.dtype.itemsize * self.width

    @property
    def type(self) -> str:
        """The C type of all."""
        return c_name(self.dtype, self.width)

    @property
    def number(self) -> str:
        """That of one."""
        return c_name(self.dtype)

    @property
    def two(self) -> str:
        """That of one number of two columns."""
        return c_name(self.dtype, 2)


def packs_of(terms: Sequence[Node]) -> list[ColumnPack]:
    """Terms of one dtype side by side, as many as one load brings."""
    kinds: dict[DType, list[int]] = {}
    for k, node in enumerate(terms):
        kinds.setdefault(node.dtype, []).append(k)
    packs = []
    for dtype, numbers in kinds.items():
        widest = max(1, WIDEST // dtype.itemsize)
        for first in range(0, len(numbers), widest):
            own = numbers[first : first + widest]
            packs.append(ColumnPack(dtype, next(w for w in (1, 2, 4, 8) if w >= len(own)), own))
    return packs
