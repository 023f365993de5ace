"""State that queues on one device share: the OpenCL context, the lock over it, the programs built in it, its memory.

One context per device and process: buffers and events made through one queue may be used through any other of that
device.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections import OrderedDict, deque
from itertools import count
from typing import Any

import numpy as np
import pyopencl as cl

from hostsched.device.device import Device
from hostsched.device.locked_context import LockedContext
from hostsched.driver import opencl
from hostsched.driver.failures import failure_of
from hostsched.driver.refusal import opencl_in_use
from hostsched.errors import DeviceNotFound, OutOfDeviceMemory
from hostsched.kernels.build_record import BuildRecord
from hostsched.kernels.program import Program
from hostsched.memory.arena import Arena
from hostsched.queue.idle_queues import IdleQueues
from hostsched.settings import driver_settings

__all__ = ["SharedContext", "new_context", "shared_context"]

_MOST_BUILDS = 4096
_FEW_CONTEXTS = 4  # unused ones of a device at most. A driver may take a gigabyte for each, and Python frees them late.
_in_use: dict[Device, int] = {}  # contexts of a device that were in use when unused ones were freed last, or fewer

_registry_lock = threading.RLock()
_spaces: weakref.WeakSet[SharedContext] = weakref.WeakSet()


class SharedContext(LockedContext):
    """One OpenCL context and its shared state.

    `arena` is the context's memory; `programs` the programs that were built last, by source and options; `idle_queues`
    command queues that are not in use; `pinned` free host memory for reads of a few bytes; `staged` host memory for
    long copies, by its size; `failed` whether a command has failed; `builds` the last builds, oldest first; `number`
    the least number that no other context of the device has in this process.
    """

    __slots__ = ("arena", "builds", "failed", "idle_queues", "number", "pinned", "programs", "staged")

    def __init__(self, device: Device, context: cl.Context) -> None:
        super().__init__(device, context)
        with _registry_lock:
            taken = {space.number for space in _spaces if space.device == device}
            self.number: int = next(number for number in count() if number not in taken)
            _spaces.add(self)
        self.programs: OrderedDict[tuple[str, tuple[str, ...]], Program] = OrderedDict()
        self.builds: deque[BuildRecord] = deque(maxlen=_MOST_BUILDS)
        self.failed = False
        self.arena = Arena(self)
        self.idle_queues = IdleQueues()
        self.pinned: deque[np.ndarray[Any, Any]] = deque()
        self.staged: dict[int, deque[np.ndarray[Any, Any]]] = {}
        weakref.finalize(self, self.idle_queues.release).atexit = False


_own: dict[Device, SharedContext] = {}
_foreign: weakref.WeakValueDictionary[int, SharedContext] = weakref.WeakValueDictionary()


def shared_context(device: Device, context: cl.Context | None = None) -> SharedContext:
    """The context of `device` in this process, made on first use; or the one record of a caller's own `context`.

    Raises DeviceNotFound if `context` is none, or does not hold the device, or the driver makes none;
    OutOfDeviceMemory if it has no memory for one; ForkedProcess in a forked child.
    """
    opencl_in_use()
    with _registry_lock:
        if context is None:
            if device not in _own:
                _own[device] = SharedContext(device, _new_context(device))
            return _own[device]
        if not isinstance(context, cl.Context):
            raise DeviceNotFound(f"cl_context is a {type(context).__name__}; pass a pyopencl.Context with {device!r}")
        if device.cl_device not in context.devices:
            raise DeviceNotFound(f"the OpenCL context given holds {context.devices}, not {device!r}")
        # the record holds the context, so its address cannot be taken by another one meanwhile
        for candidate in (*_own.values(), *_foreign.values()):
            if candidate.cl == context and candidate.device == device:
                return candidate
        space = _foreign[context.int_ptr] = SharedContext(device, context)
        return space


def new_context(device: Device) -> cl.Context:
    """A new OpenCL context, with separate memory. Raises as `shared_context`."""
    opencl_in_use()
    return _new_context(device)


def _free_unused(device: Device) -> None:
    """Collects garbage if there may be some contexts of the device that nobody uses."""
    with _registry_lock:
        there = sum(space.device == device for space in _spaces)
        _in_use[device] = min(there, _in_use.get(device, 0))
        if there - _in_use[device] >= _FEW_CONTEXTS:
            gc.collect()
            _in_use[device] = sum(space.device == device for space in _spaces)


def _new_context(device: Device) -> cl.Context:
    """A new OpenCL context, after those that nobody uses any more have been freed. Raises OutOfDeviceMemory, or
    DeviceNotFound with the driver's answer and the settings that drivers read.
    """
    _free_unused(device)
    try:
        return opencl.new_context([device.cl_device])
    except cl.Error as error:
        failed = failure_of(error, f"making a context failed, though {device!r} is listed")
        if isinstance(failed, OutOfDeviceMemory):
            raise failed from error
        raise DeviceNotFound(f"{failed}{driver_settings()}") from error
