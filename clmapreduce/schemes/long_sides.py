"""The launches over either side of pairs of long vectors, before the one over all pairs: both sides are packed as
operands of matrix instructions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

from clmapreduce.domain.pairwise import Pairwise
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Arguments, Facts, Stage
from clmapreduce.schemes.common import kernel_spec
from clmapreduce.schemes.long_pairs_text import LongPairsText
from clmapreduce.schemes.long_products import LongProduct, long_product
from clmapreduce.schemes.operand_text import DEPTH, OperandText
from clmapreduce.schemes.pairwise import PairLayout
from clmapreduce.schemes.pairwise_tiles import norms_stage
from clmapreduce.schemes.tile_norms import NORMS, NormsText
from clmapreduce.tuning_matrix import MatrixLongBox
from clmapreduce.vector.pair import Role

OPERANDS = ("row_facts", "column_facts", "row_operands", "column_operands")
"""What the launches over either side leave."""
REDO = "redo0"
"""Which groups are to be computed anew."""
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
class LongSides(ABC):
    """One problem cut into tiles."""

    layout: PairLayout
    product: LongProduct
    domain: Pairwise
    mode: ComputeMode
    facts: Facts
    box: MatrixLongBox

    @cached_property
    @abstractmethod
    def text(self) -> LongPairsText:
        """The statements of the launch over all pairs."""

    @property
    def batched(self) -> tuple[bool, bool]:
        """Whether the operands of rows, and of columns, have a part for every element of the batch."""
        return self._batch(Role.ROW) > 1, self._batch(Role.COLUMN) > 1

    def _batch(self, role: Role) -> int:
        """Elements of the batch for which one side is packed: a distance's has a centre in common with the other's."""
        product = self.product
        own = product.row if role is Role.ROW else product.column
        batched = any(given.rank for given in product.inputs) if product.distance else own.batched
        return self.domain.batch if batched else 1

    def _padded(self, side: OperandText) -> int:
        """Rows or columns, as many as are packed."""
        count = self.domain.rows if side.side.role is Role.ROW else self.domain.columns
        return self.text.padded(side, count)

    @property
    def scratch(self) -> dict[str, int]:
        """Names and bytes of what the sides' launches leave."""
        batches = [self._batch(side.side.role) for side in self.text.sides]
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
        stages = [self._side_stage(k, side) for k, side in enumerate(self.text.sides)]
        if not self.product.distance:
            return stages
        product, domain, padded = self.product, self.domain, self.text.steps * DEPTH
        norms = NormsText(product.row, product.column, product.metric, product.inputs, domain.narrow)
        stage = norms_stage(self.layout.pair, norms, domain, self.mode, self.facts, self.box.block, padded)
        return [stage, *stages]

    def _side_stage(self, k: int, side: OperandText) -> Stage:
        """The launch that packs one side."""
        domain, block, padded = self.domain, self.box.block, self._padded(side)
        blocks, names = -(-padded // block), tuple(given.name for given in side.inputs)
        count = domain.rows if side.side.role is Role.ROW else domain.columns
        spec = kernel_spec(
            "pairwise_operands", self.mode, self.facts, domain.narrow, False,
            {"block": block, "tile": side.tile, "side_number": k}, {"pair": self.layout.pair}, lambda: {"side": side},
        )  # fmt: skip
        read = (*names, *((NORMS[0], NORMS[1 + k]) if side.centred else ()))
        written = (OPERANDS[k], OPERANDS[2 + k])
        arguments: Arguments = (*read, *written, ("idx", count), ("idx", padded), ("idx", blocks))
        return Stage(spec, blocks * self._batch(side.side.role), block, arguments, read, written)
