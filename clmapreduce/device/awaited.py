"""Arrays whose values are on their way: asking whether they have come, waiting for them, also without blocking."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

from clmapreduce.checks import quoted
from clmapreduce.device.context import Context
from clmapreduce.errors import ArgumentError
from hostsched.driver.waiting import ended

S = TypeVar("S", bound="Awaited")


class Awaited:
    """What an array in device memory tells of the command that writes it. `event`: of that command, or None."""

    __slots__ = ()
    context: Context
    event: Any

    def done(self) -> bool:
        """Whether the values have come, or their command has failed. Does not wait."""
        event = self.event
        return event is None or ended(event)

    def result(self: S) -> S:
        """The array, once its values have come; lets Ctrl-C through. Raises DeviceError where their command failed."""
        if self.event is not None:
            self.context.wait_for([self.event])
        return self

    def __await__(self: S) -> Generator[Any, None, S]:
        """`await x`: the array, once its values have come. A thread waits, and the event loop goes on."""
        if not self.done():
            import asyncio  # 29 modules that few programs need, a twentieth of `import clmapreduce`

            loop = asyncio.get_running_loop()
            yield from loop.run_in_executor(None, self.result).__await__()
        return self.result()


def wait(*arrays: Any) -> None:
    """Waits until the values of some arrays are ready. Ctrl-C interrupts it. Raises ArgumentError for an argument that
    is not a DeviceArray, DeviceError if a command failed.
    """
    for x in arrays:
        if not isinstance(x, Awaited):
            raise ArgumentError(f"wait takes DeviceArrays, not {quoted(x)}; arrays of the host are there already")
    for x in arrays:
        x.result()
