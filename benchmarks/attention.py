"""Attention beside PyTorch's scaled_dot_product_attention: what frameworks.py shows of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from contest import BOUNDS, Bench, Case, Peer, Torch, refuse
from pairwise import ROWS_CHECKED, Row, call_of

WIDTH = 64
BACKENDS = ("FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION", "MATH")


@dataclass(frozen=True)
class Attention(Row):
    """Rows x (M, D), columns y (N, D) and values v (N, DV), standard normal, in the row's dtype."""

    def arrays(self) -> tuple[Any, Any, Any]:
        rng = np.random.default_rng(self.rows)
        shapes = (self.rows, self.dim), (self.columns, self.dim), (self.columns, self.width)
        x, y, v = (rng.standard_normal(shape).astype(self.dtype) for shape in shapes)
        return x, y, v

    def call(self, front: Any, x: Any, y: Any, b: Any, s: Any) -> Any:
        return ((front.Vi(x) | front.Vj(y)) / self.dim**0.5).sumsoftmaxweight(front.Vj(b), dim=1)


class Results(tuple[Any, ...]):
    """Arrays of a row each, side by side on the host."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.concatenate([np.asarray(each) for each in self], axis=1)


class WithSlope(Attention):
    """The same with the gradient of the logarithm of the sum of exponentials, and that logarithm."""

    def call(self, front: Any, x: Any, y: Any, b: Any, s: Any) -> Any:
        rows = front.Vi(x)
        exponents = (rows | front.Vj(y)) / self.dim**0.5
        beside = front.Vj(b).concat(exponents.grad(rows, 1.0))
        return Results(exponents.sumsoftmaxweight_logsumexp(beside, dim=1))


def attention_errors(arrays: Sequence[Any], results: list[Any]) -> list[tuple[float, ...]]:
    """(largest, root mean square) of |a − a64| / Σ p|v| of each result (M, DV), over ROWS_CHECKED rows; of one column
    more, the logarithm, |a − a64| / |a64|.
    """
    x, y, v = (array.astype(np.float64) for array in arrays)
    sample = np.unique(np.linspace(0, len(x) - 1, ROWS_CHECKED).astype(int))
    exponents = x[sample] @ y.T / x.shape[1] ** 0.5
    p = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    tops = exponents.max(axis=1, keepdims=True)
    logarithms = tops + np.log(np.exp(exponents - tops).sum(axis=1, keepdims=True))
    exact = np.concatenate([p @ v, logarithms], axis=1)
    sizes = np.concatenate([p @ np.abs(v), np.abs(logarithms)], axis=1)
    errors = []
    for result in results:
        width = result.shape[1]
        errors.append(np.abs(result[sample].astype(np.float64) - exact[:, :width]) / sizes[:, :width])
    return [(float(error.max()), float(np.sqrt(np.square(error).mean()))) for error in errors]


def attention_by(torch: Torch, backend: str, tf32: bool, arrays: Sequence[Any]) -> Any:
    """(M, DV) from x, y and v of shape (1, 1, .., ..), by one of PyTorch's backends."""
    with torch.attention.sdpa_kernel(getattr(torch.attention.SDPBackend, backend)), torch.tf32(tf32):
        return torch.module.nn.functional.scaled_dot_product_attention(*arrays)[0, 0]


def attention_peers(torch: Torch, of: Row, arrays: Sequence[Any]) -> Iterator[Peer]:
    there = [torch.array(array)[None, None] for array in arrays]
    matrices = 4 * 4 * of.rows * of.columns  # bytes of four matrices in float32
    for number, tf32 in torch.float32s.items() if of.dtype == "float32" else ((of.dtype, False),):
        for backend in BACKENDS:
            call: Callable[[], Any] = partial(attention_by, torch, backend, tf32, there)
            if backend == "MATH" and not torch.holds(matrices):
                call = partial(refuse, "the matrix does not fit")
            yield Peer(f"scaled_dot_product_attention, {number}", backend, torch, call)


def attention(bench: Bench, points: int, dtype: str, slope: bool) -> Case:
    """slope: whether the row has the gradient and the logarithm, too."""
    of = (WithSlope if slope else Attention)("attention", "softmax", points, points, WIDTH, WIDTH, dtype)
    arrays = of.arrays()
    x, y, v = arrays
    theirs = (x, y, np.concatenate([v, (y / WIDTH**0.5).astype(dtype)], axis=1)) if slope else arrays
    peers = [] if bench.torch is None else list(attention_peers(bench.torch, of, theirs))
    ours = call_of(of, bench.ours, arrays)
    return Case(f"{points:,} × {points:,}", ours, peers, partial(attention_errors, theirs), BOUNDS[dtype])
