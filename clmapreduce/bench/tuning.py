"""`clmapreduce tune`: launch boxes of the common calls, measured on one device, checked, printed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import clmapreduce as cm
from clmapreduce.bench.libraries import Libraries
from clmapreduce.bench.race import Case
from clmapreduce.bench.run import CPU, GPU, ROWS, Lengths, cases, seconds_of, selected
from clmapreduce.terminal.fold import fold
from clmapreduce.terminal.progress import steps

CALLS = tuple(name for name in ROWS if name != "sort")
"""The rows of the benchmarks that have launch boxes to tune."""
SHORTER = (Lengths(1 << 17, 1024), Lengths(1 << 21, 4096))
"""A measured box serves sizes of the same power of two, so that calls are tuned in several."""


class _Alone(Libraries):
    """No library takes part."""

    def module(self, name: str) -> Any | None:
        return None


def show(
    context: cm.Context, only: str | None, seconds: float, lengths: Sequence[Lengths] | None = None
) -> int:  # fmt: skip
    """Tunes calls for about so many seconds together, prints each; 0 where every result was right before and after,
    else 1. Raises ArgumentError for calls or seconds that are none.
    """
    names, seconds = selected(only, CALLS), seconds_of(seconds)
    sizes = lengths or (*SHORTER, CPU if context.device.kind == "cpu" else GPU)
    count, begin, right, faster = len(names) * len(sizes), time.perf_counter(), True, 0
    print(fold(f"{context.device.name} ({context.device.platform}); ms of a call before and after") + "\n")
    for number, case in enumerate(steps(_all(context, names, sizes), count, "calls")):
        left = max(0.0, seconds - (time.perf_counter() - begin))
        sound = _is_right(case)
        results = cm.tune(case.ours, context=context, seconds=left / (count - number))
        sound = sound and _is_right(case)
        right = right and sound
        faster += any(one.box_after != one.box_before for one in results)
        print(_line(case, results, sound), flush=True)
    print(f"\n{fold(f'{time.perf_counter() - begin:.0f} s. {faster} of {count} calls have a faster box from now on.')}")
    return 0 if right else 1


def _all(context: cm.Context, names: Sequence[str], sizes: Sequence[Lengths]) -> Iterator[Case]:
    for lengths in sizes:
        yield from cases(context, names, _Alone(on_gpu=False), lengths)


def _is_right(case: Case) -> bool:
    return case.error(case.ours()) <= case.limit


def _line(case: Case, results: Sequence[cm.Tuned], sound: bool) -> str:
    """What a call took, and the box that is used from then on."""
    head = f"{case.name:<9} {case.size}"
    if not sound:
        return f"{head}\n  WRONG: its results are not those of float64"
    if not results:
        return f"{head}\n  no other box was measured"
    return "\n".join([head, *(f"  {_gain(one)}" for one in results)])


def _gain(one: cm.Tuned) -> str:
    return f"{one.ms_before:.4g} ms, no box is faster" if one.box_after == one.box_before else one.words
