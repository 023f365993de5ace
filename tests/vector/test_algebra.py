"""Sums, norms, coordinates, extrema and one-hot vectors against NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.vector_oracle import check_derivatives, close

from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.vector import OPERATIONS, ZERO, Constant, Variable
from clmapreduce.vector.derivative import gradient
from clmapreduce.vector.evaluate import evaluate

X, Y = Variable(0, 4, 0), Variable(1, 4, 1)
S1, S4, S16 = Variable(2, 1, 2), Variable(3, 4, 2), Variable(4, 16, 2)
O = OPERATIONS  # noqa: E741


def _sum(x: Any) -> Any:
    return x.sum(-1, keepdims=True)


def _quadratic(s: Any, x: Any) -> Any:
    return np.einsum("...k,...kl,...l->...", x, s.reshape(*s.shape[:-1], 4, 4), x)[..., None]


CASES: list[tuple[str, tuple[Variable, ...], Callable[..., Any]]] = [
    ("Sum", (X,), _sum),
    ("SqNorm2", (X,), lambda x: _sum(x**2)),
    ("Norm2", (X,), lambda x: np.sqrt(_sum(x**2))),
    ("Normalize", (X,), lambda x: x / np.sqrt(_sum(x**2))),
    ("SqDist", (X, Y), lambda x, y: _sum((x - y) ** 2)),
    ("SqDist", (X, S1), lambda x, y: _sum((x - y) ** 2)),
    ("Scalprod", (X, Y), lambda x, y: _sum(x * y)),
    ("Scalprod", (X, S1), lambda x, s: _sum(x * s)),
    ("SqNormIso", (S1, X), lambda s, x: s * _sum(x**2)),
    ("SqNormDiag", (S4, X), lambda s, x: _sum(s * x**2)),
    ("SymSqNorm", (S16, X), _quadratic),
    ("WeightedSqNorm", (S1, X), lambda s, x: s * _sum(x**2)),
    ("WeightedSqNorm", (S4, X), lambda s, x: _sum(s * x**2)),
    ("WeightedSqNorm", (S16, X), _quadratic),
    ("WeightedSqDist", (S1, X, Y), lambda s, x, y: s * _sum((x - y) ** 2)),
    ("WeightedSqDist", (S4, X, Y), lambda s, x, y: _sum(s * (x - y) ** 2)),
    ("WeightedSqDist", (S16, X, Y), lambda s, x, y: _quadratic(s, x - y)),
    ("Concat", (X, S1, Y), lambda x, s, y: np.concatenate([x, s, y], -1)),
    ("Max", (X,), lambda x: x.max(-1, keepdims=True)),
    ("Min", (X,), lambda x: x.min(-1, keepdims=True)),
    ("ArgMax", (X,), lambda x: x.argmax(-1)[..., None]),
    ("ArgMin", (X,), lambda x: x.argmin(-1)[..., None]),
    ("DifferenceMatrix", (X, Y), lambda x, y: (x[..., :, None] - y[..., None, :]).reshape(6, 5, 16)),
]  # fmt: skip


def arrays(rng: np.random.Generator) -> dict[Variable, np.ndarray]:
    """X and Y between -1 and 1, no two of them, and none and 0, so close that finite differences see a kink between."""
    s = rng.uniform(0.5, 1, (4, 4))
    apart = (rng.permutation(44) + rng.uniform(0.25, 0.75, 44)) / 22 - 1
    return {
        X: apart[:24].reshape(6, 1, 4), Y: apart[24:].reshape(1, 5, 4), S1: rng.uniform(0.5, 1, 1),
        S4: rng.uniform(0.5, 1, 4), S16: (s + s.T).reshape(16),
    }  # fmt: skip


@pytest.mark.parametrize(("name", "args", "oracle"), CASES, ids=[f"{c[0]}-{len(c[1])}-{c[1][0].dim}" for c in CASES])
def test_operations_and_their_derivatives(
    name: str, args: tuple[Variable, ...], oracle: Callable[..., Any], rng: np.random.Generator
) -> None:
    values = arrays(rng)
    f = O[name](*args)
    actual = evaluate(f, values)
    close(actual, oracle(*(np.broadcast_to(values[v], (6, 5, v.dim)) for v in args)), 1e-14)
    check_derivatives(f, values, rng)


def test_norms_are_sums_of_elementwise_terms() -> None:
    assert O["SqDist"](X, Y) is O["Sum"](O["Square"](X - Y))
    assert (X | Y) is O["Sum"](X * Y)
    assert O["SqDist"](X, Y).args[0].operation.elementwise


def test_coordinates(rng: np.random.Generator) -> None:
    values = arrays(rng)
    x = values[X]
    pad = np.zeros_like(x[..., :1])
    for f, expected in [
        (O["Elem"](X, 2), x[..., 2:3]),
        (O["ElemT"](S1, 3, 1), np.array([0.0, values[S1][0], 0.0])),
        (O["Extract"](X, 1, 2), x[..., 1:3]),
        (O["ExtractT"](X, 1, 6), np.concatenate([pad, x, pad], -1)),
        (O["SumT"](S1, 3), np.repeat(values[S1], 3)),
        (O["Select"](X, 3, -1, 0), np.concatenate([x[..., 3:], pad, x[..., :1]], -1)),
        (O["Elem"](O["Concat"](X, Y), 5), values[Y][..., 1:2]),
        (O["Extract"](O["Concat"](X, X * 2), 2, 4), np.concatenate([x[..., 2:], 2 * x[..., :2]], -1)),
    ]:
        close(evaluate(f, values), expected, 1e-15)
        check_derivatives(f * f + 2 * f, values, rng)


def test_spread_coordinates_absorb_and_join(rng: np.random.Generator) -> None:
    values = arrays(rng)
    a, b = O["ElemT"](O["Elem"](X, 0), 4, 1), O["ElemT"](O["Elem"](Y, 3), 4, 2)
    for f, expected in [
        (a * Y, "Select"), (Y * a, "Select"), (-a, "Select"), (a + b, "Select"), (a * S1, "Select"), (a * b, "Zero"),
    ]:  # fmt: skip
        assert f.operation.name == expected
        check_derivatives(f * X, values, rng)
    full_a, full_b = (np.zeros((6, 5, 4)) for _ in range(2))
    full_a[..., 1], full_b[..., 2] = values[X][..., 0], values[Y][..., 3]
    close(evaluate((a + b) * Y, values), (full_a + full_b) * values[Y], 1e-15)
    close(evaluate(O["Sum"](a * Y), values), _sum(full_a * values[Y]), 1e-15)
    close(evaluate(a + a * 2, values), 3 * full_a, 1e-15)


def test_extrema_take_the_first_of_equals_and_pass_over_nan() -> None:
    rows = np.array([[1.0, 3, 3, 1], [2, 2, 2, 2], [0, np.nan, -1, 5], [-np.inf, np.inf, np.inf, -np.inf]])
    np.testing.assert_array_equal(evaluate(O["ArgMax"](X), {X: rows})[:, 0], [1, 0, 3, 1])
    np.testing.assert_array_equal(evaluate(O["ArgMin"](X), {X: rows})[:, 0], [0, 0, 2, 0])
    np.testing.assert_array_equal(evaluate(O["Max"](X), {X: rows})[:, 0], [3, 2, 5, np.inf])
    np.testing.assert_array_equal(evaluate(gradient(O["Max"](X), X), {X: rows})[0], [0, 1, 0, 0])


def test_one_hot_rounds_and_leaves_out_what_is_outside() -> None:
    values = np.array([0.0, 1.4, 1.6, 2.5, -1.0, 3.0, np.nan])[:, None]
    expected = np.zeros((7, 3))
    expected[0, 0] = expected[1, 1] = expected[2, 2] = 1
    np.testing.assert_array_equal(evaluate(O["OneHot"](S1, 3), {S1: values}), expected)
    assert gradient(O["OneHot"](S1, 3), S1, Constant((1, 2, 3))).operation is ZERO


def test_wrong_dimensions_are_named() -> None:
    for make, message in [
        (lambda: O["Scalprod"](X, O["Extract"](Y, 0, 2)), "Scalprod: dimensions 4, 2"),
        (
            lambda: O["WeightedSqNorm"](O["Extract"](S16, 0, 5), X),
            "5 weights for a vector of dimension 4; give 1, 4 or 16",
        ),
        (lambda: O["SqNormDiag"](S1, X), "1 weights"),
        (lambda: O["SqNormIso"](X, X), "must have 1"),
        (lambda: O["SymSqNorm"](X, X), "give 16"),
        (lambda: O["Elem"](X, 4), "coordinate 4 of a vector of dimension 4"),
        (lambda: O["Elem"](X, -1), "coordinate -1"),
        (lambda: O["ElemT"](X, 4, 0), "dimension 4 at place 0"),
        (lambda: O["Extract"](X, 2, 3), "coordinates 2 … 4 of a vector of dimension 4"),
        (lambda: O["ExtractT"](X, 2, 5), "do not fit into 5"),
        (lambda: O["Select"](X, 1, 1), "at most once"),
        (lambda: O["SumT"](X, 3), "cannot be repeated to 3"),
        (lambda: O["OneHot"](X, 3), "dimension 4 into 3"),
        (lambda: O["Concat"](), "at least one"),
        (lambda: O["Zero"](0), "a vector has 1 to"),
    ]:
        with pytest.raises(ShapeError, match=message):
            make()
    with pytest.raises(FormulaError, match="place must be an integer"):
        O["Elem"](X, 1.0)
