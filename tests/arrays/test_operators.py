"""Operators of arrays, numbers and NumPy arrays: shape, dtype and value are NumPy's, or both refuse."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.array_oracle import assert_as_numpy, drawn_values, dtype_pairs, outcome
from support.oracles import PLAIN, PRIME

import clmapreduce as cm

pytestmark = pytest.mark.drawn

ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod)
COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
BITS = (operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift)
UNARY = (operator.neg, operator.pos, operator.abs, operator.invert)
INPLACE = (operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.iand, operator.ilshift)
Operator = Callable[..., Any]


def units_of(op: Operator, dtype: np.dtype, complex_operand: bool = False) -> float:
    """Units in the last place that OpenCL allows: a quotient of float32 may be 2.5 off, hypot 4 (and 1 for NumPy's), complex
    products several.
    """
    if op is operator.abs:
        return 5.0 if complex_operand else 0.0
    if dtype.kind == "c":
        return 64.0
    return 4.0 if op in (operator.truediv, operator.floordiv, operator.mod, operator.pow, operator.itruediv) else 1.0


def compare(op: Operator, there: tuple[Any, ...], here: tuple[Any, ...], label: object) -> None:
    """The operator on the device beside NumPy's on the host; what NumPy refuses is refused."""
    expected, refusal = outcome(lambda: op(*here))
    result, error = outcome(lambda: op(*there))
    if refusal is not None:
        assert error is not None and issubclass(error, cm.ClMapReduceError), (label, refusal, error)
        return
    if error is not None:  # complex numbers have no order and no remainder here
        assert issubclass(error, cm.DTypeError), (label, error)
        assert "c" in {np.asarray(value).dtype.kind for value in here}, (label, error)
        return
    assert_as_numpy(result, expected, units_of(op, np.asarray(expected).dtype, any(np.iscomplexobj(value) for value in here)), label)


@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISONS, *BITS], ids=lambda op: op.__name__)
def test_two_arrays(op: Operator, context: cm.Context, rng: np.random.Generator) -> None:
    for first, second in dtype_pairs(rng, 6):
        shape = ((17,), (3, 5), ())[rng.integers(3)]
        a, b = drawn_values(rng, first, shape), drawn_values(rng, second, shape)
        a, b = np.asarray(a), np.asarray(b)
        x, y = cm.array(a, context), cm.array(b, context)
        compare(op, (x, y), (a, b), (op, first, second, "both there"))
        compare(op, (x, b), (a, b), (op, first, second, "one there"))
        if shape:
            compare(op, (a, y), (a, b), (op, first, second, "the other there"))


@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISONS, *BITS], ids=lambda op: op.__name__)
def test_a_number_is_weak(op: Operator, context: cm.Context, rng: np.random.Generator) -> None:
    numbers: list[Any] = [2, -3, 0, True, 2.5, 300, -1.0, 1 + 2j, np.float64(1.5), np.int8(3), 2**40]
    for _ in range(5):
        dtype = PLAIN[rng.integers(len(PLAIN))]
        a = drawn_values(rng, dtype, 9)
        x = cm.array(a, context)
        number = numbers[rng.integers(len(numbers))]
        compare(op, (x, number), (a, number), (op, dtype, number))
        compare(op, (number, x), (number, a), (op, number, dtype))


@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.__name__)
def test_one_array(op: Operator, context: cm.Context, rng: np.random.Generator) -> None:
    for dtype in PLAIN:
        a = drawn_values(rng, dtype, (4, 5))
        compare(op, (cm.array(a, context),), (a,), (op, dtype))


@pytest.mark.parametrize("shapes", [((3, 4), (4,)), ((3, 1), (1, 4)), ((2, 3, 4), (3, 1)), ((), (5,)), ((0, 3), (3,)), ((1,), (4, 1, 2)), ((7, 1, 3), (5, 1))], ids=str)
def test_shapes_broadcast(shapes: tuple[Any, Any], context: cm.Context, rng: np.random.Generator) -> None:
    a, b = (np.asarray(drawn_values(rng, np.int32, shape)) for shape in shapes)
    x, y = cm.array(a, context), cm.array(b, context)
    assert_as_numpy(x + y, a + b)
    assert_as_numpy(y * x, b * a)
    if b.ndim:
        assert_as_numpy(x < b, a < b)
        assert_as_numpy(b - x, b - a)
    with pytest.raises(cm.ShapeError):
        _ = cm.array(np.ones((3, 4)), context) + np.ones(3)


@pytest.mark.parametrize("op", INPLACE, ids=lambda op: op.__name__)
def test_operators_in_place(op: Operator, context: cm.Context, rng: np.random.Generator) -> None:
    for first, second in dtype_pairs(rng, 3):
        a, b = drawn_values(rng, first, (3, 5)), drawn_values(rng, second, (5,))
        x, y = cm.array(a, context), cm.array(b, context)
        before = a.copy()
        expected, refusal = outcome(lambda a=a, b=b: op(a, b))
        result, error = outcome(lambda x=x, y=y: op(x, y))
        if refusal is None and error is not None and "c" in (first.kind, second.kind):
            continue
        if refusal is not None:
            assert error is not None and issubclass(error, cm.ClMapReduceError), (op, first, second, error)
            np.testing.assert_array_equal(x.to_numpy(), before)
            continue
        assert result is x, (op, first, second, error)
        assert_as_numpy(x, expected, units_of(op, first), (op, first, second))


def test_an_operand_may_be_the_result(context: cm.Context, rng: np.random.Generator) -> None:
    a = rng.integers(-9, 9, PRIME)
    x = cm.array(a, context)
    x += x
    x -= x[3]
    expected = 2 * a - 2 * a[3]
    np.testing.assert_array_equal(x.to_numpy(), expected)
    x[1:] += x[:-1]
    expected[1:] += expected[:-1].copy()
    np.testing.assert_array_equal(x.to_numpy(), expected)


def test_whole_numbers_divide_as_numpys(context: cm.Context) -> None:
    for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
        info = np.iinfo(dtype)
        a = np.array([info.min, info.max, 0, 1, 5, 7, info.max - 1], dtype)
        b = np.array([0, 1, 2, 3, 5, info.max, info.min if info.min else 4], dtype)
        grid, x, y = np.meshgrid(a, b, indexing="ij"), cm.array(a[:, None], context), cm.array(b, context)
        with np.errstate(all="ignore"):
            for op in (operator.floordiv, operator.mod, operator.lshift, operator.rshift):
                assert_as_numpy(op(x, y), op(*grid), case=(op, dtype))
            for mine, numpys in zip(divmod(x, y), np.divmod(*grid), strict=True):
                assert_as_numpy(mine, numpys)


def test_signed_and_unsigned_whole_numbers_compare_exactly(context: cm.Context) -> None:
    a = np.array([-1, 0, 2**53 + 1, 2**63 - 1], np.int64)[:, None]
    b = np.array([0, 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
    x, y = cm.array(a, context), cm.array(b, context)
    for op in COMPARISONS:
        assert_as_numpy(op(x, y), op(a, b), case=op)
        assert_as_numpy(op(y, x), op(b, a), case=op)


def test_comparisons_with_integers_beyond_a_dtype(context: cm.Context) -> None:
    for dtype in ("u1", "i1", "u8", "i8"):
        a = np.array([0, 1, np.iinfo(dtype).max], dtype)
        for number in (-(2**70), -1000, 1000, 2**70):
            for op in COMPARISONS:
                assert_as_numpy(op(cm.array(a, context), number), op(a, number), case=(dtype, number, op))
    with pytest.raises(cm.DTypeError, match="does not fit"):
        _ = cm.array(np.ones(3, np.uint8), context) + 300


def test_powers(context: cm.Context, rng: np.random.Generator) -> None:
    for dtype in ("f4", "f8"):
        a = rng.uniform(0.1, 3, 33).astype(dtype)
        x = cm.array(a, context)
        for exponent in (2, 3, -1, 0.5, 0, 1, -2.5, 2.0):
            assert_as_numpy(x**exponent, a**exponent, 16, (dtype, exponent))
        assert_as_numpy(2.0**x, 2.0**a, 16)
        assert_as_numpy(x**x, a**a, 32)
    for dtype in ("i1", "i4", "u8", "i8", "?"):
        a = drawn_values(rng, dtype, 20)
        exponents = rng.integers(0, 7, 20).astype("i1" if dtype == "?" else dtype)
        with np.errstate(all="ignore"):
            assert_as_numpy(cm.array(a, context) ** cm.array(exponents, context), a**exponents, case=dtype)
            assert_as_numpy(cm.array(a, context) ** 3, a**3, case=dtype)
            assert_as_numpy(cm.array(a, context) ** 2, a**2, case=dtype)
    for wrong in (lambda x: x**-1, lambda x: x ** np.array([1, -1]), lambda x: (-2) ** x ** -1):
        with pytest.raises(cm.DTypeError, match="negative power"):
            wrong(cm.array(np.array([1, 2]), context))


def test_long_arrays(context: cm.Context, rng: np.random.Generator) -> None:
    a = rng.integers(-100, 100, (PRIME // 7, 7)).astype(np.int32)
    x = cm.array(a, context)
    assert_as_numpy((x * 3 - x[0]) % 7, (a * 3 - a[0]) % 7)
    assert_as_numpy((x > 0) & (x[:, :1] < 50), (a > 0) & (a[:, :1] < 50))


def test_other_classes_keep_their_operators(context: cm.Context) -> None:
    x = cm.array(np.arange(3), context)

    class Other:
        def __radd__(self, left: object) -> str:
            return "other"

        def __gt__(self, left: object) -> str:
            return "greater"

    assert x + Other() == "other"
    assert (x < Other()) == "greater"
    assert (x == None) is False and (x != "x") is True  # noqa: E711  # what NumPy's would be elementwise
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    assert 2 in x and 5 not in x
    a, b = x, x + 0
    assert (a == b).to_numpy().all() and a is not b
