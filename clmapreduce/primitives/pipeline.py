"""Pipelines: maps fused in front of a primitive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clmapreduce.errors import ModeError

if TYPE_CHECKING:
    from clmapreduce.primitives.base import Primitive
    from clmapreduce.primitives.map import Map


class Pipeline:
    """`Map(f) >> Reduce(op)`: called with the map's arguments, gives the last primitive's result, with no array in
    between.
    """

    def __init__(self, first: Map, last: Primitive) -> None:
        if not hasattr(last, "fused"):
            raise ModeError(
                f"{type(last).__name__} cannot follow a Map: it takes no vector (convention VEC is missing)"
            )
        self.first, self._original = first, last
        self.last = last.fused(first.function)

    def __repr__(self) -> str:
        return f"{self.first!r} >> {self._original!r}"

    def __call__(self, *values: Any, **keywords: Any) -> Any:
        """The result of the last primitive; keywords are those of its own call."""
        return self.last(*values, **keywords)

    def explain(self, *values: Any, **keywords: Any) -> str:
        """How a call with these arguments would run."""
        return f"{self!r}\n{self.last.explain(*values, **keywords)}"

    def source(self, *values: Any, **keywords: Any) -> str:
        """The OpenCL C that a call with these arguments would run."""
        return str(self.last.source(*values, **keywords))
