"""What a plan keeps of its calls: those on device arrays, made again with the same shapes, only bind and submit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.calls.ready import ReadyCall, is_kept
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.cache import Cache
from clmapreduce.device.context import Context
from clmapreduce.formula.formula import Access
from clmapreduce.formula.trace import own

KEPT = 32
"""Calls kept per plan."""


def array_places(prepared: Prepared) -> list[int | None]:
    """The places of what a call was given; None for numbers."""
    return [None if g.signature.access is Access.ARGUMENT else k for k, g in enumerate(prepared.call.given)]


def told(value: Any) -> Hashable:
    """What a call depends on, as a key: zeros of either sign are two, and so are 1 and 1.0."""
    if isinstance(value, (float, complex, np.floating, np.complexfloating)):
        return type(value), np.asarray(value).tobytes()
    return type(value), own(value) if callable(value) else value


class CallCache:
    """The calls of a plan by what they depend on. May be used from several threads."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._calls: Cache[tuple[ReadyCall, dict[int, DeviceArray]]] = Cache(KEPT)

    def run(
        self, asked: Sequence[Any], arrays: Mapping[int, Any], options: Options,
        prepare: Callable[[], Prepared | list[Any]],
    ) -> Any:  # fmt: skip
        """The one result of a call. asked: all it depends on, but the arrays. arrays: those given, by their place among
        the inputs; the others are the plan's. prepare: everything up to the launch.
        """
        key = self._key(asked, arrays, options)
        found = None if key is None else self._calls.get(key)
        if found is not None:
            call, own = found
            read = {**own, **arrays}
            if options.out is None or call.takes(options.out, read.values()):
                return call(self._context, read, options.wait_for, options.out)[0]
        prepared = prepare()
        if not isinstance(prepared, Prepared):
            return prepared[0]
        results = prepared.run()
        if key is not None and is_kept(prepared):  # behind the run, which may fill in arrays that later calls only read
            places = array_places(prepared)
            own = {k: prepared.call.given[k].value for k in places if k is not None and k not in arrays}
            self._calls.put(key, (ReadyCall(prepared, places), own))
        return results[0]

    def _key(self, asked: Sequence[Any], arrays: Mapping[int, Any], options: Options) -> Hashable | None:
        """What the call depends on; None where it cannot be kept."""
        given = [*arrays.values(), *([] if options.out is None else [options.out])]
        if not all(type(v) is DeviceArray and v.context is self._context for v in given):
            return None
        shapes = tuple((place, v.shape, v.dtype) for place, v in arrays.items())
        if any(isinstance(a, DeviceArray) for a in asked):  # a number that is read in every call
            return None
        key = (options.mode, shapes, tuple(map(told, asked)))
        try:
            hash(key)
        except TypeError:  # a record as init, say
            return None
        return key
