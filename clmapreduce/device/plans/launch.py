"""The launches of a plan, and its tables in device memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

import hostsched
from clmapreduce.device.runtime import Built, take, translated
from clmapreduce.domain.launch_table import LaunchTable
from clmapreduce.plan import Stage


class Launch:
    """A stage with its kernel built and its numbers typed: only the buffers are missing."""

    __slots__ = (
        "_arguments", "_built", "_group_size", "_groups", "_index", "_reads", "_whole", "_work", "_writes", "kernel",
    )  # fmt: skip

    def __init__(self, stage: Stage, built: Built, work: float) -> None:
        index = np.int32 if stage.spec.narrow else np.int64
        self._index = index
        self._built, self.kernel = built, built.kernel
        self._groups, self._group_size = stage.groups, stage.group_size
        self._arguments: tuple[str | np.generic[Any], ...] = tuple(
            a if isinstance(a, str) else (index(a[1]) if a[0] == "idx" else np.int32(a[1])) for a in stage.arguments
        )
        self._reads, self._writes = stage.reads, stage.writes
        self._work, self._whole = work, stage.whole

    def job(self, arrays: Mapping[str, Any]) -> hostsched.KernelJob:
        """The job on named arrays: Buffers, NumPy scalars for values passed as arguments, tuples of a Buffer and whole
        numbers.
        """
        return self._job(arrays, 0, self._groups, self._work)

    def part(self, arrays: Mapping[str, Any], first: int, groups: int) -> hostsched.KernelJob:
        """As `job`, for some of the groups, from number `first` on. They go out as one launch."""
        return self._job(arrays, first, groups, 0.0)

    def number(self, value: int) -> np.generic[Any]:
        """A whole number of the type that its indices have."""
        return self._index(value)

    def _job(self, arrays: Mapping[str, Any], first: int, groups: int, work: float) -> hostsched.KernelJob:
        args: list[Any] = []
        for name in self._arguments:
            value = arrays[name] if isinstance(name, str) else name
            if isinstance(value, tuple):  # an array and its strides, as wide as this kernel's own indices
                args += (value[0], *map(self._index, value[1:]))
            else:
                args.append(value)
        return hostsched.KernelJob(
            self.kernel,
            groups,
            self._group_size,
            tuple(args),
            _buffers(self._reads, arrays),
            _buffers(self._writes, arrays),
            work,
            first,
            self._whole,
        )

    def slots(self, constants: Mapping[str, tuple[Any, ...]], numbers: Collection[str]) -> hostsched.Launch:
        """As a launch of a replay, arrays by name."""
        args: list[Any] = []
        for name in self._arguments:
            args.append(name)
            if isinstance(name, str):
                args += map(self._index, constants.get(name, ()))
        reads = tuple(name for name in self._reads if name not in numbers)
        return hostsched.Launch(
            self.kernel, self._groups, self._group_size, tuple(args), reads, self._writes, self._work,
            self._whole,
        )


def _buffers(names: Sequence[str], arrays: Mapping[str, Any]) -> tuple[hostsched.Buffer, ...]:
    buffers = []
    for name in names:
        value = arrays[name]
        if isinstance(value, tuple):
            value = value[0] if value else None
        if isinstance(value, hostsched.Buffer):
            buffers.append(value)
    return tuple(buffers)


class SentTable:
    """A table's copy in device memory, which returns to the arena with it. Stages that read it wait for the copy on the
    device: contexts make these tables under their lock, where no thread may wait for a driver.
    """

    __slots__ = ("_queue", "buffer")

    def __init__(self, table: LaunchTable, queue: hostsched.Queue) -> None:
        values = table.values.reshape(-1).view(np.uint8)
        with translated():
            self._queue, self.buffer = queue, take(queue, values.nbytes)
            if values.size:  # the queue keeps the values until the copy has ended
                hostsched.JobGraph([hostsched.WriteJob(self.buffer, values)]).submit(queue)

    def __del__(self) -> None:
        if hasattr(self, "buffer"):
            self._queue.arena.give(self.buffer)
