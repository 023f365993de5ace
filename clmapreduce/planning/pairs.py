"""Which scheme computes a pair, in which launch box."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from clmapreduce.domain.dense import Pairwise
from clmapreduce.dtypes import DType
from clmapreduce.lowering.pair import Pair, Role
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Plan
from clmapreduce.planning.mode import choose_few
from clmapreduce.planning.pair_request import Made, SideValue
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.pairs.long_values import choose_wide, plan_wide
from clmapreduce.schemes.pairs.matrix.chained import plan_matrix_chained
from clmapreduce.schemes.pairs.matrix.choose import choose_matrix
from clmapreduce.schemes.pairs.matrix.exponentials import plan_matrix_wide
from clmapreduce.schemes.pairs.matrix.few import plan_matrix
from clmapreduce.schemes.pairs.matrix.long_products import plan_matrix_long
from clmapreduce.schemes.pairs.matrix.nearest import plan_matrix_nearest
from clmapreduce.schemes.pairs.matrix.weighted import plan_matrix_weighted
from clmapreduce.schemes.pairs.passes.concat import plan_parts
from clmapreduce.schemes.pairs.passes.side_values import SideValuePlan, plan_asides
from clmapreduce.schemes.pairs.passes.two_pass import plan_weighted
from clmapreduce.schemes.pairs.rows import Box, PairProblem, plan_pairwise
from clmapreduce.schemes.pairs.tiles import choose_tiles, plan_tiles
from clmapreduce.schemes.tuning import PairBox, TileBox, WideBox, clustered, few_box, ordering, pair_box
from clmapreduce.schemes.tuning_matrix import (
    MatrixBox,
    MatrixChainedBox,
    MatrixLongBox,
    MatrixNearestBox,
    MatrixWeightedBox,
    MatrixWideBox,
)

Look: TypeAlias = "Callable[[Plan, PairProblem, Pairwise, ComputeMode, Facts], Plan]"
"""Gives the plan to use in the place of one with the static box."""


def planned(
    made: Made, outputs: tuple[DType, ...], domain: Pairwise, mode: ComputeMode, facts: Facts, backend: str = "auto",
    box: Box | None = None, look: Look | None = None,
) -> Plan:  # fmt: skip
    """The plan of one result per row, or per row and number. outputs: dtypes of the results in memory. box: instead of
    the chosen one. look: asked for every pass over all pairs that no box is given for.
    """
    pair, last, dtype = made.pair, made.last, made.pair.dtype
    if made.asides:
        pairs = planned(replace(made, asides=()), outputs, domain, mode, facts, backend, box, look)
        return plan_asides([_plan_aside(one, domain, mode, facts) for one in made.asides], pairs, domain.batch)
    if made.parts:
        plans = [planned(part, (dtype,), domain, mode, facts, backend, box, look) for part in made.parts]
        sizes = tuple(part.outputs[0].shape[0] for part in made.parts)
        return plan_parts(plans, sizes, dtype, outputs[0], domain, mode, facts)
    if made.first is None or last is None or pair.expansion is None:
        return plan_pair(pair, made.bound, outputs, domain, mode, facts, backend, box, look, made.wide)
    first = plan_pair(*made.first, (dtype,), domain, mode, facts, backend, look=look)
    second = plan_pair(pair, made.bound, (dtype,), domain, mode, facts, backend, box, look)
    (marks,) = made.first[1].outputs[0].shape
    return plan_weighted(first, second, last, marks, pair.expansion.size, outputs[0], domain, mode, facts)


def _plan_aside(aside: SideValue, domain: Pairwise, mode: ComputeMode, facts: Facts) -> SideValuePlan:
    """The plan of numbers that are computed before all pairs."""
    pair, given = aside.pair, aside.given
    count = {Role.ROW: domain.rows, Role.COLUMN: domain.columns}.get(given.role, 1)
    batch = domain.batch if any(one.rank for one in pair.inputs) else 1
    alone = Pairwise(count, 1, batch, domain.elements)
    box = pair_box("sum", len(pair.terms.rows), pair.cost, True, count * batch, 1, mode, facts)
    plan = plan_pairwise(PairProblem(pair, aside.bound, (pair.dtype,)), alone, mode, facts, box)
    return SideValuePlan(given.name, plan, count, batch, pair.dtype.itemsize)


def plan_pair(
    pair: Pair, bound: PairBound, outputs: tuple[DType, ...], domain: Pairwise, mode: ComputeMode, facts: Facts,
    backend: str = "auto", box: Box | None = None, look: Look | None = None, wide: tuple[Pair, PairBound] | None = None,
) -> Plan:  # fmt: skip
    """The plan of one pass over all pairs. wide: see Made."""
    few = not domain.scattered and pair.expansion is None and choose_few(domain, bound, mode, facts)
    other = PairProblem(*wide, outputs, False, backend) if wide is not None and not few else None
    layout = PairProblem(pair, bound, outputs, few, backend, other)
    plan = plan_layout(layout, domain, mode, facts, box or choose_box(layout, domain, mode, facts))
    return plan if look is None or box is not None else look(plan, layout, domain, mode, facts)


def choose_box(layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts) -> Box:
    """The launch box, which says the scheme as well."""
    pair, bound = layout.pair, layout.bound
    terms, cost = len(pair.terms.rows), _cost(pair, bound)
    box: Box | None = choose_matrix(layout, domain, mode, facts) or choose_wide(pair, mode, facts)
    if box is None and layout.few:
        box = _keeping(few_box(terms, cost, domain.rows, mode, facts), layout)
    elif box is None and domain.columns:
        box = choose_tiles(pair, bound, mode, facts, domain.typical[0])
    if box is not None:
        return box
    rows, loops = domain.rows * domain.batch, bool(pair.contractions)
    cluster, columns = domain.typical
    box = _keeping(pair_box(_kind(bound), terms, cost, loops, rows, int(columns), mode, facts), layout)
    return clustered(box, cluster, pair.dtype.itemsize)


def plan_layout(layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts, box: Box) -> Plan:
    """The plan of the scheme that a box belongs to."""
    if isinstance(box, TileBox):
        return plan_tiles(layout, domain, mode, facts, box)
    if isinstance(box, WideBox):
        return plan_wide(layout, domain, mode, facts, box)
    if isinstance(box, MatrixWideBox):
        return plan_matrix_wide(layout.wide or layout, domain, mode, facts, box)
    if isinstance(box, MatrixBox):
        return plan_matrix(layout, domain, mode, facts, box)
    if isinstance(box, MatrixChainedBox):
        return plan_matrix_chained(layout.wide or layout, domain, mode, facts, box)
    if isinstance(box, MatrixWeightedBox):
        return plan_matrix_weighted(layout.wide or layout, domain, mode, facts, box)
    if isinstance(box, MatrixNearestBox):
        return plan_matrix_nearest(layout, domain, mode, facts, box)
    if isinstance(box, MatrixLongBox):
        return plan_matrix_long(layout, domain, mode, facts, box)
    return plan_pairwise(layout, domain, mode, facts, box)


def _cost(pair: Pair, bound: PairBound) -> int:
    """Operations per pair; where vectors are put in order, those on what is kept too, or builds would take minutes."""
    return pair.cost + (len(bound.components) if bound.one_by_one and pair.width > 1 else 0)


def _keeping(box: PairBox, layout: PairProblem) -> PairBox:
    """The box for what the operator keeps of a row."""
    pair, bound = layout.pair, layout.bound
    return ordering(box, bound.layout.itemsize, pair.dtype.itemsize) if bound.one_by_one else box


def _kind(bound: PairBound) -> str:
    """Which launch box suits an operator."""
    if bound.one_by_one:
        return "kmin"
    if bound.scale != 1:
        return "logsumexp"
    return "argument" if bound.rare else "sum"
