"""Scan in two passes: every group's total, then every group's prefixes behind the merge of the totals before it."""

from __future__ import annotations

from clmapreduce.domain.line import Line
from clmapreduce.formula.formula import in_parameters
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Layout, Plan, Stage
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.boxes import LaunchBox, within_local_memory
from clmapreduce.schemes.common.kernel import kernel_spec, lanes_of, out_parameters, stores
from clmapreduce.schemes.line.reduce import reduce_stage


def plan_scan(
    layout: Layout, narrow_op: Bound, wide: Bound, exclusive: bool, line: Line, mode: ComputeMode, facts: Facts,
    box: LaunchBox, reduce_box: LaunchBox,
) -> Plan:  # fmt: skip
    """The plan of all prefixes.

    `narrow_op` accumulates inside a tile, `wide` (same components) between tiles and groups.
    """
    formula = layout.formula
    if mode is ComputeMode.PARALLEL:
        box = within_local_memory(box, narrow_op.layout.itemsize * box.unroll + wide.layout.itemsize, facts)
        reduce_box = within_local_memory(reduce_box, wide.layout.itemsize, facts)
    widest = max(layout.widest, *(c.dtype.itemsize for c in narrow_op.components))
    # a scan's lanes keep their order, so a non-commutative operator may use them; records and complex numbers have none
    plain = lanes_of(layout, facts) and all(
        d.names is None and d.kind != "c" for d in (narrow_op.value, *(c.dtype for c in narrow_op.components))
    )
    lanes = box.lanes(widest, plain and not narrow_op.locates)
    rows = box.unroll
    tile = box.block * lanes * rows
    op, carry = OperatorText(narrow_op, line.narrow), OperatorText(wide, line.narrow)
    groups, share = line.shares(max(1, facts.compute_units * box.groups), tile)
    streaming = layout.streaming and lanes * min(dtype.itemsize for dtype in layout.outputs) >= 16
    numbers = {"block": box.block, "lanes": lanes, "rows": rows, "exclusive": exclusive}
    spec = kernel_spec(
        "line/scan", mode, facts, line.narrow, streaming, numbers,
        {"formula": formula, "bound": narrow_op, "carried": wide, "tail": layout.tail},
        lambda: {
            "op": op, "wide": carry, "store": stores(layout, line.narrow, streaming),
            "parameters": in_parameters(layout.inputs) + out_parameters(layout.outputs),
        },
    )  # fmt: skip
    arguments: Arguments = ("scratch0", *layout.sources, *layout.targets, ("idx", line.length), ("idx", share))
    second = Stage(spec, groups, box.block, arguments, ("scratch0", *layout.sources), layout.targets)
    scratch = {"scratch0": carry.itemsize * groups}
    if groups == 1:
        return Plan((second,), scratch, mode, Scope.GROUP, line.narrow, "the line fits one group")
    first = totals_stage(layout, wide, line, share, groups, mode, facts, reduce_box)
    why = f"{groups} groups: their totals first, then each behind the totals before it"
    return Plan((first, second), scratch, mode, Scope.DEVICE, line.narrow, why)


def totals_stage(
    layout: Layout, wide: Bound, line: Line, share: int, groups: int, mode: ComputeMode, facts: Facts, box: LaunchBox
) -> Stage:
    """One accumulator per group of the second pass, over the same shares."""
    stage = reduce_stage(layout, wide, line, mode, facts, box, "scratch0", single=False)
    arguments = (*stage.arguments[:-1], ("idx", share))
    return Stage(stage.spec, groups, stage.group_size, arguments, stage.reads, stage.writes)
