"""Groups whose sums of exponentials times long weights another launch left undone, and the launches that compute them
again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from clmapreduce.domain.dense import Pairwise
from clmapreduce.lowering.bilinear import Factoring
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts
from clmapreduce.schemes.common.local_arrays import shrink_to_fit
from clmapreduce.schemes.pairs.fallback import Launches, Unfinished
from clmapreduce.schemes.pairs.matrix.boxes import MatrixWeightedBox, matrix_again_box
from clmapreduce.schemes.pairs.matrix.fine import fine_steps
from clmapreduce.schemes.pairs.matrix.parts.weights import WEIGHTS
from clmapreduce.schemes.pairs.matrix.weighted.launch import WeightedLaunch, fewer_columns, has_room, suits_weights
from clmapreduce.schemes.pairs.problem import PairProblem

MOST_SCRATCH = 1 << 30
"""Bytes that pieces of weights and columns may take for groups that are computed again, of which there may be none."""


@dataclass(frozen=True)
class WeightedAgain:
    """The launches for groups of `rows` rows and `blocks` blocks of numbers that another launch left undone."""

    layout: PairProblem
    domain: Pairwise
    mode: ComputeMode
    facts: Facts
    rows: int
    blocks: int
    after: Unfinished

    def launches(self, factoring: Factoring | None) -> Launches:
        """With scalars from products of three pieces a number, if there is a factoring of them; and what this leaves
        undone, with scalars as the formula says. Groups whose sums are not finite stay undone. There are no launches
        where registers have no room for the scalars' numbers, or memory for the weights; and none by products where it
        has none for the columns.
        """
        if not suits_weights(self.layout, self.mode) or not has_room(self.layout):
            return Launches([], {})
        fine, formula = self._by_both(factoring) if factoring is not None else (None, self._by_formula)
        scratch = {WEIGHTS: formula.weights.scratch[WEIGHTS]}
        if scratch[WEIGHTS] > MOST_SCRATCH:
            return Launches([], {})
        stages = [formula.weights.stage()]
        if fine is not None and scratch[WEIGHTS] + sum(fine.columns_scratch.values()) <= MOST_SCRATCH:
            stages += [fine.columns_stage(), replace(fine, shared=formula.weights).stage()]
            scratch |= fine.columns_scratch
        return Launches([*stages, formula.stage()], scratch)

    @property
    def _by_formula(self) -> WeightedLaunch:
        """With scalars as the formula says."""
        return self._fitted(matrix_again_box(self.rows, self.blocks, len(self.layout.pair.scalar.terms.rows)))

    def _by_both(self, factoring: Factoring) -> tuple[WeightedLaunch | None, WeightedLaunch]:
        """With scalars from products of three pieces a number, if there is room for them; and as the formula says. Both
        launches read the same weights. If only one has room for them as two pieces each, the other gets narrower tiles.
        """
        box = matrix_again_box(self.rows, self.blocks, 0, fine_steps(factoring))
        fine, formula = self._fitted(box, factoring), self._by_formula
        while fine.text.side != formula.text.side:
            narrower = fewer_columns((fine if formula.text.apart else formula).box)
            if narrower is None:
                return None, self._by_formula
            if formula.text.apart:
                fine = self._fitted(narrower, factoring)
            else:
                formula = self._fitted(narrower)
        return fine, formula

    def _fitted(self, box: MatrixWeightedBox, factoring: Factoring | None = None) -> WeightedLaunch:
        def tiling(box: MatrixWeightedBox) -> WeightedLaunch:
            return WeightedLaunch(self.layout, self.domain, self.mode, self.facts, box, self.after, factoring)

        return shrink_to_fit(box, tiling, fewer_columns, self.facts.local_memory)[1]
