"""Calls of primitives on arrays alone, from the second one on: on device arrays equal calls only bind and submit, on
short arrays of the host they take the plan that was built, and what was settled for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Argument, Arguments
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared, prepare
from clmapreduce.calls.repeat.ready import KINDS, ReadyCall, is_repeatable
from clmapreduce.calls.repeat.request import CallRequest, kind_of_number, words_of
from clmapreduce.calls.repeat.staged import SHORT, StagedCall, is_staged
from clmapreduce.device.context import Context, context_of
from clmapreduce.device.foreign import is_wrapped
from clmapreduce.device.host_array import check_file
from clmapreduce.device.plans.cache import Cache
from clmapreduce.device.runtime import translated
from clmapreduce.formula.formula import Access

Prepare = Callable[[], "Prepared | list[Any]"]


class HostCall:
    """A call with arrays of the host, as far as their shapes and dtypes settle it. It holds neither its context nor its
    plan, whose kernels go with those that were not used for longest.
    """

    def __init__(self, prepared: Prepared) -> None:
        arguments, self._in_step = prepared.call.arguments, prepared.call.in_step
        self._inputs = tuple(replace(one, value=None) for one in arguments.inputs)
        self._shapes = arguments.shape, arguments.on_device, arguments.batch, arguments.reach
        self._plan, self._outputs = prepared.executable.key, tuple(prepared.outputs)

    def __call__(self, context: Context, values: Sequence[Any], options: Options) -> list[Any] | None:
        """The results; None where the plan is gone. values: arrays of the same shapes and dtypes, in their order."""
        executable = context.caches().plans.get(self._plan)
        if executable is None:
            return None
        inputs = tuple(replace(one, value=value) for one, value in zip(self._inputs, values, strict=True))
        arguments = Arguments(context, inputs, *self._shapes)
        return prepare(arguments, executable, self._outputs, options, self._in_step).run()


def run(
    what: Hashable, values: Sequence[Any], options: Options, more: Mapping[str, Any], prepare: Prepare
) -> list[Any]:
    """The results of a call. what: the primitive's representative. more: its keywords beside the
    options. prepare: everything up to the launch; the results where nothing needs launching.
    """
    context, request = _request(what, values, options, more)
    if context is None:
        prepared = prepare()
        return prepared.run() if isinstance(prepared, Prepared) else prepared
    repeated: Cache[ReadyCall | StagedCall | HostCall | None] = context.caches().repeated
    known, ready = repeated.find(request)
    if type(ready) is StagedCall and ready.is_over:
        ready = None
    if type(ready) is StagedCall:
        staged = ready(context, values, options.wait_for)
        if staged is not None:
            return staged
    elif type(ready) is HostCall:
        again = ready(context, values, options)
        if again is not None:
            return again
    elif type(ready) is ReadyCall and (options.out is None or ready.takes(options.out, values)):
        results: list[Any] = ready.on(context, values, options.wait_for, options.out)
        return results
    prepared = prepare()
    if not isinstance(prepared, Prepared):
        return prepared
    if not known:  # many calls are made once: what the next one needs is not made for them
        repeated.put(request, None)
    elif ready is None and prepared.is_plain and _is_of_its_arrays(prepared, values):
        repeated.put(request, _ready(prepared))
    return prepared.run()


def _ready(prepared: Prepared) -> ReadyCall | StagedCall | HostCall:
    """What the next equal call takes."""
    if is_repeatable(prepared):
        return ReadyCall(prepared, overwrites=True)
    return StagedCall(prepared) if is_staged(prepared) else HostCall(prepared)


def ready_call(what: Hashable, values: Sequence[Any], mode: str, more: Mapping[str, Any]) -> ReadyCall | None:
    """The ready call that `run` makes in a mode, where there is one by now."""
    context, request = _request(what, values, Options(mode), more)
    entry = None if context is None else context.caches().repeated.get(request)
    return entry if type(entry) is ReadyCall else None


def _request(
    what: Hashable, values: Sequence[Any], options: Options, more: Mapping[str, Any]
) -> tuple[Context | None, CallRequest | None]:
    """Where a call runs, and what it depends on. None where a value is neither a short array of the host nor one that
    begins with its device memory, or one is elsewhere, and where keywords say more than names and switches. Raises
    ShapeError as `check_file`.
    """
    out, context, on_host = options.out, options.context, False
    if out is not None and type(out) not in KINDS:
        return None, None
    kinds: list[Hashable] = []
    for value in (*values, *(() if out is None else (out,))):
        kind: Any = type(value)
        if kind is np.ndarray and _is_short(value):
            on_host = True
            if value.base is not None:
                check_file(value, f"argument {len(kinds) + 1}")
            kinds.append((value.shape, value.dtype, False))
        elif kind in KINDS and not value.first and (context is None or value.context is context):
            context = value.context
            kinds.append((value.shape, value.dtype, True))
        elif (number := kind_of_number(value)) is not None:
            kinds.append(number)
        else:
            return None, None
    if not values or options.tiles is not None or type(options.mode) is not str:
        return None, None
    if out is not None and (on_host or is_wrapped(out)):
        return None, None
    words = words_of(more.items())
    if words is None:
        return None, None
    if on_host:
        context = context_of(context)
        with translated():
            limited = context.queue.arena.least_limit is not None
        if context.members or limited:
            return None, None
    return context, CallRequest((what, options.mode, *words), tuple(kinds[: len(values)]))


def _is_short(value: Any) -> bool:
    flags = value.flags
    return bool(0 < value.nbytes <= SHORT and flags.c_contiguous and flags.aligned and value.dtype.isbuiltin == 1)


def _is_of_its_arrays(prepared: Prepared, values: Sequence[Any]) -> bool:
    """Whether a call reads just these arrays and numbers, in their order, where they are. Behind them there may be
    numbers that its keywords settle.
    """
    inputs = prepared.call.inputs
    behind = all(one.signature.access is Access.ARGUMENT for one in inputs[len(values) :])
    return len(inputs) >= len(values) and behind and all(map(_is_of, inputs, values))


def _is_of(one: Argument, value: Any) -> bool:
    if type(value) is np.ndarray:
        return type(one.value) is np.ndarray and _place(one.value) == _place(value)
    if type(value) in KINDS and type(one.value) in KINDS:  # perhaps in another shape
        return one.value.memory is value.memory and (one.value.first, one.value.nbytes) == (0, value.nbytes)
    return one.signature.access is Access.ARGUMENT and kind_of_number(value) is not None


def _place(array: Any) -> tuple[Any, ...]:
    return array.ctypes.data, array.shape, array.dtype
