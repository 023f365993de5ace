"""What all primitives share: tracing once per signature, checking dtypes against the device, explaining plans."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clmapreduce.arguments import Arguments, Signature, product
from clmapreduce.array import DeviceArray
from clmapreduce.call import Call, Output, check_out
from clmapreduce.context import Context
from clmapreduce.dtypes import DType, check_constant
from clmapreduce.errors import DTypeError, FormulaError, ModeError
from clmapreduce.foreign import is_wrapped
from clmapreduce.formula.formula import Formula, Input
from clmapreduce.formula.functions import CAST
from clmapreduce.formula.guard import check_guards
from clmapreduce.formula.node import Apply, Node
from clmapreduce.formula.trace import trace
from clmapreduce.modes import ComputeMode
from clmapreduce.primitives.explain import explained
from clmapreduce.runtime import Executable, source_of
from clmapreduce.tuning import LaunchBox, launch_box, strictly_sequential

Front = Callable[..., Any]


def identity(*values: Any) -> Any:
    """The front of a primitive that nothing is fused into."""
    if not values:
        raise FormulaError("there is nothing to work on; give an array, or put a Map in front")
    return values if len(values) > 1 else values[0]


@dataclass(frozen=True)
class Options:
    """The keywords every call takes, but `progress` (see `clmapreduce.progress`).

    `tiles=1` with mode="sequential" is the strictly sequential run: one work-item, one value at a time.
    """

    mode: str = "auto"
    context: Context | None = None
    wait_for: Sequence[Any] = ()
    out: Any = None
    tiles: int | None = None

    def strict(self, mode: ComputeMode) -> bool:
        """Whether one work-item must do it all. Raises ModeError for tiles that are not offered."""
        if self.tiles is None:
            return False
        if mode is not ComputeMode.SEQUENTIAL or isinstance(self.tiles, bool) or self.tiles != 1:
            raise ModeError(
                f"tiles={self.tiles} is offered as tiles=1 with mode='sequential': one work-item walks the whole length"
            )
        return True

    def refuse_inside(self, what: str, **more: Any) -> None:
        """Raises FormulaError for keywords that a step of a fused function cannot have. more: those beside the options;
        None and "auto" were not given.
        """
        given = [name for name, kept in vars(Options()).items() if getattr(self, name) is not kept]
        given += [name for name, value in more.items() if value is not None and str(value) != "auto"]
        if given:
            raise FormulaError(
                f"{what} is a step of a fused function and takes no {', '.join(given)}; give it to the function's call"
            )

    def box(self, scheme: str, mode: ComputeMode, context: Context) -> LaunchBox:
        """The launch box for a scheme under these options."""
        box = launch_box(scheme, mode, context.facts)
        return strictly_sequential(box) if self.strict(mode) else box


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
        made = {f"out{i}": product(shape) * dtype.itemsize for i, (shape, dtype) in enumerate(self.outputs)}
        return {**self.call.sizes, **self.executable.plan.scratch, **made}

    @property
    def stays(self) -> bool:
        """Whether kernels write all results where they stay, on the device, and nothing else is written."""
        return all(self.call.stays(target) for target in self.targets)

    def run(self) -> list[Any]:
        """One result per output, `then` applied to them."""
        results = self.call.run(self.executable, self.outputs, self.targets, self.wait_for)
        return results if self.then is None else self.then(results)


@dataclass
class Traced:
    """A front traced for some signatures; remembers every formula, so that equal calls share kernels."""

    front: Front
    what: str
    formulas: dict[Any, Formula] = field(default_factory=dict)

    def formula(self, signature: tuple[Signature, ...], device: Context) -> Formula:
        """The formula for these inputs. Raises FormulaError, or DTypeError for what the device lacks."""
        found = self.formulas.get(signature)
        if found is None:
            found = trace(self.front, [s.input(i) for i, s in enumerate(signature)], self.what)
            check_guards(found.nodes, found.outputs, self.what)
            self.formulas[signature] = found
        check_device(found.dtypes, device)
        return found


def check_device(dtypes: Sequence[DType], context: Context) -> None:
    """Raises DTypeError naming a dtype that the device cannot compute with."""
    device = context.device
    for dtype in dtypes:
        if dtype in (np.dtype(np.float64), np.dtype(np.complex128)) and not device.fp64:
            raise DTypeError(f"{device.name} has no float64, which {dtype} needs; use float32 or complex64")
        if dtype == np.dtype(np.float16) and not device.fp16:
            raise DTypeError(f"{device.name} has no float16 arithmetic; convert with x.astype('float32')")


def check_numbers(formula: Formula, arguments: Arguments) -> None:
    """Raises DTypeError for a Python integer that does not fit the dtype of the numbers it meets, as NumPy does."""
    check_weak(formula.inputs, formula.nodes, arguments)


def check_weak(inputs: Sequence[Input], nodes: Sequence[Node], arguments: Arguments) -> None:
    """As `check_numbers`, for the inputs and nodes of any formulas."""
    for given, argument in zip(inputs, arguments.given, strict=True):
        if argument.signature.weak is int:
            for node in nodes:
                if isinstance(node, Apply) and node.function is CAST and node.args[0] is given.value:
                    check_constant(int(argument.value), node.dtype)


class Primitive(ABC):
    """A primitive, or several composed with `>>`."""

    def __rshift__(self, other: Primitive) -> Any:
        """This, then `other`: one `Pipeline`, fused."""
        from clmapreduce.primitives.compose import composed

        return composed(self, other)

    @abstractmethod
    def _prepare(self, values: Sequence[Any], options: Options, **more: Any) -> Prepared | list[Any]:
        """Everything up to the launch; the results themselves where nothing needs launching."""

    def _run(self, values: Sequence[Any], options: Options, **more: Any) -> list[Any]:
        prepared = self._prepare(values, options, **more)
        return prepared.run() if isinstance(prepared, Prepared) else prepared

    def explain(self, *values: Any, **keywords: Any) -> str:
        """How a call with these arguments would run: mode, scope, why, and each launch. Nothing is launched."""
        options, more = _split(type(self).__call__, keywords)
        prepared = self._prepare(values, options, **more)
        if not isinstance(prepared, Prepared):
            return "no launch: the input is empty"
        return f"{self!r}\n{explained(prepared.executable.plan, prepared.sizes)}"

    def source(self, *values: Any, **keywords: Any) -> str:
        """The OpenCL C that a call with these arguments would run."""
        options, more = _split(type(self).__call__, keywords)
        prepared = self._prepare(values, options, **more)
        stages = prepared.executable.plan.stages if isinstance(prepared, Prepared) else ()
        return "\n".join(source_of(stage.spec) for stage in stages)


def _split(call: Callable[..., Any], keywords: dict[str, Any]) -> tuple[Options, dict[str, Any]]:
    """The keywords of a call, sorted. Raises TypeError for one that the call does not take."""
    unknown = [name for name in keywords if name not in inspect.signature(call).parameters]
    if unknown:
        raise TypeError(f"unknown keyword(s) {', '.join(unknown)}; the keywords are those of a call")
    names = Options.__dataclass_fields__
    options = Options(**{k: v for k, v in keywords.items() if k in names})
    return options, {k: v for k, v in keywords.items() if k not in names}


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
    call.add_inputs()
    return Prepared(executable, call, outputs, targets, options.wait_for)


def streams_past_caches(options: Options, outputs: Sequence[Output]) -> bool:
    """Whether every output starts where a whole vector may be stored past the caches: ours do, a caller's array may
    not, and nobody knows where a pyopencl array does (its buffer may be over any host memory).
    """
    targets = options.out if isinstance(options.out, tuple) else (options.out,)
    large = all(product(shape) * dtype.itemsize >= 1 << 22 for shape, dtype in outputs)
    return large and not any(
        t.ctypes.data % 64 if isinstance(t, np.ndarray) else isinstance(t, DeviceArray) and is_wrapped(t)
        for t in targets
    )
