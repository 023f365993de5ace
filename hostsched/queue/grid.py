"""How many work-items a launch runs."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Grid"]

SHORT_OFFSETS = 1 << 31
"""Work-items that an int counts. On an H100 (driver 580.159), groups that begin behind more read a wrong number."""
GROUP_BITS = 30
"""Of a group's number in the second dimension; the third has the others."""


class Grid(NamedTuple):
    """`groups` work-groups of `group_size` work-items. `first` is the number of groups that another launch runs, and
    that stand before these: the global offset tells the kernel, in items; or in groups by the other dimensions, behind
    2^31 items where drivers have `short_offsets`.
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
            high, low = divmod(first, 1 << GROUP_BITS)
            return (groups * group_size, 1, 1), (group_size, 1, 1), (0, low, high)
        return (groups * group_size,), (group_size,), (first * group_size,)
