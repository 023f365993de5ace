"""Sums of numbers in several floats beside sums of the same bytes of plain floats, which read as fast as a device can.

    python benchmarks/precision.py --device intel
    python benchmarks/precision.py --device nvidia --log2n 26 --only cm.d

Arrays live on the device. On CPUs both sums take turns; the columns are our median, and medians of ratios of the wall
time and of the processor time (all cores together), which other load does not change much. On GPUs calls are queued and
there is no processor time. Every sum is compared with the exact one first, beside the bound of the guide.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from primitives import queued_ms
from report import head, row, title

import clmapreduce as cm

BLOCK = 1 << 14
"""Numbers that an array repeats, so that its exact sum is quick."""
KINDS = {"cm.dd": cm.dd, "cm.qd": cm.qd, "cm.df": cm.df, "cm.qf": cm.qf}
SUM = cm.Reduce("sum")
Call = Callable[[], Any]


def block_of(dtype: Any) -> Any:
    """Random numbers with words of their own, one beside the other in size."""
    rng = np.random.default_rng(33)
    block = np.zeros(BLOCK, dtype)
    part = rng.standard_normal(BLOCK).astype(dtype[0])
    for name in dtype.names:
        block[name] = part
        part = (part * rng.uniform(-0.4, 0.4, BLOCK) * np.finfo(dtype[0]).eps).astype(dtype[0])
    return block


def beyond_bound(total: Any, block: Any, copies: int, dtype: Any) -> float:
    """The error of a sum of `copies` blocks, relative to its bound."""
    exact, n = cm.exact(block), copies * BLOCK
    u = Fraction(float(np.finfo(dtype[0]).eps)) / 2
    unit = (3 * n + 300) * u**2 if len(dtype) == 2 else (8 * n + 500) * u**4
    error = abs(cm.exact(total) - copies * sum(exact))
    return float(error / (unit * copies * sum(map(abs, exact))))


def raced(ours: Call, plain: Call, rounds: int) -> tuple[float, float, float]:
    """Milliseconds of ours; ratios plain / ours of wall and of processor time."""

    def once(call: Call) -> tuple[float, float]:
        wall, used = time.perf_counter(), time.process_time()
        call().to_numpy()
        return time.perf_counter() - wall, time.process_time() - used

    pairs = [(once(plain), once(ours)) for _ in range(rounds + 2)][2:]
    wall, used = (statistics.median(p[k] / o[k] for p, o in pairs) for k in (0, 1))
    return 1e3 * statistics.median(o[0] for _, o in pairs), wall, used


def rows_of(n: int, only: str, context: cm.Context) -> dict[str, tuple[Call, Call, int, float]]:
    """By name: our sum, the plain one of the same bytes, these bytes, and the error relative to its bound."""
    rows = {}
    for name, dtype in KINDS.items():
        if only not in name or (dtype[0] == np.float64 and not context.device.fp64):
            continue
        block = block_of(dtype)
        x = np.tile(block, n // BLOCK)
        numbers, words = cm.array(x, context), cm.array(x.view(dtype[0]), context)
        error = beyond_bound(SUM(numbers).to_numpy(), block, n // BLOCK, dtype)
        rows[name] = (lambda a=numbers: SUM(a)), (lambda a=words: SUM(a)), x.nbytes, error
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Sums of numbers in several floats beside those of plain floats.")
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--log2n", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="dtypes whose name holds this")
    options = parser.parse_args()
    device = cm.select_device(options.device)
    with cm.Context(device) as context:
        title(device, f"sums of {1 << options.log2n} numbers")
        head("dtype", "ours", "GB/s", "plain / ours, wall", "processor", "error / bound")
        for name, (ours, plain, nbytes, error) in rows_of(1 << options.log2n, options.only, context).items():
            if device.kind == "cpu":
                ms, wall, used = raced(ours, plain, options.rounds)
                processor = f"{used:.2f}"
            else:
                ms = queued_ms(ours, context)
                wall, processor = queued_ms(plain, context) / ms, ""
            mark = f"{error:.0e}" if error <= 1 else f"WRONG ({error:.0e})"
            row(name, f"{ms:.2f} ms", f"{nbytes / ms / 1e6:.1f}", f"{wall:.2f}", processor, mark)


if __name__ == "__main__":
    main()
