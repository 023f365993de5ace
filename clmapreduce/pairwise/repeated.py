"""Reductions of device arrays that ran before, found by what they compute and by the shapes of their arrays: no
option, stream or slot is looked at again.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from clmapreduce.calls.recording import recorder
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.tuned import tunings
from clmapreduce.pairwise.call import ReadyPairs
from clmapreduce.ranges import Ranges


class Repeated:
    """The place of a ready call among those of a context, and the arrays of this one. It does not outlive the call."""

    __slots__ = ("_arrays", "_calls", "_context", "_key")

    def __init__(self, what: Hashable, context: Context, arrays: Sequence[DeviceArray], ranges: Ranges | None) -> None:
        self._context, self._arrays = context, arrays
        self._calls = context.caches(ranges).calls
        self._key = (Repeated, what, tunings(), *[(x.shape, x.dtype) for x in arrays])

    def run(self) -> Any:
        """The results, as `reduce_pairs` gives them; None where no such call is ready."""
        ready = self._calls.get(self._key)
        if ready is None:
            return None
        results = ready(self._context, self._arrays, ())
        return results[0] if len(results) == 1 else tuple(results)

    def keep(self, call: ReadyPairs | None) -> None:
        """Makes a call the one that `run` finds. call: of the same arrays, in this order."""
        if call is not None:
            self._calls.put(self._key, call.ready)


def repeated(what: Hashable, arrays: Sequence[Any], ranges: Ranges | None) -> Repeated | None:
    """The place of a call on some arrays; None where not all of them are on one device, or where a recorder needs the
    whole way. what: formula, reduction and options, all that the call depends on beside its arrays and ranges.
    """
    if recorder() is not None:
        return None
    context: Context | None = None
    for x in arrays:
        if type(x) is not DeviceArray or (context is not None and x.context is not context):
            return None
        context = x.context
    return None if context is None else Repeated(what, context, arrays, ranges)
