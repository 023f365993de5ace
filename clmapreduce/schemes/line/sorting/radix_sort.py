"""A stable radix sort, the least significant digit first: a pass per digit, each of three launches.

Groups count the digits of their shares, one group turns counts into places, digit by digit and group by group, and
groups then put their words where they belong. In the sequential mode an item walks a share; in the parallel mode a
group orders a tile of its share in local memory first, so that words of one digit go to memory side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from clmapreduce.domain.line import Line
from clmapreduce.dtypes import INT32, INT64, c_name
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, LocalArray, Plan, Stage
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.boxes import launch_box, within_local_memory
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.common.local_arrays import accumulators
from clmapreduce.schemes.line.bases import ADDED, BasesText
from clmapreduce.schemes.line.sorting.radix_boxes import RadixBox, radix_box
from clmapreduce.schemes.line.sorting.radix_keys import RadixKeys
from clmapreduce.schemes.line.sorting.sort_problem import SortProblem

Names: TypeAlias = "tuple[str, ...]"
"""Arrays of a plan."""

LINE = 128
"""Bytes of a digit that wait for each other: two lines of a cache, which are written half as often as one."""


@dataclass(frozen=True, eq=False)
class CountsText(KernelText):
    """word: the C type of keys. first: the pass reads keys, and not words of the pass before. tables: of counts of a
    group.
    """

    template = "kernel/line/sorting/radix_counts"
    keys: RadixKeys
    word: str
    first: bool
    bits: int
    block: int
    tables: int

    @property
    def digits(self) -> int:
        return 1 << self.bits

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        alone = self.target.mode is ComputeMode.SEQUENTIAL  # an item may count more than an int holds
        return (LocalArray("tables", "long" if alone and not self.narrow else "int", self.tables * self.digits),)


@dataclass(frozen=True, eq=False)
class PlacingText(KernelText):
    """What puts words where they belong. first, last: of the passes. word, values, stored_values: C types; empty
    without.
    """

    keys: RadixKeys
    word: str
    first: bool
    last: bool
    bits: int
    stores_keys: bool
    values: str
    stored_values: str
    counts_up: bool

    @property
    def digits(self) -> int:
        return 1 << self.bits


@dataclass(frozen=True, eq=False)
class WalkText(PlacingText):
    """line: words of a digit that wait for each other; 0: none do. sizes: bytes of a word and of a value."""

    template = "kernel/line/sorting/radix_walk"
    line: int
    sizes: tuple[int, int]

    @property
    def gathered(self) -> bool:
        return self.line > 0

    @property
    def itemsizes(self) -> dict[str, int]:
        return dict(zip(("keys_line", "values_line"), self.sizes, strict=True))

    @property
    def columns(self) -> tuple[tuple[str, str, str, str], ...]:
        """What goes along: the array where to, the one in which it waits, the C types in that and in memory."""
        keys = (("out0", "keys_line", self.word, self.word),) if self.stores_keys else ()
        values = (("out1", "values_line", self.values, self.stored_values),) if self.values else ()
        return keys + values

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        places = LocalArray("next", "int" if self.narrow else "long", self.digits)
        lines = [LocalArray(name, kind, self.digits * self.line) for _, name, kind, _ in self.columns if self.gathered]
        return (places, *lines)


@dataclass(frozen=True, eq=False)
class GroupText(PlacingText):
    """block, rows: items, and keys of each. tables: as many as warps."""

    template = "kernel/line/sorting/radix_group"
    block: int
    rows: int
    tables: int

    @property
    def op(self) -> OperatorText:
        return OperatorText(ADDED, self.narrow)

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        index, tile = "int" if self.narrow else "long", self.block * self.rows
        others = (LocalArray("others", self.values, tile),) if self.values else ()
        return (
            *accumulators(ADDED, self.block), LocalArray("tables", "int", self.tables * self.digits),
            LocalArray("bases", index, self.digits), LocalArray("words", self.word, tile), *others,
        )  # fmt: skip


class _Passes:
    """The launches of a sort, pass by pass."""

    def __init__(self, problem: SortProblem, mode: ComputeMode, facts: Facts, box: RadixBox, streaming: bool) -> None:
        self.problem, self.mode, self.box = problem, mode, box
        self.count = -(-problem.significant // box.bits)
        self.bits = -(-problem.significant // self.count)
        self.line, self.word = Line(problem.length), c_name(problem.keys.dtype)
        self.target = Target.of(mode, facts, self.line.narrow, streaming)
        self.groups, self.share = self.line.shares(max(1, facts.compute_units * box.groups), box.block * box.rows)
        bases = within_local_memory(launch_box("bases", mode, facts), ADDED.layout.itemsize, facts)
        self.bases = BasesText(self.target, bases.block)

    @property
    def scratch(self) -> dict[str, int]:
        """Bytes between launches, by name."""
        problem, index = self.problem, INT32 if self.line.narrow else INT64
        sizes = {"counts": ((self.groups << self.bits) + 1) * index.itemsize, "total": INT64.itemsize}
        names = {name for p in range(self.count - 1) for name in self.targets(p) if not name.startswith("out")}
        for name in sorted(names):
            dtype = problem.keys.number if name.startswith("keys") else problem.values
            assert dtype is not None
            sizes[name] = problem.length * dtype.itemsize
        return sizes

    def targets(self, p: int) -> Names:
        """The arrays that a pass writes: words, unless they are not read later, and values. Every other pass writes to
        the results' memory, so that the last one does.
        """
        problem, left = self.problem, self.count - 1 - p
        keys = "out0" if problem.wants_keys and left % 2 == 0 else f"keys{left % 2}"
        names = (keys,) if problem.wants_keys or left else ()
        if problem.values is not None:
            out = "out1" if problem.wants_keys else "out0"
            names = (*names, out if left % 2 == 0 else "values")
        return names

    def sources(self, p: int) -> Names:
        """The arrays that a pass reads."""
        if p:
            return self.targets(p - 1)
        has_values = self.problem.values is not None and not self.problem.counts_up
        return ("in0", "in1") if has_values else ("in0",)

    def stages(self, p: int) -> tuple[Stage, Stage, Stage]:
        """The three launches of a pass."""
        box, groups, first = self.box, self.groups, p == 0
        keys, shift = self.problem.keys, ("int", p * self.bits)
        sizes: Arguments = (shift, ("idx", groups), ("idx", self.line.length), ("idx", self.share))
        source, *_ = self.sources(p)
        counts = CountsText(self.target, keys, self.word, first, self.bits, box.block, box.tables)
        placing, read, targets = self._placing(p), self.sources(p), self.targets(p)
        chunks, sums = groups << self.bits, ("counts", "total")
        return (
            Stage(counts, groups, box.block, (source, "counts", *sizes), (source,), ("counts",)),
            Stage(self.bases, 1, self.bases.block, ("counts", "total", ("idx", chunks)), ("counts",), sums),
            Stage(placing, groups, box.block, (*read, "counts", *targets, *sizes), (*read, "counts"), targets),
        )

    def _placing(self, p: int) -> PlacingText:
        problem, box, last = self.problem, self.box, p == self.count - 1
        values = "" if problem.values is None else c_name(problem.values)
        stored = values if problem.results is None or not last else c_name(problem.results)
        stores_keys, counts_up = problem.wants_keys or not last, problem.counts_up and p == 0
        pass_of = (p == 0, last, self.bits, stores_keys, values, stored, counts_up)
        common = (self.target, problem.keys, self.word, *pass_of)
        if self.mode is ComputeMode.PARALLEL:
            return GroupText(*common, box.block, box.rows, box.tables)
        sizes = problem.keys.number.itemsize, 0 if problem.values is None else problem.values.itemsize
        gathers = box.gathers_from and problem.length * sizes[0] >= box.gathers_from
        return WalkText(*common, LINE // max(sizes) if gathers else 0, sizes)


def plan_radix_sort(
    problem: SortProblem, mode: ComputeMode, facts: Facts, box: RadixBox | None = None, streaming: bool = False
) -> Plan:
    """The plan of a radix sort. streaming: as of `plan_sort`."""
    box = radix_box(problem.itemsize, mode, facts) if box is None else box
    passes = _Passes(problem, mode, facts, box, streaming)
    stages = tuple(stage for p in range(passes.count) for stage in passes.stages(p))
    why = f"{passes.count} passes by digits of {passes.bits} bits, {passes.groups} groups"
    return Plan(stages, passes.scratch, mode, Scope.DEVICE, passes.line.narrow, why)
