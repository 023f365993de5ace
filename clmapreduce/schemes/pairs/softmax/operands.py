"""Vectors of floats of 16 bits as operands of matrix instructions, as they are: nothing is rounded or scaled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from clmapreduce.lowering.pair import PairInput
from clmapreduce.schemes.common.arrays import parameters_of
from clmapreduce.schemes.common.kernel_data import KernelText
from clmapreduce.schemes.pairs.softmax.weights import side_by_side

DEPTH = 16
"""Floats of 16 bits that one instruction takes of a row or a column."""
WORDS = 128
"""Words of a block of operands: four of every item of a warp."""


class Float(NamedTuple):
    """C text of the place of a float in its array: the vector, and the coordinate."""

    vector: str
    coordinate: str


@dataclass(frozen=True)
class Operand(ABC):
    """Arrays side by side, as vectors. of: the inputs. narrow: whether indices are ints. lines: vectors of a block.

    A block is of four words for each item of a warp: `across` and `along` are lane / 4 and lane % 4, `line` and `step`
    the numbers of the block along the vectors and along the coordinates.
    """

    of: tuple[PairInput, ...]
    narrow: bool
    lines: ClassVar[int]

    @property
    def dim(self) -> int:
        """Coordinates of a vector."""
        return sum(one.dim for one in self.of)

    @property
    def parts(self) -> list[tuple[PairInput, int]]:
        """The arrays, each with the coordinate at which it begins."""
        return side_by_side(self.of)

    @property
    @abstractmethod
    def steps(self) -> int:
        """Blocks along the coordinates."""

    @abstractmethod
    def floats(self, word: int) -> tuple[Float, Float]:
        """The two floats of one of an item's words, the lower one first."""

    def words(self, count: int) -> int:
        """Words of so many vectors."""
        return -(-count // self.lines) * self.steps * WORDS


class RowOperand(Operand):
    """Rows: 16 of them, 16 coordinates a block."""

    lines = 16

    @property
    def steps(self) -> int:
        return -(-self.dim // DEPTH)

    def floats(self, word: int) -> tuple[Float, Float]:
        row, first = f"line * 16 + across + {word % 2 * 8}", f"step * 16 + along * 2 + {word // 2 * 8}"
        return Float(row, first), Float(row, f"{first} + 1")


class ColumnOperand(Operand):
    """Columns: eight of them, twice 16 coordinates a block."""

    lines = 8

    @property
    def steps(self) -> int:
        return -(-self.dim // (2 * DEPTH))

    def floats(self, word: int) -> tuple[Float, Float]:
        column, first = "line * 8 + across", f"step * 32 + {word // 2 * 16} + along * 2 + {word % 2 * 8}"
        return Float(column, first), Float(column, f"{first} + 1")


@dataclass(frozen=True)
class WeightOperand(Operand):
    """Weights: 16 columns, twice eight numbers a block. before: columns of zeros before the first one, whole blocks."""

    before: int
    lines = 16

    @property
    def steps(self) -> int:
        return -(-self.dim // 16)

    def floats(self, word: int) -> tuple[Float, Float]:
        first, number = f"line * 16 + along * 2 + {word % 2 * 8 - self.before}", f"step * 16 + {word // 2 * 8} + across"
        return Float(first, number), Float(f"{first} + 1", number)


@dataclass(frozen=True, eq=False)
class OperandsKernel(KernelText):
    """operands: the places of those of rows, columns and weights."""

    template = "kernel/softmax/pairwise_softmax_operands"
    parameters = staticmethod(parameters_of)
    operands: tuple[Operand, Operand, Operand]
    block: int

    @property
    def inputs(self) -> list[PairInput]:
        """Every array once, in the order in which the kernel takes them."""
        return list({one.name: one for operand in self.operands for one in operand.of}.values())
