"""Groups whose rows and columns are too far apart for two pieces a number, by three: the box of the launch that
computes them again, and the launch before it, which packs the columns once for all groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from clmapreduce.domain.dense import Pairwise
from clmapreduce.lowering.bilinear import Factoring
from clmapreduce.lowering.pair import Pair
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Arguments, Facts, LocalArray, Stage
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.pairs.matrix.boxes import (
    CROWDED,
    FEW_SUMS,
    FEW_TERMS,
    FINE_BLOCK,
    FINE_OPERANDS,
    FINE_TILE,
    FINE_WARPS,
    HEAVY_BLOCKS,
    MatrixBox,
    fine_pays,
)
from clmapreduce.schemes.pairs.matrix.parts.fine_halves import FineOperands, FinePieces
from clmapreduce.schemes.pairs.matrix.parts.halves import COLUMN_WORDS, ROW_WORDS

COLUMNS = "fine_columns"
FINE = (COLUMNS, "fine_far", "fine_facts")
"""Columns in three pieces, which of them these cannot represent, and the centre and the scales."""


@dataclass(frozen=True, eq=False)
class FineColumnsKernel(KernelText):
    """Packs columns, if a group gave up. matrix: the pieces, and the statements of numbers."""

    template = "kernel/matrix/pairwise_matrix_columns"
    matrix: FineOperands
    block: int

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        """Whether a group gave up; and numbers of the samples."""
        matrix = self.matrix
        each = max(len(matrix.centres.texts), 2 * len(matrix.products))
        return LocalArray("marked", "int", 1), LocalArray("sampled", "float", each * matrix.samples)


def columns_stage(
    text: FineOperands, domain: Pairwise, mode: ComputeMode, facts: Facts, block: int, groups: int, redo: str
) -> Stage:  # fmt: skip
    """The launch that packs columns in three pieces a number, by groups of `block` items, if one of so many groups has
    a mark in the array `redo`.
    """
    spec, names = FineColumnsKernel(Target.of(mode, facts, domain.narrow), text, block), text.exact.pair.names
    blocks = -(-domain.columns // block)
    sizes: Arguments = tuple(("idx", n) for n in (groups, domain.rows, domain.columns, blocks))
    return Stage(spec, blocks * domain.batch, block, (*names, *FINE, redo, *sizes), (*names, redo), FINE)


def columns_scratch(text: FineOperands, domain: Pairwise) -> dict[str, int]:
    """Bytes of what that launch leaves."""
    columns = domain.columns
    sizes = (4 * COLUMN_WORDS * text.steps * -(-columns // 8), 4 * columns, 4 * text.facts)
    return {name: size * domain.batch for name, size in zip(FINE, sizes, strict=True)}


def is_worth_it(factoring: Factoring | None, domain: Pairwise, facts: Facts) -> bool:
    """Whether groups that are far apart are better computed again by three pieces a number."""
    counts = [len(product.rows) for product in factoring.products] if factoring is not None else []
    return facts.fp64 and fine_pays(counts, domain.rows * domain.batch * domain.columns)


def is_heavy(factoring: Factoring, pair: Pair, sums: int) -> bool:
    """Whether little is left of an item's registers beside its operands. pair: what its products leave. sums: numbers
    that an operator keeps of every row.
    """
    crowded = sums > 1 and sums * fine_steps(factoring) > CROWDED
    return sums > FEW_SUMS or crowded or len(pair.terms.rows) > FEW_TERMS


def fine_box(factoring: Factoring, box: MatrixBox, facts: Facts, heavy: bool = False) -> MatrixBox | None:
    """The box for groups that gave up, with `box.fine` blocks of 16 rows per warp; None where local memory or registers
    do not hold the rows' operands, or groups would not share the rows evenly. Where items hold the operands themselves,
    fewer blocks per warp mean more warps, so that a group keeps its rows if FINE_BLOCK items suffice for them. heavy:
    see above; for half as many items the compiler has more registers each.
    """
    blocks, steps = box.fine, fine_steps(factoring)
    if not blocks or blocks > max(1, FINE_OPERANDS // steps):
        return None
    fitting = facts.local_memory // 8 * 7 // (4 * ROW_WORDS * steps)
    down, registers = box.block // 32 // box.across, facts.register_fragments
    if box.across > 1 or not registers:
        fits = box.blocks % blocks == 0 and down * (1 if registers else blocks) <= fitting
        return replace(box, share=0, blocks=blocks) if fits else None
    warps, rest = divmod(down * box.blocks, blocks)
    most = min((FINE_BLOCK // 2 if heavy else FINE_BLOCK) // 32, fitting)
    block = 32 * next((n for n in range(min(warps, most), 0, -1) if warps % n == 0), 0)
    fits = block > 0 and rest == 0
    return replace(box, share=0, block=block, blocks=blocks, tile=min(box.tile, FINE_TILE)) if fits else None


def most_fine(factoring: Factoring, box: MatrixBox, facts: Facts, heavy: bool) -> int:
    """Blocks of 16 rows per warp where groups are computed again: as many as there is room for, while groups
    have FINE_WARPS warps; 0 where there is room for none. heavy: see above.
    """
    warps = box.block // 32
    most = min(FINE_OPERANDS // fine_steps(factoring), warps * box.blocks // min(FINE_WARPS, warps))
    sizes = range(max(1, min(most, HEAVY_BLOCKS) if heavy else most), 0, -1)
    return next((n for n in sizes if fine_box(factoring, replace(box, fine=n), facts, heavy) is not None), 0)


def fine_steps(factoring: Factoring) -> int:
    """Instructions for all products of 16 rows and 8 columns."""
    return sum(FinePieces(len(product.rows)).steps for product in factoring.products)
