"""Calls on short arrays of the host, repeated on devices that read and write host memory by its addresses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clmapreduce.calls.call import as_argument
from clmapreduce.calls.prepared import Prepared
from clmapreduce.calls.repeat.ready import numbers_of
from clmapreduce.device.array import aligned_empty
from clmapreduce.device.context import Context
from clmapreduce.device.plans.executable import Executable
from clmapreduce.device.runtime import take, translated
from clmapreduce.formula.formula import Access

SHORT = 1 << 16
"""Bytes of a short array. A longer one takes more time to copy than to lend, and may be streamed."""


class StagedCall:
    """A call that has memory of its own: arguments are copied into it, results out of it. To lend the device the memory
    of new arrays takes longer. It holds neither its context nor its plan: the context's cache may drop the plan.

    is_over: whether a call has failed or was interrupted. Then kernels may still use the memory, and this must not be
    called again.
    """

    def __init__(self, prepared: Prepared) -> None:
        inputs = prepared.call.inputs
        self._plan = prepared.executable.key
        self._constants = {f"in{k}": argument.numbers for k, argument in enumerate(inputs)}
        self._numbers = numbers_of(inputs)
        self._names = tuple(name for _, name, _ in self._numbers)
        numbers = {k for k, _, _ in self._numbers}
        arrays = {k: argument.value for k, argument in enumerate(inputs) if k not in numbers}
        self._inputs = {k: aligned_empty(array.shape, array.dtype) for k, array in arrays.items()}
        self._results = [aligned_empty(shape, dtype) for shape, dtype in prepared.outputs]
        arena = prepared.call.context.queue.arena
        with translated():
            self._slots: dict[str, Any] = {
                f"{kind}{k}": arena.borrow(array.reshape(-1).view(np.uint8), writable=True)
                for kind, own in (("in", self._inputs), ("out", dict(enumerate(self._results))))
                for k, array in own.items()
            }
        self._slots |= {name: as_argument(inputs[k].value, dtype) for k, name, dtype in self._numbers}
        self._idle = [True]
        self.is_over = False

    def __call__(self, context: Context, values: Sequence[Any], wait_for: Sequence[Any]) -> list[Any] | None:
        """The results; None where the plan is gone, or another thread is at work on the arrays. values: of the same
        kinds, shapes and dtypes, in their order.
        """
        executable = context.caches().plans.get(self._plan)
        if executable is None:
            return None
        try:
            self._idle.pop()
        except IndexError:
            return None
        try:
            for k, own in self._inputs.items():
                np.copyto(own, values[k])
            self._run(context, executable, wait_for, values)
            results = [result.copy() if result.shape else result[()] for result in self._results]
        except BaseException:
            self.is_over = True
            raise
        self._idle.append(True)
        return results

    def _run(
        self, context: Context, executable: Executable, wait_for: Sequence[Any], values: Sequence[Any]
    ) -> None:
        """Launches, and waits. values: of which the numbers are arguments of this call."""
        queue, slots = context.queue, {**self._slots}
        for k, name, dtype in self._numbers:
            if k < len(values):
                slots[name] = as_argument(values[k], dtype)
        with translated():
            for name, table in executable.tables.items():
                slots[name] = table.buffer
            scratch: Mapping[str, Any] = {name: take(queue, n) for name, n in executable.plan.scratch.items()}
            try:
                executable.repeated(self._constants, self._names).submit({**slots, **scratch}, wait_for).wait()
            finally:
                for buffer in scratch.values():
                    queue.arena.give(buffer)


def is_staged(prepared: Prepared) -> bool:
    """Whether a call on arrays of the host alone gains by it: its results are short too."""
    of_arrays = all(
        argument.signature.access is Access.ARGUMENT or (type(argument.value) is np.ndarray and argument.value.size)
        for argument in prepared.call.inputs
    )
    nbytes = [math.prod(shape) * dtype.itemsize for shape, dtype in prepared.outputs]
    return of_arrays and prepared.call.context.queue.facts.host_pointers and 0 < min(nbytes) <= max(nbytes) <= SHORT
