"""Results on their way from a device to an array of the host that somebody waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .graph import JobGraph
from .job import ReadJob
from .staged import SLOT

if TYPE_CHECKING:
    from .memory import Buffer
    from .queue import Queue

__all__ = ["HostRead", "read_back"]


class HostRead:
    """Copies `target.nbytes` bytes of `buffer`, from byte `offset` on, into the C-contiguous array of bytes `target`.

    `jobs` are to be submitted behind what writes the buffer; once they have ended, `finish` returns with the bytes in
    place. Few bytes, and any of a device that shares the host's memory, are a job. Many bytes of another device are
    copied by `finish`: they would need as much pinned memory as a job.
    """

    __slots__ = ("_buffer", "_offset", "_queue", "_target", "jobs")

    def __init__(self, queue: Queue, buffer: Buffer, target: np.ndarray[Any, Any], offset: int = 0) -> None:
        self._queue, self._buffer, self._target, self._offset = queue, buffer, target, offset
        facts = queue.facts
        at_once = facts.host_unified or (facts.maps_memory and target.nbytes <= SLOT)
        self.jobs: tuple[ReadJob, ...] = (ReadJob(buffer, target, offset),) if at_once else ()

    def finish(self) -> None:
        """Ctrl-C gets through. Raises LaunchError or OutOfDeviceMemory if the copy or the buffer's last write fails."""
        if not self.jobs:
            self._queue.read_now(self._buffer, self._target, self._offset)


def read_back(queue: Queue, buffer: Buffer, target: np.ndarray[Any, Any], offset: int = 0) -> None:
    """A HostRead, from beginning to end."""
    read = HostRead(queue, buffer, target, offset)
    if read.jobs:
        JobGraph(read.jobs).submit(queue).wait()
    read.finish()
