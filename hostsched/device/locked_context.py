"""An OpenCL context on one device, and the lock over it.

Enqueuing a kernel with another context's buffer is a segmentation fault, so every buffer and kernel names its context.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from typing import Any

import pyopencl as cl

from hostsched.device.device import Device
from hostsched.driver.refusal import guard

__all__ = ["LockedContext"]


class LockedContext:
    """What buffers and kernels know of their context: `device`, OpenCL's own object `cl`, and `lock`.

    `lock` is reentrant and held over every sequence of calls that must not be torn apart: a kernel's arguments and its
    launch, a buffer's events and the command that follows from them.
    """

    __slots__ = ("__weakref__", "cl", "device", "lock")

    def __init__(self, device: Device, context: cl.Context) -> None:
        self.device = device
        self.cl = context
        self.lock: AbstractContextManager[Any] = threading.RLock()
        guard(self)
