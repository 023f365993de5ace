"""Arrays whose values are on their way: asking whether they have come, waiting for them, also without blocking."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterable
from typing import Any, TypeVar

from clmapreduce.checks import quoted, real
from clmapreduce.device.context import Context
from clmapreduce.errors import ArgumentError, ClMapReduceError, TimedOut
from hostsched.driver.waiting import ended

S = TypeVar("S", bound="Awaited")


class Awaited:
    """What an array in device memory tells of the command that writes it. `event`: of that command, or None."""

    __slots__ = ()
    context: Context
    event: Any

    @property
    def _writes(self) -> list[tuple[Context, Any]]:
        """The events of the commands that write it, each with the context in which it runs."""
        event = self.event
        return [] if event is None else [(self.context, event)]

    def done(self) -> bool:
        """Whether the values have come, or their command has failed. Does not wait."""
        return all(ended(event) for _, event in self._writes)

    def result(self: S, timeout: float | None = None) -> S:
        """The array, once its values have come; lets Ctrl-C through. timeout: in seconds, without a limit if None.
        Raises DeviceError where their command failed, TimedOut, a TimeoutError, where they have not come in that time.
        """
        _wait_for((self,), timeout)
        return self

    def exception(self, timeout: float | None = None) -> ClMapReduceError | None:
        """The error of the command that writes the array, once it has ended; None where it did not fail. timeout: as
        for `result`, with the same error.
        """
        try:
            self.result(timeout)
        except (TimedOut, ArgumentError):
            raise
        except ClMapReduceError as error:
            return error
        return None

    def __await__(self: S) -> Generator[Any, None, S]:
        """`await x`: the array, once its values have come. A thread waits, and the event loop goes on."""
        if not self.done():
            import asyncio  # 29 modules that few programs need, a twentieth of `import clmapreduce`

            loop = asyncio.get_running_loop()
            yield from loop.run_in_executor(None, self.result).__await__()
        return self.result()


def wait(*arrays: Any, timeout: float | None = None) -> None:
    """Waits until the values of some arrays are ready. Ctrl-C interrupts it. timeout: in seconds for all of them
    together, without a limit if None. Raises ArgumentError for an argument that is not a DeviceArray, DeviceError if a
    command failed, TimedOut, a TimeoutError, if values have not come in that time.
    """
    for x in arrays:
        if not isinstance(x, Awaited):
            raise ArgumentError(f"wait takes DeviceArrays, not {quoted(x)}; arrays of the host are there already")
    _wait_for(arrays, timeout)


def _wait_for(arrays: Iterable[Awaited], timeout: float | None) -> None:
    seconds = math.inf if timeout is None else real(timeout, "timeout")
    if math.isnan(seconds):
        raise ArgumentError("timeout is NaN; give seconds, or None for no limit")
    until = time.perf_counter() + seconds
    for x in arrays:
        for context, event in x._writes:
            context.wait_for([event], max(0.0, until - time.perf_counter()))
