"""Steps: what a program computes from a whole vector: a reduction, a scan, an unfold, kept partials."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from clmapreduce.dtypes import DType, Leaf, leaves
from clmapreduce.formula.node import Node, Symbol, Value, components, rebuild
from clmapreduce.reductions.base import Bound


class Kind(Enum):
    """What a step does, by the name of its primitive."""

    REDUCE = "reduce"
    SCAN = "scan"
    UNFOLD = "unfold"
    PARTIALS = "partials"


class Result(Symbol):
    """One part of what a step gives: one value for the line (a reduce), or one per index (a scan, an unfold)."""

    __slots__ = ("part", "step")

    def __init__(self, step: Step, part: Leaf, dtype: DType) -> None:
        super().__init__(f"{step.label}{'.' if part else ''}{part}", dtype, varies=step.kind is not Kind.REDUCE)
        self.step = step
        self.part = part


@dataclass(frozen=True, eq=False)
class Step:
    """One step: its operator bound to the dtype of `value`, which is what it reduces or scans, or an unfold's base.

    dtype: of an unfold's elements. narrow: a scan's operator inside a tile (`bound` holds between tiles). label: how
    messages name the step.
    """

    kind: Kind
    bound: Bound
    value: Value
    label: str
    dtype: DType
    exclusive: bool = False
    narrow: Bound | None = None
    results: dict[Leaf, Result] = field(init=False)

    def __post_init__(self) -> None:
        parts = leaves(self.dtype).items()
        object.__setattr__(self, "results", {part: Result(self, part, dtype) for part, (dtype, _) in parts})

    @property
    def result(self) -> Value:
        """The value that stands for what the step gives."""
        return rebuild(dict(self.results))

    @property
    def nodes(self) -> list[Node]:
        """The parts of the value."""
        return list(components(self.value).values())
