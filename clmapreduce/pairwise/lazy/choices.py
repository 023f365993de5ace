"""Settings that a LazyTensor passes to its reductions: the backend, and which pairs count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clmapreduce.errors import ModeError
from clmapreduce.ranges import Ranges


@dataclass(frozen=True, eq=False)
class Choices:
    """None where a choice is left to the reduction. ranges: cm.Ranges."""

    backend: str | None = None
    ranges: Ranges | None = None

    def __reduce__(self) -> Any:
        return (Choices, (self.backend, self.ranges)) if self is not NONE else "NONE"

    @property
    def keywords(self) -> dict[str, Any]:
        """Those that are not None, as a reduction takes them."""
        choices = {"backend": self.backend, "ranges": self.ranges}
        return {name: value for name, value in choices.items() if value is not None}

    def joined(self, other: Choices) -> Choices:
        """Those of both. Raises ModeError where they differ."""
        if self is other or other is NONE:
            return self
        if self.backend != other.backend and None not in (self.backend, other.backend):
            raise ModeError(f"backends {self.backend!r} and {other.backend!r} meet in one formula; set the same")
        if self.ranges is not other.ranges and None not in (self.ranges, other.ranges):
            raise ModeError(f"{self.ranges!r} and {other.ranges!r} meet in one formula; set the same ranges")
        return Choices(self.backend or other.backend, other.ranges if self.ranges is None else self.ranges)

    @property
    def transposed(self) -> Choices:
        """Those of the transposed matrix."""
        return self if self.ranges is None else Choices(self.backend, self.ranges.T)


NONE = Choices()
