"""Pipelines: functions of whole vectors, composed with `>>` or traced by `cm.fuse`, in as few launches as can be."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import update_wrapper
from typing import Any

from clmapreduce.calls.arguments import Arguments, Described, Shape, Signature, gather, gather_rows
from clmapreduce.calls.call import Output
from clmapreduce.calls.chunked import takes_chunks
from clmapreduce.calls.empty import empty_results
from clmapreduce.calls.options import Options, streams_past_caches
from clmapreduce.calls.prepared import Prepared, prepare
from clmapreduce.calls.progress import followed
from clmapreduce.calls.repeat.quick import quickly_repeated
from clmapreduce.calls.tracing import check_device, check_weak
from clmapreduce.calls.windows import window_of
from clmapreduce.checks import choice, dtype_of, quoted, switch, whole
from clmapreduce.device.context import Context
from clmapreduce.device.plans.cache import PLANS, Cache
from clmapreduce.dtypes import DType, check_supported
from clmapreduce.errors import DTypeError, FormulaError, ModeError, ShapeError
from clmapreduce.formula.formula import value_dtype
from clmapreduce.formula.guard import check_guards, guarded
from clmapreduce.formula.tables.take import check_tables
from clmapreduce.formula.trace import as_value, call, name_of
from clmapreduce.functions.keys import function_key
from clmapreduce.functions.portable import Portable, rebuilt
from clmapreduce.functions.snapshots import snapshot_of
from clmapreduce.modes import Scope
from clmapreduce.notebook import columns
from clmapreduce.planning.mode import choose_mode, choose_scope, group_line
from clmapreduce.planning.pipelines import PipelineRequest, TracedPipeline
from clmapreduce.planning.request import accumulators_on
from clmapreduce.primitives.base import Primitive
from clmapreduce.primitives.compiled import Compiled, Lowered
from clmapreduce.primitives.operand import ACCUMULATE
from clmapreduce.primitives.partials import keeps
from clmapreduce.primitives.parts import Parts
from clmapreduce.program import whole as _whole  # noqa: F401  # defines what traced vectors compute of themselves
from clmapreduce.program.halves import in_float32
from clmapreduce.program.program import Program, shared, varies
from clmapreduce.program.step import Kind, Step
from clmapreduce.program.tracing import is_traced, tracing
from clmapreduce.reductions.base import Accumulate
from clmapreduce.schemes.line.chain import Chain
from clmapreduce.schemes.line.fused_line import Fused


class Pipeline(Primitive):
    """A fused function of whole vectors. `>>` between primitives, or `cm.fuse`, makes it.

    Its arguments are those of the first primitive, or of the function. Its result is that of the last primitive, or
    what the function returns.
    """

    def __init__(self, function: Callable[..., Any], batch: bool = False) -> None:
        if not callable(function):
            raise FormulaError(f"a pipeline is a function of whole vectors, not {quoted(function)}")
        self.function = function
        self.batch = switch(batch, "batch")
        self._traced: Cache[TracedPipeline] = Cache(PLANS)

    def __repr__(self) -> str:
        chained = isinstance(self.function, Parts)
        text = repr(self.function) if chained else name_of(self.function)
        return text if chained and not self.batch else f"fuse({text}{', batch=True' if self.batch else ''})"

    def key(self) -> Hashable | None:
        key = function_key(self.function)
        return None if key is None or type(self) is not Pipeline else (Pipeline, key, self.batch)

    def snapshot(self) -> Pipeline:
        return Pipeline(snapshot_of(self.function), self.batch)

    def _repr_html_(self) -> str:
        """What a notebook shows: the parts in order. What `compile` gives shows its launches."""
        parts = self.function.parts if isinstance(self.function, Parts) else [self]
        note = "explain(…) with the arguments of a call tells how it runs"
        return columns("Pipeline", ("part", "what"), [*enumerate(map(repr, parts), 1)], note)

    def __reduce__(self) -> Any:
        if isinstance(self.function, Parts):
            return Pipeline, (self.function, self.batch)
        return rebuilt, (_fused, Portable(self.function), self.batch)

    @quickly_repeated
    @takes_chunks
    @followed
    def __call__(
        self, *values: Any, mode: str = "auto", context: Context | None = None, wait_for: Sequence[Any] = (),
        out: Any = None, length: int | None = None, tiles: int | None = None, batch: bool | None = None,
        accumulate: Accumulate = "auto", progress: Any = None,
    ) -> Any:  # fmt: skip
        """The outputs for these arguments. Arrays broadcast to one line; a number or a 0-d array is one value for the
        line.

        An output that depends on vectors has the broadcast shape; an output of reduced values alone is a scalar. batch:
        the last axis is the line, leading axes broadcast and count lines, an array whose last axis is 1 has one value
        per line; outputs then have the leading axes too. A pipeline that begins with an Unfold takes (base, length).
        length: the line's length where no array has it. accumulate: for the reductions, as in `Reduce`. tiles=1 with
        mode="sequential": one work-item walks the line. If an argument is a DeviceArray, the outputs are DeviceArrays
        and the call does not wait. Raises ShapeError, DTypeError, FormulaError or ModeError before anything is
        launched. Inside another fused function the pipeline becomes part of that function.
        """
        options = Options(mode, context, wait_for, out, tiles)
        if is_traced(values):
            options.refuse_inside(repr(self), length=length, batch=batch, accumulate=accumulate, progress=progress)
            return call(self.function, values, repr(self))
        results = self._run(values, options, length=length, batch=batch, accumulate=accumulate)
        return results[0] if len(results) == 1 else tuple(results)

    def _prepare(self, values: Sequence[Any], options: Options, **more: Any) -> Prepared | list[Any]:
        length, accumulate = more.get("length"), more.get("accumulate", "auto")
        batch = self.batch if more.get("batch") is None else switch(more["batch"], "batch")
        if isinstance(self.function, Parts):
            values, length = self.function.arguments(values, length)
        arguments = (gather_rows if batch else gather)(values, options.context, length)
        return self.prepared(arguments, options, batch, accumulate, length)

    def prepared(
        self, arguments: Arguments, options: Options, batch: bool, accumulate: Accumulate = "auto",
        length: int | None = None,
    ) -> Prepared | list[Any]:  # fmt: skip
        """As `_prepare`, for arguments that are sorted already."""
        lowered = self.lowered(arguments, options, batch, accumulate, length)
        if lowered.executable is None:
            return empty_results(arguments, lowered.outputs, options)
        if lowered.partials is not None:
            return keeps(lowered.arguments, lowered.executable, lowered.partials, options)
        return prepare(lowered.arguments, lowered.executable, lowered.outputs, options, lowered.in_step, lowered.partly)

    def lowered(
        self, arguments: Arguments, options: Options, batch: bool, accumulate: Accumulate, length: int | None,
        compiling: bool = False,
    ) -> Lowered:  # fmt: skip
        """Everything about a call that its arguments' values do not change. compiling: there are no arrays yet."""
        choice(accumulate, "accumulate", ACCUMULATE)
        traced = self.traced(arguments, accumulate)
        context, program = arguments.context, traced.program
        arguments = _with_length(arguments, program, length)
        self.check(program, arguments, batch, accumulate)
        lines = arguments.batch if arguments.batch is not None else ()
        outputs: list[Output] = [
            (arguments.shape if varies(value) else lines, dtype)
            for value, dtype in zip(program.outputs, traced.outputs, strict=True)
        ]
        partials = None if program.partials is None else program.partials.bound
        mode = choose_mode(options.mode, context.facts)
        strict = options.strict(mode)
        if arguments.rows == 0:
            return Lowered(arguments, outputs, None, partials)
        chain = traced.chain
        launches = 1 if len(chain.links) == 1 else chain.launches
        rows, line, facts = arguments.rows, arguments.line, context.facts
        longest, team = group_line(facts, traced.running), traced.team(rows, line, facts)
        scope, why = choose_scope(line, launches, rows > 1, strict, mode, longest, team)
        streaming = streams_past_caches(options, outputs)
        window = None
        if not compiling:
            stays, ends = arguments, outputs
            if partials is not None:
                stored = accumulators_on(partials, context.facts)
                stays, ends = replace(arguments, on_device=True), [((arguments.length + 1,), stored)]
            window = window_of(stays, ends, options, chain.stored_per_index, shares=partials is None)
        if window is not None and not window.of_rows:
            scope, why = Scope.DEVICE, "arrays are on the device window by window"
        if window is None and not strict and traced.shares(arguments.rows, arguments.line, mode, context.facts):
            scope = Scope.DEVICE
        request = PipelineRequest(traced, arguments.line, arguments.rows, scope, mode, streaming, strict, why, window)
        executable = context.executable(request)
        return Lowered(arguments, outputs, executable, partials, not program.steps, guarded(program.outputs))

    def compile(
        self, shapes: Sequence[Shape | None], dtypes: Any, *, mode: str = "auto", context: Context | None = None,
        length: int | None = None, tiles: int | None = None, batch: bool | None = None,
        accumulate: Accumulate = "auto",
    ) -> Compiled:  # fmt: skip
        """This pipeline for arguments of these shapes and dtypes. Calls of the result plan nothing.

        shapes: one per argument; None or () for a number. dtypes: one per argument, or one for all. A pipeline that
        begins with an Unfold has its base as the only argument (none for "index") and needs `length`. The keywords are
        those of a call. Raises what a call with such arguments would raise.
        """
        if not isinstance(shapes, (list, tuple)):
            raise ShapeError(f"shapes is {quoted(shapes)}; give a list with the shape of every argument")
        each = list(dtypes) if isinstance(dtypes, (list, tuple)) else [dtypes] * len(shapes)
        if len(each) != len(shapes):
            raise ShapeError(f"{len(shapes)} shapes and {len(each)} dtypes are given; give one dtype per argument")
        described = [
            Described(_shape(shape, f"argument {i + 1}"), _dtype(dtype, f"argument {i + 1}"))
            for i, (shape, dtype) in enumerate(zip(shapes, each, strict=True))
        ]
        over = self.batch if batch is None else switch(batch, "batch")
        arguments = (gather_rows if over else gather)(described, context, length)
        lowered = self.lowered(arguments, Options(mode, arguments.context, tiles=tiles), over, accumulate, length, True)
        more = {"batch": over, "accumulate": accumulate, "length": length}
        return Compiled(self, described, lowered, mode, tiles, more)

    # ----------------------------------------------------------------------------------------------- tracing
    def traced(self, arguments: Arguments, accumulate: Accumulate) -> TracedPipeline:
        """The pipeline for arguments of these kinds."""
        context = arguments.context
        key = (arguments.signature, arguments.line == 1, accumulate, context.device.fp64, context.facts.computes_halves)
        traced = self._traced.get(key) or self._traced.get((key, arguments.line))
        if traced is None:
            traced = self._trace_program(arguments, accumulate)
            check_device(traced.program.dtypes, context)
            self._traced.put(key if traced.program.length_read is None else (key, arguments.line), traced)
        return traced

    def _trace_program(self, arguments: Arguments, accumulate: Accumulate) -> TracedPipeline:
        single, facts = arguments.line == 1, arguments.context.facts
        fp64 = arguments.context.device.fp64
        program = self.program(arguments.signature, accumulate, fp64, single, arguments.line)
        if single and program.length not in (None, 1):
            program = self.program(arguments.signature, accumulate, fp64, False, arguments.line)
        outputs = tuple(value_dtype(value) for value in program.outputs)
        run = program if facts.computes_halves else in_float32(program)
        kinds = tuple(value_dtype(value) for value in run.outputs)
        return TracedPipeline(program, outputs, Chain(run, kinds), None if run.partials else Fused(run, kinds))

    def program(
        self, signature: Sequence[Signature], accumulate: Accumulate, fp64: bool, single: bool = False,
        extent: int | None = None,
    ) -> Program:  # fmt: skip
        """What is computed of arguments of this kind. fp64: whether the device computes float64. single: the line has
        one element. extent: its length, which the function may ask for.
        """
        inputs = tuple(s.input(i) for i, s in enumerate(signature))
        what = repr(self)
        with tracing(fp64, accumulate, single, extent) as line:
            result = call(self.function, [one.value for one in inputs], what)
        if isinstance(result, Step):
            return shared(Program(inputs, (), line.length, result, line.length_read, line.axis_read))
        outputs: tuple[Any, ...] = result if isinstance(result, tuple) else (result,)
        if not outputs or any(isinstance(output, Step) for output in outputs):
            raise FormulaError(f"{what} returns {'partials beside other results' if outputs else 'no value'}")
        values = tuple(as_value(output, what) for output in outputs)
        program = shared(Program(inputs, values, line.length, length_read=line.length_read, axis_read=line.axis_read))
        check_guards(program.nodes, program.outputs, what)
        check_tables(program.nodes, program.outputs, what)
        return program

    def check(self, program: Program, arguments: Arguments, batch: bool, accumulate: str) -> None:
        """Raises for lengths and shapes that the steps forbid."""
        check_weak(program.inputs, program.nodes, arguments)
        if accumulate == "double" and not arguments.context.facts.fp64:
            name = arguments.context.device.name
            raise DTypeError(f"accumulate='double': {name} has no float64; use 'compensated'")
        if program.axis_read and not batch and len(arguments.shape) > 1:
            raise ShapeError(
                f"{self!r} reads len(x), x.shape or x.ndim, or names an axis, the line has shape {arguments.shape}; "
                "pass batch=True for one line along the last axis each, or x.reshape(-1) for all elements in C order"
            )
        for step in program.steps:
            if step.kind is not Kind.REDUCE and not batch and len(arguments.shape) > 1:
                raise ShapeError(
                    f"{step.label} runs over one dimension, the line has shape {arguments.shape}; "
                    "pass batch=True to run over the last axis, or x.reshape(-1) for all elements in C order"
                )
            if step.kind is Kind.PARTIALS and batch:
                raise ModeError(f"{step.label} keeps the partials of one line; call it row by row")
            if step.kind is Kind.REDUCE and arguments.line == 0 and not step.bound.has_identity:
                raise ShapeError(f"{step.label} of an empty line has no value: it has no identity; give an element")


def _with_length(arguments: Arguments, program: Program, length: int | None) -> Arguments:
    """The arguments with the line's length where an unfold of the program names it."""
    if program.length is None:
        return arguments
    if any(one.signature.varies for one in arguments.inputs) or length is not None:
        if arguments.line != program.length:
            raise ShapeError(f"an unfold names the length {program.length}, the line has {arguments.line} elements")
        return arguments
    return replace(arguments, shape=(*(arguments.batch or ()), program.length))


def fuse(function: Callable[..., Any] | Pipeline | None = None, *, batch: bool = False) -> Any:
    """A Python function of whole vectors as one `Pipeline`; also a decorator, `@cm.fuse` or `@cm.fuse(batch=True)`.

    function: called once per kind of arguments, with symbols for vectors and numbers. It may use operators, `cm.math`,
    `cm.where`, `cm.index`, every primitive (`cm.Reduce("sum")(b * c)` gives one value for the line, which later
    formulas may use), NumPy's methods of vectors (`x.sum()`, `x.mean()`, `x.std()`, `x.cumsum()`) and other fused
    functions. It returns one output, or a tuple. `len(x)`, `x.shape` and `x.size` are Python's integers: a function
    that reads them is compiled again for each length. Equal subexpressions are computed once, and reductions share a
    pass where they can. batch: the default of `batch` in calls of the `Pipeline`. Raises FormulaError for an argument
    that is not a function.
    """
    if function is None:
        return lambda f: fuse(f, batch=batch)
    if isinstance(function, Pipeline):
        return Pipeline(function.function, batch)
    if not callable(function) or isinstance(function, Primitive):
        raise FormulaError(f"cm.fuse takes a function of vectors or a pipeline, not {quoted(function)}")
    return _fused(function, batch)


def _fused(function: Callable[..., Any], batch: bool) -> Pipeline:
    """The pipeline of a function, under its name."""
    pipeline = Pipeline(function, batch)
    update_wrapper(pipeline, function, updated=())
    return pipeline


def _shape(shape: Any, name: str) -> Shape:
    """A shape that is to be compiled for, None for a number. Raises ShapeError."""
    if shape is None:
        return ()
    if not isinstance(shape, (list, tuple)):
        raise ShapeError(f"{name} has shape {quoted(shape)}; give a tuple such as (1000,), or None for a number")
    return tuple(whole(extent, f"{name}: an extent of its shape") for extent in shape)


def _dtype(dtype: Any, name: str) -> DType:
    """A dtype that is to be compiled for. Raises DTypeError."""
    if dtype is None:  # which NumPy takes for float64
        raise DTypeError(f"{name} has no dtype; give one such as 'float32'")
    return check_supported(dtype_of(dtype, name), name)
