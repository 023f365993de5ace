"""Requests for plans: what every front end hands to a context."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable

from clmapreduce.plan import Facts, Plan


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

    @abstractmethod
    def plan(self, facts: Facts) -> Plan:
        """The plan on a device."""
