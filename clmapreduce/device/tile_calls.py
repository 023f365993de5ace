"""Calls on device arrays, tile by tile: host arrays go in, a result comes out, two tiles are on their way at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import hostsched
from clmapreduce.device.array import DeviceArray, NumpyArray, empty
from clmapreduce.device.context import Context
from clmapreduce.device.host_array import HostArray
from clmapreduce.device.runtime import translated
from clmapreduce.errors import Cancelled
from clmapreduce.plan import IN_FLIGHT

Call = Callable[[list[DeviceArray]], DeviceArray]


class TileCalls:
    """Tiles of one call. Copies go to queues of their own, and wait for launches on events alone. A context manager: at
    its end all results are in their arrays; after an error nothing writes to them any more.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._flying: deque[tuple[list[hostsched.Submission], list[DeviceArray]]] = deque()
        self._cancellations = context.queue.cancellations

    def __enter__(self) -> TileCalls:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if error is None:
            self.land()
            return
        for queue in (self._context.queue, *self._context.copy_queues):
            with suppress(hostsched.HostSchedError):
                queue.finish()
        self._flying.clear()

    def run(self, sources: Sequence[tuple[str, NumpyArray]], target: NumpyArray, call: Call) -> None:
        """Submits one tile: the arrays of `sources`, with what errors call them, become the arguments of `call`, whose
        result goes to `target`, which is contiguous. Waits for the tile before the last one; there Ctrl-C gets through.
        Raises Cancelled, and ShapeError for a file that became shorter.
        """
        if len(self._flying) == IN_FLIGHT:
            self._land_one()
        if self._context.queue.cancellations != self._cancellations:
            raise Cancelled("the call was cancelled between two tiles")
        to_device, from_device = self._context.copy_queues
        arrays, jobs = [], []
        for name, values in sources:
            array = empty(values.shape, values.dtype, self._context)
            arrays.append(array)
            if values.nbytes:
                jobs.append(hostsched.WriteJob(array.buffer, HostArray(values, 1, name).part(0, values.nbytes)))
        with translated():
            submissions = [hostsched.JobGraph(jobs).submit(to_device)] if jobs else []
        result = call(arrays)
        with translated():
            if target.nbytes:
                part = HostArray(target, 1, "out").part(0, target.nbytes)
                submissions.append(hostsched.JobGraph([hostsched.ReadJob(result.buffer, part)]).submit(from_device))
        self._flying.append((submissions, [*arrays, result]))

    def land(self) -> None:
        """Waits for all tiles on their way."""
        while self._flying:
            self._land_one()

    def _land_one(self) -> None:
        with translated():
            for submission in self._flying[0][0]:
                submission.wait()
        self._flying.popleft()
