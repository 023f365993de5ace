"""Reductions and scans along axes beside NumPy."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from support.array_oracle import assert_as_numpy, drawn_values, outcome
from support.oracles import PLAIN, PRIME

import clmapreduce as cm
from clmapreduce.arrays import reductions, scans

pytestmark = pytest.mark.drawn

SHAPES = ((7,), (3, 5), (4, 1, 6), (2, 3, 4, 5), (1,), (), (300, 9), (3, 2000))
EMPTY = ((0,), (0, 3), (3, 0), (2, 0, 3), (0, 0))
NAMES = ("sum", "prod", "min", "max", "argmin", "argmax", "any", "all", "mean", "var", "std")


def axes_for(rng: np.random.Generator, rank: int, name: str) -> Any:
    """A drawn axis argument."""
    choices: list[Any] = [None, *range(-rank, rank)]
    if not name.startswith("arg"):
        choices += [axes for size in range(rank + 1) for axes in itertools.combinations(range(rank), size)]
    return choices[rng.integers(len(choices))]


def close(name: str, a: np.ndarray, axis: Any, expected: np.ndarray) -> tuple[Any, float, Any]:
    """(the result in more digits, units that the device may be off, of which magnitudes). A chain of n additions or
    products is off by n units of them at most.
    """
    units = 64.0 + a.size / max(1, expected.size)
    terms: Any = None
    if name in ("mean", "sum") and a.size:
        terms = np.asarray(getattr(np, name)(np.abs(a.astype("c16" if a.dtype.kind == "c" else "f8")), axis=axis))
        terms = terms.reshape(expected.shape)
    if name in ("mean", "var", "std", "sum", "prod") and a.dtype.kind in "fc":
        wide = a.astype("c16" if a.dtype.kind == "c" else "f8")
        more = np.asarray(getattr(np, name)(wide, axis=axis)).astype(expected.dtype)
        return more.reshape(expected.shape), units, terms
    return expected, units, terms


def check(name: str, a: np.ndarray, axis: Any, keepdims: bool, context: cm.Context) -> None:
    x = cm.array(a, context)
    label = (name, a.dtype, a.shape, axis, keepdims)
    expected, refusal = outcome(lambda: np.asarray(getattr(np, name)(a, axis=axis, keepdims=keepdims)))
    result, error = outcome(lambda: getattr(x, name)(axis=axis, keepdims=keepdims))
    if refusal is not None:
        assert error is not None and issubclass(error, cm.ClMapReduceError), (label, refusal, error)
    elif error is not None:
        assert issubclass(error, cm.DTypeError) and a.dtype.kind == "c", (label, error)
    else:
        exact, units, terms = close(name, a, axis, expected)
        assert_as_numpy(result, exact, units, label, terms)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_drawn_axes(name: str, context: cm.Context, rng: np.random.Generator) -> None:
    for shape in SHAPES:
        dtype = PLAIN[rng.integers(len(PLAIN))]
        a = np.asarray(drawn_values(rng, dtype, shape)) if dtype.kind in "biu" else np.asarray(rng.standard_normal(shape)).astype(dtype)
        check(name, a, axes_for(rng, len(shape), name), bool(rng.integers(2)), context)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_of_nothing(name: str, context: cm.Context) -> None:
    for shape in EMPTY:
        for axis in (None, *range(len(shape))):
            check(name, np.zeros(shape, np.float32), axis, False, context)


@pytest.mark.parametrize("shape", [(3, 200_003), (200_003, 3), (2, 70_001, 3), (33, 4001), (4001, 33), (40_000, 2)], ids=str)
def test_long_lines(shape: tuple[int, ...], context: cm.Context, rng: np.random.Generator) -> None:
    a = rng.integers(-1000, 1000, shape).astype(np.int32)
    x = cm.array(a, context)
    for axis in range(len(shape)):
        for name in ("sum", "max", "argmin"):
            assert_as_numpy(getattr(x, name)(axis=axis), getattr(a, name)(axis=axis), case=(name, axis))
    f = rng.standard_normal(shape).astype(np.float32)
    y = cm.array(f, context)
    for axis in range(len(shape)):
        exact = f.astype("f8")
        assert_as_numpy(y.var(axis=axis), exact.var(axis=axis).astype("f4"), 64)
        assert_as_numpy(y.mean(axis=axis), exact.mean(axis=axis).astype("f4"), 64, terms=np.abs(exact).mean(axis=axis))


@pytest.mark.parametrize("dtype", ["i4", "f4", "i8"])
def test_both_modes(dtype: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for shape, axes in (((40, 33, 5), (1,)), ((700, 5), (0,)), ((5, 300), (1,)), ((PRIME,), (0,)), ((2, 100, 3), (0, 2))):
        a = rng.integers(-50, 50, shape).astype(dtype)
        x = cm.array(np.concatenate([a[:1], a]), context)[1:]
        for name in ("sum", "min", "argmax", "mean"):
            axis: Any = axes if not name.startswith("arg") else axes[0]
            result = reductions._reduced(name, x, axis, False, mode=mode)
            assert_as_numpy(result, np.asarray(getattr(a, name)(axis=axis)), 4, (name, shape, axes))


def test_not_a_number_is_met_as_in_numpy(context: cm.Context) -> None:
    a = np.array([[1, np.nan, 3], [np.inf, 2, -np.inf], [np.nan, np.nan, 0]], np.float32)
    x = cm.array(a, context)
    for name in NAMES:
        for axis in (None, 0, 1):
            with np.errstate(all="ignore"):
                assert_as_numpy(getattr(x, name)(axis=axis), np.asarray(getattr(a, name)(axis=axis)), 8, (name, axis))


def test_keywords(context: cm.Context, rng: np.random.Generator) -> None:
    a = rng.integers(-9, 9, (6, 7)).astype(np.int8)
    x = cm.array(a, context)
    assert_as_numpy(x.sum(dtype="f4", axis=0), a.sum(dtype="f4", axis=0))
    assert_as_numpy(x.sum(dtype="i1"), a.sum(dtype="i1"))
    assert_as_numpy(x.mean(dtype="f4", axis=1), a.mean(dtype="f4", axis=1), 4)
    f = a.astype("f8")
    for ddof in (0, 1, 2.5, 6, 7):
        with np.errstate(all="ignore"), pytest.warns() if ddof >= 6 else np.errstate():
            expected = f.var(axis=0, ddof=ddof)
        assert_as_numpy(cm.array(f, context).var(axis=0, ddof=ddof), expected, 64, ddof)
    for wrong in (2, -3, (0, 0), (0, 2), 1.0, "x", True):
        with pytest.raises(cm.ClMapReduceError):
            x.sum(axis=wrong)
    with pytest.raises(cm.PlaceError):
        x.argmin(axis=(0, 1))


@pytest.mark.parametrize("code", ["i1", "u4", "f2", "f4", "f8", "c8"])
@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_moments_of_values_that_count(name: str, code: str, context: cm.Context, rng: np.random.Generator) -> None:
    """Masks of any shape that broadcasts, axes, ddof, dtypes; lines of which no value counts."""
    wide = rng.uniform(-9, 9, (5, 6, 7)) + (1j * rng.uniform(-9, 9, (5, 6, 7)) if code[0] == "c" else 0)
    a = (abs(wide) if code[0] == "u" else wide).astype(code)
    exact = a.astype("c16" if code[0] == "c" else "f8")
    x = cm.array(a, context)
    for shape in ((5, 6, 7), (6, 1), (7,)):
        mask = rng.random(shape) < 0.6
        mask[:1] &= len(shape) < 3
        for axis in (None, 0, (0, 2), -1):
            options: dict[str, Any] = {} if name == "mean" else {"ddof": float(rng.choice([0, 1, 0.5]))}
            keepdims = bool(rng.integers(2))
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = getattr(exact, name)(axis=axis, where=mask, keepdims=keepdims, **options)
            result = getattr(x, name)(axis=axis, where=mask, keepdims=keepdims, **options)
            # A mean of values up to 9 is off by e = 14 half units of 1, so is every difference; a variance v by
            # 2 e sqrt(v) <= e (1 + v), its root by e. float16 is computed in float32 and rounded once.
            unit = {"f2": 2e-3, "f4": 2e-6, "c8": 2e-6}.get(code, 1e-13)
            assert result.dtype == getattr(a, name)().dtype
            np.testing.assert_allclose(result.to_numpy(), expected, rtol=unit, atol=unit)
    result = getattr(x, name)(0, exact.dtype)
    np.testing.assert_allclose(result.to_numpy(), getattr(exact, name)(0), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_scans(name: str, context: cm.Context, rng: np.random.Generator) -> None:
    for shape in (*SHAPES, *EMPTY, (3, 10_007), (10_007, 3)):
        dtype = PLAIN[rng.integers(8)]
        a = np.asarray(drawn_values(rng, dtype, shape))
        x = cm.array(a, context)
        for axis in (None, *range(len(shape))):
            assert_as_numpy(getattr(x, name)(axis=axis), getattr(a, name)(axis=axis), case=(name, dtype, shape, axis))
    f = rng.uniform(0.5, 1.5, (50, 3)).astype(np.float32)
    assert_as_numpy(getattr(cm.array(f, context), name)(axis=0), getattr(f.astype("f8"), name)(axis=0).astype("f4"), 64)


def test_scans_of_parts_in_both_modes(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    a = rng.integers(-9, 9, (31, 17)).astype(np.int32)
    x = cm.array(np.concatenate([a[:1], a]), context)[1:]
    for axis in (None, 0, 1):
        assert_as_numpy(scans._scanned("sum", x, axis, None, mode), a.cumsum(axis), case=axis)
