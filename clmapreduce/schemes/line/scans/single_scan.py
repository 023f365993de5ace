"""Scan in one pass: a group computes a tile, and waits for what the tiles before it post (decoupled look-back; Merrill
and Garland 2016). Tiles merge what they wait for in one tree, by their numbers, so that a call gives the same bits
every time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from clmapreduce.domain.launch_table import LaunchTable
from clmapreduce.domain.line import Line
from clmapreduce.dtypes import DType
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Layout, LocalArray, Plan, Stage
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.recurrences.text import StateText
from clmapreduce.reductions.text import OperatorText
from clmapreduce.reductions.walks.lanes import LaneResults, LaneValues
from clmapreduce.reductions.walks.walk import Walk
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.common.local_arrays import accumulators, shrink_to_fit
from clmapreduce.schemes.line.reduce import ONCE
from clmapreduce.schemes.line.scans.scan_text import ScanText

MOST_WORDS, MOST_KEPT = 32, 80
"""Words of 32 bits of what is posted, and of an accumulator, at most."""
LEAST_BLOCK, USUAL_BLOCK = 32, 128
"""Items of a group at least: a warp; and down to which a smaller group is better than fewer rows."""
MOST_BYTES = 256
"""Bytes of a value and a result at most: those of a tile are in local memory."""


@dataclass(frozen=True, eq=False)
class ClearText(KernelText):
    """Words of 64 bits that become 0."""

    template = "kernel/line/clear"
    block: int


@dataclass(frozen=True, eq=False)
class SingleScanText(ScanText):
    """An item's vectors are neighbours; accumulators between them are `carried`. alone: the line is one tile."""

    template = "kernel/line/single_scan"
    alone: bool = False

    @property
    def tile(self) -> int:
        """Elements of a tile."""
        return self.block * self.item_size

    @property
    def item_size(self) -> int:
        """Elements of an item."""
        return self.lanes * self.rows

    @property
    def warp_count(self) -> int:
        """Warps of a group."""
        return self.block // self.target.subgroup

    @property
    def squares(self) -> int:
        """Maps of longer and longer stretches of elements, each twice as long as the one before."""
        return 0

    @property
    def values(self) -> LaneValues:
        """The values of an item's vectors."""
        return LaneValues(self.formula, self.lanes, self.narrow)

    @property
    def narrows(self) -> bool:
        """Whether accumulators between vectors have more digits than those inside."""
        return self.op.dtypes != self.wide.dtypes

    @property
    def passes(self) -> str:
        """How items, warps and tiles pass on what is `sent`: the file of scans/ that says it."""
        return "accumulators"

    @property
    def sent(self) -> OperatorText | StateText:
        """What items, warps and tiles pass on."""
        return self.wide

    @property
    def head(self) -> int:
        """Words of 64 bits before the posts."""
        return 2

    @property
    def words(self) -> int:
        """Words of 32 bits of a post."""
        return words_of(self.sent.dtypes.values())

    @property
    def walk(self) -> Walk:
        """How items walk along their elements."""
        return Walk(self.op, self.wide, self.exclusive)

    @property
    def results(self) -> LaneResults:
        """The results of an item's vectors."""
        return LaneResults(self.walk.result, self.store, self.lanes, self.narrow)

    @property
    def value_arrays(self) -> dict[str, str]:
        """The local array of each part of the values that varies, by the part's name."""
        return {part.name: f"values_{part.name}" for part in self.values.varying}

    @property
    def result_arrays(self) -> dict[str, str]:
        """The local array of each part of the results: one of the values' with the same type, or its own."""
        free = {part.ctype: self.value_arrays[part.name] for part in self.values.varying}
        return {part.name: free.pop(part.ctype, f"results_{part.name}") for part in self.results.parts}

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        totals = [LocalArray(f"warps_{name}", kind, self.warp_count) for name, kind in self.sent.parts]
        powers = accumulators(self.carried, self.squares, "powers") if self.squares else ()
        kinds = {self.result_arrays[part.name]: part.ctype for part in self.results.parts}
        kinds |= {self.value_arrays[part.name]: part.ctype for part in self.values.varying}
        return (
            *totals, *powers, *([] if self.alone else [LocalArray("ticket", "int", 1)]),
            *(LocalArray(name, kind, self.tile, aligned=True) for name, kind in kinds.items()),
        )  # fmt: skip


def words_of(dtypes: Iterable[DType]) -> int:
    """Words of 32 bits of some numbers, each of which begins a word."""
    return sum(max(1, dtype.itemsize // 4) for dtype in dtypes)


def takes_one_pass(bound: Bound, line: Line, mode: ComputeMode, facts: Facts) -> bool:
    """Whether groups may wait for each other, and pass on the accumulators of an operator."""
    halves = any(c.dtype.kind in "fV" and c.dtype.itemsize == 2 for c in bound.components)
    short = bound.value.itemsize + bound.result.itemsize <= MOST_BYTES
    posted, kept = (words_of(c.dtype for c in numbers) for numbers in (bound.passed, bound.components))
    few = posted <= MOST_WORDS and kept <= MOST_KEPT
    waits = facts.groups_progress and facts.exchange_width > 1 and mode is ComputeMode.PARALLEL
    return waits and line.window is None and short and few and not halves


def plan_one_pass(spec: SingleScanText, layout: Layout, line: Line, facts: Facts) -> Plan:
    """The plan of all prefixes. spec: the kernel with the tiles that are best for long lines, or smaller ones."""
    spec = replace(spec, block=min(spec.block, facts.exchange_width**2))  # its first warp scans all warps
    if line.length < facts.compute_units * spec.tile:
        spec = replace(spec, rows=1)
    spec, _ = shrink_to_fit(spec, lambda smaller: smaller, _smaller, facts.local_memory * 3 // 4)
    tiles = -(-line.length // spec.tile)
    target = Target.of(ComputeMode.PARALLEL, facts, Line(tiles * spec.tile).narrow)
    spec = replace(spec, target=target, alone=tiles == 1)
    arguments: Arguments = (*layout.sources, *layout.targets, ("idx", line.length))
    scan = Stage(spec, tiles, spec.block, arguments, layout.sources, layout.targets)
    if spec.alone:
        return Plan((scan,), {}, target.mode, Scope.GROUP, target.narrow, "the line fits one group")
    windows = -(-tiles // target.subgroup)
    posts = spec.head + spec.words * (tiles + windows + windows // target.subgroup + 1)
    why = f"one pass over {tiles} tiles, each behind what the tiles before it post"
    scan = replace(
        scan, arguments=("scratch0", *scan.arguments), reads=("scratch0", *scan.reads),
        writes=("scratch0", *scan.writes),
    )  # fmt: skip
    if line.length * max(1, layout.formula.operations) <= ONCE:
        table = {"scratch0": LaunchTable(np.zeros(posts), narrow=False)}
        return Plan((replace(scan, whole=True),), {}, target.mode, Scope.DEVICE, target.narrow, why, tables=table)
    clear = Stage(
        ClearText(target, spec.block), -(-posts // spec.block), spec.block, ("scratch0", ("idx", posts)), (),
        ("scratch0",),
    )  # fmt: skip
    return Plan((clear, scan), {"scratch0": 8 * posts}, target.mode, Scope.DEVICE, target.narrow, why)


def _smaller(spec: SingleScanText) -> SingleScanText | None:
    """Fewer items, down to four warps; then fewer rows; then fewer items still."""
    if spec.rows > 1 and spec.block <= USUAL_BLOCK:
        return replace(spec, rows=spec.rows // 2)
    return replace(spec, block=spec.block // 2) if spec.block > LEAST_BLOCK else None
