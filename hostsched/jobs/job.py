"""Jobs: one launch, copy, fill or mapping each, with what it reads and writes.

A job owns its buffers and arrays: setting a kernel argument does not keep its buffer alive. `enqueue` hands the job to
a queue with the events to wait for; `JobGraph` calls it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyopencl as cl

from hostsched.kernels.pace import Pace
from hostsched.kernels.program import Kernel
from hostsched.memory.buffer import Buffer
from hostsched.queue.queue import Queue

__all__ = ["CopyJob", "FillJob", "Job", "KernelJob", "MapJob", "ReadJob", "WriteJob"]


@dataclass(frozen=True, slots=True)
class KernelJob:
    """`groups` work-groups of `group_size` work-items run `kernel` on `args`: Buffers, and NumPy scalars of the exact
    C types.

    Every Buffer in `args` must be in `reads`, `writes` or both; else ValueError, since a wait would be missing. `work`
    is the approximate number of operations of the launch; 0 if it is unknown. `first` is the number of groups before
    these, which other launches run. A launch with much work is cut into pieces: its kernel computes its group as
    `get_group_id(0) + get_global_offset(0) / group_size + get_global_offset(1) + (get_global_offset(2) << 30)`, and
    must not use the number of groups. A `whole` one is never cut.
    """

    kernel: Kernel
    groups: int
    group_size: int
    args: tuple[Buffer | np.generic[Any], ...]
    reads: tuple[Buffer, ...]
    writes: tuple[Buffer, ...]
    work: float = 0.0
    first: int = 0
    whole: bool = False

    @property
    def pace(self) -> Pace:
        return self.kernel.pace

    @property
    def seconds(self) -> float:
        """The expected duration, from the kernel's measured speed."""
        return self.work * self.kernel.pace.seconds if self.work else 0.0

    def __post_init__(self) -> None:
        for position, arg in enumerate(self.args):
            if type(arg) is Buffer and arg not in self.reads and arg not in self.writes:
                raise ValueError(
                    f"argument {position} of {self.kernel.name} is a Buffer that is neither in reads nor in writes"
                )

    def enqueue(self, queue: Queue, waits: Sequence[cl.Event]) -> cl.Event:
        return queue.launch(self.kernel, self.groups, self.group_size, self.args, waits, self.first)

    def enqueue_piece(self, queue: Queue, first: int, groups: int, waits: Sequence[cl.Event]) -> cl.Event:
        """Enqueues `groups` of the groups, from number `first` on."""
        return queue.launch(self.kernel, groups, self.group_size, self.args, waits, self.first + first)


@dataclass(frozen=True, slots=True)
class ReadJob:
    """Copies `target.nbytes` bytes of `buffer`, from byte `offset` on, into the C-contiguous array `target`."""

    seconds: ClassVar[float] = 0.0
    buffer: Buffer
    target: np.ndarray[Any, Any]
    offset: int = 0

    @property
    def reads(self) -> tuple[Buffer, ...]:
        return (self.buffer,)

    @property
    def writes(self) -> tuple[Buffer, ...]:
        return ()

    def enqueue(self, queue: Queue, waits: Sequence[cl.Event]) -> cl.Event:
        return queue.read(self.buffer, self.target, self.offset, waits)


@dataclass(frozen=True, slots=True)
class WriteJob:
    """Copies the C-contiguous array `source` into `buffer`, from byte `offset` on. `source` must not change until it
    has ended.
    """

    seconds: ClassVar[float] = 0.0
    buffer: Buffer
    source: np.ndarray[Any, Any]
    offset: int = 0

    @property
    def reads(self) -> tuple[Buffer, ...]:
        return ()

    @property
    def writes(self) -> tuple[Buffer, ...]:
        return (self.buffer,)

    def enqueue(self, queue: Queue, waits: Sequence[cl.Event]) -> cl.Event:
        return queue.write(self.buffer, self.source, self.offset, waits)


@dataclass(frozen=True, slots=True)
class CopyJob:
    """Copies `nbytes` bytes from `source` to `target` on the device; the two ranges do not overlap."""

    seconds: ClassVar[float] = 0.0
    source: Buffer
    target: Buffer
    nbytes: int
    source_offset: int = 0
    target_offset: int = 0

    @property
    def reads(self) -> tuple[Buffer, ...]:
        return (self.source,)

    @property
    def writes(self) -> tuple[Buffer, ...]:
        return (self.target,)

    def enqueue(self, queue: Queue, waits: Sequence[cl.Event]) -> cl.Event:
        return queue.copy(self.source, self.target, self.nbytes, self.source_offset, self.target_offset, waits)


@dataclass(frozen=True, slots=True)
class FillJob:
    """Repeats `pattern` (1, 2, 4, … 128 bytes) over the first `nbytes` bytes of `buffer`, a multiple of the pattern's
    length.
    """

    seconds: ClassVar[float] = 0.0
    buffer: Buffer
    pattern: bytes
    nbytes: int

    @property
    def reads(self) -> tuple[Buffer, ...]:
        return ()

    @property
    def writes(self) -> tuple[Buffer, ...]:
        return (self.buffer,)

    def enqueue(self, queue: Queue, waits: Sequence[cl.Event]) -> cl.Event:
        return queue.fill(self.buffer, self.pattern, self.nbytes, waits)


@dataclass(frozen=True, slots=True)
class MapJob:
    """Makes the device's writes visible in the host array of `buffer` (see Arena.borrow), by mapping and unmapping it.
    """

    seconds: ClassVar[float] = 0.0
    buffer: Buffer

    @property
    def reads(self) -> tuple[Buffer, ...]:
        return (self.buffer,)

    @property
    def writes(self) -> tuple[Buffer, ...]:
        return ()

    def enqueue(self, queue: Queue, waits: Sequence[cl.Event]) -> cl.Event:
        return queue.map(self.buffer, waits)


Job = KernelJob | ReadJob | WriteJob | CopyJob | FillJob | MapJob
