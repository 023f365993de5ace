"""Every call to a driver fails once, in every way: a clean error, no leak, and the next call is right."""

from __future__ import annotations

import pathlib
from dataclasses import replace

import numpy as np
import pyopencl as cl
import pytest
from support.driver_faults import CODES, ENQUEUES, Driver, fails_cleanly, no_leak, places
from support.exact_calls import families
from support.oracles import assert_same

import clmapreduce as cm
from clmapreduce.doctor import selftest
from hostsched import ProgramBuildError, build

ALL = families(0)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("late", [False, True], ids=["call", "command"])
def test_warm_calls(name: str, late: bool, context: cm.Context) -> None:
    """Faults take turns; tests/fuzz/endurance_faults.py takes all of them for each call."""
    family, errors, at = ALL[name], 0, list(ALL).index(name)
    chosen_places = [place for place in places(context, family) if not late or place[0] in ENQUEUES]
    for turn, place in enumerate(chosen_places, at):
        fault = list(CODES)[turn % len(CODES)]
        with no_leak(context.queue):
            errors += bool(fails_cleanly(context, family, Driver(place, fault, late)))
    assert errors


@pytest.mark.parametrize("fault", CODES)
def test_calls_that_build(
    fault: str, context: cm.Context, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In new contexts, with empty folders for binaries."""
    for name in ("new_program", "build_program", "program_info", "new_kernel", "group_info", "argument_count"):
        monkeypatch.setenv("CLMR_CACHE_DIR", str(tmp_path / name))
        fresh = cm.Context(context.device, cl_context=cl.Context([context.device.cl_device]))
        with no_leak(fresh.queue):
            words = fails_cleanly(fresh, ALL["map"], Driver((name, 0), fault))
            tries_twice = (name, fault) == ("build_program", "build failure") and context.device.vendor == "pocl"
            assert words or name == "program_info" or tries_twice  # a kernel that is not stored on disk runs as well
            if (name, fault) == ("build_program", "no compiler"):
                assert "no compiler" in words and "another device" in words


def test_a_build_that_fails_and_leaves_no_log(context: cm.Context) -> None:
    with Driver(("build_log", None)), pytest.raises(ProgramBuildError, match="no log"):
        build(context.queue, "#error")


def test_a_build_that_fails_without_a_complaint(
    context: cm.Context, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PoCL's does where other processes write its cache: it is tried again, and again only so often."""
    traits = replace(context.device.facts.traits, retry_pauses=(0.0, 0.0))
    monkeypatch.setattr("hostsched.device.traits._TRAITS", {context.device.vendor: traits})
    monkeypatch.setenv("CLMR_CACHE_DIR", str(tmp_path))
    fresh = cm.Context(context.device, cl_context=cl.Context([context.device.cl_device]))
    with Driver(("build_program", 0), "build failure") as driver:
        assert_same(ALL["map"].call(fresh), ALL["map"].expected)
    assert driver.fired
    source = "__kernel void twice(__global int *x) { x[0] *= 2; }"
    with Driver(("build_program", None), "build failure") as driver, pytest.raises(ProgramBuildError, match="does not build"):
        build(fresh.queue, source)
    assert driver.counts["build_program"] == 3
    with Driver() as driver, pytest.raises(ProgramBuildError, match="error"):
        build(fresh.queue, "#error")
    assert driver.counts["build_program"] == 1


@pytest.mark.parametrize("name", ["new_program", "build_program"])
def test_a_binary_that_the_driver_does_not_take(
    name: str, context: cm.Context, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is built from source. PoCL's binaries are not stored."""
    monkeypatch.setenv("CLMR_CACHE_DIR", str(tmp_path))
    for fails in (None, (name, 0)):
        fresh = cm.Context(context.device, cl_context=cl.Context([context.device.cl_device]))
        with Driver(fails if context.device.vendor != "pocl" else None) as driver:
            assert_same(ALL["map"].call(fresh), ALL["map"].expected)
    assert driver.fired == (context.device.vendor != "pocl")


@pytest.mark.parametrize("fault", CODES)
@pytest.mark.parametrize("name", ["new_context", "new_queue"])
def test_a_context_that_cannot_be_made(name: str, fault: str, context: cm.Context) -> None:
    kind = cm.DeviceMemoryError if "memory" in fault or fault == "out of resources" else cm.DeviceError
    own = None if name == "new_context" else cl.Context([context.device.cl_device])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hostsched.queue.shared_context._own", {})
        with Driver((name, 0), fault), pytest.raises(kind, match="failed"):
            cm.Context(context.device, cl_context=own)
    assert cm.Reduce("sum")(np.arange(10), context=cm.Context(context.device, cl_context=own)) == 45


def test_a_failed_command_does_not_spoil_what_it_read(context: cm.Context) -> None:
    """An array that a failed command read can be written, and one that it wrote raises the error."""
    x = cm.array(np.arange(1000), context)
    step = cm.Map("x + 1")
    step(x, out=step(x))
    with no_leak(context.queue), Driver(("enqueue_kernel", 0), "out of resources", late=True):
        y = step(x)
        for _ in range(2):
            with pytest.raises(cm.DeviceMemoryError, match="OUT_OF_RESOURCES"):
                y.to_numpy()
        z = step(y)
        with pytest.raises(cm.DeviceError, match="earlier call"):
            z.to_numpy()
        step(x, out=x)
        assert_same(x.to_numpy(), np.arange(1, 1001))
        del y, z


def test_the_self_test_names_what_fails(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    some = dict(list(selftest.cases().items())[:1])
    monkeypatch.setattr(selftest, "cases", lambda: some)
    monkeypatch.setattr(selftest.driver_cases, "cases", dict)
    assert not any(selftest.run(context).values())
    with Driver(("enqueue_kernel", len(context.device.modes) - 1), "lost device"):
        complaints = [words for words in selftest.run(context).values() if words]
    assert len(complaints) == 1 and "DeviceError" in complaints[0] and "lost" in complaints[0]
    assert not any(selftest.run(context).values())
