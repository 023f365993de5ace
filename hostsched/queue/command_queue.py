"""OpenCL's command queues: an idle one where there is one, else a new one."""

from __future__ import annotations

from typing import Any

import pyopencl as cl

from hostsched.driver import opencl
from hostsched.driver.failures import failure_of
from hostsched.queue.shared_context import SharedContext

__all__ = ["take_queue"]

_OUT_OF_ORDER = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
_PROFILING = cl.command_queue_properties.PROFILING_ENABLE


def take_queue(space: SharedContext, keeps_times: bool) -> tuple[cl.CommandQueue, int]:
    """A command queue, out of order where the device offers it, and its properties, by which it is laid by.

    Raises LaunchError or OutOfDeviceMemory where the driver makes none.
    """
    facts = space.device.facts
    properties: Any = (_OUT_OF_ORDER if facts.out_of_order else 0) | (_PROFILING if keeps_times else 0)
    try:
        idle = space.idle_queues.take(properties)
        return idle or opencl.new_queue(space.cl, space.device.cl_device, properties), properties
    except cl.Error as error:
        raise failure_of(error, f"making a queue on {facts.name!r}") from error
