"""Pairs of long vectors by matrix instructions: both sides are packed as operands once, then groups walk tiles of pairs
as in a matrix product, and fold what comes out of it where it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from clmapreduce.domain.pairwise import Pairwise
from clmapreduce.domain.sparse import BlockSparse, Cut
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Arguments, Facts, Plan, Stage
from clmapreduce.schemes.common import kernel_spec
from clmapreduce.schemes.long_products import LongProduct, long_product
from clmapreduce.schemes.matrix_long_text import LONGEST, MatrixLongText
from clmapreduce.schemes.operand_text import DEPTH, OperandText
from clmapreduce.schemes.pair_domain import Spread, spread_blocks, spread_dense
from clmapreduce.schemes.pair_text import PairText
from clmapreduce.schemes.pairwise import LONGEST_CHAIN, PairLayout, cut_columns, targets_of, with_merge
from clmapreduce.schemes.pairwise_tiles import norms_stage
from clmapreduce.schemes.tile_norms import NORMS, Distance
from clmapreduce.tuning_matrix import MatrixLongBox
from clmapreduce.vector.pair import Role

OPERANDS = ("row_facts", "column_facts", "row_operands", "column_operands")
"""What the launches over either side leave."""
ALIGNED = 16
"""Rows of an operand, which are packed together."""


def product_of(layout: PairLayout, mode: ComputeMode, facts: Facts) -> LongProduct | None:
    """The product that a pair is made of, where the scheme suits: work-items, an order of merging that is free, results
    that roundings move but a little, and a centre that local memory holds.
    """
    bound = layout.bound
    free = bound.commutative and bound.smooth and not layout.few
    if mode is ComputeMode.SEQUENTIAL or not free:
        return None
    found = long_product(layout.pair, bound)
    return found if found is not None and 4 * (found.size + DEPTH) <= facts.local_memory else None


@dataclass(frozen=True)
class _Tiling:
    """One problem cut into tiles."""

    layout: PairLayout
    product: LongProduct
    domain: Pairwise
    mode: ComputeMode
    facts: Facts
    box: MatrixLongBox

    @cached_property
    def text(self) -> MatrixLongText:
        layout = self.layout
        pairs = PairText(layout.pair, layout.bound, layout.outputs, 1, self.domain.narrow, False)
        batched = (self._batch(Role.ROW) > 1, self._batch(Role.COLUMN) > 1)
        scattered = isinstance(self.domain, BlockSparse)
        return MatrixLongText(pairs, self.product, self.box, batched, self.facts.local_memory, scattered)

    def _batch(self, role: Role) -> int:
        """Elements of the batch for which one side is packed: a distance's has a centre in common with the other's."""
        row, column = self.product.row, self.product.column
        own = row if role is Role.ROW else column
        other = column if role is Role.ROW else row
        return self.domain.batch if own.rank or (self.product.distance and other.rank) else 1

    @cached_property
    def spread(self) -> Spread:
        """How the domain is cut."""
        box, rows = self.box, self.text.rows
        groups, blocks = self.facts.compute_units * box.groups, -(-self.domain.rows // rows)
        if isinstance(self.domain, BlockSparse):
            least, most, parts = box.tile * box.tiles, box.tile * LONGEST_CHAIN, self.domain.parts()
            cut = Cut(rows, 1, box.tile, least, most, groups, parts, self.layout.backend, aligned=ALIGNED)
            return spread_blocks(self.domain, cut)
        splits, share = cut_columns(self.layout.backend, self.domain, blocks, groups, box.tile, box.tiles)
        return spread_dense(self.domain, blocks, splits, share, self.facts.compute_units)

    def _padded(self, side: OperandText) -> int:
        """Rows or columns, as many as are packed."""
        count = self.domain.rows if side.given.role is Role.ROW else self.domain.columns
        return self.text.padded(side, count)

    @property
    def scratch(self) -> dict[str, int]:
        """Names and bytes of what the sides' launches leave."""
        batches = [self._batch(side.given.role) for side in self.text.sides]
        sides = [(side, self._padded(side) * batch) for side, batch in zip(self.text.sides, batches, strict=True)]
        facts = [4 * side.facts * count for side, count in sides]
        operands = [4 * side.steps * side.stage * (count // side.tile) for side, count in sides]
        found = dict(zip(OPERANDS, (*facts, *operands), strict=True))
        if self.product.distance:
            sizes = (self.text.steps * DEPTH, self.domain.rows, self.domain.columns)
            found |= {name: 4 * size * self.domain.batch for name, size in zip(NORMS, sizes, strict=True)}
        return found

    def before(self) -> list[Stage]:
        """The launches over either side."""
        row, column = self.product.row, self.product.column
        stages = [self._side_stage(k, side) for k, side in enumerate(self.text.sides)]
        if not self.product.distance:
            return stages
        found, padded = Distance(row, column), self.text.steps * DEPTH
        pair, domain, block = self.layout.pair, self.domain, self.box.block
        return [norms_stage(pair, found, domain, self.mode, self.facts, block, padded), *stages]

    def _side_stage(self, k: int, side: OperandText) -> Stage:
        """The launch that packs one side."""
        domain, block, padded = self.domain, self.box.block, self._padded(side)
        blocks, name = -(-padded // block), side.given.name
        count = domain.rows if side.given.role is Role.ROW else domain.columns
        spec = kernel_spec(
            "pairwise_operands", self.mode, self.facts, domain.narrow, False,
            {"block": block, "tile": side.tile, "centred": side.centred}, {"given": side.given}, lambda: {"side": side},
        )  # fmt: skip
        read = (name, *((NORMS[0], NORMS[1 + k]) if side.centred else ()))
        written = (OPERANDS[k], OPERANDS[2 + k])
        arguments: Arguments = (*read, *written, ("idx", count), ("idx", padded), ("idx", blocks))
        return Stage(spec, blocks * self._batch(side.given.role), block, arguments, read, written)

    def stage(self) -> Stage:
        """The launch over all pairs."""
        layout, box, spread, text = self.layout, self.box, self.spread, self.text
        targets, out = targets_of(spread, layout.outputs)
        numbers = {
            "block": box.block, "rows_taken": box.rows, "columns_taken": box.columns, "tile": box.tile,
            "batched": text.batched, "parked": text.parked, "partial": spread.partial, "domain": spread.word,
        }  # fmt: skip
        spec = kernel_spec(
            "pairwise_matrix_long", self.mode, self.facts, self.domain.narrow, False, numbers,
            {"pair": layout.pair, "bound": layout.bound},
            lambda: {"matrix": text, "parameters": [*text.pairs.parameters(), *text.parameters(), *out]},
        )  # fmt: skip
        names = (*(given.name for given in layout.pair.inputs), *OPERANDS)
        arguments: Arguments = (*names, *targets, *spread.behind)
        groups = spread.groups * self.domain.batch
        return Stage(spec, groups, box.block, arguments, (*names, *spread.read), targets)


def plan_matrix_long(
    layout: PairLayout, domain: Pairwise, mode: ComputeMode, facts: Facts, box: MatrixLongBox
) -> Plan:  # fmt: skip
    """The plan of one result per row; needs at least one row, one column and a product. Warps are as broad as the box
    says, or as registers and local memory allow.
    """
    product = product_of(layout, mode, facts)
    assert product is not None
    tiling = _Tiling(layout, product, domain, mode, facts, box)
    if tiling.text.steps > LONGEST and box.rows * box.columns > 16:  # two sums per pair
        box = replace(box, columns=16 // box.rows)
        tiling = _Tiling(layout, product, domain, mode, facts, box)
    while box.rows * box.columns > 1 and tiling.text.least_memory > facts.local_memory:
        columns = max(1, box.columns // 2)
        box = replace(box, columns=columns, rows=box.rows if columns < box.columns else box.rows // 2)
        tiling = _Tiling(layout, product, domain, mode, facts, box)
    text, spread = tiling.text, tiling.spread
    cells = f"tiles of {text.rows} rows and {box.tile} columns by matrix instructions"
    if product.distance:
        cells += ", distances by differences where they lost digits"
    stages = [*tiling.before(), tiling.stage()]
    why = f"{spread.why}; {cells}"
    return with_merge(stages, tiling.scratch, text.pairs, domain, mode, facts, box, spread, why)
