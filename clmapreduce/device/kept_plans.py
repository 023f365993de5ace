"""Plans kept between calls, those used last: bounded by their number and by the memory of their kernels."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable
from typing import Any

from clmapreduce.device.runtime import Executable

PLANS_KEPT = 512
"""Plans per context, those used last."""
KERNEL_BYTES = 224 << 20
"""Bytes per context that the kernels of kept plans hold, by estimate. 5,000 formulas then stay below 400 MiB on Intel's
runtime, whose compiler holds 120 MiB itself.
"""


class KeptPlans:
    """Built plans by key. A kernel counts once however many plans launch it, as plans of several lengths do."""

    def __init__(self) -> None:
        self._plans: OrderedDict[Hashable, Executable] = OrderedDict()
        self._uses: Counter[Any] = Counter()
        self.nbytes = 0

    def __len__(self) -> int:
        return len(self._plans)

    def get(self, key: Hashable) -> Executable | None:
        """The plan under a key, which is the last one used then."""
        found = self._plans.get(key)
        if found is not None:
            self._plans.move_to_end(key)
        return found

    def add(self, key: Hashable, plan: Executable) -> None:
        """Keeps one more plan. Drops those not used for longest where there are too many; never the new one."""
        self._plans[key] = plan
        for kernel in plan.kernels:
            self._uses[kernel] += 1
            if self._uses[kernel] == 1:
                self.nbytes += kernel.nbytes
        while len(self._plans) > max(1, PLANS_KEPT) or (self.nbytes > KERNEL_BYTES and len(self._plans) > 1):
            self._drop()

    def _drop(self) -> None:
        _, plan = self._plans.popitem(last=False)
        for kernel in plan.kernels:
            self._uses[kernel] -= 1
            if not self._uses[kernel]:
                del self._uses[kernel]
                self.nbytes -= kernel.nbytes
