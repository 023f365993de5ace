"""Turns OpenCL's error numbers into our exceptions."""

from __future__ import annotations

import pyopencl as cl

from hostsched.errors import HostSchedError, LaunchError, OutOfDeviceMemory

__all__ = ["MEMORY_CODES", "code_name", "failure", "failure_of"]

MEMORY_CODES = frozenset(
    (
        cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE,
        cl.status_code.OUT_OF_RESOURCES,
        cl.status_code.OUT_OF_HOST_MEMORY,
        cl.status_code.INVALID_BUFFER_SIZE,
    )
)
_NAMES = {int(getattr(cl.status_code, name)): name for name in dir(cl.status_code) if name.isupper()}
_NAMES[-1] = "failed without a reason given"  # so PoCL marks commands; the code's name, DEVICE_NOT_FOUND, would mislead

_ADVICE = {
    int(cl.status_code.DEVICE_NOT_AVAILABLE): "; the device is lost: start a new process, or use another device",
    int(cl.status_code.COMPILER_NOT_AVAILABLE): "; this driver has no compiler: install it, or use another device",
    int(cl.status_code.EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST): "; a command of an earlier call, whose result this "
    "one needs, has failed: make that call again",
}


def code_name(code: int) -> str:
    """OpenCL's name for a status code, such as "OUT_OF_RESOURCES"."""
    return _NAMES.get(code, "unknown error")


def failure(code: int, what: str) -> HostSchedError:
    """The exception for a command described by `what` that met the (negative) status `code`."""
    message = f"{what}: {code_name(code)} ({code}){_ADVICE.get(code, '')}"
    if code in MEMORY_CODES:
        return OutOfDeviceMemory(
            f"{message}; the device or its driver is out of memory, or of registers for this work: use smaller pieces, "
            "or free arrays that are no longer needed"
        )
    return LaunchError(message, code)


def failure_of(error: cl.Error, what: str) -> HostSchedError:
    """The exception for what pyopencl raised while `what` was tried."""
    return failure(error.code, f"{what}: {error.routine}")
