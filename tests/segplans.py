"""Plans of reductions over segments: what tests of their schemes and templates plan with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clmapreduce.domain.segments import Segments
from clmapreduce.formula.formula import Access, Formula, Input, symbol, value_dtype
from clmapreduce.formula.trace import trace
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Plan
from clmapreduce.reductions import ReductionOp
from clmapreduce.reductions.segment import bind_segment, segment_operator
from clmapreduce.schemes.segment_text import SegmentLayout
from clmapreduce.schemes.segmented import plan_walk
from clmapreduce.schemes.segmented_lanes import plan_lanes, takes_lanes
from clmapreduce.tuning import lanes_box, walk_box

PAIR = np.dtype([("a", "f4"), ("b", "i8")], align=True)


def elements(function: Callable[..., Any], codes: Sequence[Any], gathered: bool = False) -> Formula:
    """The formula of an element from arrays of these dtypes. gathered: the last one is read where one more array, of
    int32, says.
    """
    made = []
    for i, code in enumerate(codes, 1):
        dtype = np.dtype(code)
        value = symbol(f"argument {i}", dtype, varies=True)
        made.append(Input(f"in{i}", dtype, value, Access.VECTOR))
    if gathered:
        made[-1] = replace(made[-1], access=Access.GATHERED, through=(f"in{len(made) + 1}",))
    formula = trace(function, made, "a test")
    if not gathered:
        return formula
    place = symbol("places", np.dtype("i4"), varies=True)
    return Formula((*formula.inputs, Input(f"in{len(made) + 1}", np.dtype("i4"), place)), formula.outputs)


def segment_layout(
    op: str | ReductionOp, formula: Formula, facts: Facts, offsets: str = "i4", init: bool = False, empty: bool = False
) -> SegmentLayout:
    name, operator = segment_operator(op)
    bound = bind_segment(name, operator, value_dtype(formula.outputs[0]), "auto", facts.fp64)
    after = len(formula.inputs) + 1
    given = [
        _number(bound.whole.value, after) if init else None,
        _number(bound.result, after + init) if empty else None,
    ]
    return SegmentLayout(formula, bound, np.dtype(offsets), bound.result, init=given[0], empty=given[1])


def _number(dtype: Any, place: int) -> Input:
    return Input(f"in{place}", dtype, symbol(f"number {place}", dtype), Access.ARGUMENT)


def every_segment_plan(facts: Facts, mode: ComputeMode, length: int = 100_003) -> Iterator[tuple[str, Plan]]:
    """Every kernel over segments with several formulas and operators."""
    real = "f8" if facts.fp64 else "f4"
    plain = elements(lambda x: x, ["f4"])
    layouts = {
        "sum": segment_layout("sum", plain, facts),
        "sum, 64-bit offsets": segment_layout("sum", plain, facts, "i8"),
        "mean with a value for empty ones": segment_layout("mean", elements(lambda x: x, ["i4"]), facts, empty=True),
        "maximum and init": segment_layout("maximum", elements(lambda x: x, ["u1"]), facts, init=True),
        "any": segment_layout("any", elements(lambda x: x > 0, ["f4"]), facts),
        "logsumexp": segment_layout("logsumexp", elements(lambda x: x * 2, [real]), facts),
        "var": segment_layout("var", plain, facts),
        "argmin": segment_layout("argmin", plain, facts, empty=True),
        "products gathered": segment_layout("sum", elements(lambda a, x: a * x, ["f4", "f4"], gathered=True), facts),
    }
    for name, layout in layouts.items():
        for count in (length // 7, 3):
            domain = Segments(length, count)
            yield f"walk {name}", plan_walk(layout, domain, mode, facts, walk_box(mode, facts))
            if takes_lanes(layout, domain, mode, facts):
                yield f"lanes {name}", plan_lanes(layout, domain, mode, facts, lanes_box())
    little = Segments(100, 9)
    yield "walk of little", plan_walk(layouts["sum"], little, mode, facts, walk_box(mode, facts))
    if takes_lanes(layouts["sum"], little, mode, facts):
        yield "lanes of little", plan_lanes(layouts["sum"], little, mode, facts, lanes_box())
    columns = elements(lambda x: x, ["f4"])
    trailing = Formula(tuple(replace(given, trailing=True) for given in columns.inputs), columns.outputs)
    layout = segment_layout("sum", trailing, facts)
    yield "walk of columns", plan_walk(layout, Segments(length, length // 7, 5), mode, facts, walk_box(mode, facts))
