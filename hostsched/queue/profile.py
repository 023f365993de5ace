"""When each command ran, as numbers and as a trace that browsers open."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

import pyopencl as cl

from hostsched.driver import opencl
from hostsched.driver.waiting import ended
from hostsched.errors import WrongArgument
from hostsched.queue.queue import Queue

__all__ = ["Profile", "Record", "trace_events", "write_trace"]


class Record(NamedTuple):
    """One command; times in nanoseconds of the device's clock; `nbytes` is the number of bytes that it copied, None for
    kernels and markers.
    """

    label: str
    queued: int
    submitted: int
    started: int
    ended: int
    nbytes: int | None


class Profile:
    """The commands of a profiling queue, with their times. Raises WrongArgument for a queue without `profile`."""

    def __init__(self, queue: Queue) -> None:
        if not queue.profile:
            raise WrongArgument(f"{queue!r} keeps no times; make it with profile=True, or set CLMR_TRACE")
        self.queue = queue

    def records(self, first: int = 0) -> list[Record]:
        """One Record per command that ran, in the order in which they were enqueued, from number `first` of the queue's
        log on. Waits for the queue, and for its markers. Commands that failed are not included.
        """
        self.queue.finish()
        log = self.queue.log[first:]
        for event, _, _ in log:
            if not ended(event):
                self.queue.settle(event)
        return [record for entry in log if (record := _read(*entry)) is not None]

    def chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """As `write_trace`, of this queue."""
        write_trace([self.queue], path)


def write_trace(queues: Iterable[Queue], path: str | os.PathLike[str]) -> None:
    """Writes the commands of profiling queues to `path` as Chrome Trace Event JSON, for Perfetto or chrome://tracing.
    Raises WrongArgument if the file cannot be written, and for a queue without `profile`.
    """
    rows = [(f"{queue.device!r}, queue {n}", Profile(queue).records()) for n, queue in enumerate(queues, 1)]
    try:
        pathlib.Path(path).write_text(json.dumps({"traceEvents": trace_events(rows), "displayTimeUnit": "ns"}))
    except (OSError, TypeError, ValueError) as error:
        raise WrongArgument(f"a trace cannot be written to {path!r}; name a file: {error}") from error


def trace_events(queues: Iterable[tuple[str, Sequence[Record]]]) -> list[dict[str, object]]:
    """Trace events of several queues, from pairs (name, records); `ts` and `dur` in microseconds. A queue is one
    thread, or several where its commands overlap, because viewers nest events that overlap on one thread.
    """
    process = os.getpid()
    events: list[dict[str, object]] = [_named("process_name", process, 0, "OpenCL commands")]
    threads = 0
    for name, records in queues:
        for number, lane in enumerate(_lanes(records) or [[]], 1):
            events.append(_named("thread_name", process, threads, name if number == 1 else f"{name}, row {number}"))
            events += [_complete(record, process, threads) for record in lane]
            threads += 1
    return events


def _lanes(records: Sequence[Record]) -> list[list[Record]]:
    """The records in order of their start, in as few rows as they need not to overlap in any."""
    lanes: list[list[Record]] = []
    for record in sorted(records, key=lambda record: record.started):
        free = next((lane for lane in lanes if lane[-1].ended <= record.started), None)
        if free is None:
            lanes.append([record])
        else:
            free.append(record)
    return lanes


def _named(what: str, process: int, thread: int, name: str) -> dict[str, object]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def _complete(record: Record, process: int, thread: int) -> dict[str, object]:
    length = record.ended - record.started
    args: dict[str, object] = {
        "queued_us": (record.submitted - record.queued) / 1e3,
        "submitted_us": (record.started - record.submitted) / 1e3,
    }
    if record.nbytes is not None:
        args["bytes"] = record.nbytes
        if length > 0:
            args["GB/s"] = record.nbytes / length
    return {
        "ph": "X", "name": record.label, "pid": process, "tid": thread, "ts": record.started / 1e3, "dur": length / 1e3,
        "args": args,
    }  # fmt: skip


def _read(event: cl.Event, label: str, nbytes: int | None) -> Record | None:
    info = cl.profiling_info
    try:
        queued, submitted, started, ended = (
            cast(int, opencl.profiled(event, moment)) for moment in (info.QUEUED, info.SUBMIT, info.START, info.END)
        )
    except cl.Error:  # a command that failed has no times
        return None
    return Record(label, queued, submitted, started, ended, nbytes)
