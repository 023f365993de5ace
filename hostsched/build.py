"""Builds programs, once per context and text, and keeps their binaries on disk for the next process."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, cast

import pyopencl as cl
from pyopencl._cl import _Program

from . import opencl
from .context import SharedContext
from .disk_cache import cache_key, load, store
from .errors import OutOfDeviceMemory, ProgramBuildError
from .failures import failure_of
from .pace import Pace
from .refusal import guard
from .settings import usable_folder
from .versions import Versions, versions_of

if TYPE_CHECKING:
    from .queue import Queue

__all__ = ["Kernel", "Program", "build"]

_MAX_PROGRAMS = 512  # kept built per context, those used last
_MAX_BYTES = 224 << 20  # of those, by estimate
# What a program of one kernel holds: 1.0 MiB on PoCL 3.0, 1.8 on Intel's runtime 2026.22, where its binary has 7 KiB.
# Kernels of 60 KB of source held as much. Not measured on GPUs, where compiled code is not in the host's memory.
_PROGRAM_BYTES = {"cpu": 7 << 18}
_OTHER_PROGRAM_BYTES = 1 << 19
_FORBIDDEN = {
    "-cl-fast-relaxed-math": "it deletes the corrections of compensated sums and makes fmin drop a NaN",
    "-cl-unsafe-math-optimizations": "it deletes the corrections of compensated sums and reassociates range reductions",
}
_COMPLAINTS = (
    cl.status_code.BUILD_PROGRAM_FAILURE,
    cl.status_code.COMPILE_PROGRAM_FAILURE,
    cl.status_code.LINK_PROGRAM_FAILURE,
    cl.status_code.INVALID_BUILD_OPTIONS,
)


class Kernel:
    """One kernel of a built program. `cl` is pyopencl's object; its arguments are set and it is enqueued under the
    queue's lock.

    `max_group_size` is the largest work-group it runs in: the driver's answer, or the size that it was compiled for
    (NVIDIA's answers 256 for kernels that require 512, and runs them). `local_memory` is the bytes of local memory that
    it declares, `nbytes` the host memory that its program holds, by estimate, `pace` how long its operations take,
    `versions` the launches of it that others must wait for, if the driver needs that.
    """

    __slots__ = ("cl", "local_memory", "max_group_size", "name", "nbytes", "num_args", "pace", "space", "versions")

    def __init__(self, kernel: cl.Kernel, name: str, space: SharedContext, other: Kernel | None = None) -> None:
        self.cl = kernel
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
        """The same kernel with arguments of its own, the scalars `constants` (as for Queue.launch_checked) set. The
        lock is held.

        Raises LaunchError where a scalar is not of the size that the kernel declares.
        """
        try:
            made = Kernel(opencl.new_kernel(self.cl.program, self.name), self.name, self.space, self)
            if constants:
                opencl.set_scalars(made.cl, constants)
        except cl.Error as error:
            raise failure_of(error, f"preparing kernel {self.name}") from error
        return made

    def __repr__(self) -> str:
        return f"<Kernel {self.name} on {self.space.device.name!r}>"


def program_bytes(space: SharedContext) -> int:
    """The host memory that a program of one kernel holds, by estimate."""
    return _PROGRAM_BYTES.get(space.device.facts.kind, _OTHER_PROGRAM_BYTES)


class Program:
    """A built program; `kernel(name)` gives its kernels."""

    def __init__(self, program: _Program, source: str, space: SharedContext) -> None:
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

        Raises KeyError, naming the kernels there are, and OutOfDeviceMemory if it declares more local memory than the
        device has (some drivers kill the process when such a kernel is launched).
        """
        found = self._kernels.get(name)
        if found is not None:
            return found
        with self._space.lock:
            if name not in self._kernels:
                self._kernels[name] = self._make(name)
            return self._kernels[name]

    def __repr__(self) -> str:
        return f"<Program with {', '.join(self.kernel_names) or 'no kernels'} on {self._space.device.name!r}>"

    def _make(self, name: str) -> Kernel:
        try:
            kernel = Kernel(opencl.new_kernel(self.cl, name), name, self._space)
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


class _Compilers:
    """Holds the lock under which programs are built, one at a time: Intel's compiler may not run twice at once."""

    def __init__(self) -> None:
        self.lock: AbstractContextManager[Any] = threading.RLock()
        guard(self)


_compilers = _Compilers()


def build(
    queue: Queue, source: str, options: Sequence[str] = ("-cl-mad-enable",), dump_name: str | None = None
) -> Program:
    """The program that `source` (OpenCL C) gives on the queue's device with these compiler options.

    Built once per context, source and options, and kept while it is among those used last or a kernel of it is in use;
    the binary is kept on disk (see disk_cache). With $CLMR_DUMP_SOURCE set
    to a folder the source is also written there, under `dump_name`. Raises ProgramBuildError with the compiler's
    complaints, and ValueError for options that would spoil the accuracy promised.
    """
    space = queue.space
    key = (source, tuple(options))
    found = space.programs.get(key)
    if found is not None:
        with suppress(KeyError):  # another thread may have dropped it meanwhile
            space.programs.move_to_end(key)
        return found
    for option in " ".join(options).split():
        if option in _FORBIDDEN:
            raise ValueError(f"option {option} is refused: {_FORBIDDEN[option]}; -cl-mad-enable is as fast")
    with _compilers.lock:
        found = space.programs.get(key)
        if found is None:
            _dump(source, dump_name)
            found = Program(_built(space, source, " ".join(options)), source, space)
            most = max(1, min(_MAX_PROGRAMS, _MAX_BYTES // program_bytes(space)))
            while len(space.programs) >= most:
                space.programs.popitem(last=False)
            space.programs[key] = found
        return found


def _built(space: SharedContext, source: str, options: str) -> _Program:
    facts, device = space.device.facts, space.device.cl_device
    key = cache_key(source, options, facts.name, facts.version, facts.driver, facts.platform_version)
    # An included file may change behind the key's back. PoCL keeps its kernels on disk itself; asked for a binary, it
    # compiles every kernel for unknown group sizes as well: 5 s for one with a scan's barriers (PoCL 3.0).
    cacheable = "#include" not in source and not facts.traits.keeps_kernels
    binary = load(key) if cacheable else None
    if binary is not None:
        try:
            program = opencl.new_program(space.cl, [device], [binary])
            opencl.build_program(program, options.encode(), [device])
        except cl.Error:  # the driver no longer takes it: build from source
            pass
        else:
            return program
    program = _from_source_with_retries(space, source, options)
    if cacheable:
        with suppress(cl.Error):  # the program runs all the same
            store(key, cast("list[bytes]", opencl.program_info(program, cl.program_info.BINARIES))[0])
    return program


def _from_source_with_retries(space: SharedContext, source: str, options: str) -> _Program:
    """A build without an error in its log is tried again where the driver's traits say so."""
    for pause in space.device.facts.traits.retry_pauses:
        try:
            return _from_source(space, source, options)
        except ProgramBuildError as error:
            if "error" in error.log:  # in the source
                raise
        time.sleep(pause)
    return _from_source(space, source, options)


def _from_source(space: SharedContext, source: str, options: str) -> _Program:
    facts, device = space.device.facts, space.device.cl_device
    try:
        program = opencl.new_program(space.cl, source)
    except cl.Error as error:
        raise failure_of(error, f"making a program on {facts.name!r}") from error
    try:
        opencl.build_program(program, options.encode(), [device])
    except cl.Error as error:
        if error.code not in _COMPLAINTS:
            raise failure_of(error, f"building a program on {facts.name!r}") from error
        log = ""
        with suppress(cl.Error):
            log = opencl.build_log(program, device)
        raise ProgramBuildError(log, source, f"{facts.name!r} ({facts.platform})") from error
    return program


def _dump(source: str, name: str | None) -> None:
    folder = usable_folder("CLMR_DUMP_SOURCE")
    if folder is not None:
        stem = re.sub(r"[^A-Za-z0-9_.-]", "_", name or "program")
        (folder / f"{stem}-{cache_key(source)[:12]}.cl").write_text(source)
