"""How much memory the host can still give: CPU devices take it from there, and PoCL aborts the process when it runs
out.
"""

from __future__ import annotations

import contextlib
import pathlib
import sys

import psutil

from hostsched.settings import nbytes

__all__ = ["host_headroom", "memory_limit", "resident"]

_CGROUP_FILES = (  # the limit of a container and what it uses, versions 2 and 1
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def memory_limit() -> int | None:
    """Bytes that $CLMR_MEMORY_LIMIT allows, None if it is not set. Raises InvalidSetting if unreadable."""
    return nbytes("CLMR_MEMORY_LIMIT")


def resident() -> int:
    """Bytes of memory that this process occupies now."""
    return int(psutil.Process().memory_info().rss)


def host_headroom() -> int:
    """Bytes this process can still occupy: the least of what the machine, its container and its own limit (RLIMIT_AS)
    leave.
    """
    rooms = [int(psutil.virtual_memory().available)]
    if sys.platform != "win32":
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            rooms.append(limit - int(psutil.Process().memory_info().vms))
    rooms += [
        room for limit_file, usage_file in _CGROUP_FILES if (room := _cgroup_room(limit_file, usage_file)) is not None
    ]
    return max(0, min(rooms))


def _cgroup_room(limit_file: str, usage_file: str) -> int | None:
    with contextlib.suppress(OSError, ValueError):  # no such files, or "max": no limit
        return int(pathlib.Path(limit_file).read_text()) - int(pathlib.Path(usage_file).read_text())
    return None
