"""The plain primitives beside their peers, in one run: NumPy and numba on CPUs, CUB on an NVIDIA GPU.

    python benchmarks/primitives.py --device intel
    python benchmarks/primitives.py --device nvidia --log2n 28

Arrays live on the device (on CPUs that is host memory, on ours as on NumPy's side allocated beforehand). CPU rows race:
ours and each peer take turns, a round in which ours did not get every core is thrown away, and a ratio is the median
over rounds of peer time / our time. GPU rows are device time from the first kernel's start to the last one's end,
medians of 20; CUB's likewise, from the program beside this file. Every result is checked against float64 first.
"""

from __future__ import annotations

import argparse
import datetime
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault(
    "OMP_WAIT_POLICY", "PASSIVE"
)  # a peer's thread that spins after its loop would slow the next contender
os.environ.setdefault("KMP_BLOCKTIME", "0")

import numpy as np
from peers.cuda import find_nvcc

import clmapreduce as cm
import hostsched
from clmapreduce.bench.race import Call, Case, race

BASE = np.float32(1.0000001)


def cases(n: int, context: cm.Context, host_peers: bool) -> list[Case]:
    """The rows for vectors of n float32."""
    rng = np.random.default_rng()
    x, y, out = rng.random(n, dtype=np.float32), rng.random(n, dtype=np.float32), np.zeros(n, np.float32)
    dx, dy, dout = (cm.array(a, context) for a in (x, y, out))
    total, products = x.sum(dtype=np.float64), float(np.dot(x.astype(np.float64), y))
    prefixes = np.cumsum(x, dtype=np.float64)
    powers = np.power(np.float64(BASE), np.arange(1, n + 1))
    bases = np.full(n, BASE)
    loops = numba_loops(x, y) if host_peers else {}
    reduce, dot = cm.Reduce("sum"), cm.Map(lambda a, b: a * b) >> cm.Reduce("sum")
    argmax, lse, scan = cm.Reduce("argmax"), cm.Reduce("logsumexp"), cm.Scan("sum")
    unfold, line = cm.Unfold("product"), cm.Map(lambda a, b: a * b + 1)
    largest = cm.Reduce("maximum")

    def worst(result: Any, expected: Any) -> float:
        return float(np.abs(np.asarray(result) / expected - 1).max())

    def two_pass_logsumexp() -> Any:
        top = x.max()
        return np.log(np.exp(x - top).sum()) + top

    def two_pass_line() -> Any:
        return np.add(np.multiply(x, y, out=out), 1, out=out)

    expected_lse = float(np.log(np.exp(x, dtype=np.float64).sum()))
    result = [
        Case("sum", lambda: reduce(dx), 4 * n, {"NumPy": x.sum, **loops.get("sum", {})},
             lambda r: worst(float(r), total), 6e-8),
        Case("dot", lambda: dot(dx, dy), 8 * n, {"NumPy": lambda: x @ y, **loops.get("dot", {})},
             lambda r: worst(float(r), products), 6e-8),
        Case("maximum", lambda: largest(dx), 4 * n, {"NumPy": x.max}, lambda r: abs(float(r) - float(x.max())), 0),
        Case("argmax", lambda: argmax(dx), 4 * n, {"NumPy": x.argmax}, lambda r: abs(int(r) - int(x.argmax())), 0),
        Case("logsumexp", lambda: lse(dx), 4 * n, {"NumPy, two passes": two_pass_logsumexp},
             lambda r: worst(float(r), expected_lse), 2e-7),
        Case("scan", lambda: scan(dx, out=dout), 8 * n,
             {"cumsum": lambda: np.cumsum(x), "cumsum(out=)": lambda: np.cumsum(x, out=out)},
             lambda r: worst(r, prefixes), 4e-7),
        Case("powers", lambda: unfold(BASE, n, context=context, out=dout), 4 * n,
             {"cumprod": lambda: np.cumprod(bases), "cumprod(out=)": lambda: np.cumprod(bases, out=out)},
             lambda r: worst(r, powers), 2e-7),
        Case("map a*b+1", lambda: line(dx, dy, out=dout), 12 * n, {"NumPy(out=)": two_pass_line},
             lambda r: worst(r, x.astype(np.float64) * y + 1), 2e-7),
    ]  # fmt: skip
    return result


def numba_loops(x: Any, y: Any) -> dict[str, dict[str, Call]]:
    """numba's parallel loops for sum and dot, where numba is installed."""
    try:
        import numba
    except ImportError:
        return {}

    @numba.njit(parallel=True, fastmath=True)
    def total(a):  # type: ignore[no-untyped-def]
        s = np.float32(0)
        for i in numba.prange(a.size):
            s += a[i]
        return s

    @numba.njit(parallel=True, fastmath=True)
    def dot(a, b):  # type: ignore[no-untyped-def]
        s = np.float32(0)
        for i in numba.prange(a.size):
            s += a[i] * b[i]
        return s

    return {"sum": {"numba": lambda: total(x)}, "dot": {"numba": lambda: dot(x, y)}}


def cpu_table(context: cm.Context, n: int, rounds: int) -> None:
    """Prints the CPU rows."""
    print("| what | ours | rate | against peers (their time) | error |\n|---|---|---|---|---|")
    for case in cases(n, context, host_peers=True):
        error = case.check()
        timing = race(case, context, rounds)
        label = ", ".join(
            f"{timing.ratio(name):.2f} × {name} ({1e3 * timing.peer_seconds(name):.1f} ms)" for name in timing.peers
        )
        note = "" if timing.quiet else "; cores were shared"
        rate = case.nbytes / timing.seconds / 1e9
        ours = f"{1e3 * timing.seconds:.2f} ms | {rate:.1f} GB/s"
        print(f"| {case.name} | {ours} | {label}{note} | {error} |", flush=True)


def gpu_table(context: cm.Context, n: int) -> None:
    """Prints the GPU rows, CUB's times beside them where its program can be built."""
    theirs = cub_times(n.bit_length() - 1)
    print("| what | ours | rate | CUB or CUDA | CUB ÷ ours | error |\n|---|---|---|---|---|---|")
    for name in ("memset", "copy"):
        if name in theirs:
            print(f"| {name} | | | {theirs[name]:.4f} ms | | |")
    for case in cases(n, context, host_peers=False):
        error = case.check()
        ms = device_ms(case.ours, context)
        peer = {"powers": "memset", "map a*b+1": "copy"}.get(case.name, case.name)
        scale = 1.5 if peer == "copy" else 1.0  # a map of two inputs moves three arrays, a copy two
        label = f"{theirs[peer] * scale:.4f} ms ({peer}) | {theirs[peer] * scale / ms:.2f}" if peer in theirs else " | "
        print(f"| {case.name} | {ms:.4f} ms | {case.nbytes / ms / 1e6:.0f} GB/s | {label} | {error} |", flush=True)


def device_ms(call: Call, context: cm.Context, repeats: int = 20) -> float:
    """Milliseconds on the device from the first kernel's start to the last one's end; median after warm-up."""
    until = time.perf_counter() + 0.2  # the clocks of an idle GPU take a while to rise
    while time.perf_counter() < until:
        call()
        context.wait()
    times = []
    for _ in range(repeats):
        del context.queue.log[:]
        call()
        context.wait()
        records = [r for r in hostsched.Profile(context.queue).records() if r.label.startswith("cmr_")]
        times.append((max(r.ended for r in records) - min(r.started for r in records)) / 1e6)
    return statistics.median(times)


def queued_ms(call: Call, context: cm.Context, repeats: int = 20) -> float:
    """Milliseconds per call of calls queued one behind another, waiting included once; the median of seven rounds."""
    until = time.perf_counter() + 0.2  # the clocks of an idle GPU take a while to rise
    while time.perf_counter() < until:
        call()
        context.wait()
    times = []
    for _ in range(7):
        begin = time.perf_counter()
        for _ in range(repeats):
            call()
        context.wait()
        times.append((time.perf_counter() - begin) / repeats * 1e3)
    return statistics.median(times)


def cub_times(log2n: int) -> dict[str, float]:
    """Milliseconds by name from CUB, built here with nvcc; empty where there is none."""
    nvcc = find_nvcc()
    if nvcc is None:
        print("(no nvcc: CUB is left out)")
        return {}
    source = Path(__file__).parent / "peers" / "cub.cu"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "cub"
        subprocess.run([nvcc, "-O3", "-std=c++17", "-arch=native", str(source), "-o", str(program)], check=True)
        output = subprocess.run([str(program), str(log2n)], check=True, capture_output=True, text=True).stdout
    return {name: float(ms) for name, ms in (line.split() for line in output.splitlines())}


def call_overhead(context: cm.Context) -> None:
    """Prints the host time of a warm Reduce of 1,000 device-resident elements beside a bare pyopencl launch."""
    import pyopencl as cl

    small = cm.array(np.random.default_rng().random(1000, dtype=np.float32), context)
    reduce = cm.Reduce("sum")
    program = cl.Program(
        context.queue.context, "__kernel void cmr_bare(__global float *o, int n) { o[0] = n; }"
    ).build()
    kernel, queue = cl.Kernel(program, "cmr_bare"), cl.CommandQueue(context.queue.context)
    target, count = cl.Buffer(context.queue.context, cl.mem_flags.READ_WRITE, 64), np.int32(3)

    def launch_alone() -> None:
        kernel.set_args(target, count)
        cl.enqueue_nd_range_kernel(queue, kernel, (256,), (256,))

    def median_us(call: Call, settle: Call) -> float:
        times = []
        for i in range(2000):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
            if i % 20 == 0:
                settle()
        return 1e6 * statistics.median(times[200:])

    launch = median_us(launch_alone, queue.finish)
    ours = median_us(lambda: reduce(small), context.wait)
    print(f"\nA warm Reduce call on 1,000 resident elements: {ours:.1f} µs,")
    print(f"a bare pyopencl launch: {launch:.1f} µs, beyond it: {ours - launch:.1f} µs")


def main() -> None:
    parser = argparse.ArgumentParser(description="The plain primitives beside their peers.")
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--log2n", type=int, default=None, help="length of the vectors; default 26 on CPUs, 28 on GPUs")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    device = cm.select_device(options.device)
    n = 1 << (options.log2n or (26 if device.kind == "cpu" else 28))
    command = " ".join(["python", Path(sys.argv[0]).name, *sys.argv[1:]])
    print(f"{device}\n{datetime.date.today()}, {command}, {n} float32, NumPy {np.__version__}\n")
    if device.kind == "cpu":
        cpu_table(cm.Context(device), n, options.rounds)
    else:
        gpu_table(cm.Context(device, profile=True), n)
    call_overhead(cm.Context(device))


if __name__ == "__main__":
    main()
