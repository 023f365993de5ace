"""Which rows and columns of pairs the items of a group compute by matrix instructions: a warp owns blocks of 16 rows,
an item two rows of each of them, lane / 4 and eight further on, with two of every 8 columns.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FragmentLayout:
    """block: work-items of a group. across: warps side by side that share rows, a power of two. blocks: of 16 rows per
    warp. aligned: whether a group's rows may begin anywhere, and its blocks begin at multiples of 16. half: whether the
    last block has but eight rows; all warps share them then.
    """

    block: int
    across: int
    blocks: int
    aligned: bool = False
    half: bool = False

    @property
    def down(self) -> int:
        """Warps along the rows."""
        return self.block // 32 // self.across

    @property
    def rows(self) -> int:
        """Rows of a group."""
        return 16 * self.blocks * self.down - 8 * self.half

    @property
    def mine(self) -> range:
        """Numbers of an item's rows."""
        return range(2 * self.blocks - self.half)

    @property
    def sharers(self) -> list[int]:
        """Distances between items that share a row, a power of two each."""
        return [1, 2, *(32 << e for e in range(self.across.bit_length() - 1))]

    def row_place(self, v: int | str) -> str:
        """Where the item's row number v lies behind the group's first. v: as C text where it is known later."""
        inside = v // 2 * 16 + v % 2 * 8 if isinstance(v, int) else f"{v} / 2 * 16 + {v} % 2 * 8"
        return f"warp / {self.across} * {16 * self.blocks} + {inside} + lane / 4"

    @property
    def origin(self) -> str:
        """C text of the row where the blocks begin."""
        return "first / 16 * 16" if self.aligned else "first"

    def has_rows(self) -> str:
        """C text of whether the item's warp has a row; one that has none waits for the others."""
        return f"{self.origin} + warp / {self.across} * {16 * self.blocks} < last"

    def row(self, v: int | str) -> str:
        """C text of the item's row number v, which may be none of the group's."""
        return f"{self.origin} + {self.row_place(v)}"

    def row_index(self, v: int | str) -> str:
        """The same; past the last row the last one."""
        return f"min((idx)({self.row(v)}), (idx)(last - 1))"

    def inside(self, v: int | str) -> str:
        """C text of whether it is one of the group's."""
        before = f"{self.row(v)} >= first && " if self.aligned else ""
        return f"{before}{self.row(v)} < last"

    def live(self, v: int | str) -> str:
        """The same, and the item stores it."""
        return f"{self.inside(v)} && {self.owner()}"

    def owner(self) -> str:
        """Whether an item stores the rows that it shares."""
        return "lane % 4 == 0" + (f" && warp % {self.across} == 0" if self.across > 1 else "")
