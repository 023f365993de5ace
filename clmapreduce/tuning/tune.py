"""`tune`: launch boxes chosen by measurement on the device."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, fields
from time import perf_counter
from typing import Any

from clmapreduce.calls.prepared import Prepared
from clmapreduce.calls.progress import Bar, Report, reporting
from clmapreduce.calls.recording import recording
from clmapreduce.checks import quoted, real
from clmapreduce.device.context import Context, context_of
from clmapreduce.device.plans.cache import renew_calls
from clmapreduce.device.tuned import Key, keep
from clmapreduce.errors import FormulaError, ModeError
from clmapreduce.log import LOG
from clmapreduce.notebook import columns
from clmapreduce.tuning.measured import TunableCall
from clmapreduce.tuning.passes import pass_problems
from clmapreduce.tuning.requests import CallProblems, static_request
from clmapreduce.tuning.search import Interrupted, Problem, SearchResult, search


@dataclass(frozen=True)
class Tuned:
    """The result of a search for a launch box. what: the call, with its sizes. box_before: in use before, box_after:
    since; ms_before, ms_after: milliseconds that a call on device arrays took with each.
    """

    what: str
    box_before: Any
    box_after: Any
    ms_before: float
    ms_after: float

    def __repr__(self) -> str:
        return f"{self.what}: {self.words}"

    @property
    def words(self) -> str:
        """The times, and what differs between the boxes."""
        if self.box_after == self.box_before:
            return f"{self.ms_before:.4g} ms with {_box_text(self.box_after, None)}, none is faster"
        before, after = _box_text(self.box_before, self.box_after), _box_text(self.box_after, self.box_before)
        return f"{self.ms_before:.4g} ms with {before}, {self.ms_after:.4g} ms with {after}"

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
    function: Callable[..., Any], *arguments: Any, context: Context | None = None, seconds: float = 60.0,
    progress: Any = None,
) -> list[Tuned]:  # fmt: skip
    """Calls `function` once, with arguments if there are some, and finds launch boxes for the calls that it makes, on
    their own arrays: maps, reductions, scans, unfolds, pipelines, segments, keys, sparse matrices and pairs.

    These boxes are used from then on, by this process and those that begin later, wherever the same call meets sizes of
    the same power of two on the same device with the same driver. A box decides the order of sums: results may differ
    in their last digits from those before; a box whose results differ by more is refused, and the log says so. context:
    the default inside the function. seconds: for all searches together; a search takes as long as the candidates need
    to be built (0.1 to 3 s each) and run. progress: as of a call, of seconds and `seconds`; a bar also says what is
    tuned. Returns the results, in the order of the calls. Raises FormulaError for what is no function, ModeError for a
    time that is none and where no call can be tuned; what the function raises goes through. Boxes that were found
    before an error, or before Ctrl-C, are used.
    """
    if not callable(function):
        raise FormulaError(f"cm.tune takes a function that makes the calls, not {quoted(function)}")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
        raise ModeError(f"seconds={quoted(seconds)} is no time; give a number of seconds, 0 or more")
    total = real(seconds, "seconds")
    with reporting(progress, unit="s") as report:
        tuner = _Tuner(_Budget(total, report))
        with contextlib.nullcontext() if context is None else context_of(context), recording(tuner):
            renew_calls()  # a ready call would run unseen
            function(*arguments)
        report(total, total)
    if not tuner.met:
        raise ModeError(
            f"cm.tune met no call that can be tuned in {quoted(function)}; it takes a function that makes calls on "
            'arrays with elements, such as cm.tune(cm.Reduce("sum"), x) or cm.tune(lambda: train_one_step(x)). '
            "Sorts, recurrences, series, streamed arrays, several devices and compiled pipelines have no box to tune"
        )
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
    """The recorder: looks for boxes of every call that it meets for the first time. met: whether one could be tuned."""

    def __init__(self, budget: _Budget) -> None:
        self.results: list[Tuned] = []
        self.met = False
        self._budget = budget
        self._calls: set[Hashable] = set()
        self._keys: set[Key] = set()

    def __call__(self, call: Any) -> None:
        with recording(None):
            problems = self._of_request(call) if isinstance(call, Prepared) else self._of_pairs(call)
            for problem, which in problems:
                self._tune(problem, which)

    def _is_new(self, call: Hashable) -> bool:
        """Whether a call is met for the first time, while there is time."""
        self.met = True
        if call in self._calls or perf_counter() >= self._budget.deadline:
            return False
        self._calls.add(call)
        return True

    def _of_pairs(self, call: TunableCall) -> Iterator[tuple[Problem, str]]:
        """The problems of a reduction over pairs, each with words that tell it from the others."""
        if self._is_new(call.key):
            passes = pass_problems(call)
            for number, problem in enumerate(passes, 1):
                yield problem, f", pass {number} of {len(passes)}" if len(passes) > 1 else ""

    def _of_request(self, call: Prepared) -> Iterator[tuple[Problem, str]]:
        """The same for any other call."""
        static = static_request(call)
        if static is not None and self._is_new(static):
            problems = CallProblems(call, static)
            for number, name in enumerate(problems.names, 1):
                yield problems.problem(name), f", box {number} of {len(problems)}" if len(problems) > 1 else ""

    def _tune(self, problem: Problem, which: str) -> None:
        if problem.key in self._keys:
            return
        self._keys.add(problem.key)
        self._budget.say(f"tuning {problem.what}{which}")
        try:
            result = search(problem, self._budget.deadline, self._budget.report_time)
        except Interrupted as interrupt:
            self._keep(problem, which, interrupt.result)
            raise
        self._keep(problem, which, result)

    def _keep(self, problem: Problem, which: str, result: SearchResult | None) -> None:
        if result is not None:
            keep(problem.context.device, problem.key, result.box)
            before, after = 1e3 * result.before, 1e3 * result.after
            self.results.append(Tuned(problem.what + which, result.box_before, result.box, before, after))
            LOG.info("tuned %r", self.results[-1])
