"""LazyTensors of complex numbers against dense NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce import ComplexLazyTensor, LazyTensor

pytestmark = pytest.mark.drawn

M, N, D = 8, 5, 3


@pytest.fixture
def numbers(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """z by i, w by j, both complex; x by i and y by j, real; c one complex number per j."""

    def random_numbers(*shape: int) -> np.ndarray:
        return rng.uniform(0.2, 1.5, shape) * rng.choice([-1.0, 1.0], shape)

    return {
        "z": random_numbers(M, 1, D) + 1j * random_numbers(M, 1, D), "w": random_numbers(1, N, D) + 1j * random_numbers(1, N, D),
        "x": random_numbers(M, 1, D), "y": random_numbers(1, N, D), "c": random_numbers(1, N, 1) + 1j * random_numbers(1, N, 1), "s": random_numbers(M, 1, 1),
    }  # fmt: skip


BOTH: dict[str, Any] = {  # the same function for lazy and for dense numbers
    "z + w": lambda z, w, x, y, c, s: z + w, "z - w": lambda z, w, x, y, c, s: z - w, "z w": lambda z, w, x, y, c, s: z * w, "z / w": lambda z, w, x, y, c, s: z / w,
    "z + y": lambda z, w, x, y, c, s: z + y, "y - z": lambda z, w, x, y, c, s: y - z, "y z": lambda z, w, x, y, c, s: y * z, "z y": lambda z, w, x, y, c, s: z * y, "y / z": lambda z, w, x, y, c, s: y / z, "z / y": lambda z, w, x, y, c, s: z / y,
    "z c": lambda z, w, x, y, c, s: z * c, "c / z": lambda z, w, x, y, c, s: c / z, "x c": lambda z, w, x, y, c, s: x * c, "z + c": lambda z, w, x, y, c, s: z + c, "s z": lambda z, w, x, y, c, s: s * z, "w / s": lambda z, w, x, y, c, s: w / s,
    "numbers": lambda z, w, x, y, c, s: 2 * z - 0.5 + w / 4 - z * 1 + 0 * w, "complex numbers": lambda z, w, x, y, c, s: (1 + 2j) * z - w * 1j + (x + 1j) / 2j, "1 / z": lambda z, w, x, y, c, s: 1 / z,
    "-z": lambda z, w, x, y, c, s: -z + 0 - 0, "abs": lambda z, w, x, y, c, s: abs(z * w), "3 - z": lambda z, w, x, y, c, s: 3 - z, "0 - z": lambda z, w, x, y, c, s: 0 - z,
    "sum": lambda z, w, x, y, c, s: (z * w).sum(-1), "mean": lambda z, w, x, y, c, s: (z * w).mean(-1), "elem": lambda z, w, x, y, c, s: (z * w)[:, :, 1], "slice": lambda z, w, x, y, c, s: (z * w)[:, :, 1:], "real": lambda z, w, x, y, c, s: (z * w).real, "imag": lambda z, w, x, y, c, s: (z * w).imag,
    "conj": lambda z, w, x, y, c, s: (z * w).conj(), "square of abs": lambda z, w, x, y, c, s: ((z - w) * (z - w).conj()).real,
}  # fmt: skip
LAZY: dict[str, tuple[Any, Any]] = {
    "exp": (lambda v: (v["z"] * v["w"]).exp(), lambda v: np.exp(v["z"] * v["w"])),
    "angle": (lambda v: (v["z"] * v["w"]).angle(), lambda v: np.angle(v["z"] * v["w"])),
    "exp1j": (lambda v: (v["x"] - v["y"]).exp1j(), lambda v: np.exp(1j * (v["x"] - v["y"]))),
    "real2complex": (lambda v: (v["x"] - v["y"]).real2complex(), lambda v: (v["x"] - v["y"]) + 0j),
    "imag2complex": (lambda v: (v["x"] - v["y"]).imag2complex(), lambda v: 1j * (v["x"] - v["y"])),
    "concat": (lambda v: v["z"].concat(v["w"]), lambda v: np.concatenate(np.broadcast_arrays(v["z"], v["w"]), -1)),
    "concat a real": (lambda v: v["z"].concat(v["y"]), lambda v: np.concatenate(np.broadcast_arrays(v["z"], v["y"] + 0j), -1)),
    "abs()": (lambda v: v["z"].abs() * v["y"], lambda v: abs(v["z"]) * v["y"]),
    "last": (lambda v: v["z"][-1] * v["w"][0], lambda v: v["z"][..., -1] * v["w"][..., 0]),
    "transposed": (lambda v: (v["z"] - v["w"]).T, lambda v: (v["z"] - v["w"]).swapaxes(0, 1)),
    "array operand": (lambda v: v["x"] * np.array([1j, 2, 3]) + v["y"], lambda v: v["x"] * np.array([1j, 2, 3]) + v["y"]),
    "list operand": (lambda v: [1j, 2, 3] * v["x"] + v["y"], lambda v: np.array([1j, 2, 3]) * v["x"] + v["y"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BOTH)
def test_operations(name: str, numbers: dict[str, np.ndarray], context: cm.Context) -> None:
    expected = BOTH[name](**numbers)
    lazy = BOTH[name](**{key: LazyTensor(value) for key, value in numbers.items()})
    check(lazy, expected, context)


@pytest.mark.parametrize("name", LAZY)
def test_methods(name: str, numbers: dict[str, np.ndarray], context: cm.Context) -> None:
    make, dense = LAZY[name]
    check(make({key: LazyTensor(value) for key, value in numbers.items()}), dense(numbers), context)


def check(lazy: LazyTensor, expected: np.ndarray, context: cm.Context) -> None:
    assert isinstance(lazy, ComplexLazyTensor) == np.iscomplexobj(expected)
    result = lazy.dense(context=context)
    assert result.shape == lazy.shape and result.dtype == expected.dtype == lazy.dtype
    np.testing.assert_allclose(
        result,
        np.broadcast_to(
            expected.reshape(*expected.shape[:2], -1),
            (*result.shape[:2], lazy.dense(context=context).size // result.shape[0] // result.shape[1]),
        ).reshape(result.shape),
        atol=1e-12,
    )


@pytest.mark.drawn
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_reductions(dtype: str, numbers: dict[str, np.ndarray], context: cm.Context, mode: str) -> None:
    z, w = numbers["z"].astype(dtype), numbers["w"].astype(dtype)
    lazy, expected = LazyTensor(z) * LazyTensor(w), numbers["z"] * numbers["w"]
    for axis in (0, 1):
        for result, values in (
            (lazy.sum(axis, context=context, mode=mode), expected.sum(axis)),
            (lazy.mean(axis, context=context, mode=mode), expected.mean(axis)),
        ):
            assert result.dtype == np.dtype(dtype)
            np.testing.assert_allclose(result, values, atol=1e-5 if dtype == "c8" else 1e-12)
    np.testing.assert_allclose(lazy.real.argmin(1, context=context, mode=mode), expected.real.argmin(1))
    later = lazy.sum(axis=1, call=False, context=context)
    np.testing.assert_allclose(later(mode=mode), expected.sum(1), atol=1e-5)


def test_results_on_the_device(numbers: dict[str, np.ndarray], context: cm.Context) -> None:
    lazy = LazyTensor(cm.array(numbers["z"], context)) * LazyTensor(numbers["w"])
    result = lazy.sum(1)
    assert isinstance(result, cm.DeviceArray) and result.dtype == np.complex128
    np.testing.assert_allclose(result.to_numpy(), (numbers["z"] * numbers["w"]).sum(1), atol=1e-12)
    np.testing.assert_allclose(lazy.to_numpy(), numbers["z"] * numbers["w"], atol=1e-12)


def test_complex_results_of_16_bits_have_no_dtype(numbers: dict[str, np.ndarray], context: cm.Context) -> None:
    """The error comes before any launch; formulas that end in real numbers do run."""
    x, y = (numbers[name].astype(np.float16) for name in "xy")
    rotation = (LazyTensor(x) - LazyTensor(y)).exp1j()
    with pytest.raises(cm.DTypeError, match="complex numbers of float16 parts; give float32"):
        rotation.sum(1, context=context)
    lengths = rotation.abs().sum(1, context=context)
    np.testing.assert_allclose(lengths, np.full((M, D), N), rtol=2e-3)
