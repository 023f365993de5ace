"""Errors of functions of one float32 over its whole range: every bit pattern, or every so many-th.

    python benchmarks/accuracy.py --device intel
    python benchmarks/accuracy.py --device nvidia --only "log|exp"
    python benchmarks/accuracy.py --device pocl --every 16
    python benchmarks/accuracy.py --device intel --pairs

Beside NumPy's float64 functions of the same numbers. Units are those of the exact result's last place, where that is a
normal number; `absolute` is the largest distance of results of size 1 or less. `ends` counts results that are infinite,
NaN or of the wrong sign where the exact one, rounded, is not. (A device that takes numbers
below the normal ones for 0 shows it there.)
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from report import head, row, title

import clmapreduce as cm

CHUNK = 1 << 22
TINY, LARGEST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "log2": np.log2,
    "log10": np.log10, "sqrt": np.sqrt, "cbrt": np.cbrt, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "arcsin": np.arcsin, "arccos": np.arccos, "arctan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "arcsinh": np.arcsinh, "arccosh": np.arccosh, "arctanh": np.arctanh, "x ** 0.7": lambda x: x**0.7,
    "x ** -2.5": lambda x: x**-2.5, "1.1 ** x": lambda x: 1.1**x,
}  # fmt: skip


def ours_of(name: str) -> Any:
    """A map of the function."""
    if "**" in name:
        base, exponent = name.split(" ** ")
        return cm.Map((lambda x: np.float32(base) ** x) if exponent == "x" else (lambda x: x ** np.float32(exponent)))
    return cm.Map(getattr(cm.math, name))


IN_PAIRS = ("exp", "log", "sqrt", "sin", "cos", "x ** 0.7", "x ** -2.5")
"""Functions that have faster ones in the inner loops of pairs."""


def in_pairs(name: str) -> Callable[..., Any]:
    """The function as pairs of rows and one column, 0, compute it."""

    def of_pairs(x: Any, context: cm.Context) -> Any:
        argument = cm.Vi(x[:, None]) + cm.Vj(np.zeros((1, 1), np.float32))
        base, _, exponent = name.partition(" ** ")
        values = argument ** float(np.float32(exponent)) if exponent else getattr(argument, base)()
        return np.asarray(values.sum(dim=1, context=context))[:, 0]

    return of_pairs


def exact_of(name: str) -> Callable[[Any], Any]:
    """The function in float64, of constants as float32 has them."""
    if "**" in name:
        base, exponent = name.split(" ** ")
        if exponent == "x":
            return lambda x: np.float64(np.float32(base)) ** x
        return lambda x: x ** np.float64(np.float32(exponent))
    return FUNCTIONS[name]


class Worst:
    """The largest errors so far."""

    def __init__(self) -> None:
        self.ulp, self.at, self.absolute, self.ends = 0.0, 0.0, 0.0, 0

    def take(self, x: Any, result: Any, exact: Any) -> None:
        """x, result: float32. exact: float64."""
        rounded = exact.astype(np.float32)
        finite = np.isfinite(rounded)
        same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
        self.ends += int(np.count_nonzero((np.isfinite(result) != finite) & ~same & (np.abs(rounded) < LARGEST)))
        self.ends += int(np.count_nonzero(~finite & ~same & ~np.isfinite(result)))
        both = finite & np.isfinite(result)
        error = np.where(both, np.abs(result.astype(np.float64) - exact), 0)
        normal = both & (np.abs(rounded) >= TINY)
        units = np.where(normal, error / np.spacing(np.maximum(np.abs(rounded), TINY)).astype(np.float64), 0)
        place = int(np.argmax(units))
        if units[place] > self.ulp:
            self.ulp, self.at = float(units[place]), float(x[place])
        self.absolute = max(self.absolute, float(np.where(np.abs(exact) <= 1, error, 0).max()))


def main() -> None:
    parser = argparse.ArgumentParser(description="Errors of functions over the whole range of float32.")
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--only", default="", help="a regular expression that names must match")
    parser.add_argument("--pairs", action="store_true", help="the functions of inner loops of pairs")
    parser.add_argument("--every", type=int, default=1, help="every so many-th bit pattern, from a random one on")
    options = parser.parse_args()
    context = cm.Context(cm.select_device(options.device))
    title(context.device, "every float32" if options.every == 1 else f"every {options.every}th float32")
    head("function", "worst, ulp", "at", "absolute", "ends", "NumPy's float32, ulp")
    first = int(np.random.default_rng().integers(options.every))
    for name in IN_PAIRS if options.pairs else FUNCTIONS:
        if not re.search(options.only, name):
            continue
        mapped = in_pairs(name) if options.pairs else ours_of(name)
        exact, worst, numpys = exact_of(name), Worst(), Worst()
        for begin in range(first, 1 << 32, CHUNK * options.every):
            bits = np.arange(begin, min(1 << 32, begin + CHUNK * options.every), options.every, dtype=np.uint64)
            x = bits.astype(np.uint32).view(np.float32)
            with np.errstate(all="ignore"):
                expected = exact(x.astype(np.float64))
                worst.take(x, np.asarray(mapped(x, context=context)), expected)
                numpys.take(x, exact(x).astype(np.float32), expected)
        row(name, f"{worst.ulp:.3g}", f"{worst.at:.9g}", f"{worst.absolute:.2g}", str(worst.ends), f"{numpys.ulp:.3g}")


if __name__ == "__main__":
    main()
