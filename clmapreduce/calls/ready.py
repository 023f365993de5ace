"""Calls that were made before, ready to be made again: what depends on shapes and dtypes alone is kept, so that a call
on device arrays only binds and submits.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from clmapreduce.calls.call import as_argument
from clmapreduce.calls.prepared import Prepared
from clmapreduce.device.array import DeviceArray, empty
from clmapreduce.device.context import Context
from clmapreduce.device.runtime import take, translated
from clmapreduce.formula.formula import Access


class ReadyCall:
    """A call with everything settled but the arrays of its variables, given in the order of the plan's in0, in1, …;
    None stands for a number.

    It holds no context, because it is kept for as long as its context lives.
    """

    def __init__(self, prepared: Prepared, variables: Iterable[Hashable | None]) -> None:
        self._names = tuple((v, f"in{k}") for k, v in enumerate(variables) if v is not None)
        self._outputs = tuple(prepared.outputs)
        given = prepared.call.given
        self._numbers = {
            f"in{k}": as_argument(g.value, g.signature.dtype)
            for k, g in enumerate(given)
            if g.signature.access is Access.ARGUMENT
        }
        numbers = {f"in{k}": g.numbers for k, g in enumerate(given)}
        self._scratch = dict(prepared.executable.plan.scratch)
        self._tables = prepared.executable.tables
        self._replay = prepared.executable.replay(numbers, self._numbers)

    def takes(self, out: DeviceArray, arrays: Iterable[DeviceArray]) -> bool:
        """Whether `out` can hold the only result of a call on some arrays: it fits, and none of them lives in it."""
        fits = [(out.shape, out.dtype)] == list(self._outputs)
        return fits and all(array.buffer is not out.buffer for array in arrays)

    def __call__(
        self, context: Context, arrays: Mapping[Any, DeviceArray], wait_for: Sequence[Any],
        out: DeviceArray | None = None, instead: Mapping[str, Any] = MappingProxyType({}),
    ) -> list[DeviceArray]:  # fmt: skip
        """One result per output, not waited for. context: the one it was prepared for. out: what it `takes`. instead:
        buffers that take the place of the plan's tables.
        """
        queue = context.queue
        results = [out] if out is not None else [empty(shape, dtype, context) for shape, dtype in self._outputs]
        slots: dict[str, Any] = {name: arrays[variable].buffer for variable, name in self._names}
        slots |= self._numbers
        slots |= {name: table.buffer for name, table in self._tables.items()}
        slots |= instead
        for k, made in enumerate(results):
            slots[f"out{k}"] = made.buffer
        with translated():
            scratch = {name: take(queue, nbytes) for name, nbytes in self._scratch.items()}
            try:
                self._replay.submit({**slots, **scratch}, wait_for)
            finally:
                for buffer in scratch.values():
                    queue.arena.give(buffer)
        return results


def is_kept(prepared: Prepared) -> bool:
    """Whether all that a call reads is numbers and arrays on the device."""
    return all(g.signature.access is Access.ARGUMENT or isinstance(g.value, DeviceArray) for g in prepared.call.given)


def find(context: Context, key: Hashable, owner: Any = None) -> ReadyCall | None:
    """The call kept under a key. owner: what else the call depends on, and with which it is forgotten."""
    found: ReadyCall | None = context.caches(owner).calls.get(key)
    return found


def keep(context: Context, key: Hashable, call: ReadyCall, owner: Any = None) -> None:
    """Keeps a call, and forgets the one that was not made for longest. owner: as above."""
    context.caches(owner).calls.put(key, call)
