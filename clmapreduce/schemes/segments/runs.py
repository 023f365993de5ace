"""Runs of equal neighbours: changes are counted per group, then every group writes where its runs begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clmapreduce.domain.line import Line
from clmapreduce.dtypes import DType, c_name
from clmapreduce.formula.formula import Formula
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Layout, LocalArray, Plan, Stage
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.boxes import LaunchBox, within_local_memory
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.common.local_arrays import accumulators
from clmapreduce.schemes.common.vectors import AHEAD
from clmapreduce.schemes.line.reduce import reduce_stage, with_shares
from clmapreduce.schemes.segments.keys import KeysText

STRETCH = 16
"""Pairs of neighbours per item and step."""
VECTORS = 2
"""As many stretches in one step of an item that has vectors."""
LINE = 64
"""Bytes of one prefetch."""


@dataclass(frozen=True, eq=False)
class RunsText(KeysText):
    """What writes where runs begin, and a key of each."""

    begins: DType

    @property
    def begins_type(self) -> str:
        """The C type of where runs begin."""
        return c_name(self.begins)

    @property
    def lines_ahead(self) -> list[int]:
        """Keys from a step's first one to those that are prefetched while it is compared."""
        size = self.key.dtype.itemsize
        return [place // size for place in range(AHEAD, AHEAD + VECTORS * STRETCH * size, LINE)]


@dataclass(frozen=True, eq=False)
class RunsKernel(KernelText):
    """bound: adds up changes. stretch: pairs of an item and turn. padded: as of `plan_runs`. vectors: items compare
    vectors of keys.
    """

    template = "kernel/segments/runs"
    lanes: ClassVar[int] = STRETCH
    text: RunsText
    bound: Bound
    block: int
    stretch: int
    padded: bool
    vectors: bool

    @property
    def op(self) -> OperatorText:
        return OperatorText(self.bound, self.narrow)

    @property
    def last(self) -> bool:
        return self.text.last

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return accumulators(self.bound, self.block)


@dataclass(frozen=True)
class RunsProblem:
    """Runs of equal keys in two launches: one counts changes, a number per group; the next writes. changes: of keys and
    keys one ahead. bound: adds up its values. pairs: of neighbours, one at least. box, reduce_box: of what writes, and
    of what counts.
    """

    changes: Formula
    bound: Bound
    pairs: int
    mode: ComputeMode
    box: LaunchBox
    reduce_box: LaunchBox

    @property
    def work(self) -> float:
        """Operations of either launch."""
        return self.pairs * self.changes.operations

    def plan_counts(self, facts: Facts) -> Plan:
        """The plan of the changes' counts, one per group in "out0"."""
        line, layout = Line(self.pairs), Layout(self.changes, (self.bound.result,))
        box = self._fitted(self.reduce_box, facts)
        groups, share = self._shares(facts)
        stage = with_shares(reduce_stage(layout, self.bound, line, self.mode, facts, box, "out0"), groups, share)
        return Plan((stage,), {}, self.mode, _scope(groups), line.narrow, f"{groups} groups count changes")

    def plan_runs(self, last: bool, padded: bool, facts: Facts) -> Plan:
        """The plan of the runs: "out0" their begins, "out1" their keys, "out2" their number; "in2" holds the counts.
        last: each run's last key, not its first. padded: arrays have room for as many runs as keys.
        """
        changes, bound, mode, box = self.changes, self.bound, self.mode, self._fitted(self.box, facts)
        narrow = Line(self.pairs + 2).narrow
        groups, share = self._shares(facts)
        text = RunsText(changes, narrow, last, begins_dtype(self.pairs))
        target, stretch, vectors = Target.of(mode, facts, narrow), self._stretch(facts), self._vectors(facts)
        spec = RunsKernel(target, text, bound, box.block, stretch, padded, vectors)
        outputs = ("out0", "out1", "out2")
        arguments: Arguments = ("in0", "in1", "in2", *outputs, ("idx", self.pairs), ("idx", share))
        stage = Stage(spec, groups, box.block, arguments, ("in0", "in1", "in2"), outputs)
        return Plan((stage,), {}, mode, _scope(groups), narrow, f"{groups} groups write where their runs begin")

    def _fitted(self, box: LaunchBox, facts: Facts) -> LaunchBox:
        """The box with as many items as local memory serves."""
        if self.mode is ComputeMode.SEQUENTIAL:
            return box
        return within_local_memory(box, self.bound.layout.itemsize, facts)

    def _vectors(self, facts: Facts) -> bool:
        """Whether items compare vectors of keys."""
        return self.mode is ComputeMode.SEQUENTIAL and facts.kind == "cpu" and self.changes.vectorisable

    def _stretch(self, facts: Facts) -> int:
        """Pairs of an item and turn."""
        return STRETCH * (VECTORS if self._vectors(facts) else 1)

    def _shares(self, facts: Facts) -> tuple[int, int]:
        """Groups, and pairs of each: the same for both launches."""
        box = self._fitted(self.box, facts)
        return Line(self.pairs).shares(max(1, facts.compute_units * box.groups), box.block * self._stretch(facts))


def _scope(groups: int) -> Scope:
    return Scope.DEVICE if groups > 1 else Scope.GROUP


def begins_dtype(pairs: int) -> DType:
    """The dtype of places among the keys."""
    return np.dtype(np.int32 if Line(pairs + 2).narrow else np.int64)
