"""Requests for plans: what every front end hands to a context."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clmapreduce.dtypes import DType
from clmapreduce.halves.operators import in_float32
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Plan
from clmapreduce.reductions.base import Bound

if TYPE_CHECKING:
    from typing_extensions import Self


def accumulators_on(bound: Bound, facts: Facts) -> DType:
    """How an operator's accumulators lie in memory on a device."""
    return (bound if facts.computes_halves else in_float32(bound)).layout


class PlanRequest(ABC):
    """All that a plan depends on beside the device: a frozen dataclass. Equal requests have equal plans."""

    mode: ComputeMode

    @property
    def key(self) -> Hashable:
        """The key of its cache entry: the request, without what owns the plan."""
        return self

    @property
    def work(self) -> float:
        """The plan's operations, roughly: where they take long, launches go out in pieces."""
        return 0.0

    def planned(self, facts: Facts) -> Plan:
        """The plan on a device, also on one that does not compute with float16."""
        return (self if facts.computes_halves else self.in_float32()).plan(facts)

    def in_float32(self) -> Self:
        """The same request with float32 in formulas where they had float16; arrays of float16 hold bits."""
        return self

    def boxes(self, facts: Facts) -> Mapping[str, Any]:
        """The launch boxes of which `cm.tune` may measure others, by name."""
        return {}

    def in_box(self, name: str, box: Any) -> PlanRequest:
        """The request with another box of that name."""
        return replace(self, **{name: box})  # type: ignore[type-var]  # requests are dataclasses

    @property
    def boxed(self) -> PlanRequest:
        """The request with the boxes that its plan has."""
        return self

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the problem: a measured box serves those of the same powers of two."""
        return ()

    @abstractmethod
    def plan(self, facts: Facts) -> Plan:
        """The plan on a device."""


@dataclass(frozen=True)
class MeasuredRequest(PlanRequest):
    """A request in boxes that were measured on the device, `inner`. static: in its default boxes."""

    static: PlanRequest
    inner: PlanRequest

    @property
    def boxed(self) -> PlanRequest:
        return self.inner

    @property
    def work(self) -> float:
        return self.inner.work

    def boxes(self, facts: Facts) -> Mapping[str, Any]:
        return self.inner.boxes(facts)

    def plan(self, facts: Facts) -> Plan:
        plan = self.inner.planned(facts)
        return replace(plan, why=f"{plan.why}; {MEASURED}")


MEASURED = "box measured on this device"
"""What `explain()` says of a plan in such a box."""
