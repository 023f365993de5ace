"""A stable sort by buckets that fit a cache of a core, in the sequential mode.

A sample of the keys says where buckets end. Groups count the keys of each bucket in their shares, counts become places,
and groups carry their words there. An item then sorts one bucket after another by two digits, within the cache.
"""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.domain.line import Line
from clmapreduce.dtypes import INT32, INT64, DType, c_name
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, LocalArray, Plan, Stage
from clmapreduce.schemes.common.boxes import launch_box
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.line.bases import BasesText
from clmapreduce.schemes.line.sorting.bucket_boxes import BucketBox
from clmapreduce.schemes.line.sorting.radix_keys import RadixKeys
from clmapreduce.schemes.line.sorting.radix_sort import LINE, CountsText, WalkText
from clmapreduce.schemes.line.sorting.sort_problem import SortProblem

PIECES = 16
"""Pieces of the order of keys at most, between which codes leave gaps out."""
HEADS = 3 + 2 * PIECES
"""Marks in front of the ends of buckets."""
TILE = 64
"""Keys by which shares are rounded."""
ROOM = 3
"""Buckets of so many times the usual length are sorted in room of their own."""


@dataclass(frozen=True, eq=False)
class SampleText(KernelText):
    """word: the C type of keys. digits: how many buckets there are. drawn: words of the sample for each. codes: bits of
    a code at most.
    """

    template = "kernel/line/sorting/bucket_sample"
    keys: RadixKeys
    word: str
    digits: int
    drawn: int
    codes: int
    heads = HEADS
    most_pieces = PIECES

    @property
    def least(self) -> int:
        """Bits of the codes that are tried first."""
        return min(self.digits.bit_length(), self.codes)

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return LocalArray("next", "int" if self.narrow else "long", 256), LocalArray("ends", self.word, PIECES)


@dataclass(frozen=True, eq=False)
class BucketCountsText(CountsText):
    template = "kernel/line/sorting/bucket_counts"
    heads = HEADS


@dataclass(frozen=True, eq=False)
class BucketWalkText(WalkText):
    template = "kernel/line/sorting/bucket_walk"


@dataclass(frozen=True, eq=False)
class BucketSortText(KernelText):
    """word, values, stored_values: C types; empty without. digits: how many buckets there are. bits: of a digit."""

    template = "kernel/line/sorting/bucket_sort"
    keys: RadixKeys
    word: str
    stores_keys: bool
    values: str
    stored_values: str
    digits: int
    bits: int

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return (LocalArray("next", "int" if self.narrow else "long", 1 << self.bits),)


class _Buckets:
    """The launches of a sort by buckets."""

    def __init__(self, problem: SortProblem, facts: Facts, box: BucketBox, streaming: bool) -> None:
        self.problem, self.box = problem, box
        self.line, self.word = Line(problem.length), c_name(problem.keys.dtype)
        self.target = Target.of(ComputeMode.SEQUENTIAL, facts, self.line.narrow, streaming)
        self.groups, self.share = self.line.shares(facts.compute_units * box.groups, TILE)
        full = max(2, problem.length * problem.itemsize // box.bytes)
        self.bits = min(full.bit_length() - 1, box.most.bit_length() - 1)
        self.count = 1 << self.bits
        self.items = min(self.count, facts.compute_units * box.items)
        self.room = ROOM * (problem.length // self.count + 1)
        self.bases = BasesText(self.target, launch_box("bases", ComputeMode.SEQUENTIAL, facts).block)

    @property
    def spare(self) -> dict[str, DType]:
        """Room for all words and values, by name: that of results of the same dtype, else scratch."""
        problem = self.problem
        keys = {"out0" if problem.wants_keys else "keys_spare": problem.keys.dtype}
        if problem.values is None:
            return keys
        return keys | {"out1" if problem.wants_keys else "values_spare": problem.values}

    @property
    def scratch(self) -> dict[str, int]:
        """Bytes between launches, by name."""
        problem, sampled = self.problem, self.count * self.box.drawn
        index, word = (INT32 if self.line.narrow else INT64), problem.keys.dtype
        sizes = {"counts": ((self.groups << self.bits) + 1) * index.itemsize, "total": INT64.itemsize}
        sizes |= {"sample0": sampled * word.itemsize, "sample1": sampled * word.itemsize}
        sizes |= {"marks": (HEADS + 2 * self.count) * word.itemsize, "table": 2 * ((1 << self.box.codes) + PIECES + 1)}
        for name, dtype in (("keys", word), ("values", problem.values)):
            if dtype is not None:
                sizes[name] = problem.length * dtype.itemsize
                sizes[f"{name}_room"] = self.items * self.room * dtype.itemsize
        sizes |= {name: problem.length * d.itemsize for name, d in self.spare.items() if not name.startswith("out")}
        return sizes

    @property
    def stages(self) -> tuple[Stage, ...]:
        problem, box, groups = self.problem, self.box, self.groups
        keys, word, values = problem.keys, self.word, "" if problem.values is None else c_name(problem.values)
        stored = values if problem.results is None else c_name(problem.results)
        own = (keys.number.itemsize, 0 if problem.values is None else problem.values.itemsize)
        n: Arguments = (("idx", self.line.length),)
        sizes: Arguments = (("idx", groups), *n, ("idx", self.share))
        sample = SampleText(self.target, keys, word, self.count, box.drawn, box.codes)
        counts = BucketCountsText(self.target, keys, word, True, self.bits, 1, 2)
        pass_of = (True, False, self.bits, True, values, values, problem.counts_up)
        walk = BucketWalkText(self.target, keys, word, *pass_of, LINE // max(own), own)
        last = BucketSortText(self.target, keys, word, problem.wants_keys, values, stored, self.count, box.bits)
        sources = ("in0", "in1") if problem.values is not None and not problem.counts_up else ("in0",)
        carried = ("keys",) if problem.values is None else ("keys", "values")
        rooms, spare = tuple(f"{name}_room" for name in carried), tuple(self.spare)
        results = ("out0", "out1")[: problem.wants_keys + (problem.values is not None)]
        noted = spare[0]  # two bytes a key in memory that is not needed yet
        ends, sampled = ("marks", "table"), ("sample0", "sample1")
        placed = (*carried, "counts", *rooms, *spare, *results)
        items: Arguments = (("idx", groups), ("idx", self.room), ("int", self.items))
        chunks, written = groups << self.bits, tuple(dict.fromkeys((*carried, *rooms, *spare, *results)))
        return (
            Stage(sample, 1, 1, ("in0", *sampled, *ends, *n), ("in0",), (*sampled, *ends)),
            Stage(counts, groups, 1, ("in0", "counts", noted, *ends, *sizes), ("in0", *ends), ("counts", noted)),
            Stage(self.bases, 1, 1, ("counts", "total", ("idx", chunks)), ("counts",), ("counts", "total")),
            Stage(walk, groups, 1, (*sources, noted, "counts", *carried, *sizes), (*sources, noted, "counts"), carried),
            Stage(last, self.items, 1, (*placed, *items), (*carried, "counts"), written),
        )


def plan_bucket_sort(problem: SortProblem, facts: Facts, box: BucketBox, streaming: bool = False) -> Plan:
    """The plan of a sort by buckets, of keys of 4 or 8 bytes. streaming: as of `plan_sort`."""
    buckets = _Buckets(problem, facts, box, streaming)
    why = f"{buckets.count} buckets by a sample, {buckets.groups} groups"
    return Plan(buckets.stages, buckets.scratch, ComputeMode.SEQUENTIAL, Scope.DEVICE, buckets.line.narrow, why)
