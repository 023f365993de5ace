"""Runs of equal neighbours among keys: how many there are, where they begin, and a key of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Argument, Arguments, Signature
from clmapreduce.calls.call import Output
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared, prepare
from clmapreduce.calls.tracing import check_device
from clmapreduce.checks import choice
from clmapreduce.device.array import DeviceArray, await_events
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.device.plans.executable import Executable
from clmapreduce.dtypes import BOOL, DType
from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.formula.formula import Access, Formula, value_dtype
from clmapreduce.formula.functions import apply, as_node, cast
from clmapreduce.formula.node import Node, Record, components
from clmapreduce.formula.trace import check_arity, own
from clmapreduce.planning.mode import choose_mode
from clmapreduce.planning.request import PlanRequest
from clmapreduce.planning.segments import RunCountsRequest, RunsRequest
from clmapreduce.reductions import Bound, operator
from clmapreduce.schemes.segments.runs import RunsProblem, begins_dtype
from clmapreduce.segmented.inputs import Gathered
from clmapreduce.segmented.lines import Row, formula_of

Equal = Callable[[Any, Any], Any]
WHICH_KEY = ("first", "last")
COUNTS = ("host", "device")


@dataclass(frozen=True)
class Runs:
    """Runs of `length` keys. begins: (runs + 1,), the last one the length. keys: (runs,). count: how many there are, an
    int; or a 0-d DeviceArray, where begins and keys are as long as if every key were a run, and the runs that are not
    there are empty.
    """

    begins: DeviceArray
    keys: DeviceArray
    count: Any
    length: int

    @property
    def rows(self) -> int:
        """How many runs the arrays hold."""
        return self.keys.size


def find_runs(
    inputs: Gathered, equal: Equal | None, key: str, options: Options, count: str = "host",
    target: Callable[[int, DType], DeviceArray | None] | None = None,
) -> Runs:  # fmt: skip
    """The runs of `inputs.arrays[0]`, (n,) keys of any dtype. Waits for their number, unless count is "device".

    target: gives, for so many keys of a dtype, the array that they are written to, if not a new one.
    """
    keys, changes, arguments = changes_among(inputs, equal, key)
    context, pairs = inputs.context, len(keys) - 1
    if pairs < 1:
        return _at_most_one(keys, context, count, options)
    padded = count == "device"
    executable = context.executable(RunsRequest(_problem(changes, pairs, inputs, options), key == "last", padded))
    line, waiting = Arguments(context, arguments, (pairs,), True), Options(wait_for=options.wait_for)
    counts = _counts(line, executable, waiting)
    rows = pairs + 1 if padded else int(counts.to_numpy().sum()) + 1
    outputs = [((rows + 1,), begins_dtype(pairs)), ((rows,), keys.dtype), ((), np.dtype(np.int64))]
    writing = _writing(line, executable, counts, outputs, waiting)
    if target is not None:
        writing.targets[1] = target(rows, keys.dtype)
    results = writing.run()
    return Runs(results[0], results[1], results[2] if padded else rows, pairs + 1)


class RunsCall(Prepared):
    """What writes runs, ready to run; the counts that it reads are of the groups of its own plan."""

    def planned_as(self, request: PlanRequest, arguments: Arguments, owner: Any) -> RunsCall:
        executable = arguments.context.executable(request, owner)
        line = replace(arguments, inputs=arguments.inputs[:-1])
        return _writing(line, executable, _counts(line, executable, Options(), owner), self.outputs, Options())


def _counts(line: Arguments, executable: Executable, options: Options, owner: Any = None) -> DeviceArray:
    """How many runs begin in each group of a built plan that writes them. owner: of the plan that counts, if not the
    context.
    """
    request: Any = executable.key
    problem = request.boxed.problem
    counting = line.context.executable(RunCountsRequest(problem), owner)
    outputs = [((counting.plan.stages[0].groups,), np.dtype(np.int64))]
    counts: DeviceArray = prepare(line, counting, outputs, options).run()[0]
    return counts


def _writing(
    line: Arguments, executable: Executable, counts: DeviceArray, outputs: Sequence[Output], options: Options
) -> RunsCall:
    """What writes runs by a built plan, behind their counts."""
    inputs = (*line.inputs, Argument(counts, Signature(counts.dtype, Access.VECTOR)))
    prepared = prepare(replace(line, inputs=inputs), executable, outputs, options, in_step=False)
    return RunsCall(**vars(prepared))


def keys_on_device(inputs: Gathered) -> Gathered:
    """The same with the keys, `inputs.arrays[0]`, where the device reads them as often as it likes."""
    keys, context = inputs.arrays[0], inputs.context
    if not isinstance(keys, np.ndarray) or context.facts.lends_memory:
        return inputs
    return replace(inputs, arrays=(array(keys, context), *inputs.arrays[1:]))


def check_words(count: str, key: str) -> None:
    """Raises ModeError for unsupported options."""
    choice(count, "count", COUNTS)
    choice(key, "key", WHICH_KEY)


def changes_among(inputs: Gathered, equal: Equal | None, key: str) -> tuple[Any, Formula, tuple[Argument, ...]]:
    """The keys `inputs.arrays[0]`; whether neighbours differ, as a formula; what a call gives to it. Raises ShapeError,
    ModeError, DTypeError or FormulaError.
    """
    keys = keys_on_device(inputs).arrays[0]
    return (keys, *changes_between(keys, inputs.context, equal, key))


def changes_between(
    keys: Any, context: Context, equal: Equal | None, key: str
) -> tuple[Formula, tuple[Argument, ...]]:
    """As `changes_among`, for keys where they are."""
    if keys.ndim != 1:
        raise ShapeError(f"keys has shape {keys.shape}; it must have one dimension (records serve as compound keys)")
    choice(key, "key", WHICH_KEY)
    if equal is not None:
        if not callable(equal):
            raise FormulaError(f"equal takes a function of two keys, not {equal!r}")
        check_arity(equal, 2, "equal")
        equal = own(equal)
    changes, arguments = formula_of(difference(equal), [Row(keys), Row(keys, ahead=1)])
    _check_equal(changes)
    check_device(changes.dtypes, context)
    return changes, arguments


@lru_cache(maxsize=256)
def difference(equal: Equal | None) -> Callable[..., Any]:
    """The function that tells of two keys whether another run begins. equal: as for `reduce_by_key`."""

    def changes(key: Any, after: Any) -> Any:
        same = _alike(key, after) if equal is None else equal(key, after)
        if isinstance(same, (bool, np.bool_)):
            same = as_node(bool(same), BOOL)
        return apply("logical_not", same) if isinstance(same, Node) and same.dtype == BOOL else same

    return changes


def _alike(key: Any, after: Any) -> Node:
    """Whether two keys are equal, records in all fields."""
    if not isinstance(key, Record):
        return apply("equal", key, after)
    parts, others = components(key), components(after)
    same = [apply("equal", part, others[leaf]) for leaf, part in parts.items()]
    whole = same[0]
    for one in same[1:]:
        whole = apply("logical_and", whole, one)
    return whole


def _check_equal(changes: Formula) -> None:
    outputs = changes.outputs
    if len(outputs) != 1 or value_dtype(outputs[0]) != BOOL:
        dtypes = ", ".join(str(value_dtype(value)) for value in outputs)
        raise FormulaError(f"equal must tell of two keys whether they are equal, a bool; it gives {dtypes}")


@lru_cache(maxsize=256)
def as_counts(changes: Formula) -> tuple[Formula, Bound]:
    """The changes as numbers to add up."""
    value = cast(changes.outputs[0], np.dtype(np.int32))  # type: ignore[arg-type]
    return Formula(changes.inputs, (value,)), operator("sum").bind(value.dtype, "auto", True)


def _problem(changes: Formula, pairs: int, inputs: Gathered, options: Options) -> RunsProblem:
    """Runs of keys in the default boxes."""
    context = inputs.context
    added, bound = as_counts(changes)
    mode = choose_mode(options.mode, context.facts)
    box, reduce_box = options.box("runs", mode, context), options.box("reduce", mode, context)
    return RunsProblem(added, bound, pairs, mode, box, reduce_box)


def _at_most_one(keys: Any, context: Context, count: str, options: Options) -> Runs:
    """The runs of no or one key."""
    if isinstance(keys, DeviceArray):
        await_events(context, options.wait_for)
    begins = array(np.arange(len(keys) + 1, dtype=begins_dtype(0)), context)
    rows: Any = len(keys)
    own_keys = array(keys.to_numpy() if isinstance(keys, DeviceArray) else keys.copy(), context)
    return Runs(begins, own_keys, array(np.array(rows, np.int64), context) if count == "device" else rows, len(keys))
