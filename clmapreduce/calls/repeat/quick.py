"""Calls of primitives on whole arrays of the device: one look finds the ready call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from clmapreduce.calls.options import Options
from clmapreduce.calls.repeat.ready import KINDS, ReadyCall
from clmapreduce.calls.repeat.repeated import ready_call
from clmapreduce.calls.repeat.request import kind_of_number, words_of
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.foreign import is_wrapped

P = ParamSpec("P")
T = TypeVar("T")


def quickly_repeated(call: Callable[P, T]) -> Callable[P, T]:
    """The `__call__` of a primitive that goes straight to the ready call of equal shapes and dtypes, where `run` in
    `repeated` has one: its checks have passed then. All other calls go on as before.
    """
    plain = _plain(call)

    @wraps(call)
    def with_ready_call(*args: P.args, **keywords: P.kwargs) -> T:
        out: Any = None
        words: tuple[Hashable, ...] = ()
        if keywords:
            out = keywords.get("out")
            known = all(name in plain or name in ("mode", "out") for name in keywords)
            own = words_of((name, word) for name, word in keywords.items() if name != "out") if known else None
            if own is None:
                return call(*args, **keywords)
            words = own
        primitive: Any = args[0]
        representative = primitive.representative
        values: Any = args[1:]
        key, context = request_of((representative, *values), words)
        if context is None:
            key, context = _request_with_numbers(representative, values, words)
        if context is None or not (out is None or _may_hold(out, context)):
            return call(*args, **keywords)
        ready: ReadyCall | None = context.caches().quick.get(key)
        if ready is not None and (out is None or ready.takes(out, values)):
            results = ready.on(context, values, (), out)
            return cast("T", results[0] if len(results) == 1 else tuple(results))
        result = call(*args, **keywords)
        mode: Any = keywords.get("mode", "auto")
        ready = ready_call(representative, values, mode, {name: keywords.get(name, plain[name]) for name in plain})
        if ready is not None:
            context.caches().quick.put(key, ready)
        return result

    return with_ready_call


def request_of(operation: Sequence[Any], words: tuple[Hashable, ...] = ()) -> tuple[Hashable, Context | None]:
    """What a call on whole arrays of one context depends on, and that context; None where a value is anything else.
    operation: what is computed, and the values behind it. words: what it depends on as well.
    """
    kinds = (operation[0], *words)
    context: Context | None = None
    for value in operation[1:]:
        if type(value) not in KINDS or value.first or (context is not value.context and context is not None):
            return None, None
        context = value.context
        kinds += (value.shape, value.dtype)
    return kinds, context


def _request_with_numbers(
    what: Hashable, values: Sequence[Any], words: tuple[Hashable, ...]
) -> tuple[Hashable, Context | None]:
    """As `request_of`, of values among which there are numbers."""
    arrays: list[Any] = []
    numbers: tuple[Hashable, ...] = ()
    for value in values:
        kind = None
        if type(value) in KINDS:
            arrays.append(value)
        elif type(value) is np.ndarray or (kind := kind_of_number(value)) is None:
            return None, None
        numbers += (kind,)
    return request_of((what, *arrays), (*words, numbers))


def _may_hold(out: Any, context: Context) -> bool:
    """Whether results may go straight into `out`."""
    return type(out) is DeviceArray and out.context is context and not is_wrapped(out)


def _plain(call: Callable[..., Any]) -> Mapping[str, Any]:
    """The keywords beside the options, as `run` of a call without any gets them."""
    options = {*Options.__dataclass_fields__, "progress"}
    parameters = inspect.signature(call).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in options}
