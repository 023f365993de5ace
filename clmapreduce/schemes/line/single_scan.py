"""Scan in one pass: a group computes a tile, and waits for what the tiles before it post (decoupled look-back; Merrill and
Garland 2016). Tiles merge what they wait for in one tree, by their numbers, so that the bits are the same every time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from clmapreduce.domain.line import Line
from clmapreduce.dtypes import Leaf, c_name
from clmapreduce.formula.formula import Formula, Input
from clmapreduce.formula.node import Node, Value, components
from clmapreduce.formula.statements import Statements
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Layout, LocalArray, Plan, Stage
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.common.local_arrays import accumulators
from clmapreduce.schemes.line.lane_values import LaneValues, lane_of
from clmapreduce.schemes.line.line_kernel import LineText, inputs_of

MOST_WORDS = 32
"""Words of 32 bits of an accumulator that is posted, at most."""


@dataclass(frozen=True, eq=False)
class ClearText(KernelText):
    """Words of 64 bits that become 0."""

    template = "kernel/line/clear"
    block: int


@dataclass(frozen=True)
class Content:
    """What a scan's tiles compute. bound, carried: the operators inside a tile and between tiles. lanes: numbers of a
    vector. rows: vectors of an item and tile.
    """

    bound: Bound
    carried: Bound
    exclusive: bool
    block: int
    lanes: int
    rows: int


@dataclass(frozen=True, eq=False)
class SingleScanText(LineText):
    """Fields as of `Content`; an item's vectors are neighbours. alone: the line is one tile."""

    template = "kernel/line/single_scan"
    formula: Formula
    bound: Bound
    carried: Bound
    exclusive: bool
    block: int
    lanes: int
    rows: int
    alone: bool

    @property
    def op(self) -> OperatorText:
        return OperatorText(self.bound, self.narrow)

    @property
    def wide(self) -> OperatorText:
        return OperatorText(self.carried, self.narrow)

    @property
    def read(self) -> tuple[Input, ...]:
        return inputs_of(self.formula.inputs, self.tail)

    @property
    def values(self) -> LaneValues:
        """The values of an item's vectors."""
        return LaneValues(self.formula, self.lanes, self.narrow)

    @property
    def words(self) -> int:
        """Words of 32 bits of a post."""
        return words_of(self.carried)

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        warps = self.block // self.target.subgroup
        carries = accumulators(self.carried, warps, "carries")
        return (*accumulators(self.bound, warps), *carries, LocalArray("ticket", "int", 1))

    # ------------------------------------------------------------------------------------------ what items walk along
    def anchor(self, acc: str) -> str:
        """What becomes of a tile's accumulator before it is posted."""
        return ""

    def start(self, state: str, carry: str, before: str) -> str:
        """Declares `state`, the one before an item's elements. carry: of earlier tiles and warps; before: of earlier items
        of the warp.
        """
        ahead = f"{state}_ahead"
        return "\n".join([
            self.wide.converted(ahead, before, self.op), self.wide.merge(ahead, carry, ahead),
            self.op.converted(state, ahead, self.wide),
        ])  # fmt: skip

    def step(self, state: str, name: str, lane: int, at: str, results: str) -> str:
        """Moves `state` behind one of the values `name`, and puts the result at its index into a lane of `results`."""
        block = Statements(1, self.narrow)
        texts = components(self._result(block, state)).values()
        for k, node in enumerate(texts):
            block.add(f"{lane_of(f'{results}_{k}', lane, self.lanes)} = {block.texts(node)['']};")
        return self._in_order(self._moved(state, name, lane, at), "{\n" + str(block) + "\n}")

    def step_at(self, state: str, at: str) -> str:
        """Moves `state` behind an index, and stores the result there."""
        block = Statements(1, self.narrow)
        block.add(self.store(block.texts(self._result(block, state)), at, 1))
        return self._in_order(self._moved_to(state, at), "{\n" + str(block) + "\n}")

    def results(self, name: str) -> str:
        """Declares the results of a vector."""
        kinds = (c_name(node.dtype, self.lanes) for node in self._result_parts.values())
        return " ".join(f"{kind} {name}_{k};" for k, kind in enumerate(kinds))

    def stored(self, name: str, at: str) -> str:
        """Stores the results of a vector."""
        return self.store({leaf: f"{name}_{k}" for k, leaf in enumerate(self._result_parts)}, at, self.lanes)

    @property
    def _result_parts(self) -> dict[Leaf, Node]:
        return components(self._result(Statements(1, self.narrow), "state"))

    def _in_order(self, move: str, result: str) -> str:
        return f"{result}\n{move}" if self.exclusive else f"{move}\n{result}"

    def _result(self, block: Statements, state: str) -> Value:
        return self.bound.finish(block.record(state, self.op.dtypes))

    def _moved(self, state: str, name: str, lane: int, at: str) -> str:
        return self.op.absorb_from(state, self.values.one(name, lane), at)

    def _moved_to(self, state: str, at: str) -> str:
        return self.op.absorb(state, self.formula, [at])


def words_of(bound: Bound) -> int:
    """Words of 32 bits of an accumulator, of which each component begins a word."""
    return sum(max(1, c.dtype.itemsize // 4) for c in bound.components)


def takes_one_pass(bound: Bound, line: Line, mode: ComputeMode, facts: Facts) -> bool:
    """Whether groups may wait for each other, and pass on the accumulators of an operator."""
    halves = any(c.dtype.kind in "fV" and c.dtype.itemsize == 2 for c in bound.components)
    waits = facts.groups_progress and facts.exchange_width > 1 and mode is ComputeMode.PARALLEL
    return waits and line.window is None and words_of(bound) <= MOST_WORDS and not halves


def plan_one_pass(kind: type[SingleScanText], layout: Layout, content: Content, line: Line, facts: Facts) -> Plan:
    """The plan of all prefixes. kind: of the kernel's text; content: what it sees of its tiles."""
    tile = content.block * content.lanes * content.rows
    tiles = -(-line.length // tile)
    target = Target.of(ComputeMode.PARALLEL, facts, Line(tiles * tile).narrow)
    spec = kind(
        target, layout.outputs, layout.tail, False, layout.formula, content.bound, content.carried, content.exclusive,
        content.block, content.lanes, content.rows, tiles == 1,
    )  # fmt: skip
    scan = Stage(
        spec, tiles, content.block, (*layout.sources, *layout.targets, ("idx", line.length)), layout.sources,
        layout.targets,
    )  # fmt: skip
    if tiles == 1:
        return Plan((scan,), {}, target.mode, Scope.GROUP, target.narrow, "the line fits one group")
    windows = -(-tiles // target.subgroup)
    posts = 1 + spec.words * (tiles + windows + windows // target.subgroup + 1)
    clear = Stage(
        ClearText(target, content.block), -(-posts // content.block), content.block, ("scratch0", ("idx", posts)), (),
        ("scratch0",),
    )  # fmt: skip
    scan = replace(
        scan, arguments=("scratch0", *scan.arguments), reads=("scratch0", *scan.reads),
        writes=("scratch0", *scan.writes),
    )  # fmt: skip
    why = f"one pass: {tiles} tiles, each behind what the tiles before it post"
    return Plan((clear, scan), {"scratch0": 8 * posts}, target.mode, Scope.DEVICE, target.narrow, why)
