"""Calls of primitives on device arrays alone: from the second one on, equal calls only bind and submit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.calls.repeat.ready import ReadyCall, is_repeatable
from clmapreduce.calls.repeat.request import CallRequest
from clmapreduce.device.array import DeviceArray, Part
from clmapreduce.device.cache import Cache
from clmapreduce.device.context import Context
from clmapreduce.device.foreign import is_wrapped

PLAIN = (type(None), str, bool, int)
"""Types of keywords that tell apart what is computed. A number such as `initial` is part of a formula: those calls are
prepared each time.
"""
KINDS = (DeviceArray, Part)
"""Types of arrays that lie on one device."""
Prepare = Callable[[], "Prepared | list[Any]"]


def run(
    what: Hashable, values: Sequence[Any], options: Options, more: Mapping[str, Any], prepare: Prepare
) -> list[Any]:
    """The results of a call. what: the primitive, or what stands for all that are equal to it. more: its keywords
    beside the options. prepare: everything up to the launch; the results where nothing needs launching.
    """
    request = _request(what, values, options, more)
    if request is None:
        prepared = prepare()
        return prepared.run() if isinstance(prepared, Prepared) else prepared
    context: Context = values[0].context
    repeated: Cache[ReadyCall | None] = context.caches().repeated
    known, ready = repeated.find(request)
    if ready is not None and (options.out is None or ready.takes(options.out, values)):
        results: list[Any] = ready(context, values, options.wait_for, options.out)
        return results
    prepared = prepare()
    if not isinstance(prepared, Prepared):
        return prepared
    if not known:  # many calls are made once: what the next one needs is not made for them
        repeated.put(request, None)
    elif ready is None and _is_of_its_arrays(prepared, values):
        repeated.put(request, ReadyCall(prepared))
    return prepared.run()


def _request(
    what: Hashable, values: Sequence[Any], options: Options, more: Mapping[str, Any]
) -> CallRequest | None:
    """What a call depends on; None where a value is no array that begins with its device memory, or one is elsewhere,
    and where keywords say more than names and switches.
    """
    context, out = options.context, options.out
    kinds: list[Hashable] = []
    for value in (*values, *(() if out is None else (out,))):
        if type(value) not in KINDS or value.first or (context is not None and value.context is not context):
            return None
        context = value.context
        kinds.append((value.shape, value.dtype))
    plain = options.tiles is None and type(options.mode) is str
    if context is None or not values or not plain or (out is not None and is_wrapped(out)):
        return None
    words: list[Hashable] = [what, options.mode]
    for name, word in more.items():
        if type(word) not in PLAIN and not isinstance(word, np.dtype):
            return None
        words.append((name, type(word), word))
    return CallRequest(tuple(words), tuple(kinds[: len(values)]))


def _is_of_its_arrays(prepared: Prepared, values: Sequence[Any]) -> bool:
    """Whether a call is one plan on just these arrays, which gives whole results."""
    inputs = prepared.call.inputs
    same = len(inputs) == len(values) and all(one.value is value for one, value in zip(inputs, values, strict=True))
    return same and prepared.is_plain and is_repeatable(prepared)
