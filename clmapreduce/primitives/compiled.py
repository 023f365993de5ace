"""Compiled pipelines: planned, rendered and built for fixed shapes and dtypes; a call only binds arrays and submits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from clmapreduce.calls.arguments import Argument, Arguments, Described, product
from clmapreduce.calls.call import Output, as_argument, check_out
from clmapreduce.calls.explain import Explanation, explained
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import prepare
from clmapreduce.calls.progress import followed
from clmapreduce.calls.windows import window_of
from clmapreduce.checks import numpy_array
from clmapreduce.device.array import DeviceArray, contiguous, empty
from clmapreduce.device.convert import host_array
from clmapreduce.device.foreign import is_wrapped
from clmapreduce.device.plans.executable import Executable
from clmapreduce.device.runtime import take, translated
from clmapreduce.device.several.split import is_split
from clmapreduce.errors import DeviceError, DTypeError, ModeError, ShapeError
from clmapreduce.formula.formula import Access
from clmapreduce.primitives.partials import keeps
from clmapreduce.reductions import Bound
from clmapreduce.reductions.base import Accumulate


@dataclass(frozen=True, eq=False)
class Lowered:
    """A call without its arguments' values: outputs, built plan (None where there is nothing to launch), the operator
    of the partials it ends with. in_step, partly: as in `prepare`.
    """

    arguments: Arguments
    outputs: Sequence[Output]
    executable: Executable | None
    partials: Bound | None = None
    in_step: bool = False
    partly: tuple[bool, ...] = ()


class Lowering(Protocol):
    """A pipeline, as far as a compiled one asks it."""

    def lowered(
        self, arguments: Arguments, options: Options, batch: bool, accumulate: Accumulate, length: int | None
    ) -> Lowered:
        """Everything about a call that its arguments' values do not change."""


class Compiled:
    """A pipeline for fixed shapes and dtypes, made by `Pipeline.compile`.

    `context`: where it runs. Called with arguments of just these shapes and dtypes (numbers are converted), it gives
    what the pipeline gives. Scratch memory is kept between calls. May be called from several threads.
    """

    def __init__(
        self, pipeline: Lowering, described: Sequence[Described], lowered: Lowered, mode: str, tiles: int | None,
        more: Mapping[str, Any],
    ) -> None:  # fmt: skip
        if lowered.executable is None:
            raise ModeError(f"{pipeline!r} cannot be compiled for a batch of no rows: there is nothing to launch")
        self._pipeline, self._described = pipeline, tuple(described)
        self._mode, self._tiles, self._more = mode, tiles, dict(more)
        self._arguments, self._outputs = lowered.arguments, tuple(lowered.outputs)
        self._executable, self._in_step, self._partly = lowered.executable, lowered.in_step, lowered.partly
        self._partials = lowered.partials
        self.context = lowered.arguments.context
        queue, inputs = self.context.queue, lowered.arguments.inputs
        numbers = {f"in{i}": g.numbers for i, g in enumerate(inputs)}
        self._numbers = tuple(g.signature.access is Access.ARGUMENT for g in inputs)
        self._slots = [(i, f"in{i}", *kind) for i, kind in enumerate(zip(described, self._numbers, strict=True))]
        names = {name for _, name, _, number in self._slots if number}
        self._replay = lowered.executable.replay(numbers, names)
        with translated():
            self._scratch = {name: take(queue, nbytes) for name, nbytes in lowered.executable.plan.scratch.items()}
        self._scratch |= {name: table.buffer for name, table in lowered.executable.tables.items()}

    def __reduce__(self) -> Any:
        shapes, dtypes = [d.shape for d in self._described], [d.dtype for d in self._described]
        return _compiled, (self._pipeline, shapes, dtypes, {"mode": self._mode, "tiles": self._tiles, **self._more})

    def __repr__(self) -> str:
        arguments = ", ".join(f"{d.dtype}{list(d.shape)}" for d in self._described)
        return f"Compiled({self._pipeline!r}, {arguments})"

    @followed
    def __call__(self, *values: Any, out: Any = None, wait_for: Sequence[Any] = (), progress: Any = None) -> Any:
        """The outputs for arguments of the compiled shapes and dtypes; `out` and `wait_for` as in a call of the
        pipeline. Raises ShapeError, DTypeError or DeviceError for other arguments, before anything is launched.
        """
        if len(values) != len(self._described):
            raise ShapeError(f"{self!r} takes {len(self._described)} argument(s), {len(values)} given")
        slots: dict[str, Any] = dict(self._scratch)
        on_device = False
        for value, (i, name, expected, number) in zip(values, self._slots, strict=True):
            if is_split(value):
                return self._from_host(values, out, wait_for)
            if isinstance(value, DeviceArray):
                on_device = True
                self._check_array(i, value, expected)
                slots[name] = value.buffer
            elif number:
                slots[name] = self._number(i, value, expected)
            else:
                return self._from_host(values, out, wait_for)
        results: list[Any] | None = None
        if out is not None or self._partly:
            results = check_out(out, self._outputs, self.context, self._partly)
        if not on_device or self._partials is not None or (results is not None and not self._simple(results, slots)):
            return self._from_host(values, out, wait_for)
        if results is None:
            results = [empty(shape, dtype, self.context) for shape, dtype in self._outputs]
        for k, result in enumerate(results):
            slots[f"out{k}"] = result.memory
        with translated():
            self._replay.submit(slots, wait_for)
        return results[0] if len(results) == 1 else tuple(results)

    def _simple(self, targets: Sequence[Any], slots: Mapping[str, Any]) -> bool:
        """Whether the kernels may write straight to the targets."""
        inputs = set(map(id, slots.values()))
        arrays = [target for target in targets if isinstance(target, DeviceArray) and not target.first]
        return len(arrays) == len(targets) and not any(id(t.memory) in inputs or is_wrapped(t) for t in arrays)

    def _check_array(self, i: int, value: Any, expected: Described) -> None:
        if value.shape != expected.shape:
            raise ShapeError(f"argument {i + 1} has shape {value.shape}, it was compiled for {expected.shape}")
        if value.dtype != expected.dtype:
            raise DTypeError(f"argument {i + 1} has dtype {value.dtype}, it was compiled for {expected.dtype}")
        if isinstance(value, DeviceArray) and value.context is not self.context:
            raise DeviceError(f"argument {i + 1} lives on {value.context!r}, it was compiled for {self.context!r}")
        if self._numbers[i] and isinstance(value, DeviceArray):
            raise DTypeError(
                f"argument {i + 1} was compiled as a number; pass one, or compile it with shape (1,) to pass an array"
            )

    def _number(self, i: int, value: Any, expected: Described) -> Any:
        number = numpy_array(value, f"argument {i + 1}")
        if number.shape != ():
            raise ShapeError(f"argument {i + 1} has shape {number.shape}, it was compiled as a number")
        if not np.can_cast(number.dtype, expected.dtype, "same_kind"):
            raise DTypeError(f"argument {i + 1} is {value!r}, it was compiled as {expected.dtype}")
        return as_argument(number, expected.dtype)

    def _from_host(self, values: Sequence[Any], out: Any, wait_for: Sequence[Any]) -> Any:
        """A call with arrays in host memory, or results that go somewhere special."""
        inputs: list[Argument] = []
        for i, (value, expected, own) in enumerate(zip(values, self._described, self._arguments.inputs, strict=True)):
            if self._numbers[i]:
                inputs.append(replace(own, value=np.asarray(value).astype(expected.dtype)))
                self._number(i, value, expected)
                continue
            array = value if isinstance(value, DeviceArray) else contiguous(host_array(value))
            self._check_array(i, array, expected)
            inputs.append(replace(own, value=array))
        on_device = any(isinstance(g.value, DeviceArray) for g in inputs)
        arguments = replace(self._arguments, inputs=tuple(inputs), on_device=on_device)
        options = Options(self._mode, self.context, wait_for, out, self._tiles)
        executable = self._executable
        split = any(is_split(g.value) for g in inputs)
        streamed = split or window_of(arguments, self._outputs, options) is not None
        if out is not None or streamed:  # the plan depends on how it lies in memory
            other = self._pipeline.lowered(arguments, options, **self._more).executable
            assert other is not None
            executable = other
        if self._partials is not None:
            return keeps(arguments, executable, self._partials, options).run()[0]
        results = prepare(arguments, executable, self._outputs, options, self._in_step, self._partly).run()
        return results[0] if len(results) == 1 else tuple(results)

    def explain(self) -> Explanation:
        """How every call runs: mode, scope, why, each launch and its bytes; `.svg()` draws it."""
        return explained(self._executable.plan, self._sizes).headed(repr(self))

    def _repr_html_(self) -> str:
        """What a notebook shows: `explain()` as a table and a picture."""
        return self.explain()._repr_html_()

    @property
    def _sizes(self) -> dict[str, int]:
        """Bytes of every array of the plan, by name."""
        results = {f"out{k}": product(shape) * dtype.itemsize for k, (shape, dtype) in enumerate(self._outputs)}
        read = {f"in{i}": d.size * d.dtype.itemsize for i, d in enumerate(self._described) if not self._numbers[i]}
        return {**read, **results, **self._executable.plan.scratch}


def _compiled(pipeline: Any, shapes: Sequence[Any], dtypes: Sequence[Any], more: Mapping[str, Any]) -> Compiled:
    """A pipeline compiled again, for this thread's context."""
    compiled: Compiled = pipeline.compile(shapes, dtypes, **more)
    return compiled
