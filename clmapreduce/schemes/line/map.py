"""Map: one launch; every group computes its own stretch of indices."""

from __future__ import annotations

from dataclasses import replace

from clmapreduce.domain.line import Line
from clmapreduce.formula.formula import in_parameters
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Layout, Plan, Stage
from clmapreduce.schemes.common.boxes import LaunchBox
from clmapreduce.schemes.common.kernel import Target, kernel_spec, lanes_of, map_text, out_parameters


def plan_map(layout: Layout, line: Line, mode: ComputeMode, facts: Facts, box: LaunchBox) -> Plan:
    """The plan of out[i] = f(in[i], …) for every index of the line; needs length ≥ 1."""
    formula = layout.formula
    lanes = box.lanes(layout.widest, lanes_of(layout, facts))
    numbers = {"block": box.block, "lanes": lanes, "unroll": box.unroll}
    groups, share = line.shares(facts.compute_units * box.groups, box.block * lanes * box.unroll)
    shown = replace(layout, streaming=layout.streaming and lanes * min(d.itemsize for d in layout.outputs) >= 16)
    spec = kernel_spec(
        "line/map", Target(mode, facts, line.narrow), shown.streaming, numbers, {"formula": formula},
        lambda: {
            "parameters": in_parameters(layout.inputs) + out_parameters(layout.outputs),
            "store": map_text(shown, line.narrow),
        },
    )  # fmt: skip
    names, targets = layout.sources, layout.targets
    stage = Stage(spec, groups, box.block, (*names, *targets, ("idx", line.length), ("idx", share)), names, targets)
    return Plan((stage,), {}, mode, Scope.DEVICE if groups > 1 else Scope.GROUP, line.narrow, "a map is one launch")
