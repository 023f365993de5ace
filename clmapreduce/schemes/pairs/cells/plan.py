"""Plans that look first how far apart points lie, and compute pairs by cells where few cells meet."""

from __future__ import annotations

from dataclasses import replace

from clmapreduce.domain.dense import Pairwise
from clmapreduce.dtypes import FLOAT32
from clmapreduce.lowering.pair import Pair
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Plan, Stage, where_marked
from clmapreduce.schemes.common.gates import gated
from clmapreduce.schemes.common.join_plans import shared_scratch
from clmapreduce.schemes.pairs.cells.apart import ApartPair, Rule, apart_pair
from clmapreduce.schemes.pairs.cells.by_cells import ByCells
from clmapreduce.schemes.pairs.cells.gates import GATES, UNUSED
from clmapreduce.schemes.pairs.parts.pair_kernel import PairKernel
from clmapreduce.schemes.pairs.problem import PairProblem

LEAST_PAIRS, LEAST_WORK, EACH = 8e9, 1.2e10, 0.1
"""Pairs from which on it pays to look for cells. For sums where nothing shows early that points are far apart, pairs of
which each coordinate, and each number of a long value, makes so many more: a look costs at most a twentieth then.
"""
MOST_COORDINATES = 1024
"""Of a pivot in local memory."""
LOCAL_MEMORY = 20 << 10
"""Bytes that the distances of pivots, and what lies beside them, take."""


def suits_cells(looped: Pair, layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts) -> bool:
    """Whether pairs can be computed cell by cell: their values follow from one distance, and far pairs do not matter.
    looped: the pair with every sum over coordinates as a loop.
    """
    pair = layout.pair
    if mode is ComputeMode.SEQUENTIAL or layout.few or layout.backend == "2D" or _is_converted(layout):
        return False
    if facts.local_memory < LOCAL_MEMORY:
        return False
    if domain.scattered or domain.batch > 1 or not domain.narrow or not domain.rows or not domain.columns:
        return False
    if looped.dtype != FLOAT32 or pair.has_tables or any(one.rank for one in pair.inputs):
        return False
    apart = apart_pair(looped, layout.bound)
    if apart is None or apart.distance.size > MOST_COORDINATES:
        return False
    return ByCells(layout, apart, domain, mode, facts).fits


def _is_converted(layout: PairProblem) -> bool:
    """Whether results of long values have another type than their sums, which are stored in parts as results."""
    pair = layout.pair
    return pair.expansion is not None and layout.outputs != (pair.dtype,)


def pays_cells(plan: Plan, looped: Pair, layout: PairProblem, domain: Pairwise, facts: Facts) -> bool:
    """Whether to look for cells is worth its time."""
    apart = apart_pair(looped, layout.bound)
    if apart is None or not facts.groups_may_return or not facts.matrix_units:
        return False
    summed = apart.rule in (Rule.ZERO, Rule.EXPONENT) and _watched(plan, apart) is None
    long = layout.pair.expansion
    numbers = apart.distance.size + (long.size if long is not None else 0)
    return domain.pairs * (1 + EACH * numbers) >= LEAST_WORK if summed else domain.pairs >= LEAST_PAIRS


def plan_cells(
    plan: Plan, looped: Pair, layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts
) -> Plan:  # fmt: skip
    """The plan that computes pairs by cells where these are used, else as `plan` does. Where groups cannot end early,
    pairs are computed in every way, by cells at the end. looped: as for `suits_cells`.
    """
    apart = apart_pair(looped, layout.bound)
    assert apart is not None
    cells = ByCells(layout, apart, domain, mode, facts)
    watched = _watched(plan, apart)
    stages = _at_first(plan, cells) if watched is None else _where_given_up(plan, cells, watched)
    scratch = shared_scratch(plan.scratch, cells.scratch)
    why = f"{plan.why}; by cells where points lie far apart"
    return replace(plan, stages=stages, scratch=scratch, why=why, lean=plan)


def _watched(plan: Plan, apart: ApartPair) -> int | None:
    """The launch, by number, whose groups give up early where points lie far apart; None where there is none."""
    if apart.rule in (Rule.LEAST, Rule.GREATEST):
        return None
    early = (isinstance(stage.spec, PairKernel) and stage.spec.gives_up_early for stage in plan.stages)
    return next((n for n, gives_up in enumerate(early) if gives_up), None)


def _at_first(plan: Plan, cells: ByCells) -> tuple[Stage, ...]:
    """A sample shows at once whether cells are worth a closer look."""
    pivots, look = cells.looking_stages()
    usual = gated(plan.stages, UNUSED, GATES)
    return (pivots, *where_marked(look, GATES), *usual, *where_marked(cells.pairs_stages(), GATES))


def _where_given_up(plan: Plan, cells: ByCells, number: int) -> tuple[Stage, ...]:
    """Cells are looked for once half of the groups of a launch gave up, before others compute them again."""
    first, later = plan.stages[: number + 1], plan.stages[number + 1 :]
    (marks,) = {stage.redo for stage in later if stage.redo in plan.stages[number].writes} - {""}
    pivots, look = cells.looking_stages(marks, plan.scratch[marks] // 4)
    again = [one for stage in later for one in (gated([stage], UNUSED, GATES) if stage.redo else [stage])]
    return (
        *first, *where_marked([pivots], marks), *where_marked(look, GATES), *again,
        *where_marked(cells.pairs_stages(), GATES),
    )  # fmt: skip
