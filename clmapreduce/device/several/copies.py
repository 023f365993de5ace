"""Copies of a context's arrays on each of its devices, made when a shared call first needs them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any
from weakref import WeakKeyDictionary

import hostsched
from clmapreduce.device.array import DeviceArray, upload
from clmapreduce.device.context import Context
from clmapreduce.device.several.split import SplitArray
from clmapreduce.log import LOG


class Lent(DeviceArray):
    """An array of a context of several devices as one of the first device's own context, in the same memory."""

    __slots__ = ("_base",)

    def __init__(self, base: DeviceArray, context: Context) -> None:
        super().__init__(context, base.memory, base.shape, base.dtype)
        self.first, self._base = base.first, base

    @property
    def is_plain(self) -> bool:
        return not self.first

    def __del__(self) -> None:
        """The memory goes back with the base."""


_copies: WeakKeyDictionary[hostsched.Buffer, dict[Hashable, tuple[Any, DeviceArray]]] = WeakKeyDictionary()
"""By the memory of an array; then by device, place, shape and dtype: the writes of which it is a copy, and the copy."""


def copy_on(x: DeviceArray, worker: Context) -> DeviceArray:
    """An array of a context of several devices, whole, on one of them. A copy stays as long as the array's memory, and
    is made again once that was written.
    """
    pieces = x.pieces if isinstance(x, SplitArray) else ()
    if not pieces and worker.queue.context is x.context.queue.context:
        return Lent(x, worker)
    memory = pieces[0].array.memory if pieces else x.memory
    writes = tuple(piece.array.event for piece in pieces) or (x.event,)
    of_memory = _copies.setdefault(memory, {})
    key = (worker, x.first, x.shape, x.dtype)
    entry = of_memory.get(key)
    if entry is None or any(a is not b for a, b in zip(entry[0], writes, strict=True)):
        LOG.debug("an array of %d bytes is copied to %r", x.nbytes, worker.device)
        entry = of_memory[key] = writes, upload(x.to_numpy(), worker)
    return entry[1]
