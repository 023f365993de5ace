"""When commands ran: the conversion on plain numbers, and real queues."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest

from hostsched import Device, FillJob, JobGraph, Profile, Queue, ReadJob, Record, WrongArgument, trace_events


def test_trace_events_of_plain_records() -> None:
    records = [
        Record("kernel", 1000, 2000, 4000, 9000, None),
        Record("read", 0, 10, 20, 1020, 4000),
        Record("fill", 1, 1, 1, 1, 8),
    ]
    name, kernel, read, fill, other = trace_events([("one", records), ("two", [])])
    assert (name["ph"], name["tid"], name["args"]) == ("M", 0, {"name": "one"})
    assert (other["ph"], other["tid"], other["args"]) == ("M", 1, {"name": "two"})
    assert (kernel["ph"], kernel["name"], kernel["tid"], kernel["ts"], kernel["dur"]) == ("X", "kernel", 0, 4.0, 5.0)
    assert kernel["args"] == {"queued_us": 1.0, "submitted_us": 2.0}
    assert (read["ts"], read["dur"]) == (0.02, 1.0)
    assert read["args"] == {"queued_us": 0.01, "submitted_us": 0.01, "bytes": 4000, "GB/s": 4.0}
    assert fill["dur"] == 0 and fill["args"]["bytes"] == 8 and "GB/s" not in fill["args"]  # type: ignore[index,operator]


def test_records_of_a_queue_and_their_trace(device: Device, tmp_path: pathlib.Path) -> None:
    queue = Queue(device, profile=True)
    a, out = queue.arena.take(64), np.zeros(64, np.uint8)
    JobGraph([FillJob(a, b"\x01", 64), ReadJob(a, out)]).submit(queue)
    profile = Profile(queue)
    fill, read, marker = profile.records()
    assert (fill.label, read.label, marker.label) == ("fill", "read", "marker")
    assert (fill.nbytes, read.nbytes, marker.nbytes) == (64, 64, None)
    assert all(record.queued <= record.submitted <= record.started <= record.ended for record in (fill, read))
    if device.platform == "rusticl":
        pytest.skip("rusticl 22.3.6 says 0, 1, 2, 3 of every command")
    assert fill.ended <= read.started
    profile.chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [event["name"] for event in trace if event["ph"] == "X"][:2] == ["fill", "read"]


def test_a_queue_without_times_is_refused(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WrongArgument, match="profile=True"):
        Profile(queue)
    queue.finish()
    assert not queue.log
    monkeypatch.setenv("CLMR_TRACE", "trace.json")
    assert Profile(Queue(queue.device)).records() is not None
