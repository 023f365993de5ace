"""Device memory that pyopencl's arrays share with ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl

from hostsched.errors import WrongArgument
from hostsched.memory.buffer import Buffer
from hostsched.queue.queue import Queue

__all__ = ["lend"]


def lend(
    queue: Queue, buffer: Buffer, shape: tuple[int, ...], dtype: np.dtype[Any], offset: int = 0, own: Any = None
) -> Any:
    """A pyopencl.array.Array in the memory of `buffer`, from byte `offset` on. own: the pyopencl.CommandQueue of the
    array; the default is the in-order queue of `queue`.

    Its `events` are the events of all commands that use the buffer now; these commands are flushed. The buffer is not
    reused: its memory is freed with the last of the buffer and the pyopencl arrays. Raises WrongArgument for a queue of
    another context.
    """
    from pyopencl.array import Array  # takes 2 ms, and few ask for it

    if own is None:
        own = queue.in_order
    elif not _fits(own, queue):
        raise WrongArgument(
            f"{own!r:.80} is no pyopencl.CommandQueue of this context on {queue.facts.name!r}; make one with "
            "pyopencl.CommandQueue(context.queue.context), or leave it out"
        )
    with queue.lock:  # jobs of other threads note their events under it
        data = queue.arena.lend(buffer)
        uses = [*buffer.readers, *(() if buffer.last_write is None else (buffer.last_write,))]
    queue.flush()
    return Array(own, shape, dtype, data=data, offset=offset, events=queue.admit(uses))


def _fits(own: Any, queue: Queue) -> bool:
    """Whether commands in a queue of pyopencl may use our buffers. Intel's queues do not hold their context: where it
    has gone, to ask for it fails.
    """
    try:
        return isinstance(own, cl.CommandQueue) and bool(own.context == queue.context)
    except cl.Error:
        return False
