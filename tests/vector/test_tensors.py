"""Small tensor algebra against NumPy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from support.vector_oracle import check_derivatives, close

from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.vector import OPERATIONS as O
from clmapreduce.vector import ZERO, Variable
from clmapreduce.vector.evaluate import evaluate


def _pair(rng: np.random.Generator, a: int, b: int) -> tuple[Variable, Variable, dict[Variable, np.ndarray]]:
    x, y = Variable(0, a, 0), Variable(1, b, 1)
    return x, y, {x: rng.standard_normal((3, 1, a)), y: rng.standard_normal((1, 2, b))}


@pytest.mark.parametrize(("rows", "columns"), [(2, 3), (3, 2), (1, 4), (4, 1), (1, 1), (5, 5)])
def test_products_of_matrices_and_vectors(rows: int, columns: int, rng: np.random.Generator) -> None:
    m, x, values = _pair(rng, rows * columns, columns)
    matrix = values[m].reshape(3, 1, rows, columns)
    f = O["MatVecMult"](m, x)
    close(evaluate(f, values), np.einsum("...kl,...l->...k", matrix, values[x]), 1e-14)
    check_derivatives(f, values, rng)
    m, x, values = _pair(rng, rows * columns, rows)
    matrix = values[m].reshape(3, 1, rows, columns)
    f = O["VecMatMult"](x, m)
    close(evaluate(f, values), np.einsum("...k,...kl->...l", values[x], matrix), 1e-14)
    check_derivatives(f, values, rng)


@pytest.mark.parametrize(("a", "b"), [(2, 3), (1, 4), (3, 1), (1, 1)])
def test_tensor_products(a: int, b: int, rng: np.random.Generator) -> None:
    x, y, values = _pair(rng, a, b)
    f = O["TensorProd"](x, y)
    close(evaluate(f, values), np.einsum("...k,...l->...kl", values[x], values[y]).reshape(3, 2, a * b), 1e-15)
    check_derivatives(f, values, rng)


CASES = [
    ((2, 3), (3, 4), (1,), (0,)),
    ((2, 3), (4, 3), (1,), (1,)),
    ((2, 2, 3), (3, 2, 2), (0, 2), (1, 0)),
    ((2, 3), (2, 3), (0, 1), (0, 1)),
    ((2,), (3,), (), ()),
    ((2, 3, 2), (2,), (2,), (0,)),
    ((3, 1, 2), (1, 2), (2, 1), (1, 0)),
]


@pytest.mark.parametrize(("dimfa", "dimfb", "contfa", "contfb"), CASES)
def test_tensordot_in_every_order_of_the_result(
    dimfa: tuple[int, ...],
    dimfb: tuple[int, ...],
    contfa: tuple[int, ...],
    contfb: tuple[int, ...],
    rng: np.random.Generator,
) -> None:
    x, y, values = _pair(rng, math.prod(dimfa), math.prod(dimfb))
    a, b = (np.broadcast_to(values[v], (3, 2, v.dim)).reshape(6, *dims) for v, dims in ((x, dimfa), (y, dimfb)))
    plain = np.stack([np.tensordot(p, q, (contfa, contfb)) for p, q in zip(a, b, strict=True)])
    axes = plain.ndim - 1
    for perm in [None, *itertools.permutations(range(axes))]:
        f = O["TensorDot"](x, y, dimfa, dimfb, contfa, contfb, perm)
        goes = list(range(axes)) if perm is None else list(perm)  # axis k of the plain product becomes axis goes[k]
        expected = np.moveaxis(plain, list(range(1, axes + 1)), [1 + k for k in goes]).reshape(3, 2, -1)
        close(evaluate(f, values), expected, 1e-13)
    check_derivatives(f, values, rng)


@pytest.mark.parametrize(("dimfa", "dimfb"), [((2,), (3,)), ((2, 3), (3, 2)), ((2, 1, 2), (1, 3, 2))])
def test_kron(dimfa: tuple[int, ...], dimfb: tuple[int, ...], rng: np.random.Generator) -> None:
    x, y, values = _pair(rng, math.prod(dimfa), math.prod(dimfb))
    f = O["Kron"](x, y, dimfa, dimfb)
    for i, j in itertools.product(range(3), range(2)):
        expected = np.kron(values[x][i, 0].reshape(dimfa), values[y][0, j].reshape(dimfb)).ravel()
        close(evaluate(f, values)[i, j], expected, 1e-15)
    check_derivatives(f, values, rng)


def test_second_derivatives(rng: np.random.Generator) -> None:
    from clmapreduce.vector.derivative import gradient

    x, y, values = _pair(rng, 6, 3)
    f = O["SqNorm2"](O["MatVecMult"](x, O["Exp"](y)))
    check_derivatives(gradient(f, x), values, rng)
    check_derivatives(gradient(f, y), values, rng)


def test_zero_is_absorbed() -> None:
    x = Variable(0, 6, 0)
    assert O["MatVecMult"](x, O["Zero"](3)).operation is ZERO
    assert O["TensorProd"](O["Zero"](2), x).dim == 12


def test_wrong_shapes_are_named() -> None:
    x, y = Variable(0, 6, 0), Variable(1, 4, 1)
    for make, error, message in [
        (lambda: O["MatVecMult"](x, y), ShapeError, "6 numbers are no matrix of rows of 4"),
        (lambda: O["VecMatMult"](y, x), ShapeError, "6 numbers are no matrix of columns of 4"),
        (lambda: O["TensorDot"](x, y, (2, 3), (2, 2), (1,), (0,)), ShapeError, "do not fit together"),
        (lambda: O["TensorDot"](x, y, (2, 2), (2, 2), (1,), (0,)), ShapeError, "first tensor has 6 numbers"),
        (lambda: O["TensorDot"](x, y, (2, 3), (2, 2), (2,), (0,)), FormulaError, "axes"),
        (lambda: O["TensorDot"](x, y, (2, 3), (2, 2), (0,), (0,), (0, 0)), FormulaError, "no permutation"),
        (lambda: O["Kron"](x, y, (2, 3), (4,)), ShapeError, "as many axes"),
        (lambda: O["Contract"](x, y, (2, 3), (0, 1), (0,), (0,)), FormulaError, "label 1"),
    ]:
        with pytest.raises(error, match=message):
            make()
