"""Every reduction of LazyTensors against dense NumPy in float64: both axes, batches, every device, both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import clmapreduce as cm
from clmapreduce import LazyTensor, Pm, Vi, Vj

pytestmark = pytest.mark.drawn

M, N = 37, 21
K = 4
Dense = Callable[..., Any]


def softmax(x: Any, weight: Any, axis: int) -> Any:
    return (special.softmax(x, axis) * weight).sum(axis)


def lse(x: Any, axis: int) -> Any:
    return special.logsumexp(x, axis=axis)


def smallest(x: Any, axis: int) -> Any:
    """Indices of the K smallest, K before the coordinates; no axis of coordinates where there is one."""
    result = np.moveaxis(np.argsort(x, axis, kind="stable").take(range(K), axis), axis, -2)
    return result[..., 0] if result.shape[-1] == 1 else result


def least(x: Any, axis: int) -> Any:
    result = np.moveaxis(np.sort(x, axis).take(range(K), axis), axis, -2)
    return result[..., 0] if result.shape[-1] == 1 else result


VECTOR: dict[str, tuple[Callable[..., Any], Dense]] = {
    "sum": (lambda f, **k: f.sum(**k), lambda x, a: x.sum(a)),
    "sum_reduction": (lambda f, **k: f.sum_reduction(**k), lambda x, a: x.sum(a)),
    "mean": (lambda f, **k: f.mean(**k), lambda x, a: x.mean(a)),
    "var": (lambda f, **k: f.var(**k), lambda x, a: x.var(a)),
    "std": (lambda f, **k: f.std(**k), lambda x, a: x.std(a)),
    "prod": (lambda f, **k: f.prod(**k), lambda x, a: x.prod(a)),
    "min": (lambda f, **k: f.min(**k), lambda x, a: x.min(a)),
    "max": (lambda f, **k: f.max(**k), lambda x, a: x.max(a)),
    "argmin": (lambda f, **k: f.argmin(**k), lambda x, a: x.argmin(a)),
    "argmax": (lambda f, **k: f.argmax(**k), lambda x, a: x.argmax(a)),
    "min_argmin": (lambda f, **k: f.min_argmin(**k), lambda x, a: (x.min(a), x.argmin(a))),
    "max_argmax": (lambda f, **k: f.max_argmax(**k), lambda x, a: (x.max(a), x.argmax(a))),
    "Kmin": (lambda f, **k: f.Kmin(K, **k), least),
    "argKmin": (lambda f, **k: f.argKmin(K, **k), smallest),
    "Kmin_argKmin": (lambda f, **k: f.Kmin_argKmin(K=K, **k), lambda x, a: (least(x, a), smallest(x, a))),
    "any": (lambda f, **k: (f > 2).any(**k), lambda x, a: (x > 2).any(a)),
    "all": (lambda f, **k: (f > -2).all(**k), lambda x, a: (x > -2).all(a)),
    "reduce by name": (lambda f, **k: f.reduce("Min_ArgMin", **k)[1], lambda x, a: x.argmin(a)),
    # factors near 1, so that no product on the way is far larger than the last one
    "reduce by operator": (lambda f, **k: f.reduce(cm.Operator(lambda a, b: a + b + a * b / 8, 0.0), **k), lambda x, a: 8 * ((1 + x / 8).prod(a) - 1)),
    "reduce by function": (lambda f, **k: f.reduce(lambda a, b: a * b, identity=1.0, **k), lambda x, a: x.prod(a)),
}  # fmt: skip
WITH_WEIGHTS: dict[str, tuple[Callable[..., Any], Dense]] = {
    "logsumexp": (lambda f, g, **k: f.logsumexp(**k), lambda x, g, a: lse(x, a)),
    "logsumexp_reduction": (lambda f, g, **k: f.logsumexp_reduction(**k), lambda x, g, a: lse(x, a)),
    "logsumexp weighted": (lambda f, g, **k: f.logsumexp(weight=g, **k), lambda x, g, a: np.log((np.exp(x) * g).sum(a))),
    "logsumexp other": (lambda f, g, **k: f.logsumexp(other=g, **k), lambda x, g, a: np.log((np.exp(x) * g).sum(a))),
    "sumsoftmaxweight": (lambda f, g, **k: f.sumsoftmaxweight(g, **k), softmax),
    "sumsoftmaxweight_logsumexp": (
        lambda f, g, **k: f.sumsoftmaxweight_logsumexp(g, **k), lambda x, g, a: (softmax(x, g, a), lse(x, a))
    ),
    "sumsoftmaxweight one": (lambda f, g, **k: f.sumsoftmaxweight(weight=g[0], **k), lambda x, g, a: softmax(x, g[..., :1], a)),
}  # fmt: skip


def check(result: Any, expected: Any, dtype: Any, label: object) -> None:
    """Values to rounding, indices exactly and in int64, flags exactly."""
    if isinstance(expected, tuple):
        assert isinstance(result, tuple) and len(result) == len(expected), label
        for part, values in zip(result, expected, strict=True):
            check(part, values, dtype, label)
        return
    assert isinstance(result, np.ndarray) and result.shape == expected.shape, (label, result.shape, expected.shape)
    if expected.dtype.kind in "ib":
        assert result.dtype == expected.dtype, label
        np.testing.assert_array_equal(result, expected, str(label))
    else:
        assert result.dtype == dtype, label
        tolerance = 64 * np.finfo(dtype).eps
        np.testing.assert_allclose(
            result, expected, rtol=tolerance, atol=tolerance * max(1.0, np.abs(expected).max(initial=0)), err_msg=str(label)
        )


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", VECTOR)
def test_reductions(name: str, dtype: str, rng: np.random.Generator, context: cm.Context, mode: str) -> None:
    """Of vectors, and of scalars with many ties."""
    reduce, dense = VECTOR[name]
    x, y = rng.uniform(-1.1, 1.1, (M, 3)).astype(dtype), rng.uniform(-1.1, 1.1, (N, 3)).astype(dtype)
    s, t = rng.integers(-2, 3, (M, 1)).astype(dtype), rng.integers(-2, 3, (N, 1)).astype(dtype)
    for a, b in ((x, y), (s, t)):
        formula, wide = Vi(a) * Vj(b), a[:, None].astype(float) * b[None].astype(float)
        if a is x:  # no ties but those of rounding, which NumPy must see too
            wide = (a[:, None] * b[None]).astype(float)
        for axis in (0, 1):
            expected = dense(wide, axis)
            check(reduce(formula, axis=axis, context=context, mode=mode), expected, dtype, (name, axis))
            check(reduce(formula, dim=axis - 3, context=context, mode=mode), expected, dtype, (name, axis, "dim"))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", WITH_WEIGHTS)
def test_exponential_reductions(
    name: str, dtype: str, rng: np.random.Generator, context: cm.Context, mode: str
) -> None:
    reduce, dense = WITH_WEIGHTS[name]
    x, y, g = (rng.uniform(-1, 1, (count, 2)).astype(dtype) for count in (M, N, N))
    g = abs(g)
    wide, weight = (
        ((x[:, None].astype(float) - y[None]) ** 2).sum(-1, keepdims=True),
        np.broadcast_to(g[None].astype(float), (M, N, 2)),
    )
    for axis in (0, 1):
        result = reduce((Vi(x) - Vj(y)).sqnorm2(), Vj(g), axis=axis, context=context, mode=mode)
        check(result, dense(wide, weight, axis), dtype, (name, axis))


@pytest.mark.parametrize("name", ["sum", "std", "argmin", "Kmin_argKmin", "max_argmax", "reduce by function"])
def test_batches(name: str, rng: np.random.Generator, context: cm.Context, mode: str) -> None:
    """Batch axes broadcast, parameters have them too, and shift the axes' numbers."""
    reduce, dense = VECTOR[name]
    x, y, p = rng.uniform(-1, 1, (2, 1, 9, 1, 3)), rng.uniform(-1, 1, (4, 1, 7, 3)), rng.uniform(1, 2, (2, 4, 1, 1, 1))
    formula, wide = (LazyTensor(x) - LazyTensor(y)) * LazyTensor(p), (x - y) * p
    assert formula.shape == wide.shape
    for axis in (2, 3):
        check(reduce(formula, axis=axis, context=context, mode=mode), dense(wide, axis), "f8", (name, axis))
        check(reduce(formula, axis=axis - 5, context=context, mode=mode), dense(wide, axis), "f8", (name, axis - 5))
    np.testing.assert_allclose(formula.sum(4).dense(context=context, mode=mode), wide.sum(4))


def test_callable_reductions(rng: np.random.Generator, context: cm.Context, mode: str) -> None:
    x, y, b, s = (
        rng.uniform(-1, 1, (9, 3)),
        rng.uniform(-1, 1, (7, 3)),
        rng.uniform(-1, 1, (7, 2)),
        rng.uniform(1, 2, 1),
    )
    expected = np.exp(-s * ((x[:, None] - y[None]) ** 2).sum(-1)) @ b
    xi, yj, bj, pm = Vi(0, 3), Vj(1, 3), Vj(2, 2), Pm(3, 1)
    symbolic = ((-(xi - yj).sqnorm2() * pm).exp() * bj).sum(axis=1, context=context)
    assert isinstance(symbolic, cm.pairwise.Reduced) and "Vi(0, 3), Vj(1, 3), Vj(2, 2), Pm(3, 1)" in repr(symbolic)
    check(symbolic(x, y, b, s, mode=mode), expected, "f8", "symbolic")
    check(symbolic(x, y, b, float(s[0])), expected, "f8", "a number for a parameter")
    check(symbolic(x[None], y[None], b, s), expected[None], "f8", "batches come with the arrays")
    result = ((-(Vi(x) - yj).sqnorm2() * float(s[0])).exp() * Vj(b)).sum(axis=1, context=context)
    check(result(y, mode=mode), expected, "f8", "arrays and placeholders")
    later = ((-(Vi(x) - Vj(y)).sqnorm2() * Pm(s)).exp() * Vj(b)).sum(axis=1, call=False, context=context, mode=mode)
    check(later(), expected, "f8", "call=False")
    places = (Vj(0, 3) - Vi(1, 3)).sqnorm2().argmin(axis=1, context=context)
    check(
        places(y, x),
        ((x[:, None] - y[None]) ** 2).sum(-1, keepdims=True).argmin(1),
        "f8",
        "by index, not by appearance",
    )


def test_what_is_missing_counts_one(rng: np.random.Generator, context: cm.Context, mode: str) -> None:
    x, y = rng.uniform(-1, 1, (9, 3)), rng.uniform(-1, 1, (7, 3))
    keywords = {"context": context, "mode": mode}
    check(Vj(y).sum(axis=1, **keywords), y.sum(0, keepdims=True), "f8", "no i")
    check(Vi(x).sum(axis=1, **keywords), x, "f8", "no j")
    check((Vi(x) + Vj(y) * 0).sum(axis=1, **keywords), 7 * x, "f8", "j in a zero only")
    check((Vi(x) * 0).sum(axis=0, **keywords), np.zeros((1, 3)), "f8", "a zero only")


def test_empty_reductions(context: cm.Context, mode: str) -> None:
    """N = 0 gives identities, M = 0 empty arrays."""
    x, y = np.ones((5, 2), np.float32), np.ones((0, 2), np.float32)
    formula, keywords = Vi(x) * Vj(y), {"axis": 1, "context": context, "mode": mode}
    expected = {
        "sum": 0.0,
        "min": np.inf,
        "max": -np.inf,
        "argmin": 0,
        "argmax": 0,
        "prod": 1.0,
        "any": False,
        "all": True,
    }
    for name, value in expected.items():
        result = getattr(formula, name)(**keywords)
        assert result.shape == (5, 2) and (result == value).all(), name
        assert getattr(formula, name)(axis=0, context=context, mode=mode).shape == (0, 2)
    assert (formula[:1].logsumexp(**keywords) == -np.inf).all()
    value, place = formula.min_argmin(**keywords)
    assert (value == np.inf).all() and not place.any() and place.dtype == np.int64


def test_nan_and_infinities(context: cm.Context, mode: str) -> None:
    """Extrema never choose a NaN, sums keep it; rows of nothing but -inf have a logsumexp of -inf."""
    nan, inf = np.nan, np.inf
    rows = np.array([[nan, 3, 1, 1], [nan, nan, nan, nan], [-inf, -inf, -inf, -inf], [inf, 2, nan, inf]])
    x = Vi(rows)
    at = Vj(np.arange(4.0)[:, None])
    choice = (at - 0.5).ifelse((at - 1.5).ifelse((at - 2.5).ifelse(x[3], x[2]), x[1]), x[0])
    keywords = {"axis": 1, "context": context, "mode": mode}
    np.testing.assert_array_equal(choice.dense(context=context, mode=mode), rows)
    np.testing.assert_array_equal(choice.min(**keywords)[:, 0], [1, inf, -inf, 2])
    np.testing.assert_array_equal(choice.max(**keywords)[:, 0], [3, -inf, -inf, inf])
    np.testing.assert_array_equal(choice.argmin(**keywords)[:, 0], [2, 0, 0, 1])
    np.testing.assert_array_equal(choice.argmax(**keywords)[:, 0], [1, 0, 0, 0])
    np.testing.assert_array_equal(choice.argKmin(2, **keywords)[[0, 2]], [[2, 3], [0, 1]])
    np.testing.assert_array_equal(np.isnan(choice.sum(**keywords)[:, 0]), [True, True, False, True])
    np.testing.assert_array_equal(choice.logsumexp(**keywords)[:, 0], [nan, nan, -inf, nan])


def test_results_stay_where_an_array_was(rng: np.random.Generator, context: cm.Context, mode: str) -> None:
    x, y = rng.uniform(-1, 1, (9, 1, 3)), rng.uniform(-1, 1, (1, 7, 3))
    lazy = (LazyTensor(cm.array(x, context)) - LazyTensor(y)).sqnorm2()
    dense = ((x - y) ** 2).sum(-1)
    for result, expected in (
        (lazy.sum(1, mode=mode), dense.sum(1)[:, None]), (lazy.argmin(1, mode=mode), dense.argmin(1)[:, None]),
        (lazy @ np.ones(7), dense.sum(1)), (lazy.dense(mode=mode), dense), (lazy[2:4, :].T.dense(), dense[2:4].T),
    ):  # fmt: skip
        assert isinstance(result, cm.DeviceArray)
        check(result.to_numpy(), expected, "f8", "on the device")
    assert isinstance(lazy.to_numpy(), np.ndarray)
    out = np.empty((9, 1))
    assert (Vi(x[:, 0]) - Vj(y[0])).sqnorm2().sum(1, out=out, context=context, mode=mode) is out
    check(out, dense.sum(1)[:, None], "f8", "out")


def test_arrays_are_read_when_reduced(rng: np.random.Generator, context: cm.Context) -> None:
    x, y = rng.uniform(-1, 1, (9, 3)), rng.uniform(-1, 1, (7, 3))
    lazy = Vi(x) * Vj(y)
    x *= 2
    check(lazy.sum(1, context=context), (x[:, None] * y).sum(1), "f8", "not copied")


@pytest.mark.parametrize(
    "options",
    [
        {"dtype_acc": "float64"},
        {"use_double_acc": True},
        {"sum_scheme": "kahan_scheme"},
        {"sum_scheme": "direct_sum"},
        {"sum_scheme": "block_sum"},
    ],
    ids=str,
)
def test_precision(options: dict[str, Any], rng: np.random.Generator, context: cm.Context, mode: str) -> None:
    x, y = rng.standard_normal((3, 1)).astype("f4"), rng.standard_normal((20_000, 1)).astype("f4")
    exact = x.astype(float) * y.astype(float).T
    result = (Vi(x) * Vj(y)).sum(1, context=context, mode=mode, **options)[:, 0]
    limit = (
        2e-6
        if options.get("sum_scheme") in ("block_sum", None)
        else 1.3e-7
        if options.get("sum_scheme") == "kahan_scheme"
        else 1e-4
    )
    assert (abs(result - exact.sum(1)) <= limit * abs(exact).sum(1)).all()


def test_words_that_change_nothing(rng: np.random.Generator, context: cm.Context) -> None:
    x, y = rng.uniform(-1, 1, (9, 3)), rng.uniform(-1, 1, (7, 3))
    kind = context.device.kind.upper()
    expected = (x[:, None] * y).sum(1)
    for words in (
        {"backend": kind},
        {"backend": "1D"},
        {"backend": "2D"},
        {"device_id": -1, "enable_chunks": False, "ranges": None, "optional_flags": []},
    ):
        check((Vi(x) * Vj(y)).sum(1, context=context, **words), expected, "f8", words)
    lazy = Vi(x) * Vj(y)
    lazy.backend = "2D"
    check(lazy.sum(1, context=context), expected, "f8", "attribute")


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("exponent", [8, 10, 20, 30])
def test_exponents_whose_roundings_are_many_powers(
    code: str, exponent: int, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:  # fmt: skip
    """Of 10^10 a float32 is off by hundreds: the largest one, less itself, is 0 all the same."""
    if code == "f8" and not context.facts.fp64:
        pytest.skip("no float64 here")
    apart = rng.permutation(np.linspace(0.1, 1, 50))[:, None]  # a second one counts nothing
    x, y = np.ones((3, 1), code), (10.0**exponent * apart).astype(code)
    g, how = rng.normal(size=(50, 2)).astype(code), {"axis": 1, "context": context, "mode": mode}
    for sign in (1, -1):
        exponents, largest = sign * cm.Vi(x) * cm.Vj(y), (sign * y).max()
        best = (sign * y).argmax()
        np.testing.assert_allclose(exponents.logsumexp(**how), np.full((3, 1), largest), rtol=4e-7)
        np.testing.assert_allclose(exponents.sumsoftmaxweight(cm.Vj(g), **how), np.tile(g[best], (3, 1)), rtol=1e-6)
        result = exponents.reduction("Max_SumShiftExp", **how)
        np.testing.assert_allclose(result, np.tile([largest, 1], (3, 1)), rtol=4e-7)
