"""Kernels of scikit-learn's Gaussian processes, as formulas over all pairs of samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels

from clmapreduce.device.array import NumpyArray
from clmapreduce.errors import ArgumentError
from clmapreduce.pairwise import LazyTensor, Vi, Vj

MATERN: dict[float, Callable[[Any], Any]] = {
    0.5: lambda d: (-d).exp(),
    1.5: lambda d: (1 + math.sqrt(3) * d) * (-math.sqrt(3) * d).exp(),
    2.5: lambda d: (1 + math.sqrt(5) * d + 5 / 3 * d * d) * (-math.sqrt(5) * d).exp(),
}
"""By nu, of distances in length scales."""


def covariance(kernel: Any, x: NumpyArray, y: NumpyArray) -> LazyTensor:
    """k(x_i, y_j) of a kernel object for different samples, as a formula; white noise is left out. Raises ArgumentError
    for a kernel that has none.
    """
    rows, columns = Vi(x), Vj(y)
    result = _term(kernel, rows, columns)
    return result if isinstance(result, LazyTensor) else result + 0 * (rows.elem(0) - columns.elem(0))


def noise(kernel: Any) -> float:
    """The white noise of a kernel object, which is added where both samples are the same. Raises ArgumentError where it
    is multiplied by anything but a constant.
    """
    if isinstance(kernel, kernels.WhiteKernel):
        return float(kernel.noise_level)
    if isinstance(kernel, kernels.Sum):
        return noise(kernel.k1) + noise(kernel.k2)
    if isinstance(kernel, kernels.Product):
        for one, other in ((kernel.k1, kernel.k2), (kernel.k2, kernel.k1)):
            if noise(one):
                if isinstance(other, kernels.ConstantKernel):
                    return float(other.constant_value) * noise(one)
                raise ArgumentError(f"{kernel!r} multiplies white noise; add a WhiteKernel to the other kernels")
    if isinstance(kernel, kernels.Exponentiation) and noise(kernel.kernel):
        raise ArgumentError(f"{kernel!r} is a power of white noise; add a WhiteKernel to the other kernels")
    return 0.0


def _scaled(kernel: Any, x: LazyTensor, y: LazyTensor) -> Any:
    """Differences in length scales."""
    lengths = np.atleast_1d(np.asarray(kernel.length_scale, np.float64))
    if lengths.size not in (1, x.ndim):
        raise ArgumentError(f"{kernel!r} has {lengths.size} length scales and there are {x.ndim} features")
    return (x - y) * (1 / lengths).tolist()


def _matern(kernel: Any, x: LazyTensor, y: LazyTensor) -> Any:
    square = _scaled(kernel, x, y).square().sum()
    if math.isinf(kernel.nu):
        return (-0.5 * square).exp()
    if kernel.nu not in MATERN:
        raise ArgumentError(f"{kernel!r} has nu={kernel.nu}; Matern is offered for nu=0.5, 1.5, 2.5 and inf")
    return MATERN[kernel.nu](square.sqrt())


def _rational(kernel: Any, x: LazyTensor, y: LazyTensor) -> Any:
    return (-kernel.alpha * (1 + x.sqdist(y) / (2 * kernel.alpha * kernel.length_scale**2)).log()).exp()


def _periodic(kernel: Any, x: LazyTensor, y: LazyTensor) -> Any:
    wave = (math.pi / kernel.periodicity * x.sqdist(y).sqrt()).sin()
    return (-2 / kernel.length_scale**2 * wave * wave).exp()


TERMS: dict[str, Callable[[Any, LazyTensor, LazyTensor], Any]] = {
    "ConstantKernel": lambda kernel, x, y: float(kernel.constant_value),
    "WhiteKernel": lambda kernel, x, y: 0.0,
    "RBF": lambda kernel, x, y: (-0.5 * _scaled(kernel, x, y).square().sum()).exp(),
    "Matern": _matern,
    "RationalQuadratic": _rational,
    "ExpSineSquared": _periodic,
    "DotProduct": lambda kernel, x, y: (x | y) + float(kernel.sigma_0) ** 2,
    "Sum": lambda kernel, x, y: _term(kernel.k1, x, y) + _term(kernel.k2, x, y),
    "Product": lambda kernel, x, y: _term(kernel.k1, x, y) * _term(kernel.k2, x, y),
    "Exponentiation": lambda kernel, x, y: _term(kernel.kernel, x, y) ** float(kernel.exponent),
}
"""By the class of a kernel object: a LazyTensor, or a number."""


def _term(kernel: Any, x: LazyTensor, y: LazyTensor) -> Any:
    name = type(kernel).__name__
    if name not in TERMS or type(kernel) is not getattr(kernels, name, None):
        raise ArgumentError(f"the kernel {kernel!r} has no formula; use scikit-learn's {', '.join(TERMS)}")
    return TERMS[name](kernel, x, y)
