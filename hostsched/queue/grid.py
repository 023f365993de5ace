"""How many work-items a launch runs."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Grid"]

SHORT_OFFSETS = 1 << 32
"""So many work-items are counted in 32 bits."""


class Grid(NamedTuple):
    """`groups` work-groups of `group_size` work-items. `first` is the number of groups that another launch runs, and
    that stand before these: the global offset tells the kernel, in items; or in groups by the second dimension, behind
    2^32 items where drivers have `short_offsets`.
    """

    groups: int
    group_size: int
    first: int = 0

    def sizes(self, short_offsets: bool) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...] | None]:
        """(global size, group size, global offset). short_offsets: of the driver's traits."""
        groups, group_size, first = self
        if not first:
            return (groups * group_size,), (group_size,), None
        if short_offsets and (first + groups) * group_size > SHORT_OFFSETS:
            return (groups * group_size, 1), (group_size, 1), (0, first)
        return (groups * group_size,), (group_size,), (first * group_size,)
