"""How many work-items a launch runs."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Grid"]


class Grid(NamedTuple):
    """`groups` work-groups of `group_size` work-items. `first` is the number of groups that another launch runs, and
    that stand before these: the global offset tells the kernel.
    """

    groups: int
    group_size: int
    first: int = 0
