"""A segment that is longer than a tile: a line, streamed window by window, whose accumulators the host merges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clmapreduce.calls.arguments import Arguments, gather, product
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import prepare
from clmapreduce.calls.tracing import Traced
from clmapreduce.calls.windows import window_of
from clmapreduce.device.array import DeviceArray, NumpyArray
from clmapreduce.domain.line import Line
from clmapreduce.planning.lines import ReduceRequest
from clmapreduce.planning.mode import choose_mode
from clmapreduce.planning.request import accumulators_on
from clmapreduce.primitives.host import merged
from clmapreduce.primitives.operand import fitted
from clmapreduce.reductions.segment import SegmentOp
from clmapreduce.schemes.line.reduce import box_name
from clmapreduce.segmented.call import SegmentCall, SegmentOperands, layout_of
from clmapreduce.segmented.streamed.finish import finished, init_of


class LongSegment:
    """Long segments of one call."""

    def __init__(self, call: SegmentCall, operands: SegmentOperands, options: Options) -> None:
        self._call, self._operands, self._options = call, operands, options
        layout = layout_of(call, operands.elements, operands.offsets.dtype, True, operands.context)
        self._op: SegmentOp = layout.op
        self._traced = Traced(call.front, "the mapped function")
        self._init = init_of(call.init, self._op)

    def reduced(self, begin: int, end: int) -> NumpyArray:
        """The result of the elements from `begin` to below `end`, of the shape of an element."""
        trailing = self._operands.trailing
        values = self._values(begin, end)
        results = np.empty(product(trailing), self._op.result)
        for column in range(len(results)):
            line = [v if v.ndim == 1 else v.reshape(end - begin, -1)[:, column] for v in values]
            results[column] = finished(self._op, self._init, self._accumulator(line), 0, end - begin)[0]
        return results.reshape(trailing)

    def _values(self, begin: int, end: int) -> list[NumpyArray]:
        """The elements of what the function takes; what is gathered is gathered by the host."""
        elements = self._operands.elements
        values = []
        for element in elements:
            if not element.is_value:
                continue
            if not element.through:
                values.append(element.array[begin:end])
                continue
            whole = element.array.to_numpy() if isinstance(element.array, DeviceArray) else element.array
            places = elements[element.through[0]].array
            values.append(np.take(whole, places[begin:end], axis=0, mode="clip"))
        return values

    def _accumulator(self, values: list[NumpyArray]) -> NumpyArray:
        """All elements merged, an array of one accumulator."""
        context, whole = self._operands.context, self._op.whole
        arguments = gather(values, context)
        formula = fitted(self._traced.formula(arguments.signature, context), whole)
        mode = choose_mode(self._options.mode, context.facts)
        box = self._options.box(box_name(whole, formula), mode, context)
        line = Line(arguments.length, window_of(arguments, [], self._options, always=True))
        executable = context.executable(ReduceRequest(formula, line, mode, box, whole, True))
        count = executable.plan.stages[0].groups
        host: Arguments = replace(arguments, on_device=False)
        wait_for = self._options.wait_for
        layout = accumulators_on(whole, context.facts)
        parts = prepare(host, executable, [((count,), layout)], Options(wait_for=wait_for)).run()[0]
        one: NumpyArray = merged(whole, parts.astype(whole.layout))
        return one
