"""Functions in the inner loops of pairs: within their stated bounds of the exact ones, and at their ends as NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.function_errors import ends, errors, marked_nans

import clmapreduce as cm

COUNT = 1 << 14
FORMULAS = {
    "log": (lambda x, y: (x + y).log(), np.log), "sin": (lambda x, y: (x + y).sin(), np.sin),
    "cos": (lambda x, y: (x + y).cos(), np.cos), "atan": (lambda x, y: (x + y).atan(), np.arctan),
    "power": (lambda x, y: x**y, np.power),
}  # fmt: skip
"""Of a row and a column; the column of the first four is 0."""


def one_column(name: str, x: Any, y: Any, context: cm.Context, **options: Any) -> Any:
    """The function of each row and of one column, y."""
    formula = FORMULAS[name][0](cm.Vi(x[:, None]), cm.Vj(np.array([[y]], x.dtype)))
    return np.asarray(formula.sum(dim=1, context=context, **options))[:, 0]


def arguments(name: str, dtype: Any, rng: np.random.Generator) -> list[Any]:
    """Ends, together and each among fifteen usual numbers: the longest vector; random numbers of every size, and close to
    1 and to multiples of pi.
    """
    info = np.finfo(dtype)
    x = rng.uniform(-1, 1, COUNT)
    alone = rng.uniform(0.5, 2, 16 * len(ends(dtype))).astype(dtype)
    alone[rng.integers(16) :: 16] = ends(dtype)
    sets = [ends(dtype), alone, *(width * x for width in (1e-4, 1.0, 30.0, 6e3, 3e6)), 1 + 0.5 * x, 1 + 1e-4 * x]
    sets += [np.exp2(rng.uniform(info.minexp, info.maxexp - 1, COUNT)), np.pi / 2 * rng.integers(-4000, 4000, COUNT)]
    return [v.astype(dtype) for v in sets]


def bound_of(name: str, dtype: Any, exponent: float, context: cm.Context) -> float:
    """3 for logarithms, 3 + |y| for powers. NVIDIA's instructions: 2e-6 of a logarithm, 1.85e-6 of a power, which are
    34 and 31 units of the last place at most; of a sine or cosine 2^-20.9 of 1, which is 8.6 units, and 2 units by the
    rounding of its angle, which is at most pi.
    """
    if context.facts.vocabulary == "nvidia" and dtype == np.float32 and name != "atan":
        return {"log": 34.0, "sin": 11.0, "cos": 11.0}.get(name, 31.0 if exponent <= 4 else 3.0 + exponent)
    return {"log": 3.0, "power": 3.0 + exponent}.get(name, 4.0)


@pytest.mark.drawn
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FORMULAS)
def test_fast_functions_stay_within_their_bounds(
    name: str, dtype: Any, context: cm.Context, rng: np.random.Generator
) -> None:
    """Units of the last place of the result, for sines those of 1 where it is less than 1."""
    columns = [0.0] if name != "power" else [-0.7, 0.3, 7.7, -20.3, 31.9, 40.0, 0.0, -1.0, 3.0, np.inf, np.nan]
    for x in arguments(name, dtype, rng):
        for y in columns:
            with np.errstate(all="ignore"):
                result = one_column(name, x, dtype(y), context)
                wide = x.astype(np.longdouble)
                exact = FORMULAS[name][1](*((wide, np.longdouble(dtype(y))) if name == "power" else (wide,)))
            error = errors(result, exact, dtype)
            if name in ("sin", "cos"):
                size = np.abs(np.where(np.isfinite(exact), exact, 1)).astype(np.float64)
                error = np.where(np.isfinite(error), error * np.minimum(size, 1), error)
            bound = bound_of(name, dtype, abs(y), context) if np.isfinite(y) else 0.5
            worst = int(np.argmax(error))
            assert error[worst] <= bound, (error[worst], x[worst], y, result[worst], exact[worst])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_root_beside_its_inverse(dtype: Any, context: cm.Context, rng: np.random.Generator) -> None:
    """The root that is made from the inverse; 0, infinities and NaN as NumPy has them."""
    info = np.finfo(dtype)
    x = np.exp2(rng.uniform(info.minexp / 2, info.maxexp / 2 - 1, COUNT)).astype(dtype)
    x = np.concatenate([x, np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -3], dtype)])
    square = cm.Vi(x[:, None]).sqdist(cm.Vj(np.zeros((1, 1), dtype)))
    root = square.sqrt()
    how: dict[str, Any] = {"dim": 1, "context": context}
    result = np.asarray(cm.LazyTensor.concat(root, 1 / root).sum(**how))
    exact = np.abs(x)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(result[:, 0], exact, rtol=4 * info.eps)
        np.testing.assert_allclose(result[:, 1], 1 / exact, rtol=4 * info.eps)


@pytest.mark.parametrize("options", [{"precision": "exact"}, {"use_fast_math": False}], ids=str)
def test_exact_functions_are_those_of_maps(options: Any, context: cm.Context, rng: np.random.Generator) -> None:
    """No kernel names a fast function, and results are within OpenCL's bounds."""
    x = rng.uniform(0.1, 9, (300, 1)).astype("f4")
    wide = x[:, 0].astype(np.longdouble)
    y = np.zeros((1, 1), "f4")
    for name in ("log", "sin", "cos", "exp", "sqrt"):
        reduced = getattr(cm.Vi(x) + cm.Vj(y), name)().sum(dim=1, call=False, context=context, **options)
        assert "_fast" not in reduced.source()
        assert errors(np.asarray(reduced())[:, 0], getattr(np, name)(wide), np.float32).max() <= 4, name
    quotient = (1 / (cm.Vi(x) + cm.Vj(y))).sum(dim=1, call=False, context=context, **options)
    assert "_fast" not in quotient.source()
    assert errors(np.asarray(quotient())[:, 0], 1 / wide, np.float32).max() <= 2.5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["exp", "exp of a square", "logsumexp"])
def test_nan_stays_whatever_its_bits_are(name: str, dtype: Any, context: cm.Context, rng: np.random.Generator) -> None:
    """Other rows keep their results."""
    x = rng.uniform(0.5, 2, 300).astype(dtype)
    nans = marked_nans(dtype)
    x[: 8 * len(nans) : 8] = nans
    difference = cm.Vi(x[:, None]) - cm.Vj(np.zeros((5, 1), dtype))
    reduced = {
        "exp": lambda: difference.exp().sum(dim=1, context=context),
        "exp of a square": lambda: (-(difference**2)).exp().sum(dim=1, context=context),
        "logsumexp": lambda: difference.logsumexp(dim=1, context=context),
    }[name]()
    np.testing.assert_array_equal(np.isnan(np.asarray(reduced)[:, 0]), np.isnan(x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_of_exponents_that_are_never_above_0(dtype: Any, context: cm.Context, rng: np.random.Generator) -> None:
    """Gaussians of few and of many coordinates take the shorter function; exponents of any sign do not. Where one pair is
    computed at a time, as on GPUs, it takes no factor.
    """
    product = "_product" if context.facts.kind == "cpu" else ""
    for dim in (3, 40):
        x, y = (rng.normal(size=(n, dim)).astype(dtype) for n in (70, 90))
        x[0], x[1, 0], x[2] = 1e30, np.inf, 0.0
        y[3] = 0.0
        square = cm.Vi(x).sqdist(cm.Vj(y))
        gauss = (-square / 7).exp().sum(dim=1, call=False, context=context, mode="sequential")
        assert f"exp2{product}_decay" in gauss.source()
        with np.errstate(all="ignore"):
            squares = ((x[:, None].astype("f8") - y.astype("f8")) ** 2).sum(-1)
            expected = np.exp(-squares / 7).sum(1)
        result = np.asarray(gauss())[:, 0]
        np.testing.assert_allclose(result, expected, rtol=3e-6 if dtype == np.float32 else 1e-13, atol=1e-36)
        for other in ((square / 7).exp(), (cm.Vi(x) | cm.Vj(y)).exp(), (-square * cm.Pm(np.array([2], dtype))).exp()):
            source = other.sum(dim=1, call=False, context=context, mode="sequential").source()
            assert f"exp2{product or '_fast'}" in source and "decay" not in source


def test_other_words_are_refused(context: cm.Context) -> None:
    x = np.ones((3, 1), "f4")
    with pytest.raises(cm.ModeError, match="use one of auto, exact"):
        (cm.Vi(x) + cm.Vj(x)).sum(dim=1, precision="fast", context=context)
    with pytest.raises(cm.ArgumentError, match="use_fast_math"):
        (cm.Vi(x) + cm.Vj(x)).sum(dim=1, use_fast_math=2, context=context)
