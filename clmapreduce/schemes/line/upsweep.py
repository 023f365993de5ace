"""Upsweep: a reduce that keeps its partials, one launch per level; entry i ends as the merge of (i − lowbit(i), i]."""

from __future__ import annotations

from functools import partial

from clmapreduce.domain.line import Line
from clmapreduce.formula.formula import Formula, in_parameters
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Plan, Stage
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.boxes import LaunchBox, within_local_memory
from clmapreduce.schemes.common.kernel import Target, kernel_spec
from clmapreduce.schemes.common.local_arrays import accumulators


def plan_upsweep(formula: Formula, bound: Bound, line: Line, mode: ComputeMode, facts: Facts, box: LaunchBox) -> Plan:
    """The plan that leaves length+1 accumulators in "out0"."""
    narrow = Line(line.length + 1).narrow
    op = OperatorText(bound, narrow)
    if mode is ComputeMode.PARALLEL:
        box = within_local_memory(box, 2 * bound.layout.itemsize, facts)
    tile = max(2, box.block * box.unroll)  # a tile of one entry would never shrink a level
    while tile > 2 * box.block and tile * bound.layout.itemsize > facts.local_memory // 2:
        tile //= 2
    stages: list[Stage] = []
    count, stride = line.length, 1
    while not stages or count > 0:
        level = min(len(stages), 1)
        numbers = {"block": box.block, "tile": tile, "level": level}
        read = formula.inputs if level == 0 else ()
        spec = kernel_spec(
            "line/upsweep", Target(mode, facts, narrow), False, numbers, {"formula": formula, "bound": bound},
            partial(dict, op=op, parameters=in_parameters(read)), arrays=partial(accumulators, bound, tile, "tile"),
        )  # fmt: skip
        names = tuple(given.name for given in read)
        reads = names if level == 0 else ("out0",)
        groups = max(1, -(-count // tile))
        stages.append(
            Stage(spec, groups, box.block, (*names, "out0", ("idx", count), ("idx", stride)), reads, ("out0",))
        )
        count, stride = count // tile, stride * tile
        if count <= 1:
            break
    scope = Scope.DEVICE if stages[0].groups > 1 else Scope.GROUP
    return Plan(tuple(stages), {}, mode, scope, narrow, f"{len(stages)} level(s) of tiles of {tile}")
