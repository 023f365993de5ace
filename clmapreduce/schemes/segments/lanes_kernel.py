"""What kernels compute that reduce segments in vectors: masked accumulators, results of many short segments, and
elements ahead of time, for a window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from clmapreduce.dtypes import INT32, INT64, broadcast_text, c_name
from clmapreduce.formula.formula import Access, Formula, Input, Place, symbol
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Literal, Record, Symbol, components
from clmapreduce.formula.text.emit import Text
from clmapreduce.formula.text.statements import Statements
from clmapreduce.schemes.segments.segment_kernel import Computed, SegmentText

WINDOW = "window"
"""The name of the array that elements are computed into."""
VECTOR = 64
"""Bytes of the largest vector that every compiler computes with."""


@dataclass(frozen=True, eq=False)
class LanesText(SegmentText):
    """What kernels of one layout compute. lanes: of a vector, and segments of a batch. elements: the formula of what is
    reduced; of the window, where one is used.
    """

    lanes: int = 1
    elements: Formula | None = field(default=None, compare=False)

    @property
    def windowed(self) -> bool:
        return self.elements is not None

    @property
    def formula(self) -> Formula:
        return self.elements or self.layout.formula

    def place(self, at: str) -> str | Place:
        """Where the formula finds the elements from an index on: a window holds those from `window_first` on."""
        return Place(at, begin="-window_first") if self.windowed else at

    def element(self, at: str) -> Computed:
        """The formula's value at an index."""
        block = Statements(1, self.narrow)
        return Computed.of(block, block.load(self.layout.formula, at)[0])

    @property
    def numbers(self) -> str:
        """The C type of as many of them as there are lanes."""
        return c_name(self.formula.inputs[0].dtype, self.lanes)

    @property
    def gathers_lanes(self) -> bool:
        """Whether elements of the window may be computed several at once: places are int32, and vectors fit."""
        formula = self.layout.formula
        dtypes = {variable.name: variable.dtype for variable in formula.inputs}
        places = [dtypes[name] for variable in formula.inputs for name in variable.through]
        return formula.widest * self.lanes <= VECTOR and all(dtype == INT32 for dtype in places)

    @property
    def gathered(self) -> dict[str, list[tuple[str, str]]]:
        """By input that is found through places: (array, C type of a vector) on the way, the first of places first."""
        inputs = [variable for variable in self.layout.formula.inputs if variable.through]
        places = c_name(INT32, self.lanes)
        return {
            read.name: [*((name, places) for name in read.through), (read.name, c_name(read.dtype, self.lanes))]
            for read in inputs
        }

    @property
    def in_row(self) -> list[tuple[str, str]]:
        """(array, C type) of the arrays that are read in order: elements, or the places of gathered ones."""
        inputs = self.layout.formula.inputs
        places = {variable.through[0] for variable in inputs if variable.through}
        read = [variable for variable in inputs if variable.access is Access.VECTOR or variable.name in places]
        return [(variable.name, c_name(variable.dtype)) for variable in read]

    def vector(self, at: str, texts: Mapping[str, str]) -> Computed:
        """The formula's values from an index on. texts: of the inputs that are gathered."""
        formula, place, block = self.layout.formula, Place(at), Statements(self.lanes, self.narrow)
        for variable in formula.inputs:
            if variable.through and formula.uses(variable):
                block.declare(components(variable.value)[""], f"g_{variable.name}", texts[variable.name])
            elif formula.uses(variable):
                block.read(variable, place, "g_")
        block.place(formula.nodes, place.index)
        return Computed.of(block, formula.outputs[0])

    @property
    def number(self) -> str:
        """The C type of the window's elements."""
        return c_name(self.formula.inputs[0].dtype)

    def absorb_some(self, target: str, at: str, count: str, lanes: int, last: bool) -> str:
        """Sets `target` to a tile's accumulators of the values at `at`, lane by lane: of those in the first (or the
        last) `count` lanes, at most all, the identity elsewhere.
        """
        bound, block = self.layout.op.tile, Statements(lanes, self.narrow)
        identity = {c.name: Literal(c.identity, c.dtype) for c in bound.components}
        value = block.load(self.formula, self.place(at))[0]
        full = bound.absorb(Record(identity), [value], [block.index(at)])
        lane, number = cast(block.index("0"), INT32), Symbol("count", INT32)
        block.bind(number, Text(broadcast_text(INT32, count, lanes)))
        keep = lane >= lanes - number if last else lane < number
        block.assign({f"{target}_{name}": apply("where", keep, full[name], identity[name]) for name in identity})
        return str(block)

    def widen(self, target: str, acc: str, lanes: int) -> str:
        """Sets `target` to a tile's accumulator `acc` as one between tiles."""
        block = Statements(lanes, self.narrow)
        wide = self.layout.op.widened(block.record(acc, self.tile.dtypes))
        block.assign({f"{target}_{name}": wide[name] for name in self.whole.dtypes})
        return str(block)

    def results_of(self, acc: str, begins: str, lengths: str) -> Computed:
        """The results of a batch. acc: a tile's accumulators. begins, lengths: of its segments, longs (which are
        read by what `locates`) and ints.
        """
        block = Statements(self.lanes, self.narrow)
        record = block.record(acc, self.tile.dtypes)
        begin, count = block.variable(begins, INT64), block.variable(lengths, INT32)
        return Computed.of(block, self.result_of(block, self.layout.op.tile, record, Place("0"), begin, count))


def window_formula(formula: Formula) -> Formula:
    """The formula of a window's elements, which hold the values of another formula."""
    dtype = components(formula.outputs[0])[""].dtype
    value = symbol(WINDOW, dtype, varies=True)
    return Formula((Input(WINDOW, dtype, value, Access.PRIVATE),), (value,))
