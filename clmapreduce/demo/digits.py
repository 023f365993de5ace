"""e from its power series in every precision of a device: sixty digits of it, and errors by number of terms."""

from __future__ import annotations

from fractions import Fraction
from math import factorial
from typing import Any

import numpy as np

import clmapreduce as cm
from clmapreduce.terminal.progress import steps

E = sum((Fraction(1, factorial(k)) for k in range(80)), Fraction(0))
"""Exact to 118 digits."""
TERMS = 52
"""Beyond the last one that a number in four float64 can tell."""
FLOATS: dict[str, Any] = {"float32": np.dtype("f4"), "cm.df": cm.df, "cm.qf": cm.qf}
DOUBLES: dict[str, Any] = {"float64": np.dtype("f8"), "cm.dd": cm.dd, "cm.qd": cm.qd}


def precisions(device: cm.Device) -> dict[str, Any]:
    """The dtypes that a device computes in, by name."""
    return FLOATS | DOUBLES if device.fp64 else FLOATS


def partial_sums(dtype: Any) -> list[Fraction]:
    """1, 1 + 1, 1 + 1 + 1/2, …: sums of TERMS numbers 1/k!, each the one before it over k, in a dtype."""

    def step(term: Any) -> Any:
        k = (cm.index + 1).astype("i4")
        return term / (k if dtype.names else k.astype(dtype))

    sums = cm.Scan("sum")(cm.Unfold(step)(1, TERMS, dtype=dtype))
    return cm.exact(sums).tolist() if dtype.names else [Fraction(float(number)) for number in sums]


def errors(device: cm.Device) -> dict[str, list[float]]:
    """Relative errors of the partial sums by precision; 0 where a sum is e to 118 digits."""
    kinds = precisions(device)
    each = steps(kinds.items(), len(kinds), "precisions")
    return {name: [float(abs(s - E) / E) for s in partial_sums(dtype)] for name, dtype in each}


def sixty_digits(device: cm.Device) -> str:
    """e in the longest numbers that a device has, in words."""
    name, digits = ("cm.qd", 60) if device.fp64 else ("cm.qf", 27)
    value = partial_sums(precisions(device)[name])[-1]
    whole = value.numerator * 10 ** (digits - 1) // value.denominator
    exact = E.numerator * 10 ** (digits - 1) // E.denominator
    text = str(whole)
    right = f"all {digits} digits right" if abs(whole - exact) <= 1 else "WRONG"
    return f"  {text[0]}.{text[1:]}\n  {TERMS} terms in {name}: {right}, error {float(abs(value - E)):.1e}"
