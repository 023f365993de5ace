"""Every operation of LazyTensors against dense NumPy in float64, on every device in both modes.

Operations are computed in groups, one behind the other in one vector, so that a group is one kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import clmapreduce as cm
from clmapreduce import LazyTensor, Vi, Vj

pytestmark = pytest.mark.drawn

M, N = 9, 6
Case = Callable[..., Any]


def total(values: Any) -> Any:
    return values.sum(-1, keepdims=True)


def flat(values: Any) -> Any:
    return values.reshape(*values.shape[:-2], -1)


def step(x: Any) -> Any:
    return (x >= 0).astype(float)


def half_away(x: Any, digits: int = 0) -> Any:
    return np.sign(x) * np.floor(np.abs(x) * 10.0**digits + 0.5) / 10.0**digits


def soft_dtw(x: np.ndarray, y: np.ndarray, gamma: float) -> float:
    """The textbook recursion on a table of costs."""
    cost = (x[:, None] - y[None, :]) ** 2
    table = np.full((len(x) + 1, len(y) + 1), np.inf)
    table[0, 0] = 0
    for a in range(len(x)):
        for b in range(len(y)):
            before = np.array([table[a, b + 1], table[a + 1, b], table[a, b]])
            table[a + 1, b + 1] = cost[a, b] - gamma * special.logsumexp(-before / gamma)
    return float(table[-1, -1])


def pairs(function: Callable[[np.ndarray, np.ndarray], Any]) -> Callable[[Any, Any], Any]:
    """A function of two vectors, for all pairs."""

    def dense(x: Any, y: Any) -> Any:
        x, y = np.broadcast_arrays(x, y[..., :1] * 0 + x)[0], y
        rows = [
            [np.ravel(function(x[i, j % x.shape[1]], y[i % y.shape[0], j])) for j in range(y.shape[1])]
            for i in range(x.shape[0])
        ]
        return np.array(rows)

    return dense


GROUPS: dict[str, list[tuple[Case, Case | None]]] = {
    "arithmetic": [  # the same function for both
        (lambda x, y: x + y, None), (lambda x, y: x - y, None), (lambda x, y: x * y, None), (lambda x, y: x / y, None), (lambda x, y: -x + 0, None),
        (lambda x, y: 2 + x, None), (lambda x, y: 2.5 - x * 1, None), (lambda x, y: 0 - y, None), (lambda x, y: 3 / x, None), (lambda x, y: 1 / y, None),
        (lambda x, y: 0 / y, None), (lambda x, y: x * 0 + y, None), (lambda x, y: 0 * x, None), (lambda x, y: -1 * x, None), (lambda x, y: abs(x - y), None),
        (lambda x, y: x[..., :1] * y, None), (lambda x, y: (+x)[..., 1:2] / (y / 1), None), (lambda x, y: x - 0, None),
    ],
    "powers": [
        (lambda x, y: x**2, None), (lambda x, y: x**3, None), (lambda x, y: x**-2, None), (lambda x, y: x**0, lambda x, y: x * 0 + 1),
        (lambda x, y: abs(x) ** 0.5, None), (lambda x, y: abs(x) ** -0.5, None), (lambda x, y: abs(x) ** 1.5, None), (lambda x, y: abs(x) ** y, None),
        (lambda x, y: abs(x) ** y[..., 0:1], None), (lambda x, y: 2**y, lambda x, y: 2.0**y), (lambda x, y: x.power(3), lambda x, y: x**3), (lambda x, y: x.square(), lambda x, y: x**2),
        (lambda x, y: x ** np.float32(2), lambda x, y: x**2), (lambda x, y: x.round() ** 17, lambda x, y: half_away(x) ** 17),
    ],
    "comparisons": [
        (lambda x, y: x == x, None), (lambda x, y: x == y, None), (lambda x, y: x != y, None), (lambda x, y: x < y, None), (lambda x, y: x <= y, None),
        (lambda x, y: x > y, None), (lambda x, y: x >= y, None), (lambda x, y: x > 0, None), (lambda x, y: y > 0.5, None), (lambda x, y: y[..., :1] <= 0.5, None),
    ],
    "exponentials": [
        (lambda x, y: (x - y).exp(), lambda x, y: np.exp(x - y)), (lambda x, y: abs(x).log(), lambda x, y: np.log(abs(x))),
        (lambda x, y: abs(x).xlogx(), lambda x, y: abs(x) * np.log(abs(x))), (lambda x, y: abs(y).sqrt(), lambda x, y: np.sqrt(abs(y))),
        (lambda x, y: abs(y).rsqrt(), lambda x, y: 1 / np.sqrt(abs(y))), (lambda x, y: (x * 0).xlogx() + (x - x).rsqrt(), lambda x, y: x * 0),
        (lambda x, y: (-(x - y).sqnorm2() / 2).exp(), lambda x, y: np.exp(-total((x - y) ** 2) / 2)),
    ],
    "angles": [
        (lambda x, y: x.sin(), lambda x, y: np.sin(x)), (lambda x, y: x.cos(), lambda x, y: np.cos(x)), (lambda x, y: (x / 9).asin(), lambda x, y: np.arcsin(x / 9)),
        (lambda x, y: (x / 9).acos(), lambda x, y: np.arccos(x / 9)), (lambda x, y: x.atan(), lambda x, y: np.arctan(x)), (lambda x, y: x.atan2(y), np.arctan2),
        (lambda x, y: x.sinxdivx(), lambda x, y: np.sinc(x / np.pi)), (lambda x, y: x.sinc(), lambda x, y: np.sinc(x)), (lambda x, y: (x - x).sinc(), lambda x, y: x * 0 + 1),
    ],
    "steps": [
        (lambda x, y: x.sign(), lambda x, y: np.sign(x)), (lambda x, y: (x - x).sign() + (y - y).step(), lambda x, y: x * y * 0 + 1), (lambda x, y: x.step(), lambda x, y: step(x)),
        (lambda x, y: x.relu(), lambda x, y: np.maximum(x, 0)), (lambda x, y: x.floor(), lambda x, y: np.floor(x)), (lambda x, y: x.clamp(-1, 1), lambda x, y: np.clip(x, -1, 1)),
        (lambda x, y: x.clamp(-0.5, y.abs()), lambda x, y: np.clip(x, -0.5, abs(y))), (lambda x, y: x.ifelse(y, -y), lambda x, y: np.where(x >= 0, y, -y)),
        (lambda x, y: (x - x).ifelse(y, 7), lambda x, y: y + 0 * x), (lambda x, y: x.mod(0.75), lambda x, y: np.mod(x, 0.75)), (lambda x, y: x.mod(2, 0.5), lambda x, y: x - 2 * np.floor((x - 0.5) / 2)),
        (lambda x, y: x.round(), lambda x, y: half_away(x)), (lambda x, y: x.round(1), lambda x, y: half_away(x, 1)), (lambda x, y: (x - x + 2.5).round() + (y - y - 2.5).round(), lambda x, y: x * y * 0),
    ],
    "norms": [
        (lambda x, y: x.sqnorm2(), lambda x, y: total(x**2)), (lambda x, y: x.norm2(), lambda x, y: np.sqrt(total(x**2))), (lambda x, y: y.norm(-1), lambda x, y: np.sqrt(total(y**2))),
        (lambda x, y: (x - y).norm(2), lambda x, y: np.sqrt(total((x - y) ** 2))), (lambda x, y: x.normalize(), lambda x, y: x / np.sqrt(total(x**2))), (lambda x, y: x.sqdist(y), lambda x, y: total((x - y) ** 2)),
        (lambda x, y: x | y, lambda x, y: total(x * y)), (lambda x, y: x.weightedsqnorm(abs(y[..., :1])), lambda x, y: total(abs(y[..., :1]) * x**2)),
        (lambda x, y: x.weightedsqnorm(y), lambda x, y: total(y * x**2)), (lambda x, y: x.weightedsqdist(y, [1.0, 2.0, 3.0]), lambda x, y: total(np.array([1, 2, 3]) * (x - y) ** 2)),
        (lambda x, y: x.weightedsqnorm([2.0, 1, 0, 1, 3, 1, 0, 1, 4]), lambda x, y: total(x * (x @ np.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]])))),
        (lambda x, y: (x - x).normalize(), lambda x, y: x * 0),
    ],
    "coordinates": [
        (lambda x, y: x.sum(), lambda x, y: total(x)), (lambda x, y: (x * y).sum(-1), lambda x, y: total(x * y)), (lambda x, y: x.sum(dim=2), lambda x, y: total(x)), (lambda x, y: x.min(), lambda x, y: x.min(-1, keepdims=True)),
        (lambda x, y: x.max(-1), lambda x, y: x.max(-1, keepdims=True)), (lambda x, y: x.argmin(2), lambda x, y: x.argmin(-1, keepdims=True)), (lambda x, y: x.argmax(), lambda x, y: x.argmax(-1, keepdims=True)),
        (lambda x, y: x.mean(), lambda x, y: x.mean(-1, keepdims=True)), (lambda x, y: x.var(), lambda x, y: x.var(-1, keepdims=True)), (lambda x, y: x.std(-1), lambda x, y: x.std(-1, keepdims=True)),
        (lambda x, y: x.prod(), lambda x, y: x.prod(-1, keepdims=True)), (lambda x, y: (x > 0).any(), lambda x, y: (x > 0).any(-1, keepdims=True)), (lambda x, y: (x > 0).all(), lambda x, y: (x > 0).all(-1, keepdims=True)),
        (lambda x, y: x.elem(1), lambda x, y: x[..., 1:2]), (lambda x, y: x[2], lambda x, y: x[..., 2:3]), (lambda x, y: x[-1], lambda x, y: x[..., 2:3]), (lambda x, y: x[:2], lambda x, y: x[..., :2]),
        (lambda x, y: y[1:], lambda x, y: y[..., 1:]), (lambda x, y: y[-2:-1], lambda x, y: y[..., 1:2]), (lambda x, y: x[:, :, 1], lambda x, y: x[..., 1:2]), (lambda x, y: x[:, :, :], lambda x, y: x), (lambda x, y: x.extract(1, 2), lambda x, y: x[..., 1:]),
        (lambda x, y: x.concat(y), lambda x, y: np.concatenate(np.broadcast_arrays(x, y), -1)), (lambda x, y: LazyTensor.cat((x, y, x), -1), lambda x, y: np.concatenate(np.broadcast_arrays(x, y, x), -1)),
        (lambda x, y: LazyTensor.concatenate((y[0], x), 2), lambda x, y: np.concatenate(np.broadcast_arrays(y, x), -1)[..., [0, 3, 4, 5]]),
        (lambda x, y: abs(x[0]).one_hot(4), lambda x, y: (np.floor(abs(x[..., :1]) + 0.5) == np.arange(4)).astype(float)), (lambda x, y: x.difference_matrix(y), lambda x, y: flat(x[..., :, None] - y[..., None, :])),
        (lambda x, y: x.factorize(y), lambda x, y: x), (lambda x, y: y.auto_factorize(), lambda x, y: y),
    ],
    "tensors": [
        (lambda x, y: x.tensorprod(y), lambda x, y: flat(x[..., :, None] * y[..., None, :])), (lambda x, y: x.tensorprod(y).matvecmult(x), lambda x, y: x * total(y * x)),
        (lambda x, y: x.vecmatmult(x.tensorprod(y)), lambda x, y: y * total(x * x)), (lambda x, y: x.tensorprod(y).matvecmult(y[:1]), lambda x, y: flat(x[..., :, None] * y[..., None, :]) * y[..., :1]),
        (lambda x, y: x.concat(x).keops_tensordot(y, (2, 3), (3,), (1,), (0,)), lambda x, y: np.concatenate([total(x * y)] * 2, -1)),
        (lambda x, y: x.concat(y).keops_tensordot(y, [2, 3], [3], [], [], [2, 0, 1]), lambda x, y: flat(np.moveaxis(np.stack(np.broadcast_arrays(x, y), -2)[..., None] * y[..., None, None, :], [-3, -2, -1], [-1, -3, -2]).reshape(M, N, 3, 6))),
        (lambda x, y: x.concat(y).keops_kron(y, [2, 3], [3, 1]), lambda x, y: pairs(lambda a, b: np.kron(a.reshape(2, 3), b[3:].reshape(3, 1)))(np.concatenate(np.broadcast_arrays(x, y), -1), np.concatenate(np.broadcast_arrays(x, y), -1))),
    ],
    "special": [
        (lambda x, y: x.softdtw_sqdist(y, 0.5), pairs(lambda a, b: soft_dtw(a, b, 0.5))),
    ],
}  # fmt: skip


def operands(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Numbers away from 0 and from halves, so that steps and roundings are decided."""
    x, y = (np.round(rng.uniform(0.1, 2.9, (count, 3)) * 8 + 0.3) / 8 + 0.03 for count in (M, N))
    return x * rng.choice([-1.0, 1.0], x.shape), y * rng.choice([-1.0, 1.0], y.shape)


@pytest.mark.parametrize("group", GROUPS)
def test_operations(group: str, rng: np.random.Generator, context: cm.Context, mode: str) -> None:
    x, y = operands(rng)
    lazy, expected = [], []
    for function, dense in GROUPS[group]:
        lazy.append(function(Vi(x), Vj(y)))
        expected.append(np.broadcast_to((dense or function)(x[:, None], y[None]), (M, N, lazy[-1].ndim)).astype(float))
        assert lazy[-1].shape[2:] == (() if lazy[-1].ndim == 1 else (expected[-1].shape[-1],))
    together = LazyTensor.cat(lazy)
    together += Vi(0 * x[:, :1]) + Vj(0 * y[:, :1])
    result = together.dense(context=context, mode=mode).reshape(M, N, -1)
    start = 0
    for k, (tensor, values) in enumerate(zip(lazy, expected, strict=True)):
        part = result[..., start : start + tensor.ndim]
        start += tensor.ndim
        np.testing.assert_allclose(part, values, rtol=1e-10, atol=1e-10, err_msg=f"{group}, operation {k}: {tensor!r}")


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_bsplines(order: int, rng: np.random.Generator, context: cm.Context, mode: str) -> None:
    from scipy.interpolate import BSpline

    knots, at = np.sort(rng.uniform(0, 1, (1, 8)), -1), rng.uniform(-0.2, 1.2, (5, 1))
    result = LazyTensor(knots[0]).bspline(Vi(at), order).dense(context=context, mode=mode)
    count = knots.size - order - 1
    assert result.shape == (5, 1, count)
    for k in range(count):
        piece = BSpline.basis_element(knots[0, k : k + order + 2], extrapolate=False)(at[:, 0])
        np.testing.assert_allclose(result[:, 0, k], np.nan_to_num(piece), atol=1e-12)


def test_structural_zeros_hide_infinities(context: cm.Context, mode: str) -> None:
    x = np.array([[np.inf], [np.nan], [1.0]])
    assert not (Vi(x) * 0).dense(context=context, mode=mode).any(), "KeOps' LT * 0 is 0"
    assert np.isnan((Vi(x) * 0.5 - Vi(x) * 0.5).dense(context=context, mode=mode)[:2]).all()


def test_nan_in_functions_with_cases(context: cm.Context, mode: str) -> None:
    x = Vi(np.array([[np.nan]]))
    for tensor in (x.relu(), x.clamp(0, 1), x.round(), x.xlogx(), x.rsqrt(), abs(x), x.floor()):
        assert np.isnan(tensor.dense(context=context, mode=mode)).all(), tensor


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_whole_powers_are_exact(dtype: str, context: cm.Context, mode: str) -> None:
    """KeOps takes float64 through a float32 power function."""
    x = np.arange(-9, 10, dtype=dtype)[:, None]
    for power in (0, 1, 2, 3, 5, 7):
        assert ((Vi(x) ** power).dense(context=context, mode=mode) == x**power).all()


def test_float16_computes_in_float32(rng: np.random.Generator, context: cm.Context, mode: str) -> None:
    x, y = rng.uniform(-1, 1, (M, 3)).astype("f2"), rng.uniform(-1, 1, (N, 3)).astype("f2")
    result = (-(Vi(x) - Vj(y)).sqnorm2()).exp().dense(context=context, mode=mode)
    assert result.dtype == np.float16
    expected = np.exp(-((x[:, None].astype(float) - y[None].astype(float)) ** 2).sum(-1))
    np.testing.assert_allclose(result.astype(float), expected, atol=1.1 * 2**-11, rtol=2**-11)


def test_columns_less_rows(rng: np.random.Generator, context: cm.Context, mode: str) -> None:
    """Intel's compiler carries -x, moved out of the loop over tiles, across its barriers as one item's value for all."""
    x, y = operands(rng)
    result = (Vj(y) - Vi(x)).sum(1, context=context, mode=mode)
    np.testing.assert_allclose(result, (y - x[:, None]).sum(1), atol=1e-12)
    result = (Vi(x)[0] * Vj(y)[0] - Vi(x)[1] * Vj(y)[1]).sum(1, context=context, mode=mode)[:, 0]
    np.testing.assert_allclose(result, (x[:, :1] * y[:, 0] - x[:, 1:2] * y[:, 1]).sum(1), atol=1e-12)


@pytest.mark.parametrize("dim", [16, 17, 40])
def test_signs_that_cancel(dim: int, rng: np.random.Generator, context: cm.Context, mode: str) -> None:
    """In loops over long vectors the constant factors may multiply to 1, and then are no factor."""
    x, y, p = rng.normal(size=(4, dim)), rng.normal(size=(6, dim)), rng.normal(size=dim)
    how = {"axis": 1, "context": context, "mode": mode}
    np.testing.assert_allclose(((-cm.Vi(x)) * (-cm.Vj(y))).sum(**how), x * y.sum(0), rtol=1e-12, atol=1e-12)
    result = (cm.Vi(x) * (-cm.Pm(p)) * -1.0 * cm.Vj(y)).sum(**how)
    np.testing.assert_allclose(result, x * p * y.sum(0), rtol=1e-12, atol=1e-12)
