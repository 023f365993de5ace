"""How many work-items a launch runs."""

from __future__ import annotations

__all__ = ["Grid"]

SHORT_OFFSETS = 1 << 31
"""Work-items that an int counts. On an H100 (driver 580.159), groups that begin behind more read a wrong number."""
GROUP_BITS = 30
"""Of a group's number in the second dimension; the third has the others."""


class Grid:
    """`groups` work-groups of `group_size` work-items. `first` is the number of groups that another launch runs, and
    that stand before these: the global offset tells the kernel, in items; or in groups by the other dimensions, behind
    2^31 items where drivers have `short_offsets`.

    `sizes`: (global size, group size, global offset), made once: a replayed launch has the same each time.
    """

    __slots__ = ("first", "group_size", "groups", "sizes")

    def __init__(self, groups: int, group_size: int, short_offsets: bool, first: int = 0) -> None:
        self.groups, self.group_size, self.first = groups, group_size, first
        self.sizes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...] | None]
        if not first:
            self.sizes = (groups * group_size,), (group_size,), None
        elif short_offsets and (first + groups) * group_size > SHORT_OFFSETS:
            high, low = divmod(first, 1 << GROUP_BITS)
            self.sizes = (groups * group_size, 1, 1), (group_size, 1, 1), (0, low, high)
        else:
            self.sizes = (groups * group_size,), (group_size,), (first * group_size,)
