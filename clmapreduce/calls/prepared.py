"""Calls that are ready to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Arguments, product
from clmapreduce.calls.call import Call, Output, check_out
from clmapreduce.calls.options import Options
from clmapreduce.calls.recording import recorder
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.convert import array
from clmapreduce.device.plans.executable import Executable
from clmapreduce.formula.formula import Access
from clmapreduce.planning.request import PlanRequest


@dataclass(frozen=True)
class Planned:
    """A call whose plan is built, without any memory for it."""

    executable: Executable
    arguments: Arguments
    outputs: Sequence[Output]

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes of every array of the plan, by name."""
        arrays = ((f"in{i}", argument.value) for i, argument in enumerate(self.arguments.inputs))
        inputs = {name: v.nbytes for name, v in arrays if isinstance(v, (DeviceArray, np.ndarray))}
        results = {f"out{i}": product(shape) * dtype.itemsize for i, (shape, dtype) in enumerate(self.outputs)}
        return {**inputs, **self.executable.plan.scratch, **results}


@dataclass
class Prepared:
    """A call that is ready to run, once: all checks passed, kernels built."""

    executable: Executable
    call: Call
    outputs: Sequence[Output]
    targets: list[Any]
    wait_for: Sequence[Any]
    then: Callable[[list[Any]], list[Any]] | None = None

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes of every array of the plan, by name."""
        return Planned(self.executable, self.call.arguments, self.outputs).sizes

    @property
    def devices(self) -> int:
        """How many devices its arrays lie on, if on several."""
        return self.call.devices

    @property
    def stays(self) -> bool:
        """Whether kernels write all results where they stay, on the device, and nothing else is written."""
        return all(self.call.stays(target) for target in self.targets)

    @property
    def is_plain(self) -> bool:
        """Whether kernels write whole results, all of them at once, and the host does nothing behind them."""
        return self.then is None and self.executable.plan.window is None and not self.call.writes_in_part

    @property
    def is_tunable(self) -> bool:
        """Whether the call may be repeated on arrays of one device to measure its launch boxes."""
        alone = not self.call.context.members and not any(one.signature.shifted for one in self.call.inputs)
        return self.is_plain and alone

    def planned_as(self, request: PlanRequest, arguments: Arguments, owner: Any) -> Prepared:
        """The same call planned by another request, with results of its own. arguments: its own, on the device. owner:
        of the built plan.
        """
        executable = arguments.context.executable(request, owner)
        return prepare(arguments, executable, self.outputs, Options(), self.call.in_step)

    def fill(self) -> None:
        """Launches what computes the arrays that kernels read beside the arguments, unless they are known."""

    def run(self) -> list[Any]:
        """One result per output, `then` applied to them. Raises ModeError for a second time."""
        record = recorder()
        if record is not None:
            record(self)
        self.fill()
        results = self.call.run(self.executable, self.outputs, self.targets, self.wait_for)
        return results if self.then is None else self.then(results)


def on_device(arguments: Arguments) -> Arguments:
    """The same arguments with copies of the host's arrays on the device, where results stay."""
    inputs = (
        one
        if isinstance(one.value, DeviceArray) or one.signature.access is Access.ARGUMENT
        else replace(one, value=array(one.value, arguments.context))
        for one in arguments.inputs
    )
    return replace(arguments, inputs=tuple(inputs), on_device=True)


def prepare(
    arguments: Arguments,
    executable: Executable,
    outputs: Sequence[Output],
    options: Options,
    in_step: bool = True,
    partly: Sequence[bool] = (),
) -> Prepared:
    """Buffers for the arguments, and checked targets for the outputs. in_step: nothing of an input is read after the
    output at its place was written. partly: which outputs are only written in part.
    """
    targets = check_out(options.out, outputs, arguments.context, partly)
    call = Call(arguments, in_step, partly)
    call.add_inputs(executable.plan.window)
    return Prepared(executable, call, outputs, targets, options.wait_for)
