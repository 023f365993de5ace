"""Recurrences beside scipy's lfilter and numba, iterates of a function beside NumPy, and exact sequences beside Python.

    python benchmarks/recurrences.py --device intel
    python benchmarks/recurrences.py --device nvidia --log2n 28
    python benchmarks/recurrences.py --exact

Arrays live on the device. On CPUs ours, the scan of a sum and every peer take turns within each repetition; printed are
medians, and medians of the ratios of a repetition: a peer's time / ours, and the scan's time per byte / ours. On GPUs
the scan is the only peer. Results are checked against long doubles or lfilter in float64 first. --exact takes no
device: whole lists 0! … n! as Python's integers, beside one `math.factorial(n)`, gmpy2's list where that is installed,
what Python takes to make the same integers of limbs, and residues modulo 31-bit primes on the device for a small n.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from operator import mul
from statistics import median
from typing import Any

import numpy as np
from primitives import queued_ms
from report import head, row, title

import clmapreduce as cm

Call = Callable[[], Any]
WEIGHTS = (1.6, -0.8)
CHECKED = 50_000
"""Elements that are compared with numbers computed in order."""


@dataclass
class Row:
    """A call of ours, the bytes that it reads and writes, its error, and peers by name."""

    name: str
    ours: Call
    nbytes: int
    error: float
    peers: dict[str, Call] = field(default_factory=dict)


def loops() -> dict[str, Any]:
    """numba's loops, where numba is installed."""
    try:
        import numba
    except ImportError:
        return {}

    @numba.njit
    def linear(a, b, out):  # type: ignore[no-untyped-def]
        y = out.dtype.type(0)
        for k in range(b.size):
            y = a[k] * y + b[k]
            out[k] = y

    @numba.njit
    def tropical(a, b, out):  # type: ignore[no-untyped-def]
        y = out.dtype.type(0)
        for k in range(b.size):
            y = max(a[k] + y, b[k])
            out[k] = y

    @numba.njit
    def moebius(a, b, c, d, out):  # type: ignore[no-untyped-def]
        y = out.dtype.type(0)
        for k in range(a.size):
            y = (a[k] * y + b[k]) / (c[k] * y + d[k])
            out[k] = y

    return {"linear": linear, "tropical": tropical, "moebius": moebius}


def in_order(step: Callable[..., Any], *rows: Any) -> Any:
    """The first numbers, step by step in long doubles."""
    y, results = np.longdouble(0), []
    for values in zip(*(r[:CHECKED].astype(np.longdouble) for r in rows), strict=True):
        y = step(y, *values)
        results.append(y)
    return np.array(results)


def off(result: Any, expected: Any) -> float:
    """The largest error, over the largest number."""
    part = np.asarray(result)[: len(expected)]
    return float(np.abs(part - expected).max() / np.abs(expected).max())


def rows_of(n: int, dtype: str, context: cm.Context) -> list[Row]:
    """The rows for n numbers; the scan of a sum first."""
    rng = np.random.default_rng()
    kind = np.dtype(dtype)
    x, a = rng.standard_normal(n).astype(kind), rng.uniform(-1, 1, n).astype(kind)
    positive = [rng.uniform(0.5, 2, n).astype(kind) for _ in range(4)]
    dx, da = cm.array(x, context), cm.array(a, context)
    dp = [cm.array(p, context) for p in positive]
    out, host = cm.array(np.zeros(n, kind), context), np.zeros(n, kind)
    scan, first, second = cm.Scan("sum"), cm.Recurrence(), cm.Recurrence(2)
    tropical, moebius = cm.Recurrence(kind="max-plus"), cm.Recurrence(kind="moebius")
    per_number, jit = kind.itemsize * n, loops()

    def peers(name: str, *arrays: Any) -> dict[str, Call]:
        return {"numba": lambda: jit[name](*arrays, host)} if name in jit else {}

    def filtered(*weights: float) -> dict[str, Call]:
        try:
            from scipy.signal import lfilter
        except ImportError:
            return {}
        one, below = np.array([1.0], kind), np.array([1.0, *(-w for w in weights)], kind)
        return {"lfilter": lambda: lfilter(one, below, x)}

    def error(call: Call, step: Callable[..., Any], *rows: Any) -> float:
        return off(call(), in_order(step, *rows))

    one = kind.type(0.9)
    own = [kind.type(w) for w in WEIGHTS]
    before = [np.longdouble(0)]

    def two(y: Any, b: Any) -> Any:
        now = own[0] * y + own[1] * before[0] + b
        before[0] = y
        return now

    constant, varying = partial(first, one, dx, out=out), partial(first, da, dx, out=out)
    resonant, chosen = partial(second, own, dx, out=out), partial(tropical, da, dx, out=out)
    fractions = partial(moebius, *dp, out=out)
    return [
        Row("scan of a sum", lambda: scan(dx, out=out), 2 * per_number,
            off(scan(dx, out=out), np.cumsum(x, dtype="f8")), {"cumsum": lambda: np.cumsum(x, out=host)}),
        Row("0.9 y + b", constant, 2 * per_number, error(constant, lambda y, b: one * y + b, x), filtered(0.9)),
        Row("a y + b", varying, 3 * per_number, error(varying, lambda y, a, b: a * y + b, a, x), peers("linear", a, x)),
        Row("order 2", resonant, 2 * per_number, error(resonant, two, x), filtered(*WEIGHTS)),
        Row("max(a + y, b)", chosen, 3 * per_number, error(chosen, lambda y, a, b: max(a + y, b), a, x),
            peers("tropical", a, x)),
        Row("(a y + b) / (c y + d)", fractions, 5 * per_number,
            error(fractions, lambda y, a, b, c, d: (a * y + b) / (c * y + d), *positive), peers("moebius", *positive)),
        *iterates(n, kind, context),
    ]  # fmt: skip


def iterates(n: int, kind: Any, context: cm.Context) -> list[Row]:
    """Sixteen steps of n / 16 starts beside NumPy's, row by row."""
    starts = np.random.default_rng().uniform(0.1, 0.9, n // 16).astype(kind)
    host, resident = np.zeros((16, n // 16), kind), cm.array(starts, context)
    out, unfold = cm.array(host, context), cm.Unfold(lambda a: 3.75 * a * (1 - a))

    def numpys() -> Any:
        host[0] = starts
        for k in range(15):
            host[k + 1] = 3.75 * host[k] * (1 - host[k])
        return host

    error = off(unfold(resident, 16, out=out), numpys())
    ours = partial(unfold, resident, 16, out=out)
    return [Row("16 logistic iterates", ours, host.nbytes, error, {"NumPy": numpys})]


def raced(rows: list[Row], context: cm.Context, rounds: int) -> None:
    """Prints the rows of a CPU: ours, the scan and peers in turns."""

    def once(call: Call) -> float:
        begin = time.perf_counter()
        call()
        context.wait()
        return time.perf_counter() - begin

    scan = rows[0]
    for each in rows:
        calls = {"ours": each.ours, "scan": scan.ours, **each.peers}
        times: dict[str, list[float]] = {name: [] for name in calls}
        for repetition in range(rounds + 1):
            for name, call in calls.items():
                seconds = once(call)
                if repetition:
                    times[name].append(seconds)
        ours = times["ours"]
        of_scan = median(s / o for s, o in zip(times["scan"], ours, strict=True)) * each.nbytes / scan.nbytes
        texts = []
        for name in each.peers:
            ratio = median(p / o for p, o in zip(times[name], ours, strict=True))
            texts.append(f"{name} {1e3 * median(times[name]):.1f} ms, {ratio:.2f} ×")
        row(each.name, f"{1e3 * median(ours):.1f} ms", "; ".join(texts), f"{of_scan:.2f}", f"{each.error:.0e}")


def queued(rows: list[Row], context: cm.Context) -> None:
    """Prints the rows of a GPU beside the scan's rate."""
    scan = queued_ms(rows[0].ours, context)
    for each in rows:
        ms = queued_ms(each.ours, context)
        rate = scan / ms * each.nbytes / rows[0].nbytes
        row(each.name, f"{ms:.3f} ms", "", f"{rate:.2f}", f"{each.error:.0e}")


# ------------------------------------------------------------------------------------------------------ exact sequences
def residues(n: int) -> tuple[float, float]:
    """Seconds of 0! … n! modulo enough primes below 2³¹, and of the integers behind (one in twenty, times twenty)."""
    bits = math.lgamma(n + 1) / math.log(2)
    primes = below_two_to_31(int(bits / 30.9) + 2)
    fields = np.zeros(len(primes), [("r", "i8"), ("p", "i8")])
    fields["r"], fields["p"] = 1, primes
    unfold = cm.Unfold(lambda s: {"r": s["r"] * (cm.index + 1) % s["p"], "p": s["p"]})
    unfold(fields, n + 1)
    begin = time.perf_counter()
    rows = unfold(fields, n + 1)["r"].tolist()
    middle = time.perf_counter()
    whole = math.prod(primes)
    weights = [whole // p * pow(whole // p % p, -1, p) for p in primes]
    sample = range(n, -1, -20)
    for k in sample:
        number = sum(map(mul, rows[k], weights)) % whole
        if number != math.factorial(k):
            raise ValueError(f"{k}! is wrong")
    end = time.perf_counter()
    return middle - begin, (end - middle) * (n + 1) / len(sample)


def below_two_to_31(count: int) -> list[int]:
    """The largest primes below 2³¹: no witness among these four bases fails there (Jaeschke, 1993)."""

    def is_prime(n: int) -> bool:
        odd, twos = n - 1, 0
        while odd % 2 == 0:
            odd, twos = odd // 2, twos + 1
        for base in (2, 3, 5, 7):
            x = pow(base, odd, n)
            if x not in (1, n - 1) and all((x := x * x % n) != n - 1 for _ in range(twos - 1)):
                return False
        return True

    primes: list[int] = []
    candidate = 2**31 - 1
    while len(primes) < count:
        if is_prime(candidate):
            primes.append(candidate)
        candidate -= 2
    return primes


def exact(rounds: int) -> None:
    """Prints the table of exact factorials."""
    try:
        import gmpy2
    except ImportError:
        gmpy2 = None
    head("0! … n!", "bytes", "ours", "math.factorial(n) alone", "gmpy2's list", "int() of that", "from limbs")
    for n in (1000, 5000, 20_000):
        numbers = cm.series.factorials(n, exact=True)
        limbs = [number.to_bytes((number.bit_length() + 7) // 8, "little") for number in numbers]
        big = None if gmpy2 is None else gmpy2.mpz(1)
        lists = [] if big is None else list(accumulate(range(1, n + 1), mul, initial=big))
        calls: list[Call] = [
            lambda n=n: cm.series.factorials(n, exact=True), lambda n=n: math.factorial(n),
            *([] if big is None else [
                lambda n=n, one=big: list(accumulate(range(1, n + 1), mul, initial=one)),
                lambda v=lists: list(map(int, v)),
            ]),
            lambda v=limbs: [int.from_bytes(b, "little") for b in v],
        ]  # fmt: skip
        times: list[list[float]] = [[] for _ in calls]
        for _ in range(rounds):
            for call, seconds in zip(calls, times, strict=True):
                begin = time.perf_counter()
                call()
                seconds.append(time.perf_counter() - begin)
        texts = [f"{1e3 * median(t):.2f} ms" for t in times]
        if gmpy2 is None:
            texts[2:2] = ["not installed", ""]
        row(f"n = {n:,}", f"{sum(map(len, limbs)):,}", *texts)
    on_device, on_host = residues(1000)
    print(f"\n0! … 1,000! by residues: {1e3 * on_device:.1f} ms on the device, {1e3 * on_host:.0f} ms to reconstruct")


def main() -> None:
    parser = argparse.ArgumentParser(description="Recurrences, iterates and exact sequences beside their peers.")
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--log2n", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="rows whose name holds this")
    parser.add_argument("--exact", action="store_true", help="exact sequences instead")
    options = parser.parse_args()
    device = cm.select_device(options.device)
    with cm.Context(device) as context:
        if options.exact:
            title(device, "medians, contenders in turns")
            exact(options.rounds)
            return
        for dtype in ("float32", "float64") if device.fp64 else ("float32",):
            title(device, f"{1 << options.log2n} numbers of {dtype}")
            head("y becomes", "ours", "peers, × theirs / ours", "of the scan's rate", "error")
            scan, *rows = rows_of(1 << options.log2n, dtype, context)
            rows = [scan, *(each for each in rows if options.only in each.name)]
            if device.kind == "cpu":
                raced(rows, context, options.rounds)
            else:
                queued(rows, context)
            print()


if __name__ == "__main__":
    main()
