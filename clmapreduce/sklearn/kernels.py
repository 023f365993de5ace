"""The kernels of kernel ridge regression, under scikit-learn's names, as formulas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clmapreduce.checks import choice, finite
from clmapreduce.device.array import NumpyArray
from clmapreduce.errors import ArgumentError
from clmapreduce.pairwise import LazyTensor, Vi, Vj


@dataclass(frozen=True)
class Shape:
    """The numbers of a kernel."""

    gamma: float
    degree: float
    coef0: float


def cosine(x: LazyTensor, y: LazyTensor) -> LazyTensor:
    """The cosine between vectors; 0 where one of them is 0."""
    squares = (x | x), (y | y)
    one, other = ((square + (square == 0)).sqrt() for square in squares)
    return (x | y) / one / other


KERNELS: dict[str, Callable[[LazyTensor, LazyTensor, Shape], LazyTensor]] = {
    "linear": lambda x, y, shape: x | y,
    "rbf": lambda x, y, shape: (-shape.gamma * x.sqdist(y)).exp(),
    "laplacian": lambda x, y, shape: (-shape.gamma * (x - y).abs().sum()).exp(),
    "poly": lambda x, y, shape: (shape.gamma * (x | y) + shape.coef0) ** shape.degree,
    "sigmoid": lambda x, y, shape: 1 - 2 / ((2 * (shape.gamma * (x | y) + shape.coef0)).exp() + 1),
    "cosine": lambda x, y, shape: cosine(x, y),
}  # fmt: skip
KERNELS["polynomial"] = KERNELS["poly"]


def kernel_matrix(kernel: Any, shape: Shape, x: NumpyArray, y: NumpyArray) -> LazyTensor:
    """k(x_i, y_j) for all pairs of samples, as a formula. kernel: a name, or a function of two LazyTensors. Raises
    ModeError for an unknown name, ArgumentError for a function that gives anything but one number a pair.
    """
    rows, columns = Vi(x), Vj(y)
    if not callable(kernel):
        return KERNELS[choice(kernel, "kernel", KERNELS)](rows, columns, shape)
    result = kernel(rows, columns)
    if not isinstance(result, LazyTensor) or result.ndim != 1 or result.is_complex:
        raise ArgumentError(f"the kernel gave {result!r}; it takes two LazyTensors and gives one, a real number a pair")
    return result


def shape_of(gamma: Any, degree: Any, coef0: Any, features: int) -> Shape:
    """The numbers of a kernel; gamma is 1 / features where it is None. Raises ArgumentError."""
    width = 1 / features if gamma is None else finite(gamma, "gamma")
    return Shape(width, finite(degree, "degree"), finite(coef0, "coef0"))
