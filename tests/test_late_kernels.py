"""Kernels that compute again what others gave up: built after the first call, or by it where that needs them."""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from support.oracles import assert_same

import clmapreduce as cm
from clmapreduce.calls.arguments import gather
from clmapreduce.device.array import DeviceArray, empty
from clmapreduce.device.plans import executable as executables
from clmapreduce.device.plans.executable import LONG_WORK, Executable
from clmapreduce.domain.line import Line
from clmapreduce.dtypes import DType
from clmapreduce.formula.trace import trace
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Plan, where_marked
from clmapreduce.planning.lines import MapRequest
from clmapreduce.schemes.common.boxes import launch_box

LENGTH = 5_003
COMPLETE = cl.command_execution_status.COMPLETE
NUMBERS = itertools.count(1000)
"""In the text of kernels, so that each is a new one."""


@pytest.fixture(autouse=True)
def beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that compiles beside others."""
    monkeypatch.setattr(executables, "compiles_beside", lambda queue: True)


def plan_of(formula: str, context: cm.Context, x: DeviceArray, writes: str) -> tuple[Plan, DType]:
    """The plan of a map whose result is an array of this name, and the result's dtype."""
    arguments = gather([x], context)
    traced = trace(cm.Map(formula).function, [s.input(0) for s in arguments.signature], "the map")
    box = launch_box("map", ComputeMode.PARALLEL, context.facts)
    plan = MapRequest(traced, Line(LENGTH), ComputeMode.PARALLEL, box).planned(context.facts)
    (stage,) = plan.stages
    names = tuple(writes if a == "out0" else a for a in stage.arguments)
    return replace(plan, stages=(replace(stage, arguments=names, writes=(writes,)),)), traced.outputs[0].dtype


def executable_of(context: cm.Context, x: DeviceArray, work: float = 0.0) -> tuple[Executable, int]:
    """x + k; where a number is above 5, x * k for all; where one is above 6, x - k for all; and k. work: of the plan."""
    number = next(NUMBERS)
    marks, marked = plan_of("where(x > 5, 1, 0)", context, x, "redo0")
    more, _ = plan_of("where(x > 6, 1, 0)", context, x, "redo1")
    first, again, last = (plan_of(f"x {sign} {number}", context, x, "out0")[0] for sign in "+*-")
    behind = where_marked([*again.stages, *more.stages], "redo0"), where_marked(last.stages, "redo1")
    stages = (*marks.stages, *first.stages, *behind[0], *behind[1])
    plan = replace(first, stages=stages, scratch=dict.fromkeys(("redo0", "redo1"), marked.itemsize * LENGTH))
    return Executable(plan, context.queue, {}, lambda table: pytest.fail("there is none"), work), number


def numbers(rng: np.random.Generator, *marked: int) -> Any:
    """Small ones, and these somewhere among them."""
    values = rng.integers(-5, 6, LENGTH).astype(np.float32)
    values[rng.integers(0, LENGTH, len(marked))] = marked
    return values


def submitted(executable: Executable, context: cm.Context, x: DeviceArray, *wait_for: cl.Event) -> DeviceArray:
    out = empty(x.shape, x.dtype, context)
    executable.submit({"in0": x.memory, "out0": out.memory}, wait_for)
    return out


def test_nothing_was_given_up(context: cm.Context, rng: np.random.Generator) -> None:
    """The kernels are built by a thread, and launched from then on."""
    values = numbers(rng)
    x = cm.array(values, context)
    executable, number = executable_of(context, x)
    assert not executable.is_complete
    assert_same(submitted(executable, context, x).to_numpy(), values + number)
    assert executable._compiler is not None
    executable._compiler.join()
    assert executable.is_complete
    assert_same(submitted(executable, context, x).to_numpy(), values - number)


def test_what_was_given_up_is_computed_again(context: cm.Context, rng: np.random.Generator) -> None:
    values = numbers(rng, 6)
    x = cm.array(values, context)
    executable, number = executable_of(context, x, LONG_WORK)
    assert_same(submitted(executable, context, x).to_numpy(), values * number)
    values[rng.integers(LENGTH)] = 7
    assert_same(submitted(executable, context, cm.array(values, context)).to_numpy(), values - number)
    assert executable.is_complete


def test_only_kernels_that_are_needed_are_waited_for(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before a thread builds the others."""
    values = numbers(rng, 6)
    x = cm.array(values, context)
    executable, number = executable_of(context, x, LONG_WORK)
    monkeypatch.setattr(Executable, "_complete_beside", lambda self: None)
    assert_same(submitted(executable, context, x).to_numpy(), values * number)
    assert len(executable.kernels) == len(executable.plan.stages) - 1
    values[rng.integers(LENGTH)] = 7
    assert_same(submitted(executable, context, cm.array(values, context)).to_numpy(), values - number)
    assert executable.is_complete


def test_short_calls_build_all_kernels_if_one_is_needed(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that later calls need not look at marks between launches."""
    values = numbers(rng, 6)
    x = cm.array(values, context)
    executable, number = executable_of(context, x, work=LONG_WORK / 2)
    monkeypatch.setattr(Executable, "_complete_beside", lambda self: None)
    submitted(executable, context, x)
    assert executable.is_complete
    values[:] = 0
    assert_same(submitted(executable, context, cm.array(values, context)).to_numpy(), values - number)


def test_no_kernel_is_built_once_the_program_has_ended(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python waits for the thread."""
    values = numbers(rng)
    x = cm.array(values, context)
    executable, number = executable_of(context, x)
    ended = threading.Thread()
    monkeypatch.setattr(threading, "main_thread", lambda: ended)
    assert_same(submitted(executable, context, x).to_numpy(), values + number)
    assert executable._compiler is not None
    executable._compiler.join()
    assert len(executable.kernels) == 2


def test_no_call_waits_for_an_event_that_it_was_given(context: cm.Context, rng: np.random.Generator) -> None:
    """Nor for one that an earlier call was given, longer than it has patience."""
    values = numbers(rng)
    x = cm.array(values, context)
    gate = cl.UserEvent(context.queue.context)
    try:
        late = cm.Map("x + 0")(x, wait_for=[gate])
        (first, one), (second, two) = executable_of(context, x), executable_of(context, late)
        results = submitted(first, context, x, gate), submitted(second, context, late)
        assert first.is_complete and second.is_complete
        assert not any(result.done() for result in results)
    finally:
        gate.set_status(COMPLETE)
    for result, number in zip(results, (one, two), strict=True):
        assert_same(result.to_numpy(), values - number)


def test_a_kernel_that_does_not_build_is_told_of_where_it_is_needed(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = numbers(rng)
    x = cm.array(values, context)
    executable, number = executable_of(context, x)

    def refuse(*args: object) -> None:
        raise cm.BuildError("no such thing")

    monkeypatch.setattr(executables, "build_kernels", refuse)
    assert_same(submitted(executable, context, x).to_numpy(), values + number)
    assert executable._compiler is not None
    executable._compiler.join()
    values[7] = 6
    with pytest.raises(cm.BuildError, match="no such thing"):
        submitted(executable, context, cm.array(values, context))


@pytest.mark.parametrize(("groups", "counted"), [((5, 1, 2), (7.0, 0.0, 7.0)), ((1, 1), (7.0, 7.0))])
def test_launches_of_one_group_count_no_work(
    groups: tuple[int, ...], counted: tuple[float, ...], context: cm.Context
) -> None:
    """Beside larger ones: a group cannot be cut into pieces, and a merge does not compute a plan's operations."""
    x = cm.array(np.zeros(LENGTH, np.float32), context)
    plan, _ = plan_of(f"x + {next(NUMBERS)}", context, x, "out0")
    plan = replace(plan, stages=tuple(replace(plan.stages[0], groups=each) for each in groups))
    executable = Executable(plan, context.queue, {}, lambda table: pytest.fail("there is none"), 7.0)
    assert tuple(launch.slots({}, ()).work for launch in executable.launches) == counted
