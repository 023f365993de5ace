"""A process in which a thread writes any numbers to the index arrays of calls that run. Arguments: the array to write, the
mode, the device's place among all.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

import clmapreduce as cm

CALLS = 24
SEGMENTS, LENGTH, COLUMNS = 30_000, 200_000, 5000
RNG = np.random.default_rng(7)


def offsets(dtype: str) -> Any:
    ends = np.sort(RNG.integers(0, LENGTH, SEGMENTS + 1)).astype(dtype)
    ends[0], ends[-1] = 0, LENGTH
    return ends


def wrong(size: int, dtype: str) -> list[Any]:
    """Numbers of every size, of either sign."""
    bits = 8 * np.dtype(dtype).itemsize - 1
    return [RNG.integers(-(1 << b), 1 << b, size).astype(dtype) for b in (bits, 31, 19, 8)]


def scribble(array: Any, original: Any, others: list[Any], stop: threading.Event) -> None:
    while not stop.is_set():
        for other in others:
            np.copyto(array[1:-1], other[1:-1])
            np.copyto(array, original)


def calls(what: str, mode: str, context: cm.Context) -> tuple[Any, list[Callable[[], Any]]]:
    """The array that is written, and the calls that read it."""
    x, values = np.ones(COLUMNS, "f4"), np.ones(LENGTH, "f4")
    how: dict[str, Any] = {"mode": mode, "context": context}
    dtype = "i8" if what == "sources" else "i4"
    rows = offsets(dtype)
    columns = RNG.integers(0, COLUMNS, LENGTH).astype(dtype)
    if what == "offsets":
        return rows, [
            lambda: cm.segmented_reduce(values, rows, validate=False, **how),
            lambda: cm.segmented_reduce(values, rows, "argmin", **how),
            lambda: cm.spmv((rows, columns, values), x, validate=False, **how),
            lambda: cm.segmented_reduce(np.ones((LENGTH, 3), "f4"), rows, "var", validate=False, **how),
            lambda: cm.segmented_reduce(values, rows[:-1], "logsumexp", starts=True, validate=False, **how),
        ]
    if what == "columns":
        return columns, [
            lambda: cm.spmv((rows, columns, values), x, validate=False, **how),
            lambda: cm.spmv((rows, columns, None), np.ones((COLUMNS, 3), "f4"), validate=False, **how),
            lambda: cm.spmv((rows, columns, values), x, add="maximum", **how),
        ]
    if what == "sources":
        places = RNG.integers(0, LENGTH // 2, SEGMENTS).astype(dtype)
        return places, [
            lambda: cm.segmented_reduce(values, rows, sources=places, validate=False, **how),
            lambda: cm.spmv((rows, columns, values), x, sources=places, validate=False, **how),
        ]
    keys = np.repeat(np.arange(LENGTH // 40, dtype="i4"), 40)
    return keys, [
        lambda: cm.reduce_by_key(keys, values, **how),
        lambda: cm.run_lengths(keys, **how),
        lambda: cm.reduce_by_key(keys, values, count="device", key="last", **how),
    ]


def main(what: str, mode: str, place: int) -> None:
    context = cm.Context(cm.devices()[place])
    array, readers = calls(what, mode, context)
    stop, original, others = threading.Event(), array.copy(), wrong(array.size, array.dtype.str)
    for call in readers:
        call()
    if what != "keys":  # what no check sees at all
        for other in others:
            np.copyto(array[1:-1], other[1:-1])
            for call in readers:
                ran(call)
        np.copyto(array, original)
    thread = threading.Thread(target=scribble, args=(array, original, others, stop))
    thread.start()
    try:
        for _ in range(CALLS):
            for call in readers:
                ran(call)
    finally:
        stop.set()
        thread.join()
    context.wait()
    print(CALLS * len(readers), "calls")


def ran(call: Callable[[], Any]) -> None:
    with suppress(cm.ShapeError):  # the check saw it
        call()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
