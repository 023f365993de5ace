"""When commands ran: the conversion on plain numbers, and real queues."""

from __future__ import annotations

import json
import pathlib
import random
from typing import Any

import numpy as np
import pytest

from hostsched import Device, FillJob, JobGraph, Profile, Queue, ReadJob, Record, WrongArgument, trace_events


def test_trace_events_of_plain_records() -> None:
    records = [
        Record("kernel", 1000, 2000, 4000, 9000, None),
        Record("read", 0, 10, 20, 1020, 4000),
        Record("fill", 1, 1, 1, 1, 8),
    ]
    process, name, fill, read, kernel, other = trace_events([("one", records), ("two", [])])
    assert (process["ph"], process["name"]) == ("M", "process_name")
    assert (name["ph"], name["tid"], name["args"]) == ("M", 0, {"name": "one"})
    assert (other["ph"], other["tid"], other["args"]) == ("M", 1, {"name": "two"})
    assert (kernel["ph"], kernel["name"], kernel["tid"], kernel["ts"], kernel["dur"]) == ("X", "kernel", 0, 4.0, 5.0)
    assert kernel["args"] == {"queued_us": 1.0, "submitted_us": 2.0}
    assert (read["ts"], read["dur"]) == (0.02, 1.0)
    assert read["args"] == {"queued_us": 0.01, "submitted_us": 0.01, "bytes": 4000, "GB/s": 4.0}
    assert fill["dur"] == 0 and fill["args"]["bytes"] == 8 and "GB/s" not in fill["args"]  # type: ignore[index,operator]


def check_schema(events: list[dict[str, Any]]) -> None:
    """What Perfetto's importer of Chrome's JSON asks for; commands of one thread must not overlap."""
    names: dict[tuple[int, int], str] = {}
    ends: dict[tuple[int, int], float] = {}
    for event in events:
        assert event["ph"] in ("M", "X") and isinstance(event["name"], str)
        thread = event["pid"], event["tid"]
        assert all(type(number) is int for number in thread)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and isinstance(event["args"]["name"], str)
            if event["name"] == "thread_name":
                assert thread not in names
                names[thread] = event["args"]["name"]
        else:
            assert thread in names and event["dur"] >= 0
            assert event["ts"] >= ends.get(thread, 0.0)
            ends[thread] = event["ts"] + event["dur"]
    assert len(set(names.values())) == len(names)


def test_commands_that_overlap_are_on_threads_of_their_own() -> None:
    rng = random.Random(1)
    starts = [rng.randrange(1000) * 1000 for _ in range(200)]
    records = [Record(f"k{n}", 0, 0, start, start + rng.randrange(50) * 1000, None) for n, start in enumerate(starts)]
    events = trace_events([("one", records), ("two", records[:3]), ("three", [])])
    check_schema(events)
    assert sorted(str(e["name"]) for e in events if e["ph"] == "X") == sorted([r.label for r in records] + ["k0", "k1", "k2"])
    threads = [e["args"]["name"] for e in events if e["name"] == "thread_name"]  # type: ignore[index]
    assert threads[:2] == ["one", "one, row 2"] and threads[-1] == "three"


def test_records_of_a_queue_and_their_trace(device: Device, tmp_path: pathlib.Path) -> None:
    queue = Queue(device, profile=True)
    a, out = queue.arena.take(64), np.zeros(64, np.uint8)
    JobGraph([FillJob(a, b"\x01", 64), ReadJob(a, out)]).submit(queue)
    profile = Profile(queue)
    queue.marker()
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
    check_schema(trace)


def test_times_are_kept_for_a_while(device: Device) -> None:
    """Commands go to another queue of the driver, and wait for those before."""
    queue = Queue(device)
    a, out = queue.arena.take(64), np.zeros(64, np.uint8)
    JobGraph([FillJob(a, b"\x01", 64)]).submit(queue)
    queue.keep_times(True)
    JobGraph([ReadJob(a, out), FillJob(a, b"\x02", 64)]).submit(queue).wait()
    assert (out == 1).all()
    labels = [record.label for record in Profile(queue).records()]
    assert labels == ["read", "fill"]
    assert [record.label for record in Profile(queue).records(1)] == ["fill"]
    queue.keep_times(False)
    assert not queue.log
    JobGraph([ReadJob(a, out)]).submit(queue).wait()
    assert (out == 2).all() and not queue.log
    with pytest.raises(WrongArgument):
        Profile(queue)


def test_a_queue_without_times_is_refused(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WrongArgument, match="profile=True"):
        Profile(queue)
    queue.finish()
    assert not queue.log
    monkeypatch.setenv("CLMR_TRACE", "trace.json")
    assert Profile(Queue(queue.device)).records() is not None
