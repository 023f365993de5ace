"""Launch boxes of lines, pipelines and segments that a search may reach, on devices that are not here as well: each has a
plan whose text renders, and comes back from JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.plans import (
    FACTS,
    MODES,
    SECOND,
    SEQUENTIAL,
    bound_of,
    box_for,
    dtypes_of,
    formula_of,
    program_of,
    source_of,
)
from support.segment_plans import layout_of

import clmapreduce as cm
from clmapreduce.device.tuned import fits_device, is_legal_box, planned
from clmapreduce.domain.line import LEAST_WINDOW, Line, Window
from clmapreduce.domain.segments import Segments
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts
from clmapreduce.planning.boxes import beside, from_json, to_json, varied
from clmapreduce.planning.lines import MapRequest, PowerSeriesRequest, ReduceRequest, ScanRequest, UnfoldRequest
from clmapreduce.planning.pipelines import PipelineRequest, TracedPipeline
from clmapreduce.planning.request import MEASURED, MeasuredRequest, PlanRequest
from clmapreduce.planning.segments import SegmentsRequest
from clmapreduce.schemes.common.boxes import strictly_sequential
from clmapreduce.schemes.line.chain import Chain
from clmapreduce.schemes.line.fused_line import Fused
from clmapreduce.schemes.line.reduce import box_name
from clmapreduce.schemes.segments.registry import choose

LENGTH = 100_003


def running(x: Any) -> Any:
    """Three launches: the mean, then prefixes of what it is taken from."""
    return cm.Scan("sum")(x - cm.Reduce("mean")(x))


def pipeline(mode: ComputeMode, facts: Facts, scope: Scope, rows: int = 1, strict: bool = False) -> PipelineRequest:
    program = program_of(running, "f4", fp64=facts.fp64)
    outputs = dtypes_of(program)
    traced = TracedPipeline(program, outputs, Chain(program, outputs), Fused(program, outputs))
    return PipelineRequest(traced, LENGTH // rows, rows, scope, mode, False, strict, "a test")


def requests(mode: ComputeMode, facts: Facts) -> Iterator[PlanRequest]:
    line = Line(LENGTH)
    plain, product = formula_of(lambda x: x * 2, "f4"), formula_of(lambda x, y: x * y, "f4", "f4")
    yield MapRequest(product, line, mode, box_for("map", mode, facts))
    yield UnfoldRequest(plain, line, mode, box_for("unfold", mode, facts), None, np.dtype("f4"), 0)
    for op in ("sum", "argmin", "logsumexp", SECOND):
        wide, narrow = bound_of(op, plain, facts), bound_of(op, plain, facts, "fast")
        box = box_for(box_name(wide, plain), mode, facts)
        yield ReduceRequest(plain, line, mode, box, wide)
        if len(wide.components) == len(narrow.components):
            yield ScanRequest(plain, line, mode, box_for("scan", mode, facts), narrow, wide, False, box)
    yield pipeline(mode, facts, Scope.DEVICE)
    for scope in (Scope.ITEM, Scope.GROUP):
        yield pipeline(mode, facts, scope, rows=100)
    for op, columns in (("sum", 1), ("sum", 5), ("argmin", 1), (SECOND, 1)):
        layout, domain = layout_of(facts, op=op), Segments(LENGTH, 5000, columns)
        yield SegmentsRequest(layout, domain, mode, choose(layout, domain, mode, facts)[1], False)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
def test_what_a_search_may_reach_has_a_plan(facts: Facts, mode: ComputeMode, rng: np.random.Generator) -> None:
    for request in requests(mode, facts):
        boxes = request.boxes(facts)
        assert boxes and request.sizes[0] > 0
        for name, static in boxes.items():
            assert is_legal_box(static, static, mode) and from_json(to_json(static)) == static
            for start in (static, *static.starts):
                box = start
                for _ in range(int(rng.integers(1, 9))):
                    following = beside(box, str(rng.choice([*varied(box, mode)])), mode, bool(rng.integers(2)))
                    box = box if following is None or not is_legal_box(following, static, mode) else following
                assert is_legal_box(box, static, mode) and from_json(to_json(box)) == box, (request, box)
                trial = request.in_box(name, box)
                assert trial.boxes(facts)[name] == box and type(trial) is type(request)
                plan = planned(trial, facts)
                if plan is None:  # a group beyond what the device has, or no local memory for it
                    assert box != static and not fits_device(trial.plan(facts), facts), (request, box)
                    continue
                for stage in plan.stages:
                    assert 0 < stage.group_size <= facts.max_group_size and stage.groups > 0 and source_of(stage)
                assert MeasuredRequest(request, trial).plan(facts).why.endswith(MEASURED)


def test_what_is_bound_to_its_box_has_none_to_tune() -> None:
    facts = FACTS["intel"]
    plain = formula_of(lambda x: x, "f4")
    bound, box = bound_of("sum", plain, facts), box_for("reduce", SEQUENTIAL, facts)
    window = Window(LEAST_WINDOW, LENGTH, ("in0",))
    assert not ReduceRequest(plain, Line(LENGTH, window), SEQUENTIAL, box, bound).boxes(facts)
    assert not ReduceRequest(plain, Line(LENGTH), SEQUENTIAL, strictly_sequential(box), bound).boxes(facts)
    assert not pipeline(SEQUENTIAL, facts, Scope.ITEM, strict=True).boxes(facts)
    assert not replace(pipeline(SEQUENTIAL, facts, Scope.DEVICE), window=window).boxes(facts)
    assert not PowerSeriesRequest(np.dtype("f4"), 9, 100, SEQUENTIAL, box).boxes(facts)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
def test_what_no_search_comes_to_is_not_legal(facts: Facts, mode: ComputeMode) -> None:
    for request in requests(mode, facts):
        for static in request.boxes(facts).values():
            odd = [replace(static, block=48), replace(static, block=1 << 14), *(static.starts and [None])]
            odd += [box for box in (box_for("map", mode, facts), None) if type(box) is not type(static)]
            for name, (least, most) in varied(static, mode).items():
                odd += [replace(static, **{name: number}) for number in (most * 2, least // 2 - 1)]
            assert not any(is_legal_box(box, static, mode) for box in odd if box != static), (request, odd)


def test_groups_that_loop_are_tried_where_there_is_one_for_every_tile() -> None:
    for name, facts in FACTS.items():
        starts = box_for("map", MODES[1], facts).starts
        assert [box.groups for box in starts] == ([16] if facts.kind == "gpu" else []), name
        assert box_for("map", SEQUENTIAL, facts).starts == box_for("reduce", MODES[1], facts).starts == ()
