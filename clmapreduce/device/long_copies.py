"""Long copies of a call, which go through pinned memory chunk by chunk before and after its launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import hostsched
from clmapreduce.device.array import LONG


def run_writes(queue: hostsched.Queue, jobs: Sequence[Any]) -> list[Any]:
    """Makes the long copies to the device among some jobs, and gives the other jobs. Waits until the arrays were read.
    """
    rest = []
    for job in jobs:
        if isinstance(job, hostsched.WriteJob) and job.source.nbytes >= LONG:
            hostsched.copy_to_device(queue, job.buffer, job.source, job.offset)
        else:
            rest.append(job)
    return rest


def parted(jobs: Sequence[Any]) -> tuple[list[Any], list[hostsched.ReadJob]]:
    """(all other jobs, the long copies from the device)."""
    long = [job for job in jobs if isinstance(job, hostsched.ReadJob) and job.target.nbytes >= LONG]
    return [job for job in jobs if not any(job is one for one in long)], long


def read(queue: hostsched.Queue, jobs: Sequence[hostsched.ReadJob]) -> None:
    """Makes long copies from the device, and waits for them."""
    for job in jobs:
        hostsched.copy_to_host(queue, job.buffer, job.target, job.offset)
