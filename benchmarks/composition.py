"""Composed pipelines beside their parts, in one run: fused passes, batches, compiled calls.

    python benchmarks/composition.py --device intel
    python benchmarks/composition.py --device nvidia

Long lines: the plain sum is the yardstick, because it reads as fast as the device can; a share is its time / ours, each
for the bytes that it has to move. Batches: a million 3-vectors projected on others, beside a copy of the same bytes
and, on CPUs, NumPy. CPU rows take turns and shares are medians over rounds; GPU rows are device time, medians of 20.
Compiled calls: host time of a warm call beyond the bare launches (set_args, enqueue, one flush), microseconds. Every
result is checked against float64 first.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
from primitives import device_ms

import clmapreduce as cm
from clmapreduce.bench.race import Call

BASE = np.float32(0.9999999)
NOSOL = -1e30
ROWS = 10**6


@cm.fuse
def project(b: Any, c: Any) -> Any:
    """The projection of b on c."""
    dot, square = cm.Reduce("sum")(b * c), cm.Reduce("sum")(c * c)
    return cm.where(square == 0, NOSOL, c * dot / square)


SQUARES = cm.Map(lambda x: x * x + 1) >> cm.Reduce("sum")
MOMENTS = cm.fuse(lambda x: (cm.Reduce("sum")(x), cm.Reduce("sum")(x * x)))
POWERS = cm.Unfold("product") >> cm.Map(lambda x: x * 2 + 1) >> cm.Reduce("sum")
SOFTMAX = (
    cm.Reduce("maximum")
    >> cm.Map(lambda top, x: cm.math.exp(x - top))
    >> cm.Reduce("sum")
    >> cm.Map(lambda total, e: e / total)
)


class Row:
    """A call on resident arrays, the bytes that it has to move, and its worst relative error."""

    def __init__(self, name: str, ours: Call, nbytes: int, error: float, peer: Call | None = None) -> None:
        self.name, self.ours, self.nbytes, self.error, self.peer = name, ours, nbytes, error, peer


def lines(n: int, context: cm.Context) -> list[Row]:
    """Pipelines over one line of n float32; the plain sum first."""
    rng = np.random.default_rng()
    x, y = rng.random(n, dtype=np.float32), rng.random(n, dtype=np.float32)
    dx, dy, out = cm.array(x, context), cm.array(y, context), cm.array(np.zeros(n, np.float32), context)
    base = cm.array(BASE, context)
    total, squares = x.sum(dtype=np.float64), float(np.dot(x.astype(np.float64), x))
    b = np.float64(BASE)
    powers = 2 * b * (1 - b**n) / (1 - b) + n
    projection = y * (float(np.dot(x.astype(np.float64), y)) / float(np.dot(y.astype(np.float64), y)))
    soft = np.exp(x - x.max(), dtype=np.float64)
    soft /= soft.sum()

    def off(result: Any, expected: Any) -> float:
        return float(np.abs(np.asarray(result) - expected).max() / np.abs(expected).max())

    plain = cm.Reduce("sum")
    return [
        Row("sum of x", lambda: plain(dx), 4 * n, off(plain(dx), total)),
        Row("sum of x*x + 1", lambda: SQUARES(dx), 4 * n, off(SQUARES(dx), squares + n)),
        Row("sums of x and of x*x", lambda: MOMENTS(dx), 4 * n, off(MOMENTS(dx)[1], squares)),
        Row("sum of 2 bᵏ + 1 (no input)", lambda: POWERS(base, n), 4 * n, off(POWERS(base, n), powers)),
        Row("softmax", lambda: SOFTMAX(dx, out=out), 16 * n, off(SOFTMAX(dx), soft)),
        Row("projection", lambda: project(dx, dy, out=out), 16 * n, off(project(dx, dy), projection)),
    ]


def batch(context: cm.Context) -> list[Row]:
    """A copy, then a million 3-vectors projected, each with the same bytes moved."""
    rng = np.random.default_rng()
    b, c = (rng.normal(size=(ROWS, 3)).astype(np.float32) for _ in range(2))
    db, dc, out = cm.array(b, context), cm.array(c, context), cm.array(np.zeros((ROWS, 3), np.float32), context)
    source, target = (cm.array(np.zeros(ROWS * 9 // 2, np.float32), context) for _ in range(2))
    wide = c.astype(np.float64)
    expected = c * ((b * wide).sum(-1, keepdims=True) / (wide * wide).sum(-1, keepdims=True))
    error = float(np.abs(project(db, dc, batch=True).to_numpy() - expected).max() / np.abs(expected).max())

    def numpys() -> Any:
        dot, square = (b * c).sum(-1, keepdims=True), (c * c).sum(-1, keepdims=True)
        return np.where(square == 0, np.float32(NOSOL), c * dot / square)

    copy = cm.Map(lambda x: x)  # faster than the driver's own copy on every device tried
    return [
        Row("copy", lambda: copy(source, out=target), 36 * ROWS, 0.0),
        Row("projection of rows", lambda: project(db, dc, batch=True, out=out), 36 * ROWS, error, numpys),
    ]


def times_of(rows: list[Row], context: cm.Context, rounds: int) -> list[list[float]]:
    """Milliseconds of every row, one list per round; rows take turns on CPUs."""
    if context.device.kind != "cpu":
        return [[device_ms(row.ours, context) for row in rows]]

    def once(call: Call) -> float:
        begin = time.perf_counter()
        call()
        context.wait()
        return 1e3 * (time.perf_counter() - begin)

    for row in rows:
        once(row.ours)
    return [[once(row.ours) for row in rows] for _ in range(rounds)]


def table(rows: list[Row], context: cm.Context, rounds: int) -> None:
    """Prints the rows; the first one is the yardstick of bandwidth."""
    times = times_of(rows, context, rounds)
    print(
        "| what | ms | GB/s moved | of the first row's bandwidth | against NumPy | error |\n|---|---|---|---|---|---|"
    )
    for i, row in enumerate(rows):
        ms = statistics.median(t[i] for t in times)
        share = statistics.median(t[0] / rows[0].nbytes / (t[i] / row.nbytes) for t in times)
        label = ""
        if row.peer is not None and context.device.kind == "cpu":
            label = f"{numpy_ratio(row, context, rounds):.1f} ×"
        rate = row.nbytes / ms / 1e6
        print(f"| {row.name} | {ms:.3f} | {rate:.1f} | {share:.2f} | {label} | {row.error:.0e} |", flush=True)


def numpy_ratio(row: Row, context: cm.Context, rounds: int) -> float:
    assert row.peer is not None
    ratios = []
    for _ in range(rounds):
        begin = time.perf_counter()
        row.peer()
        between = time.perf_counter()
        row.ours()
        context.wait()
        ratios.append((between - begin) / (time.perf_counter() - between))
    return statistics.median(ratios)


def bare_launches(call: Any, arrays: dict[str, Any]) -> Callable[[cl.Event], Any]:
    """The compiled call's own launches in plain pyopencl: typed arguments, prepared; none waits for another."""
    queue = call.context.queue._queue
    prepared = []
    for launch in call._executable.launches:
        kernel = cl.Kernel(launch.kernel.program, launch.kernel.name)
        kernel.set_scalar_arg_dtypes([None if isinstance(a, str) else a.dtype for a in launch._arguments])
        args = [arrays[a].cl if isinstance(a, str) else int(a) for a in launch._arguments]
        prepared.append((kernel, args, (launch._groups * launch._group_size,), (launch._group_size,)))

    def launch_alone(gate: cl.Event) -> Any:
        for kernel, args, total, group in prepared:
            kernel.set_args(*args)
            event = cl.enqueue_nd_range_kernel(queue, kernel, total, group, None, [gate])
        queue.flush()
        return event

    return launch_alone


def compile_line(context: cm.Context, n: int, repeats: int = 2000) -> str:
    """The time of a compiled call beyond the bare launches: of one that makes its result, and of one with `out=`. An
    event holds the device back meanwhile.
    """
    x, y = (cm.array(np.ones(n, np.float32), context) for _ in range(2))
    call = project.compile([(n,), (n,)], np.float32, context=context)
    out = call(x, y)
    launches = call.explain().count("stage ")
    arrays = {"in0": x.buffer, "in1": y.buffer, "out0": out.buffer, **call._scratch}
    ways: dict[str, Callable[[cl.Event], Any]] = {
        "bare": bare_launches(call, arrays),
        "call": lambda gate: call(x, y),
        "call with out": lambda gate: call(x, y, out=out),
        "planned call": lambda gate: project(x, y),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            context.wait()
            gate = x.buffer.last_write = cl.UserEvent(context.queue.context)
            begin = time.perf_counter_ns()
            result = way(gate)
            times[name].append((time.perf_counter_ns() - begin) / 1e3)
            gate.set_status(cl.command_execution_status.COMPLETE)
            context.wait()
            del result
    bares = times.pop("bare")
    beyond = {k: statistics.median(a - b for a, b in zip(v, bares, strict=True)) for k, v in times.items()}
    label = ", ".join(f"{name} {us:+.1f}" for name, us in beyond.items())
    return f"{launches} launch(es), {n} elements: bare {statistics.median(bares):.1f} µs, beyond it {label} µs"


def main() -> None:
    parser = argparse.ArgumentParser(description="Composed pipelines beside what they are made of.")
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--log2n", type=int, default=None, help="length of a line; default 26 on CPUs, 28 on GPUs")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    device = cm.select_device(options.device)
    n = 1 << (options.log2n or (26 if device.kind == "cpu" else 28))
    command = " ".join(["python", Path(sys.argv[0]).name, *sys.argv[1:]])
    print(f"{device}\n{datetime.date.today()}, {command}, {n} float32, NumPy {np.__version__}\n")
    context = cm.Context(device, profile=device.kind != "cpu")
    table(lines(n, context), context, options.rounds)
    print()
    table(batch(context), context, options.rounds)
    print()
    gc.disable()
    plain = cm.Context(device)
    for length in (300, 100_000):
        print(compile_line(plain, length))


if __name__ == "__main__":
    main()
