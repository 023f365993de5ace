"""Complex operations against NumPy's complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.vector_oracle import check_derivatives, close

from clmapreduce.errors import ShapeError
from clmapreduce.vector import OPERATIONS, Variable
from clmapreduce.vector.evaluate import evaluate


def _pairs(z: Any) -> np.ndarray:
    z = np.asarray(z, complex)
    return np.stack([z.real, z.imag], -1).reshape(*z.shape[:-1], -1)


def _numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return np.asarray(rng.uniform(0.3, 1, shape) * np.exp(1j * rng.uniform(-3, 3, shape)))


UNARY: list[tuple[str, Callable[..., Any], bool]] = [
    ("ComplexReal", np.real, False),
    ("ComplexImag", np.imag, False),
    ("ComplexAbs", np.abs, False),
    ("ComplexSquareAbs", lambda z: np.abs(z) ** 2, False),
    ("ComplexAngle", np.angle, False),
    ("Conj", np.conj, True),
    ("ComplexExp", np.exp, True),
    ("ComplexSum", lambda z: z.sum(-1, keepdims=True), True),
]


@pytest.mark.parametrize(("name", "oracle", "complex_"), UNARY, ids=[row[0] for row in UNARY])
@pytest.mark.parametrize("count", [1, 3])
def test_functions_of_one(
    name: str, oracle: Callable[..., Any], complex_: bool, count: int, rng: np.random.Generator
) -> None:
    x = Variable(0, 2 * count, 0)
    z = _numbers(rng, 5, count)
    f = OPERATIONS[name](x)
    close(evaluate(f, {x: _pairs(z)}), _pairs(oracle(z)) if complex_ else oracle(z), 1e-14)
    check_derivatives(f, {x: _pairs(z)}, rng)


@pytest.mark.parametrize(
    ("name", "oracle"),
    [
        ("Real2Complex", lambda x: x + 0j),
        ("Imag2Complex", lambda x: 1j * x),
        ("ComplexExp1j", lambda x: np.exp(1j * x)),
    ],
)
def test_from_real_numbers(name: str, oracle: Callable[..., Any], rng: np.random.Generator) -> None:
    x = Variable(0, 3, 0)
    values = {x: rng.standard_normal((5, 3))}
    f = OPERATIONS[name](x)
    close(evaluate(f, values), _pairs(oracle(values[x])), 1e-14)
    check_derivatives(f, values, rng)


@pytest.mark.parametrize(
    ("name", "oracle"),
    [
        ("ComplexAdd", np.add), ("ComplexSubtract", np.subtract), ("ComplexMult", np.multiply),
        ("ComplexDivide", np.divide), ("ComplexScal", np.multiply),
    ],
)  # fmt: skip
@pytest.mark.parametrize("counts", [(3, 3), (1, 3), (3, 1), (1, 1)])
def test_functions_of_two(
    name: str, oracle: Callable[..., Any], counts: tuple[int, int], rng: np.random.Generator
) -> None:
    x, y = Variable(0, 2 * counts[0], 0), Variable(1, 2 * counts[1], 1)
    a, b = _numbers(rng, 4, 1, counts[0]), _numbers(rng, 1, 3, counts[1])
    values = {x: _pairs(a), y: _pairs(b)}
    f = OPERATIONS[name](x, y)
    close(evaluate(f, values), _pairs(oracle(a, b)), 1e-14)
    check_derivatives(f, values, rng)


def test_real_scales_and_repetition(rng: np.random.Generator) -> None:
    s, x, one = Variable(0, 1, 2), Variable(1, 6, 0), Variable(2, 2, 0)
    z, w = _numbers(rng, 4, 3), _numbers(rng, 4, 1)
    values = {s: np.array([0.7]), x: _pairs(z), one: _pairs(w)}
    for f in (OPERATIONS["ComplexRealScal"](s, x), OPERATIONS["ComplexRealScal"](x, s)):
        close(evaluate(f, values), _pairs(0.7 * z), 1e-15)
    f = OPERATIONS["ComplexSumT"](one, 6)
    close(evaluate(f, values), _pairs(np.repeat(w, 3, -1)), 0)
    check_derivatives(f, values, rng)


def test_odd_dimensions_are_refused() -> None:
    odd, even = Variable(0, 3, 0), Variable(1, 4, 0)
    for name in ("ComplexReal", "Conj", "ComplexExp", "ComplexSum"):
        with pytest.raises(ShapeError, match=f"{name}: a vector of dimension 3"):
            OPERATIONS[name](odd)
    with pytest.raises(ShapeError, match="must be even"):
        OPERATIONS["ComplexMult"](odd, even)
    with pytest.raises(ShapeError, match="one must be 1"):
        OPERATIONS["ComplexRealScal"](even, even)
    with pytest.raises(ShapeError, match="one complex number"):
        OPERATIONS["ComplexSumT"](even, 4)
