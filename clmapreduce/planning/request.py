"""Requests for plans: what every front end hands to a context."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import TYPE_CHECKING

from clmapreduce.dtypes import DType
from clmapreduce.halves.operators import in_float32
from clmapreduce.plan import Facts, Plan
from clmapreduce.reductions.base import Bound

if TYPE_CHECKING:
    from typing_extensions import Self


def accumulators_on(bound: Bound, facts: Facts) -> DType:
    """How an operator's accumulators lie in memory on a device."""
    return (bound if facts.fp16 else in_float32(bound)).layout


class PlanRequest(ABC):
    """All that a plan depends on beside the device: a frozen dataclass. Equal requests have equal plans."""

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
        return (self if facts.fp16 else self.in_float32()).plan(facts)

    def in_float32(self) -> Self:
        """The same request with float32 in formulas where they had float16; arrays of float16 hold bits."""
        return self

    @abstractmethod
    def plan(self, facts: Facts) -> Plan:
        """The plan on a device."""
