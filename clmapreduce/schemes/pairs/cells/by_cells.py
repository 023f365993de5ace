"""The launches that put points in cells, and those that compute the pairs of cells that meet.

A few points of a sample become pivots, and every point belongs to the cell of the nearest one. From the balls around
pivots follows which cells of columns matter to a cell of rows. A row's pairs are computed with the columns of these
cells alone, in their usual order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

from clmapreduce.domain.dense import Pairwise
from clmapreduce.lowering.pair import Contraction, Pair, PairInput, Role
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Arguments, Facts, Stage
from clmapreduce.schemes.common.gates import gated
from clmapreduce.schemes.common.join_plans import renamed_stages
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.pairs.cells.apart import ApartPair, Rule
from clmapreduce.schemes.pairs.cells.domain import PIECE, PLACES, CellDomain
from clmapreduce.schemes.pairs.cells.gates import GATES, USED, WORTH
from clmapreduce.schemes.pairs.cells.kernels import (
    CHUNK,
    COUNT,
    CellPairsKernel,
    LabelsKernel,
    Moved,
    MovesKernel,
    PivotsKernel,
    PlacesKernel,
    Points,
    sampled_inputs,
    shared_inputs,
)
from clmapreduce.schemes.pairs.long_values import LongValues
from clmapreduce.schemes.pairs.merge import out_names
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText
from clmapreduce.schemes.pairs.problem import PairProblem
from clmapreduce.schemes.pairs.rows import Rows
from clmapreduce.schemes.pairs.scheme import RowGroup, RowScheme
from clmapreduce.schemes.pairs.tiles import Tiles

SHARE = 0.25
"""Of all pairs, that may be computed cell by cell: matrix units are about four times as fast."""
ROOM, MOST_ROOM = 16, 1 << 26
"""Places on the lists of all cells: so many for each column, and at most."""
SAMPLED = 128
"""Rows, and columns, of the sample."""
BLOCK, BLOCK_CPU = 256, 32
"""Work-items of a group."""
MOVED = 256
"""Rows that a group moves."""
PIVOTS, FACTS, COUNTS = "cell_pivots", "cell_facts", "cell_counts"
"""The pivots; what is known of every cell, eight numbers; and of every group of points how many are in each cell, with
the cell of every point behind that.
"""


@dataclass(frozen=True)
class ByCells:
    """A problem cell by cell. apart: its bounds. whole: all of its pairs."""

    layout: PairProblem
    apart: ApartPair
    whole: Pairwise
    mode: ComputeMode
    facts: Facts

    def looking_stages(self, redo: str = "", flags: int = 0) -> tuple[Stage, list[Stage]]:
        """The launch that finds pivots, and whether to go on; and those that put points in cells, and decide whether
        these are used. redo: an array of so many flags; if there is one, cells are of use only where many are set.
        """
        rows, columns = ("idx", self.whole.rows), ("idx", self.whole.columns)
        pair, rule, target, block = self.apart.pair, self.apart.rule, self._target, self._block
        points = Points(self.apart.distance, self.whole.narrow)
        text = PairText(pair, self.layout.bound, (), 1, self.whole.narrow, False)
        inputs, shared = pair.names, tuple(one.name for one in shared_inputs(pair))
        sampled = tuple(one.name for one in sampled_inputs(pair, self.apart))
        few = min(SAMPLED, block)
        pivots = PivotsKernel(target, text, self.apart, rule.value, few, points, bool(redo))
        labels = LabelsKernel(target, text, points, rule is Rule.ZERO, block)
        pairs = CellPairsKernel(target, text, self.apart, rule.value, block, self._group.rows, self._group.wide, SHARE)
        limits: Arguments = (("idx", self._room), ("idx", self._longest), ("idx", self._pieces))
        written = (PIVOTS, FACTS, GATES)
        watched = (redo,) if redo else ()
        count: Arguments = (("idx", flags),) if redo else ()
        first = Stage(
            pivots, 1, few, (*sampled, *written, *watched, rows, columns, *count), (*sampled, *watched), written
        )  # fmt: skip
        others = [
            Stage(
                labels, sum(self._chunks), block, (*inputs, PIVOTS, FACTS, GATES, COUNTS, rows, columns, *self._groups),
                (*inputs, PIVOTS), (FACTS, GATES, COUNTS),
            ),
            Stage(
                pairs, 1, block, (*shared, PIVOTS, FACTS, GATES, PLACES, rows, columns, *limits), (*shared, PIVOTS),
                (FACTS, GATES, PLACES),
            ),
        ]  # fmt: skip
        return first, gated(others, WORTH, GATES)

    def pairs_stages(self) -> list[Stage]:
        """The launches that compute the pairs of cells that meet; they do nothing where cells are not used."""
        rows, columns = ("idx", self.whole.rows), ("idx", self.whole.columns)
        block = min(COUNT, self._block)
        places = Stage(
            PlacesKernel(self._target, block), sum(self._chunks), block,
            (FACTS, COUNTS, PLACES, rows, columns, *self._groups), (FACTS, COUNTS), (PLACES,),
        )  # fmt: skip
        scheme, box = self._scheme
        names = {name: _by_cell(name) for name in out_names(self.layout.outputs)}
        pairs = renamed_stages(scheme.plan(box), names)
        there = [(one.name, _by_cell(one.name), one.dtype.itemsize, one.dim) for one in self._rows]
        back = [(_by_cell(name), name, itemsize, width) for name, itemsize, width in self._results]
        stages = [places, *([self._move(there, False)] if there else []), *pairs, self._move(back, True)]
        return gated(stages, USED, GATES)

    @property
    def scratch(self) -> dict[str, int]:
        """Bytes of the arrays between launches, by name."""
        scheme, box = self._scheme
        rows, groups, cells = self.whole.rows, sum(self._chunks), 4 * COUNT
        return {
            **scheme.plan(box).scratch,
            PIVOTS: cells * self.apart.distance.size, FACTS: 8 * cells, GATES: 12, COUNTS: (cells + CHUNK) * groups,
            PLACES: 4 * (PIECE * self._pieces + rows + self._room),
            **{_by_cell(one.name): rows * one.dim * one.dtype.itemsize for one in self._rows},
            **{_by_cell(name): rows * width * itemsize for name, itemsize, width in self._results},
        }  # fmt: skip

    # --------------------------------------------------------------------------------------------------------- sizes
    @property
    def _target(self) -> Target:
        return Target.of(self.mode, self.facts, self.whole.narrow)

    @property
    def _block(self) -> int:
        return min(BLOCK_CPU if self.facts.kind == "cpu" else BLOCK, self.facts.max_group_size)

    @property
    def _chunks(self) -> tuple[int, int]:
        """Groups that take rows, and columns."""
        return -(-self.whole.rows // CHUNK), -(-self.whole.columns // CHUNK)

    @property
    def _groups(self) -> Arguments:
        """How many take rows, and all of them."""
        return ("idx", self._chunks[0]), ("idx", sum(self._chunks))

    @property
    def _room(self) -> int:
        """Places on all lists."""
        return min(ROOM * self.whole.columns, MOST_ROOM)

    @property
    def _longest(self) -> int:
        """Columns that a row may meet: a chain of sums must not be too long."""
        return self._group.longest if self.layout.bound.smooth else self.whole.columns

    @property
    def _pieces(self) -> int:
        """Groups that compute pairs, at most."""
        return self._cells(self._group.rows).groups

    # ------------------------------------------------------------------------------------------------- what is moved
    @property
    def _rows(self) -> tuple[PairInput, ...]:
        """The inputs of rows, as they are."""
        return tuple(one for one in self.layout.pair.inputs if one.role is Role.ROW)

    @property
    def _results(self) -> list[tuple[str, int, int]]:
        """Names of results, bytes of a number, and numbers of a row."""
        outputs = self.layout.outputs
        arrays = zip(out_names(outputs), outputs, self.layout.bound.outputs, strict=True)
        expansion = self.layout.pair.expansion
        each = expansion.size if expansion is not None else 1
        return [(name, dtype.itemsize, each * prod(own.shape)) for name, dtype, own in arrays]

    def _move(self, arrays: Sequence[tuple[str, str, int, int]], back: bool) -> Stage:
        """The launch that moves rows of arrays: from where, to where, bytes of a number, numbers of a row."""
        rows, block = self.whole.rows, self._block
        moved = tuple(Moved(UNSIGNED[itemsize], width) for _, _, itemsize, width in arrays)
        names = tuple(name for one in arrays for name in one[:2])
        begin = PIECE * self._pieces
        arguments: Arguments = (PLACES, *names, ("idx", rows), ("idx", MOVED), ("idx", begin))
        spec = MovesKernel(self._target, moved, back, block)
        return Stage(spec, -(-rows // MOVED), block, arguments, (PLACES, *names[::2]), names[1::2])

    # ----------------------------------------------------------------------------------------- what computes the pairs
    @property
    def fits(self) -> bool:
        """Whether a scheme has room for what the pairs keep."""
        return self._default is not None

    @cached_property
    def _default(self) -> tuple[RowScheme[Any], Any] | None:
        """A scheme, for pieces of a single row, and its box; None where it has no room."""
        layout = replace(self.layout, pair=_with_moved_rows(self.layout.pair), wide=None, short=None)
        scheme = _kind(layout.pair)(layout, self._cells(1), self.mode, self.facts)
        box = scheme.default()
        return None if box is None else (scheme, scheme.by_differences(box))

    @cached_property
    def _scheme(self) -> tuple[RowScheme[Any], Any]:
        """The scheme, and its box."""
        assert self._default is not None
        scheme, box = self._default
        return replace(scheme, domain=self._cells(scheme.group(box).rows)), box

    @property
    def _group(self) -> RowGroup:
        """What a group takes."""
        scheme, box = self._scheme
        return scheme.group(box)

    def _cells(self, span: int) -> CellDomain:
        """The pairs of cells, cut into pieces of so many rows."""
        rows, columns = self.whole.rows, self.whole.columns
        return CellDomain(rows, columns, 1, self.whole.elements, cells=COUNT, span=span, share=SHARE / 2)


UNSIGNED = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}
"""C types by their bytes."""


def _by_cell(name: str) -> str:
    """What an array is called whose rows are in the order of their cells."""
    return f"{name}_by_cell"


def _kind(pair: Pair) -> type[RowScheme[Any]]:
    """The scheme that computes the pairs of cells."""
    if pair.expansion is not None:
        return LongValues
    return Tiles if pair.contractions else Rows


def _with_moved_rows(pair: Pair) -> Pair:
    """The pair with inputs of rows that are in the order of their cells."""
    new = {
        id(one): replace(one, name=_by_cell(one.name), by_launch=True) if one.role is Role.ROW else one
        for one in pair.inputs
    }  # fmt: skip

    def moved(loops: tuple[Contraction, ...]) -> tuple[Contraction, ...]:
        return tuple(
            replace(loop, wide=tuple((new[id(one)], symbol) for one, symbol in loop.wide)) for loop in loops
        )  # fmt: skip

    long = pair.expansion
    if long is not None:
        long = replace(long, rows=moved(long.rows), columns=moved(long.columns))
    return replace(pair, inputs=tuple(new.values()), contractions=moved(pair.contractions), expansion=long)
