"""pyopencl's arrays, used in place: one context of ours per OpenCL context, one Buffer per buffer."""

from __future__ import annotations

import threading
from typing import Any

import hostsched
from clmapreduce.device.array import DeviceArray, empty
from clmapreduce.device.context import Context
from clmapreduce.device.exchange.shared import home_of, is_shared, share
from clmapreduce.device.runtime import translated
from clmapreduce.device.several.split import is_split
from clmapreduce.dtypes import check_stored
from clmapreduce.errors import DeviceError, ShapeError

_contexts: dict[int, tuple[Any, Context]] = {}
_lock = threading.RLock()


def is_foreign(x: Any) -> bool:
    """Whether `x` is a pyopencl.array.Array."""
    return type(x).__module__.startswith("pyopencl.array") and hasattr(x, "base_data")


def wrap_foreign(x: Any, context: Context | None = None) -> DeviceArray:
    """A DeviceArray over a pyopencl array's own memory.

    Without a context, one on the array's OpenCL context is made and kept.
    """
    if not x.flags.c_contiguous:
        raise ShapeError(f"a pyopencl array with strides {x.strides} cannot be used in place; make it contiguous first")
    if x.size == 0:
        return empty(x.shape, check_stored(x.dtype, "the array"), context or foreign_context(x))
    if x.offset:
        raise ShapeError(f"a pyopencl array with an offset of {x.offset} bytes cannot be used in place; pass x.copy()")
    data = x.data
    if not hasattr(type(data), "from_int_ptr"):
        raise DeviceError(f"a pyopencl array in a {type(data).__name__} cannot be used in place; pass x.get()")
    if data.associated_memobject is not None:  # no command on it would wait for those on the whole buffer
        raise DeviceError("a pyopencl array in a part of a buffer cannot be used in place; pass x.copy()")
    home = context or home_of(data) or foreign_context(x)
    if data.context != home.queue.context:
        raise DeviceError(
            "the pyopencl array lives in another OpenCL context than the one asked for; pass context=None, "
            "or copy it through the host"
        )
    with translated():
        for event in home.queue.admit(getattr(x, "events", ())):
            home.queue.wait(event)
    memory = share(data, home, lambda: _wrapped(data, home))
    return DeviceArray(home, memory, x.shape, check_stored(x.dtype, "the array"))


def is_wrapped(x: DeviceArray) -> bool:
    """Whether `x` lies in memory that a pyopencl array has as well."""
    return not is_split(x) and is_shared(x.memory)  # to ask for its memory would move one that lies in pieces


def _wrapped(data: Any, home: Context) -> tuple[Any, hostsched.Buffer]:
    """A reference of our own to a pyopencl buffer, and a Buffer over it. An array of the host that the buffer uses in
    place lives as long as it.
    """
    own = type(data).from_int_ptr(data.int_ptr, True)
    with translated():
        return own, home.queue.arena.from_cl(own, own.size, data.hostbuf)


def foreign_context(x: Any) -> Context:
    """Our context on a pyopencl array's OpenCL context and device."""
    owner = x.context if x.context is not None else x.base_data.context
    key = owner.int_ptr
    with _lock:
        if key not in _contexts:
            device = x.queue.device if x.queue is not None else owner.devices[0]
            _contexts[key] = (owner, Context(device, cl_context=owner))
        return _contexts[key][1]
