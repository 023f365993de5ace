"""Scan in two passes: every group's total, then every group's prefixes behind the merge of the totals before it."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.domain.line import Line
from clmapreduce.formula.formula import in_parameters
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Layout, Plan, Stage
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.boxes import LaunchBox, within_local_memory
from clmapreduce.schemes.common.kernel import Target, kernel_spec, lanes_of, out_parameters, stores
from clmapreduce.schemes.common.local_arrays import accumulators
from clmapreduce.schemes.line.reduce import reduce_stage, with_shares


@dataclass(frozen=True, eq=False)
class Prefixes:
    """What a scan leaves at every index. narrow: the operator inside a tile. wide: the one between tiles and groups, of
    the same components. exclusive: without the index's own value.
    """

    narrow: Bound
    wide: Bound
    exclusive: bool = False


def plan_scan(
    layout: Layout, prefixes: Prefixes, line: Line, mode: ComputeMode, facts: Facts, box: LaunchBox,
    reduce_box: LaunchBox,
) -> Plan:  # fmt: skip
    """The plan of all prefixes. reduce_box: of the launch that finds the groups' totals."""
    formula, narrow_op, wide = layout.formula, prefixes.narrow, prefixes.wide
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
    numbers = {"block": box.block, "lanes": lanes, "rows": rows, "exclusive": prefixes.exclusive}
    spec = kernel_spec(
        "line/scan", Target(mode, facts, line.narrow), streaming, numbers,
        {"formula": formula, "bound": narrow_op, "carried": wide, "tail": layout.tail},
        lambda: {
            "op": op, "wide": carry, "store": stores(layout, line.narrow, streaming),
            "parameters": in_parameters(layout.inputs) + out_parameters(layout.outputs),
        },
        arrays=lambda: (*accumulators(narrow_op, box.block * rows), *accumulators(wide, box.block, "carries")),
    )  # fmt: skip
    arguments: Arguments = ("scratch0", *layout.sources, *layout.targets, ("idx", line.length), ("idx", share))
    second = Stage(spec, groups, box.block, arguments, ("scratch0", *layout.sources), layout.targets)
    scratch = {"scratch0": carry.itemsize * groups}
    if groups == 1:
        return Plan((second,), scratch, mode, Scope.GROUP, line.narrow, "the line fits one group")
    first = with_shares(reduce_stage(layout, wide, line, mode, facts, reduce_box, "scratch0"), groups, share)
    why = f"{groups} groups: their totals first, then each behind the totals before it"
    return Plan((first, second), scratch, mode, Scope.DEVICE, line.narrow, why)
