"""Built programs, and the kernels in them."""

from __future__ import annotations

import math
from typing import Any

import pyopencl as cl
from pyopencl._cl import _Program

from hostsched.device.locked_context import LockedContext
from hostsched.driver import opencl
from hostsched.driver.failures import failure_of
from hostsched.errors import OutOfDeviceMemory
from hostsched.kernels.pace import Pace
from hostsched.kernels.versions import Versions, versions_of

__all__ = ["Kernel", "Program", "program_bytes"]

# What a program of one kernel holds: 1.0 MiB on PoCL 3.0, 1.8 on Intel's runtime 2026.22, where its binary has 7 KiB.
# Kernels of 60 KB of source held as much. Not measured on GPUs, where compiled code is not in the host's memory.
_PROGRAM_BYTES = {"cpu": 7 << 18}
_OTHER_PROGRAM_BYTES = 1 << 19


class Kernel:
    """One kernel of a built program. `cl` is pyopencl's object; its arguments are set and it is enqueued under the
    queue's lock.

    `max_group_size` is the largest work-group it runs in: the driver's answer, or the size that it was compiled for
    (NVIDIA's answers 256 for kernels that require 512, and runs them). `local_memory` is the bytes of local memory that
    it declares, `nbytes` the host memory that its program holds, by estimate, `pace` how long its operations take,
    `versions` the launches of it that others must wait for, if the driver needs that, `program` what it was made from.
    """

    __slots__ = (
        "cl", "local_memory", "max_group_size", "name", "nbytes", "num_args", "pace", "program", "space", "versions",
    )  # fmt: skip

    def __init__(self, program: _Program, name: str, space: LockedContext, other: Kernel | None = None) -> None:
        self.cl = kernel = opencl.new_kernel(program, name)
        self.program = program
        self.pace: Pace = other.pace if other else Pace(space.device.facts)
        self.versions: Versions | None = other.versions if other else versions_of(space.device.facts)
        self.name = name
        self.space = space
        self.num_args = opencl.argument_count(kernel)
        self.nbytes = program_bytes(space)
        device = space.device.cl_device
        self.max_group_size = max(
            int(opencl.group_info(kernel, cl.kernel_work_group_info.WORK_GROUP_SIZE, device)),
            math.prod(opencl.group_info(kernel, cl.kernel_work_group_info.COMPILE_WORK_GROUP_SIZE, device)),
        )
        self.local_memory = int(opencl.group_info(kernel, cl.kernel_work_group_info.LOCAL_MEM_SIZE, device))

    def twin(self, constants: tuple[Any, ...]) -> Kernel:
        """A copy of the kernel with separate arguments, of which the scalars `constants` (as for Queue.launch_checked)
        are set. The caller holds the lock.

        It is made from the program of this kernel, which is stored here: when asked for a kernel's program, Intel's
        runtime (2026.2) once returned one that it then refused.

        Raises LaunchError where a scalar is not of the size that the kernel declares.
        """
        try:
            twin = Kernel(self.program, self.name, self.space, self)
            if constants:
                opencl.set_scalars(twin.cl, constants)
        except cl.Error as error:
            raise failure_of(error, f"preparing kernel {self.name}") from error
        return twin

    def __repr__(self) -> str:
        return f"<Kernel {self.name} on {self.space.device.name!r}>"


def program_bytes(space: LockedContext) -> int:
    """The host memory that a program of one kernel holds, by estimate."""
    return _PROGRAM_BYTES.get(space.device.facts.kind, _OTHER_PROGRAM_BYTES)


class Program:
    """A built program; `kernel(name)` gives its kernels."""

    def __init__(self, program: _Program, source: str, space: LockedContext) -> None:
        self.cl = program
        self.source = source
        self._space = space
        self._kernels: dict[str, Kernel] = {}

    @property
    def kernel_names(self) -> list[str]:
        """The names of its kernels."""
        try:
            names = opencl.program_info(self.cl, cl.program_info.KERNEL_NAMES)
        except cl.Error as error:
            raise failure_of(error, "asking for the kernels of a program") from error
        return [name for name in str(names).split(";") if name]

    def kernel(self, name: str) -> Kernel:
        """The kernel called `name`, always the same object.

        Raises KeyError with the names of the kernels, and OutOfDeviceMemory if the kernel declares more local memory
        than the device has (some drivers end the process when such a kernel is launched).
        """
        kernel = self._kernels.get(name)
        if kernel is not None:
            return kernel
        with self._space.lock:
            if name not in self._kernels:
                self._kernels[name] = self._make(name)
            return self._kernels[name]

    def __repr__(self) -> str:
        return f"<Program with {', '.join(self.kernel_names) or 'no kernels'} on {self._space.device.name!r}>"

    def _make(self, name: str) -> Kernel:
        try:
            kernel = Kernel(self.cl, name, self._space)
        except cl.Error as error:
            # Drivers give this code for other causes too. A name in the program's own list is not a wrong name.
            if error.code != cl.status_code.INVALID_KERNEL_NAME or name in self.kernel_names:
                raise failure_of(error, f"making kernel {name}") from error
            names = ", ".join(self.kernel_names) or "none"
            raise KeyError(f"the program has no kernel {name!r}; its kernels: {names}") from error
        room = self._space.device.facts.local_memory
        if kernel.local_memory > room:
            raise OutOfDeviceMemory(
                f"kernel {name} declares {kernel.local_memory} bytes of local memory, "
                f"{self._space.device.name!r} has {room}; render it with a smaller tile or block"
            )
        return kernel
