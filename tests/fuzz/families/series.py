"""Powers, factorials and power series."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
from fuzz.case import Case, Shape
from fuzz.families.lines import drawn_dtype
from fuzz.inputs import in_some_form, results
from support.oracles import assert_near, assert_same, unit
from support.series_points import FUNCTIONS, errors, points

import clmapreduce as cm

COEFFICIENTS: dict[str, Any] = {
    "exp": lambda k: 1 / math.factorial(k), "sin": lambda k: (k % 2) * (-1) ** (k // 2) / math.factorial(k),
    "cos": lambda k: (1 - k % 2) * (-1) ** (k // 2) / math.factorial(k), "sinh": lambda k: (k % 2) / math.factorial(k),
    "cosh": lambda k: (1 - k % 2) / math.factorial(k), "log1p": lambda k: (-1) ** (k + 1) / k if k else 0,
    "atan": lambda k: (k % 2) * (-1) ** (k // 2) / k if k else 0, "geometric": lambda k: 1,
}  # fmt: skip


def near_sum(coefficients: Any, x: Any, result: Any, dtype: np.dtype[Any], shift: Any = 0.0) -> None:
    """Asserts that `result` is Σ c[k] x^k: a power of x rounds k times, its product with c twice, a sum once per term.
    shift: what x itself may be off by.
    """
    wide = np.asarray(x, np.longdouble)
    total, far = np.zeros(wide.shape, np.longdouble), np.zeros(wide.shape, np.longdouble)
    power = np.ones(wide.shape, np.longdouble)
    for k, c in enumerate(coefficients):
        term = np.abs(np.longdouble(c) * power)
        total += np.longdouble(c) * power
        far += term * (k + 4 + len(coefficients)) * unit(dtype)
        if k and np.any(shift):
            far += k * np.abs(np.longdouble(c)) * np.abs(power / np.where(wide == 0, 1, wide)) * shift
        power = power * wide
    tiny = len(coefficients) * float(np.finfo(dtype).tiny) + float(np.finfo(dtype).smallest_subnormal)
    assert np.asarray(result).dtype == dtype, (np.asarray(result).dtype, dtype)
    assert_near(result, total, np.asarray(far * 1.01 + tiny, float))


def by_name(case: Case) -> Shape:
    """exp, sin, … of a number, an array or a device array."""
    name = case.one(list(COEFFICIENTS))
    dtype = np.dtype(case.one(["f4", "f8"] if case.home.fp64 else ["f4"]))
    most = 25 if dtype == np.float32 else 60

    def run(case: Case) -> None:
        terms = case.below(most)
        shape = case.one([(), (), (1,), (case.length(3000),), (5, 7)])
        x = case.rng.uniform(-1, 1, shape).astype(dtype) * dtype.type(case.one([1, 0.5, 2]) if name in ("exp", "sin", "cos") else 0.9)
        argument = in_some_form(case, np.asarray(x))
        how = case.how()
        case.note(f"cm.series.{name}(x, {terms}, mode={how['mode']!r})")
        (result,) = results(case, lambda **k: getattr(cm.series, name)(argument, terms, **k), [argument], how)
        assert result.shape == np.shape(x)
        near_sum([COEFFICIENTS[name](k) for k in range(terms)], x, result, dtype)

    return run


def power_series(case: Case) -> Shape:
    """From derivatives about a centre."""
    dtype = np.dtype(case.one(["f4", "f8"] if case.home.fp64 else ["f4"]))
    with_centre = case.chance(0.4)

    def run(case: Case) -> None:
        terms = case.below(30)
        shape = case.one([(), (3,), (case.length(3000),)])
        derivatives = case.rng.normal(size=terms).astype(dtype)
        x = case.rng.uniform(-1.5, 1.5, shape).astype(dtype)
        centre = float(dtype.type(case.rng.uniform(-0.5, 0.5))) if with_centre else 0.0
        argument, table = in_some_form(case, np.asarray(x)), in_some_form(case, derivatives, "derivatives")
        how = case.how()
        case.note(f"cm.series.power_series(derivatives of {terms}, x, {centre}, mode={how['mode']!r})")
        (result,) = results(case, lambda **k: cm.series.power_series(table, argument, centre, **k), [argument, table], how)
        from_centre = x.astype(np.longdouble) - np.longdouble(centre)
        near_sum([np.longdouble(d) / math.factorial(k) for k, d in enumerate(derivatives)], from_centre, result, dtype, 2 * unit(dtype) * (np.abs(from_centre) + np.abs(centre)))

    return run


def by_digits(case: Case) -> Shape:
    """Functions that are right to the digits asked for."""
    name, digits = case.one(list(FUNCTIONS)), case.one([16, 24, 31, 32, 45, 60])

    def run(case: Case) -> None:
        operands = points(name, case.rng, case.one([1, 2, 33, 70]))
        arguments = [in_some_form(case, x) for x in operands]
        how = case.how()
        case.note(f"cm.series.{name}(…, digits={digits}, mode={how['mode']!r})")
        (result,) = results(case, lambda **k: getattr(cm.series, name)(*arguments, digits=digits, **k), arguments, how)
        with mpmath.workdps(2 * digits + 90):
            off = errors(name, operands, result, digits)
        assert off.max() <= (0.501 if digits == 16 else 1), (operands[0][off.argmax()], off.max())

    return run if case.home.fp64 else by_name(case)


def powers(case: Case) -> Shape:
    """powers and factorials, of floats and of integers."""
    dtype = drawn_dtype(case, "iuff")
    if dtype == np.float16:
        dtype = np.dtype("f4")

    def run(case: Case) -> None:
        how = case.how()
        if case.chance(0.4):
            n, factorial = 0, 1
            limit = int(np.iinfo(dtype).max) if dtype.kind in "iu" else int(np.finfo(dtype).max)
            while n < 60 and factorial * (n + 1) <= limit and not case.chance(0.05):
                n, factorial = n + 1, factorial * (n + 1)
            case.note(f"cm.series.factorials({n}, dtype={dtype})")
            (result,) = results(case, lambda **k: cm.series.factorials(n, dtype=dtype, **k), [], how)
            exact = [math.factorial(k) for k in range(n + 1)]
            if dtype.kind in "iu":
                return assert_same(result, np.array(exact, dtype))
            assert result.dtype == dtype
            wide = np.array([np.longdouble(v) for v in exact])
            return assert_near(result, wide, np.asarray((n + 2) * unit(dtype) * wide, float))
        if dtype.kind in "iu":
            base = int(case.one([0, 1, 2, 3, 5, 7] + ([-1, -2, -3] if dtype.kind == "i" else [])))
            info, n, value = np.iinfo(dtype), 0, 1
            while n < 200 and info.min <= value * base <= info.max and not case.chance(0.03):
                n, value = n + 1, value * base
            case.note(f"cm.series.powers({dtype}({base}), {n})")
            (result,) = results(case, lambda **k: cm.series.powers(dtype.type(base), n, **k), [], how)
            return assert_same(result, np.array([base**k for k in range(n + 1)], dtype))
        n = case.length(5000)
        base = dtype.type(case.one([-1, 1]) * (1 + case.rng.uniform(-1, 1) / max(n, 1)))
        case.note(f"cm.series.powers({base!r}, {n})")
        (result,) = results(case, lambda **k: cm.series.powers(base, n, **k), [], how)
        exact = np.multiply.accumulate(np.append(1, np.full(n, base, np.longdouble)))
        assert result.dtype == dtype
        return assert_near(result, exact, np.asarray((2 * unit(dtype) + 2 * n * 2.0**-53) * np.abs(exact), float))

    return run


FAMILIES = {"by_name": by_name, "by_digits": by_digits, "power_series": power_series, "powers": powers}
