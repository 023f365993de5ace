"""Reduce: as many groups as keep the device full, each over a stretch of its own; then one group merges what they
leave.
"""

from __future__ import annotations

from dataclasses import replace

from clmapreduce.domain.line import Line
from clmapreduce.formula.formula import Access, Formula, in_parameters
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Layout, Plan, Stage
from clmapreduce.reductions.argument import BoundArgument
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.logsumexp import BoundLogSumExp
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.boxes import LaunchBox, within_local_memory
from clmapreduce.schemes.common.kernel import Target, kernel_spec, out_parameters, stores, vectorisable
from clmapreduce.schemes.common.local_arrays import accumulators

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
    layout: Layout,
    bound: Bound,
    line: Line,
    mode: ComputeMode,
    facts: Facts,
    box: LaunchBox,
    partials: str | None = None,
) -> Stage:
    """The launch that leaves one accumulator per group in the array `partials`. None: the finished result in the
    layout's outputs where one group is enough, else accumulators in "scratch0".
    """
    formula = layout.formula
    lanes = box.lanes(formula.widest, bound.vectorisable and vectorisable(formula, facts))
    width = box.block if bound.commutative else 1
    tile = width * lanes * box.unroll * box.streams
    cap = facts.compute_units * box.groups
    if bound.chain is not None:
        cap = max(cap, -(-line.length // (bound.chain * width * lanes * box.streams)))
    if (partials is None and line.length <= tile * GROUP_TILES) or not box.groups:
        cap = 1
    groups, share = line.shares(cap, tile)
    partial = groups > 1 or partials is not None
    op = OperatorText(bound, line.narrow)
    numbers = {
        "block": box.block, "lanes": lanes, "unroll": box.unroll, "streams": box.streams,
        "ordered": not bound.commutative, "partial": partial,
    }  # fmt: skip
    if partial:
        read, out = formula.inputs, []
    else:
        read, out = layout.inputs, out_parameters(layout.outputs)
    targets = (partials or "scratch0",) if partial else layout.targets
    objects = {"formula": formula, "bound": bound, "tail": None if partial else layout.tail}
    spec = kernel_spec(
        "line/reduce", Target(mode, facts, line.narrow), False, numbers, objects,
        lambda: {"op": op, "store": stores(layout, line.narrow), "parameters": in_parameters(read) + out},
        arrays=lambda: accumulators(bound, box.block),
    )  # fmt: skip
    names = tuple(given.name for given in read)
    return Stage(spec, groups, box.block, (*names, *targets, ("idx", line.length), ("idx", share)), names, targets)


def with_shares(stage: Stage, groups: int, share: int) -> Stage:
    """A launch of `reduce_stage` in other groups, with so many indices each."""
    return replace(stage, groups=groups, arguments=(*stage.arguments[:-1], ("idx", share)))


def plan_reduce(
    layout: Layout, bound: Bound, line: Line, mode: ComputeMode, facts: Facts, box: LaunchBox, on_host: bool = False
) -> Plan:
    """The plan of one result for the whole line; length 0 gives the identity.

    `on_host`: the last level is left to the host.
    """
    formula = layout.formula
    if mode is ComputeMode.PARALLEL:
        box = within_local_memory(box, bound.layout.itemsize, facts)
    if formula.widest and bound.locates:
        box = _fitting_blocks(formula, bound, line, facts, box)
    stage = reduce_stage(layout, bound, line, mode, facts, box)
    if stage.groups == 1:
        return Plan((stage,), {}, mode, _scope(mode, facts), line.narrow, "the line fits one group")
    partials = layout.targets[0] if on_host else "scratch0"
    stage = reduce_stage(layout, bound, line, mode, facts, box, partials)
    scratch = {partials: bound.layout.itemsize * stage.groups}
    why = f"{stage.groups} groups keep {facts.compute_units} compute units busy"
    if on_host:
        why += ", the host merges their accumulators"
        return Plan((stage,), scratch, mode, Scope.DEVICE, line.narrow, why, finish_on_host=True)
    last = merge_stage(layout, bound, stage.groups, mode, facts, box)
    return Plan((stage, last), scratch, mode, Scope.DEVICE, line.narrow, why + ", one group merges their accumulators")


def merge_stage(layout: Layout, bound: Bound, count: int, mode: ComputeMode, facts: Facts, box: LaunchBox) -> Stage:
    """The launch that turns `count` accumulators in "scratch0" into the result."""
    op = OperatorText(bound, True)
    read = layout.tail.formula.inputs if layout.tail is not None else ()
    parameters = in_parameters(read) + out_parameters(layout.outputs)
    spec = kernel_spec(
        "line/merge", Target(mode, facts, True), False, {"block": box.block}, {"bound": bound, "tail": layout.tail},
        lambda: {"op": op, "store": stores(layout, True), "parameters": parameters},
        arrays=lambda: accumulators(bound, box.block),
    )  # fmt: skip
    names = tuple(given.name for given in read)
    arguments: Arguments = ("scratch0", *names, *layout.targets, ("idx", count))
    return Stage(spec, 1, box.block, arguments, ("scratch0", *names), layout.targets)


def _scope(mode: ComputeMode, facts: Facts) -> Scope:
    return Scope.ITEM if mode is ComputeMode.SEQUENTIAL else Scope.GROUP


def _fitting_blocks(formula: Formula, bound: Bound, line: Line, facts: Facts, box: LaunchBox) -> LaunchBox:
    """More groups, where one group's blocks would outrun the counter that numbers them."""
    limit = OperatorText(bound).block_limit
    lanes = box.lanes(formula.widest, bound.vectorisable and vectorisable(formula, facts))
    needed = -(-line.length // (limit * box.block * lanes * box.unroll))
    return replace(box, groups=max(box.groups, -(-needed // facts.compute_units))) if needed > 1 else box
