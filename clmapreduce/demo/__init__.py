"""The demonstration: factorials, the power series of e^x, sixty digits of e, both modes side by side."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import clmapreduce as cm
from clmapreduce.demo import crossover, digits
from clmapreduce.demo.picture import draw
from clmapreduce.terminal.fold import fold

TERMS = (1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 18)
POINTS = (-2.0, 0.5, 1.0, 2.0, 5.0, 10.0)
PICTURE_TERMS = range(1, 51)
MANY = 100_000


def run(device: cm.Device, picture: Path) -> None:
    """Prints the demonstration for the device in use, and writes the picture when matplotlib is there.

    Raises OSError where `picture` cannot be written, before anything is computed where its folder does not exist.
    """
    if not picture.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {picture.parent} to write {picture.name} to")
    dtype: type[np.floating[Any]] = np.float64 if device.fp64 else np.float32
    print(f"clmapreduce {cm.__version__} on {device.name}")
    print(fold(f"{device.kind}, {device.version}, {device.compute_units} compute units, {device.platform}", 2))
    print("\nThe factorials: a reduce of 1, 2, 3, ... that keeps its partial products")
    print(_factorial_table(device.modes))
    print(f"\nThe power series of e^x at x = 1, {np.dtype(dtype).name}: by terms, time of one warm call")
    print(_series_table(dtype, device.modes))
    print("\nAt length: time of one warm call, NumPy in and out")
    print(_length_table(dtype, device.modes))
    print("\ne from its series in the longest numbers")
    print(digits.sixty_digits(device))
    print("\nA scan in both modes, each as long as it takes on the device")
    times = crossover.times()
    print(crossover.described(times))
    errors = {f"x = {x:g}": column for x, column in zip(POINTS, convergence(dtype).T, strict=True)}
    print("\n" + draw(picture, errors, float(np.finfo(dtype).eps), digits.errors(device), times))


def median_ms(call: Callable[[], object], repeats: int = 15) -> float:
    """The median time of one warm call in milliseconds; two calls go before, which build and place everything."""
    times = []
    for _ in range(repeats + 2):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times[2:])


def convergence(dtype: type[np.floating[Any]]) -> NDArray[np.float64]:
    """Relative errors of the partial sums of e^x, (terms, points): PICTURE_TERMS down, POINTS across."""
    x = np.array(POINTS, dtype)
    exact = np.exp(np.array(POINTS, np.float64))
    sums = np.array([cm.series.exp(x, terms) for terms in PICTURE_TERMS], np.float64)
    errors: NDArray[np.float64] = np.abs(sums - exact) / exact
    return errors


def _factorial_table(modes: tuple[str, ...], last: int = 20, columns: int = 3) -> str:
    results = {mode: cm.series.factorials(last, dtype=np.int64, mode=mode) for mode in modes}
    exact = [math.factorial(n) for n in range(last + 1)]
    rows = -(-(last + 1) // columns)
    values = results["sequential"].tolist()
    cells = [f"{n:>4}! = {value:<18}" for n, value in enumerate(values)]
    lines = ["".join(cells[row::rows]).rstrip() for row in range(rows)]
    verdicts = [f"{mode} {'exact' if result.tolist() == exact else 'WRONG'}" for mode, result in results.items()]
    return "\n".join([*lines, f"  int64: {', '.join(verdicts)}; {last + 1}! no longer fits in 64 bits"])


def _series_table(dtype: type[np.floating[Any]], modes: tuple[str, ...]) -> str:
    lines = [
        (" " * 28 + "".join(f"{mode:<25}" for mode in modes)).rstrip(),
        ("  terms  sum                " + f"{'error    time':<25}" * len(modes)).rstrip(),
    ]
    for terms in TERMS:
        calls = [partial(cm.series.exp, dtype(1), terms, mode=mode) for mode in modes]
        sums = [float(call()) for call in calls]
        columns = [f"{abs(s - math.e):.1e}  {median_ms(call):.3f} ms" for s, call in zip(sums, calls, strict=True)]
        lines.append(f"  {terms:>5}  {sums[0]:<17.15f}  " + "  ".join(f"{column:<23}" for column in columns).rstrip())
    return "\n".join(lines)


def _length_table(dtype: type[np.floating[Any]], modes: tuple[str, ...]) -> str:
    last = 170 if dtype is np.float64 else 34
    x = np.linspace(-1, 1, MANY, dtype=dtype)
    calls: dict[str, Callable[..., object]] = {
        f"0! ... {last}!": partial(cm.series.factorials, last, dtype=dtype),
        f"e^x, {MANY:,} values of x, 18 terms": partial(cm.series.exp, x, 18),
    }
    lines = [" " * 38 + "".join(f"{mode:>12}" for mode in modes)]
    for name, call in calls.items():
        times = [median_ms(partial(call, mode=mode)) for mode in modes]
        lines.append(f"  {name:36}" + "".join(f"{ms:>9.3f} ms" for ms in times))
    return "\n".join(lines)
