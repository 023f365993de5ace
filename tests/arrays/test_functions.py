"""NumPy's other functions, the constructors and the array namespace, beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.array_oracle import assert_as_numpy, drawn_values
from support.oracles import PLAIN

import clmapreduce as cm

pytestmark = pytest.mark.drawn


def test_constructors(context: cm.Context) -> None:
    for dtype in (None, "f4", "i1", "?", "c8", "u8", "f2"):
        for shape in (3, (2, 3), (), (0, 2), [4, 1]):
            assert_as_numpy(cm.zeros(shape, dtype, context=context), np.zeros(shape, dtype or float))
            assert_as_numpy(cm.ones(shape, dtype, context=context), np.ones(shape, dtype or float))
            array = cm.empty(shape, dtype, context=context)
            assert (array.shape, array.dtype) == (np.empty(shape).shape, np.dtype(dtype or float))
    for value in (7, 2.5, True, 1j, np.int8(3), np.float32(1.5), np.inf, np.nan, -0.0):
        assert_as_numpy(cm.full((2, 3), value, context=context), np.full((2, 3), value))
        assert np.signbit(cm.full(1, -0.0, context=context).to_numpy()[0])
    assert_as_numpy(cm.full(4, 3.7, "i4", context=context), np.full(4, 3.7, "i4"))
    x = cm.array(np.ones((2, 3), np.int16), context)
    for mine, numpys in ((cm.zeros_like, np.zeros_like), (cm.ones_like, np.ones_like)):
        assert_as_numpy(mine(x), numpys(np.ones((2, 3), np.int16)))
        assert_as_numpy(mine(x, "f4", shape=(4,)), numpys(np.ones((2, 3), np.int16), "f4", shape=(4,)))
        assert_as_numpy(numpys(x), numpys(np.ones((2, 3), np.int16)))
        assert mine(x).context is context
    assert_as_numpy(np.full_like(x, 9), np.full((2, 3), 9, np.int16))
    assert cm.empty_like(x).shape == (2, 3)
    for wrong in (lambda: cm.zeros(-1), lambda: cm.zeros((2, 1.5)), lambda: cm.zeros(3, "S4"), lambda: cm.full(3, [1, 2]), lambda: cm.full(3, 300, "u1")):
        with pytest.raises(cm.ClMapReduceError):
            wrong()


def test_numbers_in_step(context: cm.Context) -> None:
    for arguments in ((5,), (2, 9), (2, 9, 3), (9, 2, -2), (5, 2), (0,), (2.5,), (0, 1, 0.1), (-3, 3.5, 0.5), (10, 0, -2.5)):
        expected = np.arange(*arguments)
        result = cm.arange(*arguments, context=context)
        assert (result.shape, result.dtype) == (expected.shape, expected.dtype), arguments
        np.testing.assert_allclose(result.to_numpy(), expected, rtol=1e-14, atol=1e-15)
    for dtype in ("i1", "u8", "f4", "i8"):
        assert_as_numpy(cm.arange(3, 90, 7, dtype, context=context), np.arange(3, 90, 7, dtype), 2)
    assert_as_numpy(cm.arange(100_003, context=context), np.arange(100_003))
    for arguments, more in (((0, 1), {}), ((0, 1, 5), {}), ((2, -3, 7), {"endpoint": False}), ((0, 1, 1), {}), ((3, 4, 0), {}), ((0, 10, 11), {"dtype": "i4"}), ((1, 2, 1001), {"dtype": "f4"})):  # fmt: skip
        expected = np.linspace(*arguments, **more)
        result = cm.linspace(*arguments, **more, context=context)
        assert (result.shape, result.dtype) == (expected.shape, expected.dtype), (arguments, more)
        np.testing.assert_allclose(result.to_numpy(), expected, rtol=1e-6 if "dtype" in more else 1e-14, atol=1e-14)
    for wrong in (lambda: cm.arange(0, 5, 0), lambda: cm.arange("5"), lambda: cm.linspace(0, 1, -1)):
        with pytest.raises(cm.ClMapReduceError):
            wrong()


def test_joining(context: cm.Context, rng: np.random.Generator) -> None:
    for _ in range(4):
        first, second = (PLAIN[i] for i in rng.choice(len(PLAIN), 2))
        a, b = drawn_values(rng, first, (2, 3, 4)), drawn_values(rng, second, (2, 5, 4))
        x, y = cm.array(a, context), cm.array(b, context)
        assert_as_numpy(cm.concatenate([x, y, x], 1), np.concatenate([a, b, a], 1), case=(first, second))
        assert_as_numpy(np.concatenate([x, b], axis=-2), np.concatenate([a, b], axis=-2))
        assert_as_numpy(cm.concatenate([x, y], None), np.concatenate([a, b], None))
        for axis in (0, 1, -1):
            assert_as_numpy(cm.stack([x, x], axis), np.stack([a, a], axis))
        assert_as_numpy(np.vstack([x[0], x[1]]), np.vstack([a[0], a[1]]))
        assert_as_numpy(np.hstack([x, y]), np.hstack([a, b]))
    assert_as_numpy(cm.concatenate([x[:, :0], x], 1), np.concatenate([a[:, :0], a], 1))
    for wrong in ([], [x, y[:, :, :2]], [x, x[0]], [x[0, 0, 0]], x[0, 0, 0], [1, 2]):
        with pytest.raises(cm.ClMapReduceError):
            cm.concatenate(wrong)
    with pytest.raises(cm.ShapeError):
        cm.stack([x, y])


def test_where(context: cm.Context, rng: np.random.Generator) -> None:
    flags = rng.random((4, 5)) < 0.5
    for first, second in (("i4", "f4"), ("u1", "i8"), ("?", "f8"), ("f4", "c8")):
        a, b = drawn_values(rng, first, (4, 5)), drawn_values(rng, second, 5)
        x, y, m = cm.array(a, context), cm.array(b, context), cm.array(flags, context)
        assert_as_numpy(cm.where(m, x, y), np.where(flags, a, b), case=(first, second))
        assert_as_numpy(np.where(m, x, 2), np.where(flags, a, 2))
        assert_as_numpy(np.where(flags, 0.5, y), np.where(flags, 0.5, b))
        assert_as_numpy(np.where(x, x, y), np.where(a, a, b))
    for mine, numpys in zip(np.where(m), np.where(flags), strict=True):
        assert_as_numpy(mine, numpys)
    for mine, numpys in zip(np.nonzero(x), np.nonzero(a), strict=True):
        assert_as_numpy(mine, numpys)
    assert_as_numpy(np.argwhere(m), np.argwhere(flags))
    assert_as_numpy(np.flatnonzero(m), np.flatnonzero(flags))
    assert_as_numpy(np.count_nonzero(m, axis=0), np.count_nonzero(flags, axis=0))


def test_shapes(context: cm.Context, rng: np.random.Generator) -> None:
    a = rng.integers(-99, 99, (2, 1, 3, 4)).astype(np.int16)
    x = cm.array(np.concatenate([a[1:], a]), context)[1:]
    cases: dict[str, Any] = {
        "T": lambda v: v.T, "transpose": lambda v: v.transpose(), "axes": lambda v: v.transpose(2, 0, 3, 1), "tuple": lambda v: v.transpose((3, 2, 1, 0)),
        "mT": lambda v: v.mT, "squeeze": lambda v: v.squeeze(), "squeeze 1": lambda v: v.squeeze(1), "ravel": lambda v: v.ravel(),
        "flatten": lambda v: v.flatten(), "reshape": lambda v: v.reshape(6, -1), "swapaxes": lambda v: np.swapaxes(v, 0, 2),
        "moveaxis": lambda v: np.moveaxis(v, [0, 1], [-1, 0]), "expand": lambda v: np.expand_dims(v, (0, -1)), "flip": lambda v: np.flip(v),
        "flip 2": lambda v: np.flip(v, 2), "broadcast": lambda v: np.broadcast_to(v, (2, 5, 3, 4)), "np.reshape": lambda v: np.reshape(v, (4, 6)),
        "np.ravel": lambda v: np.ravel(v), "np.transpose": lambda v: np.transpose(v, (1, 0, 2, 3)), "np.squeeze": lambda v: np.squeeze(v, axis=1),
        "copy": lambda v: np.copy(v), "take": lambda v: np.take(v, [1, 0, 1], axis=2), "take all": lambda v: np.take(v, [[5, -1]]),
        "clip": lambda v: np.clip(v, -5, 20), "clip low": lambda v: v.clip(0), "round": lambda v: np.round(v / 7, 2), "diff": lambda v: np.diff(v),
        "diff 2": lambda v: np.diff(v, n=2, axis=2), "astype": lambda v: v.astype("f4"), "to bool": lambda v: v.astype(bool), "real": lambda v: np.real(v),
        "imag": lambda v: np.imag(v), "amax": lambda v: np.amax(v, 0), "around": lambda v: np.around(v / 3),
    }  # fmt: skip
    for name, call in cases.items():
        assert_as_numpy(call(x), call(a), 4, name)
    c = (a + 1j * a[::-1]).astype(np.complex64)
    z = cm.array(c, context)
    for call in (lambda v: v.real, lambda v: v.imag, lambda v: v.conj(), lambda v: np.imag(v)):
        assert_as_numpy(call(z), call(c))
    assert np.shape(x) == a.shape and np.ndim(x) == 4 and np.size(x) == a.size and np.size(x, 2) == 3
    assert np.result_type(x, 1.5) == np.result_type(a, 1.5) and np.can_cast(x, "i4") is True
    assert np.array_equal(x, a) and not np.array_equal(x, a + 1) and not np.array_equal(x, a[0])
    assert np.allclose(x / 3, a / 3) and not np.allclose(x, a + 1)
    assert_as_numpy(np.isclose(x, a + 1e-9), np.isclose(a, a + 1e-9))
    target = np.zeros(a.shape)
    np.copyto(target, x)
    np.testing.assert_array_equal(target, a)


def test_numpys_functions_that_are_not_offered(context: cm.Context) -> None:
    x = cm.array(np.ones((3, 3)), context)
    for call in (
        lambda: np.linalg.norm(x), lambda: np.partition(x, 1), lambda: np.dot(x, x), lambda: np.einsum("ii", x), lambda: np.fft.fft(x), lambda: np.median(x),
        lambda: np.sum(x, out=np.zeros(())), lambda: np.reshape(x, (9,), order="F"),
        lambda: np.var(x, mean=2), lambda: np.argmin(x, out=np.zeros(())),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="to_numpy") as error:
            call()
        assert isinstance(error.value, cm.ClMapReduceError)


def test_single_numbers(context: cm.Context) -> None:
    pi = cm.array(np.float32(np.pi), context)
    assert f"{pi:.2f}" == "3.14" and f"{pi}" == "3.1415927" and pi.item() == np.float32(np.pi).item()
    seven = cm.array(np.arange(8), context)[7]
    assert [10, 20, 30, 40, 50, 60, 70, 80][seven] == 80 and list(range(seven)) == list(range(7))
    assert (float(seven), int(seven), bool(seven), complex(seven)) == (7.0, 7, True, 7 + 0j)
    assert seven.tolist() == 7 and cm.array([[1, 2]], context).tolist() == [[1, 2]]
    for wrong in (lambda: f"{cm.array([1.0, 2.0], context):.2f}", lambda: range(pi), lambda: cm.array([1, 2], context).item(), lambda: bool(cm.array([1, 2], context)), lambda: len(pi), lambda: cm.array([1, 2], context).item(5)):
        with pytest.raises(cm.ClMapReduceError):
            wrong()


def test_the_array_namespace(context: cm.Context) -> None:
    x = cm.array(np.array([[0.25, 0.5], [0.75, 1.0]]), context)
    xp = x.__array_namespace__()
    assert x.__array_namespace__(api_version="2023.12") is xp
    standard = ["acos", "acosh", "add", "all", "any", "arange", "argmax", "argmin", "asarray", "asin", "asinh", "astype", "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "bool", "broadcast_arrays", "broadcast_to", "can_cast", "ceil", "clip", "complex128", "complex64", "concat", "conj", "copysign", "cos", "cosh", "cumulative_sum", "divide", "e", "empty", "empty_like", "equal", "exp", "expand_dims", "expm1", "flip", "float32", "float64", "floor", "floor_divide", "full", "full_like", "greater", "greater_equal", "hypot", "imag", "inf", "int16", "int32", "int64", "int8", "isfinite", "isinf", "isnan", "less", "less_equal", "linspace", "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "matrix_transpose", "max", "maximum", "mean", "min", "minimum", "moveaxis", "multiply", "nan", "negative", "newaxis", "nonzero", "not_equal", "ones", "ones_like", "permute_dims", "pi", "positive", "pow", "prod", "real", "reciprocal", "remainder", "reshape", "result_type", "round", "searchsorted", "sign", "signbit", "sin", "sinh", "sqrt", "square", "squeeze", "stack", "std", "subtract", "sum", "take", "tan", "tanh", "trunc", "uint16", "uint32", "uint64", "uint8", "var", "where", "zeros", "zeros_like"]
    missing = [name for name in standard if not hasattr(xp, name)]
    assert not missing and set(standard) <= set(dir(xp))
    a = x.to_numpy()
    assert_as_numpy(xp.acos(x), np.arccos(a), 16)
    assert_as_numpy(xp.pow(x, 3), a**3, 16)
    assert_as_numpy(xp.sum(xp.square(x), axis=1, keepdims=True), (a**2).sum(1, keepdims=True), 4)
    assert_as_numpy(xp.permute_dims(x, (1, 0)), a.T)
    assert_as_numpy(xp.astype(x, xp.int8), a.astype(np.int8))
    assert_as_numpy(xp.std(x, correction=1), a.std(ddof=1), 8)
    assert [part.shape for part in xp.broadcast_arrays(x, x[:1])] == [(2, 2), (2, 2)]
    assert xp.asarray(x) is x and xp.asarray([1, 2], dtype=xp.float32, context=context).dtype == np.float32
    with pytest.raises(cm.ArgumentError, match="api_version"):
        x.__array_namespace__(api_version="1999.1")
    with pytest.raises(AttributeError, match="to_numpy"):
        _ = xp.matmul
