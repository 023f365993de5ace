"""Plans with windows, made without a device; and where their copies go, on one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.plans import FACTS, MODES, bound_of, box_for, chain_of, formula_of, layout_of, source_of
from support.streamed import LENGTH, below_their_peak, softmax

import clmapreduce as cm
from clmapreduce.domain.line import LEAST_WINDOW, Line, Window
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Layout, Plan
from clmapreduce.schemes.line.map import plan_map
from clmapreduce.schemes.line.reduce import plan_reduce

CHAINS: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    "sum": (cm.Reduce("sum"), ((0,), (1,))),
    "scan": (cm.Scan("sum"), ((0, 1),)),
    "a scan twice read": (below_their_peak.function, ((0, 1, 2), (3,), (4,))),
    "softmax": (softmax.function, ((0,), (1,), (2,), (3,), (4,))),
    "partials": (cm.Partials("sum"), ((0,), (1,), (2,))),
}


def window_for(length: int, entries: int, outputs: int = 2) -> Window:
    return Window(length, entries, ("in0", *(f"out{i}" for i in range(outputs))))


def chain_plan(function: Any, entries: int, mode: ComputeMode, facts: Facts) -> Plan:
    outputs = 0 if isinstance(function, (cm.Reduce, cm.Partials)) else 1
    line = Line(entries, window_for(1 << 20, entries, outputs))
    return chain_of(function, "f4", fp64=facts.fp64).plan(line, mode, facts, False)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(1, 2**40), st.integers(0, 2**24), st.integers(0, 15), st.integers(15, 26))
def test_a_window_has_a_whole_number_of_shares(length: int, groups: int, tile: int, window: int) -> None:
    line = Line(length, Window(1 << window, length, ()))
    count, share = line.shares(groups, 1 << tile)
    assert (1 << window) % share == 0 and share % (1 << tile) == 0
    assert (1 << window) // share <= max(1, groups)
    assert (count - 1) * share < length <= count * share
    assert line.span == 1 << window


def test_a_tile_that_cuts_no_window_is_refused() -> None:
    with pytest.raises(ValueError, match="no whole number"):
        Line(10**6, Window(LEAST_WINDOW, 10**6, ())).shares(4, 3 * 1024)


def test_the_shortest_window_holds_every_tile_of_every_box() -> None:
    """Of lanes there are 16 at most; see `LaunchBox.lanes`."""
    for facts in FACTS.values():
        for mode in MODES:
            for name in ("map", "reduce", "reduce2", "extremum", "locate", "logsumexp", "scan", "unfold", "unfold_reduce"):
                box = box_for(name, mode, facts)
                assert LEAST_WINDOW % (box.block * 16 * box.unroll * box.streams) == 0, (name, mode)


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("mode", MODES)
def test_stages_that_can_share_a_pass(name: str, mode: ComputeMode) -> None:
    function, passes = CHAINS[name]
    for sheet in ("nvidia", "intel", "pocl"):
        plan = chain_plan(function, 10**9, mode, FACTS[sheet])
        if name != "partials":
            assert plan.passes == passes, (sheet, plan.stages)
        for numbers in plan.passes:
            assert len({bool(plan.stages[n].share) for n in numbers}) == 1
            for n in numbers:
                share = plan.stages[n].share
                assert share == 0 or (1 << 20) % share == 0


@pytest.mark.parametrize("mode", MODES)
def test_scratch_of_a_scan_does_not_grow_with_the_line(mode: ComputeMode) -> None:
    for facts in FACTS.values():
        short, long = (chain_plan(cm.Scan("sum"), entries, mode, facts) for entries in (10**8, 10**12))
        assert short.scratch == long.scratch
        assert sum(long.scratch.values()) < 1 << 20


@pytest.mark.parametrize("mode", MODES)
def test_kernels_see_windows_of_what_is_named(mode: ComputeMode) -> None:
    for facts in FACTS.values():
        formula = formula_of(lambda a, b: a * b, "f4", "f4")
        line = Line(10**9, Window(1 << 20, 10**9, ("in1", "out0")))
        text = source_of(plan_map(layout_of(formula), line, mode, facts, box_for("map", mode, facts)).stages[0])
        assert "in1_first" in text and "out0_first" in text and "in0_first" not in text
        bound_operator = bound_of("sum", formula, facts)
        plan = plan_reduce(Layout(formula, (bound_operator.result,)), bound_operator, line, mode, facts, box_for("reduce", mode, facts))
        texts = [source_of(stage) for stage in plan.stages]
        assert "in1_first" in texts[0] and "_first" not in texts[1]


def test_kernels_do_not_depend_on_how_many_windows_there_are() -> None:
    for facts in FACTS.values():
        for name, (function, _) in CHAINS.items():
            plans = [chain_plan(function, entries, MODES[0], facts) for entries in (10**8, 10**9)]
            kernels = [[stage.spec for stage in plan.stages] for plan in plans]
            shortest = min(map(len, kernels))
            assert kernels[0][:shortest] == kernels[1][:shortest], name


def test_copies_have_queues_of_their_own(context: cm.Context, rng: np.random.Generator) -> None:
    own = cm.Context(context.device, profile=True, memory_limit="3M")
    x = rng.integers(0, 9, LENGTH)
    tiles = int(cm.Scan("sum").explain(x, context=own).split("streamed: ")[1].split()[0])
    cm.Scan("sum")(x, context=own)
    counts = [len(queue.log) for queue in (own.queue, *own.copy_queues)]
    assert counts[1] == counts[2] == tiles, "one array in, one out"
    assert {label for _, label, _ in own.queue.log} >= {"cmr_reduce", "cmr_scan"}
    assert not {label for _, label, _ in own.queue.log} & {label for q in own.copy_queues for _, label, _ in q.log}
