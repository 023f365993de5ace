"""Every call that reaches an OpenCL driver and may fail: the one place that talks to drivers.

The other files call these by name (`opencl.flush(queue)`) and keep pyopencl's classes and constants for types alone.
Tests replace a name here by a function that fails, and so see what each failure of a driver leads to. The names are
pyopencl's own functions, not functions around them: a warm call goes through ten of them.
"""

from __future__ import annotations

from typing import Any, cast

import pyopencl as cl
from pyopencl._cl import _Program

__all__ = [
    "argument_count", "build_log", "build_program", "context_of", "copy", "enqueue_kernel", "fill", "finish", "flush",
    "get_devices", "get_platforms", "group_info", "map_buffer", "marker", "new_buffer", "new_context", "new_kernel",
    "new_program", "new_queue", "profiled", "program_info", "queue_of", "set_buffers", "set_scalars", "shared",
    "status", "unmap", "wait",
]  # fmt: skip

get_platforms = cl.get_platforms
get_devices = cl.Platform.get_devices

new_context = cl.Context
new_queue = cl.CommandQueue
new_buffer = cl.Buffer

new_program = _Program
build_program: Any = _Program._build
program_info: Any = _Program.get_info
new_kernel = cl.Kernel
group_info = cl.Kernel.get_work_group_info
# set_args() spends 6.5 us on each NumPy scalar, these 0.05 us (pyopencl 2026.1.4); they are what its own generated
# launchers call.
set_buffers: Any = cl.Kernel._set_arg_multi  # type: ignore[attr-defined]
set_scalars: Any = cl.Kernel._set_arg_buf_multi  # type: ignore[attr-defined]

enqueue_kernel = cl.enqueue_nd_range_kernel
copy = cl.enqueue_copy
fill = cl.enqueue_fill_buffer
map_buffer: Any = cl.enqueue_map_buffer
unmap: Any = cl.MemoryMap.release
marker = cl.enqueue_marker
flush = cl.CommandQueue.flush
finish = cl.CommandQueue.finish

wait = cl.Event.wait
profiled: Any = cl.Event.get_profiling_info

_STATUS = cl.event_info.COMMAND_EXECUTION_STATUS


def status(event: cl.Event) -> int:
    """The status of a command: 0 once it has run, negative once it has failed, positive before."""
    return cast(int, event.get_info(_STATUS))


def queue_of(event: cl.Event) -> Any:
    """The command queue of a command's event; None of a user event."""
    return event.get_info(cl.event_info.COMMAND_QUEUE)


def context_of(event: cl.Event) -> cl.Context:
    """The context of an event."""
    return cast(cl.Context, event.get_info(cl.event_info.CONTEXT))


def shared(buffer: cl.Buffer) -> cl.Buffer:
    """Another reference to a buffer: its memory is freed once the last one has gone."""
    return cast(cl.Buffer, cl.Buffer.from_int_ptr(buffer.int_ptr, True))


def argument_count(kernel: cl.Kernel) -> int:
    """How many arguments a kernel takes."""
    return int(kernel.num_args)


def build_log(program: _Program, device: cl.Device) -> str:
    """What the compiler said when it built a program."""
    return str(program.get_build_info(device, cl.program_build_info.LOG))
