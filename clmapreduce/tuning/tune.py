"""`tune`: launch boxes of pairwise reductions chosen by measurement on the device."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields
from time import perf_counter
from typing import Any

from clmapreduce.calls.progress import Bar, Report, reporting
from clmapreduce.checks import quoted, real
from clmapreduce.device.context import Context, context_of
from clmapreduce.domain.dense import Pairwise
from clmapreduce.errors import FormulaError, ModeError
from clmapreduce.log import LOG
from clmapreduce.modes import ComputeMode
from clmapreduce.notebook import columns
from clmapreduce.plan import Facts, Plan
from clmapreduce.schemes.pairs.boxes import Box
from clmapreduce.schemes.pairs.problem import PairProblem
from clmapreduce.tuning.measured import Key, MeasuredChoice, TunableCall, keep, key_of, recording
from clmapreduce.tuning.search import Problem, search


@dataclass(frozen=True)
class Tuned:
    """The result of a search for a launch box. what: the reduction. box_before, box_after: the box before and after the
    search. ms_before, ms_after: milliseconds of a call on device arrays with each.
    """

    what: str
    box_before: Any
    box_after: Any
    ms_before: float
    ms_after: float

    def __repr__(self) -> str:
        if self.box_after == self.box_before:
            return f"{self.what}: {self.ms_before:.4g} ms with {_box_text(self.box_after, None)}, none is faster"
        before, after = _box_text(self.box_before, self.box_after), _box_text(self.box_after, self.box_before)
        return f"{self.what}: {self.ms_before:.4g} ms with {before}, {self.ms_after:.4g} ms with {after}"

    def _repr_html_(self) -> str:
        """What a notebook shows: times and boxes, before and after."""
        rows = [
            ("before", f"{self.ms_before:.4g}", _box_text(self.box_before, None)),
            ("after", f"{self.ms_after:.4g}", _box_text(self.box_after, None)),
        ]
        note = "none is faster" if self.box_after == self.box_before else ""
        return columns(self.what, ("", "ms", "launch box"), rows, note)


def _box_text(box: Any, other: Any) -> str:
    """A box with the numbers that another one of its class does not share."""
    names = [field.name for field in fields(box)]
    if type(box) is type(other):
        names = [name for name in names if getattr(box, name) != getattr(other, name)]
    return f"{type(box).__name__}({', '.join(f'{name}={getattr(box, name)}' for name in names)})"


def tune(
    function: Callable[[], Any], *, context: Context | None = None, seconds: float = 60.0, progress: Any = None
) -> list[Tuned]:
    """Calls `function` once, and searches a faster launch box for every pairwise reduction in it, on the reduction's
    own arrays.

    This process and later ones then use these boxes, for the same reduction on the same device and sizes of the same
    power of two. A box decides the order of sums: results may differ in their last digits from earlier ones. context:
    the default inside the function. seconds: the limit for all searches together; each candidate must be built (0.1 to
    3 s) and run. progress: as for a call, with seconds instead of operations; a bar also names the reduction. Returns
    the results, in the order of the calls. Raises FormulaError for an argument that is not a function, ModeError for a
    wrong time. Errors of the function are passed on, and the boxes of finished searches are used.
    """
    if not callable(function):
        raise FormulaError(f"cm.tune takes a function without arguments that makes the calls, not {quoted(function)}")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
        raise ModeError(f"seconds={quoted(seconds)} is no time; give a number of seconds, 0 or more")
    total = real(seconds, "seconds")
    with reporting(progress, unit="s") as report:
        tuner = _Tuner(_Budget(total, report))
        with contextlib.nullcontext() if context is None else context_of(context), recording(tuner):
            function()
        report(total, total)
    return tuner.results


class _Budget:
    """The time for all searches, and the function that reports how much of it is used."""

    def __init__(self, seconds: float, report: Report) -> None:
        self._begin, self._seconds, self._report = perf_counter(), seconds, report
        self.deadline = self._begin + seconds

    def report_time(self) -> None:
        """Reports how much time is used."""
        self._report(min(perf_counter() - self._begin, self._seconds), self._seconds)

    def say(self, what: str) -> None:
        """Shows what is tuned now, where there is a bar."""
        if isinstance(self._report, Bar):
            self._report.say(what)


class _Tuner:
    """The recorder: looks for boxes of every kernel that it meets for the first time."""

    def __init__(self, budget: _Budget) -> None:
        self.results: list[Tuned] = []
        self._budget = budget
        self._calls: set[Hashable] = set()
        self._keys: set[Key] = set()

    def __call__(self, call: TunableCall) -> None:
        key = call.key
        if key in self._calls or perf_counter() >= self._budget.deadline:
            return
        self._calls.add(key)
        noting = _Noting(call.on_device())
        noting.call.prepared(noting)
        for number, (key, problem) in enumerate(noting.passes, 1):
            if key not in self._keys:
                self._keys.add(key)
                self._tune(key, problem, f", pass {number} of 2" if len(noting.passes) > 1 else "")

    def _tune(self, key: Key, problem: Problem, which: str) -> None:
        self._budget.say(f"tuning {problem.domain.rows:,} x {problem.domain.columns:,} pairs{which}")
        result = search(problem, self._budget.deadline, self._budget.report_time)
        if result is not None:
            keep(problem.call.context, key, result.box)
            before, after = 1e3 * result.before, 1e3 * result.after
            self.results.append(Tuned(_named(problem) + which, result.box_before, result.box, before, after))
            LOG.info("tuned %r", self.results[-1])


class _Noting:
    """Plans as they would be, and notes the passes over all pairs."""

    def __init__(self, call: TunableCall) -> None:
        self.call = call
        self.passes: list[tuple[Key, Problem]] = []
        self._choice = MeasuredChoice(call.context)

    def __call__(self, static: Plan, layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts) -> Plan:
        if domain.columns:
            key = key_of(self.call.context, static, layout, domain)
            before: Box | None = self._choice.find(static, layout, domain, mode, facts)
            self.passes.append((key, Problem(self.call, layout, domain, mode, facts, before)))
        return self._choice(static, layout, domain, mode, facts)


def _named(problem: Problem) -> str:
    """The reduction in words, with its sizes."""
    domain = problem.domain
    batch = f"{domain.batch} x " if domain.batch > 1 else ""
    return f"{problem.call.name}, {batch}{domain.rows} x {domain.columns}"
