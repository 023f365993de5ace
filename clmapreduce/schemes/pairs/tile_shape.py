"""Which rows and columns of pairs the items of a group compute in matrix-product-shaped tiles.

A warp of 32 items covers 8 × 4 blocks of `rows` × `columns` pairs. An item's columns are neighbours, so an operator
folds them at once; its rows come in runs of one vector, so that a warp's loads from local memory touch every bank once.
"""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.lowering.pair import Role
from clmapreduce.schemes.pairs.boxes import TileBox


@dataclass(frozen=True)
class Shape:
    """The numbers that follow from a launch box. itemsize: bytes of a coordinate."""

    box: TileBox
    itemsize: int

    @property
    def down(self) -> int:
        """Warps along the rows."""
        return 1 if self.box.block < 128 else 2

    @property
    def across(self) -> int:
        """Warps along the columns."""
        return self.box.block // 32 // self.down

    @property
    def owners(self) -> int:
        """Items along the rows; as many times `rows` are a tile's."""
        return 8 * self.down

    @property
    def sharers(self) -> int:
        """Items along the columns: so many share a row."""
        return 4 * self.across

    @property
    def tile_rows(self) -> int:
        return self.owners * self.box.rows

    @property
    def tile_columns(self) -> int:
        return self.sharers * self.box.columns

    def vector(self, count: int) -> int:
        """Numbers that one load brings, of `count` neighbours."""
        return min(count, max(1, 16 // self.itemsize))

    def row_offset(self, v: int) -> int:
        """Where an item's row number v lies behind its first."""
        width = self.vector(self.box.rows)
        return v // width * 8 * width + v % width

    def pitch(self, role: Role) -> int:
        """Numbers between one staged coordinate and the next: padded, so that stores spread over the banks."""
        return (self.tile_rows if role is Role.ROW else self.tile_columns) + max(1, 16 // self.itemsize)
