"""The statements of kernels that reduce segments in vectors: masked accumulators, the tree that turns those of many
short segments into one vector of results, and elements computed ahead into a window.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clmapreduce.dtypes import INT32, INT64, broadcast_text, c_name
from clmapreduce.formula.emit import Text
from clmapreduce.formula.formula import Access, Formula, Input, Place, symbol
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Literal, Record, Symbol, components
from clmapreduce.formula.statements import Statements
from clmapreduce.schemes.common.kernel import store_text
from clmapreduce.schemes.segments.statements import SegmentText

WINDOW = "window"
"""The name of the array that elements are computed into."""
VECTOR = 64
"""Bytes of the largest vector that every compiler computes with."""


@dataclass(frozen=True, eq=False)
class LanesText(SegmentText):
    """The statements for one layout. lanes: of a vector, and segments of a batch. elements: the formula of what is
    reduced; of the window, where one is used.
    """

    lanes: int = 1
    elements: Formula | None = None

    @property
    def windowed(self) -> bool:
        return self.elements is not None

    @property
    def formula(self) -> Formula:
        return self.elements or self.layout.formula

    def place(self, at: str) -> str | Place:
        """Where the formula finds the elements from an index on: a window holds those from `held` on."""
        return Place(at, begin="-held") if self.windowed else at

    def computed(self, at: str) -> str:
        """Sets the window's element t to the formula's value at an index."""
        block = Statements(1, self.narrow)
        texts = block.texts(block.load(self.layout.formula, at)[0])
        block.add(f"{WINDOW}[t] = {texts['']};")
        return _braces(block)

    @property
    def numbers(self) -> str:
        """The C type of as many of them as there are lanes."""
        return c_name(self.formula.inputs[0].dtype, self.lanes)

    @property
    def gathers_lanes(self) -> bool:
        """Whether elements of the window may be computed several at once: places are int32, and vectors fit."""
        formula = self.layout.formula
        dtypes = {given.name: given.dtype for given in formula.inputs}
        places = [dtypes[name] for given in formula.inputs for name in given.through]
        return formula.widest * self.lanes <= VECTOR and all(dtype == INT32 for dtype in places)

    def computed_lanes(self, at: str) -> str:
        """Sets elements of the window, as many as there are lanes from t on, to the formula's values from an index."""
        formula, place, block = self.layout.formula, Place(at), Statements(self.lanes, self.narrow)
        for given in formula.inputs:
            if given.through and formula.uses(given):
                node = components(given.value)[""]
                block.declare(node, f"g_{given.name}", self._gathered(given, place))
            elif formula.uses(given):
                block.read(given, place, "g_")
        block.place(formula.nodes, place.index)
        block.add(f"*({self.numbers}_at *)({WINDOW} + t) = {block.texts(formula.outputs[0])['']};")
        return _braces(block)

    def _gathered(self, given: Input, at: Place) -> str:
        """The text of elements that are found through places."""
        first, *others = given.through
        places = f"CMR_LOAD({c_name(INT32, self.lanes)}, {first} + {at.element})"
        for name, dtype in [*((name, INT32) for name in others), (given.name, given.dtype)]:
            last = f"(int){name}_last" if self.narrow else f"(int)CMR_MIN({name}_last, (idx){np.iinfo(np.int32).max})"
            within = f"cmr_within_{c_name(INT32, self.lanes)}({places}, {last})"
            places = f"cmr_gather_{c_name(dtype, self.lanes)}({name}, {within})"
        return places

    def along(self, at: str) -> str:
        """Whether the places that an index and the next ones lead to lie side by side."""
        first = next(given.through[0] for given in self.layout.formula.inputs if given.through)
        kind = c_name(INT32, self.lanes)
        return f"cmr_along_{kind}(CMR_LOAD({kind}, {first} + {at}))"

    def ahead(self, at: str) -> str:
        """Asks for what is read in a row, at a place."""
        inputs = self.layout.formula.inputs
        places = {given.through[0] for given in inputs if given.through}
        read = [given for given in inputs if given.access is Access.VECTOR or given.name in places]
        return "{ " + " ".join(f"cmr_ahead_{c_name(given.dtype)}({given.name} + {at});" for given in read) + " }"

    @property
    def number(self) -> str:
        """The C type of the window's elements."""
        return c_name(self.formula.inputs[0].dtype)

    def masked(self, target: str, at: str, count: str, lanes: int, last: bool = False) -> str:
        """Declares `target` as a tile's accumulators of the values at `at`, lane by lane: of those in the first (or the
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
        return self.tile.declare(target, lanes) + _braces(block)

    def batch(self, target: str, width: int, begin: str, length: str) -> str:
        """Sets `target` to the tile's accumulators of as many segments as there are lanes, of their first `width`
        elements at most.

        begin, length: texts of a segment's first element and length, with {} for its digit. No branch
        depends on a length: elements beyond a segment's end are masked, and pairs of lanes are merged until one lane
        per segment is left.
        """
        lines: list[str] = []
        together = max(1, self.lanes // width)

        def leaf(name: str, a: int) -> None:
            narrow = min(width, self.lanes)
            parts = [name if together == 1 else f"{name}p{k}" for k in range(together)]
            for k, part in enumerate(parts):
                digit = f"{a * together + k:x}"
                at, count = begin.format(digit), length.format(digit)
                lines.append(self.masked(part, at, count, narrow))
                for begun in range(narrow, width, narrow):
                    lines.append(self.masked(f"{part}m{begun}", f"{at} + {begun}", f"{count} - {begun}", narrow))
                    lines.append(self.tile.merge(part, part, f"{part}m{begun}", narrow))
            if together > 1:
                lines.append(self.tile.joined(name, parts, self.lanes))

        def tree(low: int, high: int) -> str:  # depth first, so that few vectors are alive
            name = f"t{low}_{high}"
            if high - low == 1:
                leaf(name, low)
            else:
                middle = (low + high) // 2
                lines.append(self.tile.paired(name, tree(low, middle), tree(middle, high), self.lanes))
            return name

        root = tree(0, self.lanes // together)
        return "{\n" + "\n".join([*lines, self.tile.assign(target, root)]) + "\n}"

    def widened(self, target: str, acc: str, lanes: int = 1) -> str:
        """Declares `target` as a tile's accumulator `acc` as one between tiles."""
        block = Statements(lanes, self.narrow)
        wide = self.layout.op.widened(block.record(acc, self.tile.dtypes))
        block.assign({f"{target}_{name}": wide[name] for name in self.whole.dtypes})
        return self.whole.declare(target, lanes) + _braces(block)

    def store_batch(self, acc: str, segment: str, begins: str, lengths: str) -> str:
        """Stores the results of a batch. acc: a tile's accumulators. begins, lengths: of its segments, longs (which are
        read by what `locates`) and ints.
        """
        block = Statements(self.lanes, self.narrow)
        record = block.record(acc, self.tile.dtypes)
        begin, count = block.variable(begins, INT64), block.variable(lengths, INT32)
        value = self.result(block, self.layout.op.tile, record, Place("0"), begin, count)
        block.add(store_text(0, self.layout.stored, block.texts(value), segment, self.lanes, False))
        return _braces(block)


def window_formula(formula: Formula) -> Formula:
    """The formula of a window's elements, which hold the values of another formula."""
    dtype = components(formula.outputs[0])[""].dtype
    value = symbol(WINDOW, dtype, varies=True)
    return Formula((Input(WINDOW, dtype, value, Access.PRIVATE),), (value,))


def _braces(block: Statements) -> str:
    return "{\n" + str(block) + "\n}"
