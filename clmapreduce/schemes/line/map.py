"""Map: one launch; every group computes its own stretch of indices."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.domain.line import Line
from clmapreduce.formula.formula import Access, Formula, Input
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Layout, Plan, Stage
from clmapreduce.schemes.common.boxes import LaunchBox
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.common.stores import Store, map_text
from clmapreduce.schemes.common.vectors import bytes_of_lane, lanes_of
from clmapreduce.schemes.line.line_kernel import LineText, in_windows


@dataclass(frozen=True, eq=False)
class MapText(LineText):
    """lanes: numbers of a vector. unroll: vectors of an item and step."""

    template = "kernel/line/map"
    formula: Formula
    block: int
    lanes: int
    unroll: int

    @property
    def read(self) -> tuple[Input, ...]:
        return self.formula.inputs

    @property
    def store(self) -> Store:
        """Loads, computes and stores at an index."""
        return map_text(self.outputs, self.narrow, self.places)


def plan_map(layout: Layout, line: Line, mode: ComputeMode, facts: Facts, box: LaunchBox) -> Plan:
    """The plan of out[i] = f(in[i], …) for every index of the line; needs length ≥ 1."""
    layout = layout.within(line.window)
    formula = layout.formula
    arrays = [one.dtype for one in formula.inputs if one.access not in (Access.ARGUMENT, Access.SINGLE)]
    stored = max(dtype.itemsize for dtype in (*arrays, *layout.outputs))
    lanes = box.lanes(bytes_of_lane(box, layout.widest, stored, facts), lanes_of(layout))
    groups, share = line.shares(facts.compute_units * box.groups, box.block * lanes * box.unroll)
    streaming = layout.streaming and lanes * min(d.itemsize for d in layout.outputs) >= 16
    target = Target.of(mode, facts, line.narrow, streaming)
    numbers = (box.block, lanes, box.unroll)
    spec = MapText(target, layout.outputs, None, streaming, formula, *numbers, windows=layout.windows)
    names, targets = layout.sources, layout.targets
    stage = Stage(spec, groups, box.block, (*names, *targets, ("idx", line.length), ("idx", share)), names, targets)
    stage = in_windows(stage, line, share)
    scope = Scope.DEVICE if groups > 1 else Scope.GROUP
    return Plan((stage,), {}, mode, scope, line.narrow, "a map is one launch", window=line.window)
