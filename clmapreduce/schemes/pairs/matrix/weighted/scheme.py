"""Sums of scalars times long weights, the products by matrix instructions and the scalars as the formula says, whatever
it is.
"""

from __future__ import annotations

from typing import ClassVar

from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Plan, where_marked
from clmapreduce.schemes.common.local_arrays import shrink_to_fit
from clmapreduce.schemes.pairs.fallback import Launches
from clmapreduce.schemes.pairs.matrix.boxes import MatrixWeightedBox, matrix_weighted_box
from clmapreduce.schemes.pairs.matrix.parts.pack import ALIGNED, REDO
from clmapreduce.schemes.pairs.matrix.scheme import MatrixScheme
from clmapreduce.schemes.pairs.matrix.weighted.launch import WeightedLaunch, fewer_columns, has_room, suits_weights
from clmapreduce.schemes.pairs.parts.pair_formulas import tested_of
from clmapreduce.schemes.pairs.parts.value_blocks import flat
from clmapreduce.schemes.pairs.scheme import GROUPS

SHORTEST = 13
"""Numbers of a vector that is better taken as a long one."""


class Weighted(MatrixScheme[MatrixWeightedBox]):
    """Scalars of any formula, times long weights. The layout's operator is that of a single number, a plain sum in the
    values' own dtype.
    """

    box_type = MatrixWeightedBox
    limits: ClassVar = {ComputeMode.PARALLEL: {**GROUPS, "rows": (1, 4), "columns": (2, 8), "chains": (1, 8)}}

    @property
    def suits(self) -> bool:
        return suits_weights(self.long_form, self.mode)

    @property
    def pays(self) -> bool:
        expansion = self.long_form.pair.expansion
        return expansion is not None and expansion.size >= SHORTEST

    @property
    def box(self) -> MatrixWeightedBox | None:
        """None as well where registers and local memory have no room for the scalars' numbers."""
        expansion = self.long_form.pair.expansion
        if expansion is None or not self.suits:
            return None
        scalar, padded = self.long_form.pair.scalar, self.domain.padded(ALIGNED)
        if not has_room(self.long_form):
            return None
        return matrix_weighted_box(expansion.size, len(scalar.terms.rows), padded, bool(tested_of(scalar)))

    def fits(self, box: MatrixWeightedBox) -> bool:
        return super().fits(box) and box.block // 32 % box.across == 0

    def plan(self, box: MatrixWeightedBox) -> Plan:
        """Tiles are as broad as the box says, or as local memory allows."""
        box, tiling = shrink_to_fit(box, self._tiling, fewer_columns, self.facts.local_memory)
        weights = tiling.weights
        partition = weights.partition
        stages = [weights.stage(), tiling.stage(), *where_marked([weights.redo_stage()], REDO)]
        why = f"{partition.why}; {tiling.text.cells}, {box.tile} columns at once, by matrix instructions"
        numbers = flat(self.domain, tiling.text.size)
        return self.with_merge(Launches(stages, weights.scratch), tiling.text.wide, box, partition, why, numbers)

    def _tiling(self, box: MatrixWeightedBox) -> WeightedLaunch:
        return WeightedLaunch(self.long_form, self.domain, self.mode, self.facts, box)
