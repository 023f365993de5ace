"""The search for a launch box: coordinate descent over its numbers, every step measured on the device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

from clmapreduce.calls.prepared import Prepared
from clmapreduce.calls.repeat.ready import ReadyCall
from clmapreduce.device.context import Context
from clmapreduce.device.tuned import Key, text_of
from clmapreduce.formula.formula import Access
from clmapreduce.log import LOG
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Plan
from clmapreduce.planning.boxes import beside, varied
from clmapreduce.tuning.agreement import agree

WORTH = 0.98
"""A box must take less than this share of another one's time."""
FAR = 1.2
"""Behind a box that takes more than this share there is no better one in the same direction."""
HOPELESS, SLOWER = 2.0, 1.03
"""A box that takes so many times as long at first is not measured again; nor one that does so three times running."""
SHORTEST, LONG, ENOUGH = 2e-3, 0.5, 1.0
"""Seconds: calls shorter than the first are timed several at once, calls longer than the second three times only, and
two boxes are compared for about the third.
"""


@dataclass(frozen=True, eq=False)
class Problem(ABC):
    """One launch box to be found. context: where. key: under which it is kept. what: the call in words. mode: of its
    kernels. before: the box that was measured earlier, if any. tolerance: how far results may lie apart, relative to
    the largest of them, by bytes of a number.
    """

    context: Context
    key: Key
    what: str
    mode: ComputeMode
    before: Any
    tolerance: Mapping[int, float]

    @property
    @abstractmethod
    def starts(self) -> Sequence[Any]:
        """Where the search begins, the static box first."""

    @abstractmethod
    def is_legal(self, box: Any) -> bool:
        """Whether kernels can be made for a box that lies beside another one."""

    @abstractmethod
    def plan(self, box: Any) -> Plan | None:
        """The plan in a box; None where it has none on this device."""

    @abstractmethod
    def prepared(self, box: Any, owner: Any) -> Prepared:
        """The call in a box, ready to run on the device. owner: of its plan."""

    def neighbours(self, box: Any, name: str, up: bool) -> Iterator[Any]:
        """The boxes with one number doubled, and doubled again, or halved; none that is illegal."""
        following = beside(box, name, self.mode, up)
        while following is not None and self.is_legal(following):
            yield following
            following = beside(following, name, self.mode, up)

    def launches(self, box: Any) -> Hashable | None:
        """What a box comes to: boxes with the same launches need not be measured both. None where it has no plan."""
        plan = self.plan(box)
        if plan is None:
            return None
        return tuple((text_of(stage.spec), stage.groups, stage.group_size, stage.arguments) for stage in plan.stages)


class Candidate:
    """A box with the call built for it. Its kernels go with it."""

    def __init__(self, problem: Problem, box: Any) -> None:
        self.box, self.context = box, problem.context
        prepared = problem.prepared(box, self)
        prepared.fill()
        inputs = prepared.call.inputs
        self._arrays = [one.value for one in inputs if one.signature.access is not Access.ARGUMENT]
        self._call = ReadyCall(prepared)

    def values(self) -> list[Any]:
        """The results, as NumPy arrays."""
        return [result.to_numpy() for result in self._call(self.context, self._arrays, ())]

    def seconds(self, count: int = 1) -> float:
        """How long one of `count` calls takes that are queued one behind the other."""
        self.context.wait()
        begin = perf_counter()
        for _ in range(count):
            results = self._call(self.context, self._arrays, ())
        self.context.wait()
        seconds = perf_counter() - begin
        del results
        return seconds / count


def compared(champion: Candidate, challenger: Candidate) -> tuple[float, float]:
    """Seconds that a call takes with each: medians of repeats that take turns. The second follows from the ratios of
    neighbouring repeats, which a machine that is busy in between moves less.
    """
    both = (champion, challenger)
    once = [min(one.seconds(), one.seconds()) for one in both]
    if once[1] > HOPELESS * once[0]:
        return once[0], once[1]
    count = max(1, min(64, round(SHORTEST / max(min(once), 1e-6))))
    repeats = 3 if max(once) > LONG else min(15, max(5, round(ENOUGH / (count * sum(once)))))
    times: list[float] = []
    ratios: list[float] = []
    while len(times) < repeats and not (len(times) == 3 and min(ratios) > SLOWER):
        old, new = (one.seconds(count) for one in both)
        times.append(old)
        ratios.append(new / old)
    return median(times), median(times) * median(ratios)


@dataclass(frozen=True)
class SearchResult:
    """The box before a search and the fastest one. before, after: seconds with each."""

    box_before: Any
    box: Any
    before: float
    after: float


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a search. result: of what was measured until then; None where nothing was faster yet."""

    def __init__(self, result: SearchResult | None) -> None:
        super().__init__()
        self.result = result


def search(problem: Problem, deadline: float, after_box: Callable[[], None] = lambda: None) -> SearchResult | None:
    """The fastest box of those that the search meets until the deadline (of `perf_counter`); None where none was
    measured. A box whose kernel is not built or whose results are not those of the static box is left out. after_box:
    is called after every box. Raises Interrupted at Ctrl-C.
    """
    static, *others = problem.starts
    climb = _Climb(problem, Candidate(problem, static), deadline, after_box)
    before = climb.champion
    try:
        climb.begin_at(problem.before)
        before = climb.champion
        for box in others:
            climb.try_box(box)
        climb.descend()
        if not climb.measured:
            return None
        first, last = compared(before, climb.champion)
    except KeyboardInterrupt:
        raise Interrupted(climb.so_far(before)) from None
    if last >= WORTH * first:
        return SearchResult(before.box, before.box, first, first)
    return SearchResult(before.box, climb.champion.box, first, last)


class _Climb:
    """A search on its way. champion: the fastest so far. measured: how many boxes it was compared with."""

    def __init__(self, problem: Problem, static: Candidate, deadline: float, after_box: Callable[[], None]) -> None:
        self.problem, self.champion, self.deadline, self.after_box = problem, static, deadline, after_box
        self.measured = 0
        self._results = static.values()
        self._launches: set[Hashable] = {None, problem.launches(static.box)}
        self._first = self._last = 0.0

    def so_far(self, before: Candidate) -> SearchResult | None:
        """The champion, with the seconds that were measured on the way; None where that is the one before."""
        if self.champion is before:
            return None
        return SearchResult(before.box, self.champion.box, self._first, self._last)

    def begin_at(self, box: Any) -> None:
        """Makes the box in use the champion, if it is right; the static one has to beat it."""
        candidate = None if box is None else self._candidate(box)
        if candidate is not None:
            static, self.champion = self.champion, candidate
            self._challenge(static)

    def try_box(self, box: Any) -> float:
        """The share of the champion's time that a box takes; where that is less than it is WORTH, the box is the
        champion from then on. 1 where it is not measured: not new, wrong, or too late.
        """
        candidate = self._candidate(box)
        share = 1.0 if candidate is None else self._challenge(candidate)
        self.after_box()
        return share

    def _candidate(self, box: Any) -> Candidate | None:
        """The candidate, where it is a new one and right, and there is time."""
        if perf_counter() >= self.deadline or (launches := self.problem.launches(box)) in self._launches:
            return None
        self._launches.add(launches)
        try:
            candidate = Candidate(self.problem, box)
            values = candidate.values()
        except Exception as error:  # a compiler or a driver that refuses
            LOG.info("%r is left out: %s: %s", box, type(error).__name__, error)
            return None
        if not agree(values, self._results, self.problem.tolerance):
            LOG.warning("%r is left out: its results are not those of %r", box, self.problem.starts[0])
            return None
        return candidate

    def _challenge(self, candidate: Candidate) -> float:
        """As `try_box`; a step up is measured twice, for what else the machine was doing."""
        self.measured += 1
        for _ in range(2):
            old, new = compared(self.champion, candidate)
            LOG.info("%.4g ms with %r, %.4g ms with the best so far", 1e3 * new, candidate.box, 1e3 * old)
            if new >= WORTH * old:
                return max(1.0, new / old)
        self.champion = candidate
        self._first, self._last = self._first or old, new
        return new / old

    def descend(self) -> None:
        """One number at a time, until no change of any is faster."""
        moved = True
        while moved:
            moved = False
            for name in varied(self.champion.box, self.problem.mode):
                moved = self._along(name, True) or self._along(name, False) or moved

    def _along(self, name: str, up: bool) -> bool:
        """Doubles, or halves, one number for as long as that is faster, and once more; whether it was."""
        moved, missed = False, False
        for box in self.problem.neighbours(self.champion.box, name, up):
            share = self.try_box(box)
            if share > FAR or (missed and share >= 1):
                break
            missed = share >= 1
            moved = moved or not missed
        return moved
