"""One call, from gathered arguments to results: buffers in, one submission, results out where the caller wants them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

import hostsched
from clmapreduce.calls.arguments import Argument, Arguments, Shape
from clmapreduce.checks import refuse_masked, repeats
from clmapreduce.device.array import DeviceArray, NumpyArray, aligned_empty, empty
from clmapreduce.device.context import Context, is_empty
from clmapreduce.device.exchange.hosted import starts_aligned
from clmapreduce.device.host_array import HostArray, check_disk, check_file
from clmapreduce.device.long_copies import parted, read, run_writes
from clmapreduce.device.plans.executable import Executable
from clmapreduce.device.runtime import take, translated
from clmapreduce.device.several.split import Piece, SplitArray, empty_split, is_split, split
from clmapreduce.device.several.split_run import SplitRun
from clmapreduce.device.streaming import Stream
from clmapreduce.domain.line import Window
from clmapreduce.dtypes import DType
from clmapreduce.errors import DeviceError, DTypeError, FormulaError, ModeError, ShapeError
from clmapreduce.formula.formula import Access

Output = tuple[Shape, DType]


def check_out(out: Any, outputs: Sequence[Output], context: Context, partly: Sequence[bool] = ()) -> list[Any]:
    """`out` as one target per output (None where the call makes its own).

    partly: which outputs are only written in part, so that they need a target, of their own dtype. Raises ShapeError,
    DTypeError, FormulaError, DeviceError or StorageError when a target does not fit, before anything is launched;
    targets stay untouched.
    """
    if out is None:
        if any(partly):
            raise FormulaError("cm.guard leaves memory as it is where its condition is false; give the call out=")
        return [None] * len(outputs)
    targets = list(out) if isinstance(out, tuple) else [out]
    if len(targets) != len(outputs):
        raise ShapeError(f"out holds {len(targets)} array(s), the call gives {len(outputs)}")
    for i, (target, (shape, dtype)) in enumerate(zip(targets, outputs, strict=True)):
        _check_target(target, shape, dtype, context)
        if i < len(partly) and partly[i] and target.dtype != dtype:
            raise DTypeError(f"out has dtype {target.dtype}; a guarded output needs the result's own, {dtype}")
    if any(_share_memory(a, b) for a, b in combinations(targets, 2)):
        raise ShapeError("two arrays of out share memory; give each output its own")
    return targets


def _share_memory(a: Any, b: Any) -> bool:
    if a is b or is_split(a) or is_split(b):
        return a is b
    if isinstance(a, DeviceArray) or isinstance(b, DeviceArray):
        return isinstance(a, DeviceArray) and isinstance(b, DeviceArray) and a.memory is b.memory
    return bool(np.shares_memory(a, b))


def _check_target(target: Any, shape: Shape, dtype: DType, context: Context) -> None:
    if not isinstance(target, (DeviceArray, np.ndarray)):
        raise DTypeError(f"out must be a NumPy array or a DeviceArray, not {type(target).__name__}")
    refuse_masked(target, "out")
    if tuple(target.shape) != shape:
        raise ShapeError(f"out has shape {tuple(target.shape)}, the result has {shape}")
    if isinstance(target, DeviceArray):
        if target.dtype != dtype:
            raise DTypeError(f"out has dtype {target.dtype}, the result has {dtype}; a DeviceArray out needs the same")
        if target.context is not context:
            raise DeviceError(f"out lives on {target.context!r}, the call runs on {context!r}")
    else:
        if not target.flags.writeable:
            raise ShapeError("out is read-only; pass a writable array")
        if repeats(target.shape, target.strides, target.itemsize):
            raise ShapeError("out has elements that share their memory; pass an array of its own, such as out.copy()")
        if not np.can_cast(dtype, target.dtype, "safe"):
            raise DTypeError(f"out has dtype {target.dtype}, which cannot hold the result's {dtype} without loss")
        check_file(target, "out")
        check_disk(target, "out")


class Call:
    """Collects the buffers of one call, then runs it, once. `in_step`: nothing of an input is read after the output at
    its place was written. `partly`: which outputs are only written in part; the rest of their targets stays as it is.
    """

    def __init__(self, arguments: Arguments, in_step: bool = True, partly: Sequence[bool] = ()) -> None:
        self._arguments = arguments
        self._in_step = in_step
        self._partly = partly
        self._context = arguments.context
        self._arena = arguments.context.queue.arena
        self._before: list[Any] = []
        self._after: list[Any] = []
        self._temporary: list[hostsched.Buffer] = []
        self._alive: list[Any] = []
        self._has_run = False
        self._window: Window | None = None
        self._hosts: dict[str, HostArray] = {}
        self._pieces: dict[str, Sequence[Piece]] = {}
        self.arrays: dict[str, Any] = {}

    def add_inputs(self, window: Window | None = None) -> None:
        """Every argument's buffer, values and strides under the names in0, in1, … window: of the plan, where host
        arrays are streamed.
        """
        self._window = window
        splits = any(is_split(argument.value) for argument in self._arguments.inputs)
        with translated():
            for i, argument in enumerate(self._arguments.inputs):
                if self._is_streamed(f"in{i}") and splits:
                    value = argument.value
                    whole = value if isinstance(value, SplitArray) else split(value, self._context)
                    self._pieces[f"in{i}"] = whole.pieces  # as they lie now: another thread may move the array
                elif self._is_streamed(f"in{i}"):
                    self._stream(f"in{i}", argument.value, f"argument {i + 1}")
                else:
                    self.arrays[f"in{i}"] = self._input(argument)

    def _is_streamed(self, name: str) -> bool:
        return self._window is not None and name in self._window.names

    def _stream(self, name: str, values: NumpyArray, label: str, partly: bool = False) -> None:
        """Lets a host array pass through device memory window by window."""
        assert self._window is not None
        self._hosts[name] = HostArray(values, values.nbytes // self._window.entries, label, partly)

    @property
    def context(self) -> Context:
        """Where it runs."""
        return self._context

    @property
    def devices(self) -> int:
        """How many devices its arrays lie on, if on several."""
        return max((len({id(piece.context) for piece in pieces}) for pieces in self._pieces.values()), default=0)

    @property
    def on_device(self) -> bool:
        """Whether results without a target stay on the device."""
        return self._arguments.on_device

    @property
    def in_step(self) -> bool:
        """Whether nothing of an input is read after the output at its place was written."""
        return self._in_step

    @property
    def writes_in_part(self) -> bool:
        """Whether some of an output stays as it is in its target."""
        return any(self._partly)

    def stays(self, target: Any) -> bool:
        """Whether kernels write a result where it stays, on the device."""
        return self.on_device if target is None else isinstance(target, DeviceArray) and not self._unsafe_alias(target)

    @property
    def arguments(self) -> Arguments:
        """All of them."""
        return self._arguments

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """The arguments, those called in0, in1, … in the plan."""
        return self._arguments.inputs

    def _input(self, argument: Argument) -> Any:
        access = argument.signature.access
        if access is Access.ARGUMENT:
            return as_argument(argument.value, argument.signature.dtype)
        value, numbers = argument.value, argument.numbers
        if not isinstance(value, DeviceArray):
            buffer = self.lend(value)
        else:
            buffer = value.memory if argument.signature.shifted else value.buffer
        return (buffer, *numbers) if numbers else buffer

    def lend(self, values: NumpyArray) -> hostsched.Buffer:
        """A buffer that holds a host array: its own memory where the device shares it and may read it there, else a
        copy.
        """
        flat = values.reshape(-1).view(np.uint8)  # drivers take no array of bfloat16
        if not flat.size:
            return self.scratch(1)  # a kernel that reads nothing still has the argument
        self._alive.append(flat)
        if self._context.facts.lends_memory and starts_aligned(values):
            return self._arena.borrow(flat, writable=False)
        buffer = self.scratch(flat.nbytes)
        self._before.append(hostsched.WriteJob(buffer, flat))
        return buffer

    def scratch(self, nbytes: int) -> hostsched.Buffer:
        """Device memory that returns to the arena after this call."""
        buffer = take(self._context.queue, nbytes)
        self._temporary.append(buffer)
        return buffer

    def run(
        self, executable: Executable, outputs: Sequence[Output], targets: Sequence[Any], wait_for: Sequence[Any]
    ) -> list[Any]:
        """Launches, and gives one result per output: the target, a DeviceArray not waited for, or a NumPy array. Raises
        ModeError for a second time.
        """
        if self._has_run:
            raise ModeError("a call runs once, because its buffers go back to other calls then; prepare it again")
        self._has_run, waiting = True, False
        results: list[Any] = []
        copies: list[tuple[NumpyArray, NumpyArray]] = []
        try:
            with translated():
                for i, ((shape, dtype), target) in enumerate(zip(outputs, targets, strict=True)):
                    if isinstance(target, DeviceArray) or (target is None and self._arguments.on_device):
                        results.append(self._device_output(i, shape, dtype, target))
                        continue
                    waiting = True
                    array = self._host_output(i, shape, dtype, target)
                    if target is not None and array is not target:
                        copies.append((target, array))
                    results.append(target if target is not None else array)
                if self._window is not None and self._pieces:
                    run = SplitRun(self._context, executable, self._window, self._pieces, self.arrays)
                    run.run(wait_for, self._before, self._after)
                    if waiting or self._alive:
                        self._context.queue.finish()
                elif self._window is not None:
                    stream = Stream(self._context, executable, self._window, self._hosts, self.arrays)
                    stream.run(wait_for, self._before, self._after)
                else:
                    self._submit(executable, wait_for, waiting)
        finally:
            for buffer in self._temporary:
                self._arena.give(buffer)
        for target, array in copies:
            np.copyto(target, array)
        return [
            r[()] if isinstance(r, np.ndarray) and not r.shape and t is None else r
            for r, t in zip(results, targets, strict=True)
        ]

    def _submit(self, executable: Executable, wait_for: Sequence[Any], waiting: bool) -> None:
        """Launches, with long copies in chunks: not behind events that the host's arrays may depend on."""
        queue, before, after = self._context.queue, self._before, self._after
        reads: list[hostsched.ReadJob] = []
        if is_empty(wait_for) and hostsched.gains_by_staging(queue.facts):
            before = run_writes(queue, before)
            after, reads = parted(after)
        submission = executable.submit(self.arrays, wait_for, before, after)
        read(queue, reads)
        if waiting or self._alive:  # host memory that was lent is the caller's again on return
            submission.wait()

    def _is_partial(self, i: int) -> bool:
        return i < len(self._partly) and self._partly[i]

    def _device_output(self, i: int, shape: Shape, dtype: DType, target: DeviceArray | None) -> DeviceArray:
        if self._pieces and self._is_streamed(f"out{i}"):
            result = target if isinstance(target, SplitArray) else empty_split(shape, dtype, self._context)
            self._pieces[f"out{i}"] = result.pieces
            return result
        array = target if target is not None else empty(shape, dtype, self._context)
        self.arrays[f"out{i}"] = array.memory
        if target is not None and (target.first or self._unsafe_alias(target)):
            buffer = self.scratch(target.nbytes)
            self.arrays[f"out{i}"] = buffer
            nbytes, begin = target.nbytes, target.begin
            if self._is_partial(i):
                self._before.append(hostsched.CopyJob(target.memory, buffer, nbytes, source_offset=begin))
            self._after.append(hostsched.CopyJob(buffer, target.memory, nbytes, target_offset=begin))
        return array

    def _host_output(self, i: int, shape: Shape, dtype: DType, target: NumpyArray | None) -> NumpyArray:
        direct = (
            target is not None and target.dtype == dtype and target.flags.c_contiguous and starts_aligned(target)
            and not self._overlaps(target)
        )  # fmt: skip
        array = target if direct and target is not None else aligned_empty(shape, dtype)
        flat = array.reshape(-1).view(np.uint8)
        if self._is_partial(i) and array is not target:
            np.copyto(array, target)  # type: ignore[arg-type]  # what is written in part has a target
        if self._is_streamed(f"out{i}"):
            self._stream(f"out{i}", array, "out", self._is_partial(i))
            return array
        if self._context.facts.lends_memory and flat.nbytes >= 4096:
            buffer = self._arena.borrow(flat, writable=True)
            self._after.append(hostsched.MapJob(buffer))
        else:
            buffer = self.scratch(flat.nbytes)
            if self._is_partial(i):
                self._before.append(hostsched.WriteJob(buffer, flat))
            self._after.append(hostsched.ReadJob(buffer, flat))
        self.arrays[f"out{i}"] = buffer
        return array

    def _unsafe_alias(self, target: DeviceArray) -> bool:
        """Whether an input that is not read in step with the output lives in the target's memory."""
        if is_split(target):
            return not self._in_step and any(g.value is target for g in self._arguments.inputs)
        return any(
            isinstance(g.value, DeviceArray)
            and g.value.memory is target.memory
            and not (self._in_step and g.signature.access is Access.VECTOR and g.value.begin == target.begin)
            for g in self._arguments.inputs
        )

    def _overlaps(self, target: NumpyArray) -> bool:
        """Whether the target shares memory with an input other than element by element."""
        return any(
            isinstance(g.value, np.ndarray)
            and np.may_share_memory(g.value, target)
            and not (
                self._in_step
                and g.signature.access is Access.VECTOR
                and g.value.ctypes.data == target.ctypes.data
                and g.value.dtype == target.dtype
            )
            for g in self._arguments.inputs
        )


def as_argument(value: Any, dtype: DType) -> Any:
    """A value as kernel arguments: a NumPy scalar of the C type, complex numbers as vectors of two."""
    scalar = np.asarray(value).astype(dtype).reshape(())[()]
    if dtype == np.dtype(bool):
        return np.uint8(scalar)
    if dtype.kind == "c":
        return vector_argument(scalar)
    return scalar


def vector_argument(value: Any) -> Any:
    """A complex number laid out as OpenCL's float2 or double2."""
    part = np.dtype(np.float32 if value.dtype == np.complex64 else np.float64)
    return np.array([(value.real, value.imag)], dtype=[("x", part), ("y", part)])[0]
