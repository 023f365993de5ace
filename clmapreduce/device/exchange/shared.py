"""Memory that pyopencl's arrays share with ours: one Buffer for each piece, whoever made it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import hostsched


class Shared(NamedTuple):
    """own: a reference to the OpenCL buffer, by which its other references are counted. home: the first Context that
    used it, as `Any` because contexts are built on what allocates, and that lets go of shared memory.
    """

    own: Any
    memory: hostsched.Buffer
    home: Any


_shared: dict[tuple[int, Any], Shared] = {}
_lock = threading.RLock()


def share(data: Any, home: Any, make: Callable[[], tuple[Any, hostsched.Buffer]]) -> hostsched.Buffer:
    """The one Buffer over a pyopencl buffer: calls on it wait for each other only if they share it.

    make: gives `Shared.own` and the Buffer, where there is none yet. They are let go once that reference is the last
    one, when the next memory is shared or where memory is short.
    """
    with _lock:
        let_go()
        key = (data.int_ptr, home.queue.space)
        if key not in _shared:
            _shared[key] = Shared(*make(), home)
        return _shared[key].memory


def let_go() -> None:
    """Drops memory without references."""
    with _lock:
        for key, known in list(_shared.items()):
            if known.own.reference_count == 1:
                del _shared[key]


def home_of(data: Any) -> Any:
    """The Context that used a pyopencl buffer first; None where it is not shared."""
    return next((known.home for (place, _), known in list(_shared.items()) if place == data.int_ptr), None)


def is_shared(memory: hostsched.Buffer) -> bool:
    """Whether a Buffer's memory is a pyopencl array's as well."""
    return any(known.memory is memory for known in list(_shared.values()))
