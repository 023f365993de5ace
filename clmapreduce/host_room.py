"""Arrays too large for the host raise DeviceMemoryError, where NumPy would raise MemoryError or run for days."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
import psutil

from clmapreduce.errors import DeviceMemoryError

P = ParamSpec("P")
T = TypeVar("T")

_SURELY_FITS = 1 << 32
"""Bytes. Smaller arrays are not compared with the host's memory: asking for that costs 50 us."""
_CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where Linux says how much memory a container may use, in either version of its control groups."""


@contextmanager
def host_room() -> Iterator[None]:
    """Turns NumPy's MemoryError into a DeviceMemoryError."""
    try:
        yield
    except MemoryError as error:
        if isinstance(error, DeviceMemoryError):
            raise
        raise DeviceMemoryError(f"the host has no room for this call: {error}; work on smaller pieces") from error


def needs_host_room(call: Callable[P, T]) -> Callable[P, T]:
    """A function that raises DeviceMemoryError where NumPy would raise MemoryError."""

    @wraps(call)
    def within(*args: P.args, **kwargs: P.kwargs) -> T:
        with host_room():
            return call(*args, **kwargs)

    return within


def host_memory() -> int:
    """Bytes of memory that the host has, or that a container on it may use."""
    limits = [int(psutil.virtual_memory().total)]
    for path in _CONTAINER_LIMITS:
        with suppress(OSError, ValueError):  # there is no such file, or it says "max"
            limits.append(int(Path(path).read_text()))
    return min(limits)


def refuse_result(nbytes: int) -> None:
    """Raises DeviceMemoryError for a NumPy array of a result that is larger than the host's memory: many hosts promise
    such memory, and end the process that writes to it.
    """
    if nbytes > _SURELY_FITS and nbytes > (memory := host_memory()):
        raise DeviceMemoryError(
            f"the result has {nbytes} bytes and the host's memory {memory}; give a file as out=, such as an np.memmap"
        )


def refuse_oversized(array: np.ndarray[Any, Any], name: str) -> None:
    """Raises DeviceMemoryError for an array that repeats its elements (a stride of 0, as np.broadcast_to gives) and has
    more bytes as a whole than the host: a copy has no room, and any pass over it takes longer than anyone waits.
    """
    if array.nbytes <= _SURELY_FITS or 0 not in array.strides:
        return
    memory = host_memory()
    if array.nbytes > memory:
        raise DeviceMemoryError(
            f"{name} repeats its elements to shape {array.shape} of {array.dtype}, which is {array.nbytes} bytes as a "
            f"whole; the host has {memory}"
        )
