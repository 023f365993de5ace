"""Reductions of runs of equal keys by marks at their ends: keys are read once, and runs' places not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Argument, Arguments, Signature
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared, prepare
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.domain.marked import Marked, marked
from clmapreduce.dtypes import DType
from clmapreduce.errors import ShapeError
from clmapreduce.formula.formula import Access
from clmapreduce.modes import ComputeMode
from clmapreduce.planning.mode import choose_mode
from clmapreduce.planning.request import PlanRequest
from clmapreduce.planning.segments import ByKeyRequest, RunEndsRequest
from clmapreduce.schemes.segments.boxes import TeamBox, marked_team_box
from clmapreduce.schemes.segments.by_key import suits_marks
from clmapreduce.schemes.segments.run_ends import MARKS, bases_dtype
from clmapreduce.schemes.segments.segment_kernel import SegmentLayout
from clmapreduce.segmented.call import Element, SegmentCall, inputs_of, layout_of
from clmapreduce.segmented.inputs import Columns, Gathered
from clmapreduce.segmented.runs import Equal, as_counts, changes_among


@dataclass(frozen=True)
class Marks:
    """The ends of the runs of a line of keys. words: a bit per key. bases: how many runs end before each chunk, and in
    all. count: how many there are, a 0-d int64. spare: a key per run, chunk by chunk, or None; last: the run's last
    one. box: of the teams that the chunks are for.
    """

    line: Marked
    words: DeviceArray
    bases: DeviceArray
    count: DeviceArray
    spare: DeviceArray | None
    last: bool
    box: TeamBox


def marks_box(options: Options) -> TeamBox | None:
    """The box of teams that go by marks; None where other schemes suit better: on CPUs, and in the sequential mode."""
    assert options.context is not None
    facts = options.context.facts
    if facts.kind == "cpu":  # some of which refuse the parallel mode
        return None
    return marked_team_box() if choose_mode(options.mode, facts) is ComputeMode.PARALLEL else None


def find_marks(
    inputs: Gathered, equal: Equal | None, key: str, with_keys: bool, box: TeamBox, options: Options
) -> Marks:
    """The marks of the keys `inputs.arrays[0]`, 1 at least. with_keys: with a key per run. Waits for nothing."""
    keys, changes, arguments = changes_among(inputs, equal, key)
    context, last = inputs.context, key == "last"
    line = marked(len(keys), box.share(len(keys)))
    mode = ComputeMode.PARALLEL
    added, _ = as_counts(changes)
    scan_box = options.box("bases", mode, context)
    executable = context.executable(RunEndsRequest(added, line, last, with_keys, scan_box))
    outputs = [((line.words,), MARKS), ((line.chunks + 1,), bases_dtype(line)), ((), np.dtype(np.int64))]
    if with_keys:
        outputs.append(((len(keys) + 1,), keys.dtype))
    line_arguments = Arguments(context, arguments, (len(keys),), True)
    results = prepare(line_arguments, executable, outputs, Options(wait_for=options.wait_for), in_step=False).run()
    return Marks(line, results[0], results[1], results[2], results[3] if with_keys else None, last, box)


def marked_layout(call: SegmentCall, values: Columns, context: Context) -> SegmentLayout | None:
    """What is reduced, if runs can be by their marks alone. Raises as `layout_of`."""
    if values.trailing or not values.length:
        return None
    layout = layout_of(call, _elements(values), MARKS, True, context)
    return layout if suits_marks(layout, context.facts) else None


@dataclass
class KeyedCall(Prepared):
    """A reduction of marked runs that is ready to run. marking: finds the marks in a box."""

    marking: Callable[[TeamBox], Marks] | None = None

    def planned_as(self, request: PlanRequest, arguments: Arguments, owner: Any) -> Prepared:
        """As of any call, on marks for the chunks of that box."""
        executable = arguments.context.executable(request, owner)
        planned: Any = request.boxed
        assert self.marking is not None
        marks = self.marking(planned.box)
        own = _vectors(marks)
        first = replace(arguments.inputs[0], value=marks.words)
        inputs = (first, *arguments.inputs[1 : -len(own)], *own)
        return prepare(replace(arguments, inputs=inputs), executable, self.outputs, Options(), in_step=False)


def keyed_request(
    layout: SegmentLayout, length: int, key: DType | None, last: bool, box: TeamBox, fixed: bool
) -> ByKeyRequest:
    """The request for reductions of so many elements by their marks. Arguments as of a ByKeyRequest."""
    return ByKeyRequest(layout, marked(length, box.share(length)), key, last, box, fixed)


def prepare_marked(
    request: ByKeyRequest, call: SegmentCall, values: Columns, marks: Marks, runs: int, options: Options,
    on_device: bool,
) -> Prepared:  # fmt: skip
    """Everything up to the launch that reduces runs and, with spare keys, gives a key of each as its second result.
    runs: as many as there are, or more. request: in the static box. Raises ShapeError where the lengths differ.
    """
    context, layout = options.context, request.layout
    assert context is not None
    if values.length != marks.line.length:
        raise ShapeError(f"values has length {values.length}, the segments are made for {marks.line.length}")
    inputs = [*inputs_of(layout, call, _elements(values), marks.words), *_vectors(marks)]
    outputs = [((runs,), layout.op.result)]
    if marks.spare is not None:
        outputs.append(((runs,), marks.spare.dtype))
    executable = context.executable(request)
    planned: Any = executable.key
    if planned.boxed.box != marks.box:  # another thread has just measured a box, or the chunks are those of a plan
        executable = context.executable(replace(request.in_box("box", marks.box), fixed=True))
    arguments = Arguments(context, tuple(inputs), (runs,), on_device)
    return prepare(arguments, executable, outputs, options, in_step=False)


def _elements(values: Columns) -> list[Element]:
    return [Element(v) for v in values.arrays]


def _vectors(marks: Marks) -> list[Argument]:
    """What a call reads of the marks behind its other arguments."""
    arrays = [marks.bases] if marks.spare is None else [marks.bases, marks.spare]
    return [Argument(array, Signature(array.dtype, Access.VECTOR)) for array in arrays]
