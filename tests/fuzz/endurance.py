"""Many threads make mixed calls on shared and own contexts, each checked against numbers computed beforehand.

`python tests/fuzz/endurance.py --threads 32 --calls 10000 --device intel`; the first wrong result or error ends it, is
shown with the seed, and gives code 1. tests/reliability runs it for a few calls.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]  # the oracles, the library

from support.exact_calls import Family, families  # noqa: E402  # found by the lines above
from support.oracles import assert_same  # noqa: E402

import clmapreduce as cm  # noqa: E402

SEEDS = 4
STUCK = 300.0
"""Seconds without any call ending, after which every thread's stack is shown and the process ends."""

COLLECT = 1.0
"""Seconds between two collections of garbage. At 0.05 they took two thirds of the time."""


def shared_calls(context: cm.Context) -> dict[str, Family]:
    """Calls of objects that all threads use: compiled calls, plans, lazy tensors, arrays on the device."""
    rng = np.random.default_rng(99)
    y = rng.integers(-9, 9, 2003).astype(np.float32)
    bounds = np.array([0, 5, 700, 2003])
    columns, vector = rng.integers(0, 40, 2003), rng.integers(-9, 9, 40).astype(np.float32)
    y_on_device, vector_on_device = cm.array(y, context), cm.array(vector, context)
    dot = (cm.Map("x * y") >> cm.Reduce("sum")).compile([y.shape, y.shape], np.float32, context=context)
    segments = cm.SegmentPlan(bounds, 2003, context=context)
    matrix = cm.SpmvPlan((bounds, columns, y), context=context)
    points = rng.integers(-5, 5, (80, 2)).astype(np.float32)
    distance = ((cm.Vi(points) - cm.Vj(points)) ** 2).sum(-1)
    step = cm.Map("x * 2 + 1")
    products = y * vector[columns]
    return {
        "shared compiled call": Family(lambda c: dot(y_on_device, y_on_device).to_numpy(), np.float32(y.astype("f8") @ y)),
        "shared segment plan": Family(
            lambda c: segments.reduce(y_on_device).to_numpy(), np.add.reduceat(y, bounds[:-1]).astype(np.float32)
        ),
        "shared matrix": Family(
            lambda c: matrix.apply(vector_on_device).to_numpy(), np.add.reduceat(products, bounds[:-1]).astype(np.float32)
        ),
        "shared lazy tensor": Family(
            lambda c: distance.sum(axis=1, context=context),
            ((points[:, None] - points[None]) ** 2).sum((1, 2))[:, None].astype(np.float32),
        ),
        "shared array": Family(lambda c: step(y_on_device).to_numpy(), y * 2 + 1),
    }


class Threads:
    """Threads that make `calls` mixed calls each. `run` returns how many calls were made, by name; raises what the
    first thread that failed raised, with the seed, the thread's number and the call's name noted.
    """

    def __init__(self, device: Any, threads: int, calls: int, seed: int, seconds: float = float("inf")) -> None:
        self.threads, self.calls, self.seed = threads, calls, seed
        self.until = time.monotonic() + seconds
        self.counts: Counter[str] = Counter()
        self.common = cm.Context(device)
        self.own = [cm.Context(device) for _ in range(threads)]
        self.all = [families(k) for k in range(SEEDS)]
        self.of_all = shared_calls(self.common)
        self.error: BaseException | None = None
        self._lock = threading.Lock()

    def run(self) -> Counter[str]:
        workers = [threading.Thread(target=self._work_and_note, args=(k,), daemon=True) for k in range(self.threads)]
        for worker in workers:
            worker.start()
        progress, last, last_collection = -1, time.monotonic(), 0.0
        while any(worker.is_alive() for worker in workers):
            time.sleep(0.05)
            if time.monotonic() > last_collection + COLLECT:
                gc.collect()
                last_collection = time.monotonic()
            if sum(self.counts.values()) > progress:
                progress, last = sum(self.counts.values()), time.monotonic()
            elif time.monotonic() - last > STUCK:
                faulthandler.dump_traceback(all_threads=True)
                raise TimeoutError(f"no call ended for {STUCK} s; seed {self.seed}")
        if self.error is not None:
            raise self.error
        return self.counts

    def _work_and_note(self, number: int) -> None:
        try:
            self._work(number)
        except BaseException as error:
            self.error = self.error or error

    def _work(self, number: int) -> None:
        rng = np.random.default_rng([self.seed, number])
        choices: list[tuple[str, int]] = [(name, k) for k in range(SEEDS) for name in self.all[k]]
        choices += [(name, -1) for name in self.of_all for _ in range(SEEDS)]
        for turn in range(self.calls):
            if self.error is not None or time.monotonic() > self.until:
                return
            name, k = choices[rng.integers(len(choices))]
            family = self.all[k][name] if k >= 0 else self.of_all[name]
            context = self.own[number] if rng.random() < 0.5 else self.common
            try:
                assert_same(family.call(context), family.expected)
            except BaseException as error:
                words = f"seed {self.seed}, thread {number}, call {turn}: {name}, numbers {k}"
                raise AssertionError(words) from error
            with self._lock:
                self.counts[name] += 1


def with_seconds(work: Callable[[], Counter[str]]) -> tuple[Counter[str], float]:
    begin = time.monotonic()
    return work(), time.monotonic() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=32)
    parser.add_argument("--calls", type=int, default=10_000, help="of each thread")
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no further calls after these")
    options = parser.parse_args()
    faulthandler.enable()
    device = cm.select_device(options.device)
    counts, seconds = with_seconds(Threads(device, options.threads, options.calls, options.seed, options.seconds).run)
    print(f"{device!r}\n{options.threads} threads, {sum(counts.values())} calls in {seconds:.0f} s, seed {options.seed}: all right")
    for name, count in sorted(counts.items()):
        print(f"  {count:>8} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
