"""`clmapreduce bench`: all rows on one device, checked, timed, printed, written."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import clmapreduce as cm
from clmapreduce.bench.libraries import Libraries
from clmapreduce.bench.lines import line_cases
from clmapreduce.bench.page import as_text, page, summary
from clmapreduce.bench.pairs import pair_cases
from clmapreduce.bench.race import Case, race
from clmapreduce.bench.results import Peer, Row, Run, host_facts, row_of
from clmapreduce.bench.segments import segment_cases
from clmapreduce.doctor.diagnosis import facts_of
from clmapreduce.terminal.fold import fold
from clmapreduce.terminal.progress import steps

FAMILIES = {
    ("sum", "map", "scan", "softmax", "sort"): (line_cases, "elements"),
    ("gaussian", "nearest"): (pair_cases, "points"),
    ("segments", "by key", "spmv"): (segment_cases, "elements"),
}
"""Rows by the functions that make them, and which length of `Lengths` each takes."""
ROWS = tuple(name for names in FAMILIES for name in names)


@dataclass(frozen=True)
class Lengths:
    """How long rows are: numbers of a line, points of a side."""

    elements: int
    points: int


CPU, GPU = Lengths(1 << 25, 8_192), Lengths(1 << 27, 50_000)


def selected(only: str | None, rows: Sequence[str] = ROWS) -> tuple[str, ...]:
    """The names of the rows in a list with commas. Raises ArgumentError for a name that is none."""
    names = tuple(rows) if only is None else tuple(name.strip() for name in only.split(","))
    if unknown := [name for name in names if name not in rows]:
        raise cm.ArgumentError(f"there is no row {', '.join(map(repr, unknown))}; the rows are {', '.join(rows)}")
    return names


def seconds_of(seconds: float) -> float:
    """The time of --seconds. Raises ArgumentError for what is none."""
    if not 0 <= seconds < float("inf"):
        raise cm.ArgumentError(f"--seconds is {seconds}; give a number of seconds, 0 or more")
    return seconds


def run(context: cm.Context, names: Sequence[str], seconds: float, command: str, lengths: Lengths | None = None) -> Run:
    """Measures rows for about so many seconds together, the time of compilers not counted, and prints each."""
    device = context.device
    lengths = lengths or (CPU if device.kind == "cpu" else GPU)
    libraries = Libraries(on_gpu=device.kind != "cpu")
    rows = []
    for case in steps(cases(context, names, libraries, lengths), len(names), "rows"):
        rows.append(measured(case, context, seconds / len(names), libraries))
        print(as_text(rows[-1]), flush=True)
    versions = {"clmapreduce": cm.__version__, **libraries.versions}
    return Run(facts_of(device), host_facts(), versions, command, rows, libraries.left_out)


def cases(context: cm.Context, names: Sequence[str], libraries: Libraries, lengths: Lengths) -> Iterator[Case]:
    """The cases by these names, a family's arrays at a time."""
    for family, (make, length) in FAMILIES.items():
        if set(family) & set(names):
            rng = np.random.default_rng()
            yield from (c for c in make(getattr(lengths, length), context, libraries, rng) if c.name in names)


def measured(case: Case, context: cm.Context, seconds: float, libraries: Libraries) -> Row:
    """The row of a case: not timed where ours is wrong, and without peers that fail."""
    error = case.error(case.ours())
    if not error <= case.limit:
        return row_of(case, error, None, [])
    errors, failed = {}, {}
    for name, peer in case.peers.items():
        try:
            errors[name] = case.error(peer())
        except Exception as exception:  # whatever a library raises: the others go on
            failed[name] = f"{type(exception).__name__}: {exception}"
    timing = race(replace(case, peers={name: case.peers[name] for name in errors}), context, seconds=seconds)
    peers = [
        Peer(name, timing.ratio(name), timing.peer_seconds(name), errors[name], timing.peers[name]) for name in errors
    ]
    return row_of(case, error, timing, [*peers, *(Peer(name, failed=why) for name, why in failed.items())])


def show(
    context: cm.Context, only: str | None, seconds: float, output: Path, json: Path | None, command: str
) -> int:
    """Runs, prints, writes the page to `output` and the data to `json` (default: beside it); 0 where every result of
    ours was right, else 1. Raises ArgumentError for wrong rows or seconds, OSError for files.
    """
    names = selected(only)
    seconds = seconds_of(seconds)
    json = json or output.with_suffix(".json")
    for path in (output, json):
        path.touch()  # a folder that is not there is said before two minutes are over
    begin = time.perf_counter()
    print(fold(f"{context.device.name} ({context.device.platform}); × is a library's time by ours") + "\n")
    result = run(context, names, seconds, command)
    result.save(json)
    output.write_text(page(result), encoding="utf-8")
    for name, why in result.left_out.items():
        print(fold(f"{name} was left out: {why}"))
    print(f"\n{fold(summary(result))}")
    print(fold(f"{time.perf_counter() - begin:.0f} s. The page is {output}, the data {json}."))
    return 0 if result.right else 1
