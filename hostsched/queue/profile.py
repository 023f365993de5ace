"""When each command ran, as numbers and as a trace that browsers open."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

import pyopencl as cl

from hostsched.driver import opencl
from hostsched.errors import WrongArgument
from hostsched.queue.queue import Queue

__all__ = ["Profile", "Record", "trace_events", "write_trace"]


class Record(NamedTuple):
    """One command; times in nanoseconds of the device's clock; `nbytes` is what it moved, None for kernels and
    markers.
    """

    label: str
    queued: int
    submitted: int
    started: int
    ended: int
    nbytes: int | None


class Profile:
    """What the commands of a profiling queue did. Raises WrongArgument for a queue made without `profile`."""

    def __init__(self, queue: Queue) -> None:
        if not queue.profile:
            raise WrongArgument(f"{queue!r} keeps no times; make it with profile=True, or set CLMR_TRACE")
        self.queue = queue

    def records(self) -> list[Record]:
        """One Record per command that ran, in the order enqueued. Waits for the queue; commands that failed are left
        out.
        """
        self.queue.finish()
        return [
            record
            for event, label, nbytes in list(self.queue.log)
            if (record := _read(event, label, nbytes)) is not None
        ]

    def chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """As `write_trace`, of this queue."""
        write_trace([self.queue], path)


def write_trace(queues: Iterable[Queue], path: str | os.PathLike[str]) -> None:
    """Writes the commands of profiling queues to `path` as Chrome Trace Event JSON, for Perfetto or chrome://tracing.
    Raises WrongArgument where no such file can be written, and for a queue made without `profile`.
    """
    rows = [(repr(queue.device), Profile(queue).records()) for queue in queues]
    try:
        pathlib.Path(path).write_text(json.dumps({"traceEvents": trace_events(rows), "displayTimeUnit": "ns"}))
    except (OSError, TypeError, ValueError) as error:
        raise WrongArgument(f"a trace cannot be written to {path!r}; name a file: {error}") from error


def trace_events(queues: Iterable[tuple[str, Sequence[Record]]]) -> list[dict[str, object]]:
    """Trace events for several queues, given as (name, records): one thread each, `ts` and `dur` in microseconds."""
    events: list[dict[str, object]] = []
    process = os.getpid()
    for thread, (name, records) in enumerate(queues):
        events.append({"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": {"name": name}})
        for record in records:
            length = record.ended - record.started
            args: dict[str, object] = {
                "queued_us": (record.submitted - record.queued) / 1e3,
                "submitted_us": (record.started - record.submitted) / 1e3,
            }
            if record.nbytes is not None:
                args["bytes"] = record.nbytes
                if length > 0:
                    args["GB/s"] = record.nbytes / length
            events.append(
                {
                    "ph": "X",
                    "name": record.label,
                    "pid": process,
                    "tid": thread,
                    "ts": record.started / 1e3,
                    "dur": length / 1e3,
                    "args": args,
                }
            )
    return events


def _read(event: cl.Event, label: str, nbytes: int | None) -> Record | None:
    info = cl.profiling_info
    try:
        queued, submitted, started, ended = (
            cast(int, opencl.profiled(event, moment)) for moment in (info.QUEUED, info.SUBMIT, info.START, info.END)
        )
    except cl.Error:  # a command that failed has no times
        return None
    return Record(label, queued, submitted, started, ended, nbytes)
