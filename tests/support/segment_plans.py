"""Plans over segments, of every kind: what tests of templates and schemes plan with, no device needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Signature
from clmapreduce.domain.marked import marked
from clmapreduce.domain.segments import Segments
from clmapreduce.dtypes import aligned
from clmapreduce.formula.formula import Access, value_dtype
from clmapreduce.formula.trace import trace
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Plan
from clmapreduce.reductions import Operator
from clmapreduce.reductions.segment import bind_segment, segment_operator
from clmapreduce.schemes.segments.boxes import TeamBox, lanes_box, team_box, walk_box
from clmapreduce.schemes.segments.by_key import plan_keyed, suits_marks
from clmapreduce.schemes.segments.chunks import plan_cuts
from clmapreduce.schemes.segments.lanes import Lanes, takes_lanes
from clmapreduce.schemes.segments.segment_kernel import SegmentLayout
from clmapreduce.schemes.segments.team import Teams, suits_teams
from clmapreduce.schemes.segments.walk import Walk

PAIR = aligned(np.dtype([("a", "f4"), ("b", "i8")]))
SECOND = Operator(lambda a, b: a * 0 + b, 0, commutative=False, check=False, name="second")
FIRST_FIELD = Operator(lambda a, b: {"a": a["a"] + b["a"], "b": b["b"]}, (0, 0), PAIR, commutative=False, name="fields", check=False)


def layout_of(facts: Facts, **how: Any) -> SegmentLayout:
    """What is reduced. codes: dtypes of the element's arrays; sources: the last one through an array of int32; op;
    init, empty: whether there is one; offsets: their dtype; closed; trailing; vectors: only the last array is trailing.
    """
    codes, with_sources = how.get("codes", ["f4"]), how.get("sources", False)
    elements = []
    for i, code in enumerate(codes, 1):
        last = with_sources and i == len(codes)
        access = Access.GATHERED if last else Access.VECTOR
        through = (f"in{len(codes) + 1}",) if last else ()
        element = Signature(np.dtype(code), access, varies=True).input(i)
        elements.append(replace(element, through=through, trailing=how.get("trailing", False) and (last or not how.get("vectors"))))
    front = how.get("front", lambda *values: values[0] if len(values) == 1 else values[0] * values[1])
    formula = trace(front, elements, "the elements")
    if with_sources:
        places = Signature(np.dtype("i4"), Access.VECTOR, varies=True).input(len(codes) + 1)
        formula = type(formula)((*formula.inputs, places), formula.outputs)
    op = bind_segment(*segment_operator(how.get("op", "sum")), value_dtype(formula.outputs[0]), "auto", facts.fp64)
    numbers = [Signature(dtype, Access.ARGUMENT).input(7 + i) for i, dtype in enumerate((op.whole.value, op.result))]
    init, empty = (element if how.get(name) else None for name, element in zip(("init", "empty"), numbers, strict=True))
    offsets = np.dtype(how.get("offsets", "i4"))
    return SegmentLayout(formula, op, offsets, op.result, how.get("closed", True), init, empty)


LAYOUTS: dict[str, dict[str, Any]] = {
    "sum": {}, "product of integers": {"op": "product", "codes": ["i4"]}, "argmin": {"op": "argmin", "empty": True},
    "mean of starts": {"op": "mean", "closed": False}, "variance": {"op": "var", "offsets": "i8"}, "any": {"op": "any", "codes": ["u1"]},
    "in order": {"op": SECOND, "init": True, "empty": True}, "matrix": {"codes": ["f4", "f4"], "sources": True},
    "logsumexp": {"op": "logsumexp"}, "records": {"op": FIRST_FIELD, "codes": [PAIR]}, "wide": {"codes": ["f8"], "op": "maximum"},
}  # fmt: skip


def every_segment_plan(facts: Facts, mode: ComputeMode) -> Iterator[tuple[str, Plan]]:
    """The templates over segments with several operators, in every scheme."""
    for name, how in LAYOUTS.items():
        if not facts.fp64 and "f8" in how.get("codes", ()):
            continue
        layout = layout_of(facts, **how)
        for length, segments in ((1000, 10), (1_000_000, 90_000), (2**32, 7)):
            domain = Segments(length, segments)
            yield f"segments {name}, {length}", Walk(layout, domain, mode, facts).plan(walk_box(mode, facts))
            if mode is ComputeMode.PARALLEL and suits_teams(layout, facts):
                for near in (False, True):
                    box = team_box(length / segments, facts, near)
                    label = f"segments {name}, {length}, by teams{', near' if near else ''}"
                    yield label, Teams(layout, domain, mode, facts).plan(box)
                    yield f"{label}, looking", Teams(layout, domain, mode, facts).plan(box, looks=True)
                share, has_last_end = box.share(domain.weight), layout.closed
                label = f"cuts for {name}, {length}"
                yield label, plan_cuts(layout.offsets, has_last_end, domain, share, box.tile, mode, facts)
            if mode is ComputeMode.PARALLEL and suits_marks(layout, facts) and not how.get("empty"):
                line, box = marked(length, TeamBox().share(length)), TeamBox()
                for key, last in ((None, False), (np.dtype("i4"), True), (PAIR, False)):
                    label = f"runs {name}, {length}, keys of {key}"
                    yield label, plan_keyed(layout, line, key, last, mode, facts, box)
            if takes_lanes(layout, domain, mode, facts):
                yield f"segments {name}, {length}, in lanes", Lanes(layout, domain, mode, facts).plan(lanes_box())
    layout = layout_of(facts, trailing=True, codes=["f4", "f4"], sources=True)
    for columns in (3, 40):
        domain = Segments(10_000, 500, columns)
        yield f"segments of {columns} columns", Walk(layout, domain, mode, facts).plan(walk_box(mode, facts))
        assert not suits_teams(layout, facts, columns)
        vectors = layout_of(facts, trailing=True, vectors=True, codes=["f4", "f4"], sources=True)
        if mode is ComputeMode.PARALLEL and suits_teams(vectors, facts, columns):
            for length, near in ((1000, False), (1_000_000, False), (1_000_000, True)):
                domain, box = Segments(length, 500, columns), team_box(length / 500, facts, near)
                label = f"segments of {columns} columns, {length}, by teams{', near' if near else ''}"
                yield label, Teams(vectors, domain, mode, facts).plan(box)
