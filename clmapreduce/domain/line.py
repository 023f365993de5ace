"""A line of indices 0 … length−1, cut into equal shares of whole tiles."""

from __future__ import annotations

from dataclasses import dataclass

NARROW_LIMIT = 2**31 - 2**20
"""Lines shorter than this use int indices; the slack holds a tile, so that `begin + tile` cannot overflow either."""
LEAST_WINDOW = 2**15
"""Indices of a window at least: every tile of a launch box divides it."""
MOST_SHARES = 2**13
"""Shares of a line at most whose windows several devices share: each may read what all others leave."""


@dataclass(frozen=True)
class Window:
    """A stretch of a line, or rows of a batch, whose elements are in device memory at a time.

    length: its indices, a power of two of at least LEAST_WINDOW, or its rows. entries: those of the whole line, or of
    the whole batch. names: the arrays of which kernels see one window; all others are there as a whole. of_rows: it
    holds whole lines of a batch. shared: several devices do windows at a time, so that none may wait for another.
    """

    length: int
    entries: int
    names: tuple[str, ...]
    of_rows: bool = False
    shared: bool = False

    @property
    def count(self) -> int:
        """How many windows there are."""
        return -(-self.entries // self.length)


@dataclass(frozen=True)
class Line:
    """The indices 0 … length−1. window: where kernels see one stretch of it after the other. reach: how many elements
    the arrays have whose places kernels compute, if more.
    """

    length: int
    window: Window | None = None
    reach: int = 0

    @property
    def narrow(self) -> bool:
        """Whether every index, and every index one tile further, fits an int."""
        return max(self.length, self.reach) < NARROW_LIMIT

    @property
    def span(self) -> int:
        """How many indices are cut into shares together: a window's, or all."""
        return self.length if self.window is None else self.window.length

    def shares(self, groups: int, tile: int) -> tuple[int, int]:
        """(group count, share): groups with the same share, a multiple of `tile`, that together cover the line; at most
        `groups` of them in a window, which has a whole number of shares, or in the line without one.
        """
        if self.window is None:
            tiles = max(1, -(-self.length // tile))
            share = -(-tiles // max(1, groups)) * tile
        else:
            if self.window.shared:
                groups = min(groups, max(1, MOST_SHARES // self.window.count))
            share = max(tile, _power_of_two(-(-self.window.length // max(1, groups))))
            if self.window.length % share or share % tile:
                raise ValueError(f"a window of {self.window.length} indices has no whole number of tiles of {tile}")
        return max(1, -(-self.length // share)), share


def _power_of_two(number: int) -> int:
    """The least power of two that is no less than a number."""
    return 1 << max(0, number - 1).bit_length()


@dataclass(frozen=True)
class Lines:
    """Lines of the same length, one behind the other in memory. window: of whole lines."""

    count: int
    length: int
    window: Window | None = None


@dataclass(frozen=True)
class Columns:
    """Lines that lie side by side: the columns of `batch` matrices one behind the other, each of `length` rows of
    `width` numbers.
    """

    batch: int
    length: int
    width: int

    @property
    def count(self) -> int:
        """How many columns there are."""
        return self.batch * self.width

    @property
    def size(self) -> int:
        """How many values there are."""
        return self.count * self.length

    @property
    def narrow(self) -> bool:
        """Whether all indices fit an int."""
        return Line(self.size).narrow
