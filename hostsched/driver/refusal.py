"""Refuses driver calls where no driver can serve them: in a process that was forked after OpenCL was used, and while
the interpreter ends.

PoCL hangs in a forked child once the parent has so much as asked for platforms (PoCL 3.0 and 3.1, measured). The locks
that guard driver calls are registered here; each is replaced by one that raises, so the hot paths pay nothing for the
check, and no child waits for a lock that a lost thread held.
"""

from __future__ import annotations

import ctypes
import gc
import os
import threading
import weakref
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, NoReturn, Protocol

from hostsched.errors import ForkedProcess

__all__ = [
    "Locked", "guard", "guarded", "is_forked", "may_fork", "opencl_in_use", "refuse_from_now_on", "refuse_if_forked",
]  # fmt: skip


class Locked(Protocol):
    """Anything that takes `lock` before it talks to a driver."""

    lock: AbstractContextManager[Any]


class _RefusingLock(AbstractContextManager[None]):
    def __init__(self, error: type[Exception]) -> None:
        self._error = error

    def __enter__(self) -> NoReturn:
        raise self._error

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        return None


_guarded: weakref.WeakSet[Locked] = weakref.WeakSet()
_in_use = threading.Event()
_forked = threading.Event()


def opencl_in_use() -> None:
    """Records that this process is about to talk to OpenCL drivers: a child forked from now on is refused."""
    refuse_if_forked()
    _in_use.set()


def refuse_if_forked() -> None:
    """Raises ForkedProcess in a child forked after its parent used OpenCL."""
    if _forked.is_set():
        raise ForkedProcess


def guard(owner: Locked) -> None:
    """Lets `owner.lock` be replaced in a forked child. `owner` is not kept alive."""
    _guarded.add(owner)


def _after_fork_in_child() -> None:
    if not _in_use.is_set():
        return
    _forked.set()
    refusing = _RefusingLock(ForkedProcess)
    for owner in list(_guarded):
        owner.lock = refusing
    _keep_driver_objects()
    _leave_drivers_alone_at_exit()


def _keep_driver_objects() -> None:
    """Keeps what holds objects of a driver until this process has ended: their destructors would release, in a child,
    what belongs to the parent. NVIDIA's driver (580.159) crashes the child then, and fails the parent's next call.
    """
    for one in gc.get_objects():
        if str(getattr(type(one), "__module__", "")).startswith("hostsched."):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))


def _leave_drivers_alone_at_exit() -> None:
    """Ends this process, when it exits, before the exit handlers of the driver's libraries run: their threads are not
    there in a child. Intel's runtime waits for them for ever, or aborts with "Pure virtual function called!".

    Exit handlers of C run last first, after Python's own. So these come before every handler that the parent
    registered: what C wrote is flushed, then the process ends with its status.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):  # glibc
        libc.on_exit(libc._exit, None)
        libc.__cxa_atexit(libc.fflush, None, None)


def guarded() -> list[Locked]:
    """Everything that guards driver calls with a lock."""
    return list(_guarded)


def is_forked() -> bool:
    """Whether this process was forked after its parent used OpenCL."""
    return _forked.is_set()


def may_fork() -> bool:
    """Whether a child that this process forks now may use OpenCL: only before this process has used it."""
    return hasattr(os, "fork") and not _in_use.is_set() and not _forked.is_set()


def refuse_from_now_on(error: type[Exception], seconds: float) -> None:
    """Replaces every lock by one that raises `error`, once it is free, or after some seconds."""
    refusing = _RefusingLock(error)
    for owner in guarded():
        lock: Any = owner.lock
        acquired = not isinstance(lock, _RefusingLock) and lock.acquire(timeout=seconds)
        owner.lock = refusing
        if acquired:
            lock.release()


if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(after_in_child=_after_fork_in_child)
