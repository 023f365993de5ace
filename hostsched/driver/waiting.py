"""Whether a command has ended, and how to wait for it so that Ctrl-C gets through."""

from __future__ import annotations

import math
import os
import select
import time

import pyopencl as cl

from hostsched.driver import opencl
from hostsched.driver.beside import COMPLETE, true_status, wait_beside

__all__ = ["COMPLETE", "ended", "poll", "status_of"]

_AWAKE = 2e7  # ns
_LONGEST_NAP, _SHARE = 1e-3, 0.005


def ended(event: cl.Event) -> bool:
    """Whether the command has run, or failed. Does not wait. False where the driver does not tell: the memory of the
    command stays.
    """
    try:
        return opencl.status(event) <= COMPLETE
    except cl.Error:
        return False


def status_of(event: cl.Event) -> int:
    """The status of a command, negative if it has failed; the (negative) error where the driver does not tell."""
    try:
        return opencl.status(event)
    except cl.Error as error:
        return error.code


def poll(
    event: cl.Event, spin_us: float = 100, in_driver: bool = False, seconds: float = math.inf, alone: bool = False
) -> int:
    """The final status of `event`, 0 or negative: looked at over and over for `spin_us`, then giving way to others
    between two polls, and after 20 ms between sleeps. After `seconds` it gives up: the status is positive then.

    `in_driver`: instead, let a thread of ours wait inside the driver while this one stays open to Ctrl-C. On
    CPUs that thread wakes at once, where sleeps take too long; and Intel's runtime computes in the threads that wait
    for it (2026.2, two cores, a sum of 2^26 float32: 8.4 ms so, 12 ms by polling). Waking takes it 0.1 ms, so that
    polling first pays: a maximum of 2^20 int32 takes 0.07 ms so, and 0.15 ms without.

    `alone`: at most one thread of the process waits inside the driver, the others sleep until it comes back, or for a
    millisecond. Intel's runtime comes to a standstill otherwise: of 32 threads with short calls on two cores, two slept
    for ever inside its task arena, and no thread was left to compute (2026.2, twice in some 100,000 calls).

    Intel's CPU runtime (2026.2) calls a command complete whose wait list failed, and tells the truth only to who waits
    for it; so a complete command is waited for, which returns at once.
    Sleeps are half a percent of the time waited so far, at most a millisecond. With sleeps of 2 %, at most 0.25 ms,
    from 0.1 ms on, calls of 3 to 5 ms took 0.1 to 0.2 ms longer than with sleeps of length 0, which take 70 us all the
    same (Linux, Python 3.11); without any they take another 0.04 ms less (H200, driver 580.159).
    """
    begin = time.perf_counter_ns()
    while True:
        status = status_of(event)
        if status == COMPLETE:
            return true_status(event)
        if status < COMPLETE:
            return status
        waited = time.perf_counter_ns() - begin
        if waited < 1000 * spin_us:
            continue
        if waited > 1e9 * seconds:
            return status
        if in_driver:
            try:
                code = wait_beside(event, seconds, alone)
            except RuntimeError:  # the interpreter ends and starts no threads (Python 3.12), or there are too many
                in_driver = False
                continue
            if code < COMPLETE and not ended(event):  # a lost device leaves commands as they are
                return code
        elif waited < _AWAKE:
            _give_way()
        else:
            time.sleep(min(_LONGEST_NAP, waited * 1e-9 * _SHARE))


def _give_way() -> None:
    """Lets other threads run, if any wants to."""
    if os.name == "nt":  # whose select wants a socket
        time.sleep(0)
    else:
        select.select([], [], [], 0)
