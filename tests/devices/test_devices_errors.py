"""Contexts of several devices that are none, devices that fail, and calls that are cancelled."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from support.driver_faults import error_of, no_leak

import clmapreduce as cm
from clmapreduce.calls.repeat import ready
from clmapreduce.device.tile_calls import TileCalls
from hostsched.driver import opencl

from .conftest import LIMIT, Several

LENGTH = 300_007


class Failing:
    """While inside, every launch fails on the device that makes the launch number `after`, from that one on. everywhere:
    every launch fails.
    """

    def __init__(self, team: cm.Context, after: int, patch: pytest.MonkeyPatch, everywhere: bool = False) -> None:
        self.fired, self._left, self._everywhere = 0, after, everywhere
        self._members = [{queue._queue for queue in member.queues} for member in team.members]
        self._lost: set[cl.CommandQueue] = set()
        self._launch = opencl.enqueue_kernel
        patch.setattr(opencl, "enqueue_kernel", self._call)

    def _call(self, queue: cl.CommandQueue, *args: Any, **more: Any) -> Any:
        own = next((queues for queues in self._members if queue in queues), None)
        if own is not None and not self._lost:
            self._lost = own if self._left == 0 else set()
            self._left -= 1
        if queue in self._lost or (own is not None and self._everywhere):
            self.fired += 1
            raise error_of("lost device", "clEnqueueNDRangeKernel")
        return self._launch(queue, *args, **more)


def calls(rng: np.random.Generator) -> list[Any]:
    """(a call of a context, its result in NumPy)."""
    x = rng.random(LENGTH)
    points = rng.random((1100, 3))
    distances = ((points[:, None] - points[None]) ** 2).sum(-1)
    offsets = np.arange(0, LENGTH, 7)

    def pairs(context: cm.Context) -> Any:
        with context:
            return ((cm.LazyTensor(points[:, None]) - cm.LazyTensor(points[None])) ** 2).sum(-1).sum(axis=1)[:, 0]

    return [
        (lambda context: cm.Reduce("sum")(x, context=context), x.sum()),
        (lambda context: cm.Map(lambda v: v + 1)(x, context=context), x + 1),
        (lambda context: cm.segmented_reduce(x[: offsets[-1]], offsets, context=context),
         np.add.reduceat(x[: offsets[-1]], offsets[:-1])),
        (pairs, distances.sum(1)),
    ]  # fmt: skip


@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("number", range(4))
def test_the_others_do_the_share_of_a_device_that_fails(
    number: int, after: int, context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With on_failure="redo"; otherwise the error names the device. Nothing stays in use."""
    call, exact = calls(rng)[number]
    monkeypatch.setattr(ready, "KEPT_SCRATCH", -1)  # else calls that repeat keep some, and the last block may be another
    for on_failure in ("redo", "raise"):
        team = cm.Context([context.device] * 2, memory_limit=LIMIT, on_failure=on_failure)
        with monkeypatch.context() as patch:
            patch.setattr(TileCalls, "oldest_ended", False)  # both do a block, and have their tables from then on
            np.testing.assert_allclose(call(team), exact, rtol=1e-11)
        with monkeypatch.context() as patch, no_leak(team.members[1].queue):
            failing = Failing(team, after, patch)
            if on_failure == "redo":
                np.testing.assert_allclose(call(team), exact, rtol=1e-11)
            else:
                with pytest.raises(cm.DeviceError, match=r"failed in a call on several devices.*on_failure='redo'"):
                    call(team)
            assert failing.fired
        np.testing.assert_allclose(call(team), exact, rtol=1e-11)


def test_results_in_the_place_of_arguments_are_computed_once(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window whose results are there already must not run again on another device: the first one does all of them."""
    team = cm.Context([context.device] * 2, memory_limit=LIMIT, on_failure="redo")
    x = rng.random(LENGTH)
    exact = x + 1
    with monkeypatch.context() as patch:
        failing = Failing(team, 0, patch)
        cm.Map(lambda v: v + 1)(x, out=x, context=team)
    np.testing.assert_array_equal(x, exact)
    assert not failing.fired


def test_where_every_device_fails_the_call_does(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = cm.Context([context.device] * 2, memory_limit=LIMIT, on_failure="redo")
    call, exact = calls(rng)[1]
    np.testing.assert_allclose(call(team), exact)
    with monkeypatch.context() as patch:
        Failing(team, 0, patch, everywhere=True)
        with pytest.raises(cm.DeviceError, match="failed in a call on several devices"):
            call(team)


@pytest.mark.parametrize(
    ("spec", "message"),
    [([], "list of devices is empty"), ("all red", "all"), (["no such device"], "fits no device"), ([3], "device is 3")],
)
def test_lists_that_name_no_devices(spec: Any, message: str) -> None:
    with pytest.raises(cm.DeviceError, match=message):
        cm.Context(spec)


def test_devices_of_unlike_precision(context: cm.Context) -> None:
    """As a device without float64 beside one that has it: all that differs is what the driver says of it."""
    without = cm.Device(context.device.cl_device)
    without.facts = replace(without.facts, fp64=False)
    for spec in ([context.device, without], [without, context.device]):
        with pytest.raises(cm.DeviceError, match=r"computes in float64 and .* does not; give devices that are alike"):
            cm.Context(spec)
    assert len(cm.Context([without, without]).members) == 2


def test_other_wrong_arguments(context: cm.Context) -> None:
    with pytest.raises(cm.ArgumentError, match="on_failure is 'again'; use 'raise' or 'redo'"):
        cm.Context([context.device], on_failure="again")
    with pytest.raises(cm.ArgumentError, match="cl_context is of one device"):
        cm.Context([context.device], cl_context=context.queue.context)


def test_all_devices_of_a_kind(context: cm.Context) -> None:
    kind = context.device.kind
    alike = [device for device in cm.devices() if device.kind == kind]
    team = cm.Context(f"all {kind}")
    assert [member.device for member in team.members] == alike
    assert team.device == alike[0] and repr(alike[0]) in repr(team)


def test_the_first_device_has_one_memory(context: cm.Context) -> None:
    """What the context does on its own and what it does as one of several share it, and the limit."""
    team = cm.Context([context.device] * 2, memory_limit="2M")
    assert team.queue.arena is team.members[0].queue.arena is not team.members[1].queue.arena
    assert team.queue.arena.limit == 2 << 20


def test_use_takes_several(context: cm.Context) -> None:
    with cm.use([context.device] * 2) as team:
        assert len(team.members) == 2 and cm.Reduce("sum")(np.ones(LENGTH)) == LENGTH


def test_a_call_is_cancelled(several: Several, rng: np.random.Generator) -> None:
    """By its own progress function, between two tiles."""
    context = several(2)
    with pytest.raises(cm.Cancelled, match="between two tiles"):
        cm.Map(lambda v: v + 1)(rng.random(LENGTH), context=context, progress=lambda done, total: context.cancel())
    assert cm.Reduce("sum")(np.ones(LENGTH), context=context) == LENGTH


def test_what_progress_raises_ends_the_call(several: Several, rng: np.random.Generator) -> None:
    def report(done: float, total: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cm.Map(lambda v: v + 1)(rng.random(LENGTH), context=several(2), progress=report)
    assert cm.Reduce("sum")(np.ones(LENGTH), context=several(2)) == LENGTH


def test_devices_of_two_kinds(rng: np.random.Generator) -> None:
    """Rows of pairs go to both, lines to the first."""
    kinds = {device.vendor: device for device in cm.devices()}
    if len(kinds) < 2:
        pytest.skip("drivers of one maker here")
    team = cm.Context([*kinds.values()], memory_limit=LIMIT)
    for call, exact in calls(rng):
        np.testing.assert_allclose(call(team), exact, rtol=1e-11)


def test_a_call_waits_for_events(several: Several, rng: np.random.Generator) -> None:
    context = several(2)
    x, event = rng.random(LENGTH), cl.UserEvent(context.queue.context)
    event.set_status(cl.command_execution_status.COMPLETE)
    for call in (cm.Map(lambda v: v + 1), cm.Reduce("sum")):
        np.testing.assert_allclose(call(x, context=context, wait_for=[event]), call(x, context=context))


def test_a_trace_has_a_row_for_every_queue(
    context: cm.Context, tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Launches and both ways of copies, on each device."""
    monkeypatch.setattr(TileCalls, "oldest_ended", False)
    team = cm.Context([context.device] * 2, memory_limit=LIMIT, profile=True)
    cm.Map(lambda v: v + 1)(rng.random(LENGTH), context=team)
    team.trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert {event["tid"] for event in events if event["ph"] == "X"} == set(names)
    queues = {name.partition(", row ")[0] for name in names.values()}
    assert len(queues) == 7  # three a device, and the own one
