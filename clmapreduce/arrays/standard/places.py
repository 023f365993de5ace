"""Where arrays are, by the array-API standard's keyword and method."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from clmapreduce.arrays.operands import on_device
from clmapreduce.checks import quoted
from clmapreduce.device.array import DeviceArray, upload
from clmapreduce.device.context import Context, context_of, select_device, shared_context
from clmapreduce.errors import ArgumentError


def to_device(x: Any, device: Any, /, *, stream: Any = None) -> DeviceArray:
    """The array on a device: itself where it is there, else a copy by way of the host. device: as `cm.use` takes.
    Raises ArgumentError for a stream, which OpenCL does not have.
    """
    if stream is not None:
        raise ArgumentError(f"stream is {quoted(stream)}; OpenCL's commands wait for what they read, leave it out")
    x = on_device(x)
    return x if select_device(device) is x.device else upload(x.to_numpy(), home_on(device))


def home_on(device: Any) -> Context:
    """The thread's context where it is on a device, else the one that all share there."""
    chosen, current = select_device(device), context_of(None)
    return current if current.device is chosen else shared_context(chosen)


def with_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes context=, as one that also takes the standard's device=; others as they are."""
    if "context" not in inspect.signature(function).parameters:
        return function

    @wraps(function)
    def placed(*values: Any, device: Any = None, **keywords: Any) -> Any:
        if device is None:
            return function(*values, **keywords)
        if keywords.get("context") is not None:
            raise ArgumentError("both device and context are passed; leave one out")
        return function(*values, **{**keywords, "context": home_on(device)})

    return placed
