"""Caches of what calls need again: built plans, and calls that are ready to be repeated. Each keeps the entries used
last.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

from clmapreduce.device.plans.executable import Executable

PLANS = 512
"""Plans of a cache."""
CALLS = 64
"""Calls of a cache."""
OPERATIONS = 512
"""Calls of arrays' operators, which are small."""
KERNEL_BYTES = 224 << 20
"""Bytes that the kernels of a cache's plans hold, by estimate. 5,000 formulas then stay below 400 MiB on Intel's
runtime, whose compiler holds 120 MiB itself.
"""

V = TypeVar("V")


class Cache(Generic[V]):
    """Entries by key, at most `most` of them. Safe to share between threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: OrderedDict[Hashable, V] = OrderedDict()
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._entries)

    def values(self) -> list[V]:
        """The entries, those used last at the end."""
        with self._lock:
            return list(self._entries.values())

    def get(self, key: Hashable) -> V | None:
        """The entry under a key; it counts as used."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
            return entry

    def find(self, key: Hashable) -> tuple[bool, V | None]:
        """Whether there is an entry under a key, and the entry, which may be None; it counts as used."""
        with self._lock:
            known = key in self._entries
            return known, self.get(key) if known else None

    def put(self, key: Hashable, entry: V) -> None:
        """Adds an entry, and drops those not used for longest where there are too many; never the new one."""
        with self._lock:
            before = self._entries.pop(key, None)
            if before is not None:
                self._removed(before)
            self._entries[key] = entry
            self._added(entry)
            while len(self._entries) > 1 and self._too_many():
                self._removed(self._entries.popitem(last=False)[1])

    def _too_many(self) -> bool:
        return len(self._entries) > self._most

    def _added(self, entry: V) -> None:
        """Counts an entry that comes."""

    def _removed(self, entry: V) -> None:
        """Counts an entry that goes."""


class PlanCache(Cache[Executable]):
    """Built plans, bounded by their kernels' memory as well. A kernel counts once, however many plans launch it: plans
    of several lengths share it.
    """

    def __init__(self) -> None:
        super().__init__(PLANS)
        self._uses: Counter[Any] = Counter()
        self._held: dict[Executable, set[Any]] = {}  # plans may get kernels later, which do not count
        self.nbytes = 0

    def _too_many(self) -> bool:
        return super()._too_many() or self.nbytes > KERNEL_BYTES

    def _added(self, entry: Executable) -> None:
        self._held[entry] = entry.kernels
        for kernel in self._held[entry]:
            self._uses[kernel] += 1
            if self._uses[kernel] == 1:
                self.nbytes += kernel.nbytes

    def _removed(self, entry: Executable) -> None:
        for kernel in self._held.pop(entry):
            self._uses[kernel] -= 1
            if not self._uses[kernel]:
                del self._uses[kernel]
                self.nbytes -= kernel.nbytes


_renewals = 0


def renew_calls() -> None:
    """No ready call that was made before is used again: plans may have other launch boxes since."""
    global _renewals
    _renewals += 1


class ReadyCalls(Cache[Any]):
    """Ready calls since the last `renew_calls`."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self._made = _renewals

    def get(self, key: Hashable) -> Any:
        self._forget_old()
        return super().get(key)

    def put(self, key: Hashable, entry: Any) -> None:
        self._forget_old()
        super().put(key, entry)

    def _forget_old(self) -> None:
        if self._made != _renewals:
            with self._lock:
                self._made = _renewals
                self._entries.clear()


class QuickCalls:
    """Ready calls since the last `renew_calls`, found by one look. Where there are too many, all are dropped."""

    def __init__(self) -> None:
        self._entries: dict[Hashable, Any] = {}
        self._made = _renewals

    def get(self, key: Hashable) -> Any:
        """The entry under a key, None where there is none."""
        if self._made != _renewals:
            self._entries, self._made = {}, _renewals
        return self._entries.get(key)

    def put(self, key: Hashable, entry: Any) -> None:
        """Adds an entry."""
        if len(self._entries) >= CALLS:
            self._entries = {}
        self._entries[key] = entry


class Caches:
    """The caches of one owner: a context, or in a context ranges or a user's plan. plans: built plans by `PlanRequest`.
    calls: ready calls by `CallRequest`. operations: those of arrays' operators. repeated: those of primitives, None for
    one that was seen once. quick: ready calls by an operation and its arrays' shapes and dtypes.
    """

    def __init__(self) -> None:
        self.plans = PlanCache()
        self.calls: Cache[Any] = ReadyCalls(CALLS)
        self.operations: Cache[Any] = ReadyCalls(OPERATIONS)
        self.repeated: Cache[Any] = ReadyCalls(CALLS)
        self.quick = QuickCalls()
