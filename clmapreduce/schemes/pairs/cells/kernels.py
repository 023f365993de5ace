"""The kernels that put points in cells, and find which cells meet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from clmapreduce.formula.text.emit import Text
from clmapreduce.formula.text.statements import Statements
from clmapreduce.lowering.pair import Pair, PairInput, Role
from clmapreduce.plan import LocalArray
from clmapreduce.reductions.extremum import BoundExtremum
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.arrays import parameters_of
from clmapreduce.schemes.common.kernel_data import KernelText
from clmapreduce.schemes.pairs.cells.apart import LIMIT, ApartPair
from clmapreduce.schemes.pairs.matrix.parts.products import LongProduct
from clmapreduce.schemes.pairs.parts.computed import Computed, Several
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText
from clmapreduce.schemes.pairs.parts.sides import Side

COUNT = 64
"""Cells of rows, and of columns; a word of 64 bits tells which ones meet."""
CHUNK = 256
"""Points of a group whose places are counted one after the other."""
MARGIN = 1e-3
"""What distances may be off by, as a share of themselves, in formulas that round, and here."""
NEGLIGIBLE = 150.0
"""Exponents to base 2 that are so much smaller than the greatest one change no sum of float32."""
TOGETHER = 16
"""Pivots from which distances are computed side by side."""
WIDE_APART = 3
"""Cells are of use where the sample reaches so many times as far as its cells: bounds of distances are off by the radii
of both.
"""
HIGHEST = BoundExtremum(np.dtype(np.uint32), "maximum")


@dataclass(frozen=True, eq=False)
class Points:
    """Rows and columns as points of one space, between which the distance is the formula's."""

    distance: LongProduct
    narrow: bool

    @property
    def row(self) -> Side:
        return self.distance.row

    @property
    def column(self) -> Side:
        return self.distance.column

    @property
    def size(self) -> int:
        """Coordinates."""
        return self.distance.size

    @property
    def inputs(self) -> tuple[PairInput, ...]:
        """What is read."""
        return self.distance.inputs

    def number(self, side: Side, at: str, d: str) -> Computed:
        """Coordinate d of a point."""
        statements, text = side.at(at, d, self.narrow)
        if self.distance.metric is None:
            return Computed(statements, text)
        more, factor = self.distance.metric.at(at, d, self.narrow, "f")
        return Computed(f"{statements} {more}", f"{text} * {factor}")


@dataclass(frozen=True, eq=False)
class BoundsKernel(KernelText):
    """A kernel that asks between which numbers values lie. pairs: the statements of the pair's terms. apart: the bounds
    of its values, which follow from the pair and the rule.
    """

    parameters = staticmethod(parameters_of)
    pairs: PairText
    apart: ApartPair = field(compare=False)
    rule: str
    block: int
    count: ClassVar[int] = COUNT
    negligible: ClassVar[float] = NEGLIGIBLE

    @property
    def size(self) -> int:
        """Coordinates."""
        return self.apart.distance.size

    @property
    def bounds(self) -> Several:
        """The least and the greatest of every value, between squared distances."""
        block = Statements(1, self.narrow, "bound_")
        for symbol, name in ((self.apart.least, "least_square"), (self.apart.greatest, "greatest_square")):
            block.bind(symbol, Text(name))
        for k, node in enumerate(self.pairs.pair.terms.uniform):
            block.bind(node, Text(f"u{k}"))
        texts = [block.text(end).c for interval in self.apart.bounds for end in interval]
        return Several(str(block), texts)


@dataclass(frozen=True, eq=False)
class PivotsKernel(BoundsKernel):
    """points: the statements of coordinates, which follow from the pair. watching: whether to go on only where another
    launch gave up.
    """

    template = "kernel/cells/cell_pivots"
    points: Points = field(compare=False)
    watching: bool
    wide_apart: ClassVar[int] = WIDE_APART

    @property
    def inputs(self) -> tuple[PairInput, ...]:
        """What points are made of, and what is neither row nor column."""
        return sampled_inputs(self.pairs.pair, self.apart)

    @property
    def highest(self) -> OperatorText:
        """The operator that finds the farthest point."""
        return OperatorText(HIGHEST, self.narrow)

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        warps = self.block // self.target.subgroup
        count = (LocalArray("unfinished", "int", 1),) if self.watching else ()
        return (LocalArray("pivot", "float", self.size), LocalArray("farthest", "uint", 2 * warps), *count)


@dataclass(frozen=True, eq=False)
class LabelsKernel(KernelText):
    """pairs: the statements of the pair's terms. points: those of coordinates, which follow from the pair. limited:
    whether terms must not be too large.
    """

    template = "kernel/cells/cell_labels"
    pairs: PairText
    points: Points = field(compare=False)
    limited: bool
    block: int
    count: ClassVar[int] = COUNT
    chunk: ClassVar[int] = CHUNK
    together: ClassVar[int] = TOGETHER
    limit: ClassVar[str] = f"{LIMIT}f"

    @property
    def long_column(self) -> Several | None:
        """What the column at `at` gives a long value at number d; None where there is none."""
        return self.pairs.long_column(0, "at", "d") if self.pairs.pair.expansion is not None else None

    @property
    def long_row(self) -> Several | None:
        """The same of a row."""
        return self.pairs.long_row(0, ["at"], "d") if self.pairs.pair.expansion is not None else None

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return (LocalArray("numbers", "int", COUNT), LocalArray("largest", "int", COUNT))


@dataclass(frozen=True, eq=False)
class CellPairsKernel(BoundsKernel):
    """span: rows of a piece; wide: of them side by side. share: of all pairs that may be computed by cells."""

    template = "kernel/cells/cell_pairs"
    span: int
    wide: int
    share: float
    margin: ClassVar[float] = MARGIN

    @property
    def inputs(self) -> tuple[PairInput, ...]:
        """What is neither row nor column."""
        return shared_inputs(self.pairs.pair)

    @property
    def kept(self) -> int:
        """Columns of a cell from which on their worst value is a bar."""
        return self.apart.kept

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return (
            LocalArray("between", "float", COUNT * COUNT), LocalArray("lengths", "idx", COUNT),
            LocalArray("firsts", "idx", COUNT), LocalArray("chosen", "int", 1),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class PlacesKernel(KernelText):
    template = "kernel/cells/cell_places"
    block: int
    count: ClassVar[int] = COUNT
    chunk: ClassVar[int] = CHUNK

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return (LocalArray("label", "uchar", CHUNK), LocalArray("before", "uint", COUNT))


class Moved(NamedTuple):
    """An array whose rows are moved: the unsigned C type of its numbers, and how many a row has."""

    type: str
    width: int


@dataclass(frozen=True, eq=False)
class MovesKernel(KernelText):
    """moved: the arrays. back: from the order of cells to the usual one."""

    template = "kernel/cells/cell_moves"
    moved: tuple[Moved, ...]
    back: bool
    block: int


def sampled_inputs(pair: Pair, apart: ApartPair) -> tuple[PairInput, ...]:
    """The inputs that points are made of, and those of neither rows nor columns."""
    points = {id(one) for one in apart.distance.inputs}
    return tuple(one for one in pair.inputs if id(one) in points or one.role is Role.PARAMETER)


def shared_inputs(pair: Pair) -> tuple[PairInput, ...]:
    """The inputs of neither rows nor columns."""
    return tuple(one for one in pair.inputs if one.role is Role.PARAMETER)
