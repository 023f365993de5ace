"""The statements of the kernel in which a team of work-items streams a chunk: tiles of 16 elements per item. Where
elements are several numbers, that of one `column`.

A tile is read striped, four neighbouring elements per item and load, and turned in local memory into sixteen
neighbouring ones per item. `u0` … `u3` are accumulators of four lanes, `v0` … `v15` of one.
"""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.dtypes import FLOAT32, c_name
from clmapreduce.formula.formula import Input, Place, place_through
from clmapreduce.formula.node import components
from clmapreduce.formula.statements import Statements
from clmapreduce.reductions.sum import BoundSum
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.segments.statements import SegmentText

TEAM = 32
"""Work-items of a team, a group of their own."""
QUADS = 4
"""Loads of four elements per item and tile."""


@dataclass(frozen=True, eq=False)
class TeamText(SegmentText):
    """The statements for one layout."""

    @property
    def raw(self) -> list[tuple[str, str]]:
        """(array, C type) of what a tile loads early: elements, or the places of gathered ones."""
        found = {}
        for given in self._used:
            first = self._array(given.through[0]) if given.through else given
            found[first.name] = c_name(first.dtype)
        return list(found.items())

    @property
    def _used(self) -> list[Input]:
        return [given for given in self.layout.formula.inputs if self.layout.formula.uses(given)]

    def _array(self, name: str) -> Input:
        return next(given for given in self.layout.formula.inputs if given.name == name)

    def declare_raw(self) -> str:
        """Declares the registers of one tile's loads."""
        return "\n".join(f"{kind}4 {', '.join(f'raw{j}_{name}' for j in range(QUADS))};" for name, kind in self.raw)

    def load_raw(self, at: str, end: str | None = None) -> str:
        """Loads the tile whose first element of this item is `at`. end: where elements end that are asked for; behind
        it, zeros stand for them.
        """
        return "{\n" + "\n".join(self._loaded(j, f"({at}) + {4 * TEAM * j}", end) for j in range(QUADS)) + "\n}"

    def load_raw_each(self, at: str, begin: str, end: str) -> str:
        """As `load_raw`, where four elements at a time would reach beyond the last one; zeros stand for those before
        `begin` as well.
        """
        lines = []
        for j in range(QUADS):
            for k in range(4):
                place = f"({at}) + {4 * TEAM * j + k}"
                inside = f"{place} >= {begin} && {place} < {end}"
                lines += [f"raw{j}_{name}.s{k} = {inside} ? {name}[{place}] : 0;" for name, _ in self.raw]
        return "{\n" + "\n".join(lines) + "\n}"

    def _loaded(self, j: int, at: str, end: str | None) -> str:
        loads = [f"raw{j}_{name} = cmr_stream_load_{kind}4({name} + {at});" for name, kind in self.raw]
        if end is None:
            return " ".join(loads)
        zeros = [f"raw{j}_{name} = ({kind}4)(0);" for name, kind in self.raw]
        return f"if ({at} < {end}) {{ {' '.join(loads)} }} else {{ {' '.join(zeros)} }}"

    def leave_out(self, at: str, begin: str, end: str) -> str:
        """Makes u0 … u3 the identity for elements before `begin`, and from `end` on. at: as in `lift_raw`."""
        lines = [self.tile.declare("none")]
        for j in range(QUADS):
            for k in range(4):
                none = " ".join(f"u{j}_{name}.s{k} = none_{name};" for name in self.tile.dtypes)
                place = f"({at}) + {4 * TEAM * j + k}"
                lines.append(f"if ({place} < {begin} || {place} >= {end}) {{ {none} }}")
        return "{\n" + "\n".join(lines) + "\n}"

    def lift_raw(self, at: str) -> str:
        """Sets u0 … u3 to the accumulators of the loaded elements, the first of which is `at`."""
        return "\n".join(self._lifted(j, f"({at}) + {4 * TEAM * j}") for j in range(QUADS))

    def _lifted(self, j: int, at: str) -> str:
        block = Statements(4, self.narrow)
        formula = self.layout.formula.instance()
        for given in formula.inputs:
            if not formula.uses(given):
                continue
            for leaf, node in components(given.value).items():
                assert not leaf
                text = f"raw{j}_{given.name}" if not given.through else self._gathered(given, j)
                block.declare(node, f"e_{given.name}", text)
        block.place(formula.nodes, at)
        return self._single(block, formula.outputs[0], at, f"u{j}")

    def _gathered(self, given: Input, j: int) -> str:
        """Four gathered elements, the places of which a tile has loaded."""
        each = []
        for lane in range(4):
            place = place_through(given, f"raw{j}_{given.through[0]}.s{lane}")
            if given.trailing and self.columned:
                place = f"({place}) * columns + column"
            each.append(f"{given.name}[{place}]")
        return f"({c_name(given.dtype, 4)})({', '.join(each)})"

    def lift(self, acc: str, at: str) -> str:
        """Sets `acc` to the accumulator of the element `at`."""
        block, place = Statements(1, self.narrow), Place(at, column="column" if self.columned else "")
        return self._single(block, block.load(self.layout.formula, place)[0], at, acc)

    def _single(self, block: Statements, value: object, at: str, acc: str) -> str:
        single = self.layout.op.tile.single(value, block.index(at))  # type: ignore[arg-type]
        block.assign({f"{acc}_{name}": single[name] for name in self.tile.dtypes})
        return "{\n" + str(block) + "\n}"

    def merge_unless(self, target: str, before: str, flag: str) -> str:
        """Sets `target` to before ∘ target where `flag` is 0."""
        if self._adds_floats:
            return f"{target}_total = cmr_add_unless_float({target}_total, {before}_total, {flag});"
        return self._merged_where(target, before, f"!({flag})")

    def merge_if_reached(self, target: str, before: str, have: str, need: str) -> str:
        """Sets `target` to before ∘ target where have ≥ need."""
        if self._adds_floats:
            return f"{target}_total = cmr_add_if_reached_float({target}_total, {before}_total, {have}, {need});"
        return self._merged_where(target, before, f"({have}) >= ({need})")

    @property
    def _adds_floats(self) -> bool:
        tile = self.layout.op.tile
        return isinstance(tile, BoundSum) and tile.components[0].dtype == FLOAT32

    def _merged_where(self, target: str, before: str, condition: str) -> str:
        return f"if ({condition}) {self.tile.merge(target, before, target)}"

    def widen(self, target: str, acc: str) -> str:
        """Declares `target`, between tiles, as a tile's accumulator."""
        block = Statements(1, self.narrow, prefix=f"{target}_as")
        wide = self.layout.op.widened(block.record(acc, self.tile.dtypes))
        return self._converted(block, target, wide, self.whole)

    def narrow_down(self, target: str, acc: str) -> str:
        """Declares `target`, of a tile, as an accumulator between tiles."""
        block = Statements(1, self.narrow, prefix=f"{target}_as")
        small = self.layout.op.narrowed(block.record(acc, self.whole.dtypes))
        return self._converted(block, target, small, self.tile)

    def _converted(self, block: Statements, target: str, value: object, op: OperatorText) -> str:
        texts = {name: block.texts(value[name])[""] for name, _ in op.parts}  # type: ignore[index]
        return "\n".join([str(block), *(f"{kind} {target}_{name} = {texts[name]};" for name, kind in op.parts)])
