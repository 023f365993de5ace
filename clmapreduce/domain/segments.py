"""Segments of a line of elements, and how the two together are cut into chunks of equal work."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.domain.line import NARROW_LIMIT

WEIGHT = 2
"""What a segment weighs, in elements: about its share of the bytes."""


@dataclass(frozen=True)
class Segments:
    """`segments` segments of `length` elements together, each element of `columns` numbers that are reduced apart. far:
    whether elements are gathered from an array with more numbers than an int counts.
    """

    length: int
    segments: int
    columns: int = 1
    far: bool = False

    @property
    def narrow(self) -> bool:
        """Whether every index fits an int, one tile further as well."""
        return not self.far and max(self.length, self.segments) * max(1, self.columns) < NARROW_LIMIT

    @property
    def weight(self) -> int:
        """The length of the path through elements and segments."""
        return self.length + WEIGHT * self.segments

    def chunks(self, share: int) -> int:
        """How many stretches of `share` the path has. From the sizes alone, so that every device cuts alike."""
        return max(1, -(-self.weight // share))
