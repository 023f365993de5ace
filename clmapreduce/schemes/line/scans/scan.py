"""Scan in one pass where groups may wait for each other. Else in two: every group's total, then every group's prefixes
behind the merge of the totals before it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from clmapreduce.domain.line import Line
from clmapreduce.dtypes import is_extended
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Layout, LocalArray, Plan, Stage
from clmapreduce.reductions.base import Bound
from clmapreduce.schemes.common.boxes import LaunchBox, within_local_memory
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.common.local_arrays import accumulators
from clmapreduce.schemes.common.vectors import lanes_of
from clmapreduce.schemes.line.line_kernel import in_windows
from clmapreduce.schemes.line.reduce import passing, reduce_stage, with_shares
from clmapreduce.schemes.line.scans.scan_text import ScanText
from clmapreduce.schemes.line.scans.single_scan import SingleScanText, plan_one_pass, takes_one_pass


@dataclass(frozen=True, eq=False)
class Prefixes:
    """What a scan leaves at every index. narrow: the operator inside a tile. wide: the one between tiles and groups, of
    the same components. exclusive: without the index's own value.
    """

    narrow: Bound
    wide: Bound
    exclusive: bool = False


@dataclass(frozen=True, eq=False)
class TwoPassText(ScanText):
    """The second of two passes. passing: accumulators are those of one window, so many."""

    template = "kernel/line/scan"
    passing: int = 0

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        carries = accumulators(self.carried, self.block, "carries")
        return (*accumulators(self.bound, self.block * self.rows), *carries)


def plan_scan(
    layout: Layout, prefixes: Prefixes, line: Line, mode: ComputeMode, facts: Facts, box: LaunchBox,
    reduce_box: LaunchBox,
) -> Plan:  # fmt: skip
    """The plan of all prefixes. reduce_box: of the launch that finds the groups' totals."""
    whole, layout = layout, layout.within(line.window)
    formula, narrow_op, wide = layout.formula, prefixes.narrow, prefixes.wide
    if mode is ComputeMode.PARALLEL:
        box = within_local_memory(box, narrow_op.layout.itemsize * box.unroll + wide.layout.itemsize, facts)
        reduce_box = within_local_memory(reduce_box, wide.layout.itemsize, facts)
    widest = max(layout.widest, *(c.dtype.itemsize for c in narrow_op.components))
    # a scan's lanes keep their order, so a non-commutative operator may use them; records and complex numbers have none
    plain = lanes_of(layout, narrow_op.spreads) and all(
        (d.names is None or is_extended(d)) and d.kind != "c"
        for d in (narrow_op.result if narrow_op.spreads else narrow_op.value, *(c.dtype for c in narrow_op.components))
    )
    lanes = box.lanes(widest, plain and not narrow_op.locates)
    if takes_one_pass(wide, line, mode, facts):
        once = SingleScanText(
            Target.of(mode, facts, line.narrow), layout.outputs, layout.tail, False, formula, narrow_op, wide,
            prefixes.exclusive, box.block, lanes, box.unroll,
        )  # fmt: skip
        return plan_one_pass(once, layout, line, facts)
    rows = box.unroll
    tile = box.block * lanes * rows
    alone = line.window is None and line.length <= box.alone
    groups, share = line.shares(1 if alone else max(1, facts.compute_units * box.groups), tile)
    passes_on = line.window is not None and not line.window.shared
    streaming = layout.streaming and lanes * min(dtype.itemsize for dtype in layout.outputs) >= 16
    spec = TwoPassText(
        Target.of(mode, facts, line.narrow, streaming), layout.outputs, layout.tail, streaming, formula, narrow_op,
        wide, prefixes.exclusive, box.block, lanes, rows, line.span // share if passes_on else 0,
        windows=layout.windows,
    )  # fmt: skip
    arguments: Arguments = ("scratch0", *layout.sources, *layout.targets, ("idx", line.length), ("idx", share))
    second = Stage(spec, groups, box.block, arguments, ("scratch0", *layout.sources), layout.targets)
    scratch = {"scratch0": wide.layout.itemsize * (spec.passing or groups)}
    if spec.passing:
        scratch["carries"] = 2 * wide.layout.itemsize
        second = replace(
            second, arguments=("carries", *arguments), reads=("carries", *second.reads),
            writes=("carries", *second.writes),
        )  # fmt: skip
        second = in_windows(second, line, share, ("scratch0", "carries"))
    elif line.window is not None:
        second = in_windows(second, line, share)
    elif groups == 1:
        return Plan((second,), scratch, mode, Scope.GROUP, line.narrow, "the line fits one group")
    first = with_shares(reduce_stage(whole, wide, line, mode, facts, reduce_box, "scratch0"), groups, share)
    first = passing(first, line, share) if spec.passing else in_windows(first, line, share)
    why = f"{groups} groups: their totals first, then each behind the totals before it"
    return Plan((first, second), scratch, mode, Scope.DEVICE, line.narrow, why, window=line.window)
