"""Long rows of a batch: walked in vectors on CPUs, whatever is read, stored and left over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

LENGTHS = (31, 32, 33, 64, 79, 80, 143, 160, 1000, 1007, 4096)


@pytest.mark.drawn
@pytest.mark.parametrize("code", ["f2", "f4", "f8", "i1", "i4", "u8", "?"])
@pytest.mark.parametrize("length", LENGTHS)
def test_reductions_of_rows(
    code: str, length: int, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    """NumPy's, to the bit for whole numbers and extrema."""
    if code == "f8" and not context.facts.fp64:
        pytest.skip("no float64 here")
    most = {"?": 2, "f2": 10}.get(code, 100)  # sums of float16 end at 65,504
    x = rng.integers(0, most, (17, length)).astype(code)
    if code[0] == "f":
        x += rng.standard_normal(x.shape).astype(code)
        x[3, rng.integers(length)] = np.nan
    for name, exact in (("sum", np.sum), ("maximum", np.max), ("minimum", np.min), ("any", np.any), ("all", np.all)):
        if (name in ("any", "all")) != (code == "?"):
            continue
        result = np.asarray(cm.Reduce(name)(cm.array(x, context), axis=1, mode=mode))
        if name == "sum" and code[0] == "f":
            wide = x.astype(np.longdouble)
            sizes, roundings = np.nan_to_num(np.abs(wide)).sum(1), length if code == "f8" else 1
            np.testing.assert_array_equal(np.isnan(result), np.isnan(wide).any(1))
            off = np.nan_to_num(np.abs(result - wide.sum(1)))
            assert (off <= roundings * np.finfo(code).eps * sizes).all()
        else:
            np.testing.assert_array_equal(result, exact(x, axis=1))


@pytest.mark.drawn
@pytest.mark.parametrize("length", LENGTHS)
def test_pipelines_of_rows(length: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Several walks: values of the row, of all rows, of one number; flags of the row; and indices among values."""
    x, line = (rng.standard_normal(shape).astype("f4") for shape in ((33, length), length))

    def softmax(x: Any) -> Any:
        e = cm.math.exp(x - cm.Reduce("maximum")(x))
        return e / cm.Reduce("sum")(e)

    def mixed(x: Any, line: Any, factor: Any) -> Any:
        large = cm.Reduce("maximum")(x) > 2.0
        return cm.where(large, x * line, x + factor), cm.Reduce("sum")(x * line), cm.Reduce("all")(x < 9)

    wide = x.astype(np.float64)
    grown = np.exp(wide - wide.max(1, keepdims=True))
    result = cm.fuse(softmax)(cm.array(x, context), batch=True, mode=mode)
    np.testing.assert_allclose(np.asarray(result), grown / grown.sum(1, keepdims=True), rtol=3e-6)
    inside = cm.array(np.concatenate(([np.nan], line, [np.nan])).astype("f4"), context)[1:-1]
    for second in (line, np.broadcast_to(line, x.shape), inside):
        values, sums, flags = cm.fuse(mixed)(x, second, np.float32(0.5), batch=True, mode=mode, context=context)
        expected = np.where(wide.max(1, keepdims=True) > 2.0, wide * line, wide + 0.5)
        np.testing.assert_allclose(np.asarray(values), expected, rtol=1e-6, atol=1e-6)
        bound = 1e-6 * np.abs(wide * line).sum(1)
        assert (np.abs(np.asarray(sums) - (wide * line).sum(1)) <= bound).all() and np.asarray(flags).all()
    centred = cm.fuse(lambda x: (x - x.mean()) / x.std() + cm.where(cm.index < 3, 1, 0))
    expected = (wide - wide.mean(1, keepdims=True)) / wide.std(1, keepdims=True) + (np.arange(length) < 3)
    result = centred(x, batch=True, mode=mode, context=context)
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-5, atol=1e-5)
