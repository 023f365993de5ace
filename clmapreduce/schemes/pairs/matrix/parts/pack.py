"""The launches over either side of pairs of long vectors, before the one over all pairs: both sides are packed as
operands of matrix instructions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property

from clmapreduce.domain.dense import Pairwise
from clmapreduce.lowering.pair import Pair, Role
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Arguments, Facts, LocalArray, Stage
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.pairs.matrix.boxes import MatrixLongBox
from clmapreduce.schemes.pairs.matrix.parts.long_pairs import LongPairs
from clmapreduce.schemes.pairs.matrix.parts.operands import DEPTH, OperandPart, SideOperands
from clmapreduce.schemes.pairs.matrix.parts.products import LongProduct, long_products
from clmapreduce.schemes.pairs.parts.centred import centre_of
from clmapreduce.schemes.pairs.parts.chunks import CENTRED_AT_ONCE, Chunk
from clmapreduce.schemes.pairs.problem import PairProblem
from clmapreduce.schemes.pairs.tiles import norms_fit

OPERANDS = ("row_facts", "column_facts", "row_operands", "column_operands")
"""What the launches over either side leave."""
REDO = "redo0"
"""Which groups are to be computed again."""
ANY = "any_redo"
"""A number: whether any is. The launch over rows sets it to 0."""
ALIGNED = 16
"""Rows of an operand, which are packed together."""


def products_of(layout: PairProblem, mode: ComputeMode, facts: Facts) -> tuple[LongProduct, ...]:
    """The products that a pair is made of, where the scheme suits: work-items, an order of merging that is free,
    results that roundings move but a little, and centres that local memory holds. Else none.
    """
    bound = layout.bound
    free = bound.commutative and bound.smooth and not layout.few
    if mode is ComputeMode.SEQUENTIAL or not free:
        return ()
    products = long_products(layout.pair, bound)
    return products if all(norms_fit(product.size, facts) for product in products) else ()


@dataclass(frozen=True, eq=False)
class OperandsKernel(KernelText):
    """side: the statements of one side, which follow from the pair. tile, bounded: as in an `SideOperands`. clears: it
    sets ANY to 0.
    """

    template = "kernel/matrix/pairwise_operands"
    pair: Pair
    side: SideOperands = field(compare=False)
    side_number: int
    tile: int
    bounded: bool
    block: int
    clears: bool

    @property
    def chunk(self) -> Chunk:
        """The coordinates at hand: those of a step."""
        is_centred = any(part.centred for part in self.side.parts)
        return Chunk("float", self.block, CENTRED_AT_ONCE if is_centred else DEPTH)

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        longest = max((part.steps * DEPTH for part in self.side.parts if part.centred), default=0)
        middle = (LocalArray("middle", "float", longest),) if longest else ()
        return self.chunk.array, LocalArray("scales", "float", self.block), *middle


@dataclass(frozen=True)
class LongSides(ABC):
    """One problem cut into tiles."""

    layout: PairProblem
    products: tuple[LongProduct, ...]
    domain: Pairwise
    mode: ComputeMode
    facts: Facts
    box: MatrixLongBox

    @cached_property
    @abstractmethod
    def text(self) -> LongPairs:
        """What the launch over all pairs takes."""

    @property
    def batched(self) -> tuple[bool, bool]:
        """Whether the operands of rows, and of columns, have a part for every element of the batch."""
        return self._batch(Role.ROW) > 1, self._batch(Role.COLUMN) > 1

    def _batch(self, role: Role) -> int:
        """Elements of the batch for which one side is packed: a distance's has a centre in common with the other's."""
        variable = [one for p in self.products for one in (p.inputs if p.distance else p.side(role).inputs)]
        return self.domain.batch if any(one.rank for one in variable) else 1

    @property
    def may_give_up(self) -> bool:
        """Whether groups may be computed again by launches that look at ANY."""
        return False

    def _padded(self, side: SideOperands) -> int:
        """Rows or columns, as many as are packed."""
        count = self.domain.rows if side.role is Role.ROW else self.domain.columns
        return self.text.padded(side, count)

    @property
    def scratch(self) -> dict[str, int]:
        """Names and bytes of what the launches over either side leave."""
        batches = [self._batch(side.role) for side in self.text.sides]
        sides = [(side, self._padded(side) * batch) for side, batch in zip(self.text.sides, batches, strict=True)]
        facts = [4 * side.facts * count for side, count in sides]
        operands = [4 * side.steps * side.stage * (count // side.tile) for side, count in sides]
        sizes_of = dict(zip(OPERANDS, (*facts, *operands), strict=True)) | ({ANY: 4} if self.may_give_up else {})
        for part in self._distances():
            sizes_of[centre_of(part.number)] = 4 * part.steps * DEPTH * self.domain.batch
        return sizes_of

    def _distances(self) -> list[OperandPart]:
        """The parts of operands that have a centre."""
        return [part for part in self.text.sides[0].parts if part.centred]

    def before(self) -> list[Stage]:
        """The launches over either side."""
        return [self._side_stage(k, side) for k, side in enumerate(self.text.sides)]

    def _side_stage(self, k: int, side: SideOperands) -> Stage:
        """The launch that packs one side."""
        domain, block, padded = self.domain, self.box.block, self._padded(side)
        blocks, names = -(-padded // block), tuple(variable.name for variable in side.inputs)
        count = domain.rows if side.role is Role.ROW else domain.columns
        target = Target.of(self.mode, self.facts, domain.narrow)
        clears = (ANY,) if self.may_give_up and side.role is Role.ROW else ()
        spec = OperandsKernel(target, self.layout.pair, side, k, side.tile, side.bounded, block, bool(clears))
        centres = tuple(centre_of(part.number) for part in self._distances())
        sizes = (("idx", domain.rows), ("idx", domain.columns)) if centres else ()
        outputs = (*(centres if side.of_rows else ()), OPERANDS[k], OPERANDS[2 + k], *clears)
        arguments: Arguments = (*names, *outputs, *sizes, ("idx", count), ("idx", padded), ("idx", blocks))
        return Stage(spec, blocks * self._batch(side.role), block, arguments, names, outputs)
