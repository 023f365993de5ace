"""Requests of the primitives over one line: maps, reductions, scans, unfolds, partials, power series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from clmapreduce.domain.line import Line
from clmapreduce.dtypes import DType
from clmapreduce.formula.formula import Formula, value_dtype
from clmapreduce.halves.formulas import in_float32, stored
from clmapreduce.halves.operators import in_float32 as around_halves
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Layout, Plan
from clmapreduce.planning.request import PlanRequest
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.recurrences.base import Recurrent
from clmapreduce.reductions.recurrences.iteration import Iteration
from clmapreduce.schemes.common.boxes import LaunchBox, within_registers
from clmapreduce.schemes.line.map import plan_map
from clmapreduce.schemes.line.recurrences.iterate import plan_iterate
from clmapreduce.schemes.line.recurrences.recurrence import plan_recurrence
from clmapreduce.schemes.line.recurrences.single_pass import plan_recurrence_in_one_pass
from clmapreduce.schemes.line.reduce import plan_reduce
from clmapreduce.schemes.line.scans.prefix import Queries, plan_prefix
from clmapreduce.schemes.line.scans.scan import Prefixes, plan_scan
from clmapreduce.schemes.line.scans.single_scan import takes_one_pass
from clmapreduce.schemes.line.scans.upsweep import plan_upsweep
from clmapreduce.schemes.line.series.power_series import plan_power_series
from clmapreduce.schemes.line.series.power_sum import PowerSum, plan_power_sum
from clmapreduce.schemes.line.series.series_function import SeriesFunction, plan_series_function
from clmapreduce.schemes.line.sorting.line_sort import plan_sort
from clmapreduce.schemes.line.sorting.sort_problem import SortProblem
from clmapreduce.schemes.line.unfold import Powers, plan_unfold

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class LineRequest(PlanRequest):
    """A formula at every index of a line. box: the launch box of the scheme. tuned: the fields whose boxes tuning
    varies; a line that is streamed, or walked by one work-item, keeps its own.
    """

    tuned: ClassVar[tuple[str, ...]] = ()

    formula: Formula
    line: Line
    mode: ComputeMode
    box: LaunchBox

    @property
    def work(self) -> float:
        return self.line.length * self.formula.operations

    def in_float32(self) -> Self:
        return replace(self, formula=in_float32(self.formula, stores=False))

    def boxes(self, facts: Facts) -> Mapping[str, LaunchBox]:
        if self.line.window is not None or not self.box.groups:
            return {}
        return {name: getattr(self, name) for name in self.tuned}

    @property
    def sizes(self) -> tuple[int, ...]:
        return (self.line.length,)


@dataclass(frozen=True)
class MapRequest(LineRequest):
    """streaming: stores go past the caches."""

    tuned = ("box",)

    streaming: bool = False

    def in_float32(self) -> Self:
        return replace(self, formula=in_float32(self.formula))

    def plan(self, facts: Facts) -> Plan:
        outputs = tuple(value_dtype(value) for value in self.formula.outputs)
        return plan_map(Layout(self.formula, outputs, streaming=self.streaming), self.line, self.mode, facts, self.box)


@dataclass(frozen=True)
class ReduceRequest(LineRequest):
    """on_host: the host merges the accumulators of the groups."""

    tuned = ("box",)

    bound: Bound
    on_host: bool = False

    def in_float32(self) -> Self:
        return replace(super().in_float32(), bound=around_halves(self.bound, stores=True))

    def plan(self, facts: Facts) -> Plan:
        layout = Layout(self.formula, (self.bound.result,))
        return plan_reduce(layout, self.bound, self.line, self.mode, facts, self.box, self.on_host)


@dataclass(frozen=True)
class ScanRequest(LineRequest):
    """narrow, wide: the operator inside a tile, and between tiles. reduce_box: of the launch that sums the tiles."""

    tuned = ("box", "reduce_box")

    narrow: Bound
    wide: Bound
    exclusive: bool
    reduce_box: LaunchBox
    streaming: bool = False

    def boxes(self, facts: Facts) -> Mapping[str, LaunchBox]:
        boxes = super().boxes(facts)
        once = takes_one_pass(self.wide, self.line, self.mode, facts)
        return {name: box for name, box in boxes.items() if name != "reduce_box" or not once}

    def in_float32(self) -> Self:
        narrow, wide = (around_halves(bound, stores=True) for bound in (self.narrow, self.wide))
        return replace(super().in_float32(), narrow=narrow, wide=wide)

    def plan(self, facts: Facts) -> Plan:
        layout = Layout(self.formula, (self.wide.result,), streaming=self.streaming)
        prefixes = Prefixes(self.narrow, self.wide, self.exclusive)
        return plan_scan(layout, prefixes, self.line, self.mode, facts, self.box, self.reduce_box)


@dataclass(frozen=True)
class RecurrenceRequest(LineRequest):
    """bound: not anchored. reduce_box: of the launch that finds the maps of stretches."""

    bound: Recurrent
    reduce_box: LaunchBox
    streaming: bool = False

    def plan(self, facts: Facts) -> Plan:
        layout = Layout(self.formula, (self.bound.result,), streaming=self.streaming)
        if takes_one_pass(self.bound, self.line, self.mode, facts):
            return plan_recurrence_in_one_pass(layout, self.bound, self.line, facts, self.box)
        if self.mode is ComputeMode.SEQUENTIAL and self.line.window is None:
            return plan_recurrence(layout, self.bound, self.line, facts, self.box, self.reduce_box)
        bound = self.bound.anchoring()
        numbers, itemsize = len(bound.components), bound.result.itemsize
        boxes = [within_registers(box, numbers, itemsize) for box in (self.box, self.reduce_box)]
        return plan_scan(layout, Prefixes(bound, bound), self.line, self.mode, facts, *boxes)


@dataclass(frozen=True)
class UnfoldRequest(LineRequest):
    """Powers of a base, the formula's value, from `first_power` on. bound: multiplies them; None for the formula's
    values themselves. dtype: of the results.
    """

    tuned = ("box",)

    bound: Bound | None
    dtype: DType
    first_power: int
    streaming: bool = False

    def in_float32(self) -> Self:
        formula = in_float32(self.formula, stores=self.bound is None)
        bound = None if self.bound is None else around_halves(self.bound, stores=True)
        return replace(self, formula=formula, bound=bound, dtype=stored(self.dtype))

    def plan(self, facts: Facts) -> Plan:
        layout = Layout(self.formula, (self.dtype,), streaming=self.streaming)
        if self.bound is None:
            return plan_map(layout, self.line, self.mode, facts, self.box)
        powers = Powers(self.bound, self.dtype, self.first_power)
        return plan_unfold(layout, powers, self.line, self.mode, facts, self.box)


@dataclass(frozen=True)
class IterateRequest(LineRequest):
    """An iteration of every start of a line, the formula's values."""

    iteration: Iteration

    @property
    def work(self) -> float:
        return float(self.line.length) * self.iteration.length * self.iteration.step.operations

    def in_float32(self) -> Self:
        return replace(self, formula=in_float32(self.formula), iteration=self.iteration.in_float32())

    def plan(self, facts: Facts) -> Plan:
        return plan_iterate(self.formula, self.iteration, self.line, self.mode, facts, self.box)


@dataclass(frozen=True)
class PartialsRequest(LineRequest):
    """The reductions of stretches of a line, from which prefixes follow."""

    bound: Bound

    def in_float32(self) -> Self:
        return replace(super().in_float32(), bound=around_halves(self.bound))

    def plan(self, facts: Facts) -> Plan:
        return plan_upsweep(self.formula, self.bound, self.line, self.mode, facts, self.box)


@dataclass(frozen=True)
class PrefixRequest(PlanRequest):
    """Prefixes from partials. count: of prefixes. length: of the line. queried: for an array of places, not for all
    of them. whole: prefixes, not the partials themselves.
    """

    bound: Bound
    queried: bool
    whole: bool
    count: int
    length: int
    mode: ComputeMode
    box: LaunchBox

    def in_float32(self) -> Self:
        return replace(self, bound=around_halves(self.bound, stores=True))

    def plan(self, facts: Facts) -> Plan:
        queries = Queries(Line(self.count), self.length + 1, self.queried, self.whole)
        return plan_prefix(self.bound, queries, self.mode, facts, self.box)


@dataclass(frozen=True)
class PowerSeriesRequest(PlanRequest):
    """Σ table[k] xᵏ of so many terms, for `length` numbers x."""

    dtype: DType
    terms: int
    length: int
    mode: ComputeMode
    box: LaunchBox

    @property
    def work(self) -> float:
        return 2.0 * self.length * self.terms

    def plan(self, facts: Facts) -> Plan:
        return plan_power_series(self.dtype, self.terms, Line(self.length), self.mode, facts, self.box)


@dataclass(frozen=True)
class SortRequest(PlanRequest):
    """A stable sort of keys, and of what goes with them. streaming: as of a MapRequest."""

    problem: SortProblem
    mode: ComputeMode
    streaming: bool = False

    @property
    def work(self) -> float:
        return float(self.problem.length * self.problem.significant)

    def plan(self, facts: Facts) -> Plan:
        return plan_sort(self.problem, self.mode, facts, streaming=self.streaming)


@dataclass(frozen=True)
class SeriesFunctionRequest(PlanRequest):
    """A function by its series at `length` points. operations: of one point in numbers of two words, roughly."""

    content: SeriesFunction
    operations: int
    length: int
    mode: ComputeMode
    box: LaunchBox

    @property
    def work(self) -> float:
        return float(self.length) * self.operations * self.content.words**2 / 4

    def plan(self, facts: Facts) -> Plan:
        return plan_series_function(self.content, Line(self.length), self.mode, facts, self.box)


@dataclass(frozen=True)
class PowerSumRequest(PlanRequest):
    """A power series of so many terms in numbers of several words, at `length` points."""

    content: PowerSum
    terms: int
    length: int
    mode: ComputeMode
    box: LaunchBox

    @property
    def work(self) -> float:
        return 500.0 * self.length * self.terms

    def plan(self, facts: Facts) -> Plan:
        return plan_power_sum(self.content, self.terms, Line(self.length), self.mode, facts, self.box)
