"""Calls that are ready to be repeated: what depends on shapes and dtypes alone is settled, so that a call on device
arrays only binds and submits.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Protocol

from clmapreduce.calls.arguments import Argument
from clmapreduce.calls.call import as_argument
from clmapreduce.calls.prepared import Prepared
from clmapreduce.device.array import DeviceArray, Part
from clmapreduce.device.context import Context
from clmapreduce.device.plans.executable import Executable
from clmapreduce.device.runtime import take, translated
from clmapreduce.dtypes import DType
from clmapreduce.errors import DeviceMemoryError
from clmapreduce.formula.formula import Access

KEPT_SCRATCH = 1 << 16
"""Bytes of scratch that a ready call keeps at most: to take and give memory costs as much as a launch."""


KINDS = (DeviceArray, Part)
"""Types of arrays that lie on one device."""


class Derivation(Protocol):
    """How an array follows from a call's first one."""

    def of(self, source: DeviceArray, wait_for: Sequence[Any], /) -> Any:
        """The array for this source, to be computed unless it is known."""


class ReadyCall:
    """A call with everything settled but its arrays: the entry that caches hold under a `CallRequest`.

    numbers: place, name and dtype of each argument that is a number. own: positions among the arguments of arrays that
    are the same in every call. derivation: of the array that the call takes last, if it takes one that follows from the
    others. overwrites: whether a result may replace an array that is read in step with it; calls then pass all
    arguments, in their order. It holds no context beside its own arrays', because it lives as long as the context.
    """

    def __init__(
        self, prepared: Prepared, own: Collection[int] = (), derivation: Derivation | None = None,
        overwrites: bool = False,
    ) -> None:  # fmt: skip
        arguments, executable = prepared.call.inputs, prepared.executable
        numbers = {
            f"in{k}": as_argument(argument.value, argument.signature.dtype)
            for k, argument in enumerate(arguments)
            if argument.signature.access is Access.ARGUMENT
        }
        self.derivation = derivation
        self.numbers = numbers_of(arguments)
        self._names = tuple(f"in{k}" for k in range(len(arguments)) if f"in{k}" not in numbers and k not in own)
        self._outputs = [(kind, math.prod(kind[0]) * kind[1].itemsize) for kind in prepared.outputs]
        self._own = {f"in{k}": arguments[k].value for k in own}
        self._numbers = numbers
        self._constants = {f"in{k}": argument.numbers for k, argument in enumerate(arguments)}
        in_step = overwrites and prepared.call.in_step
        self._in_step = {k for k, one in enumerate(arguments) if in_step and one.signature.access is Access.VECTOR}
        self._set(executable, prepared.call.context.queue)

    def _set(self, executable: Executable, queue: Any) -> None:
        """Settles which plan is launched, and in which place its launches take each array and each number. Takes little
        scratch for all calls.
        """
        self._executable = executable
        self._lean: ReadyCall | None = None
        replay = executable.replay(self._constants, self._numbers)
        tables = {name: table.buffer for name, table in executable.tables.items()}
        settled = {**self._numbers, **tables, **{name: array.buffer for name, array in self._own.items()}}
        self._replay = replay
        self._buffers = [settled.get(name) for name in replay.buffers]
        self._scalars = [settled.get(name) for name in replay.scalars]
        self._places = places = {name: place for place, name in enumerate(replay.buffers)}
        self._inputs_at = [(k, places[name]) for k, name in enumerate(self._names) if name in places]
        self._results_at = [(k, places[f"out{k}"]) for k in range(len(self._outputs)) if f"out{k}" in places]
        scratch = executable.plan.scratch
        self._scratch_at = [(places[name], nbytes) for name, nbytes in scratch.items() if name in places]
        if sum(scratch.values()) <= KEPT_SCRATCH:
            with translated():
                for place, nbytes in self._scratch_at:
                    self._buffers[place] = take(queue, nbytes)
            self._scratch_at = []

    def lean(self, queue: Any) -> ReadyCall | None:
        """The same call by the lean plan, if there is one."""
        if self._lean is None and self._executable.lean is not None:
            call = copy(self)
            call._set(self._executable.lean, queue)
            self._lean = call
        return self._lean

    def takes(self, out: DeviceArray, values: Iterable[Any]) -> bool:
        """Whether `out` can hold the only result of a call on some arrays and numbers: it fits, and no array lives in
        it but those that are read in step with it.
        """
        fits = [(out.shape, out.dtype)] == [kind for kind, _ in self._outputs]
        own = any(array.memory is out.memory for array in self._own.values())
        unsafe = any(
            type(value) in KINDS and value.memory is out.memory and k not in self._in_step
            for k, value in enumerate(values)
        )
        return fits and not own and not unsafe and not out.first

    def __call__(
        self, context: Context, arrays: Sequence[DeviceArray], wait_for: Sequence[Any], out: DeviceArray | None = None,
        instead: Mapping[str, Any] | None = None,
    ) -> list[DeviceArray]:  # fmt: skip
        """One result per output, not waited for. context: the one it was prepared for. arrays: its arguments but
        numbers and own arrays, in their order. out: what it `takes`. instead: buffers that take the place of the plan's
        tables, and numbers that take the place of those it was prepared for.
        """
        if len(arrays) != len(self._names):
            raise ValueError(f"{len(arrays)} arrays for {len(self._names)} arguments")
        queue, buffers, scalars = context.queue, self._buffers.copy(), self._scalars
        for k, place in self._inputs_at:
            buffers[place] = arrays[k].buffer
        if instead:
            scalars = [instead.get(name, own) for name, own in zip(self._replay.scalars, scalars, strict=True)]
            for name in self._places.keys() & instead.keys():
                buffers[self._places[name]] = instead[name]
        try:
            with translated():
                results = [out] if out is not None else [
                    DeviceArray(context, take(queue, nbytes), *kind) for kind, nbytes in self._outputs
                ]  # fmt: skip
                for k, place in self._results_at:
                    buffers[place] = results[k].memory
                if self._scratch_at:
                    self._launch(queue, buffers, scalars, wait_for)
                else:
                    self._replay.repeat(buffers, scalars, wait_for)
        except DeviceMemoryError:
            lean = self.lean(queue)
            if lean is None:
                raise
            results, buffers = [], []  # their memory may be needed
            return lean(context, arrays, wait_for, out, instead)
        return results


    def on(
        self, context: Context, values: Sequence[Any], wait_for: Sequence[Any], out: DeviceArray | None = None
    ) -> list[DeviceArray]:
        """As a call on arrays, for arrays and numbers in the order of the arguments."""
        places = {k for k, _, _ in self.numbers if k < len(values)} if self.numbers else ()
        if not places:
            return self(context, values, wait_for, out)
        instead = {name: as_argument(values[k], dtype) for k, name, dtype in self.numbers if k in places}
        arrays = [value for k, value in enumerate(values) if k not in places]
        return self(context, arrays, wait_for, out, instead)

    def _launch(self, queue: Any, buffers: list[Any], scalars: list[Any], wait_for: Sequence[Any]) -> None:
        """Launches the plan, with scratch that comes and goes."""
        scratch = [take(queue, nbytes) for _, nbytes in self._scratch_at]
        for (place, _), buffer in zip(self._scratch_at, scratch, strict=True):
            buffers[place] = buffer
        try:
            self._replay.repeat(buffers, scalars, wait_for)
        finally:
            for buffer in scratch:
                queue.arena.give(buffer)


def numbers_of(arguments: Sequence[Argument]) -> tuple[tuple[int, str, DType], ...]:
    """Place, name and dtype of each argument that is a number."""
    signatures = [argument.signature for argument in arguments]
    return tuple((k, f"in{k}", s.dtype) for k, s in enumerate(signatures) if s.access is Access.ARGUMENT)


def is_repeatable(prepared: Prepared) -> bool:
    """Whether all that a call reads is numbers and arrays on the device."""
    return all(g.signature.access is Access.ARGUMENT or isinstance(g.value, DeviceArray) for g in prepared.call.inputs)
