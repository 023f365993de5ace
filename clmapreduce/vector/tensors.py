"""Small tensor algebra on vectors that hold tensors row by row: products of matrices, tensors, Kronecker products.

All are one operation, `Contract`: an Einstein sum of two tensors in which no index stands in one of them alone and in
nothing else. Its derivatives are contractions again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.formula.node import Node
from clmapreduce.vector.arithmetic import multiply
from clmapreduce.vector.node import MAX_DIM, Gradients, Operand, Operation, Params, Vector, as_vector, integer, make
from clmapreduce.vector.operation import ZERO, zero
from clmapreduce.vector.registry import named

Indices = tuple[int, ...]


class _Contract(Operation):
    """Σ a[i…] b[j…] by labelled axes. Params: the extent of every label; the labels of a's, b's, the result's axes."""

    name = "Contract"

    def dim(self, args: tuple[Vector, ...], params: Params) -> int:
        extents, of_a, of_b, of_out = _labels(params)
        for arg, labels, place in zip(args, (of_a, of_b), ("first", "second"), strict=True):
            shape = tuple(extents[label] for label in labels)
            if arg.dim != math.prod(shape):
                raise ShapeError(f"the {place} tensor has {arg.dim} numbers; its dimensions {shape} ask for others")
        if math.prod(extents) > MAX_DIM:
            what = f"a contraction of {math.prod(extents)} products is given, over {extents}"
            raise ShapeError(f"{what}; at most {MAX_DIM} are written out")
        return math.prod(extents[label] for label in of_out)

    def scalars(self, args: Sequence[Sequence[Node]], params: Params) -> list[Node]:
        extents, of_a, of_b, of_out = _labels(params)
        a, b = args
        summed = [label for label in range(len(extents)) if label not in of_out]
        strides_a, strides_b = _strides(extents, of_a), _strides(extents, of_b)
        result = []
        for place in np.ndindex(*(extents[label] for label in of_out)):
            index = dict(zip(of_out, place, strict=True))
            terms = []
            for inner in np.ndindex(*(extents[label] for label in summed)):
                index.update(zip(summed, inner, strict=True))
                at_a = sum(index[label] * stride for label, stride in zip(of_a, strides_a, strict=True))
                at_b = sum(index[label] * stride for label, stride in zip(of_b, strides_b, strict=True))
                terms.append(a[at_a] * b[at_b])
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            result.append(total)
        return result

    def gradient(self, node: Vector, g: Vector) -> Gradients:
        extents, of_a, of_b, of_out = _labels(node.params)
        a, b = node.args
        return _contract(g, b, extents, of_out, of_b, of_a), _contract(g, a, extents, of_out, of_a, of_b)


CONTRACT = _Contract()


def _labels(params: Params) -> tuple[Indices, Indices, Indices, Indices]:
    extents, of_a, of_b, of_out = params
    return extents, of_a, of_b, of_out  # type: ignore[return-value]


def _strides(extents: Indices, labels: Indices) -> list[int]:
    shape = [extents[label] for label in labels]
    return [math.prod(shape[k + 1 :]) for k in range(len(shape))]


def _contract(a: Vector, b: Vector, extents: Indices, of_a: Indices, of_b: Indices, of_out: Indices) -> Vector:
    params = (extents, of_a, of_b, of_out)
    dim = CONTRACT.dim((a, b), params)
    return zero(dim) if ZERO in (a.operation, b.operation) else make(CONTRACT, (a, b), params)


def _indices(name: str, values: Any) -> Indices:
    """A tuple of whole numbers from one of them or several."""
    several = values if isinstance(values, Iterable) else (values,)
    return tuple(integer(value, f"{name}: an index or a dimension") for value in several)


@named("Contract")
def contract(a: Operand, b: Operand, extents: Any, of_a: Any, of_b: Any, of_out: Any) -> Vector:
    """The Einstein sum of two tensors: `extents` by label, then the labels of each tensor's axes and the result's.

    Raises ShapeError, FormulaError: every label stands in exactly two of the three or in all, in each at most once.
    """
    extents, of_a, of_b, of_out = (_indices("Contract", part) for part in (extents, of_a, of_b, of_out))
    for label in range(len(extents)):
        counts = [labels.count(label) for labels in (of_a, of_b, of_out)]
        if max(counts) > 1 or sum(counts) < 2:
            raise FormulaError(f"Contract: label {label} stands {counts} times in the tensors; give it to two of them")
    if not set(of_a + of_b + of_out) <= set(range(len(extents))) or min(extents, default=1) < 1:
        raise FormulaError(f"Contract: extents {extents} do not fit the labels {of_a}, {of_b}, {of_out}")
    return _contract(as_vector(a), as_vector(b), extents, of_a, of_b, of_out)


@named("MatVecMult")
def matvecmult(matrix: Operand, x: Operand) -> Vector:
    """The product of a matrix of A·B numbers, row by row, with a vector of B. Raises ShapeError."""
    matrix, x = as_vector(matrix), as_vector(x)
    if matrix.dim % x.dim:
        raise ShapeError(f"MatVecMult: {matrix.dim} numbers are no matrix of rows of {x.dim}")
    if x.dim == 1:
        return multiply(matrix, x)
    return _contract(matrix, x, (matrix.dim // x.dim, x.dim), (0, 1), (1,), (0,))


@named("VecMatMult")
def vecmatmult(x: Operand, matrix: Operand) -> Vector:
    """The product of a vector of A numbers with a matrix of A·B, row by row. Raises ShapeError."""
    x, matrix = as_vector(x), as_vector(matrix)
    if matrix.dim % x.dim:
        raise ShapeError(f"VecMatMult: {matrix.dim} numbers are no matrix of columns of {x.dim}")
    if x.dim == 1:
        return multiply(x, matrix)
    return _contract(x, matrix, (x.dim, matrix.dim // x.dim), (0,), (0, 1), (1,))


@named("TensorProd")
def tensorprod(x: Operand, y: Operand) -> Vector:
    """All x_k · y_l, row by row."""
    x, y = as_vector(x), as_vector(y)
    if 1 in (x.dim, y.dim):
        return multiply(x, y)
    return _contract(x, y, (x.dim, y.dim), (0,), (1,), (0, 1))


@named("TensorDot")
def tensordot(
    x: Operand, y: Operand, dimfa: Any, dimfb: Any, contfa: Any = (), contfb: Any = (), perm: Any = None
) -> Vector:
    """numpy.tensordot of x of shape `dimfa` and y of shape `dimfb` over the axes `contfa` of x and `contfb` of y.

    `perm`: where each of the axes that stay, x's before y's, goes in the result. Raises ShapeError, FormulaError.
    """
    x, y = as_vector(x), as_vector(y)
    shape_x, shape_y, axes_x, axes_y = (_indices("TensorDot", part) for part in (dimfa, dimfb, contfa, contfb))
    for axes, shape in ((axes_x, shape_x), (axes_y, shape_y)):
        if len(set(axes)) != len(axes) or any(not 0 <= axis < len(shape) for axis in axes) or min(shape, default=1) < 1:
            raise FormulaError(f"TensorDot: axes {axes} of a tensor of shape {shape}")
    if [shape_x[axis] for axis in axes_x] != [shape_y[axis] for axis in axes_y]:
        raise ShapeError(f"TensorDot: axes {axes_x} of {shape_x} and {axes_y} of {shape_y} do not fit together")
    of_x = tuple(range(len(shape_x)))
    fresh = iter(range(len(shape_x), len(shape_x) + len(shape_y)))
    of_y = tuple(axes_x[axes_y.index(axis)] if axis in axes_y else next(fresh) for axis in range(len(shape_y)))
    extents = shape_x + tuple(shape_y[axis] for axis in range(len(shape_y)) if axis not in axes_y)
    labels = [label for label in of_x if label not in axes_x] + [label for label in of_y if label >= len(shape_x)]
    goes = tuple(range(len(labels))) if perm is None else _indices("TensorDot", perm)
    if sorted(goes) != list(range(len(labels))):
        raise FormulaError(f"TensorDot: {goes} is no permutation of the result's {len(labels)} axes")
    of_out = tuple(labels[goes.index(axis)] for axis in range(len(labels)))
    return _contract(x, y, extents, of_x, of_y, of_out)


@named("Kron")
def kron(x: Operand, y: Operand, dimfa: Any, dimfb: Any) -> Vector:
    """numpy.kron of tensors of as many axes. Raises ShapeError."""
    shape_x, shape_y = _indices("Kron", dimfa), _indices("Kron", dimfb)
    axes = len(shape_x)
    if len(shape_y) != axes:
        raise ShapeError(f"Kron: tensors of shapes {shape_x} and {shape_y}; they must have as many axes")
    return tensordot(x, y, shape_x, shape_y, (), (), (*range(0, 2 * axes, 2), *range(1, 2 * axes, 2)))
