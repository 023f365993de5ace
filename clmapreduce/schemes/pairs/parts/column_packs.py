"""How a column's terms lie in a tile in local memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clmapreduce.dtypes import DType, c_name
from clmapreduce.formula.node import Node

WIDEST = 16
"""Bytes that one load brings."""


class ColumnPack(NamedTuple):
    """Terms of columns that lie side by side, `width` numbers, which one load brings. terms: which terms they are.
    array: what the array of a tile is called. own: whether it is no other text's.
    """

    dtype: DType
    width: int
    terms: tuple[int, ...]
    array: str = ""
    own: bool = True

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


def packs_of(terms: Sequence[Node], arrays: str = "tile", others: Sequence[ColumnPack] = ()) -> list[ColumnPack]:
    """Terms of one dtype side by side, as many as one load brings. arrays: what their names begin with. others: packs
    of another text, whose arrays take what has the same type in the same place.
    """
    kinds: dict[DType, list[int]] = {}
    for k, node in enumerate(terms):
        kinds.setdefault(node.dtype, []).append(k)
    packs: list[ColumnPack] = []
    for dtype, numbers in kinds.items():
        widest = max(1, WIDEST // dtype.itemsize)
        for first in range(0, len(numbers), widest):
            own = tuple(numbers[first : first + widest])
            pack = ColumnPack(dtype, next(w for w in (1, 2, 4, 8) if w >= len(own)), own, f"{arrays}{len(packs)}")
            same = [other for other in others[len(packs) : len(packs) + 1] if other.type == pack.type]
            packs.append(pack._replace(array=same[0].array, own=False) if same else pack)
    return packs
