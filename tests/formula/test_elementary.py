"""Functions of reals on every device: within the stated units of the last place, over their whole range and at its ends.

The bounds are OpenCL 1.2's (its section 7.4), but for powers, logarithms and hyperbolic functions, which are ours where
they are tighter. Exact results are NumPy's in longdouble, 64 bits of mantissa.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.function_errors import ends, errors

import clmapreduce as cm

BOUNDS = {
    "power": 16, "log": 3, "log1p": 2, "log2": 3, "log10": 3, "exp": 3, "exp2": 3, "expm1": 3, "sinh": 4, "cosh": 4,
    "tanh": 5, "arctan": 5, "arctan2": 6, "arcsinh": 4, "arccosh": 4, "arctanh": 5, "sin": 4, "cos": 4, "tan": 5,
}  # fmt: skip
"""Units of the last place of the exact result."""
TIGHTER = {"power": 1.5}
"""Bounds of what the CPU vocabularies compute themselves."""
PAIRS = ("power", "arctan2")
COUNT = 1 << 14


def arguments(name: str, dtype: Any, rng: np.random.Generator) -> list[tuple[Any, ...]]:
    """Every pair of ends; random numbers of every size, and close to 1."""
    info = np.finfo(dtype)
    special = ends(dtype)
    sets = [tuple(v.ravel() for v in np.meshgrid(special, special)) if name in PAIRS else (special,)]
    for width in (1e-4, 0.3, 1.0, 30.0, 1e3, 3e6):
        x = rng.uniform(-width, width, COUNT)
        sets += [(x, rng.permutation(x)), (1 + x, 1e3 * rng.permutation(x))]
    x = np.exp2(rng.uniform(info.minexp, info.maxexp - 1, COUNT)) * rng.choice([-1, 1], COUNT)
    sets += [(x, rng.permutation(x)), (np.abs(x), rng.uniform(-2, 2, COUNT))]
    with np.errstate(over="ignore"):
        return [tuple(v.astype(dtype) for v in each[: 2 if name in PAIRS else 1]) for each in sets]


@pytest.mark.drawn
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", BOUNDS)
def test_errors_stay_within_their_bounds(
    name: str, dtype: Any, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    function = getattr(np, name)
    mapped = cm.Map((lambda a, b: a**b) if name == "power" else getattr(cm.math, name))
    own = not {"intel", "pocl"}.isdisjoint(context.facts.vocabulary.split("+"))
    bound = (TIGHTER if own else BOUNDS).get(name, BOUNDS[name])
    for args in arguments(name, dtype, rng):
        result = np.asarray(mapped(*args, context=context, mode=mode))
        with np.errstate(all="ignore"):
            exact = function(*(a.astype(np.longdouble) for a in args))
        error = errors(result, exact, dtype)
        worst = int(np.argmax(error))
        assert error[worst] <= bound, (error[worst], *(a[worst] for a in args), result[worst], exact[worst])


@pytest.mark.drawn
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["mod", "floor_divide"])
def test_remainders_are_numpys_bit_for_bit(
    name: str, dtype: Any, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    """Ends; random pairs of every ratio; quotients next to whole numbers and halves."""
    function = getattr(np, name)
    mapped = cm.Map((lambda a, b: a % b) if name == "mod" else lambda a, b: a // b)
    sets = arguments("arctan2", dtype, rng)
    whole, b = rng.integers(-1000, 1000, COUNT), rng.uniform(-10, 10, COUNT).astype(dtype)
    near = (whole + rng.choice([0, 0.5], COUNT)).astype(dtype) * b
    sets += [(near, b), (np.nextafter(near, dtype(np.inf)), b), (np.nextafter(near, dtype(-np.inf)), b)]
    sets += [(rng.uniform(-1e7, 1e7, COUNT).astype(dtype), b), (near, dtype(0.1) * np.sign(b))]
    for a, b in sets:
        result = np.asarray(mapped(a, b, context=context, mode=mode))
        with np.errstate(all="ignore"):
            expected = function(a, b)
        same = (result == expected) & (np.signbit(result) == np.signbit(expected)) | (np.isnan(result) & np.isnan(expected))
        wrong = np.flatnonzero(~same)
        assert not wrong.size, [(a[i], b[i], result[i], expected[i]) for i in wrong[:3]]
