"""Calls that are ready to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Arguments, product
from clmapreduce.calls.call import Call, Output, check_out
from clmapreduce.calls.options import Options
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.runtime import Executable


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
    """A call that is ready to run: all checks passed, kernels built."""

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

    def run(self) -> list[Any]:
        """One result per output, `then` applied to them."""
        results = self.call.run(self.executable, self.outputs, self.targets, self.wait_for)
        return results if self.then is None else self.then(results)


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
