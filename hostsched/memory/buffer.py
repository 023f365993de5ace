"""Buffers: pieces of device memory that know which events still use them."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pyopencl as cl

from hostsched.device.locked_context import LockedContext

__all__ = ["Buffer"]


class Buffer:
    """A piece of device memory.

    `cl` is the OpenCL buffer of `nbytes` bytes, valid in `space` (a LockedContext). `last_write` and `readers` are the
    events of the commands that last wrote it and that have read it since: only `jobs/graph.py` derives waits from them.
    `host` is the array whose memory this is (see Arena.borrow), else None. It outlives the buffer and every command on
    it. Otherwise the host may allocate its addresses again while a driver still has the old pages pinned, and copies to
    and from new arrays use the old pages (NVIDIA 580.159). CPython clears slots in alphabetical order: `cl` before
    `host`. `arena` is the Arena that allocated it, None for other buffers. Only the arena uses `counted`, which runs
    when Python frees the buffer, and `idle`, which says whether the buffer was returned.
    """

    __slots__ = ("__weakref__", "arena", "cl", "counted", "host", "idle", "last_write", "nbytes", "readers", "space")

    def __init__(
        self,
        buffer: cl.Buffer | cl.SVM[Any],
        nbytes: int,
        space: LockedContext,
        host: np.ndarray[Any, Any] | None = None,
    ) -> None:
        self.cl = buffer
        self.nbytes = nbytes
        self.space = space
        self.host = host
        self.last_write: cl.Event | None = None
        self.readers: list[cl.Event] = []
        self.arena: object = None
        self.counted: weakref.finalize[[int], Buffer] | None = None
        self.idle = False

    def __repr__(self) -> str:
        return f"<Buffer of {self.nbytes} bytes on {self.space.device.name!r}>"
