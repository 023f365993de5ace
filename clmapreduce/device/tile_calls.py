"""Calls on device arrays, tile by tile: host arrays go in, a result comes out, two tiles are on their way at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import hostsched
from clmapreduce.device.array import DeviceArray, NumpyArray, empty
from clmapreduce.device.context import Context
from clmapreduce.device.host_array import HostArray
from clmapreduce.device.runtime import translated
from clmapreduce.errors import Cancelled
from clmapreduce.plan import IN_FLIGHT

Call = Callable[[list[DeviceArray]], Sequence[DeviceArray]]


@dataclass
class _Flying:
    """A tile on its way: its copies, the arrays that they use, what is done once they have ended, and the operations
    that are counted as done then.
    """

    submissions: list[hostsched.Submission]
    arrays: Sequence[Any]
    staging: hostsched.Staging
    then: Callable[[], None] | None
    operations: float = 0


class TileCalls:
    """Tiles of one call. Copies go to queues of their own, and wait for launches on events alone. A context manager: at
    its end all results are in their arrays; after an error nothing writes to them any more. counts: whether each
    element that is copied counts as an operation of `progress=`, once its tile is submitted; else somebody else counts.
    """

    def __init__(self, context: Context, counts: bool = True) -> None:
        self._context, self._counts = context, counts
        self._flying: deque[_Flying] = deque()
        self._cancellations = context.queue.cancellations

    def __enter__(self) -> TileCalls:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if error is None:
            self.land()
        else:
            self.abandon()

    @property
    def flying(self) -> int:
        """Tiles on their way."""
        return len(self._flying)

    @property
    def oldest_ended(self) -> bool:
        """Whether the oldest tile on its way has ended; does not wait."""
        return bool(self._flying) and all(submission.ended for submission in self._flying[0].submissions)

    def abandon(self) -> None:
        """Drops the tiles on their way, and waits until nothing writes to their targets any more."""
        for queue in (self._context.queue, *self._context.copy_queues):
            with suppress(hostsched.HostSchedError):
                queue.finish()
        self._flying.clear()

    def run(
        self, sources: Sequence[tuple[str, NumpyArray]], targets: Sequence[NumpyArray], call: Call,
        then: Callable[[], None] | None = None,
    ) -> None:  # fmt: skip
        """Submits one tile: the arrays of `sources`, with what errors call them, become the arguments of `call`, whose
        results go to `targets`, which are contiguous; then `then` is called. Waits for the tile before the last one;
        there Ctrl-C gets through. Raises Cancelled, and ShapeError for a file that became shorter.
        """
        self.make_room()
        to_device, from_device = self._context.copy_queues
        arrays = [empty(values.shape, values.dtype, self._context) for _, values in sources]
        staging = hostsched.Staging(to_device)
        copies = [
            staging.write(array.buffer, _bytes(values, name))
            for array, (name, values) in zip(arrays, sources, strict=True) if values.nbytes
        ]  # fmt: skip
        with translated():
            submissions = [hostsched.JobGraph(copies).submit(to_device)] if copies else []
        results = call(arrays)
        back = [
            staging.read(result.buffer, _bytes(target, "out"))
            for result, target in zip(results, targets, strict=True) if target.nbytes
        ]  # fmt: skip
        with translated():
            submissions += [hostsched.JobGraph(back).submit(from_device)] if back else []
        operations = 0
        if self._counts:
            operations = sum(values.size for values in (*(values for _, values in sources), *targets))
            hostsched.expect(operations)
        self.add(submissions, [*arrays, *results], staging, then, operations)

    def make_room(self) -> None:
        """Waits for the oldest of two tiles on their way. Raises Cancelled after `Context.cancel`."""
        if len(self._flying) == IN_FLIGHT:
            self.land_one()
        if self._context.queue.cancellations != self._cancellations:
            raise Cancelled("the call was cancelled between two tiles")

    def add(
        self, submissions: list[hostsched.Submission], arrays: Sequence[Any], staging: hostsched.Staging,
        then: Callable[[], None] | None = None, operations: float = 0,
    ) -> None:  # fmt: skip
        """Counts a tile that was submitted as on its way. arrays: what it uses until then. staging: of its copies.
        operations: to be reported by then.
        """
        self._flying.append(_Flying(submissions, arrays, staging, then, operations))

    def land(self) -> None:
        """Waits for all tiles on their way."""
        while self._flying:
            self.land_one()

    def land_one(self) -> None:
        """Waits for the oldest tile on its way."""
        first = self._flying[0]
        with translated():
            for submission in first.submissions:
                submission.wait()
        self._flying.popleft()
        first.staging.land()
        if first.then is not None:
            first.then()
        if first.operations:
            hostsched.advance(first.operations)


def _bytes(values: NumpyArray, name: str) -> NumpyArray:
    """An array's bytes, its file checked."""
    return HostArray(values, 1, name).part(0, values.nbytes)
