"""What the kernel computes in which a team of work-items streams a chunk: tiles of 16 elements per item. Where elements
are several numbers, that of one `column`.

A tile is read striped, four neighbouring elements per item and load, and turned in local memory into sixteen
neighbouring ones per item (`cl_templates/team`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clmapreduce.dtypes import FLOAT32, c_name
from clmapreduce.formula.formula import Input, Place
from clmapreduce.formula.node import components
from clmapreduce.formula.text.loads import place_through
from clmapreduce.formula.text.statements import Statements
from clmapreduce.plan import LocalArray
from clmapreduce.reductions.sum import BoundSum
from clmapreduce.schemes.common.local_arrays import accumulators
from clmapreduce.schemes.segments.segment_kernel import Computed, SegmentText

TEAM = 32
"""Work-items of a team, a group of their own."""


@dataclass(frozen=True, eq=False)
class TeamText(SegmentText):
    """What kernels of one layout compute."""

    @property
    def raw(self) -> list[tuple[str, str]]:
        """(array, C type) of what a tile loads early: elements, or the places of gathered ones."""
        types = {}
        for variable in self._used:
            first = self._array(variable.through[0]) if variable.through else variable
            types[first.name] = c_name(first.dtype)
        return list(types.items())

    def local_arrays(self, warp: bool, strips: int = 1) -> tuple[LocalArray, ...]:
        """What a team shares. warp: whether it can pass registers. strips: a tile of neighbours for each of so many
        items' strides, 0 where they stay in registers.
        """
        op, tile, arrays = self.layout.op, 16 * TEAM, list[LocalArray]()
        if strips:
            for part, kind in self.tile.parts:
                arrays.append(LocalArray(f"stage_{part}", kind, tile + tile // 4, aligned=True))
                arrays.append(LocalArray(f"before_{part}", kind, strips * TEAM))
        if not warp:
            arrays.append(LocalArray("ballots", "uint", TEAM))
            arrays += accumulators(op.tile, (strips or 1) * TEAM, "scan")
        return (*arrays, *accumulators(op.whole, TEAM, "team"))

    @property
    def sources(self) -> list[tuple[Input, str]]:
        """(input, C type) of what elements are computed from."""
        return [(source, c_name(source.dtype)) for source in self._used]

    @property
    def _used(self) -> list[Input]:
        return [variable for variable in self.layout.formula.inputs if self.layout.formula.uses(variable)]

    def _array(self, name: str) -> Input:
        return next(variable for variable in self.layout.formula.inputs if variable.name == name)

    def place_of(self, source: Input, first: str) -> str:
        """The place of a gathered element. first: what the first array of places holds."""
        place = place_through(source, first)
        return f"({place}) * columns + column" if source.trailing and self.columned else place

    def lift_four(self, acc: str, at: str, texts: Mapping[str, str]) -> str:
        """Sets `acc` to the accumulators of four neighbouring elements, the first of which is `at`. texts: of what the
        four are computed from, by input.
        """
        block, formula = Statements(4, self.narrow), self.layout.formula.instance()
        for source in formula.inputs:
            if source.name in texts:
                block.declare(components(source.value)[""], f"e_{source.name}", texts[source.name])
        block.place(formula.nodes, at)
        return self._single(block, formula.outputs[0], at, acc)

    def lift(self, acc: str, at: str) -> str:
        """Sets `acc` to the accumulator of the element `at`."""
        block, place = Statements(1, self.narrow), Place(at, column="column" if self.columned else "")
        return self._single(block, block.load(self.layout.formula, place)[0], at, acc)

    def _single(self, block: Statements, value: object, at: str, acc: str) -> str:
        single = self.layout.op.tile.single(value, block.index(at))  # type: ignore[arg-type]
        block.assign({f"{acc}_{name}": single[name] for name in self.tile.dtypes})
        return str(block)

    @property
    def adds_floats(self) -> bool:
        """Whether a tile's accumulators are float32 sums: the vocabulary then merges where a condition holds."""
        tile = self.layout.op.tile
        return isinstance(tile, BoundSum) and tile.components[0].dtype == FLOAT32

    def widened(self, acc: str, prefix: str) -> Computed:
        """A tile's accumulator as one between tiles. prefix: of the variables that this takes."""
        block = Statements(1, self.narrow, prefix)
        return Computed.of(block, self.layout.op.widened(block.record(acc, self.tile.dtypes)))

    def narrowed(self, acc: str, prefix: str) -> Computed:
        """An accumulator between tiles as one of a tile."""
        block = Statements(1, self.narrow, prefix)
        return Computed.of(block, self.layout.op.narrowed(block.record(acc, self.whole.dtypes)))
