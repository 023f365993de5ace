"""The passes over all pairs that a reduction takes: one, two for long weights, one for each long part of a
concatenation; and in front of them, numbers of a single side. Each knows its results and its plan.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from clmapreduce.domain.dense import Pairwise
from clmapreduce.dtypes import DType
from clmapreduce.lowering.approximations.separated import separated_pair, waves_of
from clmapreduce.lowering.pair import Pair, PairInput, Role
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Plan
from clmapreduce.planning.few_columns import keeps_rows
from clmapreduce.planning.mode import choose_few
from clmapreduce.reductions.pairs.base import PairBound, PairOutput
from clmapreduce.schemes.pairs.boxes import Box, PairWork, pair_box
from clmapreduce.schemes.pairs.cells.plan import pays_cells, plan_cells, suits_cells
from clmapreduce.schemes.pairs.cpu_forms import faster_pair, is_better_long
from clmapreduce.schemes.pairs.matrix.chained import Chained
from clmapreduce.schemes.pairs.matrix.exponentials import Exponentials
from clmapreduce.schemes.pairs.passes.concat import plan_parts
from clmapreduce.schemes.pairs.passes.side_values import SideValuePlan, plan_asides
from clmapreduce.schemes.pairs.passes.two_pass import LastResults, plan_weighted
from clmapreduce.schemes.pairs.problem import PairProblem
from clmapreduce.schemes.pairs.registry import choose
from clmapreduce.schemes.pairs.rows import Rows
from clmapreduce.schemes.pairs.softmax.plan import Softmax, suited_softmax
from clmapreduce.schemes.pairs.softmax.weights import LongWeights

FEWEST_WEIGHTS, MANY_WEIGHTS, CROWDED = 8, 13, 22
"""Weights from which on two passes may take less time than one, and from which on they do for vectors of any length;
and numbers of a vector and its weights, together, from which on a single pass has too few registers.
"""
CROWDED_PAIRS, OTHER_PAIRS = 10**8, 5 * 10**8
"""Pairs from which on two passes take less time where a single pass has too few registers, and elsewhere."""
WAVES = 4
"""Sines and cosines of a pair from which on they take longer than to keep all coordinates of a row."""
Look: TypeAlias = "Callable[[Plan, PairProblem, Pairwise, ComputeMode, Facts], Plan]"
"""Gives the plan to use in the place of one with the default box."""


@dataclass(frozen=True)
class Setting:
    """What plans depend on beside the formula. box: instead of the default one. look: gives the plan of every pass over
    all pairs, where there is no box.
    """

    domain: Pairwise
    mode: ComputeMode
    facts: Facts
    backend: str = "auto"
    box: Box | None = None
    look: Look | None = None


class Passes(ABC):
    """What a reduction over pairs computes, in plans of one result per row, or per row and number."""

    @property
    @abstractmethod
    def main(self) -> OnePass:
        """The pass over all pairs; of several, the one that stands for them."""

    @property
    @abstractmethod
    def outputs(self) -> tuple[PairOutput, ...]:
        """The result arrays."""

    @abstractmethod
    def plan(self, setting: Setting, outputs: tuple[DType, ...]) -> Plan:
        """The plan. outputs: dtypes of the results in memory."""


@dataclass(frozen=True, eq=False)
class OnePass(Passes):
    """A pair with its operator. wide: the same for a vector of a few numbers as if it were a long one. short: the pair
    with the terms of sums that it walks. looped: with every sum over coordinates as a loop. terms: gives the pair with
    the terms of all sums.
    """

    pair: Pair
    bound: PairBound
    wide: OnePass | None = None
    short: Pair | None = None
    looped: Pair | None = None
    terms: Callable[[], Pair] | None = None

    @property
    def main(self) -> OnePass:
        return self

    @cached_property
    def _whole(self) -> Pair:
        """The pair with the terms of all sums."""
        return self.pair if self.terms is None else self.terms()

    @cached_property
    def _apart(self) -> Pair:
        """The pair with angles that are differences taken apart: with the terms of sums that it walks, where these are
        waves.
        """
        terms = self.pair if self.short is None or waves_of(self.short) < WAVES else self.short
        apart = separated_pair(terms)
        return self.pair if apart is terms else apart

    def _separates(self, mode: ComputeMode, facts: Facts) -> bool:
        """Whether angles that are differences are taken apart: of sums, where many rows share what a column gives."""
        return self.bound.linear and mode is ComputeMode.PARALLEL and facts.kind == "gpu" and facts.fp64

    @property
    def outputs(self) -> tuple[PairOutput, ...]:
        expansion = self.pair.expansion
        return self.bound.outputs if expansion is None else _widened(self.bound, expansion.size)

    def plan(self, setting: Setting, outputs: tuple[DType, ...]) -> Plan:
        domain, mode, facts = setting.domain, setting.mode, setting.facts
        rows = setting.box is None or type(setting.box) is Rows.box_type
        if rows and self.terms is not None and keeps_rows(self.pair, self.bound, domain, mode, facts):
            return self._by_rows(setting, outputs)
        shared = not domain.scattered and self.pair.expansion is None and choose_few(domain, self.bound, mode, facts)
        wide, backend = None if shared else self.wide, setting.backend
        long = PairProblem(wide.pair, wide.bound, outputs, backend=backend, short=wide.short) if wide else None
        own = self._apart if self._separates(mode, facts) else self.pair
        pair = own if shared else faster_pair(own, self.looped, self.bound, mode, facts)
        short = self.short if own is self.pair else None
        problem = PairProblem(pair, self.bound, outputs, shared, backend, long, short)
        if long is not None and is_better_long(long.pair, pair is not self.pair, mode, facts):
            problem = long
        scheme, box = choose(problem, domain, mode, facts, setting.box)
        plan = scheme.plan(box)
        if setting.box is not None:
            return plan
        if setting.look is not None:
            plan = setting.look(plan, problem, domain, mode, facts)
        looped = self.looped
        if looped is None or not suits_cells(looped, problem, domain, mode, facts):
            return plan
        if not pays_cells(plan, looped, problem, domain, facts):
            return plan
        return plan_cells(plan, looped, problem, domain, mode, facts)


    def _by_rows(self, setting: Setting, outputs: tuple[DType, ...]) -> Plan:
        """The plan where an item keeps all coordinates of a row."""
        domain, mode, facts = setting.domain, setting.mode, replace(setting.facts, matrix_units=False)
        problem = PairProblem(self._whole, self.bound, outputs, backend=setting.backend)
        scheme, box = choose(problem, domain, mode, facts, setting.box)
        plan = scheme.plan(box)
        plan = replace(plan, why=f"{plan.why}; an item keeps all coordinates of a row, as columns are few")
        return plan if setting.look is None else setting.look(plan, problem, domain, mode, facts)


@dataclass(frozen=True, eq=False)
class TwoPasses(Passes):
    """Long weights: a pass that finds what every row's exponentials are relative to, one that sums weights, and the
    operator that makes results of both. weights: their arrays, where they are nothing else and factors may be as rough.
    """

    first: OnePass
    second: OnePass | Concatenated
    last: PairBound
    weights: LongWeights | None = None

    @property
    def main(self) -> OnePass:
        return self.second.main

    @property
    def outputs(self) -> tuple[PairOutput, ...]:
        return _widened(self.last, self.size)

    @property
    def size(self) -> int:
        """Numbers of the weights."""
        (sums,) = self.second.outputs
        return int(sums.shape[0])

    def plan(self, setting: Setting, outputs: tuple[DType, ...]) -> Plan:
        usual, softmax = self._two_passes(setting, outputs), self.one_walk(setting)
        if softmax is None:
            return usual
        without = replace(setting, facts=replace(setting.facts, matrix_units=False))
        return softmax.plan(self._last(setting, outputs), usual, self._two_passes(without, outputs))

    def one_walk(self, setting: Setting) -> Softmax | None:
        """The single launch over all pairs that takes the place of both, where it suits."""
        if self.weights is None:
            return None
        exponents = PairProblem(self.first.pair, self.first.bound, (self.main.pair.dtype,), backend=setting.backend)
        return suited_softmax(exponents, self.weights, setting.domain, setting.mode, setting.facts)

    def _two_passes(self, setting: Setting, outputs: tuple[DType, ...]) -> Plan:
        """Marks first, then sums, then results."""
        first = self.first.plan(replace(setting, box=None), (self.main.pair.dtype,))
        second = self.second.plan(setting, (self.main.pair.dtype,))
        last = self._last(setting, outputs)
        return plan_weighted(first, second, last, setting.domain, setting.mode, setting.facts)

    def _last(self, setting: Setting, outputs: tuple[DType, ...]) -> LastResults:
        """What makes results of marks and sums."""
        (marks,) = self.first.bound.outputs[0].shape
        return LastResults(self.last, marks, self.size, outputs, setting.domain.narrow)


@dataclass(frozen=True, eq=False)
class OneOrTwoPasses(Passes):
    """Weights of a few numbers: one pass, or two where these take less time."""

    one: OnePass
    two: TwoPasses

    @property
    def main(self) -> OnePass:
        return self.one

    @property
    def outputs(self) -> tuple[PairOutput, ...]:
        return self.one.outputs

    def plan(self, setting: Setting, outputs: tuple[DType, ...]) -> Plan:
        passes = self.two if setting.box is None and self._pays(setting) else self.one
        return passes.plan(setting, outputs)

    def _pays(self, setting: Setting) -> bool:
        """Whether two passes take less time, both by matrix instructions, or what takes their place."""
        domain, mode, facts, size = setting.domain, setting.mode, setting.facts, self.two.size
        wide = self.two.main.wide
        if self.two.one_walk(setting) is not None:
            return True
        if wide is None or size < FEWEST_WEIGHTS or domain.scattered or domain.pairs < CROWDED_PAIRS:
            return False
        problem = PairProblem(wide.pair, wide.bound, (wide.pair.dtype,), backend=setting.backend, short=wide.short)
        scheme, _ = choose(problem, domain, mode, facts)
        if isinstance(scheme, Chained):
            return size > FEWEST_WEIGHTS
        if not isinstance(scheme, Exponentials) or scheme.factoring is None:
            return False
        if size + sum(len(product.rows) for product in scheme.factoring.products) >= CROWDED:
            return True
        return size >= MANY_WEIGHTS and domain.pairs >= OTHER_PAIRS


@dataclass(frozen=True, eq=False)
class Concatenated(Passes):
    """Parts of a concatenation, which are reduced by themselves, their results side by side."""

    parts: tuple[OnePass, ...]

    @property
    def main(self) -> OnePass:
        return self.parts[0]

    @property
    def outputs(self) -> tuple[PairOutput, ...]:
        (one, *_) = self.main.outputs
        return (PairOutput(one.dtype, (sum(self.sizes),)),)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of every part."""
        return tuple(part.outputs[0].shape[0] for part in self.parts)

    def plan(self, setting: Setting, outputs: tuple[DType, ...]) -> Plan:
        dtype = self.main.pair.dtype
        plans = [part.plan(setting, (dtype,)) for part in self.parts]
        return plan_parts(plans, self.sizes, dtype, outputs[0], setting.domain, setting.mode, setting.facts)


@dataclass(frozen=True, eq=False)
class SideValue:
    """A number of every row, or column, or of all pairs, that is computed before them. input: what it becomes for the
    pairs. pair: it, as the formula of a row, with the operator that sums it over a single column.
    """

    input: PairInput
    pair: Pair
    bound: PairBound

    def plan(self, setting: Setting) -> SideValuePlan:
        """The plan of its launches."""
        pair, domain, mode, facts = self.pair, setting.domain, setting.mode, setting.facts
        count = {Role.ROW: domain.rows, Role.COLUMN: domain.columns}.get(self.input.role, 1)
        batch = domain.batch if any(one.rank for one in pair.inputs) else 1
        alone = Pairwise(count, 1, batch, domain.elements)
        work = PairWork("sum", len(pair.terms.rows), 2, pair.cost, loops=True)
        box = pair_box(work, count * batch, 1, mode, facts)
        plan = Rows(PairProblem(pair, self.bound, (pair.dtype,)), alone, mode, facts).plan(box)
        return SideValuePlan(self.input.name, plan, count, batch, pair.dtype.itemsize)


@dataclass(frozen=True, eq=False)
class WithSideValues(Passes):
    """Numbers of a single side, and the passes that read them."""

    values: tuple[SideValue, ...]
    pairs: Passes

    @property
    def main(self) -> OnePass:
        return self.pairs.main

    @property
    def outputs(self) -> tuple[PairOutput, ...]:
        return self.pairs.outputs

    def plan(self, setting: Setting, outputs: tuple[DType, ...]) -> Plan:
        pairs = self.pairs.plan(setting, outputs)
        return plan_asides([value.plan(setting) for value in self.values], pairs, setting.domain.batch)


def _widened(bound: PairBound, size: int) -> tuple[PairOutput, ...]:
    """The results of an operator, of which the first has so many numbers in the place of its last."""
    one, *others = bound.outputs
    return (PairOutput(one.dtype, (one.shape[0] - 1 + size,)), *others)
