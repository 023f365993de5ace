"""float16 and bfloat16 arrays: computed with as float32, from every bit pattern and back. Every reduction of them is tried with those of
other dtypes.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.tuning.agreement import agree
from clmapreduce.tuning.passes import TOLERANCE

CODES = ["float16", "bfloat16"]

pytestmark = pytest.mark.drawn


def every(dtype: str) -> Any:
    """All numbers of 16 bits as rows: zeros, subnormals, infinities and NaN among them."""
    return np.arange(2**16, dtype=np.uint16).view(dtype)[:, None]


def same(result: Any, expected: Any) -> None:
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(np.asarray(result).astype("f4"), expected.astype("f4"))


@pytest.mark.parametrize("dtype", CODES)
def test_every_number_comes_back(dtype: str, context: cm.Context, mode: str) -> None:
    """The sum of one number is that number, NaN stays NaN; on the device too, and in a repeated call."""
    x = every(dtype)
    on_device = cm.array(x, context)
    assert on_device.to_numpy().tobytes() == x.tobytes()
    for values in (x, on_device, on_device):
        same((cm.Vi(values) * 1.0).sum(1, context=context, mode=mode), x)
    wide = np.empty(x.shape, "f4")
    (cm.Vi(x) * 1.0).sum(1, context=context, mode=mode, out=wide)
    same(wide.astype(dtype), x)


@pytest.mark.parametrize("dtype", CODES)
def test_results_are_rounded_once(dtype: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Results of float32 rounded to the nearest, ties to even; infinity beyond the largest number."""
    x = rng.permutation(every(dtype))[:4099]
    y = np.concatenate([rng.permutation(every(dtype))[:4], x[:1], ml_dtypes.finfo(dtype).max.reshape(1, 1)])
    result = (cm.Vi(x) + cm.Vj(y)).dense(context=context, mode=mode)
    with np.errstate(all="ignore"):
        same(result, (x.astype("f4") + y.astype("f4").T).astype(dtype))


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("dim", [1, 3, 20, 40])
def test_gradients(dtype: str, dim: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Gaussians with a parameter, by their points; rows that are tiny, or so small that they have few digits."""
    x, y, b, s = (rng.normal(size=shape) for shape in ((67, dim), (131, dim), (131, 1), (1,)))
    x[1], x[2], x[3] = -0.0, 1e-6, 1e-39
    x, y, b, s = (array.astype(dtype) for array in (x, y, b, np.abs(s) / dim))
    value = (-((cm.Vi(x) - cm.Vj(y)) ** 2).sum(-1) * cm.Pm(s)).exp() * cm.Vj(b)
    result = value.grad(cm.Vi(x), 1).sum(1, context=context, mode=mode)
    x, y, b, s = (array.astype(float) for array in (x, y, b, s))
    apart = x[:, None] - y
    terms = np.exp(-np.square(apart).sum(-1) * s)[..., None] * b * -2 * s * apart
    expected = terms.sum(1)
    off = ml_dtypes.finfo(dtype).eps / 2 * np.abs(expected) + 1e-5 * np.abs(terms).sum(1) + 2.0**-25
    assert result.dtype == dtype
    assert np.all(np.abs(result.astype(float) - expected) <= off)


@pytest.mark.parametrize("dtype", CODES)
def test_weights_numbers_and_formula_strings(
    dtype: str, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    """Long weights, a product with a vector, lists and numbers of the same dtype, Genred."""
    x, y, w = (rng.normal(size=shape).astype(dtype) for shape in ((67, 3), (131, 3), (131, 20)))
    half = np.dtype(dtype).type(0.5)
    how: dict[str, Any] = {"context": context, "mode": mode}
    terms = np.exp(-0.5 * np.square(x.astype(float)[:, None] - y.astype(float)).sum(-1))
    expected, wide = terms @ w.astype(float), terms @ np.abs(w.astype(float))
    kernel = (-(cm.Vi(x) - cm.Vj(y)).sqnorm2() * half).exp()
    genred = cm.Genred("Exp(-p*SqDist(x,y))*w", ["x=Vi(3)", "y=Vj(3)", "w=Vj(20)", "p=Pm(1)"], axis=1)
    for result in (kernel.__matmul__(w, **how), genred(x, y, w, [half], **how), genred(x, y, w, 0.5, **how)):
        assert result.dtype == dtype
        off = ml_dtypes.finfo(dtype).eps / 2 * np.abs(expected) + 1e-5 * wide
        assert np.all(np.abs(result.astype(float) - expected) <= off)


@pytest.mark.parametrize("dtype", CODES)
def test_what_does_not_take_them(dtype: str, context: cm.Context) -> None:
    x = np.ones((5, 3), dtype)
    with pytest.raises(cm.DTypeError, match="cast one of them"):
        cm.Vi(x) - cm.Vj(x.astype("f4"))
    with pytest.raises(cm.DTypeError, match=f"b has dtype {dtype}; systems are solved in float32 or float64"):
        (-(cm.Vi(x) - cm.Vj(x)).sqnorm2()).exp().solve(x, context=context)


def test_results_of_other_launch_boxes_may_round_otherwise() -> None:
    one = np.array([1, 256], "bfloat16")
    assert agree([np.array([1 + 2**-7, 256], "bfloat16")], [one], TOLERANCE)
    assert not agree([np.array([1, 300], "bfloat16")], [one], TOLERANCE)


def test_the_package_that_names_bfloat16_is_not_needed() -> None:
    code = "import sys, clmapreduce; sys.exit('ml_dtypes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
