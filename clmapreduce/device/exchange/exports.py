"""Exports of a DeviceArray to other libraries: pyopencl's arrays in the same memory, and DLPack of a copy."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

import hostsched
from clmapreduce.checks import quoted
from clmapreduce.device.context import Context
from clmapreduce.device.exchange.shared import share
from clmapreduce.device.runtime import translated
from clmapreduce.dtypes import DType
from clmapreduce.errors import ExportError

CPU = (1, 0)
"""DLPack's name for memory of the host."""


class Exports:
    """The ways out of a DeviceArray other than `to_numpy`."""

    __slots__ = ()
    context: Context
    memory: hostsched.Buffer
    shape: tuple[int, ...]
    dtype: DType
    first: int

    def host_view(self) -> np.ndarray[Any, Any] | None:
        """The memory of an array that lies in the host's (`from_dlpack` with copy=False), as a NumPy array; None for
        any other. Waits for what was called before. Calls that come later write to the same memory.
        """
        memory = self.memory
        if memory.host is None:
            return None
        with translated():
            hostsched.JobGraph([hostsched.MapJob(memory)]).submit(self.context.queue).wait()
        begin, nbytes = self.first * self.dtype.itemsize, math.prod(self.shape) * self.dtype.itemsize
        return memory.host[begin : begin + nbytes].view(self.dtype).reshape(self.shape)

    def to_pyopencl(self, queue: Any = None) -> Any:
        """A pyopencl.array.Array in the same memory: what is written to one is seen in the other, and the memory lives
        as long as either. An array split over several devices moves to the first.

        queue: the pyopencl.CommandQueue that it computes in, of this context; by default one that runs in order. What
        was called before is in the array's `events`, for which pyopencl waits. Commands on either array that come later
        do not know of each other: pass the pyopencl array itself to calls here, or its events as `wait_for`. Raises
        ArgumentError for another queue.
        """
        home, memory = self.context, self.memory
        if memory.host is not None:
            raise ExportError("this DeviceArray lies in memory of the host, not in a buffer of pyopencl; pass x.copy()")
        with translated():
            begin = self.first * self.dtype.itemsize
            theirs = hostsched.lend(home.queue, memory, self.shape, self.dtype, begin, queue)
        share(theirs.base_data, home, lambda: (memory.cl, memory))
        return theirs

    def __dlpack_device__(self) -> tuple[int, int]:
        """The host's memory: DLPack has no arrays of OpenCL that other libraries take."""
        return CPU

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        """The values as a DLPack capsule in host memory, a copy but for arrays that lie there (`from_dlpack` with
        copy=False): kernels may not write to memory that is mapped to the host (OpenCL 1.2, section 5.4.3). Waits for
        what computes them.

        Raises ExportError for copy=False of any other array, for another device than the host's, for a stream, and for
        dtypes that DLPack does not know: records, bfloat16 and numbers in several floats.
        """
        if dl_device is not None and tuple(dl_device) != CPU:
            raise ExportError(f"dl_device is {quoted(dl_device)}; a DeviceArray gives its values in host memory, {CPU}")
        if stream is not None:
            raise ExportError(f"stream is {quoted(stream)}; host memory has no streams, leave it out")
        if self.dtype.kind not in "biufc":
            raise ExportError(f"DLPack has no dtype {self.dtype}; pass to_numpy(), or convert with astype")
        more = {} if max_version is None else {"max_version": max_version}
        values = None if copy else self.host_view()
        if values is None and copy is False:
            raise ExportError("this DeviceArray gives its values to other libraries as a copy; leave out copy=False")
        return (np.asarray(self) if values is None else values).__dlpack__(**more)

    @property
    def __cuda_array_interface__(self) -> NoReturn:
        """Absent: `hasattr` says no. AttributeError gives the reason."""
        raise AttributeError(
            "a DeviceArray has no __cuda_array_interface__: OpenCL gives its memory no address that CUDA knows; pass "
            "to_numpy(), or the array itself to a from_dlpack, which copies it to the host"
        )
