"""Launch boxes of sums of exponentials times long weights by matrix instructions; numbers only, as in boxes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from clmapreduce.schemes.pairs.matrix.boxes import MatrixBox, suited


@dataclass(frozen=True)
class MatrixWideBox(MatrixBox):
    """A MatrixBox for pairs whose value is a long vector. tile: columns of a stage, a multiple of 16. numbers: of
    every row that a group computes, in blocks of 8. chains: of these blocks that are multiplied side by side, as an
    instruction waits for the one before it in its own chain. unroll: of the loop over a stage, 16 columns a turn, where
    all blocks are. registers: of an item at most, so that more groups run at once; 0: as many as the compiler takes.
    longest: as in a WideBox. fine: 1 where groups far apart are computed again by three pieces a number, before the
    formula makes the scalars of what is left.
    """

    numbers: int = 8
    chains: int = 1
    registers: int = 0
    longest: int = 4096


def matrix_wide_box(numbers: int, steps: int, padded: Callable[[int], float] | None = None) -> MatrixWideBox:
    """The box for scalars made of products times so many numbers of the column. steps: instructions for the products of
    16 rows and 8 columns. padded: for rows in clusters, the pairs that groups of so many rows walk.
    """
    box = _wide_box(-(-numbers // 8))
    registers = box.registers + OPERAND_REGISTERS * (steps - 1)
    if box.registers:
        box = replace(box, registers=max(box.registers, next((n for n in FULL if n >= registers), FULL[-1])))
    elif steps >= MANY_STEPS:
        box = replace(box, registers=MANY_STEPS_REGISTERS)
    if padded is None:
        return box
    return replace(box, block=suited(padded, (128, 64, 32)), tile=min(box.tile, MATRIX_WIDE.tile))


OPERAND_REGISTERS, FULL = 8, (80, 96, 128)
"""Registers that the operands of two blocks of rows take for an instruction more; and the most with which six, five and
four groups run at once: with fewer the compiler spills.
"""
MANY_STEPS, MANY_STEPS_REGISTERS = 4, 168
"""Instructions from which on three groups at once are better than two without spills, for many numbers."""


def _wide_box(blocks: int) -> MatrixWideBox:
    """The same for so many blocks of 8 numbers."""
    if blocks <= len(MATRIX_WIDE_FEW):
        return MATRIX_WIDE_FEW[blocks - 1]
    if blocks > 2 * MATRIX_WIDE.numbers:  # blocks that are left over are idle
        return min(
            (replace(MATRIX_MANY, numbers=n) for n in (13, 10)), key=lambda box: -(-blocks // box.numbers) * box.numbers
        )
    numbers = -(-blocks // -(-blocks // MATRIX_WIDE.numbers))
    return replace(MATRIX_WIDE, numbers=numbers, chains=(numbers + 1) // 2)


@dataclass(frozen=True)
class RedoBox:
    """For groups of rows and numbers that are computed as the formula says. block: work-items per group. rows, numbers:
    of one item. across: items that share rows. unroll, registers: as in a MatrixWideBox, of the loop over the columns.
    tile: columns that are staged at once.
    """

    block: int
    rows: int
    numbers: int
    across: int
    unroll: int
    registers: int
    tile: int = 64


def redo_box(rows: int, numbers: int) -> RedoBox:
    """The box for groups of so many rows and numbers. Two rows an item, or reading weights would take as long as
    multiplying them.
    """
    across = -(-numbers // 32)
    each = -(-numbers // (4 * across)) * 4
    unroll, registers = next(loop for most, loop in REDO_LOOPS.items() if each <= most)
    return RedoBox(rows // 2 * across, 2, each, across, unroll, registers)


REDO_LOOPS = {16: (4, 0), 24: (2, 80), 32: (2, 128)}
"""Turns at once and registers, by the numbers of an item: of many, the sums of all tiles wait in memory."""
MATRIX_WIDE = MatrixWideBox(128, 2, 64, share=0, longest=8192)
"""With numbers that are multiplied after the others: their operands' registers leave room for two groups."""
MATRIX_WIDE_FEW = tuple(
    replace(MATRIX_WIDE, tile=tile, numbers=numbers, chains=numbers, registers=registers, unroll=unroll)
    for numbers, (tile, registers, unroll) in enumerate(
        [(96, 80, 2), (112, 96, 2), (96, 128, 2), (96, 168, 3), (96, 168, 3)], 1
    )
)
"""By blocks of 8 numbers, where all are multiplied side by side: six groups at once to three, in loops short enough for
the registers that are left.
"""
MATRIX_MANY = MatrixWideBox(128, 2, 32, share=0, numbers=13, chains=2, registers=168, longest=8192)
MATRIX_WIDE_CPU = MatrixWideBox(64, 1, 16, unroll=1, groups=8, merge_block=32, numbers=2, longest=64)
