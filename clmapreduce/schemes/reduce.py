"""Reduce: as many groups as keep the device full, each over a stretch of its own; then one group merges what they
leave.
"""

from __future__ import annotations

from dataclasses import replace

from clmapreduce.domain.line import Line
from clmapreduce.formula.formula import Access, Formula
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Plan, Stage
from clmapreduce.reductions.argument import BoundArgument
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.logsumexp import BoundLogSumExp
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common import inputs, kernel_spec, store_one, vectorisable
from clmapreduce.tuning import LaunchBox, within_local_memory

GROUP_TILES = 4
"""Up to this many tiles one group does it alone: a second launch costs more than it saves."""


def box_name(bound: Bound, formula: Formula) -> str:
    """Which launch box suits an operator: two inputs are two streams already; argmin and logsumexp want several vectors
    at once.
    """
    if isinstance(bound, BoundArgument):
        return "locate"
    if isinstance(bound, BoundLogSumExp):
        return "logsumexp"
    return "reduce2" if sum(given.access is Access.VECTOR for given in formula.inputs) > 1 else "reduce"


def reduce_stage(
    formula: Formula,
    bound: Bound,
    line: Line,
    mode: ComputeMode,
    facts: Facts,
    box: LaunchBox,
    target: str,
    single: bool | None = None,
) -> Stage:
    """The launch that leaves one accumulator per group in `target`, or the finished result when one group is enough.

    `single` forces the one (True) or the other (False).
    """
    lanes = box.lanes(formula.widest, bound.vectorisable and vectorisable(formula, facts))
    width = box.block if bound.commutative else 1
    tile = width * lanes * box.unroll * box.streams
    cap = facts.compute_units * box.groups
    if bound.chain is not None:
        cap = max(cap, -(-line.length // (bound.chain * width * lanes * box.streams)))
    if (single is None and line.length <= tile * GROUP_TILES) or single or not box.groups:
        cap = 1
    groups, share = line.shares(cap, tile)
    partial = groups > 1 if single is None else not single
    op = OperatorText(bound, line.narrow)
    numbers = {
        "block": box.block, "lanes": lanes, "unroll": box.unroll, "streams": box.streams,
        "ordered": not bound.commutative, "partial": partial,
    }  # fmt: skip
    spec = kernel_spec(
        "reduce", mode, facts, line.narrow, False, numbers, {"formula": formula, "bound": bound},
        lambda: {"op": op, "store": store_one(bound.result)},
    )  # fmt: skip
    names = inputs(formula)
    return Stage(spec, groups, box.block, (*names, target, ("idx", line.length), ("idx", share)), names, (target,))


def plan_reduce(
    formula: Formula, bound: Bound, line: Line, mode: ComputeMode, facts: Facts, box: LaunchBox, on_host: bool = False
) -> Plan:
    """The plan of one result for the whole line; length 0 gives the identity.

    `on_host`: the last level is left to the host.
    """
    if mode is ComputeMode.PARALLEL:
        box = within_local_memory(box, bound.layout.itemsize, facts)
    if formula.widest and bound.locates:
        box = _fitting_blocks(formula, bound, line, facts, box)
    stage = reduce_stage(formula, bound, line, mode, facts, box, "out0", single=None)
    if stage.groups == 1:
        return Plan((stage,), {}, mode, _scope(mode, facts), line.narrow, "the line fits one group")
    partials = "out0" if on_host else "scratch0"
    stage = reduce_stage(formula, bound, line, mode, facts, box, partials, single=False)
    scratch = {partials: bound.layout.itemsize * stage.groups}
    why = f"{stage.groups} groups keep {facts.compute_units} compute units busy"
    if on_host:
        return Plan(
            (stage,),
            scratch,
            mode,
            Scope.DEVICE,
            line.narrow,
            why + ", the host merges their accumulators",
            finish_on_host=True,
        )
    last = merge_stage(bound, stage.groups, mode, facts, box)
    return Plan((stage, last), scratch, mode, Scope.DEVICE, line.narrow, why + ", one group merges their accumulators")


def merge_stage(bound: Bound, count: int, mode: ComputeMode, facts: Facts, box: LaunchBox) -> Stage:
    """The launch that turns `count` accumulators in "scratch0" into the result."""
    op = OperatorText(bound, True)
    spec = kernel_spec(
        "merge",
        mode,
        facts,
        True,
        False,
        {"block": box.block},
        {"bound": bound},
        lambda: {"op": op, "store": store_one(bound.result)},
    )
    return Stage(spec, 1, box.block, ("scratch0", "out0", ("idx", count)), ("scratch0",), ("out0",))


def _scope(mode: ComputeMode, facts: Facts) -> Scope:
    return Scope.ITEM if mode is ComputeMode.SEQUENTIAL else Scope.GROUP


def _fitting_blocks(formula: Formula, bound: Bound, line: Line, facts: Facts, box: LaunchBox) -> LaunchBox:
    """More groups, where one group's blocks would outrun the counter that numbers them."""
    limit = OperatorText(bound).block_limit
    lanes = box.lanes(formula.widest, bound.vectorisable and vectorisable(formula, facts))
    needed = -(-line.length // (limit * box.block * lanes * box.unroll))
    return replace(box, groups=max(box.groups, -(-needed // facts.compute_units))) if needed > 1 else box
