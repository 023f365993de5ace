"""The calls of a user's plan: those on device arrays, repeated with the same shapes, only bind and submit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.calls.repeat.ready import ReadyCall, is_repeatable
from clmapreduce.calls.repeat.request import CallRequest, hashable, number_key
from clmapreduce.device.array import DeviceArray, is_plain
from clmapreduce.device.context import Context
from clmapreduce.device.plans.cache import Cache
from clmapreduce.formula.formula import Access


class PlanCalls:
    """The calls of a plan, from the cache that the plan owns. May be used from several threads."""

    def __init__(self, context: Context, plan: Any) -> None:
        self._context = context
        self._cache: Cache[ReadyCall] = context.caches(plan).calls

    def __len__(self) -> int:
        return len(self._cache)

    def run(
        self, operation: Sequence[Any], arrays: Mapping[int, Any], options: Options,
        prepare: Callable[[], Prepared | list[Any]],
    ) -> Any:  # fmt: skip
        """The one result of a call. operation: all it depends on, but the arrays. arrays: its arguments, by position
        among the inputs, ascending; the other inputs are the plan's. prepare: everything up to the launch.
        """
        request = self._request(operation, arrays, options)
        call = None if request is None else self._cache.get(request)
        if call is not None and (options.out is None or call.takes(options.out, arrays.values())):
            return call(self._context, tuple(arrays.values()), options.wait_for, options.out)[0]
        prepared = prepare()
        if not isinstance(prepared, Prepared):
            return prepared[0]
        results = prepared.run()
        if request is not None and call is None and is_repeatable(prepared):
            # Behind the run, which may fill in arrays that later calls only read.
            inputs = enumerate(prepared.call.inputs)
            own = [k for k, g in inputs if k not in arrays and g.signature.access is not Access.ARGUMENT]
            self._cache.put(request, ReadyCall(prepared, own))
        return results[0]

    def _request(self, operation: Sequence[Any], arrays: Mapping[int, Any], options: Options) -> CallRequest | None:
        """What the call depends on; None where it cannot be repeated."""
        touched = [*arrays.values(), *([] if options.out is None else [options.out])]
        if not all(is_plain(array) and array.context is self._context for array in touched):
            return None
        if any(isinstance(a, DeviceArray) for a in operation):  # a number that is read in every call
            return None
        shapes = tuple((place, array.shape, array.dtype) for place, array in arrays.items())
        return hashable(CallRequest((options.mode, *map(number_key, operation)), shapes))
